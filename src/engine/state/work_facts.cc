// State's answers to facts about work: workloads, their slots, and withdrawals.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "engine/nodes/choose.h"
#include "engine/state/queue_lanes.h"
#include "engine/state/state.h"

namespace berth::engine {
namespace {

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

Status not_known(const std::string& uid) {
  return fail(ErrorCode::kNotFound, "workload {} is not known", uid);
}

Status check_slot(const WorkloadState& w, const SlotUpdate& update) {
  if (update.pod_set < 0 || update.pod_set >= static_cast<std::int64_t>(w.sets.size()))
    return fail(ErrorCode::kInvalid, "workload {} has no pod set {}", w.name, update.pod_set);
  const auto& slots = w.sets[static_cast<std::size_t>(update.pod_set)].slots;
  if (update.index >= 0 && update.index < static_cast<std::int64_t>(slots.size())) return {};
  return fail(ErrorCode::kInvalid, "workload {}: pod set {} has no slot {}", w.name, update.pod_set,
              update.index);
}

bool runs(SlotState state) {
  return state == SlotState::kBinding || state == SlotState::kRunning;
}

// A slot with quota only: its flavors or its place say so. Work that awaits nodes may be seen on a node.
bool is_seen_without_node(const State& state, const Slot& slot, ChargeId noted, std::string_view node) {
  const bool quota_only =
      noted.valid() ? state.shape_of(noted).opaque : slot.node.valid() && state.nodes.is_opaque(slot.node);
  return quota_only && (!state.charges[noted.valid() ? noted : slot.charge].awaited || node.empty());
}

bool asks_for_domains(const Structure& structure) {
  return std::any_of(structure.groups.begin(), structure.groups.end(), [](const StructureGroup& g) {
    return !g.topology.required.empty() || !g.topology.segment_level.empty();
  });
}

// As it was reported. If that cannot be, the first devices that suffice.
GrantId seen_grant(State& state, NodeId node, ChargeId charge, std::span<const std::int64_t> devices) {
  Grants& grants = state.accounts.grants();
  const Shape& shape = state.shape_of(charge);
  if (!take_reported(state.nodes, node, shape, devices, grants.blank()))
    choose_first(state.nodes, node, shape, Mode::kStart, grants.blank());
  return grants.intern_blank();
}

Status check_amounts(const Workload& workload) {
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

// A pod set has this spec now.
void join(Spec& spec, SweepRule& sweeps) {
  ++spec.pod_sets;
  if (std::exchange(spec.is_left, false)) sweeps.note_back(spec.is_long);
}
// A pod set has it no more.
void leave(Spec& spec, SweepRule& sweeps) {
  if (--spec.pod_sets > 0) return;
  spec.is_left = true;
  sweeps.note_left(spec.is_long);
}

}  // namespace

void State::fill(WorkloadState& w, const Workload& from) {
  w.name = from.name;
  w.created = from.created;
  w.asks_more_since = from.asks_more_since;
  w.admitted = from.admitted;
  w.kind = from.kind;
  w.may_preempt = from.may_preempt;
  w.active = from.active;
  w.whole_first = from.whole_first;
  w.expected = from.expected_duration;
  w.minimum_runtime = from.minimum_runtime;
  if (from.broken_for || from.preempts_after > 0 || w.delays->broken.most || w.delays_preemption()) {
    Delays& delays = w.delays.edit();
    delays.broken.most = from.broken_for;
    delays.broken.reported = from.broken_since;
    delays.preempts_after = from.preempts_after;
  }
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
    const SpecId before = std::exchange(s.spec, intern_spec(w.queue, from.pod, beside_of(sets, from)));
    join(specs[s.spec], sweeps_);
    if (before.valid()) leave(specs[before], sweeps_);
    count_again(*this, id, i);
    if (s.active > 0 && (s.least != from.least_count() || s.marks->bands != from.bands))
      pending.wake_all();  // what of it may yield has changed
    s.least = from.least_count();
    PodSetMarks marks{w.sets.size() > 1 ? from.name : "", from.flavor_group, from.bands};
    if (*s.marks != marks) s.marks = std::move(marks);
    s.budgets = from.pod.budgets;
    std::size_t want = static_cast<std::size_t>(from.count);
    // Slots that have a place stay, whatever the new count says, until they are gone.
    for (std::size_t at = s.slots.size(); at > want; --at) {
      if (planes_of(s.slots[at - 1].state) != 0) {
        want = at;
        break;
      }
      set_slot(id, i, at - 1, SlotState::kAbsent);
    }
    const std::size_t had = s.slots.size();
    s.slots.resize(want);
    const auto present = static_cast<std::size_t>(from.present.value_or(from.count));
    if (want > had) demand.saw(spec(s.spec).kind, static_cast<std::int64_t>(want - had));
    for (std::size_t at = had; at < want; ++at) {
      if (at < present) set_slot(id, i, at, SlotState::kWaiting);
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
    id = ids_.add(workload.uid);
    if (id.index() == workloads.size()) workloads.emplace_back();
    WorkloadState& w = workloads[id.index()];
    w.used = true;
    w.uid = workload.uid;
    w.queue = queue;
    w.arrival = next_arrival_++;
    w.progress.waits_since = workload.created;
  }
  fill(workloads[id.index()], workload);
  if (put_in_lane(*this, id, queues[queue.index()].lanes.number(workload.lane, now))) gain_quota(queue);
  if (make_preemptible(*this, id, workload.preemptible)) gain_quota(queue);
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
  if (w.held() > 0) news.holds_suspect = true;  // its least counts may be others now
  settle(id);
  changed(id);
  return {};
}

Status State::workload_remove(const std::string& uid) {
  const auto id = find_workload(uid);
  if (!id) return not_known(uid);
  WorkloadState& w = workloads[id->index()];
  if (w.running() > 0) ++outside_version;
  if (w.took_back) pending.wake_all();  // work that is suspended because of it
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    for (std::size_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const SlotState was = w.sets[s].slots[i].state;
      if (runs(was)) demand.ended(1);
      if (was != SlotState::kAbsent) set_slot(*id, s, i, SlotState::kAbsent);
    }
  }
  settle(*id);
  for (const PodSetState& set : w.sets) leave(specs[set.spec], sweeps_);
  ids_.erase(uid, *id);
  endings.to_withdraw.erase(*id);
  endings.broken.erase({w.delays->broken.ends_at, *id});
  w = WorkloadState{};
  sweep();
  return {};
}

Status State::slot_update(const SlotUpdate& update) {
  const auto id = find_workload(update.workload);
  if (!id) return not_known(update.workload);
  WorkloadState& w = workloads[id->index()];
  BERTH_TRY(check_slot(w, update));
  const auto set = static_cast<std::size_t>(update.pod_set);
  const auto at = static_cast<std::size_t>(update.index);
  const Slot slot = w.sets[set].slots[at];
  if (w.held() > 0) news.holds_suspect = true;  // with this slot gone, what is held may make no whole gang
  const bool ran = runs(slot.state);
  if (ran && (planes_of(update.state) & kNowBit) == 0) {
    ++outside_version;
    demand.ended(1);
  }
  switch (update.state) {
    case SlotState::kHeld:
      return fail(ErrorCode::kInvalid, "workload {}: a hold is decided, not seen", w.name);
    case SlotState::kWaiting:
      if (slot.state != SlotState::kHeld && slot.state != SlotState::kWaiting) {
        set_slot(*id, set, at, SlotState::kWaiting);
      }
      break;
    case SlotState::kAbsent:
    case SlotState::kGone:
      set_slot(*id, set, at, SlotState::kAbsent);
      break;
    case SlotState::kReleasing:
      if (ran) {
        move_slot(*id, set, at, SlotState::kReleasing);
      } else if (slot.state != SlotState::kReleasing) {
        set_slot(*id, set, at, SlotState::kAbsent);
      }
      break;
    case SlotState::kBinding:
    case SlotState::kRunning: {
      const ChargeId noted = choice_of_flavors(w.sets[set].spec, update.flavors);
      const bool opaque = is_seen_without_node(*this, slot, noted, update.node);
      if (update.node.empty() && !opaque) {
        return fail(ErrorCode::kInvalid, "workload {}: a {} slot needs a node", w.name,
                    enum_name(update.state));
      }
      // A late report: the slot is being evicted meanwhile, and its room stays pledged to the preemptor.
      if (slot.state == SlotState::kReleasing && nodes.record(slot.node).spec.name == update.node) break;
      const NodeId node = opaque ? nodes.opaque() : nodes.intern(update.node);
      if (ran && slot.node == node) {
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
      set_slot(*id, set, at, SlotState::kAbsent);
      const bool where_held = slot.state == SlotState::kHeld && slot.node == node;
      if (w.held() > 0 && !where_held && asks_for_domains(structures[w.structure])) w.placed_elsewhere = true;
      set_slot(*id, set, at, update.state, node, charge, seen_grant(*this, node, charge, update.devices));
      news.holds_suspect = true;
      if (!ran) tell_start(*id, set, update.since);
      if (update.since > 0 && !opaque && !shape_of(charge).devices.empty())
        nodes.held().ages.began(node, {*id, static_cast<std::uint32_t>(set), static_cast<std::uint32_t>(at)},
                                update.since);
      break;
    }
  }
  settle(*id);
  changed(*id);
  return {};
}

Status State::withdraw(const Withdraw& event) {
  const auto id = find_workload(event.workload);
  if (!id) return not_known(event.workload);
  WorkloadState& w = workloads[id->index()];
  if (w.running() + w.held() == 0) return {};
  w.withdraw = true;
  w.withdraw_why = event.why;
  endings.to_withdraw.insert(*id);
  return {};
}

}  // namespace berth::engine
