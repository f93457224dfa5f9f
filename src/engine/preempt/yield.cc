#include "engine/preempt/yield.h"

#include <tuple>

#include "engine/preempt/cost.h"

namespace berth::engine {

TimeMs within_yields_from(const State& state, const InLine& v, const InLine& w) {
  const auto now_or_never = [](bool yields) { return yields ? 0 : kEndOfTime; };
  const auto newer = [&] {
    return std::tie(v.workload.created, v.workload.arrival) >
           std::tie(w.workload.created, w.workload.arrival);
  };
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

bool may_yield_within(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at) {
  const TimeMs from = within_yields_from(state, {v, v.priority}, {w, w.priority});
  if (from == 0) return true;
  more_at = std::min(more_at, from);
  return false;
}

bool ran_its_minimum(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at) {
  if (state.queues[w.queue.index()].spec.preemption.ignores_minimum_runtime) return true;
  const TimeMs until = yields_from(state, v, v.queue != w.queue);
  if (until <= std::max(state.now, v.started))
    return true;  // a start may be told with the clock of somebody who is ahead
  more_at = std::min(more_at, until);
  return false;
}

bool YieldOrder::operator()(const Yielder& a, const Yielder& b) const {
  const auto key = [this](const Yielder& who) {
    const WorkloadState& w = state_.workloads[who.workload.index()];
    const bool by_priority = order_ != VictimOrder::kYoungestFirst;
    const std::int64_t late = order_ == VictimOrder::kLatestInOrder ? standing(state_, w) : 0;
    return std::make_tuple(!who.holder, by_priority ? w.priority : 0, ~late, -w.started, w.arrival);
  };
  return key(a) < key(b);
}

}  // namespace berth::engine
