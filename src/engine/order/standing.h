// Who stands behind whom in the line of one queue while one of them runs: may a waiting workload have the room of a running
// one (WithinQueue::kLaterInOrder)?
//
// Without end to and fro: behind means behind by more than what the change destroys (hysteresis).
//   priority   where it ranks first: the lower one stands behind. Of demand bands it is theirs: what is taken may be less than what
//              runs, and what is asked for less than what waits (core/bands.h).
//   old        an old workload stands in front of all that are not (order/rank.h), except who was promoted and has not attained
//              its seat yet; among old ones creation decides
//   creation   the newer one stands behind; the order never changes
//   duration, remaining   v stands behind w where its (remaining) run time is longer than w's by more than the time that v would
//              lose: work since its last checkpoint, restart overhead and grace. Once w runs its remaining time only falls,
//              while v's stays, so v never gets the room back from w.
//   attained, attained-levels   v stands behind w where its level is higher and it has had more service than w by more than
//              the service that v would lose. Each eviction is paid by at least as much difference in service, and in
//              levels a workload yields at most once per level that it climbs.
#pragma once

#include "engine/core/state.h"

namespace berth::engine {

// A workload in line, with the priority of what it would lose or asks for.
struct InLine {
  const WorkloadState& workload;
  std::int64_t priority = 0;
};

// `v` runs or holds room, `w` waits. Of two of the same time neither is newer: API servers give times in whole seconds, and
// which of them is read first is another after a restart, so that they would evict each other in turns.
bool is_newer(const WorkloadState& v, const WorkloadState& w);

// `v` runs or holds room, `w` waits; both are of one queue.
bool stands_behind(const State& state, const InLine& v, const InLine& w);

// The first time after now at which that could come true by the passing of time alone; kEndOfTime: never.
TimeMs stands_behind_at(const State& state, const InLine& v, const InLine& w);

// How late in line a started workload stands: the lower, the earlier. For the order of victims.
std::int64_t standing(const State& state, const WorkloadState& v);

}  // namespace berth::engine
