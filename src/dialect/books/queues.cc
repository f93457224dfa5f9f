#include "dialect/books/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/put_new.h"
#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

std::string cohort_queue(std::string_view cohort) {
  return cohort.empty() ? std::string() : fmt::format("{}{}", kCohortPrefix, cohort);
}

// For a queue without a parent, which cannot borrow or lend: Kueue's webhooks refuse limits there.
void drop_limits(std::vector<Quota>& quotas) {
  for (auto& quota : quotas) quota.borrowing_limit = quota.lending_limit = std::nullopt;
}

// Differences between two name-ordered maps, upserts now, removals into `later`.
template <class Upsert, class Remove, class Map>
void diff(const Map& before, const Map& after, std::vector<Event>& out, std::vector<Event>& later) {
  for (const auto& [name, value] : after) {
    const auto it = before.find(name);
    if (it == before.end() || !(it->second == value)) out.push_back(Upsert{value});
  }
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) later.push_back(Remove{name});
  }
}

}  // namespace

Flavor to_flavor(const ResourceFlavor& object) {
  return {object.meta.name, object.node_labels, object.node_taints, object.tolerations, object.topology};
}

Topology to_topology(const TopologyObject& object) {
  return {object.meta.name, object.levels};
}

bool QueueBook::note(bool changed) {
  dirty_ = dirty_ || changed;
  return changed;
}

bool QueueBook::upsert(const ClusterQueue& object) {
  return note(put_new(cluster_queues_, object.meta.name, object));
}
bool QueueBook::upsert(const Cohort& object) {
  return note(put_new(cohorts_, object.meta.name, object));
}
bool QueueBook::upsert(const ResourceFlavor& object) {
  const bool supplies = put_new(supplies_, object.meta.name, object.nodes);
  return note(put_new(flavors_, object.meta.name, to_flavor(object)) || supplies);
}
bool QueueBook::upsert(const TopologyObject& object) {
  return note(put_new(topologies_, object.meta.name, to_topology(object)));
}
bool QueueBook::upsert(const AdmissionCheck& object) {
  return note(put_new(checks_, object.meta.name, object));
}
bool QueueBook::upsert(const ProvisioningRequestConfig& object) {
  return note(put_new(provisioning_, object.meta.name, object));
}
void QueueBook::set_provisioning_served(bool served) {
  (void)note(served != provisioning_served_);
  provisioning_served_ = served;
}

bool QueueBook::is_own(const AdmissionCheck& check) const {
  return check.controller == kProvisioningController && check_mode_ == CheckMode::kLive;
}

std::string QueueBook::own_problem(const AdmissionCheck& check) const {
  if (!is_own(check)) return {};
  if (!provisioning_served_)
    return "the API server has no ProvisioningRequests (autoscaling.x-k8s.io): install Cluster Autoscaler's";
  if (check.config.empty())
    return "its parameters name no ProvisioningRequestConfig (apiGroup kueue.x-k8s.io, kind, name)";
  if (!provisioning_.contains(check.config))
    return fmt::format("ProvisioningRequestConfig {} does not exist", check.config);
  return {};
}

const ProvisioningRequestConfig* QueueBook::provisioning(std::string_view name) const {
  const auto check = checks_.find(name);
  if (check == checks_.end() || !is_own(check->second) || !own_problem(check->second).empty()) return nullptr;
  return &provisioning_.find(check->second.config)->second;
}

std::vector<std::string> QueueBook::provisioned_flavors(const ClusterQueue& queue,
                                                        const ResourceList& asked) const {
  std::set<std::string> out;
  for (const CheckRule& rule : queue.checks) {
    const ProvisioningRequestConfig* config = provisioning(rule.name);
    if (config == nullptr) continue;
    const auto& managed = config->managed;
    if (!managed.empty() && std::none_of(managed.begin(), managed.end(), [&](const std::string& resource) {
          return asked.get(resource) > 0;
        }))
      continue;
    out.insert(rule.flavors.begin(), rule.flavors.end());
    if (!rule.flavors.empty()) continue;
    for (const ResourceGroup& group : queue.groups) out.insert(group.flavors.begin(), group.flavors.end());
  }
  return {out.begin(), out.end()};
}

std::vector<std::string> QueueBook::on_demand_flavors(const ClusterQueue& queue) const {
  std::set<std::string> out;
  if (!queue.checks.empty()) return {};
  const NodeSupply all = queue.nodes != NodeSupply::kUnsaid ? queue.nodes
                         : on_demand_                       ? NodeSupply::kOnDemand
                                                            : NodeSupply::kAtHand;
  for (const ResourceGroup& group : queue.groups) {
    for (const std::string& flavor : group.flavors) {
      const auto own = supplies_.find(flavor);
      const bool says = own != supplies_.end() && own->second != NodeSupply::kUnsaid;
      if ((says ? own->second : all) == NodeSupply::kOnDemand) out.insert(flavor);
    }
  }
  return {out.begin(), out.end()};
}

