#include "dialect/kueue/workload_status.h"

#include <algorithm>
#include <utility>

#include "text/json.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

void write_admission(text::JsonWriter& json, const WorkloadStatus& status) {
  json.begin_object().field("clusterQueue", status.cluster_queue).key("podSetAssignments").begin_array();
  for (const auto& assignment : status.assignments) {
    json.begin_object().field("name", assignment.name).field("count", assignment.count);
    json.key("flavors").begin_object();
    for (const auto& flavor : assignment.flavors) json.field(flavor.resource, flavor.flavor);
    json.end_object().key("resourceUsage").begin_object();
    for (const auto& [resource, amount] : assignment.usage)
      json.field(resource, format_amount(resource, amount));
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

}  // namespace

const WorkloadStatus::Condition* WorkloadStatus::find(WorkloadCondition type) const {
  const auto it =
      std::find_if(conditions.begin(), conditions.end(), [&](const auto& c) { return c.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

bool WorkloadStatus::is(WorkloadCondition type) const {
  const Condition* condition = find(type);
  return condition != nullptr && condition->is_true;
}

bool WorkloadStatus::set(WorkloadCondition type, bool is_true, std::string_view reason, std::string message,
                         TimeMs now) {
  auto it = std::lower_bound(conditions.begin(), conditions.end(), type,
                             [](const Condition& c, WorkloadCondition t) { return c.type < t; });
  if (it == conditions.end() || it->type != type) {
    conditions.insert(it, Condition{type, is_true, std::string(reason), std::move(message), now});
    return true;
  }
  if (it->is_true == is_true && it->reason == reason && it->message == message) return false;
  if (it->is_true != is_true) it->since = now;
  it->is_true = is_true;
  it->reason = reason;
  it->message = std::move(message);
  return true;
}

std::string to_json(const WorkloadStatus& status, bool with_times, bool with_checks,
                    std::string_view version) {
  text::JsonWriter json;
  json.begin_object().key("conditions").begin_array();
  for (const auto& c : status.conditions) {
    json.begin_object().field("type", enum_name(c.type)).field("status", c.is_true ? "True" : "False");
    json.field("reason", c.reason).field("message", c.message);
    if (with_times) json.field("lastTransitionTime", text::format_time_seconds(c.since));
    json.end_object();
  }
  json.end_array().key("admission");
  if (status.cluster_queue.empty()) {
    json.null();
  } else {
    write_admission(json, status);
  }
  json.key("requeueState");
  if (status.requeues == 0 && status.requeue_at == 0) {
    json.null();
  } else {
    json.begin_object().field("count", status.requeues).key("requeueAt");
    if (status.requeue_at == 0) {
      json.null();
    } else {
      json.value(text::format_time_seconds(status.requeue_at));
    }
    json.end_object();
  }
  json.key(version == "v1beta1" ? kPastSecondsOfV1Beta1 : "accumulatedPastExecutionTimeSeconds");
  if (status.past_seconds == 0) {
    json.null();
  } else {
    json.value(status.past_seconds);
  }
  json.key("reclaimablePods");
  if (status.reclaimable.empty()) {
    json.null();
  } else {
    json.begin_array();
    for (const auto& set : status.reclaimable)
      json.begin_object().field("name", set.name).field("count", set.count).end_object();
    json.end_array();
  }
  if (with_checks) {
    json.key("admissionChecks");
    write_checks(json, status.checks, with_times);
  }
  json.end_object();
  return json.take();
}

std::string checks_text(const WorkloadStatus& status) {
  text::JsonWriter json;
  write_checks(json, status.checks, false);
  return json.take();
}

}  // namespace berth::dialect
