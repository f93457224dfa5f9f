// Carries an experiment out: every variant with every seed, as many runs at a time as there are cores. A run has an engine and an
// input of its own, so runs cannot influence each other. Results are in the order of the experiment however many run at a time:
// equal experiments give equal bytes.
//
// A run that fails keeps its error and its name; the others go on.
//
// Memory: of each run its metrics; and of the first seed of the first kMostOverlaid variants also what
// comparison pages draw (a few thousand numbers, and about 100 bytes per job).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/measure/metrics.h"

namespace berth::sim {

inline constexpr std::size_t kMostOverlaid = 8;

// The course of one job in one run.
struct JobCourse {
  std::string name;
  std::uint32_t queue = 0;  // in RunCourse::queues
  std::int64_t gpu_milli = 0;
  TimeMs submit = 0;
  TimeMs first_start = kEndOfTime;
  TimeMs end = kEndOfTime;
  DurationMs waited = 0;
  std::int32_t evictions = 0;
  ReasonCode waited_for = ReasonCode::kNone;
};

// The course of one run, for pictures of several runs.
struct RunCourse {
  // Replay: values per bin of `width`, from `begin`.
  TimeMs begin = 0;
  TimeMs end = 0;
  DurationMs width = 0;
  std::int64_t gpu_capacity_milli = 0;
  std::vector<std::int64_t> allocated_milli;
  std::vector<std::int64_t> pending;
  std::vector<std::int64_t> pending_gpu_milli;
  std::vector<std::int64_t> evictions;         // up to here
  std::vector<std::int64_t> lost_gpu_s_milli;  // up to here
  std::vector<std::int64_t> fairness_milli;
  std::vector<std::string> queues;
  std::vector<JobCourse> jobs;
  std::vector<std::int64_t> slowdown_milli;  // of completed jobs
  // Inflation: allocated against arrived.
  std::vector<CurvePoint> curve;
  std::vector<CurvePoint> published;
};

struct RunPlan {
  std::size_t variant = 0;
  std::string name;  // of the variant, with the seed where there are several
  bool overlaid = false;
  Scenario scenario;
};
// Reads every scenario; an error names the variant.
Result<std::vector<RunPlan>> plan_runs(const Experiment& experiment);

struct RunResult {
  std::optional<Error> error;
  std::vector<Metric> metrics;
  std::vector<Check> checks;
  std::int64_t jobs = 0;
  std::int64_t decide_calls = 0;
  std::string quota_gap;
  std::shared_ptr<const RunCourse> course;  // where the plan says `overlaid`
};

struct RunsProgress {
  std::size_t runs = 0;
  std::size_t done = 0;
  std::size_t failed = 0;  // of those done
  std::size_t running = 0;
  // For all runs together, in millionths: each run counts the same.
  std::int64_t share_ppm = 0;
  std::int64_t jobs_done = 0;  // in runs done and running
};

struct RunOptions {
  std::int64_t audit_every = 0;  // moments between audits of each run's engine; 0 = never
  std::size_t jobs = 0;          // runs at a time; 0 = as many as there are cores
  // Called from several threads, never twice at a time; may be empty.
  std::function<void(const RunsProgress&)> progress;
  // Takes a run's own files and report when it is over, from any thread, never twice at a time; empty: they
  // are not made. An error becomes the run's.
  std::function<Status(const RunPlan&, SimulateResult&&)> keep;
  // Where a run's decision log goes (SimulateOptions::log), asked before the run, from any thread; empty: nowhere.
  std::function<Result<std::string>(const RunPlan&)> log;
};
std::vector<RunResult> run_all(const std::vector<RunPlan>& plans, const RunOptions& options);

}  // namespace berth::sim
