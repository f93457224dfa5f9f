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

// Whether it is one of the parts of a text with commas.
bool is_listed(std::string_view list, std::string_view part) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == part) return true;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return false;
}

// A key as a part of a JSON pointer.
std::string pointer(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

// Each entry of the map at `path`; where there is no map, it is made.
void add_entries(text::JsonWriter& json, std::string_view path, bool there, const Labels& entries) {
  if (entries.empty()) return;
  if (!there) {
    json.begin_object().field("op", "add").field("path", path).key("value").begin_object();
    for (const auto& [key, value] : entries) json.field(key, value);
    json.end_object().end_object();
    return;
  }
  for (const auto& [key, value] : entries) {
    json.begin_object().field("op", "add").field("path", fmt::format("{}/{}", path, pointer(key)));
    json.field("value", value).end_object();
  }
}

void write_size(text::JsonWriter& json, const JobSize& size) {
  const auto set = [&](std::string_view path, std::int64_t value) {
    json.begin_object().field("op", "add").field("path", path).field("value", value).end_object();
  };
  set("/spec/parallelism", size.parallelism);
  if (size.completions) set("/spec/completions", *size.completions);
  if (size.mark.empty() && !size.is_marked) return;
  json.begin_object().field("op", size.mark.empty() ? "remove" : "add");
  json.field("path", fmt::format("/metadata/annotations/{}", pointer(kPartialAdmission)));
  if (!size.mark.empty()) json.field("value", size.mark);
  json.end_object();
}

void write_change(text::JsonWriter& json, const TemplateChange& change) {
  static const PodSetUpdate kNothing;
  const PodSetUpdate& update = change.update == nullptr ? kNothing : *change.update;
  const std::string_view before = amended_keys(*change.job);
  constexpr std::string_view kSelector = "/spec/template/spec/nodeSelector";
  Labels left = change.pod->node_selector;
  std::string_view rest = before;
  while (!rest.empty()) {
    const std::string key(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(key.size() + 1, rest.size()));
    if (update.node_selector.contains(key) || left.erase(key) == 0) continue;
    json.begin_object().field("op", "remove");
    json.field("path", fmt::format("{}/{}", kSelector, pointer(key))).end_object();
  }
  add_entries(json, "/spec/template/metadata/labels", !change.job->template_meta.labels.empty(),
              update.labels);
  add_entries(json, "/spec/template/metadata/annotations", change.job->template_annotated,
              update.annotations);
  add_entries(json, kSelector, !change.pod->node_selector.empty(), update.node_selector);
  bool there = !change.pod->tolerations.empty();
  for (const auto& toleration : update.tolerations) {
    const auto& has = change.pod->tolerations;
    if (std::find(has.begin(), has.end(), to_model(toleration)) != has.end()) continue;
    json.begin_object().field("op", "add");
    json.field("path", there ? "/spec/template/spec/tolerations/-" : "/spec/template/spec/tolerations");
    json.key("value");
    if (!there) json.begin_array();
    write_toleration(json, toleration);
    if (!there) json.end_array();
    json.end_object();
    there = true;
  }
  // A key that the Job has always had is its own.
  std::string keys;
  for (const auto& [key, value] : update.node_selector) {
    const bool own = change.pod->node_selector->contains(key) && !is_listed(before, key);
    if (!own) keys += fmt::format("{}{}", keys.empty() ? "" : ",", key);
  }
  if (keys == before) return;
  const std::string path = fmt::format("/metadata/annotations/{}", pointer(kPodSetUpdates));
  json.begin_object().field("op", keys.empty() ? "remove" : "add");
  if (!keys.empty() && !change.job->annotated) {
    json.field("path", "/metadata/annotations").key("value").begin_object().field(kPodSetUpdates, keys);
    json.end_object().end_object();
    return;
  }
  json.field("path", path);
  if (!keys.empty()) json.field("value", keys);
  json.end_object();
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

kube::PodCondition disruption_target(const Reason& reason, std::string_view beneficiary,
                                     std::int64_t now_ms) {
  std::string message =
      beneficiary.empty() ? text_of(reason) : fmt::format("{} (for {})", text_of(reason), beneficiary);
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
                 std::span<const std::int64_t> devices, const Labels& annotations) {
  std::vector<std::pair<std::string, std::string>> written(annotations.begin(), annotations.end());
  if (!devices.empty()) written.emplace_back(std::string(kDevices), devices_text(devices));
  return kube::bind_pod(ns, name, uid, node, written);
}

kube::Write release_job(std::string_view ns, std::string_view name, std::string_view uid,
                        std::int64_t generation, const std::optional<TemplateChange>& change,
                        const std::optional<JobSize>& size, std::optional<std::int64_t> elastic_gate) {
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
  if (size) write_size(json, *size);
  if (change) write_change(json, *change);
  if (elastic_gate) {
    const std::string gate = fmt::format("/spec/template/spec/schedulingGates/{}", *elastic_gate);
    test(gate + "/name", kKueueElastic);
    json.begin_object().field("op", "remove").field("path", gate).end_object();
  }
  json.end_array();
  kube::Write write =
      kube::patch_object(kube::kJobs.object(ns, name), json.take(), kube::BodyType::kJsonPatch);
  write.write_class = kube::WriteClass::kBind;
  return write;
}

kube::Write forget_start(std::string_view ns, std::string_view name, std::string_view uid) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", uid).end_object();
  json.key("status").begin_object().key("startTime").null().end_object().end_object();
  kube::Write write =
      kube::patch_object(kube::kJobs.object(ns, name, "status"), json.take(), kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;
  write.idempotent = true;
  return write;
}

kube::Write suspend_job(std::string_view ns, std::string_view name, std::string_view uid,
                        const std::optional<JobSize>& size) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", uid);
  if (size) json.key("annotations").begin_object().key(kPartialAdmission).null().end_object();
  json.end_object().key("spec").begin_object().field("suspend", true);
  if (size) json.field("parallelism", size->parallelism);
  if (size && size->completions) json.field("completions", *size->completions);
  json.end_object().end_object();
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
  return event(pod, "Warning", "FailedScheduling", "Scheduling", text_of(reason), instance, time_us);
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
  std::string note =
      beneficiary.empty() ? text_of(reason) : fmt::format("{} (for {})", text_of(reason), beneficiary);
  return event(victim, "Normal", "Preempted", "Preempting", std::move(note), instance, time_us);
}

}  // namespace berth::dialect
