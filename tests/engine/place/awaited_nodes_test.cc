// Work for which nodes are bought once it has quota: it gets that alone, and its places when the nodes have come.
#include <gtest/gtest.h>

#include <tuple>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

class AwaitedNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"f", "g"}) {
      Flavor flavor;
      flavor.name = name;
      flavor.node_labels = {{"pool", name}};
      ok(e.apply(FlavorUpsert{flavor}));
    }
    ok(e.apply(TopologyUpsert{{"default", {"rack"}}}));
    ok(e.apply(gpu_queue("q", "", 8)));
  }
  void node(const std::string& name, int gpus, const std::string& pool = "f",
            const std::string& rack = "r1") {
    ok(e.apply(gpu_node(name, gpus, {{"pool", pool}, {"rack", rack}})));
  }
  // `count` pods of one GPU each; nodes of flavor f are to be bought for it.
  static Workload awaiting(const std::string& uid, int count, std::int64_t priority = 0) {
    Workload w = gang_workload(uid, count, 1, priority, "q");
    w.root.pod_sets[0].pod.awaited_flavors = {"f"};
    return w;
  }
  void nodes_came(Workload w) {
    for (PodSet& set : w.root.pod_sets) set.pod.awaited_flavors.clear();
    ok(e.apply(WorkloadUpsert{w}));
  }
  // Kind and workload of every decision, and the nodes of its slots, each once.
  using Decisions = std::vector<std::tuple<DecisionKind, std::string, std::vector<std::string>>>;
  Decisions decide(TimeMs now) {
    Decisions out;
    for (const Decision& d : e.decide(now)) {
      std::vector<std::string> names;
      for (const SlotPlacement& slot : d.slots) {
        if (names.empty() || names.back() != slot.node) names.push_back(slot.node);
      }
      out.emplace_back(d.kind, d.workload, names);
    }
    ok(e.audit());
    return out;
  }
  std::int64_t used_quota() const {
    for (const auto& queue : e.queues()) {
      if (queue.name != "q") continue;
      for (const auto& quota : queue.quotas) {
        if (quota.resource == "nvidia.com/gpu" && quota.flavor == "f") return quota.usage;
      }
    }
    return -1;
  }
  static constexpr auto kStart = DecisionKind::kStart;

  Engine e;
};

TEST_F(AwaitedNodes, QuotaIsReservedWithoutPlacesThoughThereAreNodes) {
  node("n1", 8);
  ok(e.apply(WorkloadUpsert{awaiting("a", 4)}));
  EXPECT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  EXPECT_EQ(used_quota(), 4000);
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kQuotaOnly);
  EXPECT_EQ(e.nodes()[0].amounts[0].promised, 0) << "no node is charged";
  EXPECT_EQ(decide(2000), (Decisions{}));
}

TEST_F(AwaitedNodes, PlacesAreTakenInOneDecisionWhenTheNodesHaveCome) {
  const Workload a = awaiting("a", 4);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  node("n1", 2);
  EXPECT_EQ(decide(2000), (Decisions{})) << "whoever buys has not said that they are all there";
  nodes_came(a);
  EXPECT_EQ(decide(3000), (Decisions{})) << "all or none";
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kQuotaOnly);
  EXPECT_EQ(to_text(e.verdict("a")->reason), "4 pods need nodes, there is room for 2");
  node("n2", 2);
  EXPECT_EQ(decide(4000), (Decisions{{kStart, "a", {"n1", "n2"}}}));
  EXPECT_EQ(used_quota(), 4000);
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kPlaced);
  EXPECT_EQ(decide(5000), (Decisions{}));
}

TEST_F(AwaitedNodes, WorkWithQuotaGetsTheNodesBeforeWaitingWork) {
  const Workload a = awaiting("a", 4);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000).size(), 1u);
  ok(e.apply(gang("b", 4, 1, 10, "q")));
  ASSERT_EQ(decide(2000), (Decisions{}));
  nodes_came(a);
  node("n1", 4);
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n1"}}}));
}

