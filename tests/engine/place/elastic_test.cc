// Elastic work: a minimum that starts and yields as one, and what it has beyond that.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

Workload elastic(const std::string& uid, int least, int count, std::int64_t priority = 0,
                 const std::string& queue = "") {
  Workload w = gang_workload(uid, count, 1, priority, queue);
  w.root.pod_sets[0].least = least;
  return w;
}

std::vector<std::int64_t> slots_of(const std::vector<Decision>& decisions, DecisionKind kind,
                                   const std::string& uid) {
  std::vector<std::int64_t> out;
  for (const auto& d : decisions) {
    if (d.kind != kind || d.workload != uid) continue;
    for (const auto& slot : d.slots) out.push_back(slot.index);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::int64_t running(const Engine& e, const std::string& uid) {
  for (const auto& w : e.workloads()) {
    if (w.uid == uid) return w.slots_running;
  }
  return -1;
}

void gone_and_back(Engine& e, const std::vector<Decision>& decisions, const std::string& uid) {
  for (const auto& d : decisions) {
    if (d.kind != DecisionKind::kEvict || d.workload != uid) continue;
    for (const auto& slot : d.slots) {
      ok(e.apply(SlotUpdate{uid, slot.pod_set, slot.index, SlotState::kGone, ""}));
      ok(e.apply(SlotUpdate{uid, slot.pod_set, slot.index, SlotState::kWaiting, ""}));
    }
  }
}

using Indices = std::vector<std::int64_t>;

TEST(Elastic, StartsWithItsLeastAndGrowsIntoFreeRoom) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("fixed", 5, 1)));
  e.decide(1000);
  ok(e.apply(WorkloadUpsert{elastic("e", 2, 8)}));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u) << "one start, with what there is room for";
  EXPECT_EQ(slots_of(d, DecisionKind::kStart, "e"), (Indices{0, 1, 2}));
  ok(e.apply(WorkloadRemove{"fixed"}));
  EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kStart, "e"), (Indices{3, 4, 5, 6, 7}));
  ok(e.audit());
}

TEST(Elastic, WorkThatNeedsItsMinimumGoesBeforeSurplus) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(WorkloadUpsert{elastic("e", 2, 8)}));
  ok(e.apply(gang("fixed", 4, 1)));
  const auto d = e.decide(1000);
  EXPECT_EQ(slots_of(d, DecisionKind::kStart, "fixed").size(), 4u);
  EXPECT_EQ(running(e, "e"), 4) << "its least, and what nobody else wants";
}

TEST(Elastic, ShrinksSlotBySlotFromTheLast) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(WorkloadUpsert{elastic("e", 2, 8)}));
  e.decide(1000);
  ASSERT_EQ(running(e, "e"), 8);
  ok(e.apply(gang("high", 3, 1, 10)));
  const auto d = e.decide(2000);
  EXPECT_EQ(slots_of(d, DecisionKind::kEvict, "e"), (Indices{5, 6, 7}));
  EXPECT_EQ(slots_of(d, DecisionKind::kHold, "high").size(), 3u);
  EXPECT_EQ(running(e, "e"), 5);
  gone_and_back(e, d, "e");
  EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kStart, "high").size(), 3u);
  EXPECT_TRUE(e.decide(4000).empty()) << "surplus ends nobody";
  ok(e.apply(WorkloadRemove{"high"}));
  EXPECT_EQ(slots_of(e.decide(5000), DecisionKind::kStart, "e"), (Indices{5, 6, 7}));
  ok(e.audit());
}

TEST(Elastic, SurplusYieldsBeforeWholeWorkOfItsPriority) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  Workload w = elastic("e", 2, 6);
  w.restart.overhead = 3'600'000;  // its slots cost more than the other's whole work
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1000);
  ok(e.apply(gang("fresh", 2, 1)));
  e.decide(1500);
  ok(e.apply(gang("high", 2, 1, 10)));
  const auto d = e.decide(2000);
  EXPECT_EQ(slots_of(d, DecisionKind::kEvict, "e"), (Indices{4, 5}));
  EXPECT_TRUE(slots_of(d, DecisionKind::kEvict, "fresh").empty());
  // Where the surplus does not suffice, the whole goes, and the rest of the surplus with it.
  ok(e.apply(gang("higher", 7, 1, 20)));
  const auto then = e.decide(3000);
  EXPECT_EQ(slots_of(then, DecisionKind::kEvict, "e").size(), 4u);
  ok(e.audit());
}

