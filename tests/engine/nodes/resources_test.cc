// Resources that no node has: pods may name so many of them and no more, and a node that brings one is believed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/nodes/nodes.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using test::gang_workload;
using test::gpu_node;
using test::ok;

Workload asks_for(const std::string& uid, const std::string& resource) {
  Workload w = gang_workload(uid, 1, 0);
  w.root.pod_sets[0].pod = PodTemplate();
  w.root.pod_sets[0].pod.requests.set(resource, 1000);
  return w;
}

TEST(Resources, ThatNoNodeHasAreTakenInUpToANumber) {
  Engine e;
  ok(e.apply(gpu_node("n", 8)));
  const std::size_t most = NodeTable::kMostAskedOnly;
  for (std::size_t i = 0; i < 2 * most; ++i)
    ok(e.apply(WorkloadUpsert{asks_for(fmt::format("w{}", i), fmt::format("example.com/r{}", i))}));
  EXPECT_TRUE(e.decide(1000).empty());
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 2 * most; ++i) {
    const std::string text = to_text(e.verdict(fmt::format("w{}", i))->reason);
    if (text.find("accepts at most 128 such resources") != std::string::npos) ++refused;
  }
  EXPECT_EQ(refused, most);
  // A node that has one of those makes it known, and what asked for it starts.
  Node node;
  node.name = "new";
  node.allocatable.set("pods", 110);
  node.allocatable.set(fmt::format("example.com/r{}", 2 * most - 1), 5000);
  ok(e.apply(NodeUpsert{node}));
  const auto decisions = e.decide(2000);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].workload, fmt::format("w{}", 2 * most - 1));
  ok(e.audit());
}

// Resources of a quota come from the operator: no number of pods keeps them out.
TEST(Resources, ThatAQuotaCoversAreAlwaysTakenIn) {
  Engine e;
  ok(e.apply(gpu_node("n", 8)));
  for (std::size_t i = 0; i < 2 * NodeTable::kMostAskedOnly; ++i)
    ok(e.apply(WorkloadUpsert{asks_for(fmt::format("w{}", i), fmt::format("example.com/r{}", i))}));
  e.decide(1000);
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  Queue queue;
  queue.name = "q";
  queue.groups = {{{"example.com/covered"}, {"f"}}};
  queue.quotas = {{"f", "example.com/covered", 8000, {}, {}}};
  ok(e.apply(QueueUpsert{queue}));
  Workload w = asks_for("of-queue", "example.com/covered");
  w.queue = "q";
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_TRUE(e.decide(2000).empty());
  const std::string text = to_text(e.verdict("of-queue")->reason);
  EXPECT_EQ(text.find("such resources"), std::string::npos) << text;
}

}  // namespace
}  // namespace berth::engine
