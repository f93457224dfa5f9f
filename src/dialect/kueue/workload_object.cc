#include "dialect/kueue/workload_object.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/sha1.h"
#include "dialect/base/names.h"
#include "kube/paths.h"
#include "kube/writes.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostName = 253;
constexpr std::size_t kDigits = 5;
constexpr std::string_view kGroupPrefix = "Gang/kueue/";  // gangs.cc: of a workload that is a pod group

kube::ResourcePath path_of(std::string_view version) {
  return {kKueueGroup, version, "workloads"};
}

void write_owners(text::JsonWriter& json, const WorkloadSketch& sketch,
                  const std::vector<Owner>& others = {}) {
  json.key("ownerReferences").begin_array();
  for (const auto& owner : sketch.owners) {
    json.begin_object().field("apiVersion", sketch.owner != nullptr ? sketch.owner->api_version() : "v1");
    json.field("kind", sketch.owner != nullptr ? sketch.owner->word() : "Pod");
    json.field("name", owner.name).field("uid", owner.uid);
    if (!sketch.is_group) json.field("controller", true);
    json.end_object();
  }
  for (const auto& owner : others) {
    json.begin_object().field("apiVersion", "v1").field("kind", owner.kind);
    json.field("name", owner.name).field("uid", owner.uid).end_object();
  }
  json.end_array();
}

bool has_owner(const WorkloadSketch& sketch, std::string_view uid) {
  return std::any_of(sketch.owners.begin(), sketch.owners.end(),
                     [&](const auto& owner) { return owner.uid == uid; });
}

// One container that asks for what the whole pod asks for: what the pod is made of is its owner's affair. A share of a device is no
// amount that a container may ask for: it is written as pods write it.
void write_template(text::JsonWriter& json, const PodTemplate& pod) {
  const auto& devices = pod.claim.requests;
  const auto share = std::find_if(devices.begin(), devices.end(),
                                  [](const DeviceRequest& r) { return r.milli != kWholeDevice; });
  json.begin_object();
  if (share != devices.end()) {
    json.key("metadata").begin_object().key("annotations").begin_object();
    json.field(kGpuMilli, fmt::format("{}", share->milli)).field(kGpuResource, share->resource);
    json.end_object().end_object();
  }
  json.key("spec").begin_object();
  if (!pod.node_selector.empty()) {
    json.key("nodeSelector").begin_object();
    for (const auto& [key, value] : pod.node_selector) json.field(key, value);
    json.end_object();
  }
  json.field("restartPolicy", "Never").key("containers").begin_array().begin_object().field("name", "pod");
  json.key("resources").begin_object().key("requests").begin_object();
  if (const auto total = pod.total()) {
    for (const auto& [resource, amount] : *total) {
      if (share == devices.end() || resource != share->resource)
        json.field(resource, format_amount(resource, amount));
    }
  }
  json.end_object().end_object().end_object().end_array().end_object().end_object();
}

// `patch`: what is not said any more is taken away.
void write_spec(text::JsonWriter& json, std::string_view version, const WorkloadSketch& sketch, bool patch) {
  json.field("queueName", sketch.local_queue).field("priority", sketch.priority);
  if (!sketch.priority_class.empty() && version == "v1beta1") {
    json.field("priorityClassName", sketch.priority_class);
    json.field("priorityClassSource", sketch.workload_class ? "kueue.x-k8s.io/workloadpriorityclass"
                                                            : "scheduling.k8s.io/priorityclass");
  } else if (!sketch.priority_class.empty()) {
    json.key("priorityClassRef").begin_object();
    json.field("group", sketch.workload_class ? kKueueGroup : "scheduling.k8s.io");
    json.field("kind", sketch.workload_class ? "WorkloadPriorityClass" : "PriorityClass");
    json.field("name", sketch.priority_class).end_object();
  }
  if (sketch.priority_class.empty() && patch)
    json.key(version == "v1beta1" ? "priorityClassName" : "priorityClassRef").null();
  if (sketch.most_seconds) json.field("maximumExecutionTimeSeconds", *sketch.most_seconds);
  if (!sketch.most_seconds && patch) json.key("maximumExecutionTimeSeconds").null();
  json.key("podSets").begin_array();
  for (const auto& set : sketch.sets) {
    json.begin_object().field("name", set.name).field("count", set.count);
    if (set.least < set.count) json.field("minCount", set.least);
    json.key("template");
    write_template(json, *set.pod);
    json.end_object();
  }
  json.end_array();
}

void write_marks(text::JsonWriter& json, std::string_view version, const WorkloadSketch& sketch) {
  json.key("annotations").begin_object().field(kWorkloadOf, sketch.uid);
  json.field(kWorkloadSpec, digest_of(sketch, version));
  if (sketch.is_elastic) {
    json.field(kKueueElastic, "true").field(kKueueSliceName, slice_name(sketch));
    if (!sketch.slice.empty()) json.field(kWorkloadSlice, sketch.slice);
    if (!sketch.replaces.empty()) json.field(kKueueSliceFor, sketch.replaces);
  }
  json.end_object();
  if (sketch.owner != nullptr) {
    json.key("labels").begin_object().field("kueue.x-k8s.io/job-uid", sketch.uid).end_object();
  }
  write_owners(json, sketch);
}

}  // namespace

std::string workload_name(std::string_view kind, std::string_view group, std::string_view name,
                          std::string_view uid, std::string_view extra) {
  std::string out(kind);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  out = fmt::format("{}-{}", out, name).substr(0, kMostName - 1 - kDigits);
  std::string whose = fmt::format("{}\n{}\n{}\n{}", kind, group, name, uid);
  if (!extra.empty()) whose += fmt::format("\n{}", extra);
  return fmt::format("{}-{}", out, sha1(whose).substr(0, kDigits));
}

