// Victims, the holds that keep their room, and the ends of holds.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

std::vector<std::string> evicted(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const auto& d : decisions) {
    if (d.kind == DecisionKind::kEvict) out.push_back(d.workload);
  }
  std::sort(out.begin(), out.end());
  return out;
}

const Decision* find(const std::vector<Decision>& decisions, DecisionKind kind, const std::string& uid) {
  for (const auto& d : decisions) {
    if (d.kind == kind && d.workload == uid) return &d;
  }
  return nullptr;
}

void gone(Engine& e, const Decision& eviction) {
  for (const auto& slot : eviction.slots)
    ok(e.apply(SlotUpdate{eviction.workload, slot.pod_set, slot.index, SlotState::kGone, ""}));
}

TEST(Victims, OneWholeNodeCostsOnlyThePodsOfOneNode) {
  Engine e;
  for (int i = 0; i < 4; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 8)));
  // 32 one-GPU jobs, laid out round robin by their age: every node has some of every age.
  for (int i = 0; i < 32; ++i) {
    Workload w = gang_workload("j" + std::to_string(i), 1, 1);
    w.root.pod_sets[0].pod.node_selector = Labels{};
    w.root.pod_sets[0].pod.required_affinity = {{{}, {{"", SelectorOp::kIn, {"n" + std::to_string(i % 4)}}}}};
    ok(e.apply(WorkloadUpsert{w}));
    e.decide(1000 + i * 1000);
  }
  ok(e.apply(gang("big", 1, 8, 10)));
  const auto d = e.decide(100'000);
  const auto victims = evicted(d);
  ASSERT_EQ(victims.size(), 8u) << "no more than what runs on one node";
  const Decision* hold = find(d, DecisionKind::kHold, "big");
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(hold->slots[0].node, "n3") << "where least is lost";
  ok(e.audit());
}

