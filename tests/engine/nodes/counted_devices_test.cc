// Nodes with more devices than have numbers: they are counted, whole ones are given, and nothing is told which it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "engine/nodes/nodes.h"
#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::int64_t used_of(const Engine& engine, std::string_view node) {
  for (const auto& view : engine.nodes()) {
    for (const auto& amount : view.amounts) {
      if (view.name == node && amount.resource == "nvidia.com/gpu") return amount.used;
    }
  }
  return -1;
}

constexpr int kNumbered = static_cast<int>(kMostNumberedDevices);

TEST(CountedDevices, EachIsGivenOnceAndNoneHasANumber) {
  Engine engine;
  ok(engine.apply(gpu_node("n", kNumbered + 16)));
  for (int i = 0; i < 72; ++i) ok(engine.apply(gang("w" + std::to_string(i), 1, 16)));
  const auto decisions = engine.decide(1);
  EXPECT_EQ(decisions.size(), 65u);
  for (const auto& decision : decisions) EXPECT_THAT(decision.slots[0].devices, IsEmpty());
  EXPECT_EQ(used_of(engine, "n"), 1000 * (kNumbered + 16));
  const auto view = engine.nodes();
  EXPECT_THAT(view[0].devices, IsEmpty());
  EXPECT_THAT(view[0].counted, ElementsAre("nvidia.com/gpu"));
  ok(engine.audit());
}

TEST(CountedDevices, AGangCountsWhatEachNodeHas) {
  Engine engine;
  ok(engine.apply(gpu_node("many", 12 * 100)));
  ok(engine.apply(gpu_node("hundred", 100)));
  ok(engine.apply(gang("too-much", 14, 100)));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  ok(engine.apply(gang("fits", 13, 100)));  // 12 on the one, 1 on the other
  const auto decisions = engine.decide(2);
  ASSERT_EQ(decisions.size(), 1u);
  std::map<std::string, int> pods;
  for (const auto& slot : decisions[0].slots) {
    ++pods[slot.node];
    EXPECT_EQ(slot.devices.size(), slot.node == "many" ? 0u : 100u);
  }
  EXPECT_EQ(pods["many"], 12);
  EXPECT_EQ(pods["hundred"], 1);
  ok(engine.audit());
}

TEST(CountedDevices, NoPartOfOneIsGiven) {
  Engine engine;
  ok(engine.apply(gpu_node("many", kNumbered + 1)));
  ok(engine.apply(shared("part", 500)));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  ok(engine.apply(gpu_node("one", 1)));
  const auto decisions = engine.decide(2);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].slots[0].node, "one");
}

// A driver may publish more than a hundred on a node.
TEST(CountedDevices, UpToTheBoundTheyHaveNumbers) {
  Engine engine;
  ok(engine.apply(gpu_node("n", kNumbered)));
  ok(engine.apply(gang("a", 1, kNumbered - 1)));
  ok(engine.apply(shared("part", 600)));
  const auto decisions = engine.decide(1);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].slots[0].devices.size(), static_cast<std::size_t>(kNumbered - 1));
  EXPECT_EQ(decisions[1].slots[0].devices, std::vector<std::int64_t>{kNumbered - 1});
  ok(engine.audit());
}

// With several kinds of devices the largest are counted.
TEST(CountedDevices, TheLargestKindsAreCounted) {
  Node node;
  node.name = "n";
  node.allocatable.set("cpu", 128'000);
  node.devices.push_back({"nvidia.com/gpu", 8, "", {}});
  node.devices.push_back({"example.com/vgpu", kNumbered - 4, "", {}});
  Engine engine;
  ok(engine.apply(NodeUpsert{node}));
  EXPECT_THAT(engine.nodes()[0].counted, ElementsAre("example.com/vgpu"));
  EXPECT_EQ(engine.nodes()[0].devices.size(), 8u);
  node.devices[1].count = 2'000'000;
  EXPECT_FALSE(engine.apply(NodeUpsert{node}).has_value());
}

TEST(CountedDevices, UnhealthyOnesDoNotCount) {
  Node node;
  node.name = "n";
  node.allocatable.set("cpu", 128'000);
  node.devices.push_back({"nvidia.com/gpu", kNumbered + 6, "", {0, 1, kNumbered + 5}});
  Engine engine;
  ok(engine.apply(NodeUpsert{node}));
  ok(engine.apply(gang("a", 1, kNumbered + 4)));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  ok(engine.apply(gang("b", 1, kNumbered + 3)));
  EXPECT_EQ(engine.decide(2).size(), 1u);
}

TEST(CountedDevices, TheLeastIsEvictedForMore) {
  Engine engine;
  ok(engine.apply(gpu_node("n", 2000)));
  for (int i = 0; i < 10; ++i) ok(engine.apply(gang("low" + std::to_string(i), 1, 200)));
  EXPECT_EQ(engine.decide(1).size(), 10u);
  for (int i = 0; i < 10; ++i)
    ok(engine.apply(SlotUpdate{"low" + std::to_string(i), 0, 0, SlotState::kRunning, "n", {}}));
  ok(engine.apply(gang("high", 1, 500, 10)));
  int evicted = 0;
  for (const auto& decision : engine.decide(2)) evicted += decision.kind == DecisionKind::kEvict ? 1 : 0;
  EXPECT_EQ(evicted, 3);
  ok(engine.audit());
}

// A node whose devices come to be too many for numbers, and back, while work runs there: the books stay right.
TEST(CountedDevices, BooksStayRightWhenTheNumberChanges) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random r(seed);
    Engine engine;
    int next = 0;
    std::vector<std::string> running;
    for (int step = 0; step < 40; ++step) {
      if (step == 0 || r.chance(1, 6)) {
        for (const char* name : {"a", "b"})
          ok(engine.apply(
              gpu_node(name, static_cast<int>(r.chance(1, 2) ? r.between(kNumbered + 1, kNumbered + 30)
                                                             : r.between(1, 64)))));
      }
      const std::string uid = fmt::format("w{}", next++);
      ok(engine.apply(
          r.chance(1, 4) ? shared(uid, 100 * r.between(1, 9))
                         : gang(uid, static_cast<int>(r.between(1, 3)), static_cast<int>(r.between(1, 20)))));
      for (const auto& decision : engine.decide(step)) {
        if (decision.kind != DecisionKind::kStart) continue;
        for (const auto& slot : decision.slots)
          ok(engine.apply(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kRunning,
                                     slot.node, slot.devices}));
        running.push_back(decision.workload);
      }
      if (!running.empty() && r.chance(1, 3)) {
        const auto at = static_cast<std::ptrdiff_t>(r.below(running.size()));
        ok(engine.apply(WorkloadRemove{running[static_cast<std::size_t>(at)]}));
        running.erase(running.begin() + at);
      }
      const auto status = engine.audit();
      ASSERT_TRUE(status.has_value()) << "seed " << seed << ": " << status.error().str();
    }
  }
}

}  // namespace
}  // namespace berth::engine::test
