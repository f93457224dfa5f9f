#include "dialect/writes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dialect/names.h"

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

kube::EventNote preempted_event(const PodView& victim, const Reason& reason, std::string_view beneficiary,
                                std::string_view instance, std::int64_t time_us) {
  std::string note =
      beneficiary.empty() ? to_text(reason) : fmt::format("{} (for {})", to_text(reason), beneficiary);
  return event(victim, "Normal", "Preempted", "Preempting", std::move(note), instance, time_us);
}

}  // namespace berth::dialect
