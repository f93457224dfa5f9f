// Work that ran before the engine knew of it: its start is told with its slots (SlotUpdate::since), and cost, minimum runtime, the order
// of victims and attained service go by it.
#include <gtest/gtest.h>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr TimeMs kStartedAt = 1'000'000'000;

SlotUpdate runs(const std::string& uid, TimeMs since, std::int64_t index = 0,
                const std::string& node = "n0") {
  return {uid, 0, index, SlotState::kRunning, node, {}, {}, since};
}

// One node of 8 GPUs, and two jobs of 4 GPUs that run on it.
class Starts : public ::testing::Test {
 protected:
  void SetUp() override {
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(e.apply(gpu_queue("q", "", 8)));
  }
  void adopt(const std::string& uid, TimeMs since) {
    ok(e.apply(gang(uid, 1, 4, 0, "q")));
    ok(e.apply(runs(uid, since)));
  }
  // The victim of work of higher priority that asks for 4 GPUs.
  std::string victim_at(TimeMs now) {
    ok(e.apply(gang("high", 1, 4, 10, "q")));
    for (const auto& d : e.decide(now)) {
      if (d.kind == DecisionKind::kEvict) return d.workload;
    }
    return "";
  }

  Engine e;
};

TEST_F(Starts, ShorterRunsLoseLess) {
  adopt("minutes", kStartedAt - 120'000);
  adopt("hours", kStartedAt - 36'000'000);
  EXPECT_EQ(victim_at(kStartedAt), "minutes");
  EXPECT_EQ(*e.victim_cost("hours", kStartedAt), 4 * 36'000'000);
}

TEST_F(Starts, InWhateverOrderTheyAreTold) {
  adopt("hours", kStartedAt - 36'000'000);
  adopt("minutes", kStartedAt - 120'000);
  EXPECT_EQ(victim_at(kStartedAt), "minutes");
}

// Not since 1970.
TEST_F(Starts, AnUnknownOneIsTheFirstDecision) {
  adopt("unknown", 0);
  adopt("hours", kStartedAt - 36'000'000);
  EXPECT_EQ(victim_at(kStartedAt), "unknown");
  EXPECT_EQ(*e.victim_cost("hours", kStartedAt + 1000), 4 * 36'001'000);
}

TEST_F(Starts, AnUnknownOneIsLaterTheDecisionBefore) {
  e.decide(kStartedAt);
  adopt("unknown", 0);
  EXPECT_EQ(*e.victim_cost("unknown", kStartedAt + 1000), 4 * 1000);
  e.decide(kStartedAt + 5000);
  EXPECT_EQ(*e.victim_cost("unknown", kStartedAt + 5000), 4 * 5000);
}

// The clock of a kubelet may be ahead.
TEST_F(Starts, OneInTheFutureIsNow) {
  adopt("ahead", kStartedAt + 3'600'000);
  e.decide(kStartedAt);
  EXPECT_EQ(*e.victim_cost("ahead", kStartedAt), 0);
  EXPECT_EQ(*e.victim_cost("ahead", kStartedAt + 60'000), 4 * 60'000) << "and it does not stay ahead";
}

TEST_F(Starts, OfAGangItIsTheEarliest) {
  ok(e.apply(gang("g", 3, 2, 0, "q")));
  ok(e.apply(runs("g", kStartedAt - 1000, 0)));
  ok(e.apply(runs("g", 0, 1)));
  ok(e.apply(runs("g", kStartedAt - 9000, 2)));
  e.decide(kStartedAt);
  EXPECT_EQ(*e.victim_cost("g", kStartedAt), 6 * 9000);
}

// Reports about pods that the engine started itself do not change their start.
TEST_F(Starts, OfWhatItStartedItselfItIsTheDecision) {
  ok(e.apply(gang("own", 1, 4, 0, "q")));
  ASSERT_EQ(e.decide(kStartedAt).size(), 1u);
  ok(e.apply(runs("own", kStartedAt + 700)));
  e.decide(kStartedAt + 1000);
  EXPECT_EQ(*e.victim_cost("own", kStartedAt + 1000), 4 * 1000);
}

TEST_F(Starts, MinimumRuntimeCountsFromIt) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.preemption.minimum_runtime = 3'600'000;
  ok(e.apply(QueueUpsert{q}));
  adopt("young", kStartedAt - 60'000);
  adopt("old", kStartedAt - 3'600'000);
  EXPECT_EQ(victim_at(kStartedAt), "old") << "the other one has not run its hour";
}

TEST_F(Starts, YoungestFirstGoesByIt) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.preemption.victims = VictimOrder::kYoungestFirst;
  ok(e.apply(QueueUpsert{q}));
  adopt("old", kStartedAt - 3'600'000);
  adopt("young", kStartedAt - 60'000);
  EXPECT_EQ(victim_at(kStartedAt), "young");
}

// Least attained service: work that has had ten hours stands behind what has had nothing, at the first decision after a restart.
TEST_F(Starts, ServiceCountsFromIt) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.preemption.within = WithinQueue::kLaterInOrder;
  q.ordering.by = OrderBy::kAttained;
  q.ordering.attained_first = 1000 * kHour;
  ok(e.apply(QueueUpsert{q}));
  Workload served = gang_workload("served", 1, 8, 0, "q");
  served.restart.checkpoint_every = kMinute;
  ok(e.apply(WorkloadUpsert{served}));
  ok(e.apply(runs("served", kStartedAt - 1000 * kHour)));
  ok(e.apply(gang("new", 1, 8, 0, "q")));
  const auto d = e.decide(kStartedAt);
  ASSERT_FALSE(d.empty());
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].workload, "served");
}

