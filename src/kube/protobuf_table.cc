// Made by scripts/api-forms table from the Go types of Kubernetes' API; not to be edited.
#include "kube/protobuf_types.h"

namespace berth::kube {

constinit const std::string_view kMessageTable = R"(
AWSElasticBlockStoreVolumeSource: 1:volumeID 2:fsType? 3:partition?=int 4:readOnly?=bool
Affinity: 1:nodeAffinity*=NodeAffinity 2:podAffinity*=PodAffinity 3:podAntiAffinity*=PodAntiAffinity
AppArmorProfile: 1:type 2:localhostProfile*
AttachedVolume: 1:name 2:devicePath
AzureDiskVolumeSource: 1:diskName 2:diskURI 3:cachingMode* 4:fsType* 5:readOnly*=bool 6:kind*
AzureFileVolumeSource: 1:secretName 2:shareName 3:readOnly?=bool
CSIVolumeSource: 1:driver 2:readOnly*=bool 3:fsType* 4:volumeAttributes*=texts
  5:nodePublishSecretRef*=LocalObjectReference
Capabilities: 1:add*=[]text 2:drop*=[]text
CephFSVolumeSource: 1:monitors!=[]text 2:path? 3:user? 4:secretFile? 5:secretRef*=LocalObjectReference
  6:readOnly?=bool
CinderVolumeSource: 1:volumeID 2:fsType? 3:readOnly?=bool 4:secretRef*=LocalObjectReference
ClusterTrustBundleProjection: 1:name* 2:signerName* 3:labelSelector*=LabelSelector 4:path 5:optional*=bool 6:user*=int
ConfigMapEnvSource: 1:=+LocalObjectReference 2:optional*=bool
ConfigMapKeySelector: 1:=+LocalObjectReference 2:key 3:optional*=bool
ConfigMapNodeConfigSource: 1:namespace 2:name 3:uid? 4:resourceVersion? 5:kubeletConfigKey
ConfigMapProjection: 1:=+LocalObjectReference 2:items*=[]KeyToPath 4:optional*=bool
ConfigMapVolumeSource: 1:=+LocalObjectReference 2:items*=[]KeyToPath 3:defaultMode*=int 4:optional*=bool
  5:defaultUser*=int
Container: 1:name 2:image? 3:command*=[]text 4:args*=[]text 5:workingDir? 6:ports*=[]ContainerPort 7:env*=[]EnvVar
  8:resources=ResourceRequirements 9:volumeMounts*=[]VolumeMount 10:livenessProbe*=Probe 11:readinessProbe*=Probe
  12:lifecycle*=Lifecycle 13:terminationMessagePath? 14:imagePullPolicy? 15:securityContext*=SecurityContext
  16:stdin?=bool 17:stdinOnce?=bool 18:tty?=bool 19:envFrom*=[]EnvFromSource 20:terminationMessagePolicy?
  21:volumeDevices*=[]VolumeDevice 22:startupProbe*=Probe 23:resizePolicy*=[]ContainerResizePolicy 24:restartPolicy*
  25:restartPolicyRules*=[]ContainerRestartRule
ContainerExtendedResourceRequest: 1:containerName 2:resourceName 3:requestName
ContainerImage: 1:names!=[]text 2:sizeBytes?=int
ContainerPort: 1:name? 2:hostPort?=int 3:containerPort=int 4:protocol? 5:hostIP?
ContainerResizePolicy: 1:resourceName 2:restartPolicy
ContainerRestartRule: 1:action? 2:exitCodes*=ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: 1:operator? 2:values*=[]int
ContainerState: 1:waiting*=ContainerStateWaiting 2:running*=ContainerStateRunning
  3:terminated*=ContainerStateTerminated
ContainerStateRunning: 1:startedAt!=time
ContainerStateTerminated: 1:exitCode=int 2:signal?=int 3:reason? 4:message? 5:startedAt!=time 6:finishedAt!=time
  7:containerID?
ContainerStateWaiting: 1:reason? 2:message?
ContainerStatus: 1:name 2:state=ContainerState 3:lastState=ContainerState 4:ready=bool 5:restartCount=int 6:image
  7:imageID 8:containerID? 9:started*=bool 10:allocatedResources*=quantities 11:resources*=ResourceRequirements
  12:volumeMounts*=[]VolumeMountStatus 13:user*=ContainerUser 14:allocatedResourcesStatus*=[]ResourceStatus
  15:stopSignal*
ContainerUser: 1:linux*=LinuxContainerUser
DaemonEndpoint: 1:Port=int
DownwardAPIProjection: 1:items*=[]DownwardAPIVolumeFile
DownwardAPIVolumeFile: 1:path 2:fieldRef*=ObjectFieldSelector 3:resourceFieldRef*=ResourceFieldSelector 4:mode*=int
  5:user*=int
DownwardAPIVolumeSource: 1:items*=[]DownwardAPIVolumeFile 2:defaultMode*=int 3:defaultUser*=int
EmptyDirVolumeSource: 1:medium? 2:sizeLimit*=quantity 3:mode*=int
EnvFromSource: 1:prefix? 2:configMapRef*=ConfigMapEnvSource 3:secretRef*=SecretEnvSource
EnvVar: 1:name 2:value? 3:valueFrom*=EnvVarSource
EnvVarSource: 1:fieldRef*=ObjectFieldSelector 2:resourceFieldRef*=ResourceFieldSelector
  3:configMapKeyRef*=ConfigMapKeySelector 4:secretKeyRef*=SecretKeySelector 5:fileKeyRef*=FileKeySelector
EphemeralContainer: 1:=+EphemeralContainerCommon 2:targetContainerName?
EphemeralContainerCommon: 1:name 2:image? 3:command*=[]text 4:args*=[]text 5:workingDir? 6:ports*=[]ContainerPort
  7:env*=[]EnvVar 8:resources=ResourceRequirements 9:volumeMounts*=[]VolumeMount 10:livenessProbe*=Probe
  11:readinessProbe*=Probe 12:lifecycle*=Lifecycle 13:terminationMessagePath? 14:imagePullPolicy?
  15:securityContext*=SecurityContext 16:stdin?=bool 17:stdinOnce?=bool 18:tty?=bool 19:envFrom*=[]EnvFromSource
  20:terminationMessagePolicy? 21:volumeDevices*=[]VolumeDevice 22:startupProbe*=Probe
  23:resizePolicy*=[]ContainerResizePolicy 24:restartPolicy* 25:restartPolicyRules*=[]ContainerRestartRule
EphemeralVolumeSource: 1:volumeClaimTemplate*=PersistentVolumeClaimTemplate
EvictionResponder: 1:name 2:priority!=int
ExecAction: 1:command*=[]text
FCVolumeSource: 1:targetWWNs*=[]text 2:lun*=int 3:fsType? 4:readOnly?=bool 5:wwids*=[]text
FileKeySelector: 1:volumeName 2:path 3:key 4:optional*=bool
FlexVolumeSource: 1:driver 2:fsType? 3:secretRef*=LocalObjectReference 4:readOnly?=bool 5:options*=texts
FlockerVolumeSource: 1:datasetName? 2:datasetUUID?
GCEPersistentDiskVolumeSource: 1:pdName 2:fsType? 3:partition?=int 4:readOnly?=bool
GRPCAction: 1:port=int 2:service! 3:mode*
GitRepoVolumeSource: 1:repository 2:revision? 3:directory?
GlusterfsVolumeSource: 1:endpoints 2:path 3:readOnly?=bool
HTTPGetAction: 1:path? 2:port=intOrText 3:host? 4:scheme? 5:httpHeaders*=[]HTTPHeader 6:protocol*
HTTPHeader: 1:name 2:value
HostAlias: 1:ip 2:hostnames*=[]text
HostIP: 1:ip
HostPathVolumeSource: 1:path 2:type*
ISCSIVolumeSource: 1:targetPortal 2:iqn 3:lun=int 4:iscsiInterface? 5:fsType? 6:readOnly?=bool 7:portals*=[]text
  8:chapAuthDiscovery?=bool 10:secretRef*=LocalObjectReference 11:chapAuthSession?=bool 12:initiatorName*
ImageVolumeSource: 1:reference? 2:pullPolicy?
ImageVolumeStatus: 1:imageRef?
Job: 1:metadata=ObjectMeta 2:spec=JobSpec 3:status=JobStatus
JobCondition: 1:type 2:status 3:lastProbeTime!=time 4:lastTransitionTime!=time 5:reason? 6:message?
JobSchedulingConfiguration: 1:schedulingPolicy*=WorkloadPodGroupSchedulingPolicy
  2:schedulingConstraints*=WorkloadPodGroupSchedulingConstraints 3:disruptionMode*=WorkloadPodGroupDisruptionMode
  4:resourceClaims*=[]WorkloadPodGroupResourceClaim
JobSpec: 1:parallelism*=int 2:completions*=int 3:activeDeadlineSeconds*=int 4:selector*=LabelSelector
  5:manualSelector*=bool 6:template=PodTemplateSpec 7:backoffLimit*=int 8:ttlSecondsAfterFinished*=int
  9:completionMode* 10:suspend*=bool 11:podFailurePolicy*=PodFailurePolicy 12:backoffLimitPerIndex*=int
  13:maxFailedIndexes*=int 14:podReplacementPolicy* 15:managedBy* 16:successPolicy*=SuccessPolicy
  17:scheduling*=JobSchedulingConfiguration
JobStatus: 1:conditions*=[]JobCondition 2:startTime*=time 3:completionTime*=time 4:active?=int 5:succeeded?=int
  6:failed?=int 7:completedIndexes? 8:uncountedTerminatedPods*=UncountedTerminatedPods 9:ready*=int 10:failedIndexes*
  11:terminating*=int
KeyToPath: 1:key 2:path 3:mode*=int 4:user*=int
LabelSelector: 1:matchLabels*=texts 2:matchExpressions*=[]LabelSelectorRequirement
LabelSelectorRequirement: 1:key 2:operator 3:values*=[]text
Lifecycle: 1:postStart*=LifecycleHandler 2:preStop*=LifecycleHandler 3:stopSignal*
LifecycleHandler: 1:exec*=ExecAction 2:httpGet*=HTTPGetAction 3:tcpSocket*=TCPSocketAction 4:sleep*=SleepAction
LinuxContainerUser: 1:uid=int 2:gid=int 3:supplementalGroups*=[]int
ListMeta: 1:selfLink? 2:resourceVersion? 3:continue? 4:remainingItemCount*=int 5:shardInfo*=ShardInfo
LocalObjectReference: 1:name?
NFSVolumeSource: 1:server 2:path 3:readOnly?=bool
Node: 1:metadata=ObjectMeta 2:spec=NodeSpec 3:status=NodeStatus
NodeAddress: 1:type 2:address
NodeAffinity: 1:requiredDuringSchedulingIgnoredDuringExecution*=NodeSelector
  2:preferredDuringSchedulingIgnoredDuringExecution*=[]PreferredSchedulingTerm
NodeAllocatableMappedResources: 1:name 2:quantity!=quantity
NodeAllocatableOverheadResources: 1:name 2:perPod*=quantity 3:perContainer*=quantity
NodeAllocatableResourceClaimStatus: 1:resourceClaimName 2:containers*=[]text 3:resources*=quantities
  4:mapping*=[]NodeAllocatableMappedResources 5:overhead*=[]NodeAllocatableOverheadResources
NodeCondition: 1:type 2:status 3:lastHeartbeatTime!=time 4:lastTransitionTime!=time 5:reason? 6:message?
NodeConfigSource: 2:configMap*=ConfigMapNodeConfigSource
NodeConfigStatus: 1:assigned*=NodeConfigSource 2:active*=NodeConfigSource 3:lastKnownGood*=NodeConfigSource 4:error?
NodeDaemonEndpoints: 1:kubeletEndpoint=DaemonEndpoint
NodeFeatures: 1:supplementalGroupsPolicy*=bool
NodePodPreemptionPolicy: 1:disableResizePreemption*=[]text
NodeRuntimeHandler: 1:name 2:features*=NodeRuntimeHandlerFeatures
NodeRuntimeHandlerFeatures: 1:recursiveReadOnlyMounts*=bool 2:userNamespaces*=bool
NodeSelector: 1:nodeSelectorTerms!=[]NodeSelectorTerm
NodeSelectorRequirement: 1:key 2:operator 3:values*=[]text
NodeSelectorTerm: 1:matchExpressions*=[]NodeSelectorRequirement 2:matchFields*=[]NodeSelectorRequirement
NodeSpec: 1:podCIDR? 2:externalID? 3:providerID? 4:unschedulable?=bool 5:taints*=[]Taint
  6:configSource*=NodeConfigSource 7:podCIDRs*=[]text 8:podPreemptionPolicy*=NodePodPreemptionPolicy
NodeStatus: 1:capacity*=quantities 2:allocatable*=quantities 3:phase? 4:conditions*=[]NodeCondition
  5:addresses*=[]NodeAddress 6:daemonEndpoints=NodeDaemonEndpoints 7:nodeInfo=NodeSystemInfo
  8:images*=[]ContainerImage 9:volumesInUse*=[]text 10:volumesAttached*=[]AttachedVolume 11:config*=NodeConfigStatus
  12:runtimeHandlers*=[]NodeRuntimeHandler 13:features*=NodeFeatures 14:declaredFeatures*=[]text
NodeSwapStatus: 1:capacity*=int
NodeSystemInfo: 1:machineID 2:systemUUID 3:bootID 4:kernelVersion 5:osImage 6:containerRuntimeVersion 7:kubeletVersion
  8:kubeProxyVersion 9:operatingSystem 10:architecture 11:swap*=NodeSwapStatus 12:runningInUserNamespace*=bool
ObjectFieldSelector: 1:apiVersion? 2:fieldPath
ObjectMeta: 1:name? 2:generateName? 3:namespace? 4:selfLink? 5:uid? 6:resourceVersion? 7:generation?=int
  8:creationTimestamp?=time 9:deletionTimestamp*=time 10:deletionGracePeriodSeconds*=int 11:labels*=texts
  12:annotations*=texts 13:ownerReferences*=[]OwnerReference 14:finalizers*=[]text
OwnerReference: 1:kind 3:name 4:uid 5:apiVersion 6:controller*=bool 7:blockOwnerDeletion*=bool
PersistentVolumeClaimSpec: 1:accessModes*=[]text 2:resources=VolumeResourceRequirements 3:volumeName?
  4:selector*=LabelSelector 5:storageClassName* 6:volumeMode* 7:dataSource*=TypedLocalObjectReference
  8:dataSourceRef*=TypedObjectReference 9:volumeAttributesClassName*
PersistentVolumeClaimTemplate: 1:metadata=ObjectMeta 2:spec=PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: 1:claimName 2:readOnly?=bool
PhotonPersistentDiskVolumeSource: 1:pdID 2:fsType?
Pod: 1:metadata=ObjectMeta 2:spec=PodSpec 3:status=PodStatus
PodAffinity: 1:requiredDuringSchedulingIgnoredDuringExecution*=[]PodAffinityTerm
  2:preferredDuringSchedulingIgnoredDuringExecution*=[]WeightedPodAffinityTerm
PodAffinityTerm: 1:labelSelector*=LabelSelector 2:namespaces*=[]text 3:topologyKey 4:namespaceSelector*=LabelSelector
  5:matchLabelKeys*=[]text 6:mismatchLabelKeys*=[]text
PodAntiAffinity: 1:requiredDuringSchedulingIgnoredDuringExecution*=[]PodAffinityTerm
  2:preferredDuringSchedulingIgnoredDuringExecution*=[]WeightedPodAffinityTerm
PodCertificateProjection: 1:signerName? 2:keyType? 3:maxExpirationSeconds*=int 4:credentialBundlePath? 5:keyPath?
  6:certificateChainPath? 7:userAnnotations*=texts 8:user*=int
PodCondition: 1:type 2:status 3:lastProbeTime!=time 4:lastTransitionTime!=time 5:reason? 6:message?
  7:observedGeneration?=int
PodDNSConfig: 1:nameservers*=[]text 2:searches*=[]text 3:options*=[]PodDNSConfigOption
PodDNSConfigOption: 1:name? 2:value*
PodExtendedResourceClaimStatus: 1:requestMappings!=[]ContainerExtendedResourceRequest 2:resourceClaimName
PodFailurePolicy: 1:rules!=[]PodFailurePolicyRule
PodFailurePolicyOnExitCodesRequirement: 1:containerName* 2:operator 3:values!=[]int
PodFailurePolicyOnPodConditionsPattern: 1:type 2:status
PodFailurePolicyRule: 1:action 2:onExitCodes*=PodFailurePolicyOnExitCodesRequirement
  3:onPodConditions*=[]PodFailurePolicyOnPodConditionsPattern
PodIP: 1:ip
PodOS: 1:name
PodReadinessGate: 1:conditionType
PodResourceClaim: 1:name 3:resourceClaimName* 4:resourceClaimTemplateName*
PodResourceClaimStatus: 1:name 2:resourceClaimName*
PodSchedulingGate: 1:name
PodSchedulingGroup: 1:podGroupName*
PodSecurityContext: 1:seLinuxOptions*=SELinuxOptions 2:runAsUser*=int 3:runAsNonRoot*=bool 4:supplementalGroups*=[]int
  5:fsGroup*=int 6:runAsGroup*=int 7:sysctls*=[]Sysctl 8:windowsOptions*=WindowsSecurityContextOptions
  9:fsGroupChangePolicy* 10:seccompProfile*=SeccompProfile 11:appArmorProfile*=AppArmorProfile
  12:supplementalGroupsPolicy* 13:seLinuxChangePolicy*
PodSpec: 1:volumes*=[]Volume 2:containers!=[]Container 3:restartPolicy? 4:terminationGracePeriodSeconds*=int
  5:activeDeadlineSeconds*=int 6:dnsPolicy? 7:nodeSelector*=texts 8:serviceAccountName? 9:serviceAccount? 10:nodeName?
  11:hostNetwork?=bool 12:hostPID?=bool 13:hostIPC?=bool 14:securityContext*=PodSecurityContext
  15:imagePullSecrets*=[]LocalObjectReference 16:hostname? 17:subdomain? 18:affinity*=Affinity 19:schedulerName?
  20:initContainers*=[]Container 21:automountServiceAccountToken*=bool 22:tolerations*=[]Toleration
  23:hostAliases*=[]HostAlias 24:priorityClassName? 25:priority*=int 26:dnsConfig*=PodDNSConfig
  27:shareProcessNamespace*=bool 28:readinessGates*=[]PodReadinessGate 29:runtimeClassName*
  30:enableServiceLinks*=bool 31:preemptionPolicy* 32:overhead*=quantities
  33:topologySpreadConstraints*=[]TopologySpreadConstraint 34:ephemeralContainers*=[]EphemeralContainer
  35:setHostnameAsFQDN*=bool 36:os*=PodOS 37:hostUsers*=bool 38:schedulingGates*=[]PodSchedulingGate
  39:resourceClaims*=[]PodResourceClaim 40:resources*=ResourceRequirements 41:hostnameOverride*
  42:workloadRef*=WorkloadReference 43:schedulingGroup*=PodSchedulingGroup 44:evictionResponders*=[]EvictionResponder
PodStatus: 1:phase? 2:conditions*=[]PodCondition 3:message? 4:reason? 5:hostIP? 6:podIP? 7:startTime*=time
  8:containerStatuses*=[]ContainerStatus 9:qosClass? 10:initContainerStatuses*=[]ContainerStatus 11:nominatedNodeName?
  12:podIPs*=[]PodIP 13:ephemeralContainerStatuses*=[]ContainerStatus 14:resize?
  15:resourceClaimStatuses*=[]PodResourceClaimStatus 16:hostIPs*=[]HostIP 17:observedGeneration?=int
  18:extendedResourceClaimStatus*=PodExtendedResourceClaimStatus 19:allocatedResources*=quantities
  20:resources*=ResourceRequirements 21:nodeAllocatableResourceClaimStatuses*=[]NodeAllocatableResourceClaimStatus
  22:volumeHealth*=[]PodVolumeHealth
PodTemplateSpec: 1:metadata=ObjectMeta 2:spec=PodSpec
PodVolumeHealth: 1:name 2:healthConditions*=[]VolumeHealthCondition 3:lastTransitionTime!=time
PortworxVolumeSource: 1:volumeID 2:fsType? 3:readOnly?=bool
PreferredSchedulingTerm: 1:weight=int 2:preference=NodeSelectorTerm
Probe: 1:=+ProbeHandler 2:initialDelaySeconds?=int 3:timeoutSeconds?=int 4:periodSeconds?=int 5:successThreshold?=int
  6:failureThreshold?=int 7:terminationGracePeriodSeconds*=int
ProbeHandler: 1:exec*=ExecAction 2:httpGet*=HTTPGetAction 3:tcpSocket*=TCPSocketAction 4:grpc*=GRPCAction
ProjectedVolumeSource: 1:sources!=[]VolumeProjection 2:defaultMode*=int 3:defaultUser*=int
QuobyteVolumeSource: 1:registry 2:volume 3:readOnly?=bool 4:user? 5:group? 6:tenant?
RBDVolumeSource: 1:monitors!=[]text 2:image 3:fsType? 4:pool? 5:user? 6:keyring? 7:secretRef*=LocalObjectReference
  8:readOnly?=bool
ResourceClaim: 1:name 2:request?
ResourceFieldSelector: 1:containerName? 2:resource 3:divisor=quantity
ResourceHealth: 1:resourceID 2:health? 6:message*
ResourceRequirements: 1:limits*=quantities 2:requests*=quantities 3:claims*=[]ResourceClaim
ResourceStatus: 1:name 2:resources*=[]ResourceHealth
SELinuxOptions: 1:user? 2:role? 3:type? 4:level?
ScaleIOVolumeSource: 1:gateway 2:system 3:secretRef!=LocalObjectReference 4:sslEnabled?=bool 5:protectionDomain?
  6:storagePool? 7:storageMode? 8:volumeName? 9:fsType? 10:readOnly?=bool
SeccompProfile: 1:type 2:localhostProfile*
SecretEnvSource: 1:=+LocalObjectReference 2:optional*=bool
SecretKeySelector: 1:=+LocalObjectReference 2:key 3:optional*=bool
SecretProjection: 1:=+LocalObjectReference 2:items*=[]KeyToPath 4:optional*=bool
SecretVolumeSource: 1:secretName? 2:items*=[]KeyToPath 3:defaultMode*=int 4:optional*=bool 5:defaultUser*=int
SecurityContext: 1:capabilities*=Capabilities 2:privileged*=bool 3:seLinuxOptions*=SELinuxOptions 4:runAsUser*=int
  5:runAsNonRoot*=bool 6:readOnlyRootFilesystem*=bool 7:allowPrivilegeEscalation*=bool 8:runAsGroup*=int 9:procMount*
  10:windowsOptions*=WindowsSecurityContextOptions 11:seccompProfile*=SeccompProfile
  12:appArmorProfile*=AppArmorProfile
ServiceAccountTokenProjection: 1:audience? 2:expirationSeconds*=int 3:path 4:user*=int
ShardInfo: 1:selector
SleepAction: 1:seconds=int
Status: 1:metadata=ListMeta 2:status? 3:message? 4:reason? 5:details*=StatusDetails 6:code?=int
StatusCause: 1:reason? 2:message? 3:field?
StatusDetails: 1:name? 2:group? 3:kind? 4:causes*=[]StatusCause 5:retryAfterSeconds?=int 6:uid?
StorageOSVolumeSource: 1:volumeName? 2:volumeNamespace? 3:fsType? 4:readOnly?=bool 5:secretRef*=LocalObjectReference
SuccessPolicy: 1:rules!=[]SuccessPolicyRule
SuccessPolicyRule: 1:succeededIndexes* 2:succeededCount*=int
Sysctl: 1:name 2:value
TCPSocketAction: 1:port=intOrText 2:host?
Taint: 1:key 2:value? 3:effect 4:timeAdded*=time
Toleration: 1:key? 2:operator? 3:value? 4:effect? 5:tolerationSeconds*=int
TopologyConstraint: 1:key
TopologySpreadConstraint: 1:maxSkew=int 2:topologyKey 3:whenUnsatisfiable 4:labelSelector*=LabelSelector
  5:minDomains*=int 6:nodeAffinityPolicy* 7:nodeTaintsPolicy* 8:matchLabelKeys*=[]text
TypedLocalObjectReference: 1:apiGroup! 2:kind 3:name
TypedObjectReference: 1:apiGroup! 2:kind 3:name 4:namespace*
UncountedTerminatedPods: 1:succeeded*=[]text 2:failed*=[]text
Volume: 1:name 2:=+VolumeSource
VolumeDevice: 1:name 2:devicePath
VolumeHealthCondition: 1:status 2:reason 3:message?
VolumeMount: 1:name 2:readOnly?=bool 3:mountPath 4:subPath? 5:mountPropagation* 6:subPathExpr? 7:recursiveReadOnly*
  8:bindMountOptions*=[]text
VolumeMountStatus: 1:name 2:mountPath 3:readOnly?=bool 4:recursiveReadOnly* 5:volumeStatus*=VolumeStatus
VolumeProjection: 1:secret*=SecretProjection 2:downwardAPI*=DownwardAPIProjection 3:configMap*=ConfigMapProjection
  4:serviceAccountToken*=ServiceAccountTokenProjection 5:clusterTrustBundle*=ClusterTrustBundleProjection
  6:podCertificate*=PodCertificateProjection
VolumeResourceRequirements: 1:limits*=quantities 2:requests*=quantities
VolumeSource: 1:hostPath*=HostPathVolumeSource 2:emptyDir*=EmptyDirVolumeSource
  3:gcePersistentDisk*=GCEPersistentDiskVolumeSource 4:awsElasticBlockStore*=AWSElasticBlockStoreVolumeSource
  5:gitRepo*=GitRepoVolumeSource 6:secret*=SecretVolumeSource 7:nfs*=NFSVolumeSource 8:iscsi*=ISCSIVolumeSource
  9:glusterfs*=GlusterfsVolumeSource 10:persistentVolumeClaim*=PersistentVolumeClaimVolumeSource
  11:rbd*=RBDVolumeSource 12:flexVolume*=FlexVolumeSource 13:cinder*=CinderVolumeSource 14:cephfs*=CephFSVolumeSource
  15:flocker*=FlockerVolumeSource 16:downwardAPI*=DownwardAPIVolumeSource 17:fc*=FCVolumeSource
  18:azureFile*=AzureFileVolumeSource 19:configMap*=ConfigMapVolumeSource
  20:vsphereVolume*=VsphereVirtualDiskVolumeSource 21:quobyte*=QuobyteVolumeSource 22:azureDisk*=AzureDiskVolumeSource
  23:photonPersistentDisk*=PhotonPersistentDiskVolumeSource 24:portworxVolume*=PortworxVolumeSource
  25:scaleIO*=ScaleIOVolumeSource 26:projected*=ProjectedVolumeSource 27:storageos*=StorageOSVolumeSource
  28:csi*=CSIVolumeSource 29:ephemeral*=EphemeralVolumeSource 30:image*=ImageVolumeSource
VolumeStatus: 1:image*=ImageVolumeStatus
VsphereVirtualDiskVolumeSource: 1:volumePath 2:fsType? 3:storagePolicyName? 4:storagePolicyID?
WeightedPodAffinityTerm: 1:weight=int 2:podAffinityTerm=PodAffinityTerm
WindowsSecurityContextOptions: 1:gmsaCredentialSpecName* 2:gmsaCredentialSpec* 3:runAsUserName* 4:hostProcess*=bool
WorkloadPodGroupAllDisruptionMode:
WorkloadPodGroupBasicSchedulingPolicy:
WorkloadPodGroupDisruptionMode: 1:single*=WorkloadPodGroupSingleDisruptionMode
  2:all*=WorkloadPodGroupAllDisruptionMode
WorkloadPodGroupGangSchedulingPolicy: 1:minCount*=int
WorkloadPodGroupResourceClaim: 1:name 2:resourceClaimName* 3:resourceClaimTemplateName*
WorkloadPodGroupSchedulingConstraints: 1:topology*=[]TopologyConstraint
WorkloadPodGroupSchedulingPolicy: 1:basic*=WorkloadPodGroupBasicSchedulingPolicy
  2:gang*=WorkloadPodGroupGangSchedulingPolicy
WorkloadPodGroupSingleDisruptionMode:
WorkloadReference: 1:name 2:podGroup 3:podGroupReplicaKey?
)";

}  // namespace berth::kube