TEST(Victims, FreshCheckpointsAreCheap) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  Workload saved = gang_workload("saved", 4, 1);
  saved.restart.checkpoint_every = 60'000;
  ok(e.apply(WorkloadUpsert{saved}));
  e.decide(1000);
  ok(e.apply(gang("young", 4, 1)));
  e.decide(500'000);
  ok(e.apply(gang("high", 4, 1, 5)));
  EXPECT_EQ(evicted(e.decide(602'000)), std::vector<std::string>{"saved"})
      << "1 s of work is lost, not 102 s";
}

// The order of two workloads of the same second differs after a restart: neither preempts the other.
TEST(Victims, WorkOfTheSameTimeIsNotNewer) {
  for (const auto within : {WithinQueue::kLowerOrNewerEqual, WithinQueue::kLaterInOrder}) {
    for (const TimeMs later : {0, 1000}) {
      Engine e;
      ok(e.apply(gpu_node("n0", 4)));
      ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
      ok(e.apply(gpu_queue("q", "", 8, {within, Reclaim::kNever})));
      Workload waits = gang_workload("waits", 8, 1, 0, "q");
      Workload runs = gang_workload("runs", 4, 1, 0, "q");
      waits.created = 1000;
      runs.created = 1000 + later;
      ok(e.apply(WorkloadUpsert{waits}));
      ok(e.apply(WorkloadUpsert{runs}));
      ASSERT_NE(find(e.decide(3000), DecisionKind::kStart, "runs"), nullptr);
      ok(e.apply(gpu_node("n1", 4)));
      EXPECT_EQ(evicted(e.decide(4000)).size(), later > 0 ? 1u : 0u) << enum_name(within) << ", " << later;
      ok(e.audit());
    }
  }
}

// Four jobs of a quarter of the node each: which one is evicted for one that needs as much?
TEST(Victims, TheOrderIsTheQueuesChoice) {
  const auto victim_of = [](VictimOrder order) {
    Engine e;
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    Queue queue = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
    queue.preemption.victims = order;
    ok(e.apply(QueueUpsert{queue}));
    ok(e.apply(gang("lowest", 2, 1, 0, "q")));
    e.decide(1000);
    Workload saved = gang_workload("cheap", 2, 1, 0, "q");
    saved.restart.checkpoint_every = 1000;
    ok(e.apply(WorkloadUpsert{saved}));
    e.decide(2000);
    ok(e.apply(gang("young", 2, 1, 0, "q")));
    e.decide(3000);
    ok(e.apply(gang("youngest", 2, 1, 1, "q")));
    e.decide(4000);
    ok(e.apply(gang("high", 2, 1, 10, "q")));
    return evicted(e.decide(100'000));
  };
  EXPECT_EQ(victim_of(VictimOrder::kCost), std::vector<std::string>{"cheap"});
  EXPECT_EQ(victim_of(VictimOrder::kYoungestFirst), std::vector<std::string>{"youngest"});
  EXPECT_EQ(victim_of(VictimOrder::kLowestPriorityFirst), std::vector<std::string>{"young"});
}

// A search puts only as many in order as it looks at: here a part of the first eighth, more than that, and nearly all.
TEST(Victims, ManyYieldInTheirOrder) {
  for (const int pods : {20, 30, 180}) {
    Engine e;
    for (int n = 0; n < 25; ++n) ok(e.apply(gpu_node("n" + std::to_string(n), 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 200)).queue;
    q.preemption.victims = VictimOrder::kYoungestFirst;
    ok(e.apply(QueueUpsert{q}));
    for (int i = 0; i < 200; ++i) ok(e.apply(gang("w" + std::to_string(i), 1, 1, 0, "q")));
    std::vector<std::string> by_age;  // the youngest first: none started when its number says
    for (int i = 0; i < 200; ++i) {
      const std::string uid = "w" + std::to_string(i);
      ok(e.apply(SlotUpdate{
          uid, 0, 0, SlotState::kRunning, "n" + std::to_string(i / 8), {i % 8}, {}, 1000 + i * 77 % 200}));
    }
    for (int age = 199; age >= 0; --age) {
      int i = 0;
      while (i * 77 % 200 != age) ++i;
      by_age.push_back("w" + std::to_string(i));
    }
    e.decide(5000);
    ok(e.apply(gang("high", pods, 1, 10, "q")));
    auto gone = evicted(e.decide(100'000));
    by_age.resize(static_cast<std::size_t>(pods));
    std::sort(gone.begin(), gone.end());
    std::sort(by_age.begin(), by_age.end());
    EXPECT_EQ(gone, by_age) << pods;
  }
}

TEST(Victims, NothingIsPreemptedWhereThePolicySaysNever) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kNever, Reclaim::kNever})));
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 100, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_NE(to_text(e.explain("high")->reason).find("allowed: nothing in its queue"), std::string::npos);
}

TEST(Victims, PodsThatNeverPreemptDoNot) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  Workload polite = gang_workload("polite", 8, 1, 100);
  polite.may_preempt = false;
  ok(e.apply(WorkloadUpsert{polite}));
  EXPECT_TRUE(e.decide(2000).empty());
}

TEST(Holds, RoomUnderWayIsNotStolen) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  for (int i = 0; i < 2; ++i) ok(e.apply(gang("low" + std::to_string(i), 4, 1)));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10)));
  auto d = e.decide(2000);
  ASSERT_EQ(evicted(d).size(), 2u);
  ok(e.apply(gang("thief", 4, 1)));
  gone(e, *find(d, DecisionKind::kEvict, "low0"));
  EXPECT_TRUE(e.decide(3000).empty()) << "half of the room is free, and held";
  EXPECT_NE(to_text(e.explain("thief")->reason).find("held for other workloads"), std::string::npos)
      << to_text(e.explain("thief")->reason);
  gone(e, *find(d, DecisionKind::kEvict, "low1"));
  const auto then = e.decide(4000);
  ASSERT_EQ(then.size(), 1u);
  EXPECT_EQ(then[0].workload, "high");
  ok(e.audit());
}

TEST(Holds, PassToWorkOfHigherRank) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10)));
  const auto first = e.decide(2000);
  ok(e.apply(gang("higher", 8, 1, 20)));
  const auto d = e.decide(3000);
  const Decision* released = find(d, DecisionKind::kReleaseHold, "high");
  ASSERT_NE(released, nullptr);
  EXPECT_EQ(released->reason.code, ReasonCode::kHoldOvertaken);
  EXPECT_EQ(released->reason.subject, "higher");
  EXPECT_NE(find(d, DecisionKind::kHold, "higher"), nullptr);
  EXPECT_TRUE(evicted(d).empty());
  gone(e, *find(first, DecisionKind::kEvict, "low"));
  const auto last = e.decide(4000);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].workload, "higher");
  ok(e.audit());
}

