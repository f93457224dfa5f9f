// Points in time and lengths of time: int64 milliseconds. A point counts from the Unix epoch on a real cluster, and from the start
// of the trace in the simulator. The engine only compares and subtracts. No code below scheduler/ reads a clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace berth {

using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

inline constexpr TimeMs kEndOfTime = std::numeric_limits<TimeMs>::max();
inline constexpr DurationMs kSecond = 1000;
inline constexpr DurationMs kMinute = 60 * kSecond;
inline constexpr DurationMs kHour = 60 * kMinute;

// The rest after the n-th failure in a row, from 0: `first`, doubled each time, at most `most`. None of them is negative.
constexpr DurationMs doubled(DurationMs first, std::int64_t times, DurationMs most) {
  const auto doublings = std::clamp<std::int64_t>(times, 0, 40);
  return first > (most >> doublings) ? most : first << doublings;
}

}  // namespace berth
