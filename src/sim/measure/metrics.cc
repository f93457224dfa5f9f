#include "sim/measure/metrics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "text/csv.h"
#include "text/quantity.h"
#include "text/source.h"

namespace berth::sim {
namespace {

// The nearest integer; of nothing: 0.
std::int64_t rounded(Int128 a, Int128 b) {
  return b == 0 ? 0 : clamp_to_int64(divide_rounded(a, b));
}

struct Samples {
  JobGroup group;
  std::vector<std::int64_t> completion;
  std::vector<std::int64_t> waiting;
  std::vector<std::int64_t> slowdown;
  Int128 lost_gpu_milli_ms = 0;

  void add(const Job& job, const JobOutcome& outcome) {
    ++group.jobs;
    group.evictions += outcome.evictions;
    lost_gpu_milli_ms += outcome.lost_gpu_ms;
    if (outcome.state != JobState::kDone) return;
    ++group.completed;
    completion.push_back(outcome.end - job.submit);
    waiting.push_back(outcome.waited);
    slowdown.push_back(slowdown_milli(outcome.end - job.submit, job.duration));
  }
  JobGroup take() {
    group.completion = spread_of(std::move(completion));
    group.waiting = spread_of(std::move(waiting));
    group.slowdown = spread_of(std::move(slowdown));
    group.lost_gpu_seconds = rounded(lost_gpu_milli_ms, 1'000'000);
    return std::move(group);
  }
};

void add_group(std::vector<Metric>& out, const std::string& prefix, const JobGroup& group) {
  const auto add = [&](std::string_view name, std::int64_t milli) {
    out.push_back({prefix + std::string(name), milli});
  };
  add("jobs", group.jobs * 1000);
  add("completed", group.completed * 1000);
  struct Measure {
    const char* name;
    const Spread* spread;
    const char* unit;
  };
  for (const Measure& measure :
       {Measure{"completion", &group.completion, "_s"}, Measure{"waiting", &group.waiting, "_s"},
        Measure{"slowdown", &group.slowdown, ""}}) {
    const auto put = [&](const char* what, std::int64_t milli) {
      add(fmt::format("{}_{}{}", measure.name, what, measure.unit), milli);
    };
    put("mean", measure.spread->mean);
    put("median", measure.spread->median);
    put("p90", measure.spread->p90);
    put("p99", measure.spread->p99);
    put("max", measure.spread->max);
  }
  add("evictions", group.evictions * 1000);
  add("lost_gpu_hours", rounded(static_cast<Int128>(group.lost_gpu_seconds) * 1000, 3600));
}

// A name of a size class without spaces, for metrics: "2-4-gpus".
std::string size_key(std::string_view name) {
  std::string key;
  for (const char c : name) key += c == ' ' ? '-' : c == 'G' ? 'g' : c == 'P' ? 'p' : c == 'U' ? 'u' : c;
  return key;
}

}  // namespace

std::int64_t slowdown_milli(DurationMs completion, DurationMs duration) {
  const Int128 work = std::max(duration, kSlowdownFloor);
  return std::max<std::int64_t>(1000, rounded(static_cast<Int128>(completion) * 1000, work));
}

Spread spread_of(std::vector<std::int64_t> values) {
  Spread out;
  out.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  Int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  const auto rank = [&](std::int64_t percent) {
    const std::int64_t at = (out.count * percent + 99) / 100;
    return values[static_cast<std::size_t>(std::max<std::int64_t>(at, 1) - 1)];
  };
  out.mean = rounded(sum, out.count);
  out.median = rank(50);
  out.p90 = rank(90);
  out.p99 = rank(99);
  out.max = values.back();
  return out;
}

namespace {

// The numbers of one replay, family by family. metrics.csv lists them in this order.
class Summary {
 public:
  Summary(const Input& input, const Outcome& outcome) : input_(input), outcome_(outcome) {}

  ReplaySummary run() {
    groups();
    out_.fairness = fairness_of(input_, outcome_);
    totals();
    failures();
    services();
    idle();
    shares();
    return std::move(out_);
  }