TEST(Elastic, SurplusOfHighPriorityPreemptsNothing) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 6, 1)));
  e.decide(1000);
  ok(e.apply(WorkloadUpsert{elastic("e", 2, 8, 10)}));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(slots_of(d, DecisionKind::kStart, "e"), (Indices{0, 1}));
  EXPECT_TRUE(e.decide(3000).empty());
}

TEST(Elastic, OnlyTheLeastIsPreemptedFor) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  for (int i = 0; i < 8; ++i) ok(e.apply(gang("low" + std::to_string(i), 1, 1)));
  e.decide(1000);
  ok(e.apply(WorkloadUpsert{elastic("e", 2, 8, 10)}));
  const auto d = e.decide(2000);
  EXPECT_EQ(d.size(), 3u) << "two yield, and the hold";
  EXPECT_EQ(slots_of(d, DecisionKind::kHold, "e").size(), 2u);
}

// Three replicas at least, two more for the objective, three idle ones that anybody may take.
Workload service(std::int64_t priority, const std::string& queue = "") {
  Workload w = gang_workload("service", 8, 1, priority, queue);
  w.kind = WorkloadKind::kService;
  PodSet& set = w.root.pod_sets[0];
  set.least = 1;
  set.bands = {{3, 0, true, 0, 0}, {2, 0, false, 0, 0}, {3, -100, false, 0, 0}};
  return w;
}

TEST(Bands, GrowWithThePriorityThatTheySay) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  for (int i = 0; i < 8; ++i) ok(e.apply(gang("low" + std::to_string(i), 1, 1)));
  e.decide(1000);
  ok(e.apply(WorkloadUpsert{service(10)}));
  auto d = e.decide(2000);
  // The first replica starts as its least; those of the two upper bands end work of lower priority, idle ones do not.
  for (TimeMs now = 3000; now < 12'000; now += 1000) {
    for (int i = 0; i < 8; ++i) gone_and_back(e, d, "low" + std::to_string(i));
    d = e.decide(now);
  }
  EXPECT_EQ(running(e, "service"), 5);
  ok(e.audit());
}

TEST(Bands, AreTakenFromTheLast) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(WorkloadUpsert{service(10)}));
  e.decide(1000);
  ASSERT_EQ(running(e, "service"), 8);
  // Its priority is below that of the service, and above that of its idle replicas.
  ok(e.apply(gang("batch", 4, 1, 0)));
  EXPECT_TRUE(e.decide(2000).empty()) << "three idle ones are not enough";
  ok(e.apply(gang("small", 2, 1, 0)));
  EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kEvict, "service"), (Indices{6, 7}));
}

// When the slot before it has been ended in the same round, the last one stands where that stood, and yields no longer so easily.
TEST(Bands, ThoseThatAreLeftMoveUp) {
  Engine e;
  for (const char* name : {"n0", "n1", "n2"}) ok(e.apply(gpu_node(name, 1, {{"host", name}})));
  Workload w = elastic("e", 1, 3);
  w.root.pod_sets[0].bands = {{2, 0, false, 0, 0}, {1, -5, false, 0, 0}};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1000);
  ASSERT_EQ(running(e, "e"), 3);
  for (const auto& [uid, slot, priority] : {std::tuple{"high", 1, 10}, std::tuple{"middle", 2, -1}}) {
    Workload other = gang_workload(uid, 1, 1, priority);
    other.root.pod_sets[0].pod.node_selector.edit()["host"] = e.slot("e", 0, slot)->node;
    ok(e.apply(WorkloadUpsert{other}));
  }
  EXPECT_EQ(slots_of(e.decide(2000), DecisionKind::kEvict, "e"), (Indices{1}));
  ok(e.audit());
}

TEST(Bands, ThatAreProtectedAreNeverReclaimed) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("a", "all", 6)));
  ok(e.apply(gpu_queue("b", "all", 2)));
  ok(e.apply(cohort("all")));
  ok(e.apply(WorkloadUpsert{service(0, "b")}));
  e.decide(1000);
  ASSERT_EQ(running(e, "service"), 8);
  ok(e.apply(gang("big", 6, 1, 0, "a")));
  EXPECT_TRUE(e.decide(2000).empty()) << "only five of its replicas may go";
  ok(e.apply(gang("owner", 5, 1, 0, "a")));
  EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kEvict, "service"), (Indices{3, 4, 5, 6, 7}));
  ok(e.audit());
}

