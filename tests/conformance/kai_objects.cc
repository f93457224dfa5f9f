#include "conformance/kai_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "conformance/peer_cases.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::conformance {
namespace {

using dialect::Kind;
using text::JsonWriter;
using text::Node;

constexpr TimeMs kOldest = kKaiNow - 24 * kHour;

std::int64_t int_at(const Node& node, std::string_view key, std::int64_t otherwise) {
  const Node* found = node.find(key);
  return found == nullptr ? otherwise : found->as_int().value_or(otherwise);
}

bool flag_at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr && found->as_bool().value_or(false);
}

std::string time_of_rank(const Node& node) {
  return text::format_time_seconds(kOldest + int_at(node, "order", 0) * kSecond);
}

void begin(JsonWriter& json, std::string_view api, std::string_view kind, const Node& of) {
  json.begin_object().field("apiVersion", api).field("kind", kind);
  json.key("metadata").begin_object().field("name", of.find("name")->text());
  if (const Node* ns = of.find("namespace"); ns != nullptr) json.field("namespace", ns->text());
}

// KAI's tests select nodes by their names with this label. Cases that do so by affinity of pods lack it on their nodes.
constexpr std::string_view kNameLabel = "kai.scheduler/type";

bool names_nodes(const Node& the_case) {
  const auto& nodes = the_case.find("nodes")->items();
  return std::none_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.at({"labels", kNameLabel}) != nullptr;
  });
}

KaiManifest node_of(const Node& node, bool named) {
  JsonWriter json;
  begin(json, "v1", "Node", node);
  json.key("labels").begin_object();
  if (const Node* labels = node.find("labels"); labels != nullptr) {
    for (const auto& label : labels->entries()) json.field(label.name(), label.value.text());
  }
  if (named) json.field(kNameLabel, node.find("name")->text());
  json.end_object().end_object();
  json.key("status").begin_object().key("allocatable").begin_object();
  json.field("cpu", fmt::format("{}m", int_at(node, "cpuMilli", 0)));
  json.field("memory", std::to_string(int_at(node, "memoryBytes", 0)));
  json.field("pods", std::to_string(int_at(node, "pods", 110)));
  if (const std::int64_t gpus = int_at(node, "gpus", 0); gpus > 0)
    json.field("nvidia.com/gpu", std::to_string(gpus));
  json.end_object().end_object().end_object();
  return {Kind::kNode, json.take()};
}

KaiManifest topology_of(const Node& topology) {
  JsonWriter json;
  begin(json, "kueue.x-k8s.io/v1beta1", "Topology", topology);
  json.end_object().key("spec").begin_object().key("levels").begin_array();
  for (const Node& level : topology.find("levels")->items())
    json.begin_object().field("nodeLabel", level.text()).end_object();
  json.end_array().end_object().end_object();
  return {Kind::kTopology, json.take()};
}

// KAI's Queue has memory in millions of bytes.
void write_amounts(JsonWriter& json, std::string_view key, const Node& amounts, bool memory) {
  json.key(key).begin_object();
  for (const std::string_view field : {"quota", "limit"}) {
    const Node& amount = *amounts.find(field);
    const std::int64_t bytes = memory ? amount.as_int().value_or(-1) : -1;
    if (bytes > 0) {
      json.field(field, bytes / 1'000'000);
    } else {
      json.field(field, amount);
    }
  }
  // A department `default` has no siblings, and its weight is no number that means anything.
  const Node& weight = *amounts.find("weight");
  if (weight.as_double().value_or(0) >= 0) json.field("overQuotaWeight", weight);
  json.end_object();
}

KaiManifest queue_of(const Node& queue) {
  JsonWriter json;
  begin(json, "scheduling.run.ai/v2", "Queue", queue);
  json.field("creationTimestamp", time_of_rank(queue)).end_object();
  json.key("spec").begin_object();
  if (const std::string parent = text_at(queue, {"parent"}); !parent.empty())
    json.field("parentQueue", parent);
  json.field("priority", int_at(queue, "priority", 100));
  for (const std::string_view key : {"preemptMinRuntime", "reclaimMinRuntime"}) {
    const std::int64_t seconds = int_at(queue, fmt::format("{}Seconds", key), -1);
    if (seconds >= 0) json.field(key, fmt::format("{}s", seconds));
  }
  json.key("resources").begin_object();
  write_amounts(json, "cpu", *queue.find("cpuMilli"), false);
  write_amounts(json, "memory", *queue.find("memoryBytes"), true);
  write_amounts(json, "gpu", *queue.find("gpu"), false);
  json.end_object().end_object().end_object();
  return {Kind::kKaiQueue, json.take()};
}

std::string class_name(std::int64_t priority) {
  return fmt::format("p{}", priority);
}

KaiManifest class_of(std::int64_t priority) {
  JsonWriter json;
  json.begin_object().field("apiVersion", "scheduling.k8s.io/v1").field("kind", "PriorityClass");
  json.key("metadata").begin_object().field("name", class_name(priority)).end_object();
  json.field("value", priority).end_object();
  return {Kind::kPriorityClass, json.take()};
}

