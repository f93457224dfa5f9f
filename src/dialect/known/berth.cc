// Berth's own Queue and marks.
#include "dialect/base/names.h"
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kBerthFields = R"(
Queue: apiVersion kind metadata=ObjectMeta spec=QueueSpec status=QueueStatus
QueueSpec: parent guaranteed limit lendable perUser=PerUser flavors=Flavor weight priority sharing=Sharing order=Order
  preemption=Preemption placement stopPolicy namespaceSelector=LabelSelector
Flavor: name guaranteed limit lendable perUser=PerUser
PerUser: limit
Sharing: by halfLife
Order: strict by priority tiers ageLimit
Preemption: withinQueue reclaim victims minimumRuntime minimumRuntimeAcross ignoresMinimumRuntime reclaimable
QueueStatus: pending running used=Used conditions=Condition
Used: name resources=UsedResource
UsedResource: name total borrowed
)";

constexpr std::string_view kBerthPrefixes[] = {kBerthPrefix};

constexpr std::string_view kBerthKeys[] = {
    kGang,
    kGangSize,
    kBerthQueue,
    kTopologyRequired,
    kTopologyPreferred,
    kGpuMilli,
    kGpuResource,
    kDevices,
    kChargedTo,
    kPlacement,
    kExpectedDuration,
    kCheckpointEvery,
    kLastCheckpoint,
    kNodes,
    kPreemptible,
    kRestartOverhead,
    kPodSetUpdates,
    kPartialAdmission,
    kTenant,
    "berth.dev/aggregation",  // of nodes that a trace is replayed on
    "berth.dev/core",
    "berth.dev/leaf",
    "berth.dev/never-a-victim",  // of namespaces (deploy/tenant-policy.yaml)
    "berth.dev/priority-classes",
    "berth.dev/user",
    "berth.dev/workload",  // written by Berth
    "berth.dev/workload-slice",
    "berth.dev/workload-spec",
};

constexpr KnownKind kBerthKinds[] = {
    {kBerthGroup, "Queue", "v1alpha1", "Queue"},
};

}  // namespace

KnownSystem known_berth() {
  return {"Berth", kBerthKinds, kBerthFields, kBerthPrefixes, kBerthKeys};
}

}  // namespace berth::dialect
