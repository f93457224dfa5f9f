#include "engine/preempt/yield.h"

#include <tuple>

#include "engine/order/standing.h"
#include "engine/preempt/cost.h"

namespace berth::engine {

bool may_yield_within(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at) {
  switch (state.queues[w.queue.index()].spec.preemption.within) {
    case WithinQueue::kNever:
      return false;
    case WithinQueue::kLowerPriority:
      return v.priority < w.priority;
    case WithinQueue::kLowerOrNewerEqual:
      return v.priority < w.priority ||
             (v.priority == w.priority && std::tie(v.created, v.arrival) > std::tie(w.created, w.arrival));
    case WithinQueue::kLaterInOrder: {
      const InLine its{v, v.priority};
      const InLine ours{w, w.priority};
      if (stands_behind(state, its, ours)) return true;
      more_at = std::min(more_at, stands_behind_at(state, its, ours));
      return false;
    }
  }
  return false;
}

bool ran_its_minimum(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at) {
  if (state.queues[w.queue.index()].spec.preemption.ignores_minimum_runtime) return true;
  const TimeMs until = yields_from(state, v);
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
