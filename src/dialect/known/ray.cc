// Ray (KubeRay).
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kRayFields = R"(
RayCluster: apiVersion kind metadata=ObjectMeta spec=RayClusterSpec status
RayJob: apiVersion kind metadata=ObjectMeta spec=RayJobSpec status
RayService: apiVersion kind metadata=ObjectMeta spec=RayServiceSpec status
RayCronJob: apiVersion kind metadata=ObjectMeta spec=RayCronJobSpec status
RayClusterSpec: authOptions=RayAuthOptions autoscalerOptions=RayAutoscalerOptions enableInTreeAutoscaling
  gcsFaultToleranceOptions=RayFaultTolerance headGroupSpec=RayHeadGroup headServiceAnnotations
  historyServerOptions managedBy networkPolicy rayVersion suspend tlsOptions upgradeStrategy
  workerGroupSpecs=RayWorkerGroup
RayAuthOptions: enableK8sTokenAuth mode secretName
RayAutoscalerOptions: args command env=EnvVar envFrom=EnvFromSource idleTimeoutSeconds image imagePullPolicy
  resources=ResourceRequirements securityContext=SecurityContext upscalingMode version volumeMounts=VolumeMount
RayFaultTolerance: backend externalStorageNamespace redisAddress redisPassword redisUsername storage
RayHeadGroup: enableIngress headService ingressOptions labels rayStartParams replicas resources serviceType
  template=PodTemplateSpec
RayWorkerGroup: groupName idleTimeoutSeconds labels maxReplicas minReplicas numOfHosts priority rayStartParams
  replicas resources scaleStrategy=RayScaleStrategy suspend template=PodTemplateSpec
RayScaleStrategy: workersToDelete
RayJobSpec: activeDeadlineSeconds backoffLimit clusterSelector deletionPolicy deletionStrategy entrypoint
  entrypointNumCpus entrypointNumGpus entrypointResources jobId managedBy metadata preRunningDeadlineSeconds
  rayClusterSpec=RayClusterSpec runtimeEnv runtimeEnvYAML shutdownAfterJobFinishes submissionMode
  submitterConfig=RaySubmitter submitterPodTemplate=PodTemplateSpec suspend ttlSecondsAfterFinished
RaySubmitter: backoffLimit
RayServiceSpec: deploymentUnhealthySecondThreshold excludeHeadPodFromServeSvc managedBy
  rayClusterConfig=RayClusterSpec rayClusterDeletionDelaySeconds serveConfig serveConfigV2 serveService
  serviceUnhealthySecondThreshold suspend upgradeStrategy
RayCronJobSpec: jobTemplate=RayJobSpec schedule suspend timeZone
)";

constexpr KnownKind kRayKinds[] = {
    {"ray.io", "RayCluster", "v1 v1alpha1", "RayCluster"},
    {"ray.io", "RayJob", "v1 v1alpha1", "RayJob"},
    {"ray.io", "RayService", "v1 v1alpha1", "RayService"},
    {"ray.io", "RayCronJob", "v1", "RayCronJob"},
};

}  // namespace

KnownSystem known_ray() {
  return {"ray", kRayKinds, kRayFields, {}, {}};
}

}  // namespace berth::dialect
