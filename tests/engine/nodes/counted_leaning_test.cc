// Preferred counted terms: what they weigh on a node (engine/nodes/counted.h, lean()).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/nodes/counted.h"
#include "engine/nodes/score.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// Two zones of two nodes, and one node without a zone.
struct LeaningWorld {
  LeaningWorld() {
    for (const auto& [name, zone] : std::map<std::string, std::string>{
             {"a0", "a"}, {"a1", "a"}, {"b0", "b"}, {"b1", "b"}, {"lone", ""}}) {
      Labels labels{{"host", name}};
      if (!zone.empty()) labels["zone"] = zone;
      ok(nodes.upsert(std::get<NodeUpsert>(gpu_node(name, 8, std::move(labels))).node));
      counted.set_node(*nodes.find(name));
    }
  }
  void add(const std::string& name, CountedId id, PlaneMask planes = kBothPlanes, int times = 1) {
    for (int i = 0; i < times; ++i) counted.add(*nodes.find(name), id, planes, +1);
  }
  std::vector<std::int64_t> leans(CountedId id) {
    std::vector<std::int64_t> out;
    for (const char* name : {"a0", "a1", "b0", "lone"}) out.push_back(counted.lean(*nodes.find(name), id));
    return out;
  }
  CountedId wish(TermKind kind, std::int64_t weight, const std::string& level) {
    return counted.intern({}, {"web"}, {}, {{weight, {kind, "web", level}}});
  }
  using Leans = std::vector<std::int64_t>;

  NodeTable nodes;
  Counted counted{nodes};
};

using Leans = LeaningWorld::Leans;

TEST(CountedLeaning, EachPodInTheDomainWeighsForOrAgainstIt) {
  LeaningWorld world;
  const CountedId apart = world.wish(TermKind::kApart, 7, "host");
  const CountedId near = world.wish(TermKind::kNear, 3, "zone");
  EXPECT_EQ(world.leans(apart), (Leans{0, 0, 0, 0}));
  world.add("a0", apart, kBothPlanes, 2);
  world.add("b0", near);
  EXPECT_EQ(world.leans(apart), (Leans{-14, 0, -7, 0}));
  EXPECT_EQ(world.leans(near), (Leans{6, 6, 3, 0}));
  EXPECT_EQ(world.counted.cap(*world.nodes.find("a0"), apart, Mode::kStart), kInt64Max) << "it caps nothing";
  EXPECT_FALSE(world.counted.limits_itself(near, Mode::kStart));
}

TEST(CountedLeaning, OfASpreadNodesWithoutTheLabelComeLast) {
  LeaningWorld world;
  const CountedId spread = world.wish(TermKind::kSpread, 10, "zone");
  world.add("a1", spread, kBothPlanes, 3);
  EXPECT_EQ(world.leans(spread), (Leans{-30, -30, 0, -650}));
}

TEST(CountedLeaning, PodsThatAreToEndDoNotCountAndHeldOnesDo) {
  LeaningWorld world;
  const CountedId spread = world.wish(TermKind::kSpread, 10, "zone");
  world.add("a0", spread, kNowBit);                   // ending
  world.add("a0", spread, kBothPlanes | kEndingBit);  // ending, of another scheduler
  world.add("b0", spread, kAfterBit);                 // held
  EXPECT_EQ(world.leans(spread), (Leans{0, 0, -10, -650}));
}

// With thousands of pods one more or less in a domain still tells the domains apart, and no weight leaves the range of a preference.
TEST(CountedLeaning, LargeCountsStillDiffer) {
  LeaningWorld world;
  const CountedId spread = world.wish(TermKind::kSpread, 100, "zone");
  world.add("a0", spread, kBothPlanes, 5001);
  world.add("b0", spread, kBothPlanes, 5000);
  EXPECT_EQ(world.leans(spread)[0] - world.leans(spread)[2], -100);
  EXPECT_GT(world.leans(spread)[0], -kMostPreference / 2);
  world.add("a0", spread, kBothPlanes, 5000);
  EXPECT_EQ(world.leans(spread)[0], -6400);
}

TEST(CountedLeaning, WhatIsInternedTwiceIsOneAndWhatIsForgottenLeavesNothing) {
  LeaningWorld world;
  const CountedId one = world.wish(TermKind::kNear, 3, "zone");
  EXPECT_EQ(world.wish(TermKind::kNear, 3, "zone"), one);
  EXPECT_NE(world.wish(TermKind::kNear, 4, "zone"), one);
  EXPECT_NE(world.counted.intern({{TermKind::kNear, "web", "zone"}}, {"web"}), one);
  world.counted.keep_only({});
  EXPECT_FALSE(world.counted.any());
  const CountedId again = world.wish(TermKind::kApart, 2, "zone");
  world.add("b1", again);
  EXPECT_EQ(world.leans(again), (Leans{0, 0, -2, 0}));
}

}  // namespace
}  // namespace berth::engine
