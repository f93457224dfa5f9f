#include "engine/decide/decisions.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/decide/turns.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/bands.h"
#include "engine/state/limits.h"

namespace berth::engine {
namespace {

// Some of it has places from now on.
void began(State& state, WorkloadId id) {
  WorkloadState& w = state.workloads[id.index()];
  if (w.started == 0) w.started = std::max<TimeMs>(state.now, 1);
  state.promote(id);
}

}  // namespace

// A hold that came and ended in this decide() is not reported where the work starts after all.
void Decisions::drop_ended_hold(WorkloadId id) {
  const auto at = held_at_.find(id.value);
  if (at == held_at_.end() || out_[at->second].kind != DecisionKind::kHold)
    return;  // or it started since then
  const std::string& uid = state_.workloads[id.index()].uid;
  for (std::size_t k = at->second; k < out_.size(); ++k) {
    Decision& d = out_[k];
    if ((k == at->second || d.kind == DecisionKind::kReleaseHold) && d.workload == uid) d.slots.clear();
  }
  held_at_.erase(at);
  hold_ended_ = true;
}

void Decisions::start(WorkloadId id, const std::vector<PlacedSlot>& placed) {
  drop_ended_hold(id);
  WorkloadState& w = state_.workloads[id.index()];
  // Growth in the same decide() is part of the start. With terms about other pods it may have its place by what started in between.
  const auto has_part = [&](const PlacedSlot& p) { return state_.shape_of(p.charge).counted.valid(); };
  const bool has_terms =
      state_.accounts.counted().any() && std::any_of(placed.begin(), placed.end(), has_part);
  const auto [it, is_new] = begun_.try_emplace(id.value);
  Begun& begun = it->second;
  const bool joins = begun.stretch == stretch_ && !has_terms;
  if (!joins) begun.start = out_.size();
  begun.stretch = stretch_;
  const std::size_t at = begun.start;
  note_begun(id, begun, is_new, placed);
  if (w.running() == 0) w.takings.at = kEndOfTime;
  for (const PlacedSlot& p : placed) {
    state_.set_slot(id, p.set, p.slot, SlotState::kBinding, p.node, p.charge, p.grant, kBothPlanes);
  }
  began(state_, id);
  if (!joins) {
    out_.emplace_back().reason.code = ReasonCode::kFits;
    ++state_.stats.starts;
  }
  describe(out_[at], w, placed);
  ++state_.queues[w.queue.index()].starts;
  state_.stats.slots_started += static_cast<std::int64_t>(placed.size());
  state_.settle(id);
  state_.changed(id);
}

void Decisions::hold(WorkloadId id, const VictimPlan& plan) {
  ++stretch_;
  const std::string uid = state_.workloads[id.index()].uid;
  const QueueId queue = state_.workloads[id.index()].queue;
  const std::size_t decided = out_.size();
  const bool some_count =
      state_.accounts.counted().any();  // without, no hold ends in the decide() in which it began
  if (some_count && !plan.victims.empty()) {
    const Taker taker{state_.workloads[id.index()].takings, may_come_by_others(state_, plan.placed)};
    takers_.try_emplace(id.value, taker).first->second.may_need_less |= taker.may_need_less;
  }
  for (const auto& victim : plan.victims) {
    if (some_count && !victim.holder) yields_.push_back(yield_of(victim, id));
    const bool other_queue = state_.workloads[victim.workload.index()].queue != queue;
    if (victim.holder) {
      note_loss(state_, victim.workload, id, victim.why);
      release_hold(victim.workload, {ReasonCode::kHoldOvertaken, uid, "", 0, 0, 0, {}}, kAfterBit);
    } else {
      note_loss(state_, victim.workload, id, victim.why);
      evict(victim.workload, {victim.why, uid, "", 0, 0, 0, {}}, uid, victim.cost, kAfterBit,
            victim.whole ? SlotNames() : victim.slots);
      if (other_queue) ++state_.stats.reclaims;
    }
  }
  const bool some_yield = out_.size() > decided;
  if (some_yield) settle_begun();
  WorkloadState& w = state_.workloads[id.index()];
  for (const auto& victim : plan.victims) {
    if (victim.why == ReasonCode::kReclaimedFairly) w.takings.fairly_at = state_.outside_version;
    if (victim.why == ReasonCode::kReclaimedWhileBorrowing) w.takings.by_force = true;
  }
  if (!plan.victims.empty()) w.takings.at = state_.now;
  state_.done.note(id, Done::kSettled);
  w.held_band = saturating_sub(claim_of(w).priority, w.priority);
  for (const PlacedSlot& p : plan.placed) {
    state_.set_slot(id, p.set, p.slot, SlotState::kHeld, p.node, p.charge, p.grant, kAfterBit);
  }
  if (plan.takes_from_own_queue()) note_gain(state_, id, plan.placed);
  state_.list_hold(id, static_cast<std::uint64_t>(++state_.stats.holds));
  w.hold_cause = some_yield ? ReasonCode::kPreemptor : ReasonCode::kReleasingRoom;
  Decision d;
  d.kind = DecisionKind::kHold;
  describe(d, w, plan.placed);
  d.reason.code = w.hold_cause;
  held_at_[id.value] = out_.size();
  out_.push_back(std::move(d));
  state_.settle(id);
  state_.changed(id);
  state_.news.gained_now = true;  // where only holds gave way, it may start at once
}

void Decisions::evict(WorkloadId id, Reason reason, std::string beneficiary, std::int64_t cost,
                      PlaneMask freed, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& part) {
  ++stretch_;
  WorkloadState& w = state_.workloads[id.index()];
  Decision d;
  d.kind = DecisionKind::kEvict;
  d.workload = w.uid;
  d.beneficiary = std::move(beneficiary);
  d.cost = cost;
  d.reason = std::move(reason);
  const auto end = [&](std::uint32_t s, std::uint32_t i) {
    const Slot& slot = w.sets[s].slots[i];
    d.slots.push_back(placement(s, i, slot.node, slot.grant));
    const std::string_view passed = state_.disruptions.use(*w.sets[s].budgets, state_.now);
    if (!d.beneficiary.empty() && d.reason.detail.empty()) d.reason.detail = passed;
    state_.move_slot(id, s, i, SlotState::kReleasing, 0, freed);
  };
  for (const auto& [s, i] : part) end(s, i);
  for (std::uint32_t s = 0; s < w.sets.size() && part.empty(); ++s) {
    for (std::uint32_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const SlotState state = w.sets[s].slots[i].state;
      if (state == SlotState::kBinding || state == SlotState::kRunning) end(s, i);
    }
  }
  out_.push_back(std::move(d));
  state_.news.freed_limit = state_.news.freed_limit || is_limited(state_, w);
  state_.done.note(id, Done::kYielded);
  if (w.delays_preemption()) w.delays.edit().evicted_at = state_.now;
  ++state_.stats.evictions;
  state_.settle(id);
  state_.changed(id);
}

void Decisions::release_hold(WorkloadId id, Reason reason, PlaneMask freed) {
  ++stretch_;
  WorkloadState& w = state_.workloads[id.index()];
  Decision d;
  d.kind = DecisionKind::kReleaseHold;
  d.workload = w.uid;
  d.reason = std::move(reason);
  for (std::uint32_t s = 0; s < w.sets.size(); ++s) {
    for (std::uint32_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const Slot& slot = w.sets[s].slots[i];
      if (slot.state != SlotState::kHeld) continue;
      d.slots.push_back(placement(s, i, slot.node, slot.grant));
      state_.move_slot(id, s, i, SlotState::kWaiting, 0, freed);
    }
  }
  out_.push_back(std::move(d));
  state_.news.freed_limit = state_.news.freed_limit || is_limited(state_, w);
  hold_ended_ = hold_ended_ || holds_since_now(id);
  ++state_.stats.holds_released;
  state_.settle(id);
  state_.changed(id);
}

SlotPlacement Decisions::placement(std::uint32_t set, std::uint32_t index, NodeId node, GrantId grant) const {
  return {set, index, state_.nodes.record(node).spec.name, state_.accounts.grants().device_list(grant)};
}

void Decisions::describe(Decision& d, const WorkloadState& w, const std::vector<PlacedSlot>& placed) const {
  d.workload = w.uid;
  std::uint32_t last_set = ~0u;
  for (const PlacedSlot& p : placed) {
    d.slots.push_back(placement(p.set, p.slot, p.node, p.grant));
    if (p.set == last_set) continue;
    last_set = p.set;
    for (const ChosenFlavor& f : state_.charges[p.charge].flavors) {
      FlavorChoice choice{p.set, f.resource, f.flavor};
      if (std::find(d.flavors.begin(), d.flavors.end(), choice) == d.flavors.end())
        d.flavors.push_back(std::move(choice));
    }
  }
}

void Decisions::start_alone(WorkloadId id, const std::vector<PlacedSlot>& placed) {
  end_start(id);  // some of its slots may have got their quota in this round
  start(id, placed);
  // Growth behind it gets its quota and its places at once: that is a decision of its own.
  if (begun_.at(id.value).borrows) std::erase(borrowers_, id);
  begun_.erase(id.value);
  state_.done.note(id, Done::kSettled);
  if (may_come_by_others(state_, placed)) settle_begun();
}

void Decisions::start_held(WorkloadId id, const std::vector<PlacedSlot>& placed) {
  const WorkloadState& w = state_.workloads[id.index()];
  for (const PlacedSlot& p : placed) state_.move_slot(id, p.set, p.slot, SlotState::kBinding, kNowBit);
  began(state_, id);
  state_.done.note(id, Done::kSettled);
  Decision d;
  d.kind = DecisionKind::kStart;
  describe(d, w, placed);
  d.reason.code = ReasonCode::kFits;
  // A start replaces a hold of the same decide() in place: later decisions were made beside it.
  if (const auto at = held_at_.find(id.value); at != held_at_.end()) {
    out_[at->second] = std::move(d);
    order_changed_ = true;
  } else {
    out_.push_back(std::move(d));
  }
  if (may_come_by_others(state_, placed)) settle_begun();
  ++state_.stats.starts;
  ++state_.queues[w.queue.index()].starts;
  state_.stats.slots_started += static_cast<std::int64_t>(placed.size());
  state_.settle(id);
  state_.changed(id);
}

}  // namespace berth::engine
