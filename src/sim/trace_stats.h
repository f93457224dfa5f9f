// What is in a list of jobs: counts, sizes, run times, arrivals, demand, tenants, defects; as a table with
// pictures for a terminal, and as JSON. All numbers are exact integers in thousandths where they are printed
// with a fraction; equal files give equal bytes.
//
// Memory: 24 bytes per job, and one entry per tenant.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/checked.h"
#include "sim/metrics.h"
#include "sim/trace.h"
#include "sim/trace_file.h"

namespace berth::sim {

struct StatsRow {
  TimeMs submit = 0;
  DurationMs duration = 0;
  std::int64_t gpu_milli = 0;
};

struct StatsGroup {
  std::int64_t jobs = 0;
  Int128 gpu_ms_milli = 0;  // GPU-time: thousandths of a GPU times milliseconds
};

struct TraceStats {
  std::vector<StatsRow> rows;
  std::map<std::string, StatsGroup, std::less<>> tenants;  // "" = none
  std::int64_t out_of_order = 0;                           // submitted before the job in front of it
  std::int64_t without_run_time = 0;                       // run time 0
  std::int64_t expected = 0;                               // with an expected duration
  // Set by the caller.
  TraceWorld world;
  std::vector<std::string> remarks;  // what the reader left out

  void add(const Job& job, const Trace& tables);
};

struct StatsSize {
  SizeClass size = SizeClass::kNoGpu;
  StatsGroup group;
  Spread run_time;
};

// The numbers made of the rows.
struct TraceSummary {
  std::int64_t jobs = 0;
  TimeMs first = 0;
  TimeMs last = 0;  // submission
  Spread run_time;
  Int128 gpu_ms_milli = 0;
  std::int64_t mean_gpu_milli = 0;  // per job
  std::int64_t max_gpu_milli = 0;
  std::vector<StatsSize> sizes;              // classes that occur
  std::int64_t arrivals_per_hour_milli = 0;  // from the first to the last submission
  std::int64_t busiest_hour = 0;             // jobs in the busiest hour
  std::array<std::int64_t, 24> by_hour{};    // jobs by the hour of the day, time 0 being midnight
  std::vector<std::int64_t> over_time;       // jobs in equal parts of the span
  std::vector<std::int64_t> by_octave;       // jobs by run time: [0,1), [1,2), [2,4) ... seconds
  std::int64_t mean_demand_gpu_milli = 0;    // GPU-time over the span
  std::int64_t peak_demand_gpu_milli = 0;    // at once, if every job started on arrival
};
TraceSummary summarize(const TraceStats& stats);

std::string stats_table(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary);
std::string stats_json(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary);

}  // namespace berth::sim