void write_topology(JsonWriter& json, const Node& of) {
  const Node* topology = of.find("topology");
  if (topology == nullptr || topology->entries().empty()) return;
  json.key("topologyConstraint").begin_object();
  json.field("topology", text_at(*topology, {"topology"}));
  for (const auto& [key, field] :
       {std::pair{"required", "requiredTopologyLevel"}, std::pair{"preferred", "preferredTopologyLevel"}}) {
    const std::string level = text_at(*topology, {key});
    if (!level.empty()) json.field(field, level);
  }
  json.end_object();
}

// One pod set named `default` stands for a PodGroup without subgroups.
bool has_subgroups(const Node& tree) {
  const Node* groups = tree.find("groups");
  const Node* sets = tree.find("podSets");
  return (groups != nullptr && !groups->items().empty()) || sets == nullptr || sets->items().size() != 1 ||
         text_at(sets->items().front(), {"name"}) != "default";
}

void write_subgroups(JsonWriter& json, const Node& tree, const std::string& parent) {
  const auto begin_subgroup = [&](const Node& of) {
    json.begin_object().field("name", text_at(of, {"name"}));
    if (!parent.empty()) json.field("parent", parent);
    write_topology(json, of);
  };
  if (const Node* groups = tree.find("groups"); groups != nullptr) {
    for (const Node& group : groups->items()) {
      begin_subgroup(group);
      if (const Node* needs = group.find("minSubGroups"); needs != nullptr) json.field("minSubGroup", *needs);
      json.end_object();
      write_subgroups(json, group, text_at(group, {"name"}));
    }
  }
  if (const Node* sets = tree.find("podSets"); sets != nullptr) {
    for (const Node& set : sets->items()) {
      begin_subgroup(set);
      json.field("minMember", int_at(set, "minMembers", 0)).end_object();
    }
  }
}

// `grace`: of a PodGroup that says nothing.
KaiManifest pod_group_of(const Node& job, std::int64_t grace) {
  JsonWriter json;
  begin(json, "scheduling.run.ai/v2alpha2", "PodGroup", job);
  const std::int64_t delay = int_at(job, "preemptionDelaySeconds", 0);
  json.field("creationTimestamp",
             delay > 0 ? text::format_time_seconds(kKaiNow - int_at(job, "ageMinutes", 0) * kMinute)
                       : time_of_rank(job));
  json.key("annotations").begin_object();
  if (const std::int64_t stale = int_at(job, "staleSeconds", 0); stale > 0)
    json.field("kai.scheduler/stale-podgroup-timestamp",
               text::format_time_seconds(kKaiNow - stale * kSecond));
  json.end_object().end_object();
  json.key("spec").begin_object();
  if (delay > 0) json.field("preemptionDelay", fmt::format("{}s", delay));
  json.field("stalenessGracePeriod", fmt::format("{}s", int_at(job, "stalenessGracePeriodSeconds", grace)));
  json.field("queue", text_at(job, {"queue"}));
  json.field("priorityClassName", class_name(int_at(job, "priority", 0)));
  json.field("preemptibility", flag_at(job, "preemptible") ? "preemptible" : "non-preemptible");
  const Node& tree = *job.find("tree");
  write_topology(json, tree);
  if (has_subgroups(tree)) {
    if (const Node* needs = tree.find("minSubGroups"); needs != nullptr) json.field("minSubGroup", *needs);
    json.key("subGroups").begin_array();
    write_subgroups(json, tree, "");
    json.end_array();
  } else {
    json.field("minMember", int_at(tree.find("podSets")->items().front(), "minMembers", 0));
  }
  json.end_object().end_object();
  return {Kind::kKaiPodGroup, json.take()};
}

// ------------------------------------------------------------------------------------------------------------ pods

void write_node_affinity(JsonWriter& json, const Node& terms) {
  json.key("nodeAffinity").begin_object().key("requiredDuringSchedulingIgnoredDuringExecution");
  json.begin_object().key("nodeSelectorTerms").begin_array();
  for (const Node& term : terms.items()) json.begin_object().field("matchExpressions", term).end_object();
  json.end_array().end_object().end_object();
}

void write_pod_affinity(JsonWriter& json, std::string_view key, const Node& terms) {
  json.key(key).begin_object().key("requiredDuringSchedulingIgnoredDuringExecution").begin_array();
  for (const Node& term : terms.items()) {
    json.begin_object().field("topologyKey", term.find("topologyKey")->text());
    json.key("labelSelector").begin_object().field("matchLabels", *term.find("matchLabels")).end_object();
    json.end_object();
  }
  json.end_array().end_object();
}

void write_affinity(JsonWriter& json, const Node& task) {
  json.key("affinity").begin_object();
  if (const Node* terms = task.find("nodeAffinity"); terms != nullptr) write_node_affinity(json, *terms);
  for (const std::string_view key : {"podAffinity", "podAntiAffinity"}) {
    if (const Node* terms = task.find(key); terms != nullptr) write_pod_affinity(json, key, *terms);
  }
  json.end_object();
}

