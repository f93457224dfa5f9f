#include "dialect/books/object_books.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/put_new.h"
#include "dialect/base/names.h"
#include "dialect/books/draft_book.h"
#include "dialect/books/owner_book.h"
#include "dialect/upstream/core.h"
#include "text/fields.h"

namespace berth::dialect {
namespace {

// The value of a PriorityClass; higher ones are the system's.
constexpr std::int64_t kMostPriorityOfUsers = 1'000'000'000;

template <class Map, class Key>
bool erase(Map& map, const Key& key) {
  const auto it = map.find(key);
  if (it == map.end()) return false;
  map.erase(it);
  return true;
}

// The value of a name; nullptr: there is none.
template <class Map>
const auto* look_up(const Map& map, std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : &it->second;
}

// ", did you mean X?" where one of `map` is near.
template <class Map>
std::string meant(std::string_view name, const Map& map) {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : map) names.push_back(known);
  const std::string_view near = text::nearest(name, names);
  return near.empty() ? std::string() : fmt::format(" (did you mean {}?)", near);
}

ObjectBooks::Keys keys_of_class(std::string_view name) {
  return {fmt::format("pc:{}", name), "pc:", std::string(kAllClasses)};
}

ObjectBooks::Keys keys_of_workload_class(std::string_view name) {
  return {fmt::format("wpc:{}", name), std::string(kAllClasses)};
}

// The levels of HyperNodes are a topology.
ObjectBooks::Keys follow(const HyperBook& hyper_nodes, QueueBook& queues) {
  TopologyObject topology;
  topology.meta.name = kHyperTopology;
  topology.levels = hyper_nodes.levels();
  if (topology.levels.empty()) {
    queues.remove(Kind::kTopology, kHyperTopology);
  } else {
    (void)queues.upsert(topology);
  }
  return {std::string(kOnHyperNodes)};
}

// Work that waits for the object says what it is that it waits for.
ObjectBooks::Keys keys_of_named(Kind kind, const std::string& key) {
  if (gang_system(kind) != nullptr) return {gang_key(kind, key)};
  if (owner_kind(kind) == nullptr) return {};
  const auto slash = key.find('/');
  return {owner_key(kind, std::string_view(key).substr(0, slash), key.substr(slash + 1))};
}

ObjectBooks::Keys keys_of_claims(ObjectBooks::Keys claims, Kind kind) {
  if (kind == Kind::kStorageClass || kind == Kind::kCsiDriver || kind == Kind::kCsiStorageCapacity)
    claims.emplace_back(kMadeClaims);
  for (std::string& key : claims) key.insert(0, kOnClaim);
  return claims;
}

}  // namespace

ObjectBooks::ObjectBooks(const IntakeConfig& config)
    : devices_(config.devices),
      queues_(config.quota_only, config.fair_sharing, config.lanes, config.nodes_on_demand) {
  queues_.set_check_mode(config.checks);
}

ObjectBooks::Keys ObjectBooks::put(Object&& object) {
  return std::visit(
      [&](auto&& value) -> Keys {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_base_of_v<TreeQueue, T>) {
          return take(T::kKind, value);
        } else if constexpr (requires { storage_.put(std::move(value)); }) {
          return settle_storage(storage_.put(std::move(value)), T::kKind);
        } else if constexpr (std::is_base_of_v<GangObject, T>) {
          if constexpr (requires { value.problem; }) {
            if (!value.problem.empty()) value.wrong = std::move(value.problem);
          }
          return gangs_.put(T::kKind, std::move(value));
        } else if constexpr (requires { take(std::move(value)); }) {
          return take(std::move(value));
        } else {
          return {};  // a ProvisioningRequest is the matter of its Workload (scheduler/kueue/provisioner.h)
        }
      },
      std::move(object));
}

