// Volcano's PodGroup: what it asks for, and what is written of its status.
#include "dialect/volcano/pod_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::objects_of;
using testing::objects_of_json;

std::string yaml_of(const std::string& spec, const std::string& status = "") {
  return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: train}\nspec: " + spec +
         "\n" + (status.empty() ? "" : "status: " + status + "\n");
}

VolcanoPodGroup group_of(const std::string& spec, const std::string& status = "") {
  auto objects = objects_of_json(yaml_of(spec, status));
  return std::get<VolcanoPodGroup>(objects.at(0));
}

std::string status_of(const GangObject& object, const GangReport& report, TimeMs now = 0) {
  return VolcanoPodGroup::kGang.status(object, report, now);
}

TEST(VolcanoPodGroup, SaysHowManyPodsStartTogether) {
  const auto group = group_of(
      "{minMember: 3, minTaskMember: {ps: 1, worker: 2}, queue: research, priorityClassName: high, "
      "minResources: {cpu: 500m, requests.nvidia.com/gpu: 2, limits.cpu: 9, count/pods: 3, pods: 3}}");
  EXPECT_EQ(group.least, 3);
  EXPECT_THAT(group.parts, ElementsAre(GangPart{"ps", 1}, GangPart{"worker", 2}));
  EXPECT_EQ(group.queue, "research");
  EXPECT_EQ(group.priority_class, "high");
  EXPECT_EQ(group.asks, (ResourceList{{"cpu", 500}, {"nvidia.com/gpu", 2000}}));
  EXPECT_EQ(group.unsupported, "");
}

TEST(VolcanoPodGroup, WithoutFieldsItIsAGangOfOne) {
  const auto group = group_of("{}");
  EXPECT_EQ(group.least, 1);
  EXPECT_TRUE(group.parts.empty() && group.queue.empty() && group.preemptible);
}

TEST(VolcanoPodGroup, TasksThatNeedMoreThanAllDoNotCount) {
  EXPECT_TRUE(group_of("{minMember: 2, minTaskMember: {ps: 1, worker: 2}}").parts.empty());
}

TEST(VolcanoPodGroup, ATopologyIsHardWithAHighestTier) {
  const auto hard = group_of("{networkTopology: {highestTierAllowed: 1}}");
  EXPECT_EQ(hard.tiers, (TierRequest{.strict = true, .most = 1, .most_name = ""}));
  EXPECT_TRUE(hard.tiers->hard());
  EXPECT_FALSE(group_of("{networkTopology: {mode: hard}}").tiers->hard());
  EXPECT_FALSE(group_of("{networkTopology: {mode: soft, highestTierAllowed: 1}}").tiers->hard());
  EXPECT_TRUE(group_of("{networkTopology: {highestTierName: rack}}").tiers->hard());
  EXPECT_FALSE(group_of("{}").tiers);
  const auto parts =
      group_of("{subGroupPolicy: [{name: a, networkTopology: {highestTierAllowed: 2}}, {name: b}]}");
  EXPECT_EQ(parts.splits.at(0).tiers->most, 2);
  EXPECT_FALSE(parts.splits.at(1).tiers);
}

TEST(VolcanoPodGroup, ItsOwnMarkKeepsAllItsPods) {
  const auto marked = objects_of_json(
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: train, annotations: "
      "{volcano.sh/preemptable: 'false'}}\nspec: {}\n");
  EXPECT_FALSE(std::get<VolcanoPodGroup>(marked.at(0)).preemptible);
  EXPECT_FALSE(group_of("{preemptable: false}").preemptible);
  EXPECT_TRUE(VolcanoPodGroup::kGang.keeps(Meta{.labels = {{"volcano.sh/preemptable", "false"}}}));
  EXPECT_FALSE(VolcanoPodGroup::kGang.keeps(Meta{.labels = {{"volcano.sh/preemptable", "true"}}}));
}

TEST(VolcanoPodGroup, PodsWithTheSameLabelsAreASubgroup) {
  const auto group = group_of(
      "{minMember: 4, subGroupPolicy: [{name: replica, subGroupSize: 2, minSubGroups: 2, labelSelector: "
      "{matchLabels: "
      "{app: llm}}, matchLabelKeys: [replica, zone]}]}");
  const Meta pod{.labels = {{"app", "llm"}, {"replica", "7"}, {"zone", "a"}}};
  const Meta other{.labels = {{"app", "llm"}, {"replica", "7"}}};
  EXPECT_EQ(VolcanoPodGroup::kGang.part_in(&group, pod), "replica:7,a");
  EXPECT_EQ(VolcanoPodGroup::kGang.part_in(&group, other), "") << "it has no zone";
  EXPECT_EQ(group.least_of("replica:7,a"), 2);
  EXPECT_EQ(group.least_of("replicas:7,a"), 0);
}

