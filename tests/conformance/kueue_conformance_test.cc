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
std::map<std::string, std::string> deviations(std::string_view list) {
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

bool is_topology_suite(std::string_view suite) {
  return suite == "TestFindTopologyAssignments" || suite.starts_with("TestScheduleForTAS");
}

struct Tally {
  int cases = 0;
  int exact = 0;
  int meant = 0;  // deviations that are listed
};

// Calls f(case, where it stands, what differs) for each case of the folder, in the order of its files.
template <class F>
void each_case(const fs::path& folder, F&& f) {
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
      KueueCase the_case(*document);
      if (!the_case.applies() || is_topology_suite(the_case.suite())) continue;
      auto differences = the_case.differences();
      if (!differences) differences = std::vector<std::string>{differences.error().str()};
      f(the_case, fmt::format("{}:{}", file.filename().string(), lines.line()), *differences);
    }
  }
}

std::string listed(const std::vector<std::string>& differences) {
  std::string text;
  for (const auto& difference : differences) text += "\n    " + difference;
  return text;
}

TEST(KueueConformance, EveryCaseIsExactOrListed) {
  if (!fs::is_directory(folder()))
    GTEST_SKIP() << folder() << " is not there (BERTH_SHARED names its parent)";
  const auto meant = deviations("kueue_deviations.txt");
  std::map<std::string, Tally> tallies;
  each_case(folder(), [&](const KueueCase& the_case, const std::string& where,
                          const std::vector<std::string>& differences) {
    Tally& tally = tallies[the_case.suite()];
    ++tally.cases;
    const std::string title = the_case.suite() + ": " + the_case.name();
    if (differences.empty()) {
      ++tally.exact;
      EXPECT_FALSE(meant.contains(title)) << title << " is exact, but listed as a deviation";
    } else if (meant.contains(title)) {
      ++tally.meant;
    } else {
      ADD_FAILURE() << title << " (" << where << ")" << listed(differences);
    }
  });
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

// Cases that scripts/kueue-oracle made: changed ones, with what Kueue's own scheduler decides about them.
TEST(KueueOracle, EveryCaseIsExactOrOfAnExplainedKind) {
  const char* cases = std::getenv("BERTH_KUEUE_CASES");
  if (cases == nullptr) GTEST_SKIP() << "BERTH_KUEUE_CASES is not set (scripts/kueue-oracle check sets it)";
  const auto meant = deviations("oracle_deviations.txt");
  Tally all;
  std::map<std::string, int> of_kind;
  each_case(cases, [&](const KueueCase& the_case, const std::string& where,
                       const std::vector<std::string>& differences) {
    ++all.cases;
    if (differences.empty()) {
      ++all.exact;
      return;
    }
    const auto kind = std::find_if(meant.begin(), meant.end(), [&](const auto& entry) {
      return the_case.name().starts_with(entry.first);
    });
    if (kind == meant.end()) {
      ADD_FAILURE() << the_case.name() << " (" << where << ")" << listed(differences);
      return;
    }
    ++all.meant;
    ++of_kind[kind->first];
  });
  for (const auto& [kind, count] : of_kind) std::cout << fmt::format("{:>5} {}\n", count, kind);
  std::cout << fmt::format("all: {} of {} exact, {} explained\n", all.exact, all.cases, all.meant);
  EXPECT_GT(all.cases, 0);
}

}  // namespace
}  // namespace berth::conformance
