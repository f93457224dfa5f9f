// Volcano's own cases against Berth. The test is skipped where they are not at hand (case_files.h).
//
// Deviations that are meant stand in volcano_deviations.txt with their reasons; every other difference fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "conformance/case_files.h"
#include "conformance/peer_cases.h"
#include "conformance/volcano_case.h"

namespace berth::conformance {
namespace {

// The files that issue 31 sets a bar for.
bool is_of_actions(std::string_view file) {
  constexpr std::array<std::string_view, 4> kParts{"allocate", "preempt", "reclaim", "capacity"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

TEST(VolcanoConformance, EveryCaseIsDecidedAlikeOrListed) {
  const auto folder = folder_of("volcano");
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder << " is not there (BERTH_SHARED names its parent)";
  PeerCases cases("volcano_deviations.txt");
  each_document(folder, [&](const text::Document& document, const std::string& where) {
    VolcanoCase the_case(document);
    cases.look_at(the_case, where);
  });
  const PeerTally of_actions = cases.tally(is_of_actions);
  cases.print({{"allocate, preempt, reclaim, capacity", of_actions}});
  EXPECT_GE(of_actions.share_of_read(), 85) << "of the cases that are not left out";
  cases.check_list();
}

}  // namespace
}  // namespace berth::conformance
