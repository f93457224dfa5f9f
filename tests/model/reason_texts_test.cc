// The texts of all reason codes, as users read them in `kubectl describe`, `berth plan` and events. The test prints them, so that
// they can be read side by side: does each say what it means, and what the user can do about it?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <regex>
#include <string>
#include <vector>

#include "model/decision.h"

namespace berth {
namespace {

constexpr std::size_t kMostCharacters = 160;

Reason reason_of(ReasonCode code, std::string subject, std::string detail, std::int64_t need = 0,
                 std::int64_t have = 0, std::int64_t nodes = 0, std::vector<Reason> children = {}) {
  return {code, std::move(subject), std::move(detail), need, have, nodes, std::move(children)};
}

// Typical values of one code. A code without any fails the test.
std::vector<Reason> examples_of(ReasonCode code) {
  const std::string gpu = "nvidia.com/gpu";
  const std::string other = "team-b/eval-7";
  const auto one = [&](std::string subject, std::string detail, std::int64_t need = 0, std::int64_t have = 0,
                       std::int64_t nodes = 0, std::vector<Reason> children = {}) {
    return std::vector{
        reason_of(code, std::move(subject), std::move(detail), need, have, nodes, std::move(children))};
  };
  const std::vector<Reason> short_nodes{reason_of(ReasonCode::kNodeDevice, gpu, "", 0, 0, 12),
                                        reason_of(ReasonCode::kNodeTaint, "dedicated=infra", "", 0, 0, 3)};
  switch (code) {
    case ReasonCode::kNone:
      return one("", "", 0, 0, 0, short_nodes);
    case ReasonCode::kInvalid:
      return one("", "PriorityClass prodution does not exist (did you mean production?)");
    case ReasonCode::kUnsupported:
      return one("", "spec.topologySpreadConstraints");
    case ReasonCode::kIncompleteGang:
      return one("worker", "", 8, 6);
    case ReasonCode::kInactive:
    case ReasonCode::kSearchBudget:
    case ReasonCode::kPreemptor:
    case ReasonCode::kReleasingRoom:
    case ReasonCode::kFits:
      return one("", "");
    case ReasonCode::kNodeApart:
      return {reason_of(code, "app=web, tier=front in team-a", "topology.kubernetes.io/zone", 0, 0, 12),
              reason_of(code, "claim team-a/checkpoints", "", 0, 0, 12)};
    case ReasonCode::kNodeNear:
      return one("app=web, tier=front in team-a", "topology.kubernetes.io/zone", 0, 0, 12);
    case ReasonCode::kNodeSpread:
      return {reason_of(code, "app=web in team-a", "maxSkew 1 per topology.kubernetes.io/zone, fewest in b",
                        0, 0, 12),
              reason_of(code, "", "topology.kubernetes.io/zone", 0, 0, 1)};
    case ReasonCode::kQueueMissing:
    case ReasonCode::kQueueStopped:
    case ReasonCode::kDrained:
      return one("default/team-a", "");
    case ReasonCode::kBroken:
      return one("", "12 min");
    case ReasonCode::kQueueDisabled:
      return one("team-a", "ResourceFlavor h100 does not exist");
    case ReasonCode::kQuota:
      return {reason_of(code, gpu, "h100-reserved", 8000, 3000),
              reason_of(code, gpu, "h100-reserved", 8000, -2000)};
    case ReasonCode::kQuotaMax:
      return one(gpu, "h100-reserved", 80000, 64000);
    case ReasonCode::kQuotaKept:
    case ReasonCode::kReserved:
      return one(other, "research");
    case ReasonCode::kQuotaUncovered:
      return one("memory", "");
    case ReasonCode::kLaneLimit:
      return one("alice", gpu, 8000, 2000);
    case ReasonCode::kFirmLimit:
      return one("kai:research-training", gpu, 8000, 2000);
    case ReasonCode::kNodes:
      return one("worker, 8 nvidia.com/gpu each", "", 8, 5, 0, short_nodes);
    case ReasonCode::kTopology:
      return {reason_of(code, "topology.example.com/rack", "", 16, 12, 0,
                        {reason_of(ReasonCode::kDomain, "rack-17", "", 0, 0, 0, {short_nodes.front()})}),
              reason_of(
                  code, "topology.example.com/rack",
                  "no topology has this level: ask for one of topology.kubernetes.io/zone, ..., or add it to "
                  "a topology",
                  16)};
    case ReasonCode::kNodeUnschedulable:
    case ReasonCode::kNodeSelector:
    case ReasonCode::kNodeHeld:
      return one("", "", 0, 0, 12);
    case ReasonCode::kClaim:
      return one(
          "", "claim data-set-of-images does not exist in namespace team-a: create it, or correct the name");
    case ReasonCode::kNodeVolume:
      return one("claim data (only on nodes with topology.kubernetes.io/zone europe-west4-a)", "", 0, 0, 12);
    case ReasonCode::kNodeTaint:
      return one("dedicated=infra:NoSchedule", "", 0, 0, 12);
    case ReasonCode::kNodeResource:
      return {reason_of(code, gpu, "", 0, 0, 12),
              reason_of(code, "attachable volumes of pd.csi.storage.gke.io (limit 127)", "", 0, 0, 12)};
    case ReasonCode::kNodeFlavor:
      return one("h100-reserved", "", 0, 0, 12);
    case ReasonCode::kNodeDevice:
      return one(gpu, "", 0, 0, 12);
    case ReasonCode::kNodePort:
      return {reason_of(code, "host port 8080/TCP", "", 0, 0, 12),
              reason_of(code, "host port 192.168.100.200:8080/SCTP", "", 0, 0, 1)};
    case ReasonCode::kNoVictims:  // the longest that the engine makes: preempt/rights/force.cc
      return {reason_of(code, "", "its pods have preemptionPolicy: Never"),
              reason_of(
                  code, "",
                  "allowed: lower or newer equal priority in its queue, lower-priority borrowers in others"),
              reason_of(
                  code, "",
                  "allowed: lower or newer equal priority in its queue, lower-priority borrowers in others; "
                  "not to borrow until team-b/eval-7 starts"),
              reason_of(code, "",
                        "paused: what it preempted was lost 3 times in a row; not to borrow until "
                        "team-b/eval-7 starts")};
    case ReasonCode::kWaitingForRoom:
      return one("", "", 3);
    case ReasonCode::kPreempted:
    case ReasonCode::kReclaimed:
    case ReasonCode::kReclaimedWhileBorrowing:
    case ReasonCode::kReclaimedFairly:
    case ReasonCode::kBehindHead:
    case ReasonCode::kHoldOvertaken:
      return one(other, "");
    case ReasonCode::kWithdrawn:
      return one("", "2 of its pods could not be bound within 300 s");
    case ReasonCode::kHoldBroken:
      return one("", "node gpu-17 has less nvidia.com/gpu than was held");
    case ReasonCode::kNodeRoom:
      return one(gpu, "", 0, 3, 12);
    case ReasonCode::kNodeSize:
      return one(gpu, "", 16000, 8000);
    case ReasonCode::kDomain:
      return one("rack-17", "", 0, 12, 0, short_nodes);
    case ReasonCode::kTogether:
      return one("", "", 0, 0, 0,
                 {reason_of(ReasonCode::kNodes, "driver", "", 1, 0, 0, {short_nodes.front()})});
    case ReasonCode::kEnough:
      return {reason_of(code, gpu, "h100-reserved", 5000), reason_of(code, "", "", 3)};
  }
  return {};
}

TEST(ReasonTexts, OfAllCodesAreShortAndPlain) {
  const std::regex private_words("\\b(who|whom|whoever|somebody|nobody|by force|is kept|a place)\\b");
  for (std::size_t i = 0; i < EnumNames<ReasonCode>::names.size(); ++i) {
    const auto code = static_cast<ReasonCode>(i);
    const std::vector<Reason> examples = examples_of(code);
    EXPECT_FALSE(examples.empty()) << enum_name(code) << " has no example";
    for (const Reason& reason : examples) {
      const std::string text = to_text(reason);
      std::cout << enum_name(code) << ": " << text << "\n";
      EXPECT_FALSE(text.empty()) << enum_name(code);
      EXPECT_LT(text.size(), kMostCharacters) << enum_name(code) << ": " << text;
      EXPECT_LT(brief(reason).size(), kMostCharacters) << enum_name(code) << ": " << brief(reason);
      EXPECT_FALSE(std::regex_search(text, private_words)) << enum_name(code) << ": " << text;
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("  "))) << enum_name(code);
    }
  }
}

}  // namespace
}  // namespace berth
