#include "sim/experiment/runs.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace berth::sim {
namespace {

std::shared_ptr<RunCourse> course_of(const Input& input, const Outcome& outcome,
                                     const ReplaySummary& summary) {
  auto out = std::make_shared<RunCourse>();
  const BinnedSeries& series = outcome.series;
  out->begin = outcome.begin;
  out->end = outcome.end;
  out->width = series.width();
  out->gpu_capacity_milli = outcome.gpu_capacity_milli;
  for (const std::uint32_t leaf : outcome.leaves) out->queues.push_back(input.queues[leaf].name);
  for (std::size_t bin = 0; bin < series.bins(); ++bin) {
    out->allocated_milli.push_back(series.mean(kTrackAllocated, bin));
    out->pending.push_back(series.mean(kTrackPending, bin));
    out->pending_gpu_milli.push_back(series.mean(kTrackPendingGpu, bin));
    const auto sum = [&](QueueTrack track) {
      std::int64_t total = 0;
      for (std::size_t i = 0; i < outcome.leaves.size(); ++i)
        total = saturating_add(total, series.mean(queue_track(i, track), bin));
      return total;
    };
    out->evictions.push_back(sum(QueueTrack::kEvictions));
    out->lost_gpu_s_milli.push_back(sum(QueueTrack::kLost));
  }
  out->fairness_milli = summary.fairness.index_milli;
  out->jobs.reserve(outcome.jobs.size());
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Job& job = input.trace.jobs[i];
    const JobOutcome& result = outcome.jobs[i];
    out->jobs.push_back({job.name, outcome.leaf_of[input.queue_of[job.queue]],
                         input.trace.shapes[job.shape].gpu_milli, job.submit, result.first_start, result.end,
                         result.waited, result.evictions, result.waited_for});
    if (result.state == JobState::kDone)
      out->slowdown_milli.push_back(slowdown_milli(result.end - job.submit, job.duration));
  }
  return out;
}

std::shared_ptr<RunCourse> course_of(const Scenario& scenario, const InflationOutcome& outcome) {
  auto out = std::make_shared<RunCourse>();
  out->gpu_capacity_milli = outcome.gpu_capacity_milli;
  for (const InflationPoint& point : outcome.curve)
    out->curve.push_back({point.arrived_pct, point.allocated_pct_milli(outcome.gpu_capacity_milli)});
  // The run has read it already, so that it can be read.
  if (auto published = published_curve(scenario)) out->published = *std::move(published);
  return out;
}

// Everything that the threads share.
class Runner {
 public:
  Runner(const std::vector<RunPlan>& plans, const RunOptions& options)
      : plans_(plans), options_(options), results_(plans.size()), shares_(plans.size()) {}

  std::vector<RunResult> run() {
    std::size_t threads = options_.jobs != 0 ? options_.jobs : std::thread::hardware_concurrency();
    threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(plans_.size(), 1));
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
    return std::move(results_);
  }

 private:
  struct Share {
    std::int64_t ppm = 0;
    std::int64_t jobs_done = 0;
  };

  void work() {
    for (;;) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= plans_.size()) return;
      {
        const std::lock_guard lock(mutex_);
        ++progress_.running;
      }
      run_one(i);
      const std::lock_guard lock(mutex_);
      --progress_.running;
      ++progress_.done;
      if (results_[i].error) ++progress_.failed;
      shares_[i].ppm = 1'000'000;
      shares_[i].jobs_done = results_[i].jobs;
      report();
    }
  }

  void run_one(std::size_t i) {
    const RunPlan& plan = plans_[i];
    RunResult& out = results_[i];
    std::shared_ptr<RunCourse> course;
    SimulateOptions options;
    options.files = options.report = options_.keep != nullptr;
    options.audit_every = options_.audit_every;
    if (plan.overlaid) {
      options.look_at_replay = [&](const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
        course = course_of(input, outcome, summary);
      };
      options.look_at_inflation = [&](const Input&, const InflationOutcome& outcome) {
        course = course_of(plan.scenario, outcome);
      };
    }
    if (options_.progress) {
      options.progress = [&](const Progress& progress) {
        const std::lock_guard lock(mutex_);
        shares_[i].jobs_done = (progress.submitted + progress.ended) / 2;
        shares_[i].ppm = progress.jobs > 0 ? shares_[i].jobs_done * 1'000'000 / progress.jobs : 0;
        report();
      };
    }
    if (options_.log) {
      auto log = options_.log(plan);
      if (!log) {
        out.error = std::move(log.error());
        return;
      }
      options.log = *std::move(log);
    }
    auto result = simulate(plan.scenario, options);
    if (!result) {
      out.error = std::move(result.error());
      return;
    }
    out.metrics = result->metrics;
    out.checks = result->checks;
    out.jobs = result->jobs;
    out.decide_calls = result->decide_calls;
    out.quota_gap = result->quota_gap;
    out.course = std::move(course);
    if (!options_.keep) return;
    const std::lock_guard lock(keep_mutex_);
    if (auto kept = options_.keep(plan, std::move(*result)); !kept) out.error = std::move(kept.error());
  }

  // With mutex_ held.
  void report() {
    if (!options_.progress) return;
    progress_.runs = plans_.size();
    std::int64_t ppm = 0;
    progress_.jobs_done = 0;
    for (const Share& share : shares_) {
      ppm += share.ppm;
      progress_.jobs_done += share.jobs_done;
    }
    progress_.share_ppm = plans_.empty() ? 0 : ppm / static_cast<std::int64_t>(plans_.size());
    options_.progress(progress_);
  }

  const std::vector<RunPlan>& plans_;
  const RunOptions& options_;
  std::vector<RunResult> results_;  // each is written by the thread that runs it
  std::atomic<std::size_t> next_{0};
  std::mutex keep_mutex_;
  std::mutex mutex_;  // what follows
  std::vector<Share> shares_;
  RunsProgress progress_;
};

}  // namespace

Result<std::vector<RunPlan>> plan_runs(const Experiment& experiment) {
  if (experiment.runs() > kMostRuns)
    return fail(ErrorCode::kInvalid, "{} variants with {} seeds are more than {} runs",
                experiment.variants.size(), experiment.seeds.size(), kMostRuns);
  std::vector<RunPlan> out;
  for (std::size_t v = 0; v < experiment.variants.size(); ++v) {
    const Variant& variant = experiment.variants[v];
    const std::size_t seeds = std::max<std::size_t>(experiment.seeds.size(), 1);
    for (std::size_t s = 0; s < seeds; ++s) {
      ScenarioOptions options;
      if (!experiment.seeds.empty()) options.seed = experiment.seeds[s];
      options.changes = variant.changes;
      options.fill = experiment.fill;
      auto scenario = read_scenario(variant.scenario, options);
      if (!scenario) {
        Error error = std::move(scenario.error());
        if (experiment.variants.size() > 1) error.message += fmt::format(" (variant {})", variant.name);
        return tl::unexpected<Error>(std::move(error));
      }
      RunPlan plan{v, variant.name, s == 0 && v < kMostOverlaid, *std::move(scenario)};
      if (seeds > 1) plan.name += fmt::format(", seed {}", plan.scenario.seed);
      out.push_back(std::move(plan));
    }
  }
  return out;
}

std::vector<RunResult> run_all(const std::vector<RunPlan>& plans, const RunOptions& options) {
  return Runner(plans, options).run();
}

}  // namespace berth::sim