ObjectBooks::Keys ObjectBooks::take(NodeObject&& object) {
  std::string problem;
  Node node = to_node(object, devices_, problem);
  if (problem.empty()) {
    node_problems_.erase(node.name);
  } else {
    node_problems_.insert_or_assign(node.name, std::move(problem));
  }
  const auto it = nodes_.find(node.name);
  hyper_nodes_.label(node, it == nodes_.end() ? nullptr : &it->second);
  node.attachable = storage_.attachable_of(node.name, node.labels);
  if (it != nodes_.end() && it->second == node) return {};  // a heartbeat
  queues_.node_changed(it != nodes_.end() ? &it->second : nullptr, &node);
  if (it != nodes_.end()) storage_.set_node(it->second, false);
  storage_.set_node(node, true);
  nodes_.insert_or_assign(node.name, node);
  node_events_.push_back(NodeUpsert{std::move(node)});
  return {};
}

ObjectBooks::Keys ObjectBooks::take(HyperNode&& object) {
  return hyper_nodes_.put(std::move(object)) ? follow(hyper_nodes_, queues_) : Keys();
}

ObjectBooks::Keys ObjectBooks::take(Namespace&& object) {
  auto& labels = namespaces_[object.meta.name];
  if (labels == object.meta.labels) return {};
  labels = std::move(object.meta.labels);
  return {"ns:" + object.meta.name};
}

ObjectBooks::Keys ObjectBooks::take(PriorityClass&& object) {
  const std::string name = object.meta.name;
  return put_new(priority_classes_, name, std::move(object)) ? keys_of_class(name) : Keys();
}

ObjectBooks::Keys ObjectBooks::take(ClusterQueue&& object) {
  return queues_.upsert(object) ? Keys{"cq:" + object.meta.name} : Keys();
}

ObjectBooks::Keys ObjectBooks::take(Cohort&& object) {
  cohort_parents_.insert_or_assign(object.meta.name, object.parent);
  (void)queues_.upsert(object);
  return {};
}

ObjectBooks::Keys ObjectBooks::take(LocalQueue&& object) {
  if (!queues_.upsert(object)) return {};
  const std::string key = key_of(object.meta.ns, object.meta.name);
  local_queues_.insert_or_assign(key, std::move(object));
  return {"lq:" + key};
}

ObjectBooks::Keys ObjectBooks::take(ResourceFlavor&& object) {
  (void)queues_.upsert(object);
  const std::string name = object.meta.name;
  flavors_.insert_or_assign(name, std::move(object));
  return {};
}

ObjectBooks::Keys ObjectBooks::take(TopologyObject&& object) {
  (void)queues_.upsert(object);
  return {};
}

ObjectBooks::Keys ObjectBooks::take(KaiTopology&& object) {
  TopologyObject topology;
  topology.meta.name = fmt::format("{}{}", kKaiTopologyPrefix, object.meta.name);
  topology.levels = std::move(object.levels);
  (void)queues_.upsert(topology);
  return {};
}

// Each of its pod groups is an object for itself.
ObjectBooks::Keys ObjectBooks::take(UpstreamWorkload&& object) {
  Keys keys = gangs_.remove_all(Kind::kUpstreamWorkload, key_of(object.meta.ns, object.meta.name) + "/");
  for (WorkloadPodGroup& group : object.groups) {
    for (std::string& key : gangs_.put(Kind::kUpstreamWorkload, std::move(group)))
      keys.push_back(std::move(key));
  }
  return keys;
}

ObjectBooks::Keys ObjectBooks::take(WorkloadPriorityClass&& object) {
  const bool is_new = put_new(workload_priorities_, object.meta.name, object.value);
  return is_new ? keys_of_workload_class(object.meta.name) : Keys();
}

ObjectBooks::Keys ObjectBooks::take(AdmissionCheck&& object) {
  return queues_.upsert(object) ? keys_of_checked() : Keys();
}

ObjectBooks::Keys ObjectBooks::take(ProvisioningRequestConfig&& object) {
  return queues_.upsert(object) ? keys_of_checked() : Keys();
}

