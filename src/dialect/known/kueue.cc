// Kueue: its kinds, and its Configuration (types Config...).
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kKueueFields = R"(
ClusterQueue: apiVersion kind metadata=ObjectMeta spec=ClusterQueueSpec status=ClusterQueueStatus
ClusterQueueSpec: admissionChecks admissionChecksStrategy=AdmissionChecksStrategy admissionScope=AdmissionScope cohort
  cohortName concurrentAdmissionPolicy=ConcurrentAdmissionPolicy fairSharing=FairSharing
  flavorFungibility=FlavorFungibility namespaceSelector=LabelSelector preemption=ClusterQueuePreemption queueingStrategy
  resourceGroups=ResourceGroup stopPolicy
AdmissionChecksStrategy: admissionChecks=AdmissionCheckStrategyRule
AdmissionCheckStrategyRule: name onFlavors
AdmissionScope: admissionMode
ConcurrentAdmissionPolicy: migration=ConcurrentAdmissionMigration
ConcurrentAdmissionMigration: constraints=ConcurrentAdmissionConstraints mode
ConcurrentAdmissionConstraints: lastAcceptableFlavorName
FairSharing: weight
FlavorFungibility: preference whenCanBorrow whenCanPreempt
ClusterQueuePreemption: borrowWithinCohort=BorrowWithinCohort reclaimWithinCohort withinClusterQueue
BorrowWithinCohort: maxPriorityThreshold policy
ResourceGroup: coveredResources flavors=FlavorQuotas
FlavorQuotas: name resources=ResourceQuota
ResourceQuota: borrowingLimit lendingLimit name nominalQuota
ClusterQueueStatus: admittedWorkloads conditions=Condition fairSharing=FairSharingStatus flavorsReservation=FlavorUsage
  flavorsUsage=FlavorUsage pendingWorkloads pendingWorkloadsStatus=ClusterQueuePendingWorkloadsStatus reservingWorkloads
FairSharingStatus: admissionFairSharingStatus=AdmissionFairSharingStatus weightedShare
AdmissionFairSharingStatus: consumedResources lastUpdate
FlavorUsage: name resources=ResourceUsage
ResourceUsage: borrowed name total
ClusterQueuePendingWorkloadsStatus: clusterQueuePendingWorkload=ClusterQueuePendingWorkload lastChangeTime
ClusterQueuePendingWorkload: name namespace
Cohort: apiVersion kind metadata=ObjectMeta spec=CohortSpec status=CohortStatus
CohortSpec: fairSharing=FairSharing parent parentName resourceGroups=ResourceGroup
CohortStatus: fairSharing=FairSharingStatus
LocalQueue: apiVersion kind metadata=ObjectMeta spec=LocalQueueSpec status=LocalQueueStatus
LocalQueueSpec: clusterQueue fairSharing=FairSharing stopPolicy
LocalQueueStatus: admittedWorkloads conditions=Condition fairSharing=LocalQueueFairSharingStatus
  flavorUsage=LocalQueueFlavorUsage flavors=LocalQueueFlavorStatus flavorsReservation=LocalQueueFlavorUsage
  flavorsUsage=LocalQueueFlavorUsage pendingWorkloads reservingWorkloads
LocalQueueFairSharingStatus: admissionFairSharingStatus=LocalQueueAdmissionFairSharingStatus weightedShare
LocalQueueAdmissionFairSharingStatus: consumedResources lastUpdate
LocalQueueFlavorUsage: name resources=LocalQueueResourceUsage
LocalQueueResourceUsage: name total
LocalQueueFlavorStatus: name nodeLabels nodeTaints=Taint resources topology=TopologyInfo
TopologyInfo: levels name
ResourceFlavor: apiVersion kind metadata=ObjectMeta spec=ResourceFlavorSpec
ResourceFlavorSpec: nodeLabels nodeTaints=Taint tolerations=Toleration topologyName
Topology: apiVersion kind metadata=ObjectMeta spec=TopologySpec
TopologySpec: levels=TopologyLevel
TopologyLevel: nodeLabel
WorkloadPriorityClass: apiVersion description kind metadata=ObjectMeta value
Workload: apiVersion kind metadata=ObjectMeta spec=WorkloadSpec status=WorkloadStatus
WorkloadSpec: active maximumExecutionTimeSeconds podSets=PodSet preemptionGates=PreemptionGate priority
  priorityClassName priorityClassRef=PriorityClassRef priorityClassSource queueName
