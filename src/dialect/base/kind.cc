#include "dialect/base/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dialect/base/names.h"

namespace berth::dialect {

namespace {

constexpr std::array kKinds{
    KindInfo{.kind = Kind::kNode, .word = "Node", .group = "", .resource = "nodes", .vital = true},
    KindInfo{.kind = Kind::kPod,
             .word = "Pod",
             .group = "",
             .resource = "pods",
             .namespaced = true,
             .vital = true,
             .field_selector = "status.phase!=Succeeded,status.phase!=Failed"},
    KindInfo{.kind = Kind::kNamespace, .word = "Namespace", .group = "", .resource = "namespaces"},
    KindInfo{.kind = Kind::kPriorityClass,
             .word = "PriorityClass",
             .group = "scheduling.k8s.io",
             .resource = "priorityclasses"},
    KindInfo{.kind = Kind::kJob, .word = "Job", .group = "batch", .resource = "jobs", .namespaced = true},
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
    KindInfo{.kind = Kind::kVolcanoQueue, .word = "Queue", .group = kVolcanoGroup, .resource = "queues"},
    KindInfo{.kind = Kind::kKaiQueue, .word = "Queue", .group = kKaiGroup, .resource = "queues"},
};
static_assert(kKinds.size() == EnumNames<Kind>::names.size(), "each kind has one row");

}  // namespace

std::span<const KindInfo> kinds() {
  return kKinds;
}

const KindInfo& info_of(Kind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const KindInfo& info) { return info.kind == kind; });
}

std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindInfo& info) {
    return info.word == kind && info.group == group;
  });
  return row == kKinds.end() ? std::nullopt : std::optional(row->kind);
}

bool is_namespaced(Kind kind) {
  return info_of(kind).namespaced;
}

std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", enum_name(kind), ns, name);
}

std::string describe(Kind kind, std::string_view ns, std::string_view name) {
  return ns.empty() ? fmt::format("{} {}", enum_name(kind), name)
                    : fmt::format("{} {}/{}", enum_name(kind), ns, name);
}

}  // namespace berth::dialect
