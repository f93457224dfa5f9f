// Victim cost: what the eviction of a workload destroys at a time, in device-milliseconds. A pure integer function of the
// workload and the time; it changes with time, so it is never a heap key.
#pragma once

#include <cstdint>

#include "engine/core/state.h"

namespace berth::engine {

// devices x (work since the last checkpoint, reported or reckoned (order/rank.h), + restart overhead + grace), over the slots that run, and
// what its demand bands say that their slots cost. A workload without devices counts its CPUs instead. 0 for one that does
// not run. Clamped to 64 bits. O(1); O(slots) with bands.
std::int64_t victim_cost(const State& state, const WorkloadState& workload, TimeMs now);

// Of one surplus slot, where the rest of the workload goes on and keeps its work: its devices x (overhead + grace), and what its
// band says. Never more than its share of victim_cost().
std::int64_t slot_cost(const State& state, const WorkloadState& workload, const Slot& slot,
                       std::int64_t of_band);

// From when on a started workload may have to yield, to work of its own queue or of another: its start and its minimum
// runtime. Surplus may at any time.
TimeMs yields_from(const State& state, const WorkloadState& workload, bool across);

}  // namespace berth::engine
