// The order of two workloads of one queue while one of them runs: may a waiting workload `w` preempt a running workload `v`
// (WithinQueue::kLaterInOrder)?
//
// Hysteresis: `w` may displace `v` only if it is ahead by more than the displacement destroys. Otherwise the two would alternate.
//   priority   If priority ranks first, the lower one stands behind. Priorities are those of demand bands (state/bands.h): only a
//              part of the running work may be lost, and only a part of the waiting work asked for.
//   old        Old work stands in front of all other work, except promoted work that keeps its seat (order/rank.h). Among old
//              work creation decides.
//   creation   The newer one stands behind. This order never changes.
//   duration, remaining   `v` stands behind if its (remaining) run time exceeds that of `w` by more than `v` would lose: work since
//                         its last checkpoint, restart overhead and grace. Once `w` runs, its remaining time falls and that of `v`
//                         stays, so `v` never gets the room back from `w`.
//   attained, attained-levels   `v` stands behind if its level is higher and it has had more service than `w` by more than the
//                               service that `v` would lose. Each eviction is paid by at least as much difference in service. In
//                               levels a workload is evicted at most once per level that it climbs.
#pragma once

#include "engine/state/state.h"

namespace berth::engine {

// A workload in line, with the priority of what it would lose or asks for.
struct InLine {
  const WorkloadState& workload;
  std::int64_t priority = 0;
};

// `v` runs or holds room, `w` waits. At equal times neither is newer. API servers give times in whole seconds, and the order of
// reading differs after a restart: the two would evict each other in turns.
bool is_newer(const WorkloadState& v, const WorkloadState& w);

// `v` runs or holds room, `w` waits; both are of one queue.
bool stands_behind(const State& state, const InLine& v, const InLine& w);

// The first time after now at which stands_behind() could become true by the passing of time alone; kEndOfTime: never.
TimeMs stands_behind_at(const State& state, const InLine& v, const InLine& w);

// The position of a started workload, for the order of victims: the lower, the earlier in line.
std::int64_t standing(const State& state, const WorkloadState& v);

}  // namespace berth::engine
