// Bounds of the numbers that an event may have where nothing else bounds them: times, lengths of time, priorities, costs.
//
// A time is at most kLastTime away from 0. A length of time lies between 0 and kLastTime. A priority or a cost is at most kMostRank
// away from 0. With these bounds no sum of a few of them overflows. A decision log, a trace or a manifest may have any 64-bit
// number: Engine::apply() refuses an event that breaks a bound, and the error names the object and the field. Engine::decide()
// takes a later time than kLastTime as kLastTime; a decision log that has one is refused by its reader.
//
// Cost: O(size of the event).
#pragma once

#include "base/result.h"
#include "model/event.h"

namespace berth {

inline constexpr TimeMs kLastTime = 253'402'300'799'999;  // the end of the year 9999
inline constexpr std::int64_t kMostRank = std::int64_t{1} << 60;

Status check_bounds(const Event& event);
// Brings the numbers of a workload to the nearest value within their bounds. For sources with arbitrary objects, whose workloads
// must be known all the same because their pods may run.
void keep_bounds(Workload& workload);

}  // namespace berth