PodSet: count minCount name template=PodTemplateSpec topologyRequest=PodSetTopologyRequest
PodSetTopologyRequest: podIndexLabel podSetGroupName podSetSliceRequiredTopology podSetSliceSize
  podsetSliceRequiredTopologyConstraints=PodsetSliceRequiredTopologyConstraint preferred required subGroupCount
  subGroupIndexLabel unconstrained
PodsetSliceRequiredTopologyConstraint: size topology
PreemptionGate: name
PriorityClassRef: group kind name
WorkloadStatus: accumulatedPastExecutionTimeSeconds accumulatedPastExexcutionTimeSeconds admission=Admission
  admissionChecks=AdmissionCheckState clusterName conditions=Condition nominatedClusterNames
  preemptionGates=PreemptionGateState reclaimablePods=ReclaimablePod requeueState=RequeueState
  resourceRequests=PodSetRequest schedulingStats=SchedulingStats unhealthyNodes=UnhealthyNode
Admission: clusterQueue podSetAssignments=PodSetAssignment
PodSetAssignment: count delayedTopologyRequest flavors name resourceUsage topologyAssignment=TopologyAssignment
TopologyAssignment: domains=TopologyDomainAssignment levels slices=TopologyAssignmentSlice
TopologyDomainAssignment: count values
TopologyAssignmentSlice: domainCount podCounts=TopologyAssignmentSlicePodCounts
  valuesPerLevel=TopologyAssignmentSliceLevelValues
TopologyAssignmentSlicePodCounts: individual universal
TopologyAssignmentSliceLevelValues: individual=TopologyAssignmentSliceLevelIndividualValues universal
TopologyAssignmentSliceLevelIndividualValues: prefix roots suffix
AdmissionCheckState: lastTransitionTime message name podSetUpdates=PodSetUpdate requeueAfterSeconds retryCount state
PodSetUpdate: annotations labels name nodeSelector tolerations=Toleration
PreemptionGateState: lastTransitionTime name position
ReclaimablePod: count name
RequeueState: count requeueAt
PodSetRequest: name resources
SchedulingStats: evictions=WorkloadSchedulingStatsEviction
WorkloadSchedulingStatsEviction: count reason underlyingCause
UnhealthyNode: name
AdmissionCheck: apiVersion kind metadata=ObjectMeta spec=AdmissionCheckSpec status=AdmissionCheckStatus
AdmissionCheckSpec: controllerName parameters=AdmissionCheckParametersReference retryDelayMinutes
AdmissionCheckParametersReference: apiGroup kind name
AdmissionCheckStatus: conditions=Condition
ProvisioningRequestConfig: apiVersion kind metadata=ObjectMeta spec=ProvisioningRequestConfigSpec
ProvisioningRequestConfigSpec: managedResources parameters podSetMergePolicy
  podSetUpdates=ProvisioningRequestPodSetUpdates provisioningClassName retryStrategy=ProvisioningRequestRetryStrategy
ProvisioningRequestPodSetUpdates: nodeSelector=ProvisioningRequestPodSetUpdatesNodeSelector
ProvisioningRequestPodSetUpdatesNodeSelector: key valueFromProvisioningClassDetail
ProvisioningRequestRetryStrategy: backoffBaseSeconds backoffLimitCount backoffMaxSeconds
Configuration: admissionFairSharing=ConfigAdmissionFairSharing apiVersion clientConnection=ConfigClientConnection
  controller=ConfigControllerConfigurationSpec fairSharing=ConfigFairSharing featureGates health=ConfigControllerHealth
  integrations=ConfigIntegrations internalCertManagement=ConfigInternalCertManagement kind
  leaderElection=ConfigLeaderElectionConfiguration manageJobsWithoutQueueName managedJobsNamespaceSelector=LabelSelector
  metrics=ConfigControllerMetrics multiKueue=ConfigMultiKueue namespace
  objectRetentionPolicies=ConfigObjectRetentionPolicies pprofBindAddress queueVisibility=ConfigQueueVisibility
  resources=ConfigResources tls=ConfigTLSOptions visibilityServer=ConfigVisibilityServerConfiguration
  waitForPodsReady=ConfigWaitForPodsReady webhook=ConfigControllerWebhook metadata=ObjectMeta quotaCheckStrategy
