// The kinds of objects that Berth reads: those of the table below, and those that are declared (owners/declared/). Declared kinds have numbers
// behind the enumerators. They are added before the first object is read, and stay: they are words of this process, like the enumerators.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/enums.h"
#include "dialect/base/names.h"

namespace berth::dialect {

enum class Kind : std::uint8_t {
  kPod,
  kNode,
  kNamespace,
  kPriorityClass,
  kJob,
  kPodGroup,
  kClusterQueue,
  kCohort,
  kLocalQueue,
  kResourceFlavor,
  kTopology,
  kWorkloadPriorityClass,
  kWorkload,
  kQueue,         // Berth's
  kVolcanoQueue,  // both are called Queue in their own groups
  kKaiQueue,
  kAdmissionCheck,
  kLimitRange,
  kRuntimeClass,
  kProvisioningRequestConfig,
  kProvisioningRequest,
  kStatefulSet,
  kJobSet,
  kReplicaSet,
  kDeployment,
  kPersistentVolumeClaim,
  kPersistentVolume,
  kStorageClass,
  kCsiNode,
  kVolumeAttachment,
  kVolcanoPodGroup,
  kKaiPodGroup,
  kCsiDriver,
  kCsiStorageCapacity,
  kHyperNode,
  kDisruptionBudget,
  kUpstreamPodGroup,
  kKaiTopology,
  kOlderPodGroup,
  kUpstreamWorkload,
};

// One kind: its name in manifests, the group that serves it, and its resource there.
struct KindInfo {
  Kind kind;
  std::string_view word;       // "Queue" of three groups
  std::string_view name = {};  // for messages and metrics, where the word is no name; else ""
  std::string_view group;
  std::string_view resource;
  bool namespaced = false;
  // Nothing can be decided without it; others may not be served (a CRD, an API that is turned off).
  bool vital = false;
  bool of_workloads = false;             // only of use where Workloads are kept
  std::string_view field_selector = {};  // the others are not needed
  bool binary = false;  // read in the API server's binary form: kube/protobuf_types.h has its messages
};

// All kinds, in the order in which they are read from an API server. A new kind is an enumerator and a row here, one more struct in
// objects/object.h, and a decoder in objects/decode.cc.
inline constexpr std::array kKinds{
    KindInfo{
        .kind = Kind::kNode, .word = "Node", .group = "", .resource = "nodes", .vital = true, .binary = true},
    KindInfo{.kind = Kind::kHyperNode,
             .word = "HyperNode",
             .group = kVolcanoTopologyGroup,
             .resource = "hypernodes"},
    // Before pods: so each is told once, with its budgets.
    KindInfo{.kind = Kind::kDisruptionBudget,
             .word = "PodDisruptionBudget",
             .group = "policy",
             .resource = "poddisruptionbudgets",
             .namespaced = true},
    // Before pods: those that mount volumes are taken with what is known of these.
    KindInfo{.kind = Kind::kStorageClass,
             .word = "StorageClass",
             .group = "storage.k8s.io",
             .resource = "storageclasses"},
    KindInfo{.kind = Kind::kCsiNode, .word = "CSINode", .group = "storage.k8s.io", .resource = "csinodes"},
    KindInfo{
        .kind = Kind::kCsiDriver, .word = "CSIDriver", .group = "storage.k8s.io", .resource = "csidrivers"},
    KindInfo{.kind = Kind::kCsiStorageCapacity,
             .word = "CSIStorageCapacity",
             .group = "storage.k8s.io",
             .resource = "csistoragecapacities",
             .namespaced = true},
    KindInfo{.kind = Kind::kVolumeAttachment,
             .word = "VolumeAttachment",
             .group = "storage.k8s.io",
             .resource = "volumeattachments"},
    KindInfo{.kind = Kind::kPersistentVolume,
             .word = "PersistentVolume",
             .group = "",
             .resource = "persistentvolumes"},
    KindInfo{.kind = Kind::kPersistentVolumeClaim,
             .word = "PersistentVolumeClaim",
             .group = "",
             .resource = "persistentvolumeclaims",
             .namespaced = true},
    KindInfo{.kind = Kind::kPod,
             .word = "Pod",
             .group = "",
             .resource = "pods",
             .namespaced = true,
             .vital = true,
             .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
             .binary = true},
    KindInfo{.kind = Kind::kNamespace, .word = "Namespace", .group = "", .resource = "namespaces"},
    KindInfo{.kind = Kind::kPriorityClass,
             .word = "PriorityClass",
             .group = "scheduling.k8s.io",
             .resource = "priorityclasses"},
    KindInfo{.kind = Kind::kJob,
             .word = "Job",
             .group = "batch",
             .resource = "jobs",
             .namespaced = true,
             .binary = true},
    KindInfo{.kind = Kind::kStatefulSet,
             .word = "StatefulSet",
             .group = "apps",
             .resource = "statefulsets",
             .namespaced = true},
    KindInfo{.kind = Kind::kReplicaSet,
             .word = "ReplicaSet",
             .group = "apps",
             .resource = "replicasets",
             .namespaced = true},
    KindInfo{.kind = Kind::kDeployment,
             .word = "Deployment",
             .group = "apps",
             .resource = "deployments",
             .namespaced = true},
    KindInfo{.kind = Kind::kJobSet,
             .word = "JobSet",
             .group = "jobset.x-k8s.io",
             .resource = "jobsets",
             .namespaced = true},
    KindInfo{.kind = Kind::kLimitRange,
             .word = "LimitRange",
             .group = "",
             .resource = "limitranges",
             .namespaced = true},
    KindInfo{.kind = Kind::kRuntimeClass,
             .word = "RuntimeClass",
             .group = "node.k8s.io",
             .resource = "runtimeclasses"},
    KindInfo{.kind = Kind::kPodGroup,
             .word = "PodGroup",
             .group = kCoschedulingGroup,
             .resource = "podgroups",
             .namespaced = true},
    KindInfo{.kind = Kind::kOlderPodGroup,
             .word = "PodGroup",
             .name = "OlderPodGroup",
             .group = kOlderCoschedulingGroup,
             .resource = "podgroups",
             .namespaced = true},
    KindInfo{.kind = Kind::kUpstreamWorkload,
             .word = "Workload",
             .name = "UpstreamWorkload",
             .group = "scheduling.k8s.io",
             .resource = "workloads",
             .namespaced = true},
    KindInfo{.kind = Kind::kUpstreamPodGroup,
             .word = "PodGroup",
             .name = "UpstreamPodGroup",
             .group = "scheduling.k8s.io",
             .resource = "podgroups",
             .namespaced = true},
    KindInfo{.kind = Kind::kVolcanoPodGroup,
             .word = "PodGroup",
             .name = "VolcanoPodGroup",
             .group = kVolcanoGroup,
             .resource = "podgroups",
             .namespaced = true},
    KindInfo{.kind = Kind::kKaiPodGroup,
             .word = "PodGroup",
             .name = "KaiPodGroup",
             .group = kKaiGroup,
             .resource = "podgroups",
             .namespaced = true},
    KindInfo{.kind = Kind::kClusterQueue,
             .word = "ClusterQueue",
             .group = kKueueGroup,
             .resource = "clusterqueues"},
    KindInfo{.kind = Kind::kCohort, .word = "Cohort", .group = kKueueGroup, .resource = "cohorts"},
    KindInfo{.kind = Kind::kLocalQueue,
             .word = "LocalQueue",
             .group = kKueueGroup,
             .resource = "localqueues",
             .namespaced = true},
    KindInfo{.kind = Kind::kResourceFlavor,
             .word = "ResourceFlavor",
             .group = kKueueGroup,
             .resource = "resourceflavors"},
    KindInfo{.kind = Kind::kTopology, .word = "Topology", .group = kKueueGroup, .resource = "topologies"},
    KindInfo{.kind = Kind::kKaiTopology,
             .word = "Topology",
             .name = "KaiTopology",
             .group = kKaiObjectsGroup,
             .resource = "topologies"},
    KindInfo{.kind = Kind::kWorkloadPriorityClass,
             .word = "WorkloadPriorityClass",
             .group = kKueueGroup,
             .resource = "workloadpriorityclasses"},
    KindInfo{.kind = Kind::kAdmissionCheck,
             .word = "AdmissionCheck",
             .group = kKueueGroup,
             .resource = "admissionchecks"},
    KindInfo{.kind = Kind::kWorkload,
             .word = "Workload",
             .group = kKueueGroup,
             .resource = "workloads",
             .namespaced = true,
             .of_workloads = true},
    KindInfo{.kind = Kind::kProvisioningRequestConfig,
             .word = "ProvisioningRequestConfig",
             .group = kKueueGroup,
             .resource = "provisioningrequestconfigs",
             .of_workloads = true},
    KindInfo{.kind = Kind::kProvisioningRequest,
             .word = "ProvisioningRequest",
             .group = kAutoscalingGroup,
             .resource = "provisioningrequests",
             .namespaced = true,
             .of_workloads = true},
    KindInfo{.kind = Kind::kQueue, .word = "Queue", .group = kBerthGroup, .resource = "queues"},
    KindInfo{.kind = Kind::kVolcanoQueue,
             .word = "Queue",
             .name = "VolcanoQueue",
             .group = kVolcanoGroup,
             .resource = "queues"},
    KindInfo{.kind = Kind::kKaiQueue,
             .word = "Queue",
             .name = "KaiQueue",
             .group = kKaiGroup,
             .resource = "queues"},
};

// Selects the pods that have ended, which the selector of Kind::kPod leaves out.
inline constexpr std::string_view kEndedPods =
    "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown";

// Kinds, with those that are declared.
inline constexpr std::size_t kMostKinds = 200;

const KindInfo& info_of(Kind kind);

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::Kind> {
  static constexpr std::array names = [] {
    std::array<std::string_view, berth::dialect::kKinds.size()> out{};
    for (const auto& row : berth::dialect::kKinds)
      out[static_cast<std::size_t>(row.kind)] = row.name.empty() ? row.word : row.name;
    return out;
  }();
};

namespace berth::dialect {

// All of them; the span stays good while more are added.
std::span<const KindInfo> kinds();
// Adds a kind that is declared, with the number that it gets. Its texts must stay. Nothing where its word is taken, or all numbers are.
// Not thread-safe: before the first object is read.
std::optional<Kind> add_kind(KindInfo info);
constexpr bool is_declared(Kind kind) {
  return static_cast<std::size_t>(kind) >= kKinds.size();
}

// The name of any kind: "Pod", "VolcanoQueue", "RayCluster". It goes before the name of enumerators alone.
using berth::enum_name;
std::string_view enum_name(Kind kind);
// The kind of such a name.
std::optional<Kind> kind_named(std::string_view name);

// The kind of an object of this apiVersion and kind, where Berth reads it: "kueue.x-k8s.io/v1beta2"
// ClusterQueue and so on.
std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind);
// Whether objects of the kind live in namespaces.
bool is_namespaced(Kind kind);

// "<Kind>/<ns>/<name>", which stands for the uid of an object that no API server has seen.
std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name);
// "Pod default/trainer-0", "Node gpu-1": for messages.
std::string describe(Kind kind, std::string_view ns, std::string_view name);

}  // namespace berth::dialect
