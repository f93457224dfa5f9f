// Since when pods run: what their status says, told to the engine with their slots.
#include <gtest/gtest.h>

#include <algorithm>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

using testing::node_yaml;
using testing::World;

TimeMs at(const std::string& time) {
  return *text::parse_time_ms("2026-01-01T" + time + "Z");
}

std::string pod(const std::string& meta, const std::string& status,
                const std::string& spec = "nodeName: n0, ") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p" + meta + "}, spec: {" + spec +
         "containers: [{name: main, resources: {limits: {nvidia.com/gpu: '1'}}}]}, status: {phase: Running" +
         status + "}}\n---\n";
}

constexpr const char* kCreated = ", creationTimestamp: '2026-01-01T08:00:00Z'";

struct Case {
  const char* what;
  std::string yaml;
  TimeMs started;
};

TEST(PodStarts, WhatTheStatusSays) {
  const std::string scheduled =
      "{type: PodScheduled, status: 'True', lastTransitionTime: '2026-01-01T08:01:00Z'}";
  const std::string ready = "{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T09:00:00Z'}";
  const Case cases[] = {
      {"its condition PodScheduled first",
       pod(kCreated, ", startTime: '2026-01-01T08:02:00Z', conditions: [" + ready + ", " + scheduled + "]"),
       at("08:01:00")},
      {"then status.startTime",
       pod(kCreated, ", startTime: '2026-01-01T08:02:00Z', conditions: [" + ready + "]"), at("08:02:00")},
      {"then its first container, started again meanwhile",
       pod(kCreated,
           ", conditions: [" + ready +
               "], containerStatuses: [{state: {running: {startedAt: '2026-01-01T10:00:00Z'}}, lastState: "
               "{terminated: {startedAt: '2026-01-01T08:03:00Z'}}}]"),
       at("08:03:00")},
      {"then its condition Ready", pod(kCreated, ", conditions: [" + ready + "]"), at("09:00:00")},
      {"which is not true",
       pod(kCreated,
           ", conditions: [{type: Ready, status: 'False', lastTransitionTime: "
           "'2026-01-01T09:00:00Z'}]"),
       at("08:00:00")},
      {"then its creation", pod(kCreated, ""), at("08:00:00")},
      {"no pod has started before it was there", pod(kCreated, ", startTime: '2026-01-01T07:00:00Z'"),
       at("08:00:00")},
      {"nothing", pod("", ""), 0},
      {"one without a node has no start", pod(kCreated, ", startTime: '2026-01-01T08:02:00Z'", ""), 0},
  };
  for (const Case& c : cases) {
    for (const auto& objects : {testing::objects_of(c.yaml), testing::objects_of_json(c.yaml)}) {
      EXPECT_EQ(std::get<Pod>(objects.at(0)).started, c.started) << c.what;
    }
  }
}

std::vector<SlotUpdate> slots_told(Intake& intake) {
  std::vector<Event> events;
  intake.drain(events);
  std::vector<SlotUpdate> out;
  for (const auto& event : events) {
    if (const auto* slot = std::get_if<SlotUpdate>(&event)) out.push_back(*slot);
  }
  return out;
}

TEST(PodStarts, AreToldWithTheSlots) {
  Intake intake;
  for (auto& object : testing::objects_of(node_yaml("n0", 8) + pod(kCreated, "")))
    intake.upsert(std::move(object));
  const auto told = slots_told(intake);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].since, at("08:00:00"));
}

TEST(PodStarts, OfAPodWithoutTimesItsJobs) {
  Intake intake;
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j, uid: j}, spec: {template: {spec: {containers: "
      "[]}}}, "
      "status: {startTime: '2026-01-01T08:30:00Z'}}\n---\n";
  for (auto& object :
       testing::objects_of(node_yaml("n0", 8) + job +
                           pod(", ownerReferences: [{kind: Job, name: j, uid: j, controller: true}]", "")))
    intake.upsert(std::move(object));
  const auto told = slots_told(intake);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].since, at("08:30:00"));
}

// Work that is reported again because its queue changed has not started anew.
TEST(PodStarts, StayWhenTheQueueChanges) {
  World world;
  world.apply(node_yaml("n0", 8) + pod(kCreated, ", startTime: '2026-01-01T08:00:05Z'"));
  world.decide(at("10:00:00"));
  EXPECT_EQ(*world.engine.victim_cost("p", at("10:00:00")), 7'195'000 + 30'000);
  world.apply(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}\n---\n"
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, spec: "
      "{namespaceSelector: "
      "{}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: f, resources: [{name: "
      "nvidia.com/gpu, nominalQuota: 9}]}]}]}}\n---\n"
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: default, namespace: default}, "
      "spec: {clusterQueue: cq}}\n");
  world.decide(at("10:00:00"));
  EXPECT_EQ(*world.engine.victim_cost("p", at("10:00:00")), 7'195'000 + 30'000);
}

// Without nodes a Workload holds quota since it got it.
TEST(WorkloadStarts, AreThoseOfTheirConditions) {
  const auto since = [](const std::string& conditions) {
    const std::string yaml =
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, uid: w}, spec: {queueName: "
        "q, podSets: "
        "[{name: main, count: 1, template: {spec: {containers: []}}}]}, status: {admission: {clusterQueue: "
        "cq}, "
        "conditions: [" +
        conditions + "]}}";
    return std::get<KueueWorkload>(testing::objects_of(yaml).at(0)).reserved_at;
  };
  const std::string admitted = "{type: Admitted, status: 'True', lastTransitionTime: '2026-01-01T09:00:00Z'}";
  EXPECT_EQ(since(admitted), at("09:00:00"));
  EXPECT_EQ(
      since(admitted + ", {type: QuotaReserved, status: 'True', lastTransitionTime: '2026-01-01T08:00:00Z'}"),
      at("08:00:00"));
  EXPECT_EQ(since(""), 0);
}

}  // namespace
}  // namespace berth::dialect