TEST(VolcanoPodGroup, NamesWhatContradicts) {
  const auto refused = [](const std::string& spec) { return group_of(spec).problem; };
  EXPECT_THAT(refused("{minMember: -1}"), HasSubstr("spec.minMember"));
  EXPECT_THAT(refused("{minTaskMember: {ps: many}}"), HasSubstr("spec.minTaskMember.ps"));
  EXPECT_THAT(refused("{networkTopology: {mode: tight}}"), HasSubstr("mode"));
  EXPECT_THAT(refused("{networkTopology: {highestTierAllowed: 1, highestTierName: rack}}"),
              HasSubstr("contradict each other"));
  EXPECT_THAT(refused("{subGroupPolicy: [{name: a}, {name: a}]}"), HasSubstr("appears twice"));
  EXPECT_THAT(group_of("{minMember: 9, minTaskMember: {ps: 1}, subGroupPolicy: [{name: a}]}").unsupported,
              HasSubstr("minTaskMember and subGroupPolicy together"));
}

TEST(VolcanoPodGroup, PhasesAreThoseOfVolcano) {
  const auto group = group_of("{minMember: 2}");
  const auto phase = [&](const GangReport& report) {
    const std::string json = status_of(group, report);
    return json.substr(0, json.find(','));
  };
  EXPECT_EQ(phase({.code = ReasonCode::kQueueMissing}), R"({"phase":"Pending")");
  EXPECT_EQ(phase({.queued = true}), R"({"phase":"Inqueue")");
  EXPECT_EQ(phase({.pods = 2, .least = 2, .code = ReasonCode::kQuota}), R"({"phase":"Inqueue")");
  EXPECT_EQ(phase({.pods = 2, .bound = 2, .least = 2}), R"({"phase":"Running")");
  EXPECT_EQ(phase({.succeeded = 1, .failed = 1, .least = 2}), R"({"phase":"Completed")");
  EXPECT_EQ(phase({.succeeded = 1, .least = 2, .queued = true}), R"({"phase":"Inqueue")")
      << "one has not come";
  EXPECT_EQ(phase({.pods = 1, .succeeded = 2, .least = 2}), R"({"phase":"Inqueue")") << "one more waits";
  EXPECT_EQ(phase({.pods = 2, .bound = 1, .least = 2, .code = ReasonCode::kNodes}), R"({"phase":"Unknown")");
}

TEST(VolcanoPodGroup, TheConditionIsTheOneThatHolds) {
  auto group = group_of("{minMember: 2}");
  group.notes = {"something (soft)"};
  EXPECT_EQ(
      status_of(group, {.pods = 1, .least = 2, .code = ReasonCode::kIncompleteGang, .why = "1 of 2"}),
      R"j({"phase":"Inqueue","running":0,"succeeded":0,"failed":0,"conditions":[{"type":"Unschedulable","status":"True",)j"
      R"j("reason":"NotEnoughTasks","message":"1 of 2; not carried out: something (soft)"}]})j");
  EXPECT_EQ(
      status_of(group, {.pods = 2, .bound = 2, .running = 2, .succeeded = 1, .least = 2}, 1'000'000),
      R"j({"phase":"Running","running":2,"succeeded":1,"failed":0,"conditions":[{"type":"Scheduled","status":"True",)j"
      R"j("reason":"tasks in gang are ready to be scheduled","message":"not carried out: something (soft)",)j"
      R"j("lastTransitionTime":"1970-01-01T00:16:40Z"}]})j");
  EXPECT_EQ(status_of(group, {.queued = true}),
            R"j({"phase":"Inqueue","running":0,"succeeded":0,"failed":0,"conditions":[]})j");
}

TEST(VolcanoPodGroup, WhatItWroteIsReadAgain) {
  const std::string condition =
      "{type: Unschedulable, status: 'True', reason: NotEnoughResources, message: no, lastTransitionTime: "
      "'1970-01-01T00:16:40Z'}";
  const auto group =
      group_of("{minMember: 2}", "{phase: Inqueue, failed: 1, conditions: [" + condition + "]}");
  const GangReport waits{.pods = 2, .failed = 1, .least = 2, .code = ReasonCode::kNodes, .why = "no"};
  EXPECT_EQ(group.stands, status_of(group, waits));
  EXPECT_THAT(status_of(group, waits, 9'000'000), HasSubstr("1970-01-01T00:16:40Z")) << "it lasts";
  const auto two = group_of("{minMember: 2}", "{conditions: [" + condition + ", " + condition + "]}");
  EXPECT_NE(two.stands, status_of(two, waits)) << "Volcano's own scheduler leaves two";
}

}  // namespace
}  // namespace berth::dialect
