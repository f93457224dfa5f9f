// Work that repeatedly loses the room of its victims preempts nothing for a while (preempt/rights/force.h).
#include <gtest/gtest.h>

#include "engine/preempt/rights/force.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// One GPU besides that of "other", quota only or on a node. "lower" of queue q has it, "taker" of q takes it, and "owner" of the queue whose quota it is takes it
// back.
class Patience : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Flavor f;
    f.name = "f";
    f.opaque = GetParam();
    ok(e.apply(FlavorUpsert{f}));
    if (!f.opaque) ok(e.apply(gpu_node("n", 2)));
    ok(e.apply(cohort("all")));
    ok(e.apply(gpu_queue("q", "all", 1, {WithinQueue::kLowerPriority, Reclaim::kNever})));
    ok(e.apply(gpu_queue("o", "all", 1, {WithinQueue::kLowerPriority, Reclaim::kAny})));
    put("other", 9);
    put("lower", 0);
    put("taker", 1, false);
    decide(0);
  }
  void put(const std::string& uid, std::int64_t priority, bool active = true) {
    Workload w = gang_workload(uid, 1, 1, priority, uid == "owner" ? "o" : "q");
    w.active = active;
    ok(e.apply(WorkloadUpsert{w}));
  }
  // Decides at this time until nothing more is decided; evicted pods end at once.
  void decide(TimeMs at) {
    now = at;
    while (true) {
      const auto decisions = e.decide(now);
      ok(e.audit());
      if (decisions.empty()) return;
      for (const Decision& d : decisions) {
        if (d.kind != DecisionKind::kEvict) continue;
        ok(e.apply(SlotUpdate{d.workload, 0, 0, SlotState::kGone, ""}));
        ok(e.apply(SlotUpdate{d.workload, 0, 0, SlotState::kWaiting, ""}));
      }
    }
  }
  bool runs(const std::string& uid) const { return has_running(e, uid); }
  // taker takes from lower, and keeps it for so long.
  void take_and_lose(DurationMs kept) {
    put("taker", 1);
    decide(now + 1000);
    ASSERT_TRUE(runs("taker"));
    put("owner", 2);
    decide(now + kept);
    ASSERT_TRUE(runs("owner"));
    give_to_lower();
  }
  void give_to_lower() {
    put("taker", 1, false);
    ok(e.apply(WorkloadRemove{"owner"}));
    decide(now + 1000);
    ASSERT_TRUE(runs("lower"));
  }

  Engine e;
  TimeMs now = 0;
};

TEST_P(Patience, EndsAndGrows) {
  for (std::int64_t i = 0; i < kLossesInARow; ++i) take_and_lose(1000);
  const TimeMs lost = now - 1000;
  put("taker", 1);
  decide(now + 1000);
  EXPECT_TRUE(runs("lower")) << "taker is patient";
  const std::string why = to_text(e.verdict("taker")->reason);
  EXPECT_NE(why.find("paused: what it preempted was lost 3 times in a row"), std::string::npos) << why;
  EXPECT_EQ(e.next_time(), lost + kFirstPatience);
  decide(lost + kFirstPatience - 1);
  EXPECT_TRUE(runs("lower"));
  ASSERT_NO_FATAL_FAILURE(take_and_lose(1000)) << "and takes it then";
  put("taker", 1);
  decide(now + 1000);
  EXPECT_EQ(e.next_time(), now - 2000 + 2 * kFirstPatience);
}

TEST_P(Patience, StartsWhereThereIsRoom) {
  for (std::int64_t i = 0; i < kLossesInARow; ++i) take_and_lose(1000);
  put("taker", 1);
  ok(e.apply(WorkloadRemove{"lower"}));
  decide(now + 1000);
  EXPECT_TRUE(runs("taker"));
}

TEST_P(Patience, IsNotAskedOfWorkThatKeptIt) {
  for (std::int64_t i = 0; i < 2 * kLossesInARow; ++i) take_and_lose(kKept);
  put("taker", 1);
  decide(now + 1000);
  EXPECT_TRUE(runs("taker"));
}

TEST_P(Patience, HasABound) {
  for (std::int64_t i = 0; i < 20; ++i) {
    now = std::max(now, e.next_time() == kEndOfTime ? now : e.next_time());
    put("taker", 1);
    decide(now + kMostPatience);
    ASSERT_TRUE(runs("taker"));
    ASSERT_NO_FATAL_FAILURE(take_and_lose(1000));
  }
  put("taker", 1);
  decide(now + 1000);
  EXPECT_EQ(e.next_time(), now - 2000 + kMostPatience);
}

// Within a queue each yields to those in front of it: shortest remaining time first is no circle, however often one yields.
TEST_P(Patience, IsNotAskedOfVictimsInTheirOwnQueue) {
  for (std::int64_t i = 0; i < 2 * kLossesInARow; ++i) {
    put("taker", 1);
    decide(now + 1000);
    ASSERT_TRUE(runs("taker"));
    put("higher", 2);
    decide(now + 1000);
    ASSERT_TRUE(runs("higher"));
    put("taker", 1, false);
    ok(e.apply(WorkloadRemove{"higher"}));
    decide(now + 1000);
    ASSERT_TRUE(runs("lower"));
  }
}

INSTANTIATE_TEST_SUITE_P(OnNodesAndQuotaOnly, Patience, ::testing::Bool());

}  // namespace
}  // namespace berth::engine