ObjectBooks::Keys ObjectBooks::take(LimitRange&& object) {
  auto& known = limit_ranges_[object.meta.ns][object.meta.name];
  if (!(known.limits == object.limits)) changed_namespaces_.insert(object.meta.ns);
  known = std::move(object);
  return {};
}

ObjectBooks::Keys ObjectBooks::take(RuntimeClass&& object) {
  const std::string name = object.meta.name;
  runtime_classes_.insert_or_assign(name, std::move(object));
  changed_runtimes_ = true;
  return {};
}

ObjectBooks::Keys ObjectBooks::take(Kind kind, const TreeQueue& object) {
  if (kind == Kind::kQueue) own_queues_.insert_or_assign(object.meta.name, object.stop);
  return queues_.upsert(kind, object) ? Keys{"q:" + tree_queue_name(kind, object.meta.name)} : Keys();
}

ObjectBooks::Keys ObjectBooks::settle_storage(VolumeBook::Keys claims, Kind kind) {
  for (const std::string& name : storage_.take_changed_nodes()) {
    const auto it = nodes_.find(name);
    if (it == nodes_.end()) continue;
    ResourceList now = storage_.attachable_of(name, it->second.labels);
    if (it->second.attachable == now) continue;
    it->second.attachable = std::move(now);
    node_events_.push_back(NodeUpsert{it->second});
  }
  return keys_of_claims(std::move(claims), kind);
}

ObjectBooks::Keys ObjectBooks::remove_node(std::string_view name) {
  erase(node_problems_, name);
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) return {};
  queues_.node_changed(&it->second, nullptr);
  storage_.set_node(it->second, false);
  nodes_.erase(it);
  node_events_.push_back(NodeRemove{std::string(name)});
  return {};
}

ObjectBooks::Keys ObjectBooks::remove(Kind kind, std::string_view ns, std::string_view name) {
  const std::string key = key_of(ns, name);
  const auto only_if = [](bool changed, Keys keys) { return changed ? std::move(keys) : Keys(); };
  if (kind == Kind::kUpstreamWorkload) return gangs_.remove_all(kind, key + "/");
  if (gang_system(kind) != nullptr) return gangs_.remove(kind, key);
  switch (kind) {
    case Kind::kNode:
      return remove_node(name);
    case Kind::kHyperNode:
      return hyper_nodes_.remove(name) ? follow(hyper_nodes_, queues_) : Keys();
    case Kind::kNamespace:
      return only_if(erase(namespaces_, name), {fmt::format("ns:{}", name)});
    case Kind::kPriorityClass:
      return only_if(erase(priority_classes_, name), keys_of_class(name));
    case Kind::kLocalQueue:
      queues_.remove_local_queue(key);
      return only_if(erase(local_queues_, key), {"lq:" + key});
    case Kind::kWorkloadPriorityClass:
      return only_if(erase(workload_priorities_, name), keys_of_workload_class(name));
    case Kind::kClusterQueue:
      queues_.remove(kind, name);
      return {fmt::format("cq:{}", name)};
    case Kind::kCohort:
      erase(cohort_parents_, name);
      queues_.remove(kind, name);
      return {};
    case Kind::kResourceFlavor:
      erase(flavors_, name);
      queues_.remove(kind, name);
      return {};
    case Kind::kTopology:
      queues_.remove(kind, name);
      return {};
    case Kind::kKaiTopology:
      queues_.remove(Kind::kTopology, fmt::format("{}{}", kKaiTopologyPrefix, name));
      return {};
    case Kind::kAdmissionCheck:
    case Kind::kProvisioningRequestConfig:
      queues_.remove(kind, name);
      return keys_of_checked();
    case Kind::kLimitRange:
      if (const auto it = limit_ranges_.find(ns); it != limit_ranges_.end() && erase(it->second, name))
        changed_namespaces_.emplace(ns);
      return {};
    case Kind::kRuntimeClass:
      changed_runtimes_ = erase(runtime_classes_, name) || changed_runtimes_;
      return {};
    case Kind::kPersistentVolumeClaim:
    case Kind::kPersistentVolume:
    case Kind::kStorageClass:
    case Kind::kCsiDriver:
    case Kind::kCsiStorageCapacity:
    case Kind::kCsiNode:
    case Kind::kVolumeAttachment:
      return settle_storage(storage_.remove(kind, ns, name), kind);
    case Kind::kQueue:
    case Kind::kVolcanoQueue:
    case Kind::kKaiQueue:
      if (kind == Kind::kQueue) erase(own_queues_, name);
      queues_.remove(kind, name);
      return {"q:" + tree_queue_name(kind, name)};
    default:
      return {};
  }
}

