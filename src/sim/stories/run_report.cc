// The page of one replayed run.
#include <algorithm>
#include <map>
#include <utility>

#include "base/enums.h"
#include "sim/experiment/compare.h"
#include "sim/page/report.h"
#include "sim/results/output.h"
#include "sim/results/report_parts.h"

namespace berth::sim {
namespace {

std::string milliseconds(const JobGroup& group, std::int64_t value) {
  return group.completed == 0 ? std::string() : fmt::format("{}", value);
}

Table waiting_table(std::string title, std::string first, const std::vector<JobGroup>& groups) {
  Table table;
  table.title = std::move(title);
  table.note = "Waiting: all the time without room, also after an eviction.";
  table.columns = {{std::move(first), ColumnKind::kText, ""}, {"Jobs", ColumnKind::kNumber, ""},
                   {"Completed", ColumnKind::kNumber, ""},    {"Waiting, mean", ColumnKind::kDurationMs, ""},
                   {"median", ColumnKind::kDurationMs, ""},   {"p90", ColumnKind::kDurationMs, ""},
                   {"p99", ColumnKind::kDurationMs, ""},      {"longest", ColumnKind::kDurationMs, ""},
                   {"Evictions", ColumnKind::kNumber, ""},    {"GPU-hours lost", ColumnKind::kNumber, ""}};
  for (const JobGroup& g : groups) {
    if (g.jobs == 0) continue;
    table.rows.push_back(
        {g.name, human_amount(g.jobs), human_amount(g.completed), milliseconds(g, g.waiting.mean),
         milliseconds(g, g.waiting.median), milliseconds(g, g.waiting.p90), milliseconds(g, g.waiting.p99),
         milliseconds(g, g.waiting.max), human_amount(g.evictions), human_amount(g.lost_gpu_seconds, 3600)});
  }
  return table;
}

Table completion_table(std::string title, std::string first, const std::vector<JobGroup>& groups) {
  Table table;
  table.title = std::move(title);
  table.columns = {{std::move(first), ColumnKind::kText, ""},
                   {"Completed", ColumnKind::kNumber, ""},
                   {"Completion, mean", ColumnKind::kDurationMs, ""},
                   {"median", ColumnKind::kDurationMs, ""},
                   {"p90", ColumnKind::kDurationMs, ""},
                   {"p99", ColumnKind::kDurationMs, ""},
                   {"Slowdown, mean", ColumnKind::kNumber, "times"},
                   {"median", ColumnKind::kNumber, "times"},
                   {"p90", ColumnKind::kNumber, "times"},
                   {"p99", ColumnKind::kNumber, "times"}};
  for (const JobGroup& g : groups) {
    if (g.completed == 0) continue;
    const auto slowdown = [](std::int64_t milli) { return human_amount(milli, 1000, 2); };
    table.rows.push_back({g.name, human_amount(g.completed), milliseconds(g, g.completion.mean),
                          milliseconds(g, g.completion.median), milliseconds(g, g.completion.p90),
                          milliseconds(g, g.completion.p99), slowdown(g.slowdown.mean),
                          slowdown(g.slowdown.median), slowdown(g.slowdown.p90), slowdown(g.slowdown.p99)});
  }
  return table;
}

TimeChart chart(const Outcome& outcome, std::string title, std::string note, std::string unit) {
  TimeChart out;
  out.title = std::move(title);
  out.note = std::move(note);
  out.unit = std::move(unit);
  out.begin_ms = outcome.begin;
  out.end_ms = outcome.end;
  return out;
}

// One series per queue.
TimeChart queue_chart(const Input& input, const Outcome& outcome, QueueTrack track, std::string title,
                      std::string note, std::string unit, std::int64_t divisor) {
  TimeChart out = chart(outcome, std::move(title), std::move(note), std::move(unit));
  out.style = SeriesStyle::kStacked;
  out.divisor = divisor;
  for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
    out.series.push_back(
        track_series(outcome.series, input.queues[outcome.leaves[i]].name, queue_track(i, track)));
  }
  return out;
}

enum class By : std::uint8_t { kQueue, kSize, kPriority };
enum class Measure : std::uint8_t { kWaiting, kCompletion, kSlowdown };

Distribution spread_chart(const Input& input, const Outcome& outcome, By by, Measure measure,
                          std::string title, std::string note, std::int64_t least_gpu_milli = 0) {
  Distribution out;
  out.title = std::move(title);
  out.note = std::move(note);
  out.subject = "jobs";
  out.palette = by == By::kQueue ? Palette::kChoice : Palette::kOrdered;
  if (measure == Measure::kSlowdown) {
    out.kind = SampleKind::kAmount;
    out.unit = "times";
    out.divisor = 1000;
  }
  // By what the groups are ordered by; lowest priority first.
  std::map<std::int64_t, SampleGroup> groups;
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Job& job = input.trace.jobs[i];
    const JobOutcome& result = outcome.jobs[i];
    const std::int64_t gpu_milli = input.trace.shapes[job.shape].gpu_milli;
    if (result.state != JobState::kDone || gpu_milli < least_gpu_milli) continue;
    const std::int64_t key = by == By::kPriority ? job.priority
                             : by == By::kSize   ? static_cast<std::int64_t>(size_class(gpu_milli))
                                                 : outcome.leaf_of[input.queue_of[job.queue]];
    SampleGroup& group = groups[key];
    if (group.name.empty()) {
      group.name = by == By::kPriority ? fmt::format("priority {}", key)
                   : by == By::kSize   ? std::string(size_class_name(static_cast<SizeClass>(key)))
                                       : input.queues[outcome.leaves[static_cast<std::size_t>(key)]].name;
    }
    const DurationMs took = result.end - job.submit;
    group.samples.push_back(measure == Measure::kWaiting      ? result.waited
                            : measure == Measure::kCompletion ? took
                                                              : slowdown_milli(took, job.duration));
  }
  for (auto& [key, group] : groups) out.groups.push_back(std::move(group));
  return out;
}