void QueueBook::set_check_mode(CheckMode mode) {
  if (check_mode_ == mode) return;
  check_mode_ = mode;
  dirty_ = true;
}

void QueueBook::remove(Kind kind, std::string_view name) {
  const auto erase = [&](auto& map) {
    if (const auto it = map.find(name); it != map.end()) map.erase(it);
  };
  dirty_ = true;
  switch (kind) {
    case Kind::kClusterQueue:
      return erase(cluster_queues_);
    case Kind::kCohort:
      return erase(cohorts_);
    case Kind::kResourceFlavor:
      erase(supplies_);
      return erase(flavors_);
    case Kind::kTopology:
      return erase(topologies_);
    case Kind::kAdmissionCheck:
      return erase(checks_);
    case Kind::kProvisioningRequestConfig:
      return erase(provisioning_);
    default:
      return tree_.remove(kind, name);
  }
}

bool QueueBook::upsert(Kind kind, const TreeQueue& object) {
  return note(tree_.upsert(kind, object));
}

// Past use is read where a LocalQueue is new: from then on it is watched, whatever its status says.
bool QueueBook::upsert(const LocalQueue& object) {
  const std::string key = fmt::format("{}/{}", object.meta.ns, object.meta.name);
  const auto [it, fresh] = local_queues_.try_emplace(key, object);
  bool moves = fresh;
  if (!fresh) {
    LocalQueue next = object;
    if (it->second.cluster_queue == next.cluster_queue) {
      next.used = it->second.used;
      next.used_at = it->second.used_at;
    }
    if (it->second == next) return false;
    moves = it->second.cluster_queue != next.cluster_queue || it->second.weight != next.weight;
    it->second = std::move(next);
  }
  (void)note(moves && lanes_.has_value());
  return true;
}

void QueueBook::remove_local_queue(const std::string& key) {
  (void)note(local_queues_.erase(key) > 0 && lanes_.has_value());
}

const ClusterQueue* QueueBook::cluster_queue(std::string_view name) const {
  const auto it = cluster_queues_.find(name);
  return it == cluster_queues_.end() ? nullptr : &it->second;
}

QueueBook::Cycles QueueBook::cohort_cycles() const {
  std::map<std::string_view, std::string_view> parents;
  for (const auto& [name, cohort] : cohorts_) parents.emplace(name, cohort.parent);
  return find_cycles(parents);
}

std::string QueueBook::cohort_problem(std::string_view name, const Cycles& cycles) const {
  if (const auto cycle = cycles.find(name); cycle != cycles.end())
    return fmt::format("its cohorts form a cycle: {}", cycle->second.text);
  for (auto it = cohorts_.find(name); it != cohorts_.end(); it = cohorts_.find(it->second.parent)) {
    if (!it->second.problem.empty()) return fmt::format("cohort {}: {}", it->first, it->second.problem);
  }
  return {};
}

std::string QueueBook::quota_problem(const std::vector<ResourceGroup>& groups) const {
  for (const auto& group : groups) {
    for (const auto& name : group.flavors) {
      const auto flavor = flavors_.find(name);
      if (flavor == flavors_.end()) return fmt::format("ResourceFlavor {} does not exist", name);
      const std::string& topology = flavor->second.topology;
      if (!topology.empty() && !topologies_.contains(topology)) {
        return fmt::format("Topology {} of flavor {} does not exist", topology, name);
      }
    }
  }
  return {};
}

QueueBook::CheckProblems QueueBook::check_problems(const ClusterQueue& queue) const {
  CheckProblems out;
  for (const CheckRule& rule : queue.checks) {
    const auto it = checks_.find(rule.name);
    std::string& list = it == checks_.end() ? out.missing : out.inactive;
    // In a plan no controller has had the time to report it.
    const bool active = it != checks_.end() &&
                        (is_own(it->second) ? own_problem(it->second).empty()
                                            : it->second.active.value_or(check_mode_ == CheckMode::kAssumed));
    if (active) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ",", rule.name);
  }
  return out;
}

std::string QueueBook::check_problem(const ClusterQueue& queue) const {
  if (queue.checks.empty()) return {};
  const CheckProblems wrong = check_problems(queue);
  if (!wrong.missing.empty()) return fmt::format("AdmissionCheck {} does not exist", wrong.missing);
  if (!wrong.inactive.empty())
    return fmt::format("AdmissionCheck {} is not active: its controller has not said that it is",
                       wrong.inactive);
  if (check_mode_ != CheckMode::kNone) return {};
  return "it has admission checks, but Berth writes no Workload objects here "
         "(--kueue-objects=false, the kind is not installed, or Kueue itself runs)";
}

std::set<std::string> QueueBook::named_cohorts() const {
  std::set<std::string> out;
  const auto name_cohort = [&](const std::string& name) {
    if (!name.empty()) out.insert(name);
  };
  for (const auto& [name, queue] : cluster_queues_) name_cohort(queue.cohort);
  for (const auto& [name, cohort] : cohorts_) {
    out.insert(name);
    name_cohort(cohort.parent);
  }
  return out;
}

