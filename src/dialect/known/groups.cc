// Kinds of gangs that other projects have: LeaderWorkerSet and AppWrapper.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kLeaderWorkerFields = R"(
LeaderWorkerSet: apiVersion kind metadata=ObjectMeta spec=LeaderWorkerSetSpec status
LeaderWorkerSetSpec: leaderWorkerTemplate=LeaderWorkerTemplate networkConfig=LeaderWorkerNetwork replicas
  rolloutStrategy=LeaderWorkerRollout startupPolicy
LeaderWorkerTemplate: leaderTemplate=PodTemplateSpec maxGroupRestarts
  persistentVolumeClaimRetentionPolicy=StatefulSetPersistentVolumeClaimRetentionPolicy restartPolicy size
  subGroupPolicy=LeaderWorkerSubGroups volumeClaimTemplates workerTemplate=PodTemplateSpec
LeaderWorkerSubGroups: subGroupPolicyType subGroupSize
LeaderWorkerNetwork: publishNotReadyAddresses subdomainPolicy
LeaderWorkerRollout: rollingUpdateConfiguration=LeaderWorkerRollingUpdate type
LeaderWorkerRollingUpdate: maxSurge maxUnavailable partition
)";

constexpr KnownKind kLeaderWorkerKinds[] = {
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "v1", "LeaderWorkerSet"},
    {"leaderworkerset.x-k8s.io", "DisaggregatedSet", "", ""},
};

constexpr std::string_view kAppWrapperFields = R"(
AppWrapper: apiVersion kind metadata=ObjectMeta spec=AppWrapperSpec status
AppWrapperSpec: components=AppWrapperComponent managedBy suspend
AppWrapperComponent: annotations podSetInfos podSets=AppWrapperPodSet template
AppWrapperPodSet: annotations path replicas
)";

constexpr KnownKind kAppWrapperKinds[] = {
    {"workload.codeflare.dev", "AppWrapper", "v1beta2", "AppWrapper"},
};

}  // namespace

KnownSystem known_leader_worker() {
  return {"leader_worker", kLeaderWorkerKinds, kLeaderWorkerFields, {}, {}};
}

KnownSystem known_app_wrapper() {
  return {"app_wrapper", kAppWrapperKinds, kAppWrapperFields, {}, {}};
}

}  // namespace berth::dialect
