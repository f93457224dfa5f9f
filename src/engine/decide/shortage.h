// Questions about waiting work that need no search: does it lack parts of itself, room in its own lane, or room at all? How far
// would it borrow? They look, and charge nothing. Cost: O(pod sets x choices of flavors x charged amounts).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/place/placer.h"
#include "engine/state/state.h"

namespace berth::engine {

// Whether its queue is stopped for it: a queue that is held lets what was admitted make up for what it lost.
bool is_stopped(const QueueState& queue, const WorkloadState& w);
// True for reasons that no change of free capacity can cure.
bool ends_nowhere(const Reason& reason);
// Returns no reasons if enough of its pod sets have their pods, and a flavor whose largest possible quota is enough. All of them together must
// fit it, too, as far as sums tell.
Failure lacks_parts(State& state, const WorkloadState& w);
// Returns no reasons if the limits that bind it have room for the request, or if that is unknown. `found`: the failure of a search.
Failure beyond_limit(State& state, const WorkloadState& w, const Failure& found);
// True for surplus, work that lacks parts, and work that waits for other work within a limit: it blocks no other work.
bool stands_aside(State& state, const WorkloadState& w);
// The waiting work of a strict queue that others pass, and that stands aside no more: it would block them again. It is not awake.
std::vector<ClassId> blocks_again(State& state, QueueId queue);
// All its waiting slots are of flavors without known nodes.
bool places_are_unknown(State& state, const WorkloadState& w);
// How far up the tree the quota of its least would come from, in the flavor that it would get now. 0: it would not borrow, or the
// queues share by their dominant shares, where that is part of their order.
std::int64_t borrowing_height(State& state, const WorkloadState& w);
// True if the class lacked only room when it was parked, and total room is still too small. Updates the numbers of the reason.
bool still_lacks_room(State& state, ClassId id);

}  // namespace berth::engine
