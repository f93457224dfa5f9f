#include "dialect/volcano/pod_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dialect/base/message.h"
#include "dialect/base/names.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

// As Volcano's own scheduler says it.
constexpr std::string_view kReady = "tasks in gang are ready to be scheduled";

std::string_view phase_of(const GangReport& report) {
  if (report.over()) return "Completed";
  if (report.whole()) return "Running";
  if (report.bound > 0) return report.code == ReasonCode::kNone ? "Inqueue" : "Unknown";
  return report.pods > 0 || report.queued ? "Inqueue" : "Pending";
}

std::string status_of(const GangObject& object, const GangReport& report, TimeMs now) {
  VolcanoStatus out;
  out.phase = phase_of(report);
  out.running = report.running;
  out.succeeded = report.succeeded;
  out.failed = report.failed;
  if (!object.notes.empty()) out.message = fmt::format("not carried out: {}", fmt::join(object.notes, ", "));
  if (report.whole() || report.over()) {
    out.type = "Scheduled";
    out.reason = kReady;
  } else if (report.code != ReasonCode::kNone) {
    out.type = "Unschedulable";
    out.reason = report.code == ReasonCode::kIncompleteGang ? "NotEnoughTasks" : "NotEnoughResources";
    out.message = report.why + (out.message.empty() ? "" : "; " + out.message);
  }
  if (out.type.empty()) out.message.clear();
  out.message = bounded(std::move(out.message));
  const bool lasts = object.since != 0 && object.stage == out.type;
  return out.json(now == 0 ? 0 : (lasts ? object.since : now));
}

}  // namespace

std::string VolcanoStatus::json(TimeMs since) const {
  text::JsonWriter json;
  json.begin_object().field("phase", phase).field("running", running);
  json.field("succeeded", succeeded).field("failed", failed);
  json.key("conditions").begin_array();
  if (!type.empty()) {
    json.begin_object().field("type", type).field("status", "True").field("reason", reason);
    json.field("message", message);
    if (since != 0) json.field("lastTransitionTime", text::format_time_seconds(since));
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

const GangSystem VolcanoPodGroup::kGang{.kind = Kind::kVolcanoPodGroup,
                                        .name = "Volcano",
                                        .names = {kVolcanoGroupName, {}},
                                        .labels_count = false,
                                        .part = kVolcanoTask,
                                        .kept_mark = kVolcanoPreemptable,
                                        .queue_mark = kVolcanoQueueName,
                                        .default_queue = kVolcanoDefaultQueue,
                                        .version = "v1beta1",
                                        .status = status_of};

}  // namespace berth::dialect