 private:
  void add(std::string name, std::int64_t milli) { out_.metrics.push_back({std::move(name), milli}); }
  std::int64_t percent(Int128 used, DurationMs time) const {
    return rounded(used * 100'000, static_cast<Int128>(outcome_.gpu_capacity_milli) * time);
  }

  void groups() {
    Samples all;
    Samples large;
    std::vector<Samples> queues(outcome_.leaves.size());
    std::vector<Samples> sizes(kSizeClasses);
    std::map<std::int64_t, Samples, std::greater<>> priorities;
    std::map<ReasonCode, WaitCause> causes;
    for (std::size_t i = 0; i < outcome_.jobs.size(); ++i) {
      const Job& job = input_.trace.jobs[i];
      const JobShape& shape = input_.trace.shapes[job.shape];
      const JobOutcome& result = outcome_.jobs[i];
      all.add(job, result);
      if (shape.gpu_milli >= kLargeGpuMilli) large.add(job, result);
      queues[outcome_.leaf_of[input_.queue_of[job.queue]]].add(job, result);
      sizes[static_cast<std::size_t>(size_class(shape.gpu_milli))].add(job, result);
      priorities[job.priority].add(job, result);
      if (result.waited_for != ReasonCode::kNone) {
        WaitCause& cause = causes[result.waited_for];
        ++cause.jobs;
        cause.waited_ms += result.waited;
        cause.waited_gpu_milli_ms += static_cast<Int128>(result.waited) * shape.gpu_milli;
      }
      reclaims_ += result.reclaims;
    }
    all.group.name = "all";
    large.group.name = "32 GPUs and more";
    out_.all = all.take();
    out_.large = large.take();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      queues[i].group.name = input_.queues[outcome_.leaves[i]].name;
      out_.queues.push_back(queues[i].take());
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].group.jobs == 0) continue;
      sizes[i].group.name = size_class_name(static_cast<SizeClass>(i));
      out_.sizes.push_back(sizes[i].take());
    }
    for (auto& [priority, samples] : priorities) {
      if (priorities.size() == 1) break;
      samples.group.name = fmt::format("{}", priority);
      out_.priorities.push_back(samples.take());
    }
    for (auto& [reason, cause] : causes) {
      cause.reason = reason;
      out_.causes.push_back(cause);
    }
    std::stable_sort(out_.causes.begin(), out_.causes.end(), [](const WaitCause& a, const WaitCause& b) {
      return a.waited_gpu_milli_ms > b.waited_gpu_milli_ms;
    });
  }

  void totals() {
    const Int128 gpu_ms = outcome_.series.integral(kTrackAllocated, outcome_.end);
    add_group(out_.metrics, "", out_.all);
    add("unfinished", outcome_.unfinished * 1000);
    add("outside_window", input_.outside_window * 1000);
    add("without_tenant", input_.without_tenant * 1000);
    add("reclaims", reclaims_ * 1000);
    add("holds", outcome_.holds * 1000);
    add("makespan_s", outcome_.end - outcome_.begin);
    add("nodes", static_cast<std::int64_t>(input_.nodes.size()) * 1000);
    add("gpus", outcome_.gpu_capacity_milli);
    add("gpu_hours_allocated", rounded(gpu_ms, kHour));
    add("gpu_allocation_pct", percent(gpu_ms, outcome_.end - outcome_.begin));
    add("gpu_allocation_while_arriving_pct",
        percent(outcome_.gpu_ms_while_arriving, outcome_.last_submit - outcome_.begin));
  }

  void failures() {
    std::int64_t failed_gpu_ms = 0;
    std::int64_t interruptions = 0;
    std::int64_t resizes = 0;
    DurationMs startup = 0;
    DurationMs checkpointing = 0;
    for (const JobOutcome& job : outcome_.jobs) {
      failed_gpu_ms = saturating_add(failed_gpu_ms, job.failed_gpu_ms);
      interruptions += job.failures;
      resizes += job.resizes;
      startup = saturating_add(startup, job.startup);
      checkpointing = saturating_add(checkpointing, job.checkpointing);
    }
    add("failures", outcome_.failures * 1000);
    add("nodes_lost", outcome_.nodes_lost * 1000);
    add("gpu_hours_down", rounded(outcome_.series.integral(kTrackDown, outcome_.end), kHour));
    add("job_failures", interruptions * 1000);
    add("failure_lost_gpu_hours", rounded(failed_gpu_ms, kHour));
    add("startup_hours", rounded(Int128{startup} * 1000, kHour));
    add("checkpoint_hours", rounded(Int128{checkpointing} * 1000, kHour));
    add("image_pulls", outcome_.image_pulls * 1000);
    add("resizes", resizes * 1000);
  }

