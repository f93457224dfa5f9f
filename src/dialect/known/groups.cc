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

constexpr std::string_view kLeaderWorkerPrefixes[] = {"leaderworkerset.sigs.k8s.io/"};

constexpr std::string_view kLeaderWorkerKeys[] = {
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/experimental-recreate-group-after-start",
    "leaderworkerset.sigs.k8s.io/group-index",
    "leaderworkerset.sigs.k8s.io/group-key",
    "leaderworkerset.sigs.k8s.io/group-restart-count",
    "leaderworkerset.sigs.k8s.io/leader-name",
    "leaderworkerset.sigs.k8s.io/leader-requests-tpus",
    "leaderworkerset.sigs.k8s.io/name",
    "leaderworkerset.sigs.k8s.io/replicas",
    "leaderworkerset.sigs.k8s.io/size",
    "leaderworkerset.sigs.k8s.io/subdomainPolicy",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-index",
    "leaderworkerset.sigs.k8s.io/subgroup-key",
    "leaderworkerset.sigs.k8s.io/subgroup-policy-type",
    "leaderworkerset.sigs.k8s.io/subgroup-size",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "leaderworkerset.sigs.k8s.io/worker-index",
};

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
  return {"leader_worker", kLeaderWorkerKinds, kLeaderWorkerFields, kLeaderWorkerPrefixes, kLeaderWorkerKeys};
}

KnownSystem known_app_wrapper() {
  return {"app_wrapper", kAppWrapperKinds, kAppWrapperFields, {}, {}};
}

}  // namespace berth::dialect