TEST(Bands, GetTheirRoomWithinTheirBound) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  Workload slow = gang_workload("slow", 4, 1);
  slow.restart.grace = 60'000;
  ok(e.apply(WorkloadUpsert{slow}));
  Workload quick = gang_workload("quick", 4, 1);
  quick.restart.grace = 5'000;
  quick.restart.overhead = 3'600'000;  // dearer
  ok(e.apply(WorkloadUpsert{quick}));
  e.decide(1000);
  Workload urgent = gang_workload("urgent", 2, 1, 10);
  urgent.root.pod_sets[0].bands = {{2, 0, true, 10'000, 0}};
  ok(e.apply(WorkloadUpsert{urgent}));
  const auto d = e.decide(2000);
  EXPECT_TRUE(slots_of(d, DecisionKind::kEvict, "slow").empty());
  EXPECT_EQ(slots_of(d, DecisionKind::kEvict, "quick").size(), 4u);
  urgent.uid = urgent.name = "more urgent";
  urgent.root.pod_sets[0].count = 4;
  urgent.root.pod_sets[0].bands = {{4, 0, true, 1000, 0}};
  ok(e.apply(WorkloadUpsert{urgent}));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_NE(to_text(e.verdict("more urgent")->reason).find("too late"), std::string::npos)
      << to_text(e.verdict("more urgent")->reason);
}

TEST(Bands, StandInLineByTheirPriority) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kLaterInOrder, Reclaim::kNever})));
  ok(e.apply(WorkloadUpsert{service(10, "q")}));
  e.decide(1000);
  ASSERT_EQ(running(e, "service"), 8);
  Workload batch = gang_workload("batch", 2, 1, 0, "q");
  batch.created = 500;
  ok(e.apply(WorkloadUpsert{batch}));
  EXPECT_EQ(slots_of(e.decide(2000), DecisionKind::kEvict, "service"), (Indices{6, 7}))
      << "it is newer than the service and of lower priority, but not than the idle replicas";
  ok(e.audit());
}

TEST(Bands, HoldRoomWithThePriorityOfTheirClaim) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  // All four start together, so the claim is that of the last of them: 10 - 5.
  Workload first = gang_workload("first", 4, 2, 10);
  first.root.pod_sets[0].bands = {{2, 0, false, 0, 0}, {2, -5, false, 0, 0}};
  ok(e.apply(WorkloadUpsert{first}));
  ASSERT_EQ(slots_of(e.decide(2000), DecisionKind::kHold, "first").size(), 4u);
  ok(e.apply(gang("between", 4, 2, 4)));
  EXPECT_TRUE(e.decide(3000).empty());
  ok(e.apply(gang("above", 4, 2, 7)));
  const auto d = e.decide(4000);
  EXPECT_EQ(slots_of(d, DecisionKind::kReleaseHold, "first").size(), 4u);
  EXPECT_EQ(slots_of(d, DecisionKind::kHold, "above").size(), 4u);
  ok(e.audit());
}

// Where only one of two children starts, the claim must not be that of the other: its victim would evict it in turn.
TEST(Bands, ClaimNoMoreThanWhateverStartsIsWorth) {
  Engine e;
  ok(e.apply(gpu_node("n0", 4)));
  ok(e.apply(gang("middle", 4, 1, 3)));
  e.decide(1000);
  Workload either = gang_workload("either", 8, 1, 0);
  either.root.pod_sets[0].bands = {{8, 5, false, 0, 0}};  // there is no room for these
  either.root.pod_sets.push_back(gang_workload("x", 4, 1).root.pod_sets[0]);
  either.root.pod_sets[1].name = "small";
  either.root.least = 1;
  ok(e.apply(WorkloadUpsert{either}));
  EXPECT_TRUE(e.decide(2000).empty());
}

TEST(Bands, MustMakeSense) {
  Engine e;
  Workload w = service(0);
  w.root.pod_sets[0].bands[0].count = 4;
  EXPECT_NE(e.apply(WorkloadUpsert{w}).error().message.find("more than its count"), std::string::npos);
  w = service(0);
  w.root.pod_sets[0].bands[0].cost = -1;
  EXPECT_NE(e.apply(WorkloadUpsert{w}).error().message.find("negative"), std::string::npos);
  w = service(0);
  w.root.pod_sets[0].bands[2].priority = 1;
  EXPECT_NE(e.apply(WorkloadUpsert{w}).error().message.find("above the 0 of the one before it"),
            std::string::npos);
  w = service(0);
  w.root.pod_sets[0].bands[2].protected_from_reclaim = true;
  EXPECT_NE(e.apply(WorkloadUpsert{w}).error().message.find("protected behind one that is not"),
            std::string::npos);
}

