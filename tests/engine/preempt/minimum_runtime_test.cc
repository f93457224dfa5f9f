// Minimum runtimes: work that has just started is not evicted, and the engine names the time at which that ends.
#include <gtest/gtest.h>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr DurationMs kMinimum = 60'000;

// One node of 8 GPUs, and a queue whose work runs for at least a minute.
class MinimumRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    queue.preemption.minimum_runtime = kMinimum;
    ok(e.apply(QueueUpsert{queue}));
  }

  Engine e;
  Queue queue = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
};

TEST_F(MinimumRuntime, NothingIsPreemptedBeforeIt) {
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  ASSERT_EQ(e.decide(1000).size(), 1u);
  EXPECT_EQ(e.next_time(), kEndOfTime) << "nobody waits for anything";
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_NE(to_text(e.verdict("high")->reason).find("some may be preempted later"), std::string::npos)
      << to_text(e.verdict("high")->reason);
  ASSERT_EQ(e.next_time(), 1000 + kMinimum);
  EXPECT_TRUE(e.decide(1000 + kMinimum - 1).empty());
  const auto d = e.decide(e.next_time());
  ASSERT_EQ(d.size(), 2u) << "with no event, time alone";
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].workload, "low");
  EXPECT_EQ(e.next_time(), kEndOfTime);
  ok(e.audit());
}

TEST_F(MinimumRuntime, AWorkloadMayHaveItsOwn) {
  Workload low = gang_workload("low", 8, 1, 0, "q");
  low.minimum_runtime = 5000;
  ok(e.apply(WorkloadUpsert{low}));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_EQ(e.next_time(), 6000);
  low.minimum_runtime = 0;
  ok(e.apply(WorkloadUpsert{low}));
  EXPECT_EQ(e.decide(3000).size(), 2u) << "it has given its minimum up";
}

TEST_F(MinimumRuntime, AQueueMayIgnoreThoseOfOthers) {
  queue.preemption.ignores_minimum_runtime = true;
  ok(e.apply(QueueUpsert{queue}));
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  EXPECT_EQ(e.decide(2000).size(), 2u);
}

TEST_F(MinimumRuntime, CountsFromThePresentRun) {
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  const auto first = e.decide(1000 + kMinimum);
  ASSERT_EQ(first.size(), 2u);
  for (const auto& slot : first[0].slots) {
    ok(e.apply(SlotUpdate{"low", slot.pod_set, slot.index, SlotState::kGone, ""}));
    ok(e.apply(SlotUpdate{"low", slot.pod_set, slot.index, SlotState::kWaiting, ""}));
  }
  e.decide(100'000);
  ok(e.apply(WorkloadRemove{"high"}));
  ASSERT_EQ(e.decide(200'000).size(), 1u) << "low runs again";
  ok(e.apply(gang("higher", 8, 1, 20, "q")));
  EXPECT_TRUE(e.decide(210'000).empty());
  EXPECT_EQ(e.next_time(), 200'000 + kMinimum);
}

TEST_F(MinimumRuntime, EndsOfTheWaitAreForgottenWithTheirWorkload) {
  ok(e.apply(gang("low", 8, 1, 0, "q")));
  e.decide(1000);
  ok(e.apply(gang("high", 8, 1, 10, "q")));
  e.decide(2000);
  ok(e.apply(WorkloadRemove{"high"}));
  EXPECT_EQ(e.next_time(), kEndOfTime);
}

TEST_F(MinimumRuntime, NeverNegative) {
  queue.preemption.minimum_runtime = -1;
  EXPECT_NE(e.apply(QueueUpsert{queue}).error().message.find("must not be negative"), std::string::npos);
  Workload low = gang_workload("low", 8, 1, 0, "q");
  low.minimum_runtime = -1;
  EXPECT_NE(e.apply(WorkloadUpsert{low}).error().message.find("must not be negative"), std::string::npos);
}

// "next" must be in a rack with pods of the team, and away from "sole", which is one of them. "other" stays there.
TEST_F(MinimumRuntime, APodThatThePreemptorMustBeNearToYieldsAfterIt) {
  for (const char* node : {"n1", "n2"})
    ok(e.apply(gpu_node(node, 8, {{"host", node}, {"rack", "r"}, {"zone", "z"}})));
  const auto of_team = [](const std::string& uid, std::int64_t priority, const std::string& node) {
    Workload w = gang_workload(uid, 1, 8, priority, "q");
    auto& pod = w.root.pod_sets.front().pod;
    pod.selected = std::vector<std::string>{"team"};
    pod.node_selector = Labels{{"host", node}};
    return w;
  };
  queue.quotas = std::get<QueueUpsert>(gpu_queue("q", "", 32)).queue.quotas;
  ok(e.apply(QueueUpsert{queue}));
  Workload sole = of_team("sole", 10, "n2");
  sole.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{{TermKind::kApart, "next", "zone"}};
  ok(e.apply(WorkloadUpsert{of_team("other", 50, "n1")}));
  ok(e.apply(WorkloadUpsert{sole}));
  ASSERT_EQ(e.decide(1000).size(), 2u);
  for (const char* uid : {"other", "sole"})
    ok(e.apply(SlotUpdate{uid, 0, 0, SlotState::kRunning, uid == std::string("sole") ? "n2" : "n1"}));
  Workload next = gang_workload("next", 1, 0, 100, "q");
  next.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{{TermKind::kNear, "team", "rack"}};
  next.root.pod_sets.front().pod.selected = std::vector<std::string>{"next"};
  ok(e.apply(WorkloadUpsert{next}));
  EXPECT_TRUE(e.decide(2000).empty());
  ASSERT_EQ(e.next_time(), 1000 + kMinimum) << to_text(e.verdict("next")->reason);
  const auto d = e.decide(e.next_time());
  ASSERT_FALSE(d.empty());
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].workload, "sole");
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
