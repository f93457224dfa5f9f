#include "dialect/base/kind.h"

#include <fmt/format.h>

#include "dialect/base/names.h"

namespace berth::dialect {

std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  if (kind == "Queue") {
    if (group == kVolcanoGroup) return Kind::kVolcanoQueue;
    if (group == kKaiGroup) return Kind::kKaiQueue;
    return group == kBerthGroup ? std::optional(Kind::kQueue) : std::nullopt;
  }
  const auto known = enum_parse<Kind>(kind);
  if (!known) return std::nullopt;
  std::string_view wanted;
  switch (*known) {
    case Kind::kPod:
    case Kind::kNode:
    case Kind::kNamespace:
    case Kind::kLimitRange:
      break;
    case Kind::kRuntimeClass:
      wanted = "node.k8s.io";
      break;
    case Kind::kPriorityClass:
      wanted = "scheduling.k8s.io";
      break;
    case Kind::kJob:
      wanted = "batch";
      break;
    case Kind::kPodGroup:
      wanted = kCoschedulingGroup;
      break;
    case Kind::kClusterQueue:
    case Kind::kCohort:
    case Kind::kLocalQueue:
    case Kind::kResourceFlavor:
    case Kind::kTopology:
    case Kind::kWorkloadPriorityClass:
    case Kind::kWorkload:
    case Kind::kAdmissionCheck:
    case Kind::kProvisioningRequestConfig:
      wanted = kKueueGroup;
      break;
    case Kind::kProvisioningRequest:
      wanted = kAutoscalingGroup;
      break;
    case Kind::kQueue:  // above; their names here are Berth's
    case Kind::kVolcanoQueue:
    case Kind::kKaiQueue:
      return std::nullopt;
  }
  if (group != wanted) return std::nullopt;
  return known;
}

bool is_namespaced(Kind kind) {
  switch (kind) {
    case Kind::kPod:
    case Kind::kJob:
    case Kind::kPodGroup:
    case Kind::kLocalQueue:
    case Kind::kWorkload:
    case Kind::kLimitRange:
    case Kind::kProvisioningRequest:
      return true;
    default:
      return false;
  }
}

std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", enum_name(kind), ns, name);
}

std::string describe(Kind kind, std::string_view ns, std::string_view name) {
  return ns.empty() ? fmt::format("{} {}", enum_name(kind), name)
                    : fmt::format("{} {}/{}", enum_name(kind), ns, name);
}

}  // namespace berth::dialect
