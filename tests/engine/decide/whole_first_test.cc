// Work that starts whole if it can, and else with fewer slots (engine/decide/asked_size.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

Workload shrinking(const std::string& uid, int count, int least, std::int64_t priority = 0) {
  Workload w = gang_workload(uid, count, 1, priority, "q");
  w.root.pod_sets[0].least = least;
  w.whole_first = true;
  return w;
}

class WholeFirst : public testing::Test {
 protected:
  WholeFirst() {
    ok(engine_.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(engine_.apply(gpu_node("n0", 4)));
    ok(engine_.apply(gpu_queue("q", "", 100, {WithinQueue::kLowerPriority, Reclaim::kNever})));
  }
  // Workload -> what was decided of it, and of how many slots.
  using Decided = std::map<std::string, std::pair<DecisionKind, std::size_t>>;
  Decided decide() {
    Decided out;
    for (const Decision& d : engine_.decide(now_ += kSecond)) out[d.workload] = {d.kind, d.slots.size()};
    ok(engine_.audit());
    return out;
  }
  void run(const std::string& uid, int gpus, std::int64_t priority) {
    ok(engine_.apply(gang(uid, 1, gpus, priority, "q")));
    EXPECT_EQ(decide(), (Decided{{uid, {DecisionKind::kStart, 1}}}));
  }

  Engine engine_;
  TimeMs now_ = 0;
};

TEST_F(WholeFirst, AllOfItStartsWhereItFits) {
  ok(engine_.apply(WorkloadUpsert{shrinking("w", 4, 2)}));
  EXPECT_EQ(decide(), (Decided{{"w", {DecisionKind::kStart, 4}}}));
}

TEST_F(WholeFirst, OthersYieldForAllOfIt) {
  run("low", 2, 0);
  ok(engine_.apply(WorkloadUpsert{shrinking("w", 4, 1, 10)}));
  EXPECT_EQ(decide(), (Decided{{"low", {DecisionKind::kEvict, 1}}, {"w", {DecisionKind::kHold, 4}}}));
  ok(engine_.apply(SlotUpdate{"low", 0, 0, SlotState::kGone, ""}));
  EXPECT_EQ(decide(), (Decided{{"w", {DecisionKind::kStart, 4}}}));
}

TEST_F(WholeFirst, OtherWorkTakesTheFreeRoomFirst) {
  run("low", 2, 0);
  Workload w = shrinking("w", 4, 1, 10);
  w.whole_first = false;
  ok(engine_.apply(WorkloadUpsert{w}));
  const Decided all = decide();
  EXPECT_FALSE(all.contains("low")) << "the contrast to the test above";
  EXPECT_EQ(all.at("w"), std::pair(DecisionKind::kStart, std::size_t{2}));
}

TEST_F(WholeFirst, FreeRoomComesBeforeVictimsForFewer) {
  run("equal", 1, 10);
  run("low", 1, 0);
  ok(engine_.apply(WorkloadUpsert{shrinking("w", 4, 2, 10)}));
  EXPECT_EQ(decide(), (Decided{{"w", {DecisionKind::kStart, 2}}}))
      << "the end of low would not make it whole";
}

TEST_F(WholeFirst, OthersYieldForItsLeast) {
  run("equal", 2, 10);
  run("low", 2, 0);
  ok(engine_.apply(WorkloadUpsert{shrinking("w", 4, 2, 10)}));
  EXPECT_EQ(decide(), (Decided{{"low", {DecisionKind::kEvict, 1}}, {"w", {DecisionKind::kHold, 2}}}));
}

TEST_F(WholeFirst, BelowItsLeastItWaitsAndIsWoken) {
  run("equal", 3, 10);
  ok(engine_.apply(WorkloadUpsert{shrinking("w", 6, 2, 10)}));
  EXPECT_EQ(decide(), Decided());
  const auto verdict = engine_.verdict("w");
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, VerdictKind::kBlocked);
  EXPECT_EQ(decide(), Decided());
  ok(engine_.apply(SlotUpdate{"equal", 0, 0, SlotState::kGone, ""}));
  EXPECT_EQ(decide(), (Decided{{"w", {DecisionKind::kStart, 4}}}));
}

TEST_F(WholeFirst, TheNextStartsInTheRoomThatTheFirstLeaves) {
  ok(engine_.apply(WorkloadUpsert{shrinking("a", 3, 2)}));
  ok(engine_.apply(WorkloadUpsert{shrinking("b", 3, 1)}));
  ok(engine_.apply(WorkloadUpsert{shrinking("c", 3, 1)}));
  EXPECT_EQ(decide(), (Decided{{"a", {DecisionKind::kStart, 3}}, {"b", {DecisionKind::kStart, 1}}}));
}

// audit() sees whether the state is as it was declared after each attempt. All that starts has a size that was allowed.
TEST(WholeFirstRandom, EveryStartIsAnAllowedSizeAndNothingIsLeftChanged) {
  std::int64_t fewer = 0;
  std::int64_t evictions = 0;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint32_t>(n)); };
    Engine e;
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    for (int n = 0; n < 2; ++n) ok(e.apply(gpu_node("n" + std::to_string(n), 1 + below(4))));
    ok(e.apply(cohort("roof")));
    const PreemptionPolicy policy{WithinQueue::kLowerPriority, Reclaim::kAny};
    ok(e.apply(gpu_queue("q", "roof", 1 + below(6), policy)));
    ok(e.apply(gpu_queue("p", "roof", 1 + below(6), policy)));
    std::map<std::string, Workload> all;
    TimeMs now = 0;
    for (int step = 0; step < 30; ++step) {
      const std::string uid = "w" + std::to_string(below(8));
      if (all.erase(uid) > 0) {
        ok(e.apply(WorkloadRemove{uid}));
      } else {
        const int count = 1 + below(5);
        Workload w = shrinking(uid, count, 1 + below(count), below(3));
        w.whole_first = below(4) > 0;
        if (below(2) == 0) w.queue = "p";
        all.emplace(uid, w);
        ok(e.apply(WorkloadUpsert{w}));
      }
      for (const Decision& d : e.decide(now += kSecond)) {
        if (d.kind != DecisionKind::kEvict) continue;
        ++evictions;
        for (const auto& slot : d.slots) {
          ok(e.apply(SlotUpdate{d.workload, slot.pod_set, slot.index, SlotState::kGone, ""}));
          ok(e.apply(SlotUpdate{d.workload, slot.pod_set, slot.index, SlotState::kWaiting, ""}));
        }
      }
      for (const auto& view : e.workloads()) {
        if (view.slots_running == 0) continue;
        const PodSet& set = all.at(std::string(view.uid)).root.pod_sets[0];
        ASSERT_GE(view.slots_running, set.least_count()) << "seed " << seed;
        fewer += view.slots_running < set.count ? 1 : 0;
      }
      const auto audit = e.audit();
      ASSERT_TRUE(audit) << "seed " << seed << ", step " << step << ": " << audit.error().str();
    }
  }
  EXPECT_GT(fewer, 100);
  EXPECT_GT(evictions, 50);
}

}  // namespace
}  // namespace berth::engine
