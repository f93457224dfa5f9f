// Kubernetes' own PodGroup: what it asks for, and what is written of its status.
#include "dialect/scheduling_api/pod_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"
#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::objects_of_json;

UpstreamPodGroup group_of(const std::string& spec, const std::string& status = "{}") {
  auto objects = objects_of_json(
      "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: train}\nspec: " + spec +
      "\nstatus: " + status + "\n");
  return std::get<UpstreamPodGroup>(objects.at(0));
}

std::string status_of(const GangObject& object, GangReport report, TimeMs now = 0,
                      std::string_view version = "v1beta1") {
  report.version = version;
  return UpstreamPodGroup::kGang.status(object, report, now);
}

GangReport running(std::int64_t pods) {
  GangReport out;
  out.pods = out.bound = out.running = out.least = pods;
  return out;
}

GangReport waiting(ReasonCode code, std::string why) {
  GangReport out;
  out.pods = out.least = 2;
  out.code = code;
  out.why = std::move(why);
  return out;
}

TEST(UpstreamPodGroup, SaysHowManyPodsStartTogether) {
  const auto gang = group_of(
      "{schedulingPolicy: {gang: {minCount: 4}}, priorityClassName: high, disruptionMode: {all: {}}, "
      "schedulingConstraints: {topology: [{key: rack}]}}");
  EXPECT_EQ(gang.least, 4);
  EXPECT_TRUE(gang.as_one);
  EXPECT_EQ(gang.priority_class, "high");
  EXPECT_EQ(gang.topology.required, "rack");
  EXPECT_EQ(gang.unsupported, "");
  const auto basic = group_of("{schedulingPolicy: {basic: {}}, disruptionMode: {single: {}}}");
  EXPECT_EQ(basic.least, 1);
  EXPECT_FALSE(basic.as_one);
}

TEST(UpstreamPodGroup, AnEarlierVersionSaysTheModeInAWord) {
  EXPECT_TRUE(group_of("{disruptionMode: PodGroup}").as_one);
  EXPECT_FALSE(group_of("{disruptionMode: Pod}").as_one);
  EXPECT_FALSE(group_of("{}").as_one);
}

TEST(UpstreamPodGroup, NamesWhatItCannotCarryOut) {
  EXPECT_EQ(group_of("{resourceClaims: [{name: gpu}]}").unsupported, "resourceClaims");
  EXPECT_EQ(group_of("{parentCompositePodGroupName: all}").unsupported, "parentCompositePodGroupName");
  EXPECT_THAT(group_of("{schedulingConstraints: {topology: [{key: a}, {key: b}]}}").unsupported,
              HasSubstr("several topologies"));
}

TEST(UpstreamPodGroup, APodNamesItByItsFieldAlone) {
  auto objects = objects_of_json(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {spec.schedulingGroup.podGroupName: "
      "forged}}\n"
      "spec: {schedulingGroup: {podGroupName: train}, containers: [{name: c, image: i}]}\n---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: b, annotations: {spec.schedulingGroup.podGroupName: "
      "forged}}\n"
      "spec: {containers: [{name: c, image: i}]}\n");
  EXPECT_EQ(UpstreamPodGroup::kGang.name_in(std::get<Pod>(objects.at(0)).meta), "train");
  EXPECT_EQ(UpstreamPodGroup::kGang.name_in(std::get<Pod>(objects.at(1)).meta), "");
}

TEST(UpstreamPodGroup, SaysWhyItWaits) {
  const auto group = group_of("{schedulingPolicy: {gang: {minCount: 2}}}");
  EXPECT_THAT(
      status_of(group, waiting(ReasonCode::kNodes, "no room")),
      HasSubstr(
          R"("type":"PodGroupInitiallyScheduled","status":"False","reason":"Unschedulable","message":"no room")"));
  EXPECT_THAT(status_of(group, waiting(ReasonCode::kInvalid, "wrong")), HasSubstr("SchedulerError"));
  EXPECT_THAT(status_of(group, waiting(ReasonCode::kNodes, "no room"), 0, "v1alpha2"),
              HasSubstr(R"("type":"PodGroupScheduled")"));
}

TEST(UpstreamPodGroup, TheFirstStartIsFinal) {
  const auto fresh = group_of("{schedulingPolicy: {gang: {minCount: 2}}}");
  const std::string started = status_of(fresh, running(2), 1767225600000);
  EXPECT_THAT(started, HasSubstr(R"("status":"True","reason":"Scheduled")"));
  const auto again = group_of("{schedulingPolicy: {gang: {minCount: 2}}}", started);
  EXPECT_EQ(again.stands, status_of(again, running(2))) << "as it stands";
  EXPECT_EQ(again.since, 1767225600000);
  EXPECT_EQ(again.stands, status_of(again, waiting(ReasonCode::kNodes, "no room"))) << "it stays True";
  EXPECT_EQ(started, status_of(again, running(2), 1767229200000)) << "and keeps its time";
}

TEST(UpstreamPodGroup, ADisruptionStandsUntilItRunsAgain) {
  const auto fresh = group_of("{schedulingPolicy: {gang: {minCount: 2}}}");
  GangReport report = waiting(ReasonCode::kNodes, "no room");
  report.displaced = "preempted by urgent";
  const std::string displaced = status_of(fresh, report, 1767225600000);
  EXPECT_THAT(
      displaced,
      HasSubstr(
          R"("type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler","message":"preempted by urgent")"));
  const auto after = group_of("{schedulingPolicy: {gang: {minCount: 2}}}", displaced);
  EXPECT_EQ(status_of(after, waiting(ReasonCode::kNodes, "no room")), after.stands) << "also after a restart";
  EXPECT_THAT(status_of(after, running(2)), Not(HasSubstr("DisruptionTarget")));
}

}  // namespace
}  // namespace berth::dialect
