// Kueue's own cases against Berth. The test is skipped where they are not at hand (case_files.h).
//
// Deviations that are meant stand in kueue_deviations.txt with their reasons; every other difference fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "conformance/case_files.h"
#include "conformance/kueue_case.h"

namespace berth::conformance {
namespace {

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
void each_case(const std::filesystem::path& folder, F&& f) {
  each_document(folder, [&](const text::Document& document, const std::string& where) {
    KueueCase the_case(document);
    if (!the_case.applies() || is_topology_suite(the_case.suite())) return;
    auto differences = the_case.differences();
    if (!differences) differences = std::vector<std::string>{differences.error().str()};
    f(the_case, where, *differences);
  });
}

TEST(KueueConformance, EveryCaseIsExactOrListed) {
  const auto folder = folder_of("kueue");
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder << " is not there (BERTH_SHARED names its parent)";
  const auto meant = deviations_in("kueue_deviations.txt");
  std::map<std::string, Tally> tallies;
  each_case(folder, [&](const KueueCase& the_case, const std::string& where,
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
  const auto meant = deviations_in("oracle_deviations.txt");
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
