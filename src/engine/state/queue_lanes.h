// The lanes of a queue's line: their use, which orders them (quota/lanes.h), and their limits, which Accounts keep (quota/lane_limits.h).
// Also the limits of firm work (quota/firm_limits.h). These functions keep all in step with the slots and the rules that the state knows.
//
// Cost of a change of lane: O(slots of the workload). Cost of a change of limits: O(slots of the queue), for firm work O(all slots).
// Cost of an order: Lanes::places().
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/base/config.h"
#include "engine/state/state.h"

namespace berth::engine {

// A slot of this charge begins (1) or ceases (-1) to be use of the workload's lane.
void use_lane(State& state, const WorkloadState& w, ChargeId charge, int sign);
// The workload counts in this lane from now on. True: it left another, and lanes of its queue have limits.
bool put_in_lane(State& state, WorkloadId id, std::uint32_t lane);
// Takes the limits of the queue's rules. Where they are new, the slots of the queue count against them.
void limit_lanes(State& state, QueueId queue);
// The workload is preemptible from now on, or is not. True: it was otherwise before, and limits of firm work bind its queue.
bool make_preemptible(State& state, WorkloadId id, bool preemptible);
// Takes the limits of firm work from the rules of all queues. Where they are new, all slots count against them.
void limit_firm(State& state);
// Orders the lanes anew, since their use or the weight of past use has changed. Returns the time at which past use weighs less
// again; kEndOfTime: use does not order them.
TimeMs order_lanes(State& state, QueueId queue);
// The recent use of the lanes of a queue; none if use does not order them.
void each_lane_use(const State& state, QueueId queue, TimeMs at, const LaneUse& f);

}  // namespace berth::engine
