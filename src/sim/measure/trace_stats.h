// Statistics of a list of jobs: counts, sizes, run times, arrivals, demand, tenants, defects; as a table with pictures for a
// terminal, and as JSON. All numbers are exact integers in thousandths where they are printed with a fraction; equal files give
// equal bytes.
//
// Memory does not grow with the number of jobs: at most about 200 MB (StatsLimits), and one entry per tenant, of which a
// TraceBuilder lets so many come. Every number is exact for a million jobs and less, and for more of them while their times repeat.
// Beyond that percentiles of run times and the peak of the demand are marked bounds (trace_counts.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/checked.h"
#include "sim/measure/metrics.h"
#include "sim/measure/trace_counts.h"
#include "sim/trace/trace.h"
#include "sim/trace/trace_file.h"

namespace berth::sim {

struct StatsGroup {
  std::int64_t jobs = 0;
  Int128 gpu_ms_milli = 0;  // GPU-time: thousandths of a GPU times milliseconds
};

struct StatsSize {
  SizeClass size = SizeClass::kNoGpu;
  StatsGroup group;
  Spread run_time;
};

struct TraceSummary {
  std::int64_t jobs = 0;
  TimeMs first = 0;
  TimeMs last = 0;  // submission
  Spread run_time;
  bool run_time_exact = true;  // else its percentiles, and those by size, are within kRunTimeErrorPctMilli
  Int128 gpu_ms_milli = 0;
  std::int64_t mean_gpu_milli = 0;  // per job
  std::int64_t max_gpu_milli = 0;
  std::vector<StatsSize> sizes;              // classes that occur
  std::int64_t arrivals_per_hour_milli = 0;  // from the first to the last submission
  std::int64_t busiest_hour = 0;             // jobs in the busiest hour of the clock
  std::array<std::int64_t, 24> by_hour{};    // jobs by the hour of the day, time 0 being midnight
  std::vector<std::int64_t> over_time;       // jobs in equal parts of the span
  std::vector<std::int64_t> by_octave;       // jobs by run time: [0,1), [1,2), [2,4) ... seconds
  std::int64_t mean_demand_gpu_milli = 0;    // GPU-time over the span
  DemandSteps::Peak peak_demand;             // at once, if every job started on arrival
};

// How much of a trace is remembered; see trace_counts.h for what happens beyond.
struct StatsLimits {
  std::size_t run_times = std::size_t{1} << 20;  // different pairs of size and run time
  std::size_t times = std::size_t{1} << 21;      // different times of submissions and ends
  std::size_t hours = std::size_t{1} << 17;      // 15 years
};

class TraceStats {
 public:
  explicit TraceStats(const StatsLimits& limits = {})
      : run_times_(limits.run_times), demand_(limits.times), busiest_(limits.hours) {}

  // Takes a job whose indices lead into `tables`. O(log of the limits) amortized.
  void add(const Job& job, const Trace& tables);
  // The numbers of all jobs so far. O(limits).
  TraceSummary summarize();
  // The use of the jobs, except the tenants.
  std::size_t memory_bytes() const;

  std::map<std::string, StatsGroup, std::less<>> tenants;  // "" = none
  std::int64_t out_of_order = 0;                           // submitted before the job in front of it
  std::int64_t without_run_time = 0;                       // run time 0
  std::int64_t expected = 0;                               // with an expected duration
  // Set by the caller.
  TraceWorld world;
  std::vector<std::string> remarks;  // what the reader left out

 private:
  TraceSummary sums_;  // what is summed up job by job
  Int128 gpu_sum_ = 0;
  TimeMs previous_ = kInt64Min;
  std::array<StatsGroup, kSizeClasses> groups_;
  RunTimeCounts run_times_;
  DemandSteps demand_;
  BusiestHour busiest_;
};

std::string stats_table(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary);
std::string stats_json(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary);

}  // namespace berth::sim
