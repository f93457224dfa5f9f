// The room that the limits of Karpenter's NodePools still leave.
#include "dialect/karpenter/node_pools.h"

#include <gtest/gtest.h>

namespace berth::dialect {
namespace {

constexpr const char* kPools = R"({"kind": "NodePoolList", "items": [
  {"metadata": {"name": "gpu"},
   "spec": {"limits": {"nvidia.com/gpu": "48", "cpu": 1000},
            "template": {"metadata": {"labels": {"pool": "bought"}}, "spec": {"requirements": [
              {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]},
              {"key": "size", "operator": "Gt", "values": ["3"]}]}}},
   "status": {"resources": {"nvidia.com/gpu": "32", "cpu": "4500m", "nodes": "4"}}},
  {"metadata": {"name": "open"}, "spec": {"template": {"spec": {}}}}]})";

std::vector<NodePool> pools() {
  auto out = read_node_pools(kPools);
  EXPECT_TRUE(out);
  return out ? *out : std::vector<NodePool>();
}

TEST(NodePools, AreReadWithTheirLimits) {
  const auto all = pools();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "gpu");
  EXPECT_EQ(all[0].limits.get("nvidia.com/gpu"), 48'000);
  EXPECT_EQ(all[0].limits.get("cpu"), 1'000'000);
  EXPECT_EQ(all[0].used.get("cpu"), 4'500);
  EXPECT_TRUE(all[1].limits.empty());
  EXPECT_FALSE(read_node_pools("<html>"));
  EXPECT_TRUE(read_node_pools("{}")->empty());
}

TEST(NodePools, APoolIsForTheLabelsThatItMayHave) {
  const NodePool gpu = pools()[0];
  EXPECT_TRUE(may_have(gpu, {}));
  EXPECT_TRUE(may_have(gpu, {{"pool", "bought"}, {"topology.kubernetes.io/zone", "b"}}));
  EXPECT_FALSE(may_have(gpu, {{"pool", "own"}}));
  EXPECT_FALSE(may_have(gpu, {{"topology.kubernetes.io/zone", "c"}}));
  EXPECT_TRUE(may_have(gpu, {{"size", "5"}, {"machine", "any"}}))
      << "what it does not say may come with the machine";
  EXPECT_TRUE(may_have(gpu, {{"karpenter.sh/nodepool", "gpu"}}));
  EXPECT_FALSE(may_have(gpu, {{"karpenter.sh/nodepool", "open"}}));
}

TEST(NodePools, TogetherTheyAllowWhatTheirLimitsLeave) {
  const auto all = pools();
  const std::vector<const NodePool*> one = {all.data()};
  EXPECT_FALSE(node_pool_short(one, {{"nvidia.com/gpu", 16'000}, {"memory", 1 << 30}}));
  const auto lack = node_pool_short(one, {{"nvidia.com/gpu", 24'000}});
  ASSERT_TRUE(lack);
  EXPECT_EQ(to_text(*lack), "NodePool gpu allows 16 more nvidia.com/gpu (spec.limits), and 24 are asked for");
  EXPECT_FALSE(node_pool_short({all.data(), &all[1]}, {{"nvidia.com/gpu", 24'000}})) << "one has no limit";
  EXPECT_FALSE(node_pool_short({}, {{"cpu", 1}})) << "another autoscaler may make them";
}

TEST(NodePools, APoolWithOneLimitReachedMakesNothing) {
  NodePool full = pools()[0];
  full.used.set("cpu", 1'000'000);
  const auto lack = node_pool_short({&full}, {{"nvidia.com/gpu", 8'000}});
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->left, 0);
}

}  // namespace
}  // namespace berth::dialect
