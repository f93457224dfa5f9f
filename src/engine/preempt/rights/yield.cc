#include "engine/preempt/rights/yield.h"

#include <tuple>

#include "base/checked.h"
#include "engine/preempt/rights/cost.h"
#include "engine/state/bands.h"

namespace berth::engine {

TimeMs within_yields_from(const State& state, const InLine& v, const InLine& w) {
  const auto now_or_never = [](bool yields) { return yields ? 0 : kEndOfTime; };
  const auto newer = [&] { return is_newer(v.workload, w.workload); };
  switch (state.queues[w.workload.queue.index()].spec.preemption.within) {
    case WithinQueue::kNever:
      return kEndOfTime;
    case WithinQueue::kLowerPriority:
      return now_or_never(v.priority < w.priority);
    case WithinQueue::kLowerOrNewerEqual:
      return now_or_never(v.priority < w.priority || (v.priority == w.priority && newer()));
    case WithinQueue::kLaterInOrder:
      return stands_behind(state, v, w) ? 0 : stands_behind_at(state, v, w);
  }
  return kEndOfTime;
}

InLine whole_of(const WorkloadState& v, bool holder) {
  if (holder) return {v, saturating_add(v.priority, v.held_band)};
  std::int64_t highest = kInt64Min;
  for (const PodSetState& set : v.sets) {
    each_active(set, [&](const Slot&, std::uint32_t, std::int64_t place) {
      highest = std::max(highest, saturating_add(v.priority, band_at(set, place).priority));
    });
  }
  return {v, highest};
}

InLine claimant(const WorkloadState& w) {
  return {w, claim_of(w).priority};
}

namespace {

bool is_protected(const WorkloadState& v) {
  bool found = false;
  for (const PodSetState& set : v.sets) {
    each_active(set, [&](const Slot&, std::uint32_t, std::int64_t place) {
      found = found || band_at(set, place).protected_from_reclaim;
    });
  }
  return found;
}

}  // namespace

bool may_yield(const State& state, const Yielder& who, const WorkloadState& w, TimeMs& more_at) {
  const WorkloadState& v = state.workloads[who.workload.index()];
  const PreemptionPolicy& policy = state.queues[w.queue.index()].spec.preemption;
  const Claim claim = claim_of(w);
  if (&v == &w || v.withdraw || !w.may_preempt || claim.free_room_only) return false;
  if (!who.holder && !v.preemptible) return false;
  if (!who.holder && claim.reclaim_within > 0 && v.restart.grace > claim.reclaim_within) return false;
  const InLine its = whole_of(v, who.holder);
  TimeMs from = 0;
  if (v.queue == w.queue) {
    from = within_yields_from(state, its, {w, claim.priority});
  } else {
    if (!state.queues[v.queue.index()].spec.preemption.reclaimable) return false;
    const bool lower = its.priority < claim.priority;
    if (policy.reclaim == Reclaim::kNever || (policy.reclaim == Reclaim::kLowerPriority && !lower))
      return false;
    if (!who.holder && is_protected(v)) return false;
  }
  if (from == 0 && state.done.is(who.workload, Done::kSettled)) from = state.now + 1;
  if (from == 0) return who.holder || ran_its_minimum(state, v, w, more_at);
  more_at = std::min(more_at, from);
  return false;
}

bool ran_its_minimum(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at) {
  if (state.queues[w.queue.index()].spec.preemption.ignores_minimum_runtime) return true;
  const TimeMs until = yields_from(state, v, v.queue != w.queue);
  if (until <= std::max(state.now, v.started))
    return true;  // a reported start may come from a clock that is ahead
  more_at = std::min(more_at, until);
  return false;
}

bool YieldOrder::operator()(const Yielder& a, const Yielder& b) const {
  const auto key = [this](const Yielder& who) {
    const WorkloadState& w = state_.workloads[who.workload.index()];
    const bool by_priority = order_ != VictimOrder::kYoungestFirst;
    const std::int64_t late = order_ == VictimOrder::kLatestInOrder ? standing(state_, w) : 0;
    const std::int64_t priority = by_priority ? whole_of(w, who.holder).priority : 0;
    return std::make_tuple(!who.holder, priority, ~late, -w.started, w.arrival);
  };
  return key(a) < key(b);
}

}  // namespace berth::engine
