// JobSet.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kJobSetFields = R"(
JobSet: apiVersion kind metadata=ObjectMeta spec=JobSetSpec status=JobSetStatus
JobSetSpec: coordinator=JobSetCoordinator failurePolicy=JobSetFailurePolicy managedBy network=JobSetNetwork
  replicatedJobs=ReplicatedJob startupPolicy=JobSetStartupPolicy successPolicy=JobSetSuccessPolicy suspend
  ttlSecondsAfterFinished volumeClaimPolicies
JobSetCoordinator: jobIndex podIndex replicatedJob
JobSetFailurePolicy: maxRestarts restartStrategy rules=JobSetFailurePolicyRule
JobSetFailurePolicyRule: action name onJobFailureMessagePatterns onJobFailureReasons targetReplicatedJobs
JobSetNetwork: enableDNSHostnames publishNotReadyAddresses subdomain
JobSetStartupPolicy: startupPolicyOrder
JobSetSuccessPolicy: operator targetReplicatedJobs
ReplicatedJob: dependsOn=JobSetDependsOn groupName name replicas template=JobTemplateSpec
JobSetDependsOn: name status
JobTemplateSpec: metadata=ObjectMeta spec=JobSpec
JobSetStatus: conditions currentInPlaceRestartAttempt previousInPlaceRestartAttempt replicatedJobsStatus restarts
  restartsCountTowardsMax terminalState
)";

constexpr std::string_view kJobSetPrefixes[] = {"jobset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/"};

constexpr std::string_view kJobSetKeys[] = {
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "alpha.jobset.sigs.k8s.io/namespaced-job",
    "alpha.jobset.sigs.k8s.io/no-schedule",
    "alpha.jobset.sigs.k8s.io/node-selector",
    "jobset.sigs.k8s.io/coordinator",
    "jobset.sigs.k8s.io/disable-in-place-restart",
    "jobset.sigs.k8s.io/global-replicas",
    "jobset.sigs.k8s.io/group-name",
    "jobset.sigs.k8s.io/group-replicas",
    "jobset.sigs.k8s.io/in-place-restart-attempt",
    "jobset.sigs.k8s.io/job-global-index",
    "jobset.sigs.k8s.io/job-group-index",
    "jobset.sigs.k8s.io/job-index",
    "jobset.sigs.k8s.io/job-key",
    "jobset.sigs.k8s.io/job-restart-attempt",
    "jobset.sigs.k8s.io/jobset-controller",
    "jobset.sigs.k8s.io/jobset-name",
    "jobset.sigs.k8s.io/jobset-uid",
    "jobset.sigs.k8s.io/priority",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "jobset.sigs.k8s.io/replicatedjob-replicas",
    "jobset.sigs.k8s.io/restart-attempt",
};

constexpr KnownKind kJobSetKinds[] = {
    {"jobset.x-k8s.io", "JobSet", "v1alpha2", "JobSet"},
};

}  // namespace

KnownSystem known_jobset() {
  return {"jobset", kJobSetKinds, kJobSetFields, kJobSetPrefixes, kJobSetKeys};
}

}  // namespace berth::dialect