Gantt gantt(const Input& input, const Outcome& outcome) {
  Gantt out;
  out.title = "Jobs on nodes over time";
  out.note = fmt::format("{} of {} nodes, evenly over the cluster.", outcome.gantt_nodes.size(),
                         human_amount(static_cast<std::int64_t>(input.nodes.size())));
  out.begin_ms = outcome.begin;
  out.end_ms = std::max(outcome.last_submit, outcome.begin);
  for (const std::uint32_t node : outcome.gantt_nodes) {
    GanttLane lane;
    lane.node = input.nodes[node].name;
    for (const DevicePool& pool : input.nodes[node].devices) {
      lane.devices += static_cast<int>(pool.count);
      if (lane.hint.empty()) lane.hint = pool.model;
    }
    out.lanes.push_back(std::move(lane));
  }
  for (const Occupation& o : outcome.occupations) {
    out.end_ms = std::max(out.end_ms, o.end);
    const Job& job = input.trace.jobs[o.job];
    out.lanes[o.node].bars.push_back({job.name, input.trace.queues.name(job.queue), o.begin, o.end,
                                      o.gpu_milli,
                                      o.running   ? BarEnd::kRunning
                                      : o.evicted ? BarEnd::kEvicted
                                                  : BarEnd::kCompleted,
                                      o.devices});
  }
  return out;
}

Section allocation_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Allocation";
  const auto figure = [&](std::string_view name) {
    return human_amount(metric_or_zero(summary.metrics, name), 1000, 1);
  };
  out.lead = fmt::format("{} % of the GPUs had work while jobs arrived, {} % over the whole run of {}.",
                         figure("gpu_allocation_while_arriving_pct"), figure("gpu_allocation_pct"),
                         human_duration(outcome.end - outcome.begin));
  TimeChart gpus = queue_chart(input, outcome, QueueTrack::kAllocated, "GPUs allocated, by queue",
                               "The line on top is what the cluster has.", "GPU", 1000);
  gpus.capacity = Series{"GPUs of the cluster", {{outcome.begin, outcome.gpu_capacity_milli}}};
  out.blocks.emplace_back(std::move(gpus));
  out.blocks.emplace_back(
      queue_chart(input, outcome, QueueTrack::kPending, "Jobs waiting, by queue", "", "jobs", 1));
  TimeChart demand = chart(outcome, "GPUs that waiting jobs ask for", "", "GPU");
  demand.divisor = 1000;
  demand.series.push_back(track_series(outcome.series, "all waiting jobs", kTrackPendingGpu));
  if (summary.large.jobs > 0)
    demand.series.push_back(track_series(outcome.series, "jobs of 32 GPUs and more", kTrackPendingLarge));
  out.blocks.emplace_back(std::move(demand));
  TimeChart idle =
      chart(outcome, "Idle GPUs, by what they are still good for",
            "Only a free node takes a part of a large gang; idle GPUs beside busy ones and parts of "
            "GPUs are fragments.",
            "GPU");
  idle.divisor = 1000;
  idle.style = SeriesStyle::kStacked;
  idle.palette = Palette::kOrdered;
  idle.series.push_back(track_series(outcome.series, "parts of GPUs", kTrackIdleParts));
  idle.series.push_back(track_series(outcome.series, "on nodes in use", kTrackIdleWhole));
  idle.series.push_back(track_series(outcome.series, "on free nodes", kTrackIdleNodes));
  out.blocks.emplace_back(std::move(idle));
  return out;
}

