// The kinds of objects that Berth reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/enums.h"

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
};

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::Kind> {
  static constexpr std::array names{"Pod"sv,
                                    "Node"sv,
                                    "Namespace"sv,
                                    "PriorityClass"sv,
                                    "Job"sv,
                                    "PodGroup"sv,
                                    "ClusterQueue"sv,
                                    "Cohort"sv,
                                    "LocalQueue"sv,
                                    "ResourceFlavor"sv,
                                    "Topology"sv,
                                    "WorkloadPriorityClass"sv,
                                    "Workload"sv,
                                    "Queue"sv,
                                    "VolcanoQueue"sv,
                                    "KaiQueue"sv,
                                    "AdmissionCheck"sv,
                                    "LimitRange"sv,
                                    "RuntimeClass"sv,
                                    "ProvisioningRequestConfig"sv,
                                    "ProvisioningRequest"sv};
};

namespace berth::dialect {

// One kind: its name in manifests, the group that serves it, and its resource there.
struct KindInfo {
  Kind kind;
  std::string_view word;  // "Queue" of three groups
  std::string_view group;
  std::string_view resource;
  bool namespaced = false;
  // Nothing can be decided without it; others may not be served (a CRD, an API that is turned off).
  bool vital = false;
  bool of_workloads = false;             // only of use where Workloads are kept
  std::string_view field_selector = {};  // the others are not needed
};
// All kinds, in the order in which they are read from an API server. A new kind is a row here, and one in objects/decode.cc.
std::span<const KindInfo> kinds();
const KindInfo& info_of(Kind kind);

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