ObjectBooks::Keys ObjectBooks::note_problem(Kind kind, const std::string& key, const std::string& problem) {
  if (problem.empty()) {
    if (unreadable_.empty() || unreadable_.erase({kind, key}) == 0) return {};
  } else {
    auto& known = unreadable_[{kind, key}];
    if (known == problem) return {};
    known = problem;
  }
  ++unreadable_changes_;
  return keys_of_named(kind, key);
}

const std::string* ObjectBooks::unreadable(Kind kind, const std::string& key) const {
  const auto it = unreadable_.find({kind, key});
  return it == unreadable_.end() ? nullptr : &it->second;
}

bool ObjectBooks::drain(std::vector<Event>& out) {
  hyper_nodes_.settle(nodes_, [&](Node& node, Node&& now) {
    queues_.node_changed(&node, &now);
    storage_.set_node(node, false);
    storage_.set_node(now, true);
    node = std::move(now);
    node_events_.push_back(NodeUpsert{node});
  });
  (void)settle_storage({}, Kind::kCsiNode);  // pods that share a volume came or went
  out.insert(out.end(), std::make_move_iterator(node_events_.begin()),
             std::make_move_iterator(node_events_.end()));
  node_events_.clear();
  storage_.attachments().drain(out);
  const std::size_t before = out.size();
  queues_.drain(nodes_, out);
  return out.size() > before;
}

std::vector<Problem> ObjectBooks::problems() const {
  std::vector<Problem> out = queues_.problems();
  out.insert(out.end(), hyper_nodes_.problems().begin(), hyper_nodes_.problems().end());
  for (const auto& [name, message] : node_problems_)
    out.push_back({describe(Kind::kNode, "", name), message});
  return out;
}

const LocalQueue* ObjectBooks::local_queue(std::string_view key) const {
  return look_up(local_queues_, key);
}

const ResourceFlavor* ObjectBooks::flavor(std::string_view name) const {
  return look_up(flavors_, name);
}

const Node* ObjectBooks::node(std::string_view name) const {
  return look_up(nodes_, name);
}

bool ObjectBooks::is_held(const std::string& queue) const {
  if (const ClusterQueue* known = queues_.cluster_queue(queue); known != nullptr)
    return known->stop == StopPolicy::kHold || (known->stop == StopPolicy::kNone && known->meta.deleting);
  const StopPolicy* own = look_up(own_queues_, queue);
  return own != nullptr && *own == StopPolicy::kHold;
}

std::string ObjectBooks::queue_path(std::string_view cluster_queue) const {
  const ClusterQueue* queue = queues_.cluster_queue(cluster_queue);
  std::string out = fmt::format("/{}", cluster_queue);
  std::string cohort = queue == nullptr ? std::string() : queue->cohort;
  for (int depth = 0; depth < 32 && !cohort.empty(); ++depth) {  // a circle of cohorts has no root
    out.insert(0, "/" + cohort);
    const std::string* above = look_up(cohort_parents_, cohort);
    cohort = above == nullptr ? std::string() : *above;
  }
  return out;
}

ObjectBooks::Keys ObjectBooks::keys_of_checked() const {
  Keys out;
  for (const auto& [name, queue] : queues_.cluster_queues()) {
    if (!queue.checks.empty()) out.push_back("cq:" + name);
  }
  return out;
}

