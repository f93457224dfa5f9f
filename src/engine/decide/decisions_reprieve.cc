// Evictions of the same decide() that are taken back (decisions.h).
#include <algorithm>
#include <utility>

#include "engine/decide/decisions.h"
#include "engine/state/bands.h"

namespace berth::engine {

// Pods that must be near others depend on what starts meanwhile. For those that spread the order matters in which slots of several pod
// sets come, and a search tries few orders.
bool Decisions::may_need_less(const std::vector<PlacedSlot>& placed) const {
  const Counted& counted = state_.accounts.counted();
  return counted.any() && std::any_of(placed.begin(), placed.end(), [&](const PlacedSlot& p) {
           const CountedId id = state_.shape_of(p.charge).counted;
           return id.valid() && (counted.has_near(id) || counted.has_spread(id));
         });
}

Decisions::Yield Decisions::yield_of(const VictimPlan::Victim& victim, WorkloadId to) const {
  const WorkloadState& v = state_.workloads[victim.workload.index()];
  Yield out{victim.workload, to, out_.size(), {}, v.progress, v.started, v.delays->evicted_at, v.takings};
  for (const auto& [s, i] : slots_of(victim))
    out.slots.emplace_back(SlotName(s, i), v.sets[s].slots[i].state);
  return out;
}

// Work that only waits for room is looked at in a later decide(): with the pods that are there then.
bool Decisions::reprieve() {
  bool any = false;
  for (const auto& [id, before] : takers_) any = reprieve(WorkloadId(id)) || any;
  return any;
}

bool Decisions::reprieve(WorkloadId id) {
  std::vector<std::size_t> holds, starts;  // in out_
  const std::string& uid = state_.workloads[id.index()].uid;
  for (std::size_t at = 0; at < out_.size(); ++at) {
    if (out_[at].slots.empty() || out_[at].workload != uid) continue;
    if (out_[at].kind == DecisionKind::kHold) holds.push_back(at);
    if (out_[at].kind == DecisionKind::kStart) starts.push_back(at);
  }
  std::vector<std::vector<std::size_t>> groups;  // of yields_, that stay together
  const WorkloadState& w = state_.workloads[id.index()];
  // In a strict queue the hold let work behind it start.
  const bool hold_ended = w.held() == 0 && state_.queues[w.queue.index()].spec.order != QueueOrder::kStrict &&
                          !gave_way(uid, DecisionKind::kReleaseHold) && !was_reclaimed_from(w.queue);
  for (std::size_t k = yields_.size(); k-- > 0;) {  // the last one first, as a search gives victims back
    if (yields_[k].to != id) continue;
    if (!starts.empty() && holds.empty()) {
      groups.push_back({k});
    } else if (starts.empty() && holds.size() == 1 && hold_ended) {
      groups.resize(1);
      groups.front().push_back(k);
    }
  }
  bool any = false;
  for (const auto& group : groups) {
    if (!may_stay(group)) {
      state_.abandon();
      continue;
    }
    state_.commit();
    for (const std::size_t k : group) {
      keep(yields_[k]);
      yields_[k].to = {};
    }
    any = true;
  }
  if (any) give_back_takings(id);
  if (any && starts.empty()) drop_ended_hold(id);
  std::erase_if(yields_, [](const Yield& yield) { return !yield.to.valid(); });
  return any;
}

// Whether a decision of this kind gave it room.
bool Decisions::gave_way(const std::string& uid, DecisionKind kind) const {
  return std::any_of(out_.begin(), out_.end(), [&](const Decision& d) {
    return d.kind == kind && !d.slots.empty() && d.reason.subject == uid;
  });
}

// Whether work of this queue has yielded to other queues. Those may reclaim while it borrows, also because of a hold that has ended since.
bool Decisions::was_reclaimed_from(QueueId queue) const {
  return std::any_of(out_.begin(), out_.end(), [&](const Decision& d) {
    if (d.kind != DecisionKind::kEvict || d.slots.empty()) return false;
    const auto victim = state_.find_workload(d.workload);
    const auto to = state_.find_workload(d.reason.subject);
    return victim && to && state_.workloads[victim->index()].queue == queue &&
           state_.workloads[to->index()].queue != queue;
  });
}

// The slots that decisions of this kind gave their places.
std::vector<Slot> Decisions::placed_by(DecisionKind kind) const {
  std::vector<Slot> out;
  for (const Decision& d : out_) {
    if (d.kind != kind) continue;
    const auto id = state_.find_workload(d.workload);
    for (const SlotPlacement& p : d.slots) {
      const auto& set = state_.workloads[id->index()].sets[static_cast<std::size_t>(p.pod_set)];
      const Slot& slot = set.slots[static_cast<std::size_t>(p.index)];
      if (takes_room(slot) && slot.state != SlotState::kReleasing) out.push_back(slot);
    }
  }
  return out;
}

// With these charged where they are: is nothing overdrawn, and do all terms hold, also of what this decide() started and holds? A spread
// does not count pods that end.
bool Decisions::may_stay(const std::vector<std::size_t>& yields) {
  std::vector<std::pair<WorkloadId, Slot>> slots;
  for (const std::size_t k : yields) {
    const Yield& yield = yields_[k];
    const WorkloadState& v = state_.workloads[yield.workload.index()];
    // More of it has yielded to others, or ends for another reason: a part of it does not go on alone.
    const bool ends_otherwise = std::any_of(out_.begin(), out_.end(), [&](const Decision& d) {
      return d.kind == DecisionKind::kEvict && d.workload == v.uid && &d != &out_[yield.at] &&
             !d.slots.empty();
    });
    if (ends_otherwise) return false;
    for (const auto& [name, state] : yield.slots) {
      slots.emplace_back(yield.workload, v.sets[name.first].slots[name.second]);
      state_.accounts.try_charge(charged(v, slots.back().second), kAfterBit | kPodBit, +1);
    }
  }
  const bool fits = std::all_of(slots.begin(), slots.end(), [&](const auto& slot) {
    const Charged one = charged(state_.workloads[slot.first.index()], slot.second);
    return !state_.accounts.overdrawn_on_node(one, Mode::kPlan) &&
           !state_.accounts.overdraws_a_queue(one, Mode::kPlan);
  });
  std::vector<Slot> back;
  for (const auto& [id, slot] : slots) back.push_back(slot);
  // Starts stand without holds, whose pods may never come.
  std::vector<Slot> came = placed_by(DecisionKind::kStart);
  if (!fits || !state_.accounts.fit_in_turn(back, Mode::kPlan) || !terms_hold(came)) return false;
  const std::vector<Slot> held = placed_by(DecisionKind::kHold);
  came.insert(came.end(), held.begin(), held.end());
  return state_.accounts.all_come(came, planes_of(Mode::kPlan)) &&
         state_.accounts.fit_in_turn(came, Mode::kPlan);
}

// It has not yielded: all is as it was before. Its slots are charged by now.
void Decisions::keep(const Yield& yield) {
  ++stretch_;
  WorkloadState& v = state_.workloads[yield.workload.index()];
  for (const auto& [name, state] : yield.slots) {
    state_.disruptions.give_back(*v.sets[name.first].budgets);
    state_.move_slot(yield.workload, name.first, name.second, state, kAfterBit);
  }
  v.progress = yield.progress;
  v.started = yield.started;
  v.takings = yield.takings;
  if (v.delays_preemption()) v.delays.edit().evicted_at = yield.evicted_at;
  out_[yield.at].slots.clear();
  --state_.stats.evictions;
  if (v.queue != state_.workloads[yield.to.index()].queue) --state_.stats.reclaims;
  state_.done.note(yield.workload,
                   Done::kSettled);  // the decide() ends, however often it is taken and given back
  state_.settle(yield.workload);
  state_.changed(yield.workload);
}

// Where nothing has yielded to it any more.
void Decisions::give_back_takings(WorkloadId id) {
  const std::string& uid = state_.workloads[id.index()].uid;
  if (gave_way(uid, DecisionKind::kEvict) || gave_way(uid, DecisionKind::kReleaseHold)) return;
  state_.workloads[id.index()].takings = takers_.at(id.value);
}

}  // namespace berth::engine
