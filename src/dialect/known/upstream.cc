// Kubernetes itself.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

// metadata and what many kinds share; pods and their templates; Jobs and StatefulSets; nodes, namespaces, and what the API server decides by.
constexpr std::string_view kUpstreamFields = R"(
ObjectMeta: annotations=Keys creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
  generation labels=Keys managedFields name namespace ownerReferences=OwnerReference resourceVersion selfLink uid
OwnerReference: apiVersion blockOwnerDeletion controller kind name uid
LabelSelector: matchExpressions=LabelSelectorRequirement matchLabels
LabelSelectorRequirement: key operator values
Condition: lastTransitionTime message observedGeneration reason status type
Pod: apiVersion kind metadata=ObjectMeta spec=PodSpec status=PodStatus
PodSpec: activeDeadlineSeconds affinity=Affinity automountServiceAccountToken containers=Container
  dnsConfig=PodDNSConfig dnsPolicy enableServiceLinks ephemeralContainers=EphemeralContainer
  evictionResponders=EvictionResponder hostAliases=HostAlias hostIPC hostNetwork hostPID hostUsers hostname
  hostnameOverride imagePullSecrets=LocalObjectReference initContainers=Container nodeName nodeSelector os=PodOS
  overhead preemptionPolicy priority priorityClassName readinessGates=PodReadinessGate resourceClaims=PodResourceClaim
  resources=ResourceRequirements restartPolicy runtimeClassName schedulerName schedulingGates=PodSchedulingGate
  schedulingGroup=PodSchedulingGroup securityContext=PodSecurityContext serviceAccount serviceAccountName
  setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations=Toleration
  topologySpreadConstraints=TopologySpreadConstraint volumes=Volume workloadRef=WorkloadReference
Affinity: nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAntiAffinity
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution=PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
PreferredSchedulingTerm: preference=NodeSelectorTerm weight
NodeSelectorTerm: matchExpressions=NodeSelectorRequirement matchFields=NodeSelectorRequirement
NodeSelectorRequirement: key operator values
NodeSelector: nodeSelectorTerms=NodeSelectorTerm
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution=WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution=PodAffinityTerm
WeightedPodAffinityTerm: podAffinityTerm=PodAffinityTerm weight
PodAffinityTerm: labelSelector=LabelSelector matchLabelKeys mismatchLabelKeys namespaceSelector=LabelSelector namespaces
  topologyKey
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution=WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution=PodAffinityTerm
Container: args command env=EnvVar envFrom=EnvFromSource image imagePullPolicy lifecycle=Lifecycle livenessProbe=Probe
  name ports=ContainerPort readinessProbe=Probe resizePolicy=ContainerResizePolicy resources=ResourceRequirements
  restartPolicy restartPolicyRules=ContainerRestartRule securityContext=SecurityContext startupProbe=Probe stdin
  stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices=VolumeDevice volumeMounts=VolumeMount
  workingDir
EnvVar: name value valueFrom=EnvVarSource
EnvVarSource: configMapKeyRef=ConfigMapKeySelector fieldRef=ObjectFieldSelector fileKeyRef=FileKeySelector
  resourceFieldRef=ResourceFieldSelector secretKeyRef=SecretKeySelector
ConfigMapKeySelector: key name optional
ObjectFieldSelector: apiVersion fieldPath
FileKeySelector: key optional path volumeName
ResourceFieldSelector: containerName divisor resource
SecretKeySelector: key name optional
EnvFromSource: configMapRef=ConfigMapEnvSource prefix secretRef=SecretEnvSource
ConfigMapEnvSource: name optional
SecretEnvSource: name optional
Lifecycle: postStart=LifecycleHandler preStop=LifecycleHandler stopSignal
LifecycleHandler: exec=ExecAction httpGet=HTTPGetAction sleep=SleepAction tcpSocket=TCPSocketAction
ExecAction: command
HTTPGetAction: host httpHeaders=HTTPHeader path port protocol scheme
HTTPHeader: name value
SleepAction: seconds
TCPSocketAction: host port
Probe: exec=ExecAction failureThreshold grpc=GRPCAction httpGet=HTTPGetAction initialDelaySeconds periodSeconds
  successThreshold tcpSocket=TCPSocketAction terminationGracePeriodSeconds timeoutSeconds