Labels ObjectBooks::labels_of_namespace(const std::string& ns) const {
  Labels labels;
  if (const Labels* known = look_up(namespaces_, ns)) labels = *known;
  labels.emplace(kNamespaceName, ns);
  return labels;
}

std::string ObjectBooks::not_admitted(std::string_view queue, const LabelSelector& selector,
                                      const std::string& ns) const {
  const bool by_name = std::all_of(selector.requirements.begin(), selector.requirements.end(),
                                   [](const Requirement& r) { return r.key == kNamespaceName; });
  if (by_name || namespaces_.contains(ns))
    return fmt::format("the namespaceSelector of {} does not admit namespace {}", queue, ns);
  return fmt::format(
      "Namespace {} is not among the objects, so the namespaceSelector of {} cannot be checked", ns, queue);
}

std::int64_t ObjectBooks::priority_of(const PriorityKey& key, bool& may_preempt) const {
  may_preempt = !key.never;
  if (key.value) return *key.value;
  if (key.klass == "system-node-critical") return 2'000'001'000;
  if (key.klass == "system-cluster-critical") return 2'000'000'000;
  const PriorityClass* found = nullptr;
  if (!key.klass.empty()) {
    found = look_up(priority_classes_, key.klass);
  } else {
    for (const auto& [name, value] : priority_classes_) {
      if (value.global_default && (found == nullptr || value.value < found->value)) found = &value;
    }
  }
  if (found == nullptr) return 0;
  may_preempt = may_preempt && found->may_preempt;
  return found->value;
}

std::optional<std::int64_t> ObjectBooks::workload_priority(std::string_view klass) const {
  const std::int64_t* known = look_up(workload_priorities_, klass);
  return known == nullptr ? std::nullopt : std::optional(*known);
}

std::int64_t ObjectBooks::highest_priority() const {
  std::int64_t most = 0;
  for (const auto& [name, value] : workload_priorities_) most = std::max(most, value);
  for (const auto& [name, known] : priority_classes_) {
    if (known.value <= kMostPriorityOfUsers) most = std::max(most, known.value);
  }
  return most;
}

std::string ObjectBooks::missing_class(const PriorityKey& key) const {
  if (key.value || key.klass.empty() || key.klass.starts_with("system-")) return {};
  if (priority_classes_.contains(key.klass)) return {};
  return fmt::format("PriorityClass {} does not exist{}: the API server refuses its pods", key.klass,
                     meant(key.klass, priority_classes_));
}

std::string ObjectBooks::missing_workload_class(std::string_view name) const {
  if (name.empty() || workload_priorities_.contains(name)) return {};
  return fmt::format("WorkloadPriorityClass {} does not exist{}", name, meant(name, workload_priorities_));
}

TemplateRules ObjectBooks::rules_for(std::string_view ns, const PodNeeds& needs, bool of_pods) const {
  TemplateRules out;
  out.of_pods = of_pods;
  if (const auto* ranges = look_up(limit_ranges_, ns)) {
    for (const auto& [name, range] : *ranges) out.ranges.push_back(&range);
  }
  out.runtime = look_up(runtime_classes_, needs.runtime_class);
  out.all_runtimes = all_runtimes_;
  return out;
}

void ObjectBooks::set_all_runtimes_known() {
  changed_runtimes_ = changed_runtimes_ || !all_runtimes_;
  all_runtimes_ = true;
}

bool ObjectBooks::rules_changed_for(const std::string& ns, const PodNeeds* needs) const {
  return needs != nullptr &&
         (changed_namespaces_.contains(ns) ||
          (changed_runtimes_ && (!needs->runtime_class.empty() || !needs->overhead.empty())));
}

void ObjectBooks::settle_rules() {
  changed_namespaces_.clear();
  changed_runtimes_ = false;
}

}  // namespace berth::dialect