TEST_F(AwaitedNodes, AFlavorThatIsNotAwaitedIsTriedInItsOrder) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.groups[0].flavors = {"g", "f"};
  for (const char* resource : {"cpu", "nvidia.com/gpu"})
    q.quotas.push_back({"g", resource, 1'000'000, {}, {}});
  ok(e.apply(QueueUpsert{q}));
  node("n1", 4, "g");
  ok(e.apply(WorkloadUpsert{awaiting("a", 4)}));
  ok(e.apply(WorkloadUpsert{awaiting("b", 4)}));
  EXPECT_EQ(decide(1000), (Decisions{{kStart, "a", {"n1"}}, {kStart, "b", {""}}}));
}

TEST_F(AwaitedNodes, PlacesAreTakenInTheFlavorOfTheQuota) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.groups[0].flavors = {"g", "f"};
  for (const char* resource : {"cpu", "nvidia.com/gpu"})
    q.quotas.push_back({"g", resource, 1'000'000, {}, {}});
  ok(e.apply(QueueUpsert{q}));
  const Workload a = awaiting("a", 4);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  node("n1", 4, "g");
  nodes_came(a);
  EXPECT_EQ(decide(2000), (Decisions{})) << "n1 is of the other flavor";
  node("n2", 4, "f");
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n2"}}}));
}

TEST_F(AwaitedNodes, HigherPriorityTakesTheQuotaOfWorkThatAwaitsNodes) {
  ok(e.apply(WorkloadUpsert{awaiting("low", 8)}));
  ASSERT_EQ(decide(1000).size(), 1u);
  ok(e.apply(WorkloadUpsert{awaiting("high", 8, 10)}));
  EXPECT_EQ(decide(2000),
            (Decisions{{DecisionKind::kEvict, "low", {""}}, {DecisionKind::kHold, "high", {""}}}));
  for (int i = 0; i < 8; ++i) ok(e.apply(SlotUpdate{"low", 0, i, SlotState::kWaiting, ""}));
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "high", {""}}}));
}

TEST_F(AwaitedNodes, QuotaIsGivenBackWhenItIsWithdrawn) {
  ok(e.apply(WorkloadUpsert{awaiting("a", 8)}));
  ASSERT_EQ(decide(1000).size(), 1u);
  ok(e.apply(WorkloadUpsert{awaiting("b", 8)}));
  ASSERT_EQ(decide(2000), (Decisions{}));
  ok(e.apply(Withdraw{"a", "the nodes could not be bought"}));
  EXPECT_EQ(decide(3000), (Decisions{{DecisionKind::kEvict, "a", {""}}, {DecisionKind::kHold, "b", {""}}}));
  for (int i = 0; i < 8; ++i) ok(e.apply(SlotUpdate{"a", 0, i, SlotState::kAbsent, ""}));
  EXPECT_EQ(decide(4000), (Decisions{{kStart, "b", {""}}}));
}

TEST_F(AwaitedNodes, TheDomainIsChosenWhenTheNodesAreThere) {
  Workload a = awaiting("a", 4);
  a.root.topology.required = "rack";
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  nodes_came(a);
  node("n1", 2, "f", "r1");
  node("n2", 2, "f", "r2");
  EXPECT_EQ(decide(2000), (Decisions{}));
  node("n3", 2, "f", "r2");
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n2", "n3"}}}));
}

// The tightest rack has room for the part that may start without the other.
TEST_F(AwaitedNodes, PartsThatNeedNotStartTogetherGetTheirPlacesTogether) {
  Workload a = awaiting("a", 1);
  a.root.least = 1;
  a.root.topology.preferred = "rack";
  PodSet second = a.root.pod_sets[0];
  second.name = "second";
  a.root.pod_sets[0].pod.claim.requests.clear();
  a.root.pod_sets.push_back(second);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  nodes_came(a);
  ok(e.apply(gpu_node("n1", 0, {{"pool", "f"}, {"rack", "r1"}}, 2)));
  EXPECT_EQ(decide(2000), (Decisions{})) << "both or none";
  node("n2", 1, "f", "r2");
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n2"}}}));
}

