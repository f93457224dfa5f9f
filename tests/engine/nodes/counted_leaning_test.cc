// Preferred counted terms: what they weigh on a node (engine/nodes/counted.h, lean()).
#include <gtest/gtest.h>

#include <functional>
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
  // Each is counted by its own term, and by those of the others: -14 and -14 for the two, -7 and 3 for the other.
  EXPECT_EQ(world.leans(apart), (Leans{-28, 0, -4, 0}));
  EXPECT_EQ(world.leans(near), (Leans{-8, 6, 6, 0}));
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

// As Kubernetes' score has it: the terms of pods that run weigh for one that comes, as its own would.
TEST(CountedLeaning, TheTermsOfPodsThatRunWeighForThoseThatTheySelect) {
  LeaningWorld world;
  const CountedId web = world.counted.intern({}, {"web"});
  const CountedId other = world.counted.intern({}, {"other"});
  const auto wishes = [&](TermKind kind, std::int64_t weight, const std::string& level) {
    return world.counted.intern({}, {}, {}, {{weight, {kind, "web", level}}});
  };
  const CountedId cache = wishes(TermKind::kNear, 3, "zone");
  const CountedId batch = wishes(TermKind::kApart, 7, "host");
  const CountedId spread = wishes(TermKind::kSpread, 10, "zone");
  const CountedId needs = world.counted.intern({{TermKind::kNear, "web", "zone"}}, {});
  world.add("a0", cache, kBothPlanes, 2);
  EXPECT_EQ(world.leans(web), (Leans{6, 6, 0, 0}));
  world.add("b0", batch);
  EXPECT_EQ(world.leans(web), (Leans{6, 6, -7, 0}));
  world.add("b1", spread);
  EXPECT_EQ(world.leans(web), (Leans{6, 6, -7, 0})) << "a spread binds its own pod";
  world.add("b1", needs);
  EXPECT_EQ(world.leans(web), (Leans{6, 6, -6, 0})) << "a required term weighs one";
  EXPECT_EQ(world.leans(other), (Leans{0, 0, 0, 0}));
  EXPECT_EQ(world.leans(cache), (Leans{0, 0, 0, 0}))
      << "no term selects it, and none that its own selects runs";
  world.counted.add(*world.nodes.find("a0"), cache, kBothPlanes, -1);
  world.add("a1", cache, kBothPlanes | kEndingBit);
  EXPECT_EQ(world.leans(web), (Leans{3, 3, -6, 0})) << "pods that end do not";
}

TEST(CountedLeaning, WhatOthersWeighFollowsTheirNodeAndStaysInRange) {
  LeaningWorld world;
  const CountedId web = world.counted.intern({}, {"web"});
  const CountedId far = world.counted.intern({}, {}, {}, {{100, {TermKind::kApart, "web", "zone"}}});
  world.add("a0", far, kBothPlanes, 1000);
  EXPECT_EQ(world.leans(web), (Leans{-6400, -6400, 0, 0}));
  ok(world.nodes.upsert(std::get<NodeUpsert>(gpu_node("a0", 8, {{"host", "a0"}, {"zone", "b"}})).node));
  world.counted.set_node(*world.nodes.find("a0"));
  EXPECT_EQ(world.leans(web), (Leans{-6400, 0, -6400, 0}));
  for (int i = 0; i < 1000; ++i) world.counted.add(*world.nodes.find("a0"), far, kBothPlanes, -1);
  EXPECT_EQ(world.leans(web), (Leans{0, 0, 0, 0}));
  EXPECT_EQ(world.counted.to_text(), "");
}

// An index of a shape hears of each change that matters to it, and of no other.
TEST(CountedLeaning, ChangesOfWhatOthersWeighAreLogged) {
  LeaningWorld world;
  const CountedId web = world.counted.intern({}, {"web"});
  const CountedId other = world.counted.intern({}, {"other"});
  const CountedId needs = world.counted.intern({{TermKind::kNear, "web", "zone"}}, {});
  const auto heard = [&](CountedId id, const std::function<void()>& change) {
    const std::uint64_t from = world.counted.log().end();
    change();
    std::size_t out = 0;
    for (std::uint64_t at = from; at < world.counted.log().end(); ++at)
      out += world.counted.concerns(id, world.counted.log().at(at)) ? 1 : 0;
    return out;
  };
  EXPECT_EQ(heard(web, [&] { world.add("a0", needs); }), 1U);
  EXPECT_EQ(heard(other, [&] { world.add("a0", needs); }), 0U);
  world.add("a0", needs, kBothPlanes, 100);
  EXPECT_EQ(heard(web, [&] { world.add("a0", needs); }), 0U) << "beyond 64 a domain weighs no more";
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
  EXPECT_EQ(world.leans(again), (Leans{0, 0, -4, 0}));
}

}  // namespace
}  // namespace berth::engine
