#include "engine/engine.h"

#include <gtest/gtest.h>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

TEST(Engine, StartsWhatFits) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("a", 8, 1)));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].kind, DecisionKind::kStart);
  EXPECT_EQ(d[0].slots.size(), 8u);
  ok(e.audit());
  EXPECT_TRUE(e.decide(2000).empty());
}

TEST(Engine, AGangThatDoesNotFitStartsNothing) {
  Engine e;
  ok(e.apply(gpu_node("n0", 6)));
  ok(e.apply(gang("a", 8, 1)));
  EXPECT_TRUE(e.decide(1000).empty());
  const auto why = e.explain("a");
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->kind, VerdictKind::kBlocked);
  EXPECT_NE(to_text(why->reason).find("8 pods need nodes, there is room for 6"), std::string::npos)
      << to_text(why->reason);
  ok(e.audit());
}

TEST(Engine, AHigherGangDisplacesTheCheapestWholeGangAndGetsItsRoom) {
  Engine e;
  for (int i = 0; i < 4; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 8)));
  for (int i = 0; i < 4; ++i) {
    ok(e.apply(gang("low" + std::to_string(i), 8, 1)));
    e.decide(1000 + i * 1000);
  }
  ok(e.apply(gang("high", 8, 1, 100)));
  ok(e.apply(gang("late", 8, 1, 0)));
  auto d = e.decide(10'000);
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].workload, "low3");
  EXPECT_EQ(d[0].beneficiary, "high");
  EXPECT_EQ(d[0].cost, 8 * 6000);
  EXPECT_EQ(d[1].kind, DecisionKind::kHold);
  EXPECT_EQ(d[1].workload, "high");
  ok(e.audit());
  EXPECT_TRUE(e.decide(11'000).empty());
  for (const auto& slot : d[0].slots)
    ok(e.apply(Event{SlotUpdate{"low3", 0, slot.index, SlotState::kGone, ""}}));
  d = e.decide(12'000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].kind, DecisionKind::kStart);
  EXPECT_EQ(d[0].workload, "high");
  ok(e.audit());
}

TEST(Engine, QuotaBorrowedIsReclaimed) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(gpu_queue("team-a", "all", 4)));
  ok(e.apply(gpu_queue("team-b", "all", 4)));
  ok(e.apply(cohort("all")));
  for (int i = 0; i < 8; ++i) ok(e.apply(gang("b" + std::to_string(i), 1, 1, 0, "team-b")));
  EXPECT_EQ(e.decide(1000).size(), 8u);
  ok(e.apply(gang("a", 4, 1, -5, "team-a")));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 5u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(d[i].kind, DecisionKind::kEvict);
    EXPECT_EQ(d[i].reason.code, ReasonCode::kReclaimed);
  }
  EXPECT_EQ(d[4].kind, DecisionKind::kHold);
  ok(e.audit());
  // Both teams are at their own quota now: nothing more can be reclaimed, whatever its priority.
  ok(e.apply(gang("a2", 1, 1, -5, "team-a")));
  EXPECT_TRUE(e.decide(3000).empty());
}

TEST(Engine, SharesTakeTheTightestDevice) {
  Engine e;
  ok(e.apply(gpu_node("n0", 2)));
  ok(e.apply(shared("a", 600)));
  ok(e.apply(shared("b", 500)));
  ok(e.apply(shared("c", 400)));
  ok(e.apply(shared("d", 600)));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 3u);
  EXPECT_EQ(d[0].slots[0].devices, std::vector<std::int64_t>{0});
  EXPECT_EQ(d[1].slots[0].devices, std::vector<std::int64_t>{1});
  EXPECT_EQ(d[2].slots[0].devices, std::vector<std::int64_t>{0});
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
