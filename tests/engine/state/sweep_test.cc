// Entries of the catalog are dropped after the last workload that had them is gone (State::sweep()).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/state/state.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using test::ok;

// Workloads of one pod with a host port, on a node that takes them all.
struct PortWorld {
  PortWorld() : state(EngineConfig{}) {
    ok(state.node_upsert(std::get<NodeUpsert>(test::gpu_node("n", 0)).node));
  }

  // The token of its port.
  TokenId come(const std::string& uid, std::int64_t port) {
    Workload w = test::gang_workload(uid, 1, 0);
    w.root.pod_sets[0].pod.ports = std::vector{HostPort{port, PortProtocol::kTcp, ""}};
    ok(state.workload_upsert(w));
    const WorkloadState& known = state.workloads[state.find_workload(uid)->index()];
    const ChargeId charge = state.spec(known.sets[0].spec).choices.front();
    return state.shape_of(charge).tokens.front();
  }

  std::size_t catalog_size() const {
    return state.specs.live() + state.charges.live() + state.shapes.live() + state.structures.live();
  }

  State state;
};

TEST(Sweep, DropsPortsThatNoPodHas) {
  PortWorld world;
  const TokenId kept = world.come("stays", 80);
  ForeignPod foreign;
  foreign.uid = "foreign";
  foreign.node = "n";
  foreign.ports = std::vector{HostPort{81, PortProtocol::kTcp, ""}};
  ok(world.state.foreign_upsert(foreign));
  for (int i = 0; i < 5000; ++i) {
    const std::string uid = std::to_string(i);
    world.come(uid, 1000 + i);
    ok(world.state.workload_remove(uid));
  }
  EXPECT_LT(world.state.nodes.held().tokens.size(), 1500u);
  EXPECT_EQ(world.come("with the same port", 80), kept);
  // A pod of another scheduler keeps its port too.
  const std::vector<TokenId> taken{world.come("with a port that is taken", 81)};
  EXPECT_EQ(world.state.nodes.held().tokens.taken(world.state.nodes.intern("n"), taken, kBothPlanes),
            taken[0]);
  const std::vector<TokenId> free{world.come("with a port that is free", 1000)};
  EXPECT_FALSE(world.state.nodes.held().tokens.taken(world.state.nodes.intern("n"), free, kBothPlanes));
}

// Each entry is an index over all nodes: what a tenant left must not stay until other work has come.
TEST(Sweep, DropsWithinHalfAMinuteWhatEndedWorkLeft) {
  PortWorld world;
  world.come("stays", 80);
  const std::size_t before = world.catalog_size();
  const auto pass = [&](DurationMs time) {
    world.state.now += time;
    world.state.look_at_demand();
  };
  pass(kMinute);
  for (int i = 0; i < 200; ++i) world.come(std::to_string(i), 1000 + i);
  const std::size_t full = world.catalog_size();
  EXPECT_GT(full, before + 400);
  pass(kMinute);
  EXPECT_EQ(world.catalog_size(), full) << "all of it is in use";
  for (int i = 0; i < 200; ++i) ok(world.state.workload_remove(std::to_string(i)));
  pass(30 * kSecond);
  EXPECT_EQ(world.catalog_size(), before);
  // Less than a few entries stay: the same work may come again.
  for (int i = 0; i < 10; ++i) {
    world.come(std::to_string(i), 2000 + i);
    ok(world.state.workload_remove(std::to_string(i)));
  }
  const std::size_t few = world.catalog_size();
  EXPECT_GT(few, before);
  pass(kMinute);
  EXPECT_EQ(world.catalog_size(), few);
}

// A sweep looks at all workloads: work of the same kinds that comes and goes needs none.
TEST(Sweep, IsNotDueWhereEndedWorkLeavesNothingBehind) {
  PortWorld world;
  for (int i = 0; i < 200; ++i) world.come("stays " + std::to_string(i), 1000 + i);
  const auto is_due = [&] {
    world.state.now += kMinute;
    return world.state.look_at_demand();
  };
  for (int i = 0; i < 2000; ++i) {
    world.come(std::to_string(i), 1000 + i % 200);
    ok(world.state.workload_remove(std::to_string(i)));
  }
  EXPECT_FALSE(is_due());
  for (int i = 0; i < 100; ++i) ok(world.state.workload_remove("stays " + std::to_string(i)));
  for (int i = 0; i < 100; ++i) world.come("again " + std::to_string(i), 1000 + i);
  EXPECT_FALSE(is_due()) << "each kind has its pod set again";
  for (int i = 0; i < 100; ++i) ok(world.state.workload_remove("again " + std::to_string(i)));
  EXPECT_TRUE(is_due());
}

}  // namespace
}  // namespace berth::engine
