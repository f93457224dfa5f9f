// Kueue's own cases against Berth. The data is not part of the project: it is read from $BERTH_SHARED/conformance/kueue, or
// from a folder shared/ beside the tree, and the test is skipped where neither is there.
//
// Deviations that are meant stand in kueue_deviations.txt with their reasons; every other difference fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "conformance/kueue_case.h"
#include "text/source.h"

namespace berth::conformance {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* shared = std::getenv("BERTH_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(BERTH_SOURCE_DIR).parent_path() / "shared";
  return root / "conformance" / "kueue";
}

// "suite: name" -> reason.
std::map<std::string, std::string> deviations() {
  std::map<std::string, std::string> out;
  std::ifstream file(fs::path(BERTH_SOURCE_DIR) / "tests/conformance/kueue_deviations.txt");
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

bool is_topology_suite(std::string_view suite) {
  return suite == "TestFindTopologyAssignments" || suite.starts_with("TestScheduleForTAS");
}

struct Tally {
  int cases = 0;
  int exact = 0;
  int meant = 0;  // deviations that are listed
};

TEST(KueueConformance, EveryCaseIsExactOrListed) {
  if (!fs::is_directory(folder()))
    GTEST_SKIP() << folder() << " is not there (BERTH_SHARED names its parent)";
  const auto meant = deviations();
  std::map<std::string, Tally> tallies;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder())) {
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
      KueueCase the_case(*document);
      if (!the_case.applies() || is_topology_suite(the_case.suite())) continue;
      Tally& tally = tallies[the_case.suite()];
      ++tally.cases;
      const std::string title = the_case.suite() + ": " + the_case.name();
      auto differences = the_case.differences();
      if (!differences) differences = std::vector<std::string>{differences.error().str()};
      if (differences->empty()) {
        ++tally.exact;
        EXPECT_FALSE(meant.contains(title)) << title << " is exact, but listed as a deviation";
      } else if (meant.contains(title)) {
        ++tally.meant;
      } else {
        std::string text;
        for (const auto& difference : *differences) text += "\n    " + difference;
        ADD_FAILURE() << title << " (" << file.filename().string() << ":" << lines.line() << ")" << text;
      }
    }
  }
  Tally all;
  for (const auto& [suite, tally] : tallies) {
    std::cout << fmt::format("{:<45} {:>4} cases {:>4} exact {:>4} listed\n", suite, tally.cases, tally.exact,
                             tally.meant);
    all.cases += tally.cases;
    all.exact += tally.exact;
  }
  std::cout << fmt::format("all: {} of {} exact\n", all.exact, all.cases);
  EXPECT_GE(100 * all.exact, 93 * all.cases)
      << "a bar that rises with the list of deviations getting shorter";
}

}  // namespace
}  // namespace berth::conformance
