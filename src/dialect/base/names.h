// Every label, annotation and kind name of Kubernetes and its neighbours that Berth reads, in one place.
#pragma once

#include <string_view>

namespace berth::dialect {

// Berth's own. Each may be a label or an annotation of a pod, of its PodGroup, or of its Job; the label wins.
inline constexpr std::string_view kBerthPrefix = "berth.dev/";
inline constexpr std::string_view kGang = "berth.dev/gang";           // name of the gang within the namespace
inline constexpr std::string_view kGangSize = "berth.dev/gang-size";  // pods that start together
inline constexpr std::string_view kBerthQueue =
    "berth.dev/queue";  // a LocalQueue of the namespace, or a ClusterQueue
inline constexpr std::string_view kTopologyRequired = "berth.dev/topology-required";    // node label key
inline constexpr std::string_view kTopologyPreferred = "berth.dev/topology-preferred";  // node label key
inline constexpr std::string_view kGpuMilli = "berth.dev/gpu-milli";  // thousandths of one device, "250"
inline constexpr std::string_view kGpuResource = "berth.dev/gpu-resource";  // of the share; nvidia.com/gpu
inline constexpr std::string_view kDevices =
    "berth.dev/devices";  // written with the bind: "0,3", the node's devices it has
inline constexpr std::string_view kChargedTo =
    "berth.dev/charged-to";  // written with the bind: the mark that named its queue then, "kueue.x-k8s.io/queue-name=team"
inline constexpr std::string_view kExpectedDuration = "berth.dev/expected-duration";  // "2h30m"
inline constexpr std::string_view kCheckpointEvery = "berth.dev/checkpoint-every";    // "15m"
inline constexpr std::string_view kLastCheckpoint = "berth.dev/last-checkpoint";      // RFC 3339
inline constexpr std::string_view kRestartOverhead = "berth.dev/restart-overhead";    // "3m"
inline constexpr std::string_view kPlacement =
    "berth.dev/placement";  // a policy by name, instead of the queue's
inline constexpr std::string_view kPodSetUpdates =
    "berth.dev/pod-set-updates";  // written on a Job: keys of its node selector that admission checks wanted
inline constexpr std::string_view kPartialAdmission =
    "berth.dev/partial-admission";  // written on a Job: "4/6", released with four of six pods; "4/6,completions"
// On a ClusterQueue or a ResourceFlavor: "on-demand", "at-hand".
inline constexpr std::string_view kNodes = "berth.dev/nodes";
inline constexpr std::string_view kPreemptible = "berth.dev/preemptible";  // "false": never a victim

// On a Namespace: its users are not trusted with more than their queues (deploy/tenant-policy.yaml).
inline constexpr std::string_view kTenant = "berth.dev/tenant";

inline constexpr std::string_view kBerthGroup = "berth.dev";

// Volcano and KAI: their queues and PodGroups. The older label of a queue is that of Run:ai's own product.
inline constexpr std::string_view kVolcanoGroup = "scheduling.volcano.sh";
inline constexpr std::string_view kVolcanoTopologyGroup = "topology.volcano.sh";
inline constexpr std::string_view kVolcanoQueueName = "scheduling.volcano.sh/queue-name";
inline constexpr std::string_view kVolcanoGroupName = "scheduling.k8s.io/group-name";  // annotation
inline constexpr std::string_view kVolcanoTask = "volcano.sh/task-spec";
inline constexpr std::string_view kVolcanoPreemptable =
    "volcano.sh/preemptable";  // of a pod or PodGroup; "false": never a victim
inline constexpr std::string_view kVolcanoDefaultQueue = "default";
inline constexpr std::string_view kKaiGroup = "scheduling.run.ai";
inline constexpr std::string_view kKaiObjectsGroup = "kai.scheduler";
inline constexpr std::string_view kKaiQueueName = "kai.scheduler/queue";
inline constexpr std::string_view kOlderKaiQueueName = "runai/queue";
inline constexpr std::string_view kKaiScheduler = "kai-scheduler";
inline constexpr std::string_view kKaiGroupName = "pod-group-name";  // annotation
inline constexpr std::string_view kKaiSubgroup = "kai.scheduler/subgroup-name";
// On a PodGroup. The second is written by KAI: since when the gang lacks pods that it needs.
inline constexpr std::string_view kKaiStalenessGraceMark = "kai.scheduler/staleness-grace-period";
inline constexpr std::string_view kKaiStaleSince = "kai.scheduler/stale-podgroup-timestamp";
inline constexpr std::string_view kKaiPreemptionDelay = "kai.scheduler/preemption-delay";

// Coscheduling (scheduler-plugins), the current label and the older ones.
inline constexpr std::string_view kCoschedulingGroup = "scheduling.x-k8s.io";
inline constexpr std::string_view kOlderCoschedulingGroup = "scheduling.sigs.k8s.io";  // of Koordinator, too
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kOlderPodGroupLabel = "pod-group.scheduling.sigs.k8s.io";
inline constexpr std::string_view kOldestPodGroupName = "pod-group.scheduling.sigs.k8s.io/name";
inline constexpr std::string_view kOldestPodGroupSize = "pod-group.scheduling.sigs.k8s.io/min-available";

// Koordinator: annotations of pods. Its quota names a queue.
inline constexpr std::string_view kKoordinatorGang = "gang.scheduling.koordinator.sh/name";
inline constexpr std::string_view kKoordinatorLeast = "gang.scheduling.koordinator.sh/min-available";
inline constexpr std::string_view kKoordinatorTotal = "gang.scheduling.koordinator.sh/total-number";
inline constexpr std::string_view kKoordinatorGroups =
    "gang.scheduling.koordinator.sh/groups";  // ["namespace/gang"]: they start together
inline constexpr std::string_view kKoordinatorQuota = "quota.scheduling.koordinator.sh/name";

// YuniKorn. The names without a domain count for pods of its own scheduler name alone.
inline constexpr std::string_view kYuniKornScheduler = "yunikorn";
inline constexpr std::string_view kYuniKornApp = "yunikorn.apache.org/app-id";
inline constexpr std::string_view kOlderYuniKornApp = "applicationId";
inline constexpr std::string_view kSparkApp = "spark-app-selector";  // Spark's own label of its pods
inline constexpr std::string_view kYuniKornQueue =
    "yunikorn.apache.org/queue";  // "root.research.nlp" is the queue nlp
inline constexpr std::string_view kOlderYuniKornQueue = "queue";
inline constexpr std::string_view kYuniKornGroup = "yunikorn.apache.org/task-group-name";
inline constexpr std::string_view kYuniKornGroups =
    "yunikorn.apache.org/task-groups";  // annotation: [{"name": "worker", "minMember": 4}]
inline constexpr std::string_view kYuniKornParameters =
    "yunikorn.apache.org/schedulingPolicyParameters";  // annotation: "gangSchedulingStyle=Soft"
// Annotations of a pod that holds the room of a gang's pod to come: "true". YuniKorn writes the second up to 1.5.
inline constexpr std::string_view kYuniKornPlaceholder = "internal.yunikorn.apache.org/placeholder";
inline constexpr std::string_view kOlderYuniKornPlaceholder = "yunikorn.apache.org/placeholder";

// Kueue.
inline constexpr std::string_view kKueueGroup = "kueue.x-k8s.io";
inline constexpr std::string_view kKueueQueue = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kKueuePriorityClass = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kKueuePodGroup = "kueue.x-k8s.io/pod-group-name";
inline constexpr std::string_view kKueuePodGroupSize = "kueue.x-k8s.io/pod-group-total-count";
inline constexpr std::string_view kKueueFastAdmission =
    "kueue.x-k8s.io/pod-group-fast-admission";  // annotation: "true": places for all members as soon as one is there
inline constexpr std::string_view kKueuePodIndex = "kueue.x-k8s.io/pod-group-pod-index";
inline constexpr std::string_view kKueueRequired = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kKueuePreferred = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr std::string_view kKueueSliceRequired = "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr std::string_view kKueueSliceSize = "kueue.x-k8s.io/podset-slice-size";
inline constexpr std::string_view kKueueMaxSeconds = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kKueueGatedBy =
    // annotation: controllers that still prepare it, "example.com/a,example.com/b"
    "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view kKueueRetriable =
    "kueue.x-k8s.io/retriable-in-group";  // annotation: "false": when it fails it is not replaced
inline constexpr std::string_view kKueueReadyTimes =
    "kueue.x-k8s.io/wait-for-pods-ready";  // annotation: {"timeoutSeconds":30,"recoveryTimeoutSeconds":40}
inline constexpr std::string_view kKueuePriorityBoost =
    "kueue.x-k8s.io/priority-boost";  // annotation of a Workload: added to its priority, "-100"
inline constexpr std::string_view kKueuePrebuilt =
    // of a Job or pods: the Workload that another client made for it
    "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view kKueueMinParallelism = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view kKueueCompletionsFollow =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr std::string_view kKueueElastic =
    "kueue.x-k8s.io/elastic-job";  // annotation of a Job, "true"; and the scheduling gate of its pods
inline constexpr std::string_view kKueueSliceName =
    "kueue.x-k8s.io/workload-slice-name";  // annotation of a Workload: the name of the first of its Job's slices
inline constexpr std::string_view kKueueSliceFor =
    "kueue.x-k8s.io/workload-slice-replacement-for";  // the same: the slice before it, "namespace/name"
inline constexpr std::string_view kKueueDefaultLocalQueue = "default";
// controllerName of the AdmissionChecks that Berth answers itself (scheduler/kueue/provisioner.h)
inline constexpr std::string_view kProvisioningController = "kueue.x-k8s.io/provisioning-request";
inline constexpr std::string_view kProvisioningParameter =
    "provreq.kueue.x-k8s.io/";  // prefix of annotations: a parameter of its ProvisioningRequest

// Cluster Autoscaler's ProvisioningRequest; annotations of the pods that use one.
inline constexpr std::string_view kAutoscalingGroup = "autoscaling.x-k8s.io";
inline constexpr std::string_view kConsumesRequest = "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr std::string_view kProvisioningClass = "autoscaling.x-k8s.io/provisioning-class-name";

// Upstream.
inline constexpr std::string_view kJobIndex = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kPreemptedByScheduler =
    "PreemptionByScheduler";  // reason of DisruptionTarget
inline constexpr std::string_view kSchedulingGroup =
    "spec.schedulingGroup.podGroupName";  // the field of a pod, which stands among its marks; no annotation counts
inline constexpr std::string_view kWorkloadRef =
    "spec.workloadRef";  // the same: "workload/podGroup", or "workload/podGroup/podGroupReplicaKey"
inline constexpr std::string_view kJobController = "kubernetes.io/job-controller";  // spec.managedBy
inline constexpr std::string_view kMirrorPod = "kubernetes.io/config.mirror";
inline constexpr std::string_view kHostname = "kubernetes.io/hostname";
inline constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";
inline constexpr std::string_view kGpuProduct = "nvidia.com/gpu.product";

}  // namespace berth::dialect