  void services() {
    for (std::size_t i = 0; i < outcome_.services.size(); ++i) {
      const ServiceOutcome& service = outcome_.services[i];
      const ServiceAccount& account = service.account;
      const std::string prefix = "service." + input_.services[i].name + ".";
      add(prefix + "requests", rounded(account.offered, 1000));
      add(prefix + "unserved", rounded(account.unserved, 1000));
      add(prefix + "unserved_pct", rounded(account.unserved * 100'000, account.offered));
      add(prefix + "short_s", account.time_short);
      add(prefix + "short_pct", rounded(Int128{account.time_short} * 100'000, account.time));
      add(prefix + "worst_short_per_s", account.worst_milli);
      add(prefix + "replica_hours_wanted", rounded(account.replica_ms_target * 1000, kHour));
      add(prefix + "replica_hours_ready", rounded(account.replica_ms_ready * 1000, kHour));
      add(prefix + "evictions", service.room.evictions * 1000);
      add(prefix + "resizes", service.room.resizes * 1000);
      add(prefix + "failures", service.room.failures * 1000);
    }
  }

  void idle() {
    for (const auto& [name, track] : {std::pair{"idle_on_free_nodes_pct", kTrackIdleNodes},
                                      std::pair{"idle_on_used_nodes_pct", kTrackIdleWhole},
                                      std::pair{"idle_parts_pct", kTrackIdleParts}}) {
      add(name, percent(outcome_.series.integral(track, outcome_.end), outcome_.end - outcome_.begin));
    }
  }

  void shares() {
    const Fairness& fair = out_.fairness;
    const auto hours = [](Int128 gpu_milli_ms) { return rounded(gpu_milli_ms, kHour); };
    Int128 below_share = 0;
    Int128 below_guarantee = 0;
    for (const QueueFairness& queue : fair.queues) {
      below_share += queue.below_share_milli_ms;
      below_guarantee += queue.below_guarantee_milli_ms;
    }
    add("fairness_index", fair.index_mean_milli);
    add("below_share_gpu_hours", hours(below_share));
    add("below_guarantee_gpu_hours", hours(below_guarantee));
    add_group(out_.metrics, "large.", out_.large);
    for (std::size_t i = 0; i < out_.queues.size(); ++i) {
      const std::string prefix = "queue." + out_.queues[i].name + ".";
      add_group(out_.metrics, prefix, out_.queues[i]);
      add(prefix + "held_gpu_hours", hours(fair.queues[i].held_milli_ms));
      add(prefix + "deserved_gpu_hours", hours(fair.queues[i].deserved_milli_ms));
      add(prefix + "below_share_gpu_hours", hours(fair.queues[i].below_share_milli_ms));
      add(prefix + "below_guarantee_gpu_hours", hours(fair.queues[i].below_guarantee_milli_ms));
    }
    for (const JobGroup& group : out_.priorities)
      add_group(out_.metrics, "priority." + group.name + ".", group);
    for (const JobGroup& group : out_.sizes)
      add_group(out_.metrics, "size." + size_key(group.name) + ".", group);
  }

  const Input& input_;
  const Outcome& outcome_;
  ReplaySummary out_;
  std::int64_t reclaims_ = 0;
};

}  // namespace

ReplaySummary summarize(const Input& input, const Outcome& outcome) {
  return Summary(input, outcome).run();
}

std::optional<std::int64_t> allocated_at(const InflationOutcome& outcome, std::int64_t arrived_pct) {
  if (outcome.curve.empty() || outcome.curve.back().arrived_pct < arrived_pct) return std::nullopt;
  std::int64_t got = 0;
  for (const InflationPoint& point : outcome.curve) {
    if (point.arrived_pct > arrived_pct) break;
    got = point.allocated_pct_milli(outcome.gpu_capacity_milli);
  }
  return got;
}

std::optional<std::int64_t> published_at(const std::vector<CurvePoint>& published, std::int64_t arrived_pct) {
  for (const CurvePoint& point : published) {
    if (point.arrived_pct == arrived_pct) return point.allocated_pct_milli;
  }
  return std::nullopt;
}

std::vector<Metric> inflation_metrics(const InflationOutcome& outcome,
                                      const std::vector<CurvePoint>& published) {
  std::vector<Metric> out;
  const auto percent = [&](std::int64_t milli) {
    return rounded(static_cast<Int128>(milli) * 100'000, outcome.gpu_capacity_milli);
  };
  out.push_back({"jobs", outcome.jobs * 1000});
  out.push_back({"placed", outcome.placed * 1000});
  out.push_back({"gpus", outcome.gpu_capacity_milli});
  out.push_back({"arrived_pct", percent(outcome.arrived_milli)});
  out.push_back({"allocated_pct", percent(outcome.allocated_milli)});
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    if (outcome.dropped[i] == 0) continue;
    out.push_back(
        {"dropped." + size_key(size_class_name(static_cast<SizeClass>(i))), outcome.dropped[i] * 1000});
  }
  for (const InflationPoint& point : outcome.curve) {
    out.push_back({fmt::format("allocated_pct_at.{}", point.arrived_pct),
                   point.allocated_pct_milli(outcome.gpu_capacity_milli)});
  }
  // Also where a large job carried the curve past the mark.
  for (const std::int64_t mark : kFillMarks) {
    const bool there = std::any_of(outcome.curve.begin(), outcome.curve.end(),
                                   [&](const InflationPoint& point) { return point.arrived_pct == mark; });
    const auto value = allocated_at(outcome, mark);
    if (!there && value) out.push_back({fmt::format("allocated_pct_at.{}", mark), *value});
  }
  for (const std::int64_t mark : kFillMarks) {
    const auto theirs = published_at(published, mark);
    const auto ours = allocated_at(outcome, mark);
    if (!theirs || !ours) continue;
    out.push_back({fmt::format("published_pct_at.{}", mark), *theirs});
    out.push_back({fmt::format("above_published_at.{}", mark), *ours - *theirs});
  }
  return out;
}

std::string format_milli(std::int64_t milli) {
  const std::uint64_t size =
      milli < 0 ? 0 - static_cast<std::uint64_t>(milli) : static_cast<std::uint64_t>(milli);
  std::string out = fmt::format("{}{}", milli < 0 ? "-" : "", size / 1000);
  if (size % 1000 != 0) {
    out += fmt::format(".{:03}", size % 1000);
    while (out.back() == '0') out.pop_back();
  }
  return out;
}

Result<std::vector<Check>> check_metrics(const Scenario& scenario, const std::vector<Metric>& metrics) {
  std::vector<Check> out;
  for (const Expectation& want : scenario.expect) {
    const auto it =
        std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return m.name == want.metric; });
    if (it == metrics.end()) {
      return fail_at(want.place, "there is no metric '{}'; metrics.csv of a run (--out DIR) lists them",
                     want.metric);
    }
    out.push_back({want.metric, want.value_milli, want.tolerance_milli, it->milli});
  }
  return out;
}

Result<std::vector<CurvePoint>> published_curve(const Scenario& scenario) {
  if (!scenario.expect_curve) return std::vector<CurvePoint>();
  const CurveExpectation& expectation = *scenario.expect_curve;
  const std::uint64_t seed = scenario.seed;
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(expectation.path));
  BERTH_ASSIGN(text::CsvReader csv,
               text::CsvReader::open(source, {"pod_list", "policy", "seed", "arrived_pct", "allocated_pct"}));
  std::vector<CurvePoint> points;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) break;
    BERTH_ASSIGN(const std::int64_t row_seed, csv.integer(2));
    if (csv.field(0) != expectation.list || csv.field(1) != expectation.policy ||
        row_seed != static_cast<std::int64_t>(seed)) {
      continue;
    }
    BERTH_ASSIGN(const std::int64_t arrived, csv.integer(3, 0, 100'000));
    const auto allocated = text::parse_quantity_exact(csv.field(4), 1000);
    if (!allocated || !allocated->exact || allocated->value < 0) {
      return csv.error(4, "must be a percentage with at most three digits after the point");
    }
    points.push_back({arrived, allocated->value});
    if (points.size() > 100'000) return csv.error(0, "more than 100,000 points for this seed");
  }
  if (points.empty()) {
    return fail_at({expectation.path, 0, 0}, "has no row for pod_list {}, policy {}, seed {}",
                   expectation.list, expectation.policy, seed);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.arrived_pct < b.arrived_pct; });
  return points;
}

std::vector<Check> check_curve(const CurveExpectation& expectation, const std::vector<CurvePoint>& points,
                               const InflationOutcome& outcome) {
  std::vector<Check> out;
  for (const CurvePoint& point : points) {
    const std::int64_t last =
        outcome.curve.empty() ? 0 : outcome.curve.back().allocated_pct_milli(outcome.gpu_capacity_milli);
    const std::int64_t got = allocated_at(outcome, point.arrived_pct).value_or(last);
    out.push_back({fmt::format("allocated % at {} % arrived", point.arrived_pct), point.allocated_pct_milli,
                   expectation.within_pct_milli, got});
  }
  return out;
}

}  // namespace berth::sim