TEST(Holds, BreakWithTheirNode) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10)));
  e.decide(2000);
  ok(e.apply(NodeRemove{"n0"}));
  const auto d = e.decide(3000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].kind, DecisionKind::kReleaseHold);
  EXPECT_EQ(d[0].reason.code, ReasonCode::kHoldBroken);
  ok(e.audit());
  ok(e.apply(gpu_node("n1", 8)));
  const auto then = e.decide(4000);
  ASSERT_EQ(then.size(), 1u);
  EXPECT_EQ(then[0].workload, "high");
}

// Another client binds a pod of a gang whose hold lies in another domain: together they would be no gang of one domain.
TEST(Holds, BreakWhenAPodOfTheirsIsPlacedInAnotherDomain) {
  for (const bool one_domain : {true, false}) {
    Engine e;
    ok(e.apply(TopologyUpsert{{"default", {"host"}}}));
    for (const char* node : {"n1", "n2"}) ok(e.apply(gpu_node(node, 4, {{"host", node}})));
    ok(e.apply(gang("low", 1, 4, 0)));
    e.decide(1000);
    const std::string home(e.slot("low", 0, 0)->node);
    const std::string other = home == "n1" ? "n2" : "n1";
    ok(e.apply(ForeignPodUpsert{{"daemon", other, {}, {{"nvidia.com/gpu", 3, 1000}}}}));
    Workload high = gang_workload("high", 3, 1, 10);
    high.root.pod_sets[0].least = 2;
    if (one_domain) high.root.topology.required = "host";
    ok(e.apply(WorkloadUpsert{high}));
    const auto plan = e.decide(2000);
    ASSERT_EQ(evicted(plan), (std::vector<std::string>{"low"}));
    ok(e.apply(SlotUpdate{"high", 0, 2, SlotState::kRunning, other}));
    gone(e, *find(plan, DecisionKind::kEvict, "low"));
    EXPECT_EQ(find(e.decide(3000), DecisionKind::kStart, "high") != nullptr, !one_domain);
  }
}

TEST(Holds, EndWithTheirHolder) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10)));
  const auto d = e.decide(2000);
  ok(e.apply(gang("next", 8, 1, -1)));
  ok(e.apply(WorkloadRemove{"high"}));
  gone(e, *find(d, DecisionKind::kEvict, "low"));
  const auto then = e.decide(3000);
  ASSERT_EQ(then.size(), 1u);
  EXPECT_EQ(then[0].workload, "next");
  ok(e.audit());
}

TEST(Queues, BorrowersWaitForOwners) {
  // Eight GPUs, four of them team-a's own. team-b came first and would borrow; it must not be started and reclaimed at once.
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("team-a", "all", 4)));
  ok(e.apply(gpu_queue("team-b", "all", 4)));
  ok(e.apply(cohort("all")));
  ok(e.apply(gang("b", 8, 1, 0, "team-b")));
  ok(e.apply(gang("a", 4, 1, 0, "team-a")));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].workload, "a");
  ok(e.audit());
}

TEST(Queues, WhatIsWrongAboveIsWrongBelow) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("leaf", "middle", 4)));
  ok(e.apply(cohort("middle", "top")));
  ok(e.apply(gang("a", 1, 1, 0, "leaf")));
  EXPECT_TRUE(e.decide(1000).empty());
  EXPECT_NE(to_text(e.verdict("a")->reason).find("ancestor top does not exist"), std::string::npos);
  ok(e.apply(cohort("top")));
  EXPECT_EQ(e.decide(2000).size(), 1u);
}

TEST(Holds, ALateSightOfAnEndingPodDoesNotBringItBack) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("low", 8, 1)));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10)));
  e.decide(2000);
  ok(e.apply(SlotUpdate{"low", 0, 3, SlotState::kRunning, "n0"}));
  EXPECT_EQ(e.slot("low", 0, 3)->state, SlotState::kReleasing);
  EXPECT_TRUE(e.decide(3000).empty());
  ok(e.audit());
}

