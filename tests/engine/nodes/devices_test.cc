// Which devices a slot has: decided, told, and the same after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

using ::testing::ElementsAre;

// Thousandths in use of each device of the node.
std::vector<std::int64_t> use_of(const Engine& engine, std::string_view node) {
  std::vector<std::int64_t> out;
  for (const auto& view : engine.nodes()) {
    if (view.name != node) continue;
    for (const auto& device : view.devices) out.push_back(device.used);
  }
  return out;
}

SlotUpdate runs(const std::string& uid, const std::string& node, std::vector<std::int64_t> devices) {
  return {uid, 0, 0, SlotState::kRunning, node, std::move(devices)};
}

TEST(Devices, WhatASlotIsToldToHaveIsCharged) {
  Engine engine;
  ok(engine.apply(gpu_node("n", 4)));
  ok(engine.apply(shared("a", 300)));
  ok(engine.apply(runs("a", "n", {2})));
  ok(engine.apply(gang("b", 1, 2)));
  ok(engine.apply(runs("b", "n", {0, 3})));
  EXPECT_THAT(use_of(engine, "n"), ElementsAre(1000, 0, 300, 1000));
  // Told again, also otherwise: a slot keeps what it has on its node.
  ok(engine.apply(runs("a", "n", {1})));
  EXPECT_THAT(use_of(engine, "n"), ElementsAre(1000, 0, 300, 1000));
  ok(engine.audit());
}

TEST(Devices, WhatIsTakenAlreadyIsChargedAllTheSame) {
  Engine engine;
  ok(engine.apply(gpu_node("n", 2)));
  for (const char* uid : {"a", "b"}) {
    ok(engine.apply(shared(uid, 600)));
    ok(engine.apply(runs(uid, "n", {1})));
  }
  EXPECT_THAT(use_of(engine, "n"), ElementsAre(0, 1200));
}

TEST(Devices, WhatCannotBeIsChosen) {
  const std::vector<std::vector<std::int64_t>> impossible = {{}, {7}, {-1}, {1, 1}, {0}, {0, 1, 2}, {63, 64}};
  for (const auto& devices : impossible) {
    Engine engine;
    ok(engine.apply(gpu_node("n", 4)));
    ok(engine.apply(gang("a", 1, 2)));
    ok(engine.apply(runs("a", "n", devices)));
    EXPECT_THAT(use_of(engine, "n"), ElementsAre(1000, 1000, 0, 0));
    ok(engine.audit());
  }
}

// A restart: another engine is told, in any order, what runs where. It must know each device as the first one did, or it would give
// out a whole device where there is only the sum of two pieces.
TEST(Devices, ARestartKnowsEveryDeviceAsItWas) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random r(seed);
    std::vector<Event> world;
    const std::int64_t nodes = r.between(1, 3);
    for (std::int64_t i = 0; i < nodes; ++i) {
      world.push_back(gpu_node(fmt::format("n{}", i), static_cast<int>(r.between(1, 8))));
    }
    Engine first;
    for (const auto& event : world) ok(first.apply(event));
    std::map<std::string, Event> running;
    std::vector<Event> seen;
    for (int i = 0; i < 40; ++i) {
      if (!running.empty() && r.chance(1, 3)) {  // something ends and leaves a hole
        auto it = running.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(r.below(running.size())));
        ok(first.apply(WorkloadRemove{it->first}));
        std::erase_if(seen, [&](const Event& e) { return std::get<SlotUpdate>(e).workload == it->first; });
        running.erase(it);
      }
      const std::string uid = fmt::format("w{}", i);
      const Event work = r.chance(1, 2) ? shared(uid, 100 * r.between(1, 9))
                                        : gang(uid, 1, static_cast<int>(r.between(1, 4)));
      ok(first.apply(work));
      for (const auto& decision : first.decide(i)) {
        for (const auto& slot : decision.slots) {
          seen.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kRunning,
                                    slot.node, slot.devices});
          running.emplace(decision.workload, Event());
        }
      }
      running.contains(uid) ? void(running[uid] = work) : ok(first.apply(WorkloadRemove{uid}));
    }
    Engine second;
    for (const auto& event : world) ok(second.apply(event));
    r.shuffle(seen);
    for (const auto& event : seen) {
      ok(second.apply(running.at(std::get<SlotUpdate>(event).workload)));
      ok(second.apply(event));
    }
    for (std::int64_t i = 0; i < nodes; ++i) {
      const std::string node = fmt::format("n{}", i);
      EXPECT_EQ(use_of(first, node), use_of(second, node)) << "seed " << seed;
    }
    ok(second.audit());
  }
}

// A device plugin was replaced: the slot there gives back exactly what it took.
TEST(Devices, BooksStayRightWhenTheKindChanges) {
  Engine engine;
  ok(engine.apply(gpu_node("n", 2)));
  ok(engine.apply(gang("a", 1, 2)));
  ok(engine.apply(runs("a", "n", {0, 1})));
  Node other = std::get<NodeUpsert>(gpu_node("n", 2)).node;
  other.devices[0].resource = "example.com/gpu";
  ok(engine.apply(NodeUpsert{other}));
  ok(engine.audit());
  ok(engine.apply(WorkloadRemove{"a"}));
  EXPECT_THAT(use_of(engine, "n"), ElementsAre(0, 0));
  ok(engine.audit());
}

}  // namespace
}  // namespace berth::engine::test