GRPCAction: mode port service
ContainerPort: containerPort hostIP hostPort name protocol
ContainerResizePolicy: resourceName restartPolicy
ResourceRequirements: claims=ResourceClaim limits requests
ResourceClaim: name request
ContainerRestartRule: action exitCodes=ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator values
SecurityContext: allowPrivilegeEscalation appArmorProfile=AppArmorProfile capabilities=Capabilities privileged procMount
  readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile
  windowsOptions=WindowsSecurityContextOptions
AppArmorProfile: localhostProfile type
Capabilities: add drop
SELinuxOptions: level role type user
SeccompProfile: localhostProfile type
WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
VolumeDevice: devicePath name
VolumeMount: bindMountOptions mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr
PodDNSConfig: nameservers options=PodDNSConfigOption searches
PodDNSConfigOption: name value
EphemeralContainer: args command env=EnvVar envFrom=EnvFromSource image imagePullPolicy lifecycle=Lifecycle
  livenessProbe=Probe name ports=ContainerPort readinessProbe=Probe resizePolicy=ContainerResizePolicy
  resources=ResourceRequirements restartPolicy restartPolicyRules=ContainerRestartRule securityContext=SecurityContext
  startupProbe=Probe stdin stdinOnce targetContainerName terminationMessagePath terminationMessagePolicy tty
  volumeDevices=VolumeDevice volumeMounts=VolumeMount workingDir
EvictionResponder: name priority
HostAlias: hostnames ip
LocalObjectReference: name
PodOS: name
PodReadinessGate: conditionType
PodResourceClaim: name resourceClaimName resourceClaimTemplateName
PodSchedulingGate: name
PodSchedulingGroup: podGroupName
PodSecurityContext: appArmorProfile=AppArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser
  seLinuxChangePolicy seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile supplementalGroups
  supplementalGroupsPolicy sysctls=Sysctl windowsOptions=WindowsSecurityContextOptions
Sysctl: name value
Toleration: effect key operator tolerationSeconds value
TopologySpreadConstraint: labelSelector=LabelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy
  nodeTaintsPolicy topologyKey whenUnsatisfiable
Volume: awsElasticBlockStore=AWSElasticBlockStoreVolumeSource azureDisk=AzureDiskVolumeSource
  azureFile=AzureFileVolumeSource cephfs=CephFSVolumeSource cinder=CinderVolumeSource configMap=ConfigMapVolumeSource
  csi=CSIVolumeSource downwardAPI=DownwardAPIVolumeSource emptyDir=EmptyDirVolumeSource ephemeral=EphemeralVolumeSource
  fc=FCVolumeSource flexVolume=FlexVolumeSource flocker=FlockerVolumeSource
  gcePersistentDisk=GCEPersistentDiskVolumeSource gitRepo=GitRepoVolumeSource glusterfs=GlusterfsVolumeSource
  hostPath=HostPathVolumeSource image=ImageVolumeSource iscsi=ISCSIVolumeSource name nfs=NFSVolumeSource
  persistentVolumeClaim=PersistentVolumeClaimVolumeSource photonPersistentDisk=PhotonPersistentDiskVolumeSource
  portworxVolume=PortworxVolumeSource projected=ProjectedVolumeSource quobyte=QuobyteVolumeSource rbd=RBDVolumeSource
  scaleIO=ScaleIOVolumeSource secret=SecretVolumeSource storageos=StorageOSVolumeSource
  vsphereVolume=VsphereVirtualDiskVolumeSource
