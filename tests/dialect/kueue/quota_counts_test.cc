// The amounts that quota counts for a pod under Kueue's exclusions and transformations.
#include "dialect/kueue/quota_counts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kOne = 1'000'000'000;

PodTemplate pod(ResourceList requests, std::vector<DeviceRequest> devices = {}) {
  PodTemplate out;
  out.requests = std::move(requests);
  out.claim.requests = std::move(devices);
  return out;
}
ResourceList counted(const QuotaCounts& rules, PodTemplate of) {
  rules.apply(of);
  return of.counted.value_or(ResourceList{{"as it asks", 1}});
}
const ResourceList kAsItAsks{{"as it asks", 1}};

TEST(QuotaCounts, LeaveAPodAloneThatTheyDoNotConcern) {
  const QuotaCounts rules{{"example.com/"}, {{"memory", true, "", {{"bytes", kOne}}}}};
  EXPECT_EQ(counted(rules, pod({{"cpu", 1500}})), kAsItAsks);
  EXPECT_EQ(counted({}, pod({{"cpu", 1500}, {"memory", 7}})), kAsItAsks);
}

TEST(QuotaCounts, LeaveOutPrefixesBeforeAnythingElse) {
  const QuotaCounts rules{{"example.com/"}, {{"example.com/nic", true, "", {{"ports", kOne}}}}};
  EXPECT_EQ(counted(rules, pod({{"cpu", 1500}, {"example.com/nic", 2000}})), (ResourceList{{"cpu", 1500}}));
}

TEST(QuotaCounts, RetainOrReplace) {
  QuotaCounts rules{{}, {{"cpu", true, "", {{"credits", 2 * kOne}}}}};
  EXPECT_EQ(counted(rules, pod({{"cpu", 3000}, {"memory", 7}})),
            (ResourceList{{"cpu", 3000}, {"credits", 6}, {"memory", 7}}));
  rules.transformations[0].retain = false;
  EXPECT_EQ(counted(rules, pod({{"cpu", 3000}, {"memory", 7}})),
            (ResourceList{{"credits", 6}, {"memory", 7}}));
}

// Kueue takes whole units of the input, rounded up, and rounds the sum of the outputs up to whole units (cpu: thousandths).
TEST(QuotaCounts, RoundAsKueueDoes) {
  const QuotaCounts rules{{}, {{"cpu", false, "", {{"credits", kOne / 2}, {"example.com/part", kOne / 4}}}}};
  EXPECT_EQ(counted(rules, pod({{"cpu", 2100}})), (ResourceList{{"credits", 2}, {"example.com/part", 1000}}))
      << "3 cores: 1.5 and 0.75, both rounded up";
  const QuotaCounts back{{}, {{"memory", false, "", {{"cpu", kOne / 2000}}}}};
  EXPECT_EQ(counted(back, pod({{"memory", 3}})), (ResourceList{{"cpu", 2}}))
      << "0.0015 cores are 2 thousandths";
}

TEST(QuotaCounts, AddUpWhatReachesOneResource) {
  const QuotaCounts rules{{},
                          {{"nvidia.com/mig-1g.5gb", false, "", {{"memory-gb", 5 * kOne}}},
                           {"nvidia.com/mig-2g.10gb", false, "", {{"memory-gb", 10 * kOne}}}}};
  const PodTemplate asks = pod(
      {{"cpu", 1000}, {"memory-gb", 1}, {"nvidia.com/mig-1g.5gb", 2000}, {"nvidia.com/mig-2g.10gb", 1000}});
  EXPECT_EQ(counted(rules, asks), (ResourceList{{"cpu", 1000}, {"memory-gb", 21}}));
}

TEST(QuotaCounts, MultiplyByAnotherResource) {
  const QuotaCounts rules{{}, {{"nvidia.com/gpumem", false, "nvidia.com/gpu", {{"total-mem", kOne}}}}};
  EXPECT_EQ(counted(rules, pod({{"nvidia.com/gpumem", 1'000'000}}, {{"nvidia.com/gpu", 4, 1000}})),
            (ResourceList{{"nvidia.com/gpu", 4000}, {"total-mem", 4000}}));
  EXPECT_EQ(counted(rules, pod({{"nvidia.com/gpumem", 1'000'000}})), (ResourceList{{"total-mem", 1000}}))
      << "a pod without any counts its own once";
}

TEST(QuotaCounts, NeverOverflow) {
  const QuotaCounts rules{{}, {{"memory", false, "gpus", {{"credits", 9'000'000'000 * (kOne / 1000)}}}}};
  const auto all = counted(rules, pod({{"memory", kInt64Max}, {"gpus", kInt64Max}}));
  EXPECT_EQ(all.get("credits"), kInt64Max);
}

// Through the door: quota counts what the rules say, the node the real requests.
TEST(QuotaCounts, ReachTheQuotaAndNotTheNode) {
  IntakeConfig config;
  config.counts = {{"example.com/"}, {{"nvidia.com/gpu", false, "", {{"credits", 10 * kOne}}}}};
  testing::World w(config);
  w.apply(testing::node_yaml("n0", 4) + R"(apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [credits, cpu, memory]
    flavors:
    - name: any
      resources: [{name: credits, nominalQuota: 25}, {name: cpu, nominalQuota: 100}, {name: memory, nominalQuota: 1Ti}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: q}
---
)");
  w.apply(testing::pod_yaml("one", 2, "  labels: {kueue.x-k8s.io/queue-name: q}\n"));
  EXPECT_EQ(w.decide().size(), 1u);
  w.apply(testing::pod_yaml("two", 1, "  labels: {kueue.x-k8s.io/queue-name: q}\n"));
  EXPECT_TRUE(w.decide(2000).empty());
  const std::string why = to_text(w.engine.verdict("Pod/default/two")->reason);
  EXPECT_NE(why.find("needs 10 credits in flavor any, quota left for it: 5"), std::string::npos)
      << why << " (20 of 25 credits are used; two devices are free)";
}

}  // namespace
}  // namespace berth::dialect
