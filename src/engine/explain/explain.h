// Why a workload is where it is.
#pragma once

#include "engine/plan/reservations.h"
#include "engine/state/state.h"

namespace berth::engine {

// From what the last attempt left behind. O(pod sets).
Verdict verdict_of(const State& state, WorkloadId id);

// The same as things are now, with the nodes counted by what they lack. The numbers are computed anew. The findings of the last
// attempt change with every start and end, and a parked class is tried again only when that may help it.
//   - quota, limits of lanes: what is left now, and what the workload asks for as a whole
//   - nodes: each pod set is counted for itself, on the nodes as they are. Where each fits, and all together do not, a bounded search
//     tells which is short beside the others
//   - domains: the one with room for most of the gang, pods placed one by one
//   - what would be enough: of work with one pod set, one choice of flavors and no domain, where nothing else is short
// Leaves the state as it was (trials are rolled back). O(nodes x pod sets + kExplainSteps log nodes).
Verdict explain(State& state, const Reservations& reservations, WorkloadId id);

inline constexpr std::int64_t kExplainSteps = 5'000;

}  // namespace berth::engine