AWSElasticBlockStoreVolumeSource: fsType partition readOnly volumeID
AzureDiskVolumeSource: cachingMode diskName diskURI fsType kind readOnly
AzureFileVolumeSource: readOnly secretName shareName
CephFSVolumeSource: monitors path readOnly secretFile secretRef=LocalObjectReference user
CinderVolumeSource: fsType readOnly secretRef=LocalObjectReference volumeID
ConfigMapVolumeSource: defaultMode defaultUser items=KeyToPath name optional
KeyToPath: key mode path user
CSIVolumeSource: driver fsType nodePublishSecretRef=LocalObjectReference readOnly volumeAttributes
DownwardAPIVolumeSource: defaultMode defaultUser items=DownwardAPIVolumeFile
DownwardAPIVolumeFile: fieldRef=ObjectFieldSelector mode path resourceFieldRef=ResourceFieldSelector user
EmptyDirVolumeSource: medium mode sizeLimit
EphemeralVolumeSource: volumeClaimTemplate=PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: accessModes dataSource=TypedLocalObjectReference dataSourceRef=TypedObjectReference
  resources=VolumeResourceRequirements selector=LabelSelector storageClassName volumeAttributesClassName volumeMode
  volumeName
TypedLocalObjectReference: apiGroup kind name
TypedObjectReference: apiGroup kind name namespace
VolumeResourceRequirements: limits requests
FCVolumeSource: fsType lun readOnly targetWWNs wwids
FlexVolumeSource: driver fsType options readOnly secretRef=LocalObjectReference
FlockerVolumeSource: datasetName datasetUUID
GCEPersistentDiskVolumeSource: fsType partition pdName readOnly
GitRepoVolumeSource: directory repository revision
GlusterfsVolumeSource: endpoints path readOnly
HostPathVolumeSource: path type
ImageVolumeSource: pullPolicy reference
ISCSIVolumeSource: chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals readOnly
  secretRef=LocalObjectReference targetPortal
NFSVolumeSource: path readOnly server
PersistentVolumeClaimVolumeSource: claimName readOnly
PhotonPersistentDiskVolumeSource: fsType pdID
PortworxVolumeSource: fsType readOnly volumeID
ProjectedVolumeSource: defaultMode defaultUser sources=VolumeProjection
VolumeProjection: clusterTrustBundle=ClusterTrustBundleProjection configMap=ConfigMapProjection
  downwardAPI=DownwardAPIProjection podCertificate=PodCertificateProjection secret=SecretProjection
  serviceAccountToken=ServiceAccountTokenProjection
ClusterTrustBundleProjection: labelSelector=LabelSelector name optional path signerName user
ConfigMapProjection: items=KeyToPath name optional
DownwardAPIProjection: items=DownwardAPIVolumeFile
PodCertificateProjection: certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName user
  userAnnotations
SecretProjection: items=KeyToPath name optional
ServiceAccountTokenProjection: audience expirationSeconds path user
QuobyteVolumeSource: group readOnly registry tenant user volume
RBDVolumeSource: fsType image keyring monitors pool readOnly secretRef=LocalObjectReference user
ScaleIOVolumeSource: fsType gateway protectionDomain readOnly secretRef=LocalObjectReference sslEnabled storageMode
  storagePool system volumeName
SecretVolumeSource: defaultMode defaultUser items=KeyToPath optional secretName
StorageOSVolumeSource: fsType readOnly secretRef=LocalObjectReference volumeName volumeNamespace
VsphereVirtualDiskVolumeSource: fsType storagePolicyID storagePolicyName volumePath
WorkloadReference: name podGroup podGroupReplicaKey
PodStatus: allocatedResources conditions=PodCondition containerStatuses=ContainerStatus
  ephemeralContainerStatuses=ContainerStatus extendedResourceClaimStatus=PodExtendedResourceClaimStatus hostIP
  hostIPs=HostIP initContainerStatuses=ContainerStatus message
  nodeAllocatableResourceClaimStatuses=NodeAllocatableResourceClaimStatus nominatedNodeName observedGeneration phase
  podIP podIPs=PodIP qosClass reason resize resourceClaimStatuses=PodResourceClaimStatus resources=ResourceRequirements
  startTime volumeHealth=PodVolumeHealth