void write_containers(JsonWriter& json, const Node& requests) {
  json.key("containers").begin_array().begin_object().field("name", "main").field("image", "none");
  json.key("resources").begin_object();
  for (const std::string_view key : {"requests", "limits"}) {
    json.key(key).begin_object();
    json.field("cpu", fmt::format("{}m", int_at(requests, "cpuMilli", 0)));
    json.field("memory", std::to_string(int_at(requests, "memoryBytes", 0)));
    if (const std::int64_t gpus = int_at(requests, "gpus", 0); gpus > 0)
      json.field("nvidia.com/gpu", std::to_string(gpus));
    json.end_object();
  }
  json.end_object().end_object().end_array();
}

void write_volumes(JsonWriter& json, const Node& claims) {
  json.key("volumes").begin_array();
  for (const Node& claim : claims.items()) {
    json.begin_object().field("name", claim.text());
    json.key("persistentVolumeClaim").begin_object().field("claimName", claim.text()).end_object();
    json.end_object();
  }
  json.end_array();
}

std::string_view phase_of(std::string_view state) {
  if (state == "Succeeded" || state == "Failed") return state;
  return state == "Pending" || state == "Gated" || state == "Pipelined" ? "Pending" : "Running";
}

}  // namespace

std::vector<KaiManifest> kai_objects(const Node& the_case) {
  std::vector<KaiManifest> out;
  for (const Node& node : the_case.find("nodes")->items())
    out.push_back(node_of(node, names_nodes(the_case)));
  if (const Node* all = the_case.find("topologies"); all != nullptr) {
    for (const Node& topology : all->items()) out.push_back(topology_of(topology));
  }
  for (const Node& queue : the_case.find("queues")->items()) out.push_back(queue_of(queue));
  std::set<std::int64_t> priorities;
  for (const Node& job : the_case.find("jobs")->items()) priorities.insert(int_at(job, "priority", 0));
  for (const std::int64_t priority : priorities) out.push_back(class_of(priority));
  const std::int64_t grace = int_at(*the_case.find("protocol"), "staleGangGraceSeconds", 60);
  for (const Node& job : the_case.find("jobs")->items()) out.push_back(pod_group_of(job, grace));
  return out;
}

std::string kai_namespace(const Node& job) {
  const std::string ns = text_at(job, {"namespace"});
  return ns.empty() ? "default" : ns;
}

std::string kai_pod(const Node& job, const Node& task, int life) {
  const std::string name(task.find("name")->text());
  const std::string ns = kai_namespace(job);
  const std::string state = life == 0 ? text_at(task, {"state"}) : "Pending";
  JsonWriter json;
  json.begin_object().field("apiVersion", "v1").field("kind", "Pod");
  json.key("metadata").begin_object().field("name", name).field("namespace", ns);
  json.field("uid", fmt::format("{}/{}#{}", ns, name, life)).field("creationTimestamp", time_of_rank(job));
  json.key("labels").begin_object().field("kai.scheduler/queue", text_at(job, {"queue"}));
  if (has_subgroups(*job.find("tree"))) json.field("kai.scheduler/subgroup-name", text_at(task, {"podSet"}));
  if (const Node* labels = task.find("labels"); labels != nullptr) {
    for (const auto& label : labels->entries()) json.field(label.name(), label.value.text());
  }
  json.end_object();
  json.key("annotations").begin_object();
  json.field("pod-group-name", text_at(job, {"name"})).end_object();
  if (state == "Releasing") json.field("deletionTimestamp", text::format_time_seconds(kKaiNow + kMinute));
  if (state == "StuckInReleasing")
    json.field("deletionTimestamp", text::format_time_seconds(kKaiNow - kHour));
  json.end_object();
  json.key("spec").begin_object().field("schedulerName", "berth");
  const std::string node = text_at(task, {"node"});
  const bool bound = phase_of(state) != "Pending" && !node.empty();
  if (bound) json.field("nodeName", node);
  // The cases leave out where a pod ran that has ended.
  if (node.empty() && (state == "Succeeded" || state == "Failed")) json.field("nodeName", "left-out");
  if (state == "Gated") {
    json.key("schedulingGates").begin_array().begin_object().field("name", "gate").end_object().end_array();
  }
  write_containers(json, *task.find("requests"));
  if (const Node* claims = task.find("volumeClaims"); claims != nullptr) write_volumes(json, *claims);
  write_affinity(json, task);
  json.end_object();
  json.key("status").begin_object().field("phase", phase_of(state));
  if (bound) {
    const TimeMs started = kKaiNow - int_at(job, "lastStartSecondsAgo", 60) * kSecond;
    json.key("conditions").begin_array().begin_object().field("type", "PodScheduled").field("status", "True");
    json.field("lastTransitionTime", text::format_time_seconds(started)).end_object().end_array();
  }
  json.end_object().end_object();
  return json.take();
}

}  // namespace berth::conformance
