// Work whose flavors are opaque: quota is all that is known, and everything else of a queue's policy counts all the same.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

class QuotaOnly : public ::testing::Test {
 protected:
  void SetUp() override {
    Flavor flavor;
    flavor.name = "f";
    flavor.opaque = true;
    ok(e.apply(FlavorUpsert{flavor}));
    ok(e.apply(QueueUpsert{queue}));
  }
  void queue_is(Queue changed) {
    queue = std::move(changed);
    ok(e.apply(QueueUpsert{queue}));
  }
  void add(const std::string& uid, int count, std::int64_t priority, DurationMs expected = 0) {
    Workload w = gang_workload(uid, count, 1, priority, "q");
    if (expected > 0) w.expected_duration = expected;
    w.restart.checkpoint_every = 1;
    ok(e.apply(WorkloadUpsert{w}));
  }
  void gone(const std::string& uid, int count) {
    for (int i = 0; i < count; ++i) ok(e.apply(SlotUpdate{uid, 0, i, SlotState::kGone, ""}));
  }
  // Kind and workload of every decision at `now`.
  std::vector<std::pair<DecisionKind, std::string>> decide(TimeMs now) {
    std::vector<std::pair<DecisionKind, std::string>> out;
    for (const Decision& d : e.decide(now)) out.emplace_back(d.kind, d.workload);
    ok(e.audit());
    return out;
  }
  using Decisions = std::vector<std::pair<DecisionKind, std::string>>;

  Engine e;
  Queue queue = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
};

TEST_F(QuotaOnly, AHoldStartsWhenTheQuotaOfItsVictimsIsFree) {
  add("low", 8, 0);
  ASSERT_EQ(decide(1000), (Decisions{{DecisionKind::kStart, "low"}}));
  add("high", 4, 10);
  ASSERT_EQ(decide(2000), (Decisions{{DecisionKind::kEvict, "low"}, {DecisionKind::kHold, "high"}}));
  EXPECT_EQ(decide(3000), (Decisions{}));
  gone("low", 8);
  EXPECT_EQ(decide(4000), (Decisions{{DecisionKind::kStart, "high"}}));
}

