// KAI Scheduler.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kKaiFields = R"(
Queue: apiVersion kind metadata=ObjectMeta spec=QueueSpec status=QueueStatus
QueueSpec: displayName parentQueue preemptMinRuntime priority reclaimMinRuntime resources=QueueResources
QueueResources: cpu=QueueResource gpu=QueueResource memory=QueueResource
QueueResource: limit overQuotaWeight quota
QueueStatus: allocated allocatedNonPreemptible childQueues conditions=QueueCondition requested
QueueCondition: lastProbeTime lastTransitionTime message reason status type
PodGroup: apiVersion kind metadata=ObjectMeta spec=PodGroupSpec status
PodGroupSpec: markUnschedulable minMember minSubGroup preemptibility preemptionDelay priorityClassName queue
  schedulingBackoff stalenessGracePeriod subGroups=SubGroup topologyConstraint=TopologyConstraint
SubGroup: minMember minSubGroup name parent topologyConstraint=TopologyConstraint
Topology: apiVersion kind metadata=ObjectMeta spec=TopologySpec
TopologySpec: levels=TopologyLevel
TopologyLevel: nodeLabel
TopologyConstraint: preferredTopologyLevel requiredTopologyLevel topology
)";

constexpr std::string_view kKaiPrefixes[] = {"kai.scheduler/"};

constexpr std::string_view kKaiKeys[] = {
    "kai.scheduler/accounting",
    "kai.scheduler/batch-min-member",
    "kai.scheduler/last-start-timestamp",
    "kai.scheduler/node-pool",
    "kai.scheduler/preemptibility",
    "kai.scheduler/queue",
    "kai.scheduler/segment-size",
    "kai.scheduler/segment-topology-preferred-placement",
    "kai.scheduler/segment-topology-required-placement",
    "kai.scheduler/skip-podgrouper",
    "kai.scheduler/stale-podgroup-timestamp",
    "kai.scheduler/subgroup-name",
    "kai.scheduler/task-priority",
    "kai.scheduler/topology",
    "kai.scheduler/topology-preferred-placement",
    "kai.scheduler/topology-required-placement",
    "kai.scheduler/type",
};

constexpr KnownKind kKaiKinds[] = {
    {"scheduling.run.ai", "Queue", "v2 v1", "Queue"},
    {"scheduling.run.ai", "PodGroup", "v2alpha2", "PodGroup"},
    {"kai.scheduler", "Topology", "v1alpha1", "Topology"},
    // Not read, and no mistakes.
    {"scheduling.run.ai", "BindRequest", "", ""},
};

}  // namespace

KnownSystem known_kai() {
  return {"KAI", kKaiKinds, kKaiFields, kKaiPrefixes, kKaiKeys};
}

}  // namespace berth::dialect