// Its segments are slots 0 to 2 and 3 to 4: placed by itself, slot 3 would stand where 4 finds no room any more.
TEST_F(AwaitedNodes, ALostSlotGetsItsPlaceWithTheOthers) {
  Workload a = awaiting("a", 5);
  a.root.topology.segment = 3;
  a.root.topology.segment_level = "rack";
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000), (Decisions{{kStart, "a", {""}}}));
  nodes_came(a);
  ok(e.apply(SlotUpdate{"a", 0, 3, SlotState::kWaiting, ""}));
  node("n1", 2, "f", "r1");
  EXPECT_EQ(decide(2000), (Decisions{{kStart, "a", {""}}})) << "quota alone, like the others";
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kQuotaOnly);
  EXPECT_EQ(used_quota(), 5000);
  node("n2", 4, "f", "r2");
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n2", "n1"}}}));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(e.slot("a", 0, i)->node, i < 3 ? "n2" : "n1");
}

TEST_F(AwaitedNodes, ALostSlotGetsQuotaAndPlaceInOneRound) {
  const Workload a = awaiting("a", 4);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000).size(), 1u);
  nodes_came(a);
  ok(e.apply(SlotUpdate{"a", 0, 3, SlotState::kWaiting, ""}));
  node("n1", 4);
  EXPECT_EQ(decide(2000), (Decisions{{kStart, "a", {""}}, {kStart, "a", {"n1"}}}));
  EXPECT_EQ(decide(3000), (Decisions{}));
}

// Nothing of the second pod set says in which flavor it had its quota.
TEST_F(AwaitedNodes, APodSetThatLostAllItsSlotsIsPlacedByItself) {
  Workload a = awaiting("a", 2);
  a.root.topology.required = "rack";
  a.root.pod_sets.push_back(a.root.pod_sets[0]);
  a.root.pod_sets[1].name = "second";
  a.root.pod_sets[1].count = 1;
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000).size(), 1u);
  nodes_came(a);
  ok(e.apply(SlotUpdate{"a", 1, 0, SlotState::kWaiting, ""}));
  node("n1", 3);
  EXPECT_EQ(decide(2000), (Decisions{{kStart, "a", {"n1"}}, {kStart, "a", {"n1"}}}));
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kPlaced);
}

TEST_F(AwaitedNodes, WhatLacksQuotaSaysSo) {
  Workload a = awaiting("a", 9);
  a.root.topology.required = "rack";
  ok(e.apply(WorkloadUpsert{a}));
  EXPECT_EQ(decide(1000), (Decisions{}));
  EXPECT_EQ(e.verdict("a")->reason.code, ReasonCode::kQuotaMax);
}

// Another client put a pod of it on a node: it is charged there, and the rest goes on waiting.
TEST_F(AwaitedNodes, ASlotThatIsSeenOnANodeIsChargedThere) {
  const Workload a = awaiting("a", 2);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000).size(), 1u);
  node("n1", 4);
  ok(e.apply(SlotUpdate{"a", 0, 0, SlotState::kRunning, "n1"}));
  EXPECT_EQ(decide(2000), (Decisions{}));
  EXPECT_EQ(e.slot("a", 0, 0)->node, "n1");
  EXPECT_EQ(used_quota(), 2000);
  nodes_came(a);
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n1"}}}));
  EXPECT_EQ(e.slot("a", 0, 1)->node, "n1");
}

TEST_F(AwaitedNodes, AStoppedQueuePlacesNothing) {
  const Workload a = awaiting("a", 4);
  ok(e.apply(WorkloadUpsert{a}));
  ASSERT_EQ(decide(1000).size(), 1u);
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.stop = StopPolicy::kHold;
  ok(e.apply(QueueUpsert{q}));
  nodes_came(a);
  node("n1", 4);
  EXPECT_EQ(decide(2000), (Decisions{}));
  q.stop = StopPolicy::kNone;
  ok(e.apply(QueueUpsert{q}));
  EXPECT_EQ(decide(3000), (Decisions{{kStart, "a", {"n1"}}}));
}

}  // namespace
}  // namespace berth::engine
