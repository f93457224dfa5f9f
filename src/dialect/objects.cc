#include "dialect/objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/names.h"

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

std::string_view Meta::mark(std::string_view key) const {
  if (const auto it = labels.find(key); it != labels.end() && !it->second.empty()) return it->second;
  if (const auto it = annotations.find(key); it != annotations.end()) return it->second;
  return {};
}

std::string_view Meta::annotation(std::string_view key) const {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

std::int64_t Job::settled() const {
  const std::int64_t reached = completed.count();  // of an Indexed Job, whatever the number beside it says
  return (reached > 0 ? reached : succeeded) + failed_indexes.count();
}

std::string_view Job::why_over() const {
  if (finished) return failed ? "it has failed" : "it is complete";
  if (is_closing) return "its pods are being ended (condition SuccessCriteriaMet or FailureTarget)";
  if (meta.deleting) return "it is being deleted";
  if (failed_pods > most_failed) return "more of its pods have failed than its backoffLimit";
  if (failed_indexes.count() > most_failed_indexes)
    return "more of its indexes have failed than its maxFailedIndexes";
  if (completions && settled() >= *completions) return "all of its completions are done";
  return {};
}

// Without completions the first pod that ends well is the last that is made: the others are waited for.
bool Job::makes_pods() const {
  return why_over().empty() && (completions || succeeded == 0);
}

bool Job::is_managed_elsewhere() const {
  return !managed_by.empty() && managed_by != kJobController;
}

bool Job::has_owner() const {
  return !meta.controller.kind.empty() && meta.controller.kind != "CronJob";
}

std::int64_t Job::size() const {
  if (!makes_pods()) return 0;
  if (!completions) return parallelism;
  return std::min(parallelism, *completions - settled());
}

std::int64_t Job::pods() const {
  return std::min(parallelism, completions.value_or(parallelism));
}

std::int64_t Job::reclaimable() const {
  const std::int64_t left = std::max<std::int64_t>(0, completions.value_or(parallelism) - settled());
  return std::max<std::int64_t>(0, pods() - left);
}

std::int64_t Job::asked() const {
  if (!reduced) return pods();
  return reduced->completions_too ? reduced->full
                                  : std::min(reduced->full, completions.value_or(reduced->full));
}

const ProvisioningRequest::Condition* ProvisioningRequest::find(std::string_view type) const {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& condition) { return condition.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

bool ProvisioningRequest::is(std::string_view type) const {
  const Condition* condition = find(type);
  return condition != nullptr && condition->is_true;
}

bool LabelSelector::matches(const Labels& labels) const {
  if (nothing) return false;
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Requirement& r) { return r.matches(labels); });
}

bool Repulsion::concerns(std::string_view ns, const Labels& labels) const {
  const bool here = all_namespaces || std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
  return here && selector.matches(labels);
}

Kind kind_of(const Object& object) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kKind; }, object);
}

const Meta& meta_of(const Object& object) {
  return std::visit([](const auto& o) -> const Meta& { return o.meta; }, object);
}

bool TreeQueue::limits_users() const {
  return std::any_of(amounts.begin(), amounts.end(), [](const Amount& a) { return a.per_user.has_value(); });
}

std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", enum_name(kind), ns, name);
}

std::string describe(Kind kind, std::string_view ns, std::string_view name) {
  return ns.empty() ? fmt::format("{} {}", enum_name(kind), name)
                    : fmt::format("{} {}/{}", enum_name(kind), ns, name);
}

}  // namespace berth::dialect
