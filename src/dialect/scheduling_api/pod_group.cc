#include "dialect/scheduling_api/pod_group.h"

#include "dialect/base/message.h"
#include "dialect/base/names.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

std::string_view type_of_start(std::string_view version) {
  return version == "v1alpha2" ? "PodGroupScheduled" : "PodGroupInitiallyScheduled";
}

bool is_wrong(ReasonCode code) {
  return code == ReasonCode::kInvalid || code == ReasonCode::kUnsupported;
}

UpstreamConditions conditions_of(const GangObject& object, const GangReport& report, TimeMs now) {
  UpstreamConditions out;
  if (report.whole() || report.over() || object.stage == "True") {
    out.started = "True";
    out.reason = "Scheduled";
    out.message = "its pods have nodes, as many as it needs";
  } else if (report.code != ReasonCode::kNone) {
    out.started = "False";
    out.reason = is_wrong(report.code) ? "SchedulerError" : "Unschedulable";
    out.message = bounded(report.why);
  } else if (object.stage == "False") {
    out.started = "False";
    out.reason = "Unschedulable";
    out.message = "its pods are being started";
  }
  out.started_since = object.since != 0 && object.stage == out.started ? object.since : now;
  if (!report.whole() && !report.over())
    out.displaced = report.displaced.empty() ? object.displaced : bounded(report.displaced);
  out.displaced_since = object.displaced_since != 0 ? object.displaced_since : now;
  return out;
}

std::string status_of(const GangObject& object, const GangReport& report, TimeMs now) {
  return conditions_of(object, report, now).json(report.version, now != 0);
}

}  // namespace

std::string UpstreamConditions::json(std::string_view version, bool with_times) const {
  text::JsonWriter json;
  json.begin_object().key("conditions").begin_array();
  const auto add = [&](std::string_view type, std::string_view status, std::string_view why,
                       std::string_view text, TimeMs since) {
    json.begin_object().field("type", type).field("status", status).field("reason", why);
    json.field("message", text);
    if (with_times) json.field("lastTransitionTime", text::format_time_seconds(since));
    json.end_object();
  };
  if (!started.empty()) add(type_of_start(version), started, reason, message, started_since);
  if (!displaced.empty()) add("DisruptionTarget", "True", kPreemptedByScheduler, displaced, displaced_since);
  json.end_array().end_object();
  return json.take();
}

const GangSystem UpstreamPodGroup::kGang{.kind = Kind::kUpstreamPodGroup,
                                         .name = "Kubernetes",
                                         .names = {kSchedulingGroup, {}},
                                         .labels_count = false,
                                         .version = "v1beta1",
                                         .status_resource = "status",
                                         .status = status_of};

}  // namespace berth::dialect
