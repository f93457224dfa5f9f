// The decisions of one decide() are net (engine/decide/decisions.h).
#include <gtest/gtest.h>

#include <map>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

std::map<std::string, DecisionKind> kinds(const std::vector<Decision>& decisions) {
  std::map<std::string, DecisionKind> out;
  for (const Decision& d : decisions) EXPECT_TRUE(out.emplace(d.workload, d.kind).second) << d.workload;
  return out;
}

// The queue of `late` has a first workload that would borrow more than there is, so that the other queue borrows before its turn comes.
void borrow_before_its_turn(Reclaim reclaim) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n0", 8)));
  const PreemptionPolicy policy{WithinQueue::kLowerPriority, reclaim};
  ok(e.apply(gpu_queue("a", "roof", 4, policy)));
  ok(e.apply(gpu_queue("b", "roof", 4, policy)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("borrower", 1, 6, 1, "a")));
  ok(e.apply(gang("first", 3, 3, 0, "b")));
  Workload late = gang_workload("late", 1, 4, -1, "b");
  ok(e.apply(WorkloadUpsert{late}));
  const auto all = kinds(e.decide(1000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"late", DecisionKind::kStart}}));
  for (TimeMs now = 1000; now < 6000; now += 1000) EXPECT_TRUE(e.decide(now).empty());
}

TEST(NetDecisions, WhatIsWithinItsOwnQuotaGoesBeforeWhatBorrows) {
  borrow_before_its_turn(Reclaim::kAny);
}

TEST(NetDecisions, AlsoWhereItsQueueNeverReclaims) {
  borrow_before_its_turn(Reclaim::kNever);
}

Event two_flavor_queue(const std::string& name, std::vector<std::string> flavors, std::int64_t x,
                       std::int64_t y) {
  Queue q;
  q.name = name;
  q.parent = "roof";
  q.groups = {{{"cpu", "nvidia.com/gpu"}, std::move(flavors)}};
  q.quotas = {{"x", "cpu", 1'000'000, {}, {}},
              {"x", "nvidia.com/gpu", x * 1000, {}, {}},
              {"y", "cpu", 1'000'000, {}, {}},
              {"y", "nvidia.com/gpu", y * 1000, {}, {}}};
  return QueueUpsert{q};
}

// `borrower` borrows a GPU of each flavor. Node x1 is too full for `own` even without it, and node y1 is not.
TEST(NetDecisions, TheRoomOfABorrowerIsTakenInTheFlavorThatHasIt) {
  Engine e;
  for (const std::string name : {"x", "y"}) ok(e.apply(FlavorUpsert{{name, {{"pool", name}}, {}, {}, ""}}));
  ok(e.apply(gpu_node("x1", 4, {{"pool", "x"}})));
  ok(e.apply(gpu_node("y1", 5, {{"pool", "y"}})));
  ok(e.apply(two_flavor_queue("lender", {"x", "y"}, 8, 4)));
  ok(e.apply(two_flavor_queue("taker", {"y", "x"}, 0, 4)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("fills", 1, 3, 0, "lender")));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"fills", DecisionKind::kStart}}));
  Workload borrower = gang_workload("borrower", 1, 4, 1, "taker");
  for (const std::string name : {"second", "third"}) {
    PodSet set = borrower.root.pod_sets[0];
    set.name = name;
    set.pod.claim.requests[0].count = 1;
    borrower.root.pod_sets.push_back(set);
  }
  ok(e.apply(WorkloadUpsert{borrower}));
  ok(e.apply(gang("own", 1, 3, 0, "lender")));
  const auto all = kinds(e.decide(2000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"own", DecisionKind::kStart}}));
}

// `owner` stays within its queue's quota until `borrower` starts in the same queue. A start that is taken back justifies no eviction.
TEST(NetDecisions, AStartThatIsTakenBackMakesNoVictimsBesideIt) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n0", 8)));
  const PreemptionPolicy policy{WithinQueue::kLowerPriority, Reclaim::kAny};
  ok(e.apply(gpu_queue("a", "roof", 6, policy)));
  ok(e.apply(gpu_queue("b", "roof", 4, policy)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("owner", 1, 4, 1, "b")));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"owner", DecisionKind::kStart}}));
  ok(e.apply(gang("borrower", 1, 3, 1, "b")));
  ok(e.apply(gang("first", 3, 3, 0, "a")));
  ok(e.apply(gang("late", 1, 6, -1, "a")));
  const auto all = kinds(e.decide(2000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"borrower", DecisionKind::kStart}}));
  EXPECT_EQ(e.decide(2001).size(), 0U) << "late needs the room of owner, and borrower alone borrows";
}

}  // namespace
}  // namespace berth::engine