Table causes_table(const ReplaySummary& summary) {
  Table out;
  out.title = "Why jobs waited";
  out.note =
      "Causes of waiting: at the beginning of each job's longest wait, and the waiting time of these jobs.";
  out.columns = {{"Reason", ColumnKind::kText, ""},
                 {"Jobs", ColumnKind::kNumber, ""},
                 {"Waiting, mean", ColumnKind::kDurationMs, ""},
                 {"GPU-hours waited for", ColumnKind::kNumber, ""}};
  for (const WaitCause& cause : summary.causes) {
    out.rows.push_back(
        {std::string(enum_name(cause.reason)), human_amount(cause.jobs),
         fmt::format("{}", clamp_to_int64(cause.waited_ms / std::max<std::int64_t>(cause.jobs, 1))),
         human_amount(clamp_to_int64(cause.waited_gpu_milli_ms / kHour), 1000, 0)});
  }
  return out;
}

Section waiting_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Waiting";
  out.lead = fmt::format("Waiting of all jobs: mean {}, median {}, 99 % below {}.",
                         human_duration(summary.all.waiting.mean), human_duration(summary.all.waiting.median),
                         human_duration(summary.all.waiting.p99));
  const auto add = [&](By by, std::string title) {
    out.blocks.emplace_back(spread_chart(input, outcome, by, Measure::kWaiting, std::move(title), ""));
  };
  add(By::kQueue, "Waiting time by queue");
  add(By::kSize, "Waiting time by size of job");
  if (!summary.priorities.empty()) add(By::kPriority, "Waiting time by priority");
  if (!summary.causes.empty()) out.blocks.emplace_back(causes_table(summary));
  out.blocks.emplace_back(waiting_table("By queue", "Queue", summary.queues));
  out.blocks.emplace_back(waiting_table("By size", "Size", summary.sizes));
  if (!summary.priorities.empty())
    out.blocks.emplace_back(waiting_table("By priority", "Priority", summary.priorities));
  return out;
}

Section completion_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Completion";
  out.lead = "Slowdown is how many times longer a job took than its work: 1 where it never waited.";
  out.blocks.emplace_back(spread_chart(input, outcome, By::kQueue, Measure::kCompletion,
                                       "Completion time by queue", "From submission to end."));
  out.blocks.emplace_back(spread_chart(input, outcome, By::kSize, Measure::kSlowdown,
                                       "Slowdown by size of job", "Run times below 10 s count as 10 s."));
  out.blocks.emplace_back(
      spread_chart(input, outcome, By::kQueue, Measure::kSlowdown, "Slowdown by queue", ""));
  out.blocks.emplace_back(completion_table("Completion and slowdown by queue", "Queue", summary.queues));
  out.blocks.emplace_back(completion_table("Completion and slowdown by size", "Size", summary.sizes));
  return out;
}

