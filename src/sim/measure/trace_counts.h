// The counts of a list of jobs of any length, in memory that does not grow with it: run times, demand over time, jobs per hour.
// Each is exact as long as few enough different values come, and then becomes coarser in a stated way. Exact integers, and the same
// numbers for any order of the jobs (BusiestHour: see there).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/checked.h"
#include "base/time.h"
#include "sim/course/tally.h"
#include "sim/measure/metrics.h"
#include "sim/trace/trace.h"

namespace berth::sim {

// Run times by size of the job. Count, mean and maximum are always exact. Median, p90 and p99 are exact while
// there are at most `most` different pairs of size and run time; after that run times are counted in ranges, 512 to each power of
// two. A percentile is then the middle of its range: within 0.1 % (kRunTimeErrorPctMilli) of the exact one.
inline constexpr std::int64_t kRunTimeErrorPctMilli = 100;  // thousandths of a percent

class RunTimeCounts {
 public:
  explicit RunTimeCounts(std::size_t most);

  // `run` is not negative.
  void add(SizeClass size, DurationMs run);
  // Brings in what add() has put aside; the following are asked after it.
  void settle();
  bool exact() const { return !ranges_; }
  Spread of(SizeClass size) const;
  Spread all() const;
  std::size_t memory_bytes() const { return tally_.memory_bytes(); }

 private:
  struct Key {
    SizeClass size = SizeClass::kNoGpu;
    DurationMs run = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Totals {
    std::int64_t jobs = 0;
    Int128 sum = 0;
    DurationMs max = 0;
  };
  using Counts = std::vector<std::pair<DurationMs, std::int64_t>>;  // ascending
  Spread spread_of_counts(const Counts& counts, const Totals& totals) const;

  std::size_t most_;
  bool ranges_ = false;
  Tally<Key, std::int64_t> tally_;
  std::array<Totals, kSizeClasses> totals_;
};

// How many GPUs are in use at once if every job starts when it is submitted, and when jobs come. Exact while
// there are at most `most` different times of beginnings and ends; after that time is counted in steps of 2 ms,
// 4 ms ..., the shortest for which there are no more.
class DemandSteps {
 public:
  explicit DemandSteps(std::size_t most);

  // submit + run is in the range of 64 bits, `run` not negative.
  void add(TimeMs submit, DurationMs run, std::int64_t gpu_milli);
  // As RunTimeCounts::settle().
  void settle();
  DurationMs step() const { return DurationMs{1} << shift_; }
  // Bounds of the most GPUs at once, in thousandths; equal where the time is exact. (In one step the order of
  // beginnings and ends is not known: at most all begin first.)
  struct Peak {
    std::int64_t at_least = 0;
    std::int64_t at_most = 0;
  };
  Peak peak() const;
  // Jobs in `parts` equal parts of [first, last], which are the first and the last submission.
  std::vector<std::int64_t> over_time(TimeMs first, TimeMs last, std::size_t parts) const;
  std::size_t memory_bytes() const { return tally_.memory_bytes(); }

 private:
  struct Step {
    std::int64_t jobs = 0;
    std::int64_t begins = 0;  // thousandths of a GPU; sums beyond 64 bits stay at their end
    std::int64_t ends = 0;
    Step& operator+=(const Step& other);
  };
  TimeMs step_of(TimeMs at) const { return (at >> shift_) * (TimeMs{1} << shift_); }

  std::size_t most_;
  int shift_ = 0;
  Tally<TimeMs, Step> tally_;
};

// The most jobs in one hour of the clock. At most `most` hours are remembered; the one furthest from the job that
// comes is forgotten first. So it is exact for jobs in order of submission, and for others within that many hours. A job in a
// forgotten hour finds it empty.
class BusiestHour {
 public:
  explicit BusiestHour(std::size_t most) : most_(most) {}
  void add(TimeMs submit);
  std::int64_t jobs() const { return busiest_; }
  std::size_t memory_bytes() const;

 private:
  std::size_t most_;
  std::int64_t busiest_ = 0;
  std::map<std::int64_t, std::int64_t> hours_;
};

// The hour of the clock, time 0 being midnight; rounded down.
std::int64_t hour_of(TimeMs at);

}  // namespace berth::sim