PodCondition: lastProbeTime lastTransitionTime message observedGeneration reason status type
ContainerStatus: allocatedResources allocatedResourcesStatus=ResourceStatus containerID image imageID
  lastState=ContainerState name ready resources=ResourceRequirements restartCount started state=ContainerState
  stopSignal user=ContainerUser volumeMounts=VolumeMountStatus
ResourceStatus: name resources=ResourceHealth
ResourceHealth: health message resourceID
ContainerState: running=ContainerStateRunning terminated=ContainerStateTerminated waiting=ContainerStateWaiting
ContainerStateRunning: startedAt
ContainerStateTerminated: containerID exitCode finishedAt message reason signal startedAt
ContainerStateWaiting: message reason
ContainerUser: linux=LinuxContainerUser
LinuxContainerUser: gid supplementalGroups uid
VolumeMountStatus: mountPath name readOnly recursiveReadOnly volumeStatus=VolumeStatus
VolumeStatus: image=ImageVolumeStatus
ImageVolumeStatus: imageRef
PodExtendedResourceClaimStatus: requestMappings=ContainerExtendedResourceRequest resourceClaimName
ContainerExtendedResourceRequest: containerName requestName resourceName
HostIP: ip
NodeAllocatableResourceClaimStatus: containers mapping=NodeAllocatableMappedResources
  overhead=NodeAllocatableOverheadResources resourceClaimName resources
NodeAllocatableMappedResources: name quantity
NodeAllocatableOverheadResources: name perContainer perPod
PodIP: ip
PodResourceClaimStatus: name resourceClaimName
PodVolumeHealth: healthConditions=VolumeHealthCondition lastTransitionTime name
VolumeHealthCondition: message reason status
PodTemplateSpec: metadata=ObjectMeta spec=PodSpec
Job: apiVersion kind metadata=ObjectMeta spec=JobSpec status=JobStatus
JobSpec: activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector
  maxFailedIndexes parallelism podFailurePolicy=PodFailurePolicy podReplacementPolicy
  scheduling=JobSchedulingConfiguration selector=LabelSelector successPolicy=SuccessPolicy suspend
  template=PodTemplateSpec ttlSecondsAfterFinished
PodFailurePolicy: rules=PodFailurePolicyRule
PodFailurePolicyRule: action onExitCodes=PodFailurePolicyOnExitCodesRequirement
  onPodConditions=PodFailurePolicyOnPodConditionsPattern
PodFailurePolicyOnExitCodesRequirement: containerName operator values
PodFailurePolicyOnPodConditionsPattern: status type
JobSchedulingConfiguration: disruptionMode resourceClaims schedulingConstraints schedulingPolicy
SuccessPolicy: rules=SuccessPolicyRule
SuccessPolicyRule: succeededCount succeededIndexes
JobStatus: active completedIndexes completionTime conditions=JobCondition failed failedIndexes ready startTime succeeded
  terminating uncountedTerminatedPods=UncountedTerminatedPods
JobCondition: lastProbeTime lastTransitionTime message reason status type
Deployment: apiVersion kind metadata=ObjectMeta spec=DeploymentSpec status=DeploymentStatus
DeploymentSpec: minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector=LabelSelector
  strategy=DeploymentStrategy template=PodTemplateSpec
DeploymentStrategy: rollingUpdate=RollingUpdateDeployment type
RollingUpdateDeployment: maxSurge maxUnavailable
DeploymentStatus: availableReplicas collisionCount conditions=DeploymentCondition observedGeneration readyReplicas replicas
  terminatingReplicas unavailableReplicas updatedReplicas
