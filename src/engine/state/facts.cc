// State's answers to facts about the cluster: nodes, topologies, flavors, queues, foreign pods, the demand mix (model/event.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/nodes/choose.h"
#include "engine/state/state.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kMostLevels = 64;

Status unknown(std::string_view what, std::string_view name) {
  return fail(ErrorCode::kNotFound, "{} {} is not known", what, name);
}

// settle_configuration() gives it its place in the tree.
QueueId add_queue(State& state, const std::string& name) {
  const QueueId id(state.queue_names.intern(name));
  if (id.index() == state.queues.size()) {
    state.queues.emplace_back();
    state.queues.back().spec.name = name;
  }
  return id;
}

GrantId grant_of_foreign(Grants& grants, NodeTable& nodes, NodeId node, const ForeignPod& pod) {
  choose_foreign(nodes, node, pod, grants.blank());
  return grants.intern_blank();
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------- nodes

Status State::node_upsert(const Node& node) {
  const auto before = nodes.find(node.name);
  if (before && nodes.record(*before).alive && nodes.record(*before).spec == node) return {};
  const std::size_t had_devices = before ? nodes.record(*before).devices.size() : 0;
  const bool refused_some = nodes.is_full_of_asked();
  const std::size_t had_resources = nodes.resources();
  BERTH_TRY(nodes.upsert(node));
  if (refused_some && nodes.resources() != had_resources) news.configuration = true;  // some may be asked for
  const NodeId id = *nodes.find(node.name);
  accounts.counted().set_node(id);
  if (before && nodes.record(id).devices.size() != had_devices) charge_devices_again(id);
  news.gain_node(id);
  news.gained_now = true;
  news.holds_suspect = true;
  ++place_version;
  ++outside_version;
  return {};
}

Status State::node_remove(const std::string& name) {
  BERTH_TRY(nodes.remove(name));
  accounts.counted().set_node(*nodes.find(name));
  news.holds_suspect = true;
  ++place_version;
  ++outside_version;
  return {};
}

// Use that was charged before the node's devices were known gets its devices now.
void State::charge_devices_again(NodeId node) {
  Grants& grants = accounts.grants();
  foreign.each_on(node, [&](ForeignPods::Entry& f) {
    nodes.charge_foreign(node, f.pod, grants[f.grant], -1);
    f.grant = grant_of_foreign(grants, nodes, node, f.pod);
    nodes.charge_foreign(node, f.pod, grants[f.grant], +1);
  });
  for (auto& w : workloads) {
    if (!w.used) continue;
    for (auto& set : w.sets) {
      for (auto& slot : set.slots) {
        if (slot.node != node || planes_of(slot.state) == 0) continue;
        const Shape& shape = shape_of(slot.charge);
        std::int64_t wanted = 0;
        for (const auto& d : shape.devices) wanted += d.count;
        if (static_cast<std::int64_t>(grants[slot.grant].pieces.size()) == wanted) continue;
        const PlaneMask planes = planes_of(slot.state);
        nodes.charge(node, shape, grants[slot.grant], planes, -1);
        choose_first(nodes, node, shape, Mode::kStart, grants.blank());
        slot.grant = grants.intern_blank();
        nodes.charge(node, shape, grants[slot.grant], planes, +1);
      }
    }
  }
}

Status State::topology_upsert(const Topology& topology) {
  if (topology.name.empty()) return fail(ErrorCode::kInvalid, "a topology has no name");
  if (topology.levels.empty()) return fail(ErrorCode::kInvalid, "topology {} has no levels", topology.name);
  const auto known = topologies.find(topology.name);
  if (known != topologies.end() && known->second == topology) return {};
  topologies[topology.name] = topology;
  topologies_changed();
  return {};
}

Status State::topology_remove(const std::string& name) {
  if (topologies.erase(name) == 0) return unknown("topology", name);
  topologies_changed();
  return {};
}

void State::topologies_changed() {
  std::vector<Topology> list;
  for (const auto& [name, topology] : topologies) list.push_back(topology);
  nodes.set_topologies(list);
  ++place_version;
  news.unplaced = true;
  pending.wake_all();
}

Status State::foreign_upsert(const ForeignPod& pod) {
  if (pod.uid.empty() || pod.node.empty())
    return fail(ErrorCode::kInvalid, "a foreign pod needs a uid and a node");
  for (const auto& request : pod.devices) BERTH_TRY(request.check());
  if (foreign.find(pod.uid) != nullptr) BERTH_TRY(foreign_remove(pod.uid));
  const NodeId node = nodes.intern(pod.node);
  Grants& grants = accounts.grants();
  ForeignPods::Entry f{pod, node, grant_of_foreign(grants, nodes, node, pod),
                       accounts.counted().intern(pod.terms, pod.selected, {}, pod.preferred_terms)};
  nodes.charge_foreign(node, f.pod, grants[f.grant], +1);
  if (f.counted.valid()) {
    accounts.counted().add(node, f.counted, counted_planes(f.pod), +1);
    accounts.counted().news().note();
  }
  news.holds_suspect = true;  // it may sit where room is held
  foreign.add(std::move(f));
  ++place_version;
  return {};
}

Status State::foreign_remove(const std::string& uid) {
  const ForeignPods::Entry* known = foreign.find(uid);
  if (known == nullptr) return unknown("foreign pod", uid);
  const NodeId node = known->node;
  nodes.charge_foreign(node, known->pod, accounts.grants()[known->grant], -1);
  if (known->counted.valid()) {
    accounts.counted().add(node, known->counted, counted_planes(known->pod), -1);
    accounts.counted().news().note();
  }
  foreign.erase(uid);
  ++place_version;
  news.gain_node(node);
  news.gained_now = true;
  return {};
}

// --------------------------------------------------------------------------------------------------------------- queues

void State::settle_configuration() {
  if (!std::exchange(news.configuration, false)) return;
  rebuild_queues();
  ++config_version;
  ++place_version;
  ++outside_version;
  news.holds_suspect = true;
  news.unplaced = true;
  pending.wake_all();
}

Status State::flavor_upsert(const Flavor& flavor) {
  if (flavor.name.empty()) return fail(ErrorCode::kInvalid, "a flavor has no name");
  const auto known = flavors.find(flavor.name);
  if (known != flavors.end() && known->second == flavor) return {};
  flavors[flavor.name] = flavor;
  news.configuration = true;
  return {};
}

Status State::flavor_remove(const std::string& name) {
  if (flavors.erase(name) == 0) return unknown("flavor", name);
  news.configuration = true;
  return {};
}

QueueId State::intern_queue(const std::string& name) {
  const std::size_t known = queues.size();
  const QueueId id = add_queue(*this, name);
  if (queues.size() > known) rebuild_queues();
  return id;
}

Status State::queue_upsert(const Queue& queue) {
  if (queue.name.empty()) return fail(ErrorCode::kInvalid, "a queue has no name");
  if (queue.weight.num < 0 || queue.weight.den <= 0) {
    return fail(ErrorCode::kInvalid, "queue {}: weight {}/{}; it must not be negative", queue.name,
                queue.weight.num, queue.weight.den);
  }
  for (const DurationMs minimum :
       {queue.preemption.minimum_runtime, queue.preemption.minimum_runtime_across.value_or(0)}) {
    if (minimum >= 0) continue;
    return fail(ErrorCode::kInvalid, "queue {}: a minimum runtime of {} ms; it must not be negative",
                queue.name, minimum);
  }
  for (const auto& q : queue.quotas) {
    for (const std::int64_t amount : {q.nominal, q.borrowing_limit.value_or(0), q.lending_limit.value_or(0),
                                      q.firm_limit.value_or(0), q.subtree_limit.value_or(0)}) {
      if (amount < 0 || amount > kMostQuota) {
        return fail(ErrorCode::kInvalid,
                    "queue {}: a quota of {} for {} in flavor {}; it must lie between 0 and 2^60", queue.name,
                    amount, q.resource, q.flavor);
      }
    }
  }
  const Ordering& ordering = queue.ordering;
  if (queue.lanes.half_life < kSecond) {
    return fail(ErrorCode::kInvalid, "queue {}: its lanes forget by halves in {} ms; at least a second",
                queue.name, queue.lanes.half_life);
  }
  const auto wrong_weight = [](const auto& of) { return of.weight.num < 0 || of.weight.den <= 0; };
  if (std::any_of(queue.lanes.lanes.begin(), queue.lanes.lanes.end(), wrong_weight) ||
      std::any_of(queue.lanes.resource_weights.begin(), queue.lanes.resource_weights.end(), wrong_weight)) {
    return fail(ErrorCode::kInvalid, "queue {}: a weight of its lanes is negative", queue.name);
  }
  for (auto it = queue.lanes.limits.begin(); it != queue.lanes.limits.end(); ++it) {
    const bool twice = std::any_of(queue.lanes.limits.begin(), it, [&](const LaneLimit& other) {
      return other.flavor == it->flavor && other.resource == it->resource;
    });
    if (it->amount >= 0 && it->amount <= kMostQuota && !twice) continue;
    return fail(ErrorCode::kInvalid,
                "queue {}: a limit of {} for {} in flavor {} for each of its lanes; it must lie between 0 "
                "and 2^60, and appear once",
                queue.name, it->amount, it->resource, it->flavor);
  }
  if (ordering.limit() < 0 || ordering.attained_first < 1 || ordering.attained_ratio < 2 ||
      ordering.attained_levels < 1 || ordering.attained_levels > kMostLevels || queue.half_life < kSecond) {
    return fail(
        ErrorCode::kInvalid,
        "queue {}: its ordering makes no sense: age limit {} ms (0 = never), first level {} device-ms (at "
        "least 1), ratio {} (at least 2), {} levels (1 to {}), half-life {} ms (at least a second)",
        queue.name, ordering.limit(), ordering.attained_first, ordering.attained_ratio,
        ordering.attained_levels, kMostLevels, queue.half_life);
  }
  const bool is_new = !queue_names.find(queue.name);
  const QueueId id = add_queue(*this, queue.name);
  if (!queue.parent.empty()) add_queue(*this, queue.parent);
  QueueState& q = queues[id.index()];
  if (q.exists && q.spec == queue) return {};
  const bool same_rules = q.spec.order == queue.order && q.spec.ordering == queue.ordering &&
                          q.spec.preemption.within == queue.preemption.within;
  if (!same_rules && !is_new) settle_configuration();  // its workloads leave their line and come back
  q.exists = true;
  q.spec = queue;
  endings.note_queue(id, queue.stop);
  if (!same_rules) apply_rules(id);
  news.configuration = true;
  return {};
}

Status State::queue_remove(const std::string& name) {
  const auto id = queue_names.find(name);
  if (!id || !queues[*id].exists || *id == 0) return unknown("queue", name);
  settle_configuration();
  queues[*id].exists = false;
  queues[*id].spec = Queue{};
  queues[*id].spec.name = name;
  endings.note_queue(QueueId(*id), StopPolicy::kNone);
  apply_rules(QueueId(*id));
  news.configuration = true;
  return {};
}

// Limits of the tree and the trouble of each queue, from the queues' specifications. Usage is kept.
void State::rebuild_queues() {
  std::vector<QuotaTree::Node> tree(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    QueueState& q = queues[i];
    q.trouble = q.spec.disabled;
    if (!q.spec.parent.empty()) tree[i].parent = QueueId(*queue_names.find(q.spec.parent));
    for (const LaneLimit& limit : q.spec.lanes.limits) (void)pairs.of(limit.flavor, limit.resource);
    for (const auto& quota_entry : q.spec.quotas) {
      tree[i].limits.push_back({pairs.of(quota_entry.flavor, quota_entry.resource), quota_entry.nominal,
                                quota_entry.borrowing_limit, quota_entry.lending_limit,
                                quota_entry.subtree_limit});
    }
  }
  // Walk up from each queue: a cycle disables every queue on it and below it.
  std::vector<std::uint8_t> cyclic(queues.size(), 0);
  for (std::size_t i = 0; i < queues.size(); ++i) {
    std::size_t steps = 0;
    QueueId at(i);
    while (at.valid() && steps <= queues.size()) {
      at = tree[at.index()].parent;
      ++steps;
    }
    if (at.valid()) cyclic[i] = 1;
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (cyclic[i] == 0) continue;
    queues[i].trouble = fmt::format("its chain of parents has a cycle ({} -> {})", queues[i].spec.name,
                                    queues[i].spec.parent);
    tree[i].parent = QueueId();
  }
  // An error in a queue disables all queues below it.
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!queues[i].exists) continue;
    for (QueueId up = tree[i].parent; up.valid() && queues[i].trouble.empty(); up = tree[up.index()].parent) {
      const QueueState& above = queues[up.index()];
      if (!above.exists) {
        queues[i].trouble = fmt::format("its {} {} does not exist",
                                        up == tree[i].parent ? "parent" : "ancestor", above.spec.name);
      } else if (!above.spec.disabled.empty()) {
        queues[i].trouble =
            fmt::format("its ancestor {} is disabled: {}", above.spec.name, above.spec.disabled);
      }
    }
  }
  keepers.clear();
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const Queue& spec = queues[i].spec;
    const bool may_starve = spec.order == QueueOrder::kStrict && spec.leaf && !spec.unlimited &&
                            spec.preemption.reclaim != Reclaim::kAny;
    bool by_past = false;
    QueueId root(i);
    for (QueueId up = tree[i].parent; up.valid(); up = tree[up.index()].parent) {
      by_past = by_past || queues[up.index()].spec.sharing == Sharing::kDecayedUse;
      root = up;
    }
    if (may_starve && !by_past && tree[i].parent.valid()) keepers[root].emplace_back(i);
  }
  quota.rebuild(std::move(tree), pairs.size());
  rebuild_fairness();
}

// ------------------------------------------------------------------------------------------------------------ workloads

Status State::demand_mix(const DemandMix& mix) {
  std::vector<FrozenKind> kinds;
  for (std::size_t i = 0; i < mix.kinds.size(); ++i) {
    const DemandKind& from = mix.kinds[i];
    if (from.weight < 1) {
      return fail(ErrorCode::kInvalid, "demand mix: kind {} has a weight of {}; it must be at least 1", i,
                  from.weight);
    }
    BERTH_TRY(from.pod.requests.check_not_negative());
    for (const auto& request : from.pod.claim.requests) BERTH_TRY(request.check());
    BERTH_TRY(from.pod.total());
    const Shape base = base_shape(from.pod);
    const Shape* const alone = &base;
    kinds.push_back({make_kind({&alone, 1}, NodeTable::cpu()), from.weight});
  }
  demand.give(kinds);
  return {};
}

}  // namespace berth::engine
