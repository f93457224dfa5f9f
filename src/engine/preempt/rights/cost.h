// Victim cost: the loss by evicting a workload at a time, in device-milliseconds. A pure integer function of the workload and the
// time. It changes with time, so it is never a heap key.
#pragma once

#include <cstdint>

#include "engine/state/state.h"

namespace berth::engine {

// devices x (work since the last checkpoint (order/rank.h) + restart overhead + grace), over the running slots, plus the cost of
// their demand bands. A workload without devices counts its CPUs instead. 0 if nothing of it runs. Clamped to 64 bits. O(1);
// O(slots) with bands.
std::int64_t victim_cost(const State& state, const WorkloadState& workload, TimeMs now);

// The cost of one surplus slot, while the rest of the workload goes on: its devices x (overhead + grace), plus the cost of its
// band. Never more than its share of victim_cost().
std::int64_t slot_cost(const State& state, const WorkloadState& workload, const Slot& slot,
                       std::int64_t of_band);

// The time from which a started workload may be evicted for work of its own queue, or of another (`across`): its start plus its
// minimum runtime. Surplus may be evicted at any time.
TimeMs yields_from(const State& state, const WorkloadState& workload, bool across);

}  // namespace berth::engine
