// Kubeflow: the training-operator, the MPI operator, the Trainer and the Spark operator.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kKubeflowFields = R"(
PyTorchJob: apiVersion kind metadata=ObjectMeta spec=PyTorchJobSpec status
TFJob: apiVersion kind metadata=ObjectMeta spec=TFJobSpec status
XGBoostJob: apiVersion kind metadata=ObjectMeta spec=XGBoostJobSpec status
PaddleJob: apiVersion kind metadata=ObjectMeta spec=PaddleJobSpec status
JAXJob: apiVersion kind metadata=ObjectMeta spec=JAXJobSpec status
MPIJob: apiVersion kind metadata=ObjectMeta spec=MPIJobSpec status
PyTorchJobSpec: elasticPolicy=KubeflowElasticPolicy nprocPerNode pytorchReplicaSpecs=PyTorchRoles
  runPolicy=KubeflowRunPolicy
TFJobSpec: enableDynamicWorker runPolicy=KubeflowRunPolicy successPolicy tfReplicaSpecs=TFRoles
XGBoostJobSpec: runPolicy=KubeflowRunPolicy xgbReplicaSpecs=XGBoostRoles
PaddleJobSpec: elasticPolicy=KubeflowElasticPolicy paddleReplicaSpecs=PaddleRoles runPolicy=KubeflowRunPolicy
JAXJobSpec: jaxReplicaSpecs=JAXRoles runPolicy=KubeflowRunPolicy
MPIJobSpec: cleanPodPolicy launcherCreationPolicy mainContainer mpiImplementation mpiReplicaSpecs=MPIRoles runLauncherAsWorker
  runPolicy=KubeflowRunPolicy slotsPerWorker sshAuthMountPath
PyTorchRoles: Master=KubeflowRole Worker=KubeflowRole
TFRoles: Chief=KubeflowRole Evaluator=KubeflowRole Master=KubeflowRole PS=KubeflowRole Worker=KubeflowRole
XGBoostRoles: Master=KubeflowRole Worker=KubeflowRole
PaddleRoles: Master=KubeflowRole Worker=KubeflowRole
JAXRoles: Worker=KubeflowRole
MPIRoles: Launcher=KubeflowRole Worker=KubeflowRole
KubeflowRole: replicas restartPolicy template=PodTemplateSpec
KubeflowRunPolicy: activeDeadlineSeconds backoffLimit cleanPodPolicy managedBy
  schedulingPolicy=KubeflowSchedulingPolicy suspend ttlSecondsAfterFinished
KubeflowSchedulingPolicy: minAvailable minResources priorityClass queue scheduleTimeoutSeconds
KubeflowElasticPolicy: maxReplicas maxRestarts metrics minReplicas nProcPerNode rdzvBackend rdzvConf rdzvHost
  rdzvId rdzvPort standalone
TrainJob: apiVersion kind metadata=ObjectMeta spec=TrainJobSpec status
TrainJobSpec: activeDeadlineSeconds annotations initializer labels managedBy podSpecOverrides
  podTemplateOverrides runtimePatches=TrainJobPatch runtimeRef=TrainJobRuntime suspend trainer=TrainJobTrainer
TrainJobPatch: manager time trainingRuntimeSpec
TrainJobRuntime: apiGroup kind name
TrainJobTrainer: args command env=EnvVar image numNodes numProcPerNode resourcesPerNode=ResourceRequirements
)";

// Their versions alone: training of an older kind, and objects beside it.
constexpr KnownKind kKubeflowKinds[] = {
    {"kubeflow.org", "PyTorchJob", "v1", "PyTorchJob"},
    {"kubeflow.org", "TFJob", "v1", "TFJob"},
    {"kubeflow.org", "XGBoostJob", "v1", "XGBoostJob"},
    {"kubeflow.org", "PaddleJob", "v1", "PaddleJob"},
    {"kubeflow.org", "JAXJob", "v1", "JAXJob"},
    {"kubeflow.org", "MPIJob", "v2beta1 v1", "MPIJob"},
    {"kubeflow.org", "MXJob", "", ""},
    {"kubeflow.org", "Notebook", "", ""},
    {"kubeflow.org", "Profile", "", ""},
    {"kubeflow.org", "PodDefault", "", ""},
    {"kubeflow.org", "Experiment", "", ""},
    {"kubeflow.org", "Suggestion", "", ""},
    {"kubeflow.org", "Trial", "", ""},
    {"kubeflow.org", "ScheduledWorkflow", "", ""},
    {"kubeflow.org", "Viewer", "", ""},
    {"trainer.kubeflow.org", "TrainJob", "v1alpha1", "TrainJob"},
    {"trainer.kubeflow.org", "TrainingRuntime", "", ""},
    {"trainer.kubeflow.org", "ClusterTrainingRuntime", "", ""},
};

