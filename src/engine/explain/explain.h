// Why a workload is where it is.
#pragma once

#include "engine/core/state.h"

namespace berth::engine {

// From what the last attempt left behind. O(pod sets).
Verdict verdict_of(const State& state, WorkloadId id);

// The same, with the nodes counted by what they lack for each pod set that found too little room. O(nodes x pod sets).
Verdict explain(const State& state, WorkloadId id);

}  // namespace berth::engine