DeploymentCondition: lastTransitionTime lastUpdateTime message reason status type
ReplicaSet: apiVersion kind metadata=ObjectMeta spec=ReplicaSetSpec status=ReplicaSetStatus
ReplicaSetSpec: minReadySeconds replicas selector=LabelSelector template=PodTemplateSpec
ReplicaSetStatus: availableReplicas conditions=ReplicaSetCondition fullyLabeledReplicas observedGeneration readyReplicas
  replicas terminatingReplicas
ReplicaSetCondition: lastTransitionTime message reason status type
StatefulSet: apiVersion kind metadata=ObjectMeta spec=StatefulSetSpec status=StatefulSetStatus
StatefulSetSpec: minReadySeconds ordinals=StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy=StatefulSetPersistentVolumeClaimRetentionPolicy podManagementPolicy replicas
  revisionHistoryLimit selector=LabelSelector serviceName template=PodTemplateSpec updateStrategy=StatefulSetUpdateStrategy
  volumeClaimTemplates
StatefulSetOrdinals: start
StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
StatefulSetUpdateStrategy: rollingUpdate=RollingUpdateStatefulSetStrategy type
RollingUpdateStatefulSetStrategy: maxUnavailable partition
StatefulSetStatus: availableReplicas collisionCount conditions=StatefulSetCondition currentReplicas currentRevision observedGeneration
  readyReplicas replicas updateRevision updatedReplicas
StatefulSetCondition: lastTransitionTime message reason status type
UncountedTerminatedPods: failed succeeded
Node: apiVersion kind metadata=ObjectMeta spec=NodeSpec status=NodeStatus
NodeSpec: configSource=NodeConfigSource externalID podCIDR podCIDRs podPreemptionPolicy=NodePodPreemptionPolicy
  providerID taints=Taint unschedulable
NodeConfigSource: configMap=ConfigMapNodeConfigSource
ConfigMapNodeConfigSource: kubeletConfigKey name namespace resourceVersion uid
NodePodPreemptionPolicy: disableResizePreemption
Taint: effect key timeAdded value
NodeStatus: addresses=NodeAddress allocatable capacity conditions=NodeCondition config=NodeConfigStatus
  daemonEndpoints=NodeDaemonEndpoints declaredFeatures features=NodeFeatures images=ContainerImage
  nodeInfo=NodeSystemInfo phase runtimeHandlers=NodeRuntimeHandler volumesAttached=AttachedVolume volumesInUse
NodeAddress: address type
NodeCondition: lastHeartbeatTime lastTransitionTime message reason status type
NodeConfigStatus: active=NodeConfigSource assigned=NodeConfigSource error lastKnownGood=NodeConfigSource
NodeDaemonEndpoints: kubeletEndpoint=DaemonEndpoint
DaemonEndpoint: Port
NodeFeatures: supplementalGroupsPolicy
ContainerImage: names sizeBytes
NodeSystemInfo: architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID
  operatingSystem osImage runningInUserNamespace swap=NodeSwapStatus systemUUID
NodeSwapStatus: capacity
NodeRuntimeHandler: features=NodeRuntimeHandlerFeatures name
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
AttachedVolume: devicePath name
Namespace: apiVersion kind metadata=ObjectMeta spec=NamespaceSpec status=NamespaceStatus
NamespaceSpec: finalizers
NamespaceStatus: conditions=NamespaceCondition phase
NamespaceCondition: lastTransitionTime message reason status type
LimitRange: apiVersion kind metadata=ObjectMeta spec=LimitRangeSpec
LimitRangeSpec: limits=LimitRangeItem
LimitRangeItem: default defaultRequest max maxLimitRequestRatio min type
PriorityClass: apiVersion description globalDefault kind metadata=ObjectMeta preemptionPolicy value
RuntimeClass: apiVersion handler kind metadata=ObjectMeta overhead=Overhead scheduling=Scheduling spec=RuntimeClassSpec
Overhead: podFixed
Scheduling: nodeSelector tolerations=Toleration
RuntimeClassSpec: overhead=Overhead runtimeHandler scheduling=Scheduling
PodDisruptionBudget: apiVersion kind metadata=ObjectMeta spec=PodDisruptionBudgetSpec status=PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: maxUnavailable minAvailable selector=LabelSelector unhealthyPodEvictionPolicy
PodDisruptionBudgetStatus: conditions=Condition currentHealthy desiredHealthy disruptedPods disruptionsAllowed expectedPods
  observedGeneration
