// Gangs that lost slots which they need, and work that may not preempt at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

struct BrokenWorld {
  Engine e;
  TimeMs now = 1000;

  BrokenWorld() {
    ok(e.apply(gpu_node("n", 4)));
    ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
    ok(e.apply(gpu_queue("q", "", 4)));
  }
  void add(const std::string& uid, int pods, std::optional<DurationMs> broken_for, int priority = 0) {
    Workload w = gang_workload(uid, pods, 1, priority, "q");
    w.broken_for = broken_for;
    ok(e.apply(WorkloadUpsert{w}));
  }
  void lose(const std::string& uid, std::int64_t slot, SlotState to = SlotState::kGone) {
    ok(e.apply(SlotUpdate{uid, 0, slot, to, ""}));
  }
  // "start a", "evict b: reason".
  std::vector<std::string> decide(DurationMs later) {
    std::vector<std::string> out;
    for (const Decision& d : e.decide(now += later)) {
      out.push_back(std::string(enum_name(d.kind)) + " " + d.workload);
      if (d.kind == DecisionKind::kEvict) out.back() += ": " + to_text(d.reason);
    }
    ok(e.audit());
    return out;
  }
};

using Told = std::vector<std::string>;

TEST(BrokenGangs, EndWholeAfterTheirTime) {
  BrokenWorld w;
  w.add("a", 3, 5000);
  ASSERT_EQ(w.decide(0), (Told{"start a"}));
  w.lose("a", 1);
  EXPECT_EQ(w.decide(1000), (Told{})) << "its time begins";
  EXPECT_EQ(w.e.next_time(), 1000 + 5000);
  EXPECT_EQ(w.decide(3999), (Told{}));
  EXPECT_EQ(w.decide(1), (Told{"evict a: its gang lacked pods that it needs for 5 s"}));
  EXPECT_EQ(w.decide(1000), (Told{})) << "once";
}

TEST(BrokenGangs, GoOnWhereTheyAreWholeAgain) {
  BrokenWorld w;
  w.add("a", 3, 5000);
  ASSERT_EQ(w.decide(0), (Told{"start a"}));
  w.lose("a", 1);
  EXPECT_EQ(w.decide(2000), (Told{}));
  w.lose("a", 1, SlotState::kWaiting);  // its pod is made again
  EXPECT_EQ(w.decide(1000), (Told{"start a"}));
  EXPECT_EQ(w.e.next_time(), kEndOfTime);
  EXPECT_EQ(w.decide(60'000), (Told{}));
}

// The round in which the time ends may still complete it.
TEST(BrokenGangs, AreCompletedRatherThanEnded) {
  BrokenWorld w;
  w.add("a", 3, 0);
  ASSERT_EQ(w.decide(0), (Told{"start a"}));
  w.lose("a", 1, SlotState::kWaiting);
  EXPECT_EQ(w.decide(1000), (Told{"start a"}));
}

// Victims leave the room that it lacks.
TEST(BrokenGangs, AreNotEndedWhileRoomIsOnItsWay) {
  BrokenWorld w;
  w.add("a", 2, 1000, 5);
  ASSERT_EQ(w.decide(0), (Told{"start a"}));
  w.lose("a", 1);
  w.add("low", 3, std::nullopt);
  ASSERT_EQ(w.decide(500), (Told{"start low"}));
  w.lose("a", 1, SlotState::kWaiting);
  ASSERT_EQ(w.decide(100).size(), 2u) << "it evicts and holds";
  EXPECT_EQ(w.decide(60'000), (Told{}));
  for (const std::int64_t slot : {0, 1, 2}) w.lose("low", slot);
  EXPECT_EQ(w.decide(0), (Told{"start a"}));
}

TEST(BrokenGangs, StayWhereTheyDoNotSaySo) {
  BrokenWorld w;
  w.add("a", 3, std::nullopt);
  ASSERT_EQ(w.decide(0), (Told{"start a"}));
  w.lose("a", 1);
  EXPECT_EQ(w.decide(kHour), (Told{}));
}

TEST(BrokenGangs, CountTheTimeThatIsReported) {
  BrokenWorld w;
  Workload a = gang_workload("a", 2, 1, 0, "q");
  a.broken_for = 60'000;
  a.broken_since = 500;
  ok(w.e.apply(WorkloadUpsert{a}));
  ok(w.e.apply(SlotUpdate{"a", 0, 0, SlotState::kRunning, "n"}));
  w.lose("a", 1);
  w.now = 0;
  EXPECT_EQ(w.decide(60'000), (Told{}));
  EXPECT_EQ(w.decide(500).size(), 1u);
}

TEST(PreemptionDelay, CountsFromTheCreation) {
  BrokenWorld w;
  w.add("low", 4, std::nullopt);
  ASSERT_EQ(w.decide(0), (Told{"start low"}));
  Workload high = gang_workload("high", 2, 1, 5, "q");
  high.created = w.now;
  high.preempts_after = 10'000;
  ok(w.e.apply(WorkloadUpsert{high}));
  EXPECT_EQ(w.decide(1000), (Told{}));
  EXPECT_NE(to_text(w.e.verdict("high")->reason).find("preemption delay"), std::string::npos);
  EXPECT_EQ(w.e.next_time(), 1000 + 10'000);
  EXPECT_EQ(w.decide(9000).size(), 2u) << "it evicts and holds";
}

TEST(PreemptionDelay, KeepsNothingFromFreeRoom) {
  BrokenWorld w;
  Workload high = gang_workload("high", 2, 1, 5, "q");
  high.created = w.now;
  high.preempts_after = kHour;
  ok(w.e.apply(WorkloadUpsert{high}));
  EXPECT_EQ(w.decide(0), (Told{"start high"}));
}

}  // namespace
}  // namespace berth::engine