TEST(Queues, AStrictQueueWaitsBehindItsHead) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.order = QueueOrder::kStrict;
  ok(e.apply(QueueUpsert{q}));
  ok(e.apply(gang("a", 6, 1, 0, "q")));
  ok(e.apply(gang("b", 4, 1, 0, "q")));
  ok(e.apply(gang("c", 1, 1, 0, "q")));
  EXPECT_EQ(e.decide(1000).size(), 1u);
  EXPECT_EQ(to_text(e.verdict("c")->reason), "waits behind b, the first workload of its strict queue");
  ok(e.apply(WorkloadRemove{"a"}));
  EXPECT_EQ(e.decide(2000).size(), 2u);
  // Work that can never run does not block the line.
  ok(e.apply(gang("never", 9, 1, 50, "q")));
  ok(e.apply(gang("d", 1, 1, 0, "q")));
  const auto d = e.decide(3000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].workload, "d");
  EXPECT_EQ(e.verdict("never")->kind, VerdictKind::kRefused);
}

TEST(Queues, CyclesDisableTheirMembersOnly) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("good", "", 4)));
  ok(e.apply(gpu_queue("bad", "x", 4)));
  ok(e.apply(cohort("x", "y")));
  ok(e.apply(cohort("y", "x")));
  ok(e.apply(gang("a", 1, 1, 0, "bad")));
  ok(e.apply(gang("b", 1, 1, 0, "good")));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].workload, "b");
  EXPECT_NE(to_text(e.verdict("a")->reason).find("cycle"), std::string::npos);
  ok(e.apply(cohort("y")));
  EXPECT_EQ(e.decide(2000).size(), 1u);
  ok(e.audit());
}

TEST(Queues, AShrunkQuotaStopsStartsAndBreaksHolds) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8)));
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  const auto d = e.decide(2000);
  ok(e.apply(gpu_queue("q", "", 4)));
  gone(e, *find(d, DecisionKind::kEvict, "low"));
  const auto then = e.decide(3000);
  ASSERT_EQ(then.size(), 1u);
  EXPECT_EQ(then[0].kind, DecisionKind::kReleaseHold);
  ok(e.audit());
}

TEST(Queues, DrainingEndsWhatRuns) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8)));
  ok(e.apply(gang("a", 8, 1, 0, "q")));
  e.decide(1000);
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.stop = StopPolicy::kHoldAndDrain;
  ok(e.apply(QueueUpsert{q}));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].reason.code, ReasonCode::kDrained);
  EXPECT_TRUE(e.decide(3000).empty());
  ok(e.audit());
}

struct GpusIn {
  std::int64_t f = 0, g = 0;
};

// Eight GPUs each in the flavors f and g, and two queues of a cohort with so much of them, of which `theirs` has `other` running: all
// of f and one of g.
void two_flavors(Engine& e, const GpusIn& ours, const GpusIn& theirs) {
  ok(e.apply(gpu_node("nf", 8, {{"pool", "f"}})));
  ok(e.apply(gpu_node("ng", 8, {{"pool", "g"}})));
  for (const char* name : {"f", "g"}) ok(e.apply(FlavorUpsert{{name, {{"pool", name}}, {}, {}, ""}}));
  ok(e.apply(cohort("c")));
  const auto queue = [&](const char* name, const GpusIn& quota) {
    Queue q;
    q.name = name;
    q.parent = "c";
    q.groups = {{{"cpu", "nvidia.com/gpu"}, {"f", "g"}}};
    q.preemption = {WithinQueue::kNever, Reclaim::kAny};
    for (const auto& [flavor, gpus] : {std::pair{"f", quota.f}, std::pair{"g", quota.g}}) {
      q.quotas.push_back({flavor, "cpu", 1'000'000, {}, {}});
      q.quotas.push_back({flavor, "nvidia.com/gpu", gpus * 1000, {}, {}});
    }
    ok(e.apply(QueueUpsert{q}));
  };
  queue("ours", ours);
  queue("theirs", theirs);
  Workload other = gang_workload("other", 1, 8, 0, "theirs");
  other.root.pod_sets[0].pod.node_selector.edit()["pool"] = "f";
  other.root.pod_sets.push_back(gang_workload("", 1, 1).root.pod_sets[0]);
  other.root.pod_sets[1].pod.node_selector.edit()["pool"] = "g";
  ok(e.apply(WorkloadUpsert{other}));
  ASSERT_EQ(e.decide(1000).size(), 1u);
}