PersistentVolumeClaim: apiVersion kind metadata=ObjectMeta spec=PersistentVolumeClaimSpec status=PersistentVolumeClaimStatus
PersistentVolumeClaimStatus: accessModes allocatedResourceStatuses allocatedResources capacity
  conditions=PersistentVolumeClaimCondition currentVolumeAttributesClassName modifyVolumeStatus=ModifyVolumeStatus phase
PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime message reason status type
ModifyVolumeStatus: status targetVolumeAttributesClassName
PersistentVolume: apiVersion kind metadata=ObjectMeta spec=PersistentVolumeSpec status=PersistentVolumeStatus
PersistentVolumeSpec: accessModes awsElasticBlockStore azureDisk azureFile capacity cephfs cinder claimRef csi fc flexVolume
  flocker gcePersistentDisk glusterfs hostPath iscsi local mountOptions nfs nodeAffinity=VolumeNodeAffinity
  persistentVolumeReclaimPolicy photonPersistentDisk portworxVolume quobyte rbd scaleIO storageClassName storageos
  volumeAttributesClassName volumeMode vsphereVolume
VolumeNodeAffinity: required=NodeSelector
PersistentVolumeStatus: lastPhaseTransitionTime message phase reason
StorageClass: allowVolumeExpansion allowedTopologies=TopologySelectorTerm apiVersion kind metadata=ObjectMeta mountOptions
  parameters provisioner reclaimPolicy volumeBindingMode
CSINode: apiVersion kind metadata=ObjectMeta spec=CSINodeSpec
CSINodeSpec: drivers=CSINodeDriver
CSINodeDriver: allocatable=VolumeNodeResources name nodeID topologyKeys
VolumeNodeResources: count
VolumeAttachment: apiVersion kind metadata=ObjectMeta spec=VolumeAttachmentSpec status=VolumeAttachmentStatus
VolumeAttachmentSpec: attacher nodeName source=VolumeAttachmentSource
VolumeAttachmentSource: inlineVolumeSpec persistentVolumeName
VolumeAttachmentStatus: attachError attached attachmentMetadata detachError
CSIDriver: apiVersion kind metadata=ObjectMeta spec=CSIDriverSpec
CSIDriverSpec: attachRequired fsGroupPolicy nodeAllocatableUpdatePeriodSeconds podInfoOnMount
  preventPodSchedulingIfMissing requiresRepublish seLinuxMount serviceAccountTokenInSecrets storageCapacity tokenRequests=CSIDriverTokenRequest
  volumeLifecycleModes
CSIDriverTokenRequest: audience expirationSeconds
CSIStorageCapacity: apiVersion capacity kind maximumVolumeSize metadata=ObjectMeta nodeTopology=LabelSelector
  storageClassName
TopologySelectorTerm: matchLabelExpressions=TopologySelectorLabelRequirement
TopologySelectorLabelRequirement: key values
PodGroup: apiVersion kind metadata=ObjectMeta spec=PodGroupSpec status=PodGroupStatus
PodGroupSpec: disruptionMode parentCompositePodGroupName podGroupTemplateRef=PodGroupTemplateReference preemptionPolicy
  priority priorityClassName resourceClaims=PodGroupResourceClaim schedulingConstraints=PodGroupSchedulingConstraints
  schedulingPolicy=PodGroupSchedulingPolicy workloadRef=PodGroupWorkloadReference
