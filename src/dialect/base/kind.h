// The kinds of objects that Berth reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
