// Volcano.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kVolcanoFields = R"(
Queue: apiVersion kind metadata=ObjectMeta spec=QueueSpec status=QueueStatus
QueueSpec: affinity=Affinity capability dequeueStrategy deserved extendClusters=Cluster guarantee=Guarantee parent
  priority reclaimable type weight
Affinity: nodeGroupAffinity=NodeGroupAffinity nodeGroupAntiAffinity=NodeGroupAntiAffinity
NodeGroupAffinity: preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution
NodeGroupAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution
Cluster: capacity name weight
Guarantee: resource
QueueStatus: allocated completed inqueue pending reservation=Reservation running state unknown
Reservation: nodes resource
PodGroup: apiVersion kind metadata=ObjectMeta spec=PodGroupSpec status=PodGroupStatus
PodGroupSpec: minMember minResources minTaskMember networkTopology=NetworkTopology preemptable priorityClassName queue
  subGroupPolicy=SubGroupPolicy
NetworkTopology: highestTierAllowed highestTierName mode
SubGroupPolicy: labelSelector=LabelSelector matchLabelKeys minSubGroups name networkTopology=NetworkTopology
  subGroupSize
HyperNode: apiVersion kind metadata=ObjectMeta spec=HyperNodeSpec status=HyperNodeStatus
HyperNodeSpec: members=MemberSpec tier tierName
MemberSpec: selector=MemberSelector type
MemberSelector: exactMatch=ExactMatch labelMatch=LabelSelector regexMatch=RegexMatch
ExactMatch: name
RegexMatch: pattern
HyperNodeStatus: conditions nodeCount
PodGroupStatus: conditions=PodGroupCondition failed phase running succeeded
PodGroupCondition: lastTransitionTime message reason status transitionID type
)";

constexpr std::string_view kVolcanoPrefixes[] = {"scheduling.volcano.sh/", "volcano.sh/"};

constexpr std::string_view kVolcanoKeys[] = {
    "scheduling.volcano.sh/group-name",
    "scheduling.volcano.sh/queue-name",
    "scheduling.volcano.sh/group-min-member",
    "scheduling.volcano.sh/group-min-resources",
    "volcano.sh/burst-name",
    "volcano.sh/colocation-config",
    "volcano.sh/colocation-config-name",
    "volcano.sh/cooldown-time",
    "volcano.sh/cronjob-scheduled-timestamp",
    "volcano.sh/forward-cluster",
    "volcano.sh/hierarchy",
    "volcano.sh/hierarchy-weights",
    "volcano.sh/jdb-max-unavailable",
    "volcano.sh/jdb-min-available",
    "volcano.sh/job-forwarding",
    "volcano.sh/job-name",
    "volcano.sh/job-namespace",
    "volcano.sh/job-retry-count",
    "volcano.sh/job-type",
    "volcano.sh/job-version",
    "volcano.sh/network-topology-highest-tier",
    "volcano.sh/network-topology-mode",
    "volcano.sh/node-group",
    "volcano.sh/numa-topology-policy",
    "volcano.sh/partition-id",
    "volcano.sh/preemptable",
    "volcano.sh/qos-level",
    "volcano.sh/queue-name",
    "volcano.sh/revocable-zone",
    "volcano.sh/silo-resource",
    "volcano.sh/sla-waiting-time",
    "volcano.sh/task-index",
    "volcano.sh/task-spec",
    "volcano.sh/template-uid",
    "volcano.sh/topology-decision",
    "volcano.sh/vgpu-mode",
    "volcano.sh/vgpu-nouse-gpuuuid",
    "volcano.sh/vgpu-podgroup-policy",
    "volcano.sh/vgpu-use-gpuuuid",
};

constexpr KnownKind kVolcanoKinds[] = {
    {"scheduling.volcano.sh", "PodGroup", "v1beta1", "PodGroup"},
    {"scheduling.volcano.sh", "Queue", "v1beta1 v1alpha1", "Queue"},
    {"topology.volcano.sh", "HyperNode", "v1alpha1", "HyperNode"},
    // Not read, and no mistakes.
    {"batch.volcano.sh", "CronJob", "", ""},
    {"batch.volcano.sh", "Job", "", ""},
};

}  // namespace

KnownSystem known_volcano() {
  return {"Volcano", kVolcanoKinds, kVolcanoFields, kVolcanoPrefixes, kVolcanoKeys};
}

}  // namespace berth::dialect
