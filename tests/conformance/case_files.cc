#include "conformance/case_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "text/source.h"

namespace berth::conformance {

namespace fs = std::filesystem;

fs::path folder_of(std::string_view system) {
  const char* shared = std::getenv("BERTH_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(BERTH_SOURCE_DIR).parent_path() / "shared";
  return root / "conformance" / system;
}

std::map<std::string, std::string> deviations_in(std::string_view list) {
  std::map<std::string, std::string> out;
  std::ifstream file(fs::path(BERTH_SOURCE_DIR) / "tests/conformance" / list);
  std::string line, last;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("  ")) {
      out[last] += line.substr(1);
    } else {
      last = line;
      out[last];
    }
  }
  return out;
}

void each_document(const fs::path& folder,
                   const std::function<void(const text::Document& document, const std::string& where)>& f) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    auto source = text::ByteSource::open(file.string());
    ASSERT_TRUE(source) << source.error().str();
    text::LineReader lines(*source);
    for (;;) {
      const auto line = lines.next();
      ASSERT_TRUE(line) << line.error().str();
      if (!*line) break;
      const auto document = text::parse_json(std::string(**line), file.string(), {}, lines.line());
      ASSERT_TRUE(document) << document.error().str();
      f(*document, fmt::format("{}:{}", file.filename().string(), lines.line()));
    }
  }
}

std::string listed(const std::vector<std::string>& differences) {
  std::string text;
  for (const auto& difference : differences) text += "\n    " + difference;
  return text;
}

}  // namespace berth::conformance