// A run that ended before anything was decided is none that a restart overhead follows.
TEST_F(Starts, ARunThatEndedBeforeTheFirstDecisionIsNone) {
  Workload w = gang_workload("w", 1, 4, 0, "q");
  w.restart.overhead = 600'000;
  ok(e.apply(WorkloadUpsert{w}));
  ok(e.apply(runs("w", kStartedAt - 5000)));
  ok(e.apply(SlotUpdate{"w", 0, 0, SlotState::kGone, ""}));
  ok(e.apply(SlotUpdate{"w", 0, 0, SlotState::kWaiting, ""}));
  ASSERT_EQ(e.decide(kStartedAt).size(), 1u);
  EXPECT_EQ(*e.victim_cost("w", kStartedAt + 60'000), 4 * (60'000 + 600'000));
  ok(e.audit());
}

// A held queue: nothing new, but what was admitted makes up for what it lost.
TEST_F(Starts, AHeldQueueLetsAdmittedWorkGoOn) {
  ok(e.apply(gang("g", 4, 1, 0, "q")));
  ASSERT_EQ(e.decide(kStartedAt).size(), 1u);
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.stop = StopPolicy::kHold;
  ok(e.apply(QueueUpsert{q}));
  ok(e.apply(gang("new", 1, 1, 0, "q")));
  Workload again = gang_workload("again", 1, 1, 0, "q");
  again.admitted = true;
  ok(e.apply(WorkloadUpsert{again}));
  ok(e.apply(SlotUpdate{"g", 0, 2, SlotState::kGone, ""}));
  ok(e.apply(SlotUpdate{"g", 0, 2, SlotState::kWaiting, ""}));
  const auto d = e.decide(kStartedAt + 1000);
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].workload, "g") << "a pod of a gang that runs";
  EXPECT_EQ(d[0].slots.size(), 1u);
  EXPECT_EQ(d[1].workload, "again") << "work whose pods have all been replaced";
  EXPECT_EQ(e.verdict("new")->reason.code, ReasonCode::kQueueStopped);
  q.stop = StopPolicy::kHoldAndDrain;
  ok(e.apply(QueueUpsert{q}));
  EXPECT_EQ(e.decide(kStartedAt + 2000).size(), 2u) << "both end";
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
