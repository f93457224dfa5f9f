// Evictions of the same decide() that are taken back (decisions.h).
#include <algorithm>
#include <utility>

#include "engine/decide/decisions.h"
#include "engine/decide/turns.h"
#include "engine/state/bands.h"

namespace berth::engine {
namespace {

// Ends of holds behind that place, with a start or a hold of work other than `but` in between. The holds began before it.
std::vector<std::size_t> ends_behind_others(const State& state, const std::vector<Decision>& out,
                                            const std::unordered_map<std::uint32_t, std::size_t>& held_at,
                                            std::size_t at, const std::string& but) {
  std::vector<std::size_t> ends;
  bool begins = false;
  for (std::size_t k = at + 1; k < out.size(); ++k) {
    const Decision& d = out[k];
    if (d.slots.empty()) continue;
    const bool is_end = d.kind == DecisionKind::kReleaseHold;
    begins = begins || (!is_end && d.kind != DecisionKind::kEvict && d.workload != but);
    if (!is_end || !begins) continue;
    const auto hold = held_at.find(state.find_workload(d.workload)->value);
    if (hold == held_at.end() || hold->second < at) ends.push_back(k);
  }
  return ends;
}

// Whether room or quota becomes free behind that place.
bool frees_behind(const std::vector<Decision>& out, std::size_t at) {
  return std::any_of(out.begin() + static_cast<std::ptrdiff_t>(at) + 1, out.end(), [](const Decision& d) {
    return (d.kind == DecisionKind::kEvict || d.kind == DecisionKind::kReleaseHold) && !d.slots.empty();
  });
}

}  // namespace

Decisions::Yield Decisions::yield_of(const VictimPlan::Victim& victim, WorkloadId to) const {
  const WorkloadState& v = state_.workloads[victim.workload.index()];
  Yield out{victim.workload, to, out_.size(), {}, v.progress, v.started, v.delays->evicted_at, v.takings};
  for (const auto& [s, i] : slots_of(victim))
    out.slots.emplace_back(SlotName(s, i), v.sets[s].slots[i].state);
  return out;
}

bool Decisions::reprieve() {
  bool any = false;
  for (const auto& [id, taker] : takers_) {
    if (taker.may_need_less || hold_ended_) any = reprieve(WorkloadId(id)) || any;
  }
  return any;
}

// Where no hold has ended, work that only waits for room is looked at in a later decide(): with the pods that are there then.
Decisions::Outcome Decisions::outcome_of(WorkloadId id) const {
  const WorkloadState& w = state_.workloads[id.index()];
  std::size_t holds = 0;
  std::optional<std::size_t> start;  // the first one
  for (std::size_t k = 0; k < out_.size(); ++k) {
    const Decision& d = out_[k];
    if (d.slots.empty() || d.workload != w.uid) continue;
    if (d.kind == DecisionKind::kHold) ++holds;
    if (d.kind == DecisionKind::kStart && !start) start = k;
  }
  if (start) {
    // A start that is not told last has its room at its place, before others end.
    const auto held = held_at_.find(id.value);
    const bool stays_there = held == held_at_.end() || was_needed(w.queue, held->second);
    return holds > 0 || (stays_there && frees_behind(out_, *start)) ? Outcome::kStays : Outcome::kStarts;
  }
  if (holds != 1 || was_needed(w.queue, held_at_.at(id.value))) return Outcome::kStays;
  if (w.held() > 0) return hold_ended_ ? Outcome::kHolds : Outcome::kStays;
  return gave_way(w.uid, DecisionKind::kReleaseHold) ? Outcome::kStays : Outcome::kEnded;
}

bool Decisions::reprieve(WorkloadId id) {
  const Outcome outcome = outcome_of(id);
  if (outcome == Outcome::kStays) return false;
  std::vector<std::vector<std::size_t>> groups;     // of yields_, that stay together
  for (std::size_t k = yields_.size(); k-- > 0;) {  // the last one first, as a search gives victims back
    if (yields_[k].to != id) continue;
    if (outcome != Outcome::kEnded || groups.empty()) groups.emplace_back();
    groups.back().push_back(k);
  }
  bool any = false;
  for (const auto& group : groups) {
    const std::size_t at = yields_[group.back()].at;
    // Work that came in between has the room of the victims. So it comes behind the end of the hold.
    const auto ends = ends_behind_others(state_, out_, held_at_, at, state_.workloads[id.index()].uid);
    const auto ended = [&] { return *state_.find_workload(out_[ends.front()].workload); };
    const bool stands =
        ends.size() > 1 || (!ends.empty() && was_needed(state_.workloads[ended().index()].queue, 0));
    if (was_held_behind(at) || stands || !may_stay(group)) {
      state_.abandon();
      continue;
    }
    state_.commit();
    for (const std::size_t k : group) {
      keep(yields_[k]);
      yields_[k].to = {};
    }
    if (!ends.empty()) std::swap(out_[at], out_[ends.front()]);
    any = true;
  }
  std::erase_if(yields_, [](const Yield& yield) { return !yield.to.valid(); });
  if (!any) return false;
  if (!some_yielded(id)) state_.workloads[id.index()].takings = takers_.at(id.value).before;
  outcome == Outcome::kEnded ? drop_ended_hold(id) : tell_last(id);
  if (outcome == Outcome::kHolds) note_cause(id);
  return true;
}

// Whether a hold behind that place in out_ has ended, and is told: it may have held the room.
bool Decisions::was_held_behind(std::size_t at) const {
  for (std::size_t k = at + 1; k < out_.size(); ++k) {
    if (out_[k].kind != DecisionKind::kHold || out_[k].slots.empty()) continue;
    const WorkloadId id = *state_.find_workload(out_[k].workload);
    const WorkloadState& w = state_.workloads[id.index()];
    if (w.held() == 0 && (some_yielded(id) || was_needed(w.queue, k))) return true;
  }
  return false;
}

// Whether a decision of this kind gave it room.
bool Decisions::gave_way(const std::string& uid, DecisionKind kind) const {
  return std::any_of(out_.begin(), out_.end(), [&](const Decision& d) {
    return d.kind == kind && !d.slots.empty() && d.reason.subject == uid;
  });
}

// Whether other decisions may rest on the hold of such work at that place in out_. In a strict queue it lets work behind it start.
bool Decisions::was_needed(QueueId queue, std::size_t at) const {
  if (was_reclaimed_from(queue)) return true;
  if (state_.queues[queue.index()].spec.order != QueueOrder::kStrict) return false;
  return std::any_of(out_.begin() + static_cast<std::ptrdiff_t>(at) + 1, out_.end(), [&](const Decision& d) {
    const bool begins = d.kind == DecisionKind::kStart || d.kind == DecisionKind::kHold;
    const auto id = state_.find_workload(d.workload);
    return begins && !d.slots.empty() && id && state_.workloads[id->index()].queue == queue;
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
    const std::vector<Slot> places = places_of(state_, d);
    out.insert(out.end(), places.begin(), places.end());
  }
  return out;
}

// With these charged where they are: is nothing overdrawn, and do all terms hold, also of what this decide() started and holds? A spread
// does not count pods that end.
bool Decisions::may_stay(const std::vector<std::size_t>& yields) {
  std::vector<std::pair<WorkloadId, Slot>> slots;
  std::vector<std::size_t> evictions;  // in out_
  for (const std::size_t k : yields) {
    const Yield& yield = yields_[k];
    const WorkloadState& v = state_.workloads[yield.workload.index()];
    // More of it has yielded to others, or ends for another reason: a part of it does not go on alone.
    const bool ends_otherwise = std::any_of(out_.begin(), out_.end(), [&](const Decision& d) {
      return d.kind == DecisionKind::kEvict && d.workload == v.uid && &d != &out_[yield.at] &&
             !d.slots.empty();
    });
    if (ends_otherwise) return false;
    evictions.push_back(yield.at);
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
  if (!fits || !state_.accounts.fit_in_turn(back, Mode::kPlan) || !all_have_turns(state_, out_, evictions))
    return false;
  std::vector<Slot> came = placed_by(DecisionKind::kStart);
  const std::vector<Slot> held = placed_by(DecisionKind::kHold);
  came.insert(came.end(), held.begin(), held.end());
  return state_.accounts.all_come(came, planes_of(Mode::kPlan)) &&
         state_.accounts.fit_in_turn(came, Mode::kPlan);
}

// It has not yielded: all is as it was before. Its slots are charged by now.
void Decisions::keep(const Yield& yield) {
  ++stretch_;
  gave_back_ = order_changed_ = true;
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

// It may have its room by a hold that has ended since, or its place by pods that end. Where it has started, its growth stays behind it.
void Decisions::tell_last(WorkloadId id) {
  const auto at = held_at_.find(id.value);
  if (at == held_at_.end() || was_needed(state_.workloads[id.index()].queue, at->second)) return;
  const std::size_t decided = out_.size();
  const auto put_last = [&](std::size_t k) {
    Decision last = std::move(out_[k]);
    out_[k].slots.clear();
    out_.push_back(std::move(last));
    return out_.size() - 1;
  };
  const std::size_t first = std::exchange(at->second, put_last(at->second));
  const auto grown = begun_.find(id.value);
  for (std::size_t k = first + 1; k < decided; ++k) {
    const Decision& d = out_[k];
    if (d.kind != DecisionKind::kStart || d.slots.empty() || d.workload != state_.workloads[id.index()].uid)
      continue;
    const std::size_t now = put_last(k);
    if (grown == begun_.end()) continue;
    std::replace(grown->second.decisions.begin(), grown->second.decisions.end(), k, now);
    if (grown->second.start == k) grown->second.start = now;
  }
}

// Its hold goes on, with fewer victims: it may have all its room by now.
void Decisions::note_cause(WorkloadId id) {
  if (!some_yielded(id))
    out_[held_at_.at(id.value)].reason.code = state_.workloads[id.index()].hold_cause =
        ReasonCode::kReleasingRoom;
  state_.news.gained_now = true;
}

bool Decisions::some_yielded(WorkloadId id) const {
  const std::string& uid = state_.workloads[id.index()].uid;
  return gave_way(uid, DecisionKind::kEvict) || gave_way(uid, DecisionKind::kReleaseHold);
}

}  // namespace berth::engine