std::string slice_name(const WorkloadSketch& sketch, std::string_view slice) {
  const auto& owner = sketch.owners.front();
  return workload_name(sketch.owner->word(), sketch.owner->info().group, owner.name, owner.uid, slice);
}

std::string digest_of(const WorkloadSketch& sketch, std::string_view version) {
  text::JsonWriter json;
  json.begin_object();
  write_spec(json, version, sketch, false);
  write_owners(json, sketch);
  json.end_object();
  return sha1(json.str()).substr(0, 16);
}

kube::Write create_workload(std::string_view version, const WorkloadSketch& sketch) {
  text::JsonWriter json;
  json.begin_object()
      .field("apiVersion", fmt::format("{}/{}", kKueueGroup, version))
      .field("kind", "Workload");
  json.key("metadata").begin_object().field("name", sketch.name).field("namespace", sketch.ns);
  write_marks(json, version, sketch);
  json.end_object().key("spec").begin_object().field("active", true);
  write_spec(json, version, sketch, false);
  json.end_object().end_object();
  return kube::status_write(kube::create_object(path_of(version).collection(sketch.ns), json.take()));
}

kube::Write update_workload(std::string_view version, std::string_view name, std::string_view object_uid,
                            const WorkloadSketch& sketch) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", object_uid);
  write_marks(json, version, sketch);
  json.end_object().key("spec").begin_object();
  write_spec(json, version, sketch, true);
  json.end_object().end_object();
  return kube::status_write(
      kube::patch_object(path_of(version).object(sketch.ns, name), json.take(), kube::BodyType::kMergePatch));
}

bool lacks_owners(const WorkloadSketch& sketch, const std::vector<Owner>& known) {
  return std::any_of(sketch.owners.begin(), sketch.owners.end(), [&](const auto& owner) {
    return std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.uid == owner.uid; });
  });
}

kube::Write own_workload(std::string_view version, std::string_view name, std::string_view object_uid,
                         const WorkloadSketch& sketch, const std::vector<Owner>& known) {
  std::vector<Owner> others;
  for (const Owner& owner : known) {
    if (owner.kind == "Pod" && !has_owner(sketch, owner.uid)) others.push_back(owner);
  }
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", object_uid);
  if (sketch.owner != nullptr) {
    json.key("labels").begin_object().field("kueue.x-k8s.io/job-uid", sketch.uid).end_object();
  }
  write_owners(json, sketch, others);
  json.end_object().end_object();
  return kube::status_write(
      kube::patch_object(path_of(version).object(sketch.ns, name), json.take(), kube::BodyType::kMergePatch));
}

kube::Write deactivate_workload(std::string_view version, std::string_view ns, std::string_view name,
                                std::string_view object_uid) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", object_uid).end_object();
  json.key("spec").begin_object().field("active", false).end_object().end_object();
  return kube::status_write(
      kube::patch_object(path_of(version).object(ns, name), json.take(), kube::BodyType::kMergePatch));
}

kube::Write write_workload_status(std::string_view version, std::string_view ns, std::string_view name,
                                  std::string_view object_uid, const WorkloadStatus& status,
                                  std::string_view resource_version) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", object_uid);
  if (!resource_version.empty()) json.field("resourceVersion", resource_version);
  json.end_object().key("status").raw(to_json(status, true, !resource_version.empty(), version)).end_object();
  return kube::status_write(kube::patch_object(path_of(version).object(ns, name, "status"), json.take(),
                                               kube::BodyType::kMergePatch));
}

std::int64_t boost_of(const KueueWorkload& object) {
  const std::string_view text = object.meta.annotation(kKueuePriorityBoost);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

std::int64_t boosted(std::int64_t priority, std::int64_t boost) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(priority, boost, &out)) return priority;
  return out;
}

std::string_view workload_of(const KueueWorkload& object) {
  const auto it = object.meta.annotations.find(kWorkloadOf);
  if (it == object.meta.annotations.end()) return {};
  const std::string_view uid = it->second;
  if (uid == fmt::format("{}{}/{}", kGroupPrefix, object.meta.ns, object.meta.name)) return uid;
  for (const Owner& owner : object.owners) {
    if (owner.uid != uid) continue;
    const auto row = std::find_if(kinds().begin(), kinds().end(),
                                  [&](const KindInfo& info) { return info.word == owner.kind; });
    const std::string_view group = row == kinds().end() ? std::string_view() : row->group;
    const std::string_view slice = object.meta.annotation(kWorkloadSlice);
    if (object.meta.name == workload_name(owner.kind, group, owner.name, uid, slice)) return uid;
  }
  return {};
}

Result<PodEndings> read_endings(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS || !root.is_object())
    return fail(ErrorCode::kInvalid, "a pod, or a list of pods, is expected");
  PodEndings out;
  const auto look = [&](const simdjson::dom::element& pod) {
    std::string_view phase;
    if (pod.at_pointer("/status/phase").get(phase) != simdjson::SUCCESS) phase = "Pending";
    ++(phase == "Succeeded" ? out.succeeded : phase == "Failed" ? out.failed : out.others);
  };
  simdjson::dom::array items;
  if (root["items"].get(items) != simdjson::SUCCESS) {
    look(root);
    return out;
  }
  for (const simdjson::dom::element item : items) look(item);
  return out;
}

}  // namespace berth::dialect
