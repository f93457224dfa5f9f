// A histogram that a scheduler shows in Prometheus' text format.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::bench {

struct Histogram {
  std::uint64_t count = 0;
  double sum = 0;
  std::vector<std::pair<double, std::uint64_t>> buckets;  // upper bound, observations up to it; ascending

  // The least bound that this part of the observations does not exceed; infinity: none of the finite ones.
  double at_most(double part) const;
  // What came since.
  Histogram since(const Histogram& before) const;
};

// Of the metric with this name; its series without labels but "le". An error where there is none.
Result<Histogram> read_histogram(std::string_view text, std::string_view name);

}  // namespace berth::bench
