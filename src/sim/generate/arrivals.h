// Times of arrival in ascending order, many by day and few by night, without holding them all.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace berth::sim {

// `count` arrivals in [0, span), independent of each other. The weight of an hour is that of its hour of the day times that of its
// day of the week. Time 0 is a Monday, 0 o'clock. First the number of arrivals of every hour is drawn, later the times within an
// hour. Memory is one number per hour, and the times of one hour. Integers only: a seed gives the same times everywhere.
class Arrivals {
 public:
  Arrivals(std::uint64_t seed, std::int64_t count, DurationMs span);
  // The next one; at most `count` may be asked for.
  TimeMs next();

 private:
  Random random_;
  DurationMs span_;
  std::vector<std::uint32_t> per_hour_;
  std::size_t hour_ = 0;
  std::vector<TimeMs> times_;  // of the hour, latest first
};

}  // namespace berth::sim
