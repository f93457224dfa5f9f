// Limits that no eviction makes room in: those of a workload's lane (quota/lane_limits.h), and of firm work if it is not preemptible
// (quota/firm_limits.h). O(depth) each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "engine/state/state.h"

namespace berth::engine {

inline bool is_limited(const State& state, const WorkloadState& w) {
  return state.accounts.limits(w.queue).any() || (!w.preemptible && state.accounts.firm().bind(w.queue));
}

// The amount of the pair that is left for it: by limits of firm work, or by all. kInt64Max: no limit.
inline std::int64_t firm_room(const State& state, const WorkloadState& w, FlavorResource pair, Mode mode) {
  return w.preemptible ? kInt64Max : state.accounts.firm().room(w.queue, pair, mode);
}
inline std::int64_t limit_room(const State& state, const WorkloadState& w, FlavorResource pair, Mode mode) {
  return std::min(state.lane_room(w, pair, mode), firm_room(state, w, pair, mode));
}

// Notes that more of the workload is charged: work that waits may be beyond these limits now.
inline void note_filled(State& state, const WorkloadState& w) {
  if (state.accounts.limits(w.queue).any()) state.news.filled_lanes.insert(w.queue);
  if (!w.preemptible && state.accounts.firm().bind(w.queue))
    state.news.filled_firm.insert(state.accounts.firm().widest(w.queue));
}

}  // namespace berth::engine
