// Kubernetes' Workload of 1.35, as its API serves it.
#include "dialect/scheduling_api/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"
#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using testing::objects_of_json;

// As an API server of 1.35 gives it.
constexpr const char* kServed = R"(apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata:
  name: training
  namespace: default
  uid: 5c0d9f6e-8f1b-4b57-9a3e-0f6f5a1c2d3e
  resourceVersion: "812"
  generation: 1
  creationTimestamp: "2026-01-05T10:00:00Z"
  labels: {berth.dev/queue: elsewhere}
spec:
  controllerRef: {apiGroup: batch, kind: Job, name: training}
  podGroups:
  - {name: workers, policy: {gang: {minCount: 4}}}
  - {name: helpers, policy: {basic: {}}}
)";

TEST(UpstreamWorkload, EachOfItsPodGroupsIsAPolicyForGangs) {
  const auto objects = objects_of_json(kServed);
  const auto& workload = std::get<UpstreamWorkload>(objects.at(0));
  ASSERT_EQ(workload.groups.size(), 2u);
  EXPECT_EQ(workload.groups[0].meta.name, "training/workers");
  EXPECT_EQ(workload.groups[0].least, 4);
  EXPECT_EQ(workload.groups[1].meta.name, "training/helpers");
  EXPECT_EQ(workload.groups[1].least, 1);
  EXPECT_THAT(workload.groups[0].meta.labels, IsEmpty()) << "its marks do not count";
}

TEST(UpstreamWorkload, InLaterVersionsItIsATemplate) {
  const auto objects = objects_of_json(
      "apiVersion: scheduling.k8s.io/v1beta1\nkind: Workload\nmetadata: {name: t}\nspec: {podGroupTemplates: "
      "[{name: w, schedulingPolicy: {gang: {minCount: 2}}}]}\n");
  EXPECT_THAT(std::get<UpstreamWorkload>(objects.at(0)).groups, IsEmpty());
}

TEST(UpstreamWorkload, APodNamesItInAField) {
  const auto pod = [](const std::string& ref) {
    auto objects = objects_of_json(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {spec.workloadRef: x/y}}\nspec: {" +
        ref + "containers: [{name: main}]}\n");
    return std::string(WorkloadPodGroup::kGang.name_in(std::get<Pod>(objects.at(0)).meta));
  };
  EXPECT_EQ(pod("workloadRef: {name: training, podGroup: workers}, "), "training/workers");
  EXPECT_EQ(pod("workloadRef: {name: training, podGroup: workers, podGroupReplicaKey: r-1}, "),
            "training/workers/r-1");
  EXPECT_EQ(pod(""), "") << "an annotation of that name counts for nothing";
}

}  // namespace
}  // namespace berth::dialect
