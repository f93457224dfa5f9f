#include "dialect/kueue/provisioning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha1.h"
#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "kube/paths.h"
#include "kube/writes.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostName =
    247;  // so that a dash and the digits make 253, the most that a name may have
constexpr std::size_t kDigits = 5;
// These pods are never run; the API server requires an image all the same.
constexpr std::string_view kImage = "registry.k8s.io/pause:3.10";

std::string bounded_name(std::string name) {
  if (name.size() <= kMostName) return name;
  return fmt::format("{}-{}", name.substr(0, kMostName), sha1(name).substr(0, kDigits));
}

kube::ResourcePath requests(std::string_view version) {
  return {kAutoscalingGroup, version, "provisioningrequests"};
}

void write_owner(text::JsonWriter& json, std::string_view api_version, std::string_view kind,
                 std::string_view name, std::string_view uid) {
  json.key("ownerReferences").begin_array().begin_object().field("apiVersion", api_version);
  json.field("kind", kind).field("name", name).field("uid", uid).field("controller", true);
  json.end_object().end_array();
}

void write_requirements(text::JsonWriter& json, std::string_view key, const std::vector<Requirement>& all) {
  if (all.empty()) return;
  json.key(key).begin_array();
  for (const Requirement& r : all) {
    json.begin_object().field("key", r.key).field("operator", enum_name(r.op));
    if (!r.values.empty()) {
      json.key("values").begin_array();
      for (const auto& value : r.values) json.value(value);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

// One pod as its nodes are chosen: what it asks for, and where it may run. The flavors' part of that, too: it runs on their nodes.
std::string spec_text(const NodeAsk::Set& set) {
  Labels selector = set.pod->node_selector;
  std::vector<Toleration> tolerations = set.pod->tolerations;
  for (const ResourceFlavor* flavor : set.flavors) {
    for (const auto& [key, value] : flavor->node_labels) selector.insert_or_assign(key, value);
    tolerations.insert(tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
  }
  text::JsonWriter json;
  json.begin_object().field("restartPolicy", "Never");
  write_map(json, "nodeSelector", selector);
  if (!tolerations.empty()) {
    json.key("tolerations").begin_array();
    for (const Toleration& t : tolerations) {
      json.begin_object().field("operator", t.op());
      if (!t.key.empty()) json.field("key", t.key);
      if (!t.value.empty()) json.field("value", t.value);
      if (t.effect != TolerationEffect::kAll) json.field("effect", enum_name(t.effect));
      json.end_object();
    }
    json.end_array();
  }
  if (!set.pod->required_affinity.empty()) {
    json.key("affinity").begin_object().key("nodeAffinity").begin_object();
    json.key("requiredDuringSchedulingIgnoredDuringExecution").begin_object();
    json.key("nodeSelectorTerms").begin_array();
    for (const SelectorTerm& term : set.pod->required_affinity) {
      json.begin_object();
      write_requirements(json, "matchExpressions", term.labels);
      write_requirements(json, "matchFields", term.node_name);
      json.end_object();
    }
    json.end_array().end_object().end_object().end_object();
  }
  json.key("containers").begin_array().begin_object().field("name", "pod").field("image", kImage);
  json.key("resources").begin_object();
  for (const std::string_view key : {"requests", "limits"}) {  // devices need both
    json.key(key).begin_object();
    if (const auto total = set.pod->total()) {
      for (const auto& [resource, amount] : *total) {
        // Counted on nodes, and nothing that a container may ask for.
        if (resource != "pods") json.field(resource, format_amount(resource, amount));
      }
    }
    json.end_object();
  }
  json.end_object().end_object().end_array().end_object();
  return json.take();
}

struct Asked {
  std::string name;
  std::int64_t count = 0;
  std::string spec;
};

std::vector<Asked> asked(const NodeAsk& ask, const ProvisioningRequestConfig& config) {
  std::vector<Asked> out;
  for (const NodeAsk::Set& set : ask.sets) {
    std::string spec = spec_text(set);
    const auto same = std::find_if(out.begin(), out.end(), [&](const Asked& a) { return a.spec == spec; });
    if (config.merges_pod_sets && same != out.end()) {
      same->count += set.count;
    } else {
      out.push_back({set.name, set.count, std::move(spec)});
    }
  }
  return out;
}

}  // namespace

std::string request_name(std::string_view workload, std::string_view check, std::int64_t attempt) {
  return bounded_name(fmt::format("{}-{}-{}", workload, check, attempt));
}

std::string pod_template_name(std::string_view request, std::string_view pod_set) {
  return bounded_name(fmt::format("ppt-{}-{}", request, pod_set));
}

kube::Write create_request(std::string_view version, std::string_view name, const NodeAsk& ask,
                           const ProvisioningRequestConfig& config) {
  text::JsonWriter json;
  json.begin_object().field("apiVersion", fmt::format("{}/{}", kAutoscalingGroup, version));
  json.field("kind", "ProvisioningRequest").key("metadata").begin_object();
  json.field("name", name).field("namespace", ask.ns);
  write_owner(json, fmt::format("{}/{}", kKueueGroup, ask.kueue_version), "Workload", ask.workload,
              ask.workload_uid);
  json.end_object().key("spec").begin_object().field("provisioningClassName", config.provisioning_class);
  Labels parameters = config.parameters;
  for (const auto& [key, value] : ask.parameters) parameters.insert_or_assign(key, value);
  write_map(json, "parameters", parameters);
  json.key("podSets").begin_array();
  for (const Asked& set : asked(ask, config)) {
    json.begin_object().field("count", set.count).key("podTemplateRef").begin_object();
    json.field("name", pod_template_name(name, set.name)).end_object().end_object();
  }
  json.end_array().end_object().end_object();
  return kube::status_write(kube::create_object(requests(version).collection(ask.ns), json.take()));
}

std::vector<kube::Write> create_pod_templates(std::string_view version, const ProvisioningRequest& request,
                                              const NodeAsk& ask, const ProvisioningRequestConfig& config) {
  std::vector<kube::Write> out;
  for (const Asked& set : asked(ask, config)) {
    text::JsonWriter json;
    json.begin_object().field("apiVersion", "v1").field("kind", "PodTemplate").key("metadata").begin_object();
    json.field("name", pod_template_name(request.meta.name, set.name)).field("namespace", request.meta.ns);
    write_owner(json, fmt::format("{}/{}", kAutoscalingGroup, version), "ProvisioningRequest",
                request.meta.name, request.meta.uid);
    json.end_object().key("template").begin_object().key("spec").raw(set.spec).end_object().end_object();
    const kube::ResourcePath path{"", "v1", "podtemplates"};
    out.push_back(kube::status_write(kube::create_object(path.collection(request.meta.ns), json.take())));
  }
  return out;
}

kube::Write delete_request(std::string_view version, const ProvisioningRequest& request) {
  return kube::status_write(
      kube::delete_object(requests(version).object(request.meta.ns, request.meta.name), request.meta.uid));
}

std::vector<PodSetUpdate> updates_of(const ProvisioningRequest& request, const NodeAsk& ask,
                                     const ProvisioningRequestConfig& config) {
  std::vector<PodSetUpdate> out;
  for (const NodeAsk::Set& set : ask.sets) {
    PodSetUpdate update;
    update.name = set.name;
    update.annotations.emplace(kConsumesRequest, request.meta.name);
    update.annotations.emplace(kProvisioningClass, config.provisioning_class);
    for (const auto& selector : config.selectors) {
      if (const auto it = request.details.find(selector.detail); it != request.details.end())
        update.node_selector.emplace(selector.key, it->second);
    }
    out.push_back(std::move(update));
  }
  return out;
}

DurationMs rest_after(const ProvisioningRequestConfig& config, std::int64_t attempt) {
  return doubled(config.first_rest, attempt - 1, config.most_rest);
}

}  // namespace berth::dialect
