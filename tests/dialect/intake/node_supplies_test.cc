// Which flavors of which ClusterQueues have nodes that come on demand.
#include <gtest/gtest.h>

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

std::string queue(const std::string& words, const std::string& status) {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq" + words +
         "}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: own, resources: [{name: cpu, "
         "nominalQuota: 1}]}]}]}" +
         status + "}";
}
std::string flavor(const std::string& pool) {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: own}, spec: "
         "{nodeLabels: {pool: " +
         pool + "}}}";
}

// A status comes whenever work starts or ends. Only another answer makes the live loop look at all work.
TEST(NodeSupplies, AStatusOfAQueueChangesNothing) {
  Intake intake;
  const auto take = [&](const std::string& text) {
    for (auto& object : testing::objects_of(text)) intake.upsert(std::move(object));
    return intake.queues().on_demand();
  };
  using Supplies = IntakeQueues::NodeSupplies;
  const std::string on_demand = ", annotations: {berth.dev/nodes: on-demand}";
  take(flavor("a"));
  EXPECT_EQ(take(queue("", "")), Supplies());
  const Supplies first{{"cq", {{"own", {{"pool", "a"}}}}}};
  EXPECT_EQ(take(queue(on_demand, "")), first);
  EXPECT_EQ(take(queue(on_demand, ", status: {pendingWorkloads: 7}")), first);
  EXPECT_EQ(take(flavor("b")), (Supplies{{"cq", {{"own", {{"pool", "b"}}}}}}));
}

}  // namespace
}  // namespace berth::dialect
