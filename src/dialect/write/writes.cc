#include "dialect/write/writes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "kube/paths.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

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

std::string text_of(const Reason& reason) {
  return reason.code == ReasonCode::kInactive && !reason.detail.empty() ? reason.detail : to_text(reason);
}

std::string brief_of(const Reason& reason) {
  return reason.code == ReasonCode::kInactive && !reason.detail.empty() ? reason.detail : brief(reason);
}

kube::PodCondition unschedulable(const Reason& reason, std::int64_t now_ms) {
  return {"PodScheduled", "False", "Unschedulable", bounded(text_of(reason)), now_ms};
}

std::string eviction_text(const Reason& reason, std::string_view beneficiary) {
  return beneficiary.empty() ? text_of(reason) : fmt::format("{} (for {})", text_of(reason), beneficiary);
}

kube::PodCondition disruption_target(const Reason& reason, std::string_view beneficiary,
                                     std::int64_t now_ms) {
  return {"DisruptionTarget", "True", std::string(kPreemptedByScheduler),
          bounded(eviction_text(reason, beneficiary)), now_ms};
}

Reason readable(Reason reason, const IntakeView& intake) {
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
                 std::span<const std::int64_t> devices, const Labels& annotations) {
  std::vector<std::pair<std::string, std::string>> written(annotations.begin(), annotations.end());
  if (!devices.empty()) written.emplace_back(std::string(kDevices), devices_text(devices));
  return kube::bind_pod(ns, name, uid, node, written);
}

kube::Write select_node(const ClaimStep& claim, std::string_view node) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  if (!claim.uid.empty()) json.field("uid", claim.uid);
  if (!claim.version.empty()) json.field("resourceVersion", claim.version);
  json.key("annotations").begin_object().field(kSelectedNode, node).end_object().end_object().end_object();
  kube::Write write = kube::patch_object(kube::kClaims.object(claim.ns, claim.name), json.take(),
                                         kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;  // its pods wait for it
  return write;
}

kube::Write bind_volume(const ClaimStep& claim) {
  // It says that the scheduler has chosen the volume, and not a user: Kubernetes may take the claim off again.
  constexpr std::string_view kChosen = "pv.kubernetes.io/bound-by-controller";
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  if (!claim.volume_uid.empty()) json.field("uid", claim.volume_uid);
  if (!claim.version.empty()) json.field("resourceVersion", claim.version);
  json.key("annotations").begin_object().field(kChosen, "yes").end_object().end_object();
  json.key("spec").begin_object().key("claimRef").begin_object();
  json.field("apiVersion", "v1").field("kind", "PersistentVolumeClaim");
  json.field("namespace", claim.ns).field("name", claim.name).field("uid", claim.uid);
  json.end_object().end_object().end_object();
  kube::Write write = kube::patch_object(kube::kPersistentVolumes.object("", claim.volume), json.take(),
                                         kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;  // its pods wait for it
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
  return event(pod, "Warning", "FailedScheduling", "Scheduling", text_of(reason), instance, time_us);
}

kube::EventNote owner_event(const Ask& owner, std::string_view reason, std::string note,
                            std::string_view instance, std::int64_t time_us) {
  kube::EventNote e;
  e.type = reason == "Released" ? "Normal" : "Warning";
  e.reason = reason;
  e.action = "Scheduling";
  e.note = bounded(std::move(note));
  e.regarding = {owner.kind->api_version(), std::string(owner.kind->word()), owner.meta->ns, owner.meta->name,
                 owner.meta->uid};
  e.controller = "berth";
  e.instance = instance.substr(0, 128);
  e.time_us = time_us;
  return e;
}

kube::EventNote unread_owner_event(const OwnerName& owner, std::string_view instance, std::int64_t time_us) {
  kube::EventNote e;
  e.type = "Warning";
  e.reason = "OwnerNotRead";
  e.action = "Scheduling";
  e.note = bounded(
      fmt::format("Berth does not read {} of {}: its pods are scheduled one by one. A queue or a "
                  "gang is named by labels of the pod template, and a file of --kinds declares a kind",
                  owner.word, owner.group));
  e.regarding = {"", owner.word, owner.ns, owner.name, owner.uid};
  e.controller = "berth";
  e.instance = instance.substr(0, 128);
  e.time_us = time_us;
  return e;
}

kube::EventNote audit_event(kube::ObjectRef regarding, std::string text, std::string_view instance,
                            std::int64_t time_us) {
  kube::EventNote e;
  e.type = "Warning";
  e.reason = "AuditDifference";
  e.action = "Auditing";
  e.note = bounded(std::move(text));
  e.regarding = std::move(regarding);
  e.controller = "berth";
  e.instance = instance.substr(0, 128);
  e.time_us = time_us;
  return e;
}

kube::EventNote preempted_event(const PodView& victim, const Reason& reason, std::string_view beneficiary,
                                std::string_view instance, std::int64_t time_us) {
  return event(victim, "Normal", "Preempted", "Preempting", eviction_text(reason, beneficiary), instance,
               time_us);
}

}  // namespace berth::dialect
