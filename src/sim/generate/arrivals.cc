#include "sim/generate/arrivals.h"

#include <algorithm>
#include <functional>

#include "sim/generate/generator_profiles.h"

namespace berth::sim {
namespace {

DurationMs length_of(std::size_t hour, DurationMs span) {
  return std::min<DurationMs>(kHour, span - static_cast<DurationMs>(hour) * kHour);
}

}  // namespace

Arrivals::Arrivals(std::uint64_t seed, std::int64_t count, DurationMs span) : random_(seed), span_(span) {
  const auto hours = static_cast<std::size_t>((span + kHour - 1) / kHour);
  std::vector<std::uint64_t> up_to(hours);  // sums of weights
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < hours; ++i) {
    sum += hour_weights()[i % 24] * day_weights()[i / 24 % 7] *
           static_cast<std::uint64_t>(length_of(i, span) / kSecond);
    up_to[i] = sum;
  }
  per_hour_.resize(hours);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto it = std::upper_bound(up_to.begin(), up_to.end(), random_.below(sum));
    ++per_hour_[static_cast<std::size_t>(it - up_to.begin())];
  }
}

TimeMs Arrivals::next() {
  while (times_.empty()) {
    const TimeMs begin = static_cast<TimeMs>(hour_) * kHour;
    const DurationMs length = length_of(hour_, span_);
    times_.resize(per_hour_[hour_]);
    for (TimeMs& time : times_) time = begin + random_.between(0, length - 1);
    std::sort(times_.begin(), times_.end(), std::greater<>());
    ++hour_;
  }
  const TimeMs time = times_.back();
  times_.pop_back();
  return time;
}

}  // namespace berth::sim