constexpr std::string_view kSparkFields = R"(
SparkApplication: apiVersion kind metadata=ObjectMeta spec=SparkApplicationSpec status
ScheduledSparkApplication: apiVersion kind metadata=ObjectMeta spec=ScheduledSparkApplicationSpec status
SparkApplicationSpec: arguments batchScheduler batchSchedulerOptions=SparkBatchScheduler deps driver=SparkDriver
  driverIngressOptions driverPodDisruptionBudget dynamicAllocation=SparkDynamicAllocation executor=SparkExecutor
  failureRetries hadoopConf hadoopConfigMap image imagePullPolicy imagePullSecrets mainApplicationFile mainClass
  memoryOverheadFactor mode monitoring nodeSelector proxyUser pythonVersion restartPolicy=SparkRestartPolicy
  retryInterval sparkConf sparkConfigMap sparkUIOptions sparkVersion suspend timeToLiveSeconds type volumes=Volume
SparkBatchScheduler: priorityClassName queue resources
SparkDriver: affinity=Affinity annotations configMaps coreLimit coreRequest cores dnsConfig=PodDNSConfig env=EnvVar
  envFrom=EnvFromSource envSecretKeyRefs envVars gpu=SparkGpu hostAliases hostNetwork image
  initContainers=Container javaOptions kubernetesMaster labels=Keys lifecycle=Lifecycle memory memoryLimit
  memoryOverhead nodeSelector podName podSecurityContext=PodSecurityContext ports priorityClassName schedulerName
  secrets securityContext=SecurityContext serviceAccount serviceAnnotations serviceLabels shareProcessNamespace
  sidecars=Container template=PodTemplateSpec terminationGracePeriodSeconds tolerations=Toleration
  volumeMounts=VolumeMount
SparkExecutor: affinity=Affinity annotations configMaps coreLimit coreRequest cores deleteOnTermination
  dnsConfig=PodDNSConfig env=EnvVar envFrom=EnvFromSource envSecretKeyRefs envVars gpu=SparkGpu hostAliases
  hostNetwork image initContainers=Container instances javaOptions labels=Keys lifecycle=Lifecycle memory
  memoryLimit memoryOverhead nodeSelector podSecurityContext=PodSecurityContext ports priorityClassName
  schedulerName secrets securityContext=SecurityContext serviceAccount shareProcessNamespace sidecars=Container
  template=PodTemplateSpec terminationGracePeriodSeconds tolerations=Toleration volumeMounts=VolumeMount
SparkGpu: name quantity
SparkDynamicAllocation: enabled initialExecutors maxExecutors minExecutors shuffleTrackingEnabled
  shuffleTrackingTimeout
SparkRestartPolicy: onFailureRetries onFailureRetryInterval onSubmissionFailureRetries
  onSubmissionFailureRetryInterval type
ScheduledSparkApplicationSpec: concurrencyPolicy failedRunHistoryLimit schedule successfulRunHistoryLimit suspend
  template=SparkApplicationSpec timeZone
)";

constexpr KnownKind kSparkKinds[] = {
    {"sparkoperator.k8s.io", "SparkApplication", "v1beta2", "SparkApplication"},
    {"sparkoperator.k8s.io", "ScheduledSparkApplication", "v1beta2", "ScheduledSparkApplication"},
    {"sparkoperator.k8s.io", "SparkConnect", "", ""},
};

}  // namespace

KnownSystem known_kubeflow() {
  return {"kubeflow", kKubeflowKinds, kKubeflowFields, {}, {}};
}

KnownSystem known_spark() {
  return {"spark", kSparkKinds, kSparkFields, {}, {}};
}

}  // namespace berth::dialect