ConfigAdmissionFairSharing: resourceWeights usageHalfLifeTime usageSamplingInterval
ConfigClientConnection: burst qps
ConfigControllerConfigurationSpec: cacheSyncTimeout groupKindConcurrency
ConfigFairSharing: enable preemptionStrategies
ConfigControllerHealth: healthProbeBindAddress livenessEndpointName readinessEndpointName
ConfigIntegrations: externalFrameworks frameworks labelKeysToCopy podOptions=ConfigPodIntegrationOptions
ConfigPodIntegrationOptions: namespaceSelector=LabelSelector podSelector=LabelSelector
ConfigInternalCertManagement: enable webhookSecretName webhookServiceName
ConfigLeaderElectionConfiguration: leaderElect leaseDuration renewDeadline resourceLock resourceName resourceNamespace
  retryPeriod
ConfigControllerMetrics: bindAddress customLabels=ConfigControllerMetricsCustomLabel enableClusterQueueResources
  localQueueMetrics=ConfigLocalQueueMetrics
ConfigControllerMetricsCustomLabel: name sourceAnnotationKey sourceKind sourceLabelKey trackedValues
ConfigLocalQueueMetrics: enable localQueueSelector=LabelSelector
ConfigMultiKueue: clusterProfile=ConfigClusterProfile dispatcherName
  externalFrameworks=ConfigMultiKueueExternalFramework gcInterval
  incrementalDispatcherConfig=ConfigIncrementalDispatcherConfig origin workerLostTimeout
ConfigClusterProfile: accessProviders=ConfigClusterProfileAccessProvider
  credentialsProviders=ConfigClusterProfileCredentialsProvider
ConfigClusterProfileAccessProvider: execConfig name
ConfigClusterProfileCredentialsProvider: execConfig name
ConfigMultiKueueExternalFramework: name
ConfigIncrementalDispatcherConfig: stepSize
ConfigObjectRetentionPolicies: workloads=ConfigWorkloadRetentionPolicy
ConfigWorkloadRetentionPolicy: afterDeactivatedByKueue afterFinished
ConfigQueueVisibility: clusterQueues=ConfigClusterQueueVisibility updateIntervalSeconds
ConfigClusterQueueVisibility: maxCount
ConfigResources: deviceClassMappings=ConfigDeviceClassMapping excludeResourcePrefixes quotaCheckStrategy
  transformations=ConfigResourceTransformation
ConfigDeviceClassMapping: deviceClassNames name sources=ConfigDeviceClassSourceConfig
ConfigDeviceClassSourceConfig: capacity=ConfigDeviceClassCapacitySource counter=ConfigDeviceClassCounterSource
ConfigDeviceClassCapacitySource: deviceSelector driver name
ConfigDeviceClassCounterSource: deviceSelector driver name
ConfigResourceTransformation: input multiplyBy outputs strategy
ConfigTLSOptions: cipherSuites curvePreferences minVersion
ConfigVisibilityServerConfiguration: bindAddress bindPort
ConfigWaitForPodsReady: blockAdmission enable maxTimeoutOnWorkload recoveryTimeout
  requeuingStrategy=ConfigRequeuingStrategy timeout
ConfigRequeuingStrategy: backoffBaseSeconds backoffLimitCount backoffMaxSeconds timestamp
ConfigControllerWebhook: certDir host port
)";

constexpr std::string_view kKueuePrefixes[] = {"kueue.x-k8s.io/"};

