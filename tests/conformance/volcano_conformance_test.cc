// Volcano's own cases against Berth. The test is skipped where they are not at hand (case_files.h).
//
// Deviations that are meant stand in volcano_deviations.txt with their reasons; every other difference fails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "conformance/case_files.h"
#include "conformance/volcano_case.h"

namespace berth::conformance {
namespace {

struct VolcanoTally {
  int cases = 0;
  int exact = 0;
  int as_good = 0;
  int left_out = 0;
  int differ = 0;  // all of them listed, or the test fails

  void add(const VolcanoTally& other) {
    cases += other.cases;
    exact += other.exact;
    as_good += other.as_good;
    left_out += other.left_out;
    differ += other.differ;
  }
  int share_of(int of) const { return of == 0 ? 0 : 100 * (exact + as_good) / of; }
  int share() const { return share_of(cases); }
  int share_of_read() const { return share_of(cases - left_out); }
  std::string row(std::string_view name) const {
    return fmt::format("{:<36} {:>6} {:>6} {:>8} {:>9} {:>7} {:>6} % {:>6} %\n", name, cases, exact, as_good,
                       left_out, differ, share(), share_of_read());
  }
};

class VolcanoConformance : public ::testing::Test {
 protected:
  void look_at(VolcanoCase& the_case, const std::string& where) {
    VolcanoTally& tally = tallies_[where.substr(0, where.find(':'))];
    ++tally.cases;
    const std::string title = the_case.suite() + ": " + the_case.name();
    EXPECT_TRUE(seen_.emplace(title, where).second) << title << " is there twice";
    if (const auto feature = the_case.left_out(); !feature.empty()) {
      ++tally.left_out;
      ++features_[std::string(feature)];
      return;
    }
    auto compared = the_case.compare();
    ASSERT_TRUE(compared) << title << " (" << where << "): " << compared.error().str();
    if (compared->verdict != VolcanoVerdict::kDiffers) {
      ++(compared->verdict == VolcanoVerdict::kExact ? tally.exact : tally.as_good);
      EXPECT_FALSE(meant_.contains(title)) << title << " is decided alike, but listed as a deviation";
      return;
    }
    ++tally.differ;
    if (meant_.contains(title)) return;
    ADD_FAILURE() << title << " (" << where << ")" << listed(compared->differences)
                  << listed(the_case.waiting());
  }

  std::map<std::string, std::string> meant_ = deviations_in("volcano_deviations.txt");
  std::map<std::string, std::string> seen_;
  std::map<std::string, VolcanoTally> tallies_;  // by file
  std::map<std::string, int> features_;
};

TEST_F(VolcanoConformance, EveryCaseIsDecidedAlikeOrListed) {
  const auto folder = folder_of("volcano");
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder << " is not there (BERTH_SHARED names its parent)";
  each_document(folder, [&](const text::Document& document, const std::string& where) {
    VolcanoCase the_case(document);
    look_at(the_case, where);
  });
  std::cout << fmt::format("{:<36} {:>6} {:>6} {:>8} {:>9} {:>7} {:>8} {:>8}\n", "", "cases", "exact",
                           "as good", "left out", "differ", "alike", "of read");
  VolcanoTally all, of_actions;
  for (const auto& [file, tally] : tallies_) {
    std::cout << tally.row(file);
    all.add(tally);
    for (const std::string_view part : {"allocate", "preempt", "reclaim", "capacity"}) {
      if (file.find(part) != std::string::npos) of_actions.add(tally);
    }
  }
  std::cout << of_actions.row("allocate, preempt, reclaim, capacity") << all.row("all");
  for (const auto& [feature, cases] : features_)
    std::cout << fmt::format("left out: {} cases need {}\n", cases, feature);
  EXPECT_GE(of_actions.share_of_read(), 85) << "of the cases that are not left out";
  for (const auto& [title, reason] : meant_) {
    EXPECT_TRUE(seen_.contains(title)) << title << " is listed, and there is no such case";
    EXPECT_FALSE(reason.empty()) << title << " is listed without a reason";
  }
}

}  // namespace
}  // namespace berth::conformance
