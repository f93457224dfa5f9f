// KAI Scheduler's own cases against Berth. The test is skipped where they are not at hand (case_files.h).
//
// Deviations that are meant stand in kai_deviations.txt with their reasons; every other difference fails.
#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/case_files.h"
#include "conformance/kai_case.h"
#include "conformance/kai_fair_share.h"
#include "conformance/peer_cases.h"

namespace berth::conformance {
namespace {

TEST(KaiConformance, EveryCaseIsDecidedAlikeOrListed) {
  const auto folder = folder_of("kai");
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << folder << " is not there (BERTH_SHARED names its parent)";
  PeerCases cases("kai_deviations.txt");
  each_document(folder, [&](const text::Document& document, const std::string& where) {
    if (text_at(document.root(), {"kind"}) == "fairshare") {
      KaiFairShare vector(document);
      cases.look_at(vector, where);
      return;
    }
    KaiCase the_case(document);
    cases.look_at(the_case, where);
  });
  const PeerTally whole = cases.tally([](std::string_view file) { return file.starts_with("integration"); });
  cases.print({{"integration", whole}});
  EXPECT_GE(whole.share_of_read(), 90) << "of the integration cases that are not left out";
  const PeerTally shares = cases.tally([](std::string_view file) { return file.starts_with("fairshare"); });
  EXPECT_EQ(shares.share_of_read(), 100) << "of the vectors of fair shares that are not left out";
  cases.check_list();
}

}  // namespace
}  // namespace berth::conformance