Section fairness_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Fairness";
  out.lead =
      "The share that a queue deserves: its guarantee up to its demand, and its part, by weight, of what is "
      "left. "
      "Computed from the course of the run, apart from the engine.";
  const BinnedSeries& series = outcome.series;
  TimeChart parts = chart(outcome, "Share held of the share deserved",
                          "At 100 % a queue has all that it deserves, or asks for nothing.", "%");
  parts.divisor = 1000;
  for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
    std::vector<std::int64_t> values;
    for (std::size_t bin = 0; bin < series.bins(); ++bin) {
      const std::int64_t deserved = summary.fairness.queues[i].deserved[bin];
      const std::int64_t held = series.mean(queue_track(i, QueueTrack::kAllocated), bin);
      values.push_back(held >= deserved
                           ? 100'000
                           : static_cast<std::int64_t>(static_cast<Int128>(held) * 100'000 / deserved));
    }
    parts.series.push_back(
        {input.queues[outcome.leaves[i]].name, binned_points(series.bin_begin(0), series.width(), values)});
  }
  out.blocks.emplace_back(std::move(parts));
  TimeChart index = chart(
      outcome, "Jain's index of the shares held",
      "1: all queues hold the same part of what they deserve. 1/n: one of n holds everything.", "index");
  index.divisor = 1000;
  index.series.push_back(
      {"index", binned_points(series.bin_begin(0), series.width(), summary.fairness.index_milli)});
  out.blocks.emplace_back(std::move(index));
  Table table;
  table.title = "Held and deserved";
  table.note = "GPU-hours over the whole run.";
  table.columns = {{"Queue", ColumnKind::kText, ""},
                   {"Held", ColumnKind::kNumber, "GPU-hours"},
                   {"Deserved", ColumnKind::kNumber, "GPU-hours"},
                   {"Held of deserved", ColumnKind::kNumber, "%"},
                   {"Missed", ColumnKind::kNumber, "GPU-hours below the share"},
                   {"Missed of the guarantee", ColumnKind::kNumber, "GPU-hours asked for"}};
  for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
    const QueueFairness& queue = summary.fairness.queues[i];
    const auto hours = [](Int128 milli_ms) {
      return human_amount(clamp_to_int64(milli_ms / kHour), 1000, 1);
    };
    table.rows.push_back(
        {input.queues[outcome.leaves[i]].name, hours(queue.held_milli_ms), hours(queue.deserved_milli_ms),
         queue.deserved_milli_ms == 0
             ? ""
             : human_amount(clamp_to_int64(queue.held_milli_ms * 100'000 / queue.deserved_milli_ms), 1000, 1),
         hours(queue.below_share_milli_ms), hours(queue.below_guarantee_milli_ms)});
  }
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section preemption_section(const Input& input, const Outcome& outcome) {
  Section out;
  out.title = "Preemption";
  out.lead =
      "Work that had to make room, and the GPU time that it cost: work since the last checkpoint, restart, "
      "and the grace period.";
  out.blocks.emplace_back(queue_chart(input, outcome, QueueTrack::kEvictions, "Evictions so far, by queue",
                                      "By the queue of the job that had to go.", "evictions", 1));
  out.blocks.emplace_back(queue_chart(input, outcome, QueueTrack::kLost, "GPU-hours lost so far, by queue",
                                      "", "GPU-hours", 3'600'000));
  return out;
}

Section failures_section(const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Failures";
  const auto figure = [&](std::string_view name) {
    return human_amount(metric_or_zero(summary.metrics, name), 1000, 1);
  };
  out.lead = fmt::format(
      "{} failures took {} nodes out, {} GPU-hours in all; jobs were hit {} times and lost {} GPU-hours.",
      human_amount(outcome.failures), human_amount(outcome.nodes_lost), figure("gpu_hours_down"),
      figure("job_failures"), figure("failure_lost_gpu_hours"));
  TimeChart down = chart(outcome, "GPUs out of service", "", "GPU");
  down.divisor = 1000;
  down.series.push_back(track_series(outcome.series, "out of service", kTrackDown));
  out.blocks.emplace_back(std::move(down));
  return out;
}

Section services_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Services";
  out.lead =
      "Replicas that the load asks for, that the service wants with its headroom and bounds, and that serve.";
  Table table;
  table.title = "Served";
  table.columns = {{"Service", ColumnKind::kText, ""},
                   {"Not served", ColumnKind::kNumber, "% of requests"},
                   {"Short", ColumnKind::kNumber, "% of the time"},
                   {"At worst", ColumnKind::kNumber, "requests per second"},
                   {"Replica-hours wanted", ColumnKind::kNumber, ""},
                   {"Replica-hours served", ColumnKind::kNumber, ""}};
  for (std::size_t i = 0; i < outcome.services.size(); ++i) {
    const std::string& name = input.services[i].name;
    const BinnedSeries& series = outcome.services[i].series;
    TimeChart replicas = chart(outcome, fmt::format("Replicas of {}", name), "", "replicas");
    replicas.series.push_back(track_series(series, "for the load", kServiceNeeded));
    replicas.series.push_back(track_series(series, "wanted", kServiceTarget));
    replicas.series.push_back(track_series(series, "serving", kServiceReady));
    out.blocks.emplace_back(std::move(replicas));
    const auto figure = [&](std::string_view what, int digits) {
      return human_amount(metric_or_zero(summary.metrics, fmt::format("service.{}.{}", name, what)), 1000,
                          digits);
    };
    table.rows.push_back({name, figure("unserved_pct", 3), figure("short_pct", 2),
                          figure("worst_short_per_s", 1), figure("replica_hours_wanted", 1),
                          figure("replica_hours_ready", 1)});
  }
  out.blocks.emplace_back(std::move(table));
  return out;
}

Section large_section(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  Section out;
  out.title = "Large gangs";
  out.lead = fmt::format("{} jobs of 32 GPUs and more: they need the most room at one moment.",
                         human_amount(summary.large.jobs));
  out.blocks.emplace_back(spread_chart(input, outcome, By::kSize, Measure::kWaiting,
                                       "Waiting time of the largest gangs", "", kLargeGpuMilli));
  out.blocks.emplace_back(waiting_table("Large gangs together", "Size", {summary.large}));
  return out;
}

}  // namespace

