// Watches of different kinds run apart: an object may come before or after whatever it refers to, and the engine has seen all that came
// before. In whatever order they come, the same is decided.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

constexpr int kShuffles = 200;

// One of each reference: LocalQueue -> ClusterQueue -> Cohort -> Cohort, flavors, Topology, AdmissionCheck, labels of the namespace,
// priority classes of both kinds, LimitRange, RuntimeClass, Job -> Workload, pod -> Job, pod -> PodGroup.
constexpr const char* kObjects = R"(
{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {team: a}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n0, labels: {kubernetes.io/hostname: n0, zone: z, sandbox: "yes"}}, status: {allocatable: {cpu: "9", memory: 64Gi, pods: "50"}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: t}, spec: {levels: [{nodeLabel: zone}, {nodeLabel: kubernetes.io/hostname}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}, spec: {nodeLabels: {zone: z}, topologyName: t}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check}, spec: {controllerName: example.com/check}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: top}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: mid}, spec: {parentName: top, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0, borrowingLimit: 3}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, spec: {cohortName: mid, namespaceSelector: {matchLabels: {team: a}}, admissionChecksStrategy: {admissionChecks: [{name: check}]}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 5}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: default}, spec: {clusterQueue: cq}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: first}, value: 30}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: second}, value: 20}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: otherwise}, value: 5, globalDefault: true}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: default}, spec: {limits: [{type: Container, defaultRequest: {cpu: "1"}}]}}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: sandboxed}, handler: h, overhead: {podFixed: {cpu: "1"}}, scheduling: {nodeSelector: {sandbox: "yes"}}}
---
# Asks for its default and the overhead of its class: 2 cpu. The first in line.
{apiVersion: batch/v1, kind: Job, metadata: {name: a, uid: a, creationTimestamp: "2026-01-01T05:00:00Z", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: first}}, spec: {suspend: true, template: {spec: {schedulerName: berth, runtimeClassName: sandboxed, containers: [{name: c}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: b, uid: b, creationTimestamp: "2026-01-01T04:00:00Z", labels: {kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true, template: {spec: {schedulerName: berth, priorityClassName: second, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: made, namespace: default, uid: made, creationTimestamp: "2026-01-01T03:00:00Z"}, spec: {queueName: q, priority: 25, podSets: [{name: main, count: 1, template: {spec: {schedulerName: berth, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: c, uid: c, creationTimestamp: "2026-01-01T06:00:00Z", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/prebuilt-workload-name: made}}, spec: {suspend: true, template: {spec: {schedulerName: berth, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}}
---
# Work of its own, whose priority counts up to the highest class.
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: alone, namespace: default, uid: alone, creationTimestamp: "2026-01-01T02:00:00Z"}, spec: {queueName: q, priority: 99, podSets: [{name: main, count: 1, template: {spec: {schedulerName: berth, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}]}}
---
# A Job that runs, and makes its second pod.
{apiVersion: batch/v1, kind: Job, metadata: {name: r, uid: r, creationTimestamp: "2026-01-01T01:00:00Z", labels: {kueue.x-k8s.io/queue-name: q}}, spec: {parallelism: 2, completions: 2, template: {spec: {schedulerName: berth, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: r-0, uid: r-0, creationTimestamp: "2026-01-01T01:00:00Z", labels: {kueue.x-k8s.io/queue-name: q}, annotations: {batch.kubernetes.io/job-completion-index: "0"}, ownerReferences: [{kind: Job, name: r, uid: r, controller: true}]}, spec: {schedulerName: berth, priority: 5, nodeName: n0, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: r-1, uid: r-1, creationTimestamp: "2026-01-01T01:00:00Z", labels: {kueue.x-k8s.io/queue-name: q}, annotations: {batch.kubernetes.io/job-completion-index: "1"}, ownerReferences: [{kind: Job, name: r, uid: r, controller: true}]}, spec: {schedulerName: berth, priority: 5, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
---
# A gang without a queue.
{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, creationTimestamp: "2026-01-01T01:30:00Z"}, spec: {minMember: 2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: g-0, uid: g-0, creationTimestamp: "2026-01-01T01:30:00Z", labels: {scheduling.x-k8s.io/pod-group: g}}, spec: {schedulerName: berth, priorityClassName: second, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: g-1, uid: g-1, creationTimestamp: "2026-01-01T01:30:00Z", labels: {scheduling.x-k8s.io/pod-group: g}}, spec: {schedulerName: berth, priorityClassName: second, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
)";

struct Outcome {
  std::string decided;  // in their order
  std::vector<std::string> known;
  std::vector<std::string> problems;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const std::vector<Object>& objects) {
  IntakeConfig config;
  config.hold_owners = true;
  config.checks = CheckMode::kAssumed;
  config.scheduler_names = {"berth"};
  testing::World world(config);
  for (const Object& object : objects) {
    world.intake.upsert(object);
    world.drain();
  }
  Outcome out;
  for (const auto& decision : world.decide(2'000'000'000'000)) {
    const auto info = world.intake.workload(decision.workload);
    out.decided += fmt::format("{} {}:", enum_name(decision.kind), info ? info->name : "?");
    for (const auto& slot : decision.slots) out.decided += fmt::format(" {}/{}", slot.index, slot.node);
    out.decided += "; ";
  }
  for (const auto& info : world.intake.workloads()) {
    const Reason* blocked = world.intake.blocked(info.uid);
    const auto verdict = world.engine.verdict(info.uid);
    out.known.push_back(fmt::format("{} in {} priority {} pods {} of {}: {} {}", info.name, info.queue,
                                    info.priority, info.pods, info.least,
                                    blocked != nullptr ? to_text(*blocked) : "",
                                    verdict ? to_text(verdict->reason) : verdict.error().message));
  }
  for (const auto& problem : world.intake.problems())
    out.problems.push_back(problem.object + ": " + problem.message);
  EXPECT_TRUE(world.engine.audit().has_value());
  return out;
}

TEST(Order, OfObjectsDoesNotMatter) {
  std::vector<Object> objects = testing::objects_of(kObjects);
  const Outcome expected = outcome_of(objects);
  // r-1 first, since r runs without it; then what stays within its quota by priority: alone (30), a (30, later), g (20, no queue);
  // then what borrows: c (25), and b (20), for which the node has no room left.
  EXPECT_EQ(expected.decided,
            "start default/r: 1/n0; start default/alone: 0/n0; start default/a: 0/n0; "
            "start default/g: 0/n0 1/n0; start default/c: 0/n0; ");
  EXPECT_TRUE(expected.problems.empty());
  Random random(1);
  for (int i = 0; i < kShuffles; ++i) {
    random.shuffle(objects);
    const Outcome got = outcome_of(objects);
    if (got == expected) continue;
    std::string order;
    for (const Object& object : objects)
      order += fmt::format("{} {}, ", enum_name(kind_of(object)), meta_of(object).name);
    EXPECT_EQ(got.decided, expected.decided) << order;
    EXPECT_EQ(got.known, expected.known) << order;
    EXPECT_EQ(got.problems, expected.problems) << order;
    break;
  }
}

}  // namespace
}  // namespace berth::dialect
