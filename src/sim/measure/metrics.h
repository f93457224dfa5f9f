// The numbers of a run. All are exact integers in thousandths of their unit (so "3.250 s" is 3250), and become decimals only in
// print. Equal runs give equal numbers.
//
// Percentiles are nearest-rank: the least value that at least p percent of the values do not exceed. Means
// are rounded to the nearest thousandth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "sim/measure/fairness.h"
#include "sim/measure/inflation.h"
#include "sim/replay/replay.h"
#include "sim/scenario/input.h"
#include "sim/scenario/scenario.h"

namespace berth::sim {

struct Metric {
  std::string name;  // "queue.7f04ca.waiting_mean_s"
  std::int64_t milli = 0;
};

// Distribution of durations, in milliseconds (= thousandths of a second).
struct Spread {
  std::int64_t count = 0;
  std::int64_t mean = 0;
  std::int64_t median = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};
Spread spread_of(std::vector<std::int64_t> values);

// Jobs of one queue, one size class, or all.
struct JobGroup {
  std::string name;
  std::int64_t jobs = 0;
  std::int64_t completed = 0;
  std::int64_t evictions = 0;
  Spread completion;  // of completed jobs: submission to end
  Spread waiting;     // of completed jobs
  Spread slowdown;    // of completed jobs, in thousandths
  std::int64_t lost_gpu_seconds = 0;
};

// How many times longer a job took than its work: completion over duration, in thousandths; at least 1.
// Durations below 10 s count as 10 s, so that the shortest jobs do not decide the mean ("bounded slowdown":
// Feitelson, Rudolph, JSSPP 1998).
inline constexpr DurationMs kSlowdownFloor = 10 * kSecond;
std::int64_t slowdown_milli(DurationMs completion, DurationMs duration);

// Jobs that waited, by what held them back at the beginning of their longest wait (JobOutcome::waited_for).
struct WaitCause {
  ReasonCode reason = ReasonCode::kNone;
  std::int64_t jobs = 0;
  Int128 waited_ms = 0;
  Int128 waited_gpu_milli_ms = 0;
};

struct ReplaySummary {
  JobGroup all;
  JobGroup large;                    // jobs of 32 GPUs and more
  std::vector<JobGroup> queues;      // leaves in their order
  std::vector<JobGroup> sizes;       // classes that occur, in their order
  std::vector<JobGroup> priorities;  // highest first; empty where all jobs have one priority
  std::vector<WaitCause> causes;     // most GPU time first
  Fairness fairness;
  std::vector<Metric> metrics;  // everything, in a fixed order
};
ReplaySummary summarize(const Input& input, const Outcome& outcome);

// A point of a published curve.
struct CurvePoint {
  std::int64_t arrived_pct = 0;
  std::int64_t allocated_pct_milli = 0;
};
// Where tables of the inflation experiment look at the curve.
inline constexpr std::int64_t kFillMarks[] = {80, 90, 95, 100, 110, 120, 130};
// The curve at a percentage of demand; nothing where the run did not come that far. Where no job fell into the
// percentage, the value before it holds.
std::optional<std::int64_t> allocated_at(const InflationOutcome& outcome, std::int64_t arrived_pct);
std::optional<std::int64_t> published_at(const std::vector<CurvePoint>& published, std::int64_t arrived_pct);

std::vector<Metric> inflation_metrics(const InflationOutcome& outcome,
                                      const std::vector<CurvePoint>& published);

// "12.345", "-0.5", "7": thousandths as a decimal without trailing zeros.
std::string format_milli(std::int64_t milli);

// One expectation of the scenario, or one point of a published curve, and what came out.
struct Check {
  std::string what;
  std::int64_t want_milli = 0;
  std::int64_t tolerance_milli = 0;
  std::int64_t got_milli = 0;
  bool met() const {
    const Int128 off = static_cast<Int128>(got_milli) - want_milli;
    return off <= tolerance_milli && -off <= tolerance_milli;
  }
};
// An expectation about a metric that does not exist is an error at its place in the scenario.
Result<std::vector<Check>> check_metrics(const Scenario& scenario, const std::vector<Metric>& metrics);
// The published curve of the scenario's seed, ascending; an error where the file has no row for it. Empty where
// the scenario expects none.
Result<std::vector<CurvePoint>> published_curve(const Scenario& scenario);
std::vector<Check> check_curve(const CurveExpectation& expectation, const std::vector<CurvePoint>& points,
                               const InflationOutcome& outcome);

}  // namespace berth::sim