PodGroupTemplateReference: workload=PodGroupWorkloadReference
PodGroupWorkloadReference: podGroupTemplateName templateName workloadName
PodGroupResourceClaim: name resourceClaimName resourceClaimTemplateName
PodGroupSchedulingConstraints: topology=PodGroupTopologyConstraint
PodGroupTopologyConstraint: key
PodGroupSchedulingPolicy: basic gang=GangSchedulingPolicy
GangSchedulingPolicy: minCount
PodGroupStatus: conditions=Condition resourceClaimStatuses
Workload: apiVersion kind metadata=ObjectMeta spec=WorkloadSpec
WorkloadSpec: compositePodGroupTemplates controllerRef=WorkloadControllerReference podGroupTemplates podGroups=WorkloadPodGroup
WorkloadControllerReference: apiGroup kind name
WorkloadPodGroup: name policy=PodGroupSchedulingPolicy
)";

constexpr KnownKind kUpstreamKinds[] = {
    {"", "Pod", "v1", "Pod"},
    {"", "Node", "v1", "Node"},
    {"", "Namespace", "v1", "Namespace"},
    {"", "LimitRange", "v1", "LimitRange"},
    {"", "PersistentVolume", "v1", "PersistentVolume"},
    {"", "PersistentVolumeClaim", "v1", "PersistentVolumeClaim"},
    {"storage.k8s.io", "StorageClass", "v1 v1beta1", "StorageClass"},
    {"storage.k8s.io", "CSINode", "v1 v1beta1", "CSINode"},
    {"storage.k8s.io", "CSIDriver", "v1 v1beta1", "CSIDriver"},
    {"storage.k8s.io", "CSIStorageCapacity", "v1 v1beta1", "CSIStorageCapacity"},
    {"storage.k8s.io", "VolumeAttachment", "v1 v1beta1", "VolumeAttachment"},
    {"batch", "Job", "v1", "Job"},
    {"apps", "Deployment", "v1", "Deployment"},
    {"apps", "ReplicaSet", "v1", "ReplicaSet"},
    {"apps", "StatefulSet", "v1", "StatefulSet"},
    {"scheduling.k8s.io", "PriorityClass", "v1 v1beta1 v1alpha1", "PriorityClass"},
    {"scheduling.k8s.io", "PodGroup", "v1beta1 v1alpha3 v1alpha2", "PodGroup"},
    {"scheduling.k8s.io", "Workload", "v1beta1 v1alpha3 v1alpha2 v1alpha1", "Workload"},
    {"node.k8s.io", "RuntimeClass", "v1 v1beta1 v1alpha1", "RuntimeClass"},
    {"policy", "PodDisruptionBudget", "v1", "PodDisruptionBudget"},
    // Not read, and no mistakes.
    {"", "Binding", "", ""},
    {"", "ComponentStatus", "", ""},
    {"", "ConfigMap", "", ""},
    {"", "Endpoints", "", ""},
    {"", "Event", "", ""},
    {"", "List", "", ""},
    {"", "PodTemplate", "", ""},
    {"", "ReplicationController", "", ""},
    {"", "ResourceQuota", "", ""},
    {"", "Secret", "", ""},
    {"", "Service", "", ""},
    {"", "ServiceAccount", "", ""},
    {"", "Status", "", ""},
    {"batch", "CronJob", "", ""},
    {"apps", "ControllerRevision", "", ""},
    {"apps", "DaemonSet", "", ""},
    {"scheduling.k8s.io", "CompositePodGroup", "", ""},
};

}  // namespace

KnownSystem known_upstream() {
  return {"Kubernetes", kUpstreamKinds, kUpstreamFields, {}, {}};
}

}  // namespace berth::dialect