// Its pod sets take one flavor: what runs in g does not grow by what might be reclaimed in f, and borrow in g.
TEST(Victims, AreSoughtInTheFlavorThatItsPodSetsHave) {
  Engine e;
  two_flavors(e, {8, 1}, {0, 1});
  if (HasFatalFailure()) return;
  Workload w = gang_workload("w", 1, 1, 0, "ours");
  w.root.least = 1;
  w.root.pod_sets[0].pod.node_selector.edit()["pool"] = "g";
  w.root.pod_sets.push_back(gang_workload("", 1, 1).root.pod_sets[0]);
  w.root.pod_sets[1].bands = {{1, 0, false, 0, 0}};
  for (PodSet& set : w.root.pod_sets) set.flavor_group = "together";
  ok(e.apply(WorkloadUpsert{w}));
  const auto d = e.decide(2000);
  EXPECT_TRUE(evicted(d).empty());
  EXPECT_EQ(e.slot("w", 0, 0)->state, SlotState::kBinding);
  EXPECT_EQ(e.slot("w", 1, 0)->state, SlotState::kWaiting);
  ok(e.audit());
}

// One of its pod sets can only have f, so both do: that its queue stays within its quota in g evicts no work of f.
TEST(Victims, AreSoughtInTheFlavorThatItsPodSetsWillShare) {
  Engine e;
  two_flavors(e, {0, 1}, {8, 0});
  if (HasFatalFailure()) return;
  Workload w = gang_workload("w", 1, 0, 0, "ours");
  w.root.pod_sets[0].pod.node_selector.edit()["pool"] = "f";
  w.root.pod_sets.push_back(gang_workload("", 1, 1).root.pod_sets[0]);
  for (PodSet& set : w.root.pod_sets) set.flavor_group = "together";
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_TRUE(e.decide(2000).empty());
  w.root.pod_sets[0].pod.node_selector.edit()["pool"] = "g";
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_EQ(evicted(e.decide(3000)), (std::vector<std::string>{"other"})) << "g is its own";
  ok(e.audit());
}

// A search for the least loss finds work that seems to have just written a checkpoint.
TEST(VictimCost, CheckpointsOfAnotherRunBeginAfterItsOverhead) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  Workload w = gang_workload("w", 1, 8);
  w.restart.checkpoint_every = 100'000;
  w.restart.overhead = 30'000;
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1000);
  EXPECT_EQ(*e.victim_cost("w", 1000 + 110'000), 8 * (10'000 + 30'000));
  ok(e.apply(gang("high", 1, 8, 10)));
  e.decide(61'000);
  ok(e.apply(SlotUpdate{"w", 0, 0, SlotState::kGone, ""}));
  ok(e.apply(SlotUpdate{"w", 0, 0, SlotState::kWaiting, ""}));
  e.decide(62'000);
  ok(e.apply(WorkloadRemove{"high"}));
  ASSERT_EQ(e.decide(100'000).size(), 1u);
  EXPECT_EQ(*e.victim_cost("w", 100'000 + 20'000), 8 * 30'000) << "it has done nothing yet";
  EXPECT_EQ(*e.victim_cost("w", 100'000 + 110'000), 8 * (80'000 + 30'000)) << "none is written yet";
  EXPECT_EQ(*e.victim_cost("w", 100'000 + 135'000), 8 * (5'000 + 30'000));
}

// It lacks quota, which others would give up for it, and then a node for its pod.
TEST(Preemption, WorkThatLacksQuotaLooksAgainWhenANodeComesForItsPod) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("small", 4)));
  ok(e.apply(gpu_node("full", 8)));
  ok(e.apply(gpu_queue("own", "", 8)));
  ok(e.apply(gpu_queue("others", "", 8)));
  ok(e.apply(gang("fills", 1, 8, 0, "others")));
  ok(e.apply(gang("low", 2, 2, 0, "own")));
  EXPECT_EQ(e.decide(1000).size(), 2u);
  ok(e.apply(gang("high", 1, 8, 5, "own")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_EQ(to_text(e.verdict("high")->reason),
            "needs 8 nvidia.com/gpu in flavor f, quota left for it: 4, preemption does not help (allowed: "
            "lower priority in its "
            "queue, any borrower in others)");
  ok(e.apply(gpu_node("new", 8)));
  const auto decisions = e.decide(3000);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(decisions[0].workload, "low");
  EXPECT_EQ(decisions[1].kind, DecisionKind::kHold);
  EXPECT_EQ(decisions[1].workload, "high");
}

}  // namespace
}  // namespace berth::engine
