// Inflation: jobs are offered one by one to an empty cluster and never leave. A job that cannot start at once is dropped (the
// published openb experiment, shared/traces/openb_2023/README.md). The fitting jobs then show how well placement avoids fragments.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "sim/replay/decider.h"
#include "sim/replay/replay.h"
#include "sim/scenario/input.h"

namespace berth::sim {

// All jobs after which the GPU demand that has arrived, in whole percent of the cluster's GPUs (rounded to
// nearest), is `arrived_pct`.
struct InflationPoint {
  std::int64_t arrived_pct = 0;
  std::int64_t jobs = 0;
  Int128 allocated_milli_sum = 0;  // over these jobs, after each

  // Mean allocation in thousandths of a percent of `capacity_milli`, rounded to nearest.
  std::int64_t allocated_pct_milli(std::int64_t capacity_milli) const;
};

struct InflationOutcome {
  std::vector<InflationPoint> curve;  // ascending, without gaps where jobs fell into every percent
  std::int64_t gpu_capacity_milli = 0;
  std::int64_t arrived_milli = 0;
  std::int64_t allocated_milli = 0;
  std::int64_t jobs = 0;
  std::int64_t placed = 0;
  std::array<std::int64_t, kSizeClasses> dropped{};  // by size
  std::int64_t decide_calls = 0;
};

// Ends with the first job after which `fill_to_pct` of demand has arrived; 0: with the last job. Errors as
// replay().
Result<InflationOutcome> inflate(const Input& input, Decider& decider, std::int64_t fill_to_pct,
                                 const std::function<void(const Progress&)>& progress);

}  // namespace berth::sim
