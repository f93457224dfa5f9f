// Lines of words under a head, in columns as wide as their widest word; the last column is as it is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace berth::cli {

class Table {
 public:
  // `margin`: in front of each line.
  explicit Table(std::vector<std::string> head, std::string margin = "  ") : margin_(std::move(margin)) {
    rows_.push_back(std::move(head));
  }
  // As many words as the head has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // `most`: characters of a line, beyond which the last word is cut; 0: no bound.
  std::string str(std::size_t most = 0) const {
    std::vector<std::size_t> width(rows_.front().size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      out += margin_;
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], width[i]) : row[i];
      }
      const std::size_t begin = out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1;
      out.resize(std::max(begin, out.find_last_not_of(' ') + 1));
      if (most > 3 && out.size() - begin > most) {
        std::size_t end = begin + most - 3;
        while (end > begin && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
        out.resize(end);
        out += "...";
      }
      out += "\n";
    }
    return out;
  }

 private:
  std::string margin_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::cli