ReportData replay_report(const Scenario& scenario, const Input& input, const Outcome& outcome,
                         const ReplaySummary& summary, const std::vector<Check>& checks) {
  ReportData data = report_frame(scenario);
  data.subtitle = fmt::format("{} jobs on {} nodes with {} GPUs", human_amount(summary.all.jobs),
                              human_amount(static_cast<std::int64_t>(input.nodes.size())),
                              human_amount(outcome.gpu_capacity_milli, 1000));
  data.key_figures = {
      {"Mean waiting time", human_duration(summary.all.waiting.mean), "",
       "All the time that a job spends without room."},
      {"Nine of ten waited at most", human_duration(summary.all.waiting.p90), "",
       fmt::format("99 of 100: {}.", human_duration(summary.all.waiting.p99))},
      {"Mean completion time", human_duration(summary.all.completion.mean), "", "From submission to end."},
      {"GPUs allocated",
       human_amount(metric_or_zero(summary.metrics, "gpu_allocation_while_arriving_pct"), 1000, 1), "%",
       "Mean share of the GPUs that had work, from the first submission to the last."},
      {"Evictions", human_amount(summary.all.evictions), "", "How often a running job had to make room."},
      {"GPU-hours lost", human_amount(summary.all.lost_gpu_seconds, 3600), "h",
       "GPU time that evictions cost: work since the last checkpoint, restart, grace."}};
  if (outcome.leaves.size() > 1) {
    data.key_figures.push_back({"Fairness", human_amount(summary.fairness.index_mean_milli, 1000, 3), "",
                                "Jain's index over the queues' shares: 1 is even."});
  }
  if (summary.large.jobs > 0) {
    data.key_figures.push_back({"32 GPUs and more waited", human_duration(summary.large.waiting.mean), "",
                                fmt::format("Mean of {} jobs.", human_amount(summary.large.jobs))});
  }
  for (const std::uint32_t leaf : outcome.leaves) data.color_order.push_back(input.queues[leaf].name);
  data.sections.push_back(allocation_section(input, outcome, summary));
  data.sections.push_back(waiting_section(input, outcome, summary));
  data.sections.push_back(completion_section(input, outcome, summary));
  if (outcome.leaves.size() > 1) data.sections.push_back(fairness_section(input, outcome, summary));
  if (summary.all.evictions > 0) data.sections.push_back(preemption_section(input, outcome));
  if (summary.large.jobs > 0) data.sections.push_back(large_section(input, outcome, summary));
  if (outcome.failures > 0) data.sections.push_back(failures_section(outcome, summary));
  if (!outcome.services.empty()) data.sections.push_back(services_section(input, outcome, summary));
  if (!outcome.gantt_nodes.empty()) {
    Section nodes;
    nodes.title = "Nodes";
    nodes.blocks.emplace_back(gantt(input, outcome));
    data.sections.push_back(std::move(nodes));
  }
  if (!checks.empty()) data.sections.push_back(checks_section(checks));

  add_input_notes(input, data);
  for (const Outcome::Stuck& stuck : outcome.stuck) {
    data.notes.push_back(
        {NoteKind::kWarning, fmt::format("{} jobs never ran ({}), for example {}", human_amount(stuck.jobs),
                                         stuck.reason, stuck.example)});
  }
  data.notes.push_back({NoteKind::kInfo, fmt::format("Charts over time show means over {} or more.",
                                                     human_duration(outcome.series.width()))});
  if (outcome.occupations_left_out > 0) {
    data.notes.push_back({NoteKind::kInfo, fmt::format("{} later bars of the node chart are left out.",
                                                       human_amount(outcome.occupations_left_out))});
  }
  return data;
}

}  // namespace berth::sim
