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
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  // As many words as the head has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const {
    std::vector<std::size_t> width(rows_.front().size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      out += "  ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], width[i]) : row[i];
      }
      out.resize(out.find_last_not_of(' ') + 1);
      out += "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::cli