constexpr std::string_view kKueueKeys[] = {
    "kueue.x-k8s.io/admission",
    "kueue.x-k8s.io/admission-gated-by",
    "kueue.x-k8s.io/auto-generated",
    "kueue.x-k8s.io/cluster-queue-name",
    "kueue.x-k8s.io/component-workload-index",
    "kueue.x-k8s.io/concurrent-admission",
    "kueue.x-k8s.io/concurrent-admission-parent",
    "kueue.x-k8s.io/elastic-job",
    "kueue.x-k8s.io/is-group-workload",
    "kueue.x-k8s.io/job-completions-equal-parallelism",
    "kueue.x-k8s.io/job-min-parallelism",
    "kueue.x-k8s.io/job-owner-gvk",
    "kueue.x-k8s.io/job-owner-name",
    "kueue.x-k8s.io/job-uid",
    "kueue.x-k8s.io/local-queue-name",
    "kueue.x-k8s.io/managed",
    "kueue.x-k8s.io/manager",
    "kueue.x-k8s.io/max-exec-time-seconds",
    "kueue.x-k8s.io/multikueue-origin",
    "kueue.x-k8s.io/multikueue-origin-uid",
    "kueue.x-k8s.io/multikueue-worker-workload-pod",
    "kueue.x-k8s.io/pod-group-fast-admission",
    "kueue.x-k8s.io/pod-group-name",
    "kueue.x-k8s.io/pod-group-pod-index",
    "kueue.x-k8s.io/pod-group-pod-index-label",
    "kueue.x-k8s.io/pod-group-serving",
    "kueue.x-k8s.io/pod-group-total-count",
    "kueue.x-k8s.io/pod-index-offset",
    "kueue.x-k8s.io/pod-suspending-parent",
    "kueue.x-k8s.io/podset",
    "kueue.x-k8s.io/podset-group-name",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-replica-sizes",
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    "kueue.x-k8s.io/podset-slice-size",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/prebuilt-workload-name",
    "kueue.x-k8s.io/priority-boost",
    "kueue.x-k8s.io/priority-class",
    "kueue.x-k8s.io/queue-name",
    "kueue.x-k8s.io/raycluster-generation",
    "kueue.x-k8s.io/raycluster-podset-replica-sizes",
    "kueue.x-k8s.io/resource-in-use",
    "kueue.x-k8s.io/retriable-in-group",
    "kueue.x-k8s.io/role-hash",
    "kueue.x-k8s.io/safe-to-forcefully-delete",
    "kueue.x-k8s.io/stopping",
    "kueue.x-k8s.io/tas",
    "kueue.x-k8s.io/topology",
    "kueue.x-k8s.io/wait-for-pods-ready",
    "kueue.x-k8s.io/workload",
    "kueue.x-k8s.io/workload-allowed-resource-flavors",
    "kueue.x-k8s.io/workload-slice-name",
    "kueue.x-k8s.io/workload-slice-replacement-for",
};

constexpr KnownKind kKueueKinds[] = {
    {"kueue.x-k8s.io", "ClusterQueue", "v1beta2 v1beta1", "ClusterQueue"},
    {"kueue.x-k8s.io", "Cohort", "v1beta2 v1beta1 v1alpha1", "Cohort"},
    {"kueue.x-k8s.io", "LocalQueue", "v1beta2 v1beta1", "LocalQueue"},
    {"kueue.x-k8s.io", "ResourceFlavor", "v1beta2 v1beta1", "ResourceFlavor"},
    {"kueue.x-k8s.io", "Topology", "v1beta2 v1beta1 v1alpha1", "Topology"},
    {"kueue.x-k8s.io", "WorkloadPriorityClass", "v1beta2 v1beta1", "WorkloadPriorityClass"},
    {"kueue.x-k8s.io", "Workload", "v1beta2 v1beta1", "Workload"},
    {"kueue.x-k8s.io", "AdmissionCheck", "v1beta2 v1beta1", "AdmissionCheck"},
    {"kueue.x-k8s.io", "ProvisioningRequestConfig", "v1beta2 v1beta1", "ProvisioningRequestConfig"},
    {"config.kueue.x-k8s.io", "Configuration", "v1beta2 v1beta1", "Configuration"},
    // Not read, and no mistakes.
    {"kueue.x-k8s.io", "MultiKueueCluster", "", ""},
    {"kueue.x-k8s.io", "MultiKueueConfig", "", ""},
};

}  // namespace

KnownSystem known_kueue() {
  return {"Kueue", kKueueKinds, kKueueFields, kKueuePrefixes, kKueueKeys};
}

}  // namespace berth::dialect
