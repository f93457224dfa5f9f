// State's answers to facts from outside: what model/event.h lists.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "engine/core/state.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kMostLevels = 64;

// The requests of other pod sets of its flavor group, by name: they choose their flavors together.
std::vector<std::string> beside_of(const std::vector<const PodSet*>& sets, const PodSet& set) {
  std::set<std::string> names;
  for (const PodSet* other : sets) {
    if (set.flavor_group.empty() || other == &set || other->flavor_group != set.flavor_group) continue;
    const ResourceList asks = other->pod.counted ? *other->pod.counted : other->pod.total().value();
    for (const auto& [name, amount] : asks) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Status unknown(std::string_view what, std::string_view name) {
  return fail(ErrorCode::kNotFound, "{} {} is not known", what, name);
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
  if (refused_some && nodes.resources() != had_resources) configuration_changed();  // some may be asked for
  const NodeId id = *nodes.find(node.name);
  if (before && nodes.record(id).devices.size() != had_devices) charge_devices_again(id);
  gain_node(id);
  gained_now = true;
  holds_suspect = true;
  ++place_version;
  ++outside_version;
  return {};
}

Status State::node_remove(const std::string& name) {
  BERTH_TRY(nodes.remove(name));
  holds_suspect = true;
  ++place_version;
  ++outside_version;
  return {};
}

// Use that was charged before the node's devices were known gets its devices now.
void State::charge_devices_again(NodeId node) {
  if (const auto it = foreign_on_.find(node); it != foreign_on_.end()) {
    for (const std::string& uid : it->second) {
      Foreign& f = foreign_.at(uid);
      nodes.charge_foreign(node, f.pod, -1, f.devices);
      nodes.charge_foreign(node, f.pod, +1, f.devices);
    }
  }
  for (auto& w : workloads) {
    if (!w.used) continue;
    for (auto& set : w.sets) {
      for (auto& slot : set.slots) {
        if (slot.node != node || planes_of(slot.state) == 0) continue;
        const Shape& shape = shape_of(slot.charge);
        std::int64_t wanted = 0;
        for (const auto& d : shape.devices) wanted += d.count;
        if (std::popcount(slot.devices) == wanted) continue;
        const PlaneMask planes = planes_of(slot.state);
        nodes.charge(node, shape, slot.devices, planes, -1);
        slot.devices = nodes.choose_devices(node, shape, Mode::kStart);
        nodes.charge(node, shape, slot.devices, planes, +1);
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
  unplaced_news = true;
  pending.wake_all();
}

Status State::foreign_upsert(const ForeignPod& pod) {
  if (pod.uid.empty() || pod.node.empty())
    return fail(ErrorCode::kInvalid, "a foreign pod needs a uid and a node");
  for (const auto& request : pod.devices) BERTH_TRY(request.check());
  if (foreign_.count(pod.uid) > 0) BERTH_TRY(foreign_remove(pod.uid));
  const NodeId node = nodes.intern(pod.node);
  Foreign f{pod, node, {}};
  nodes.charge_foreign(node, f.pod, +1, f.devices);
  foreign_on_[node].insert(pod.uid);
  holds_suspect = true;  // it may sit where room is held
  foreign_.emplace(pod.uid, std::move(f));
  ++place_version;
  return {};
}

Status State::foreign_remove(const std::string& uid) {
  const auto it = foreign_.find(uid);
  if (it == foreign_.end()) return unknown("foreign pod", uid);
  const NodeId node = it->second.node;
  nodes.charge_foreign(node, it->second.pod, -1, it->second.devices);
  auto& on_node = foreign_on_[node];
  on_node.erase(uid);
  if (on_node.empty()) foreign_on_.erase(node);
  foreign_.erase(it);
  ++place_version;
  gain_node(node);
  gained_now = true;
  return {};
}

// --------------------------------------------------------------------------------------------------------------- queues

void State::configuration_changed() {
  rebuild_queues();
  ++config_version;
  ++place_version;
  ++outside_version;
  holds_suspect = true;
  unplaced_news = true;
  pending.wake_all();
}

Status State::flavor_upsert(const Flavor& flavor) {
  if (flavor.name.empty()) return fail(ErrorCode::kInvalid, "a flavor has no name");
  const auto known = flavors.find(flavor.name);
  if (known != flavors.end() && known->second == flavor) return {};
  flavors[flavor.name] = flavor;
  configuration_changed();
  return {};
}

Status State::flavor_remove(const std::string& name) {
  if (flavors.erase(name) == 0) return unknown("flavor", name);
  configuration_changed();
  return {};
}

QueueId State::intern_queue(const std::string& name) {
  const QueueId id(queue_names.intern(name));
  if (id.index() == queues.size()) {
    queues.emplace_back();
    queues.back().spec.name = name;
    rebuild_queues();
  }
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
    for (const std::int64_t amount :
         {q.nominal, q.borrowing_limit.value_or(0), q.lending_limit.value_or(0)}) {
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
  const QueueId id = intern_queue(queue.name);
  if (!queue.parent.empty()) intern_queue(queue.parent);
  QueueState& q = queues[id.index()];
  if (q.exists && q.spec == queue) return {};
  const bool same_rules = q.spec.order == queue.order && q.spec.ordering == queue.ordering &&
                          q.spec.preemption.within == queue.preemption.within;
  q.exists = true;
  q.spec = queue;
  if (!same_rules) apply_rules(id);
  configuration_changed();
  return {};
}

Status State::queue_remove(const std::string& name) {
  const auto id = queue_names.find(name);
  if (!id || !queues[*id].exists || *id == 0) return unknown("queue", name);
  queues[*id].exists = false;
  queues[*id].spec = Queue{};
  queues[*id].spec.name = name;
  apply_rules(QueueId(*id));
  configuration_changed();
  return {};
}

// Limits of the tree and the trouble of each queue, from the queues' specifications. Usage is kept.
void State::rebuild_queues() {
  std::vector<QuotaTree::Node> tree(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    QueueState& q = queues[i];
    q.trouble = q.spec.disabled;
    if (!q.spec.parent.empty()) tree[i].parent = QueueId(*queue_names.find(q.spec.parent));
    for (const LaneLimit& limit : q.spec.lanes.limits) (void)pair(limit.flavor, limit.resource);
    for (const auto& quota_entry : q.spec.quotas) {
      tree[i].limits.push_back({pair(quota_entry.flavor, quota_entry.resource), quota_entry.nominal,
                                quota_entry.borrowing_limit, quota_entry.lending_limit});
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
  quota.rebuild(std::move(tree), pair_flavors.size());
  rebuild_fairness();
}

// ------------------------------------------------------------------------------------------------------------ workloads

Status State::check_amounts(const Workload& workload) const {
  for (const PodSet* set : pod_sets_of(workload.root)) {
    for (const auto& [name, amount] : set->pod.requests) {
      if (amount > kMostAmount) {
        return fail(ErrorCode::kInvalid,
                    "workload {}: pod set \"{}\" asks for {} of {}, more than any node has", workload.name,
                    set->name, amount, name);
      }
    }
    if (set->pod.counted) {
      BERTH_TRY(set->pod.counted->check_not_negative());
      for (const auto& [name, amount] : *set->pod.counted) {
        if (amount <= kMostAmount) continue;
        return fail(ErrorCode::kInvalid,
                    "workload {}: pod set \"{}\" counts {} of {} for quota, more than Berth counts",
                    workload.name, set->name, amount, name);
      }
    }
    std::vector<std::string_view> seen;
    for (const auto& request : set->pod.claim.requests) {
      // More than a node can have is no error: where no nodes are known, quota alone says what there is.
      if (request.count > kMostAmount / 1000) {
        return fail(ErrorCode::kInvalid,
                    "workload {}: pod set \"{}\" asks for {} devices of {}, more than Berth counts",
                    workload.name, set->name, request.count, request.resource);
      }
      if (set->pod.requests.has(request.resource) ||
          std::find(seen.begin(), seen.end(), request.resource) != seen.end()) {
        return fail(ErrorCode::kInvalid, "workload {}: pod set \"{}\" asks for {} twice", workload.name,
                    set->name, request.resource);
      }
      seen.push_back(request.resource);
    }
  }
  return {};
}

void State::fill(WorkloadState& w, const Workload& from) {
  w.name = from.name;
  w.created = from.created;
  w.asks_more_since = from.asks_more_since;
  w.admitted = from.admitted;
  w.kind = from.kind;
  w.may_preempt = from.may_preempt;
  w.preemptible = from.preemptible;
  w.active = from.active;
  w.expected = from.expected_duration;
  w.minimum_runtime = from.minimum_runtime;
  w.restart = from.restart;
  w.own_priority = from.priority;
  w.priority = priority_of(w.queue, from);
}

void State::resize_sets(WorkloadId id, const std::vector<const PodSet*>& sets) {
  WorkloadState& w = workloads[id.index()];
  w.sets.resize(std::max(sets.size(), w.sets.size()));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    PodSetState& s = w.sets[i];
    const PodSet& from = *sets[i];
    if (s.spec.valid() && specs[s.spec].is_long) ++long_left_;
    s.spec = intern_spec(w.queue, from.pod, beside_of(sets, from));
    s.name = from.name;
    s.flavor_group = from.flavor_group;
    if (s.active > 0 && (s.least != from.least_count() || s.bands != from.bands))
      pending.wake_all();  // what of it may yield has changed
    s.least = from.least_count();
    s.bands = from.bands;
    std::size_t want = static_cast<std::size_t>(from.count);
    // Slots that have a place stay, whatever the new count says, until they are gone.
    for (std::size_t at = s.slots.size(); at > want; --at) {
      if (planes_of(s.slots[at - 1].state) != 0) {
        want = at;
        break;
      }
      set_slot(id, i, at - 1, SlotState::kAbsent, NodeId(), ChargeId(), 0);
    }
    const std::size_t had = s.slots.size();
    s.slots.resize(want);
    const auto present = static_cast<std::size_t>(from.present.value_or(from.count));
    if (want > had) demand.saw(spec(s.spec).kind, static_cast<std::int64_t>(want - had));
    for (std::size_t at = had; at < want; ++at) {
      if (at < present) set_slot(id, i, at, SlotState::kWaiting, NodeId(), ChargeId(), 0);
    }
  }
}

Status State::workload_upsert(const Workload& workload) {
  BERTH_TRY(check(workload));
  BERTH_TRY(check_amounts(workload));
  const auto sets = pod_sets_of(workload.root);
  const auto known = find_workload(workload.uid);
  const QueueId queue = intern_queue(workload.queue);
  WorkloadId id;
  if (known) {
    id = *known;
    WorkloadState& w = workloads[id.index()];
    if (w.queue != queue && w.running() + w.held() + w.releasing() > 0) {
      return fail(ErrorCode::kInvalid,
                  "workload {}: its queue cannot change from {} to {} while it has places", workload.name,
                  queue_names.name(w.queue.value), workload.queue);
    }
    if (sets.size() < w.sets.size()) {
      return fail(ErrorCode::kInvalid, "workload {}: a revision has {} pod sets, but it had {}",
                  workload.name, sets.size(), w.sets.size());
    }
    leave_line(id);
    if (w.running() > 0 && w.priority != priority_of(w.queue, workload))
      // work that may preempt it has changed
      pending.wake_all();
    if (w.took_back && w.active != workload.active)
      pending.wake_all();  // work that is suspended because of it
    if (w.preemptible != workload.preemptible || w.minimum_runtime != workload.minimum_runtime)
      pending.wake_all();
    // its place in line has changed
    if (w.running() > 0 && w.created != workload.created) pending.wake_all();
    w.queue = queue;
  } else {
    if (free_workloads_.empty()) {
      id = WorkloadId(workloads.size());
      workloads.emplace_back();
    } else {
      id = free_workloads_.back();
      free_workloads_.pop_back();
      workloads[id.index()] = WorkloadState{};
    }
    WorkloadState& w = workloads[id.index()];
    w.used = true;
    w.uid = workload.uid;
    w.queue = queue;
    w.arrival = next_arrival_++;
    w.progress.waits_since = workload.created;
    workload_index_.emplace(workload.uid, id);
  }
  fill(workloads[id.index()], workload);
  put_in_lane(workloads[id.index()], queues[queue.index()].lanes.number(workload.lane, now));
  std::string key = structure_key(workload.root);
  const auto structure = structures.find(key);
  workloads[id.index()].structure =
      structure ? *structure : structures.add(std::move(key), make_structure(workload.root));
  const auto& groups = structures[workloads[id.index()].structure].groups;
  workloads[id.index()].needs_all = std::all_of(
      groups.begin(), groups.end(), [](const StructureGroup& g) { return g.least == g.children; });
  const bool started = queues[queue.index()].started.count(id) > 0;
  if (started) count_priority(id, -1);
  resize_sets(id, sets);
  if (started) count_priority(id, +1);
  WorkloadState& w = workloads[id.index()];
  if (!w.active && w.held() > 0) {
    for (std::size_t s = 0; s < w.sets.size(); ++s) {
      for (std::size_t i = 0; i < w.sets[s].slots.size(); ++i) {
        if (w.sets[s].slots[i].state == SlotState::kHeld) move_slot(id, s, i, SlotState::kWaiting);
      }
    }
  }
  if (w.held() > 0) holds_suspect = true;  // its least counts may be others now
  settle(id);
  changed(id);
  return {};
}

Status State::workload_remove(const std::string& uid) {
  const auto id = find_workload(uid);
  if (!id) return unknown("workload", uid);
  WorkloadState& w = workloads[id->index()];
  if (w.running() > 0) ++outside_version;
  if (w.took_back) pending.wake_all();  // work that is suspended because of it
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    for (std::size_t i = 0; i < w.sets[s].slots.size(); ++i) {
      if (w.sets[s].slots[i].state != SlotState::kAbsent)
        set_slot(*id, s, i, SlotState::kAbsent, NodeId(), ChargeId(), 0);
    }
  }
  settle(*id);
  for (const PodSetState& set : w.sets) long_left_ += specs[set.spec].is_long ? 1 : 0;
  workload_index_.erase(uid);
  to_withdraw.erase(*id);
  w = WorkloadState{};
  free_workloads_.push_back(*id);
  sweep();
  return {};
}

Status State::slot_update(const SlotUpdate& update) {
  const auto id = find_workload(update.workload);
  if (!id) return unknown("workload", update.workload);
  WorkloadState& w = workloads[id->index()];
  if (update.pod_set < 0 || update.pod_set >= static_cast<std::int64_t>(w.sets.size())) {
    return fail(ErrorCode::kInvalid, "workload {} has no pod set {}", w.name, update.pod_set);
  }
  const auto set = static_cast<std::size_t>(update.pod_set);
  if (update.index < 0 || update.index >= static_cast<std::int64_t>(w.sets[set].slots.size())) {
    return fail(ErrorCode::kInvalid, "workload {}: pod set {} has no slot {}", w.name, update.pod_set,
                update.index);
  }
  const auto at = static_cast<std::size_t>(update.index);
  const Slot slot = w.sets[set].slots[at];
  if (w.held() > 0) holds_suspect = true;  // with this slot gone, what is held may make no whole gang
  const bool ran = slot.state == SlotState::kBinding || slot.state == SlotState::kRunning;
  if (ran && (planes_of(update.state) & kNowBit) == 0) ++outside_version;
  switch (update.state) {
    case SlotState::kHeld:
      return fail(ErrorCode::kInvalid, "workload {}: a hold is decided, not seen", w.name);
    case SlotState::kWaiting:
      if (slot.state != SlotState::kHeld && slot.state != SlotState::kWaiting) {
        set_slot(*id, set, at, SlotState::kWaiting, NodeId(), ChargeId(), 0);
      }
      break;
    case SlotState::kAbsent:
    case SlotState::kGone:
      set_slot(*id, set, at, SlotState::kAbsent, NodeId(), ChargeId(), 0);
      break;
    case SlotState::kReleasing:
      if (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) {
        move_slot(*id, set, at, SlotState::kReleasing);
      } else if (slot.state != SlotState::kReleasing) {
        set_slot(*id, set, at, SlotState::kAbsent, NodeId(), ChargeId(), 0);
      }
      break;
    case SlotState::kBinding:
    case SlotState::kRunning: {
      const ChargeId noted = choice_of_flavors(w.sets[set].spec, update.flavors);
      // Work with quota only: its flavors or its place say so. Work that awaits nodes may be seen on a node.
      const bool quota_only =
          noted.valid() ? shape_of(noted).opaque : slot.node.valid() && nodes.is_opaque(slot.node);
      const bool awaited = quota_only && charges[noted.valid() ? noted : slot.charge].awaited;
      const bool opaque = quota_only && (!awaited || update.node.empty());
      if (update.node.empty() && !opaque) {
        return fail(ErrorCode::kInvalid, "workload {}: a {} slot needs a node", w.name,
                    enum_name(update.state));
      }
      // A late report: the slot is being evicted meanwhile, and its room stays pledged to the preemptor.
      if (slot.state == SlotState::kReleasing && nodes.record(slot.node).spec.name == update.node) break;
      const NodeId node = opaque ? nodes.opaque() : nodes.intern(update.node);
      if ((slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) && slot.node == node) {
        move_slot(*id, set, at, update.state);
        break;
      }
      const ChargeId charge = noted.valid() ? noted : choice_for_node(w.sets[set].spec, node);
      if (!charge.valid()) {
        return fail(ErrorCode::kInvalid,
                    "workload {}: a slot runs on {}, but nothing says how to charge it: {}", w.name,
                    update.node, to_text(specs[w.sets[set].spec].problem));
      }
      // Free what it had first, so that its own room does not stand in its way.
      set_slot(*id, set, at, SlotState::kAbsent, NodeId(), ChargeId(), 0);
      const Shape& shape = shape_of(charge);
      const auto& groups = structures[w.structure].groups;
      const bool where_held = slot.state == SlotState::kHeld && slot.node == node;
      if (w.held() > 0 && !where_held &&
          std::any_of(groups.begin(), groups.end(), [](const StructureGroup& g) {
            return !g.topology.required.empty() || !g.topology.segment_level.empty();
          })) {
        workloads[id->index()].placed_elsewhere = true;
      }
      const auto told = nodes.devices_of(node, shape, update.devices);
      const std::uint64_t devices = told ? *told : nodes.choose_devices(node, shape, Mode::kStart);
      set_slot(*id, set, at, update.state, node, charge, devices);
      holds_suspect = true;
      if (!ran) tell_start(*id, set, update.since);
      break;
    }
  }
  settle(*id);
  changed(*id);
  return {};
}

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

Status State::withdraw(const Withdraw& event) {
  const auto id = find_workload(event.workload);
  if (!id) return unknown("workload", event.workload);
  WorkloadState& w = workloads[id->index()];
  if (w.running() + w.held() == 0) return {};
  w.withdraw = true;
  w.withdraw_why = event.why;
  to_withdraw.insert(*id);
  return {};
}

}  // namespace berth::engine