TEST_F(QuotaOnly, LaterInOrderYields) {
  Queue q = queue;
  q.preemption.within = WithinQueue::kLaterInOrder;
  q.preemption.victims = VictimOrder::kLatestInOrder;
  q.ordering.by = OrderBy::kRemaining;
  queue_is(q);
  add("a", 4, 0, 100'000);
  add("b", 4, 0, 900'000);
  ASSERT_EQ(decide(1000).size(), 2u);
  add("longer", 4, 0, 2'000'000);
  EXPECT_EQ(decide(2000), (Decisions{}));
  add("c", 4, 0, 300'000);
  EXPECT_EQ(decide(3000), (Decisions{{DecisionKind::kEvict, "b"}, {DecisionKind::kHold, "c"}}))
      << "the one that has most left, though a started as late";
}

// First it is asked whether it could reclaim within its quota (7 of 8: all of its queue would have to end). As in the end only its own
// queue's work has to, it may borrow, and one is enough.
TEST_F(QuotaOnly, WithoutReclaimItTakesNoMoreOfItsOwnThanItNeeds) {
  ok(e.apply(gpu_queue("rest", "all", 4)));
  ok(e.apply(gpu_queue("other", "all", 0)));
  ok(e.apply(cohort("all")));
  Queue q = queue;
  q.parent = "all";
  queue_is(q);
  Workload borrower = gang_workload("borrower", 1, 1, 0, "other");
  borrower.created = 1;
  ok(e.apply(WorkloadUpsert{borrower}));
  add("a", 4, 5);
  add("b", 2, 0);
  ASSERT_EQ(decide(1000).size(), 3u);
  add("high", 7, 10);
  EXPECT_EQ(decide(2000), (Decisions{{DecisionKind::kEvict, "b"}, {DecisionKind::kHold, "high"}}));
}

TEST_F(QuotaOnly, NothingIsPreemptedBeforeTheMinimumRuntime) {
  Queue q = queue;
  q.preemption.minimum_runtime = 60'000;
  queue_is(q);
  add("low", 8, 0);
  ASSERT_EQ(decide(1000).size(), 1u);
  add("high", 8, 10);
  EXPECT_EQ(decide(2000), (Decisions{}));
  ASSERT_EQ(e.next_time(), 61'000);
  EXPECT_EQ(decide(61'000), (Decisions{{DecisionKind::kEvict, "low"}, {DecisionKind::kHold, "high"}}));
}

// The same among queues that share by their dominant shares.
TEST_F(QuotaOnly, NothingIsPreemptedBeforeTheMinimumRuntimeForAFairShare) {
  Queue root = std::get<QueueUpsert>(cohort("root")).queue;
  root.sharing = Sharing::kDominantShare;
  ok(e.apply(QueueUpsert{root}));
  for (const char* name : {"a", "b"}) {
    Queue child = std::get<QueueUpsert>(gpu_queue(name, "root", 4)).queue;
    child.preemption.minimum_runtime = 60'000;
    ok(e.apply(QueueUpsert{child}));
  }
  for (const char* uid : {"a1", "a2"}) ok(e.apply(gang(uid, 4, 1, 0, "a")));
  ASSERT_EQ(decide(1000).size(), 2u) << "a borrows what b leaves idle";
  ok(e.apply(gang("b1", 4, 1, 0, "b")));
  EXPECT_EQ(decide(2000), (Decisions{}));
  ASSERT_EQ(e.next_time(), 61'000);
  const auto d = decide(61'000);
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].first, DecisionKind::kEvict);
}

// Both queues have the largest share with the request. As in Kueue, the other queue gives its candidates first, and none of them may be
// taken while the share of a is so large.
TEST_F(QuotaOnly, OfEqualSharesTheOtherQueueHasItsTurnFirst) {
  Queue root = std::get<QueueUpsert>(cohort("root")).queue;
  root.sharing = Sharing::kDominantShare;
  ok(e.apply(QueueUpsert{root}));
  for (const auto& [name, quota] : std::map<std::string, int>{{"a", 3}, {"b", 2}, {"c", 3}}) {
    Queue child = std::get<QueueUpsert>(gpu_queue(name, "root", quota)).queue;
    if (name == "a") child.weight = {1, 2};
    ok(e.apply(QueueUpsert{child}));
  }
  ok(e.apply(gang("low", 1, 1, -1, "a")));
  ok(e.apply(gang("a", 1, 1, 0, "a")));
  for (int i = 0; i < 6; ++i) ok(e.apply(gang("b" + std::to_string(i), 1, 1, 0, "b")));
  ASSERT_EQ(decide(1000).size(), 8u);
  ok(e.apply(gang("three", 3, 1, 0, "a")));
  EXPECT_EQ(decide(2000), (Decisions{}));
  ok(e.apply(gang("two", 2, 1, 0, "a")));
  EXPECT_EQ(
      decide(3000),
      (Decisions{{DecisionKind::kEvict, "b0"}, {DecisionKind::kEvict, "b1"}, {DecisionKind::kHold, "two"}}));
}

// More is in use than there is. So one more is needed beside the victim in its own queue, which leaves it within its quota.
TEST_F(QuotaOnly, BehindItsOwnVictimsAFairShareIsTheReason) {
  Queue root = std::get<QueueUpsert>(cohort("root")).queue;
  root.sharing = Sharing::kDominantShare;
  ok(e.apply(QueueUpsert{root}));
  for (const auto& [name, quota] : std::map<std::string, int>{{"a", 3}, {"b", 3}, {"c", 1}}) {
    Queue child = std::get<QueueUpsert>(gpu_queue(name, "root", quota)).queue;
    if (name == "b") child.weight = {0, 1};
    ok(e.apply(QueueUpsert{child}));
  }
  ok(e.apply(gang("low", 1, 1, -1, "a")));
  for (const char* uid : {"a0", "a1"}) ok(e.apply(gang(uid, 1, 1, 0, "a")));
  for (int i = 0; i < 4; ++i) ok(e.apply(gang("b" + std::to_string(i), 1, 1, 0, "b")));
  ASSERT_EQ(decide(1000).size(), 7u);
  ok(e.apply(gpu_queue("c", "root", 0)));
  ok(e.apply(gang("one", 1, 1, 0, "a")));
  const std::vector<Decision> d = e.decide(2000);
  ASSERT_EQ(d.size(), 3u);
  EXPECT_EQ(d[0].workload, "low");
  EXPECT_EQ(d[1].reason.code, ReasonCode::kReclaimedFairly);
}

// Work that runs and holds room to grow gives up its hold like work that only holds. It is evicted only together with its hold.
TEST_F(QuotaOnly, AHoldOfGrowthYieldsToo) {
  for (const int asks : {6, 8}) {
    Engine fresh;
    std::swap(e, fresh);
    SetUp();
    add("low", 6, 0);
    add("service", 2, 5);
    ASSERT_EQ(decide(1000).size(), 2u);
    Workload more = gang_workload("service", 4, 1, 5, "q");
    more.root.pod_sets[0].least = 2;
    more.root.pod_sets[0].bands = {{4, 0, false, 0, 0}};
    ok(e.apply(WorkloadUpsert{more}));
    ASSERT_EQ(decide(2000), (Decisions{{DecisionKind::kEvict, "low"}, {DecisionKind::kHold, "service"}}));
    add("high", asks, 10);
    Decisions want{{DecisionKind::kReleaseHold, "service"}, {DecisionKind::kHold, "high"}};
    if (asks == 8) want.insert(want.begin() + 1, {DecisionKind::kEvict, "service"});
    EXPECT_EQ(decide(3000), want) << asks;
    gone("low", 6);
    if (asks == 8) gone("service", 2);
    EXPECT_EQ(decide(4000), (Decisions{{DecisionKind::kStart, "high"}})) << asks;
  }
}

// It keeps the granted flavor, even if it would get another one now.
TEST_F(QuotaOnly, HoldsWhatWasGranted) {
  Flavor other;
  other.name = "g";
  other.opaque = true;
  other.node_taints = {{"dedicated", "", TaintEffect::kNoSchedule}};
  ok(e.apply(FlavorUpsert{other}));
  Queue q = queue;
  q.groups = {{{"cpu", "nvidia.com/gpu"}, {"f", "g"}}};
  for (const char* resource : {"cpu", "nvidia.com/gpu"}) q.quotas.push_back({"g", resource, 4000, {}, {}});
  queue_is(q);
  add("granted", 1, 0);
  SlotUpdate runs{"granted", 0, 0, SlotState::kRunning, ""};
  runs.flavors = {{"cpu", "g"}, {"nvidia.com/gpu", "g"}};
  ok(e.apply(runs));
  ok(e.audit());
  std::int64_t left = 0;
  for (const auto& view : e.queues()) {
    for (const auto& pair : view.quotas) left += view.name == "q" && pair.flavor == "g" ? pair.available : 0;
  }
  EXPECT_EQ(left, 2 * 4000 - 1000 - 1000);
  runs.flavors = {{"cpu", "of nobody"}};
  add("elsewhere", 1, 0);
  runs.workload = "elsewhere";
  EXPECT_FALSE(e.apply(runs));
}

TEST_F(QuotaOnly, TheQueueOrdersTheVictims) {
  TimeMs now = 0;
  for (const VictimOrder order : {VictimOrder::kCost, VictimOrder::kYoungestFirst}) {
    Queue q = queue;
    q.preemption.victims = order;
    queue_is(q);
    add("old-low", 4, 0);
    ASSERT_EQ(decide(now += 1000).size(), 1u);
    add("young-middle", 4, 5);
    ASSERT_EQ(decide(now += 1000).size(), 1u);
    add("high", 4, 10);
    const auto d = decide(now += 1000);
    ASSERT_EQ(d.size(), 2u);
    EXPECT_EQ(d[0].second, order == VictimOrder::kCost ? "old-low" : "young-middle");
    for (const char* uid : {"old-low", "young-middle", "high"}) ok(e.apply(WorkloadRemove{uid}));
  }
}

TEST_F(QuotaOnly, ASlotRunsWhereItWasGivenQuota) {
  add("a", 1, 0);
  ASSERT_EQ(decide(1000), (Decisions{{DecisionKind::kStart, "a"}}));
  ok(e.apply(SlotUpdate{"a", 0, 0, SlotState::kRunning, ""}));
  EXPECT_EQ(e.slot("a", 0, 0)->state, SlotState::kRunning);
  EXPECT_FALSE(e.apply(SlotUpdate{"b", 0, 0, SlotState::kRunning, ""}));
}

TEST_F(QuotaOnly, PodsThatNeverPreemptHaveNoVictims) {
  add("low", 8, 0);
  decide(1000);
  Workload w = gang_workload("high", 4, 1, 10, "q");
  w.may_preempt = false;
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_EQ(decide(2000), (Decisions{}));
}

// Four of eight are surplus: undeclared surplus preempts nothing, and a declared band has its priority.
TEST_F(QuotaOnly, BandsSayWhatIsTakenAndWhatIsAskedFor) {
  add("low", 4, 0);
  ASSERT_EQ(decide(500), (Decisions{{DecisionKind::kStart, "low"}}));
  Workload w = gang_workload("elastic", 8, 1, 0, "q");
  w.root.pod_sets[0].least = 4;
  ok(e.apply(WorkloadUpsert{w}));
  ASSERT_EQ(decide(1000), (Decisions{{DecisionKind::kStart, "elastic"}}));
  w.priority = 5;
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_EQ(decide(2000), (Decisions{}));
  w.root.pod_sets[0].bands = {{4, 0, true, 0, 0}, {4, -1, false, 0, 0}};
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_EQ(decide(3000), (Decisions{{DecisionKind::kEvict, "low"}, {DecisionKind::kHold, "elastic"}}));
}

TEST_F(QuotaOnly, AProtectedBandIsNotReclaimed) {
  for (const bool kept : {false, true}) {
    Engine engine;
    Flavor flavor;
    flavor.name = "f";
    flavor.opaque = true;
    ok(engine.apply(FlavorUpsert{flavor}));
    ok(engine.apply(cohort("c")));
    ok(engine.apply(gpu_queue("a", "c", 4)));
    ok(engine.apply(gpu_queue("b", "c", 4)));
    Workload w = gang_workload("borrows", 8, 1, 0, "a");
    w.root.pod_sets[0].bands = {{8, 0, kept, 0, 0}};
    ok(engine.apply(WorkloadUpsert{w}));
    engine.decide(1000);
    ok(engine.apply(gang("owner", 4, 1, 1, "b")));
    EXPECT_EQ(engine.decide(2000).empty(), kept);
  }
}

}  // namespace
}  // namespace berth::engine