TEST(Bands, WhatIsBeyondThemIsWorthNoMoreThanTheLast) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  Workload w = elastic("e", 2, 8, 10);
  w.root.pod_sets[0].bands = {{2, 0, true, 0, 0}, {2, -5, false, 0, 0}};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1000);
  ASSERT_EQ(running(e, "e"), 8);
  ok(e.apply(gang("between", 3, 1, 7)));
  EXPECT_EQ(slots_of(e.decide(2000), DecisionKind::kEvict, "e"), (Indices{5, 6, 7}));
  ok(e.audit());
}

// A gang that runs in part, because it asks for more than before.
Workload came(Workload w, TimeMs created, std::optional<TimeMs> asks_more = {}) {
  w.created = created;
  w.asks_more_since = asks_more;
  return w;
}

TEST(AsksForMore, WaitsInItsOwnPlaceInLine) {
  for (const TimeMs since : {5000, 3000}) {
    Engine e;
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(WorkloadUpsert{came(gang_workload("grows", 4, 1), 1000)}));
    ok(e.apply(WorkloadUpsert{came(gang_workload("ends", 4, 1), 1000)}));
    e.decide(2000);
    ok(e.apply(WorkloadUpsert{came(gang_workload("other", 3, 1), 4000)}));
    ok(e.apply(WorkloadUpsert{came(gang_workload("grows", 6, 1), 1000, since)}));
    EXPECT_TRUE(e.decide(5000).empty());
    ok(e.apply(WorkloadRemove{"ends"}));
    const bool first = since < 4000;
    const auto d = e.decide(6000);
    EXPECT_EQ(slots_of(d, DecisionKind::kStart, "grows").size(), first ? 2u : 0u);
    EXPECT_EQ(slots_of(d, DecisionKind::kStart, "other").size(), first ? 0u : 3u);
    ok(e.apply(WorkloadRemove{first ? "grows" : "other"}));
    EXPECT_EQ(slots_of(e.decide(7000), DecisionKind::kStart, first ? "other" : "grows").size(),
              first ? 3u : 2u);
    ok(e.audit());
  }
}

TEST(AsksForMore, ABrokenGangComesFirst) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(WorkloadUpsert{came(gang_workload("broken", 4, 1), 4000)}));
  ok(e.apply(WorkloadUpsert{came(gang_workload("ends", 4, 1), 1000)}));
  e.decide(4000);
  ok(e.apply(WorkloadUpsert{came(gang_workload("other", 3, 1), 2000)}));
  ok(e.apply(WorkloadUpsert{came(gang_workload("broken", 6, 1), 4000)}));
  EXPECT_TRUE(e.decide(5000).empty());
  ok(e.apply(WorkloadRemove{"ends"}));
  EXPECT_EQ(slots_of(e.decide(6000), DecisionKind::kStart, "broken").size(), 2u);
}

TEST(AsksForMore, IsNewerThanEarlierWork) {
  for (const TimeMs since : {3000, 1500}) {
    Engine e;
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kLowerOrNewerEqual, Reclaim::kNever})));
    ok(e.apply(WorkloadUpsert{came(gang_workload("grows", 4, 1, 0, "q"), 1000)}));
    ok(e.apply(WorkloadUpsert{came(gang_workload("runs", 4, 1, 0, "q"), 2000)}));
    ASSERT_EQ(e.decide(2000).size(), 2u);
    ok(e.apply(WorkloadUpsert{came(gang_workload("grows", 6, 1, 0, "q"), 1000, since)}));
    EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kEvict, "runs").size(), since < 2000 ? 4u : 0u);
    ok(e.audit());
  }
}

// This holds even if waiting work was not examined meanwhile.
TEST(AsksForMore, OnceItIsNewerWaitingWorkPreemptsIt) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kLowerOrNewerEqual, Reclaim::kNever})));
  ok(e.apply(WorkloadUpsert{came(gang_workload("grown", 8, 1, 0, "q"), 1000)}));
  ok(e.apply(WorkloadUpsert{came(gang_workload("waits", 8, 1, 0, "q"), 2000)}));
  ASSERT_EQ(e.decide(2000).size(), 1u);
  ok(e.apply(WorkloadUpsert{came(gang_workload("grown", 8, 1, 0, "q"), 3000)}));
  EXPECT_EQ(slots_of(e.decide(3000), DecisionKind::kEvict, "grown").size(), 8u);
}

}  // namespace
}  // namespace berth::engine
