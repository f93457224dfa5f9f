#include "dialect/writes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dialect/names.h"
#include "kube/paths.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostMessage = 1024;

// Cut at a character's boundary.
std::string bounded(std::string text) {
  if (text.size() <= kMostMessage) return text;
  std::size_t end = kMostMessage - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

kube::EventNote event(const PodView& pod, std::string_view type, std::string_view reason,
                      std::string_view action, std::string note, std::string_view instance,
                      std::int64_t time_us) {
  kube::EventNote e;
  e.type = type;
  e.reason = reason;
  e.action = action;
  e.note = bounded(std::move(note));
  e.regarding = reference_to(pod);
  e.controller = pod.scheduler.empty() ? std::string_view("default-scheduler") : pod.scheduler;
  e.instance = instance.substr(0, 128);
  e.time_us = time_us;
  return e;
}

}  // namespace

kube::PodCondition unschedulable(const Reason& reason, std::int64_t now_ms) {
  return {"PodScheduled", "False", "Unschedulable", bounded(to_text(reason)), now_ms};
}

kube::PodCondition disruption_target(const Reason& reason, std::string_view beneficiary,
                                     std::int64_t now_ms) {
  std::string message =
      beneficiary.empty() ? to_text(reason) : fmt::format("{} (for {})", to_text(reason), beneficiary);
  return {"DisruptionTarget", "True", std::string(kPreemptedByScheduler), bounded(std::move(message)),
          now_ms};
}

Reason readable(Reason reason, const Intake& intake) {
  switch (reason.code) {
    case ReasonCode::kPreempted:
    case ReasonCode::kReclaimed:
    case ReasonCode::kReclaimedWhileBorrowing:
    case ReasonCode::kReclaimedFairly:
    case ReasonCode::kHoldOvertaken:
      if (const auto info = intake.workload(reason.subject)) reason.subject = info->name;
      break;
    default:
      break;
  }
  for (auto& child : reason.children) child = readable(std::move(child), intake);
  return reason;
}

std::string devices_text(std::span<const std::int64_t> devices) {
  return fmt::format("{}", fmt::join(devices, ","));
}

kube::Write bind(std::string_view ns, std::string_view name, std::string_view uid, std::string_view node,
                 std::span<const std::int64_t> devices) {
  if (devices.empty()) return kube::bind_pod(ns, name, uid, node);
  return kube::bind_pod(ns, name, uid, node, {{std::string(kDevices), devices_text(devices)}});
}

kube::Write release_job(std::string_view ns, std::string_view name, std::string_view uid,
                        std::int64_t generation) {
  text::JsonWriter json;
  const auto test = [&](std::string_view path, const auto& value) {
    json.begin_object().field("op", "test").field("path", path).field("value", value).end_object();
  };
  json.begin_array();
  test("/metadata/uid", uid);
  if (generation != 0) test("/metadata/generation", generation);
  test("/spec/suspend", true);
  json.begin_object()
      .field("op", "replace")
      .field("path", "/spec/suspend")
      .field("value", false)
      .end_object();
  json.end_array();
  kube::Write write =
      kube::patch_object(kube::kJobs.object(ns, name), json.take(), kube::BodyType::kJsonPatch);
  write.write_class = kube::WriteClass::kBind;
  return write;
}

kube::Write suspend_job(std::string_view ns, std::string_view name, std::string_view uid) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", uid).end_object();
  json.key("spec").begin_object().field("suspend", true).end_object().end_object();
  kube::Write write =
      kube::patch_object(kube::kJobs.object(ns, name), json.take(), kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;  // room is waiting for it
  write.idempotent = true;
  return write;
}

kube::ObjectRef reference_to(const PodView& pod) {
  kube::ObjectRef ref;
  ref.ns = pod.ns;
  ref.name = pod.name;
  ref.uid = pod.uid;
  return ref;
}

kube::EventNote scheduled_event(const PodView& pod, std::string_view node, std::string_view instance,
                                std::int64_t time_us) {
  return event(pod, "Normal", "Scheduled", "Binding",
               fmt::format("Successfully assigned {}/{} to {}", pod.ns, pod.name, node), instance, time_us);
}

kube::EventNote failed_event(const PodView& pod, const Reason& reason, std::string_view instance,
                             std::int64_t time_us) {
  return event(pod, "Warning", "FailedScheduling", "Scheduling", to_text(reason), instance, time_us);
}

kube::EventNote job_event(const WorkloadInfo& job, std::string_view reason, std::string note,
                          std::string_view instance, std::int64_t time_us) {
  kube::EventNote e;
  e.type = reason == "Released" ? "Normal" : "Warning";
  e.reason = reason;
  e.action = "Scheduling";
  e.note = bounded(std::move(note));
  e.regarding = {"batch/v1", "Job", std::string(job.job_ns), std::string(job.job_name), std::string(job.uid)};
  e.controller = "berth";
  e.instance = instance.substr(0, 128);
  e.time_us = time_us;
  return e;
}

kube::EventNote preempted_event(const PodView& victim, const Reason& reason, std::string_view beneficiary,
                                std::string_view instance, std::int64_t time_us) {
  std::string note =
      beneficiary.empty() ? to_text(reason) : fmt::format("{} (for {})", to_text(reason), beneficiary);
  return event(victim, "Normal", "Preempted", "Preempting", std::move(note), instance, time_us);
}

}  // namespace berth::dialect
