// Kueue's Workloads that replace others (workload slices of elastic Jobs), where there are no nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using testing::World;

std::string team_of(int gpus) {
  return fmt::format(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: gpu}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: team}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: gpu
      resources: [{{name: cpu, nominalQuota: "100"}}, {{name: nvidia.com/gpu, nominalQuota: "{}"}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: team, namespace: default}}
spec: {{clusterQueue: team}}
)",
                     gpus);
}

std::string slice_yaml(const std::string& name, int count, const std::string& replaces, bool has_quota) {
  std::string out = fmt::format(
      R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: {0}, namespace: default, uid: {0}, annotations: {{{2}}}}}
spec:
  queueName: team
  podSets:
  - name: main
    count: {1}
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1", nvidia.com/gpu: "1"}}}}}}]}}}}
)",
      name, count, replaces.empty() ? "" : "kueue.x-k8s.io/workload-slice-replacement-for: " + replaces);
  if (has_quota) {
    out += fmt::format(R"(status:
  admission:
    clusterQueue: team
    podSetAssignments: [{{name: main, count: {}, flavors: {{cpu: gpu, nvidia.com/gpu: gpu}}}}]
  conditions: [{{type: QuotaReserved, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"}}]
)",
                       count);
  }
  return out;
}

std::string names_in(const World& world) {
  std::string out;
  for (const auto& info : world.intake.workloads())
    out += fmt::format("{}{}", info.uid, info.former.empty() ? " " : "<-" + info.former + " ");
  return out;
}

TEST(PlannedSlices, ASliceThatReplacesAnotherHasItsPlacesInWhateverOrderTheyCome) {
  for (const bool former_first : {true, false}) {
    World world({.quota_only = true});
    world.apply(team_of(6));
    const std::string former = slice_yaml("a", 3, "", true);
    const std::string next = slice_yaml("b", 5, "default/a", false);
    world.apply(former_first ? former : next);
    world.apply(former_first ? next : former);
    EXPECT_EQ(names_in(world), "b<-default/a ");
    EXPECT_EQ(world.engine.slot("b", 0, 2)->state, SlotState::kRunning);
    const auto decisions = world.decide();
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].slots.size(), 2u) << "what it asks for beyond the former";
    EXPECT_TRUE(world.engine.audit());
    world.remove(Kind::kWorkload, "b");
    EXPECT_EQ(names_in(world), "a ");
    EXPECT_EQ(world.engine.slot("a", 0, 2)->state, SlotState::kRunning);
    world.apply(next);
    world.remove(Kind::kWorkload, "a");
    EXPECT_EQ(names_in(world), "b ");
    EXPECT_EQ(world.engine.slot("b", 0, 0)->state, SlotState::kWaiting);
    EXPECT_TRUE(world.engine.audit());
    EXPECT_THAT(world.refused, IsEmpty());
  }
}

TEST(PlannedSlices, ASliceIsForTheFirstThatNamesItAndAsksForNoLess) {
  World world({.quota_only = true});
  world.apply(team_of(40));
  world.apply(slice_yaml("a", 3, "", true));
  world.apply(slice_yaml("less", 2, "default/a", false));
  EXPECT_EQ(names_in(world), "a less ");
  world.apply(slice_yaml("c", 4, "default/a", false));
  world.apply(slice_yaml("d", 5, "default/a", false));
  EXPECT_EQ(names_in(world), "c<-default/a less d ") << "one has its places";
  world.apply(slice_yaml("itself", 2, "default/itself", true));
  world.apply(slice_yaml("nobody", 2, "default/no-such", false));
  world.apply(slice_yaml("waits", 2, "default/d", false));
  EXPECT_EQ(names_in(world), "c<-default/a less d itself nobody waits ");
  world.apply(slice_yaml("a", 2, "", true));
  EXPECT_EQ(names_in(world), "c d itself nobody waits less<-default/a ")
      << "it asks for no less now, and comes first";
  EXPECT_TRUE(world.engine.audit());
  EXPECT_THAT(world.refused, IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
