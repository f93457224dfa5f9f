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
  EXPECT_LT(world.state.nodes.tokens().size(), 1500u);
  EXPECT_EQ(world.come("with the same port", 80), kept);
  // A pod of another scheduler keeps its port too.
  const std::vector<TokenId> taken{world.come("with a port that is taken", 81)};
  EXPECT_EQ(world.state.nodes.tokens().taken(world.state.nodes.intern("n"), taken, kBothPlanes), taken[0]);
  const std::vector<TokenId> free{world.come("with a port that is free", 1000)};
  EXPECT_FALSE(world.state.nodes.tokens().taken(world.state.nodes.intern("n"), free, kBothPlanes));
}

}  // namespace
}  // namespace berth::engine
