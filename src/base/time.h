// Points in time and lengths of time: int64 milliseconds. A point counts from the Unix epoch on a real
// cluster, and from the start of the trace in the simulator; the engine only compares and subtracts. Nobody
// below scheduler/ reads a clock.
#pragma once

#include <cstdint>
#include <limits>

namespace berth {

using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

inline constexpr TimeMs kEndOfTime = std::numeric_limits<TimeMs>::max();
inline constexpr DurationMs kSecond = 1000;
inline constexpr DurationMs kMinute = 60 * kSecond;
inline constexpr DurationMs kHour = 60 * kMinute;

}  // namespace berth