void QueueBook::add_cohort(const std::string& name, const Cycles& cycles, std::set<std::string>& done,
                           Model& model) {
  if (!done.insert(name).second) return;
  Queue q;
  q.name = cohort_queue(name);
  q.leaf = false;
  if (fair_) q.sharing = Sharing::kDominantShare;
  q.disabled = cohort_problem(name, cycles);
  if (const auto it = cohorts_.find(name); it != cohorts_.end()) {
    q.groups = it->second.groups;
    q.quotas = it->second.quotas;
    q.weight = it->second.weight;
    // A cycle has no top: its members stand alone, disabled.
    if (q.disabled.empty() && !it->second.parent.empty()) {
      add_cohort(it->second.parent, cycles, done, model);
      q.parent = cohort_queue(it->second.parent);
    }
    if (it->second.parent.empty()) drop_limits(q.quotas);
    const auto cycle = cycles.find(name);
    if (!q.disabled.empty())
      problems_.push_back(
          {describe(Kind::kCohort, "", name), q.disabled, cycle != cycles.end() && cycle->second.on_it});
  }
  model.queues.push_back(std::move(q));
}

Queue QueueBook::leaf_of(const std::string& name, const ClusterQueue& object, const Cycles& cycles) const {
  Queue q;
  q.name = name;
  q.parent = cohort_queue(object.cohort);
  q.groups = object.groups;
  q.quotas = object.quotas;
  if (q.parent.empty()) drop_limits(q.quotas);
  q.weight = object.weight;
  q.order = object.order;
  q.preemption = object.preemption;
  q.flavor_search = object.flavor_search;
  q.stop = object.stop;
  // It goes when its finalizers are removed: running work may end in it.
  if (object.meta.deleting && q.stop == StopPolicy::kNone) q.stop = StopPolicy::kHold;
  if (lanes_ && object.by_use) {
    q.lanes = *lanes_;
    q.lanes.by_use = true;
    q.lanes.lanes.clear();
    for (const auto& [key, local] : local_queues_) {
      if (local.cluster_queue == name)
        q.lanes.lanes.push_back({key, local.weight, local.used, local.used_at});
    }
  }
  q.disabled = object.problem;
  if (q.disabled.empty()) q.disabled = cohort_problem(object.cohort, cycles);
  if (q.disabled.empty()) q.disabled = quota_problem(object.groups);
  if (q.disabled.empty()) q.disabled = check_problem(object);
  return q;
}

QueueBook::Model QueueBook::compute(const std::map<std::string, Node, std::less<>>& nodes) {
  Model model;
  problems_.clear();
  model.topologies = topologies_;
  model.flavors = flavors_;
  for (auto& [name, flavor] : model.flavors) flavor.opaque = opaque_;
  const Cycles cycles = cohort_cycles();
  std::set<std::string> done;
  for (const auto& name : named_cohorts()) add_cohort(name, cycles, done, model);
  for (const auto& [name, object] : cluster_queues_) {
    Queue q = leaf_of(name, object, cycles);
    if (!q.disabled.empty()) problems_.push_back({describe(Kind::kClusterQueue, "", name), q.disabled});
    model.queues.push_back(std::move(q));
  }
  const std::function<bool(std::string_view)> is_taken = [this](std::string_view name) {
    return cluster_queues_.contains(name);
  };
  tree_.compute({flavors_, nodes, is_taken, sums_}, model.queues, problems_);
  if (!tree_.empty()) {
    Flavor all;
    all.name = kAllNodes;
    all.opaque = opaque_;
    model.flavors.emplace(all.name, std::move(all));
  }
  return model;
}

void QueueBook::drain(const std::map<std::string, Node, std::less<>>& nodes, std::vector<Event>& out) {
  if (!dirty_) return;
  dirty_ = false;
  Model now = compute(nodes);
  std::vector<Event> later;
  diff<TopologyUpsert, TopologyRemove>(given_.topologies, now.topologies, out, later);
  diff<FlavorUpsert, FlavorRemove>(given_.flavors, now.flavors, out, later);

  std::map<std::string_view, const Queue*> before, after;
  for (const auto& q : given_.queues) before.emplace(q.name, &q);
  for (const auto& q : now.queues) after.emplace(q.name, &q);
  // A queue whose parent changes first becomes a root, so that no order of changes makes a cycle on the way.
  for (const auto& q : now.queues) {
    const auto it = before.find(q.name);
    if (it == before.end() || it->second->parent == q.parent || it->second->parent.empty()) continue;
    Queue root = *it->second;
    root.parent.clear();
    out.push_back(QueueUpsert{std::move(root)});
  }
  for (const auto& q : now.queues) {
    const auto it = before.find(q.name);
    if (it == before.end() || !(*it->second == q)) out.push_back(QueueUpsert{q});
  }
  for (auto it = given_.queues.rbegin(); it != given_.queues.rend(); ++it) {  // children before parents
    if (!after.contains(it->name)) out.push_back(QueueRemove{it->name});
  }
  out.insert(out.end(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
  given_ = std::move(now);
}

}  // namespace berth::dialect
