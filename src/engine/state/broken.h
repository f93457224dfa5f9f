// Gangs that must not stay broken (Workload::broken_for): since when each lacks slots, and when it ends for that. A hold on all slots that
// it lacks stops the clock.
#pragma once

#include "engine/state/state.h"

namespace berth::engine {

// Notes whether the gang is broken now, and since when. Before the first decide() there is no time: then that decide() begins it. O(log n).
void note_broken(State& state, WorkloadId id);

}  // namespace berth::engine
