// Runs as reports: which pictures and tables tell what happened.
#include <algorithm>

#include "sim/output.h"
#include "sim/report.h"

namespace berth::sim {
namespace {

std::string percent(std::int64_t milli) {
  return human_amount(milli, 1000, 1);
}

std::int64_t metric(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& m : metrics) {
    if (m.name == name) return m.milli;
  }
  return 0;
}

Table group_table(std::string title, std::string first, const std::vector<JobGroup>& groups) {
  Table table;
  table.title = std::move(title);
  table.note =
      "Waiting: all the time without room, also after an eviction. Completion: from submission to end.";
  table.columns = {
      {std::move(first), ColumnKind::kText, ""}, {"Jobs", ColumnKind::kNumber, ""},
      {"Completed", ColumnKind::kNumber, ""},    {"Waiting, mean", ColumnKind::kDurationMs, ""},
      {"median", ColumnKind::kDurationMs, ""},   {"p90", ColumnKind::kDurationMs, ""},
      {"p99", ColumnKind::kDurationMs, ""},      {"Completion, mean", ColumnKind::kDurationMs, ""},
      {"median", ColumnKind::kDurationMs, ""},   {"p99", ColumnKind::kDurationMs, ""},
      {"Evictions", ColumnKind::kNumber, ""},    {"GPU-hours lost", ColumnKind::kNumber, ""}};
  for (const JobGroup& g : groups) {
    if (g.jobs == 0) continue;
    const auto ms = [&](std::int64_t value) {
      return g.completed == 0 ? std::string() : fmt::format("{}", value);
    };
    table.rows.push_back({g.name, human_amount(g.jobs), human_amount(g.completed), ms(g.waiting.mean),
                          ms(g.waiting.median), ms(g.waiting.p90), ms(g.waiting.p99), ms(g.completion.mean),
                          ms(g.completion.median), ms(g.completion.p99), human_amount(g.evictions),
                          human_amount(g.lost_gpu_seconds, 3600)});
  }
  return table;
}

Series series_of(const Outcome& outcome, std::string name, std::size_t track) {
  Series out;
  out.name = std::move(name);
  for (std::size_t bin = 0; bin < outcome.series.bins(); ++bin) {
    out.points.push_back({outcome.series.bin_begin(bin), outcome.series.mean(track, bin)});
  }
  return out;
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

Distribution spread_chart(const Input& input, const Outcome& outcome, bool by_size, bool waiting,
                          std::string title, std::string note) {
  Distribution out;
  out.title = std::move(title);
  out.note = std::move(note);
  out.subject = "jobs";
  out.palette = by_size ? Palette::kOrdered : Palette::kChoice;
  std::vector<SampleGroup> groups(by_size ? kSizeClasses : outcome.leaves.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = by_size ? std::string(size_class_name(static_cast<SizeClass>(i)))
                             : input.queues[outcome.leaves[i]].name;
  }
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Job& job = input.trace.jobs[i];
    const JobOutcome& result = outcome.jobs[i];
    if (result.state != JobState::kDone) continue;
    const std::size_t group =
        by_size ? static_cast<std::size_t>(size_class(input.trace.shapes[job.shape].gpu_milli))
                : outcome.leaf_of[input.queue_of[job.queue]];
    groups[group].samples.push_back(waiting ? result.waited : result.end - job.submit);
  }
  for (SampleGroup& group : groups) {
    if (!group.samples.empty()) out.groups.push_back(std::move(group));
  }
  return out;
}

Gantt gantt(const Input& input, const Outcome& outcome) {
  Gantt out;
  out.title = "What ran where";
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

Section checks_section(const std::vector<Check>& checks) {
  Section section;
  section.title = "Expectations";
  section.lead = "What the scenario says should come out, and what did.";
  Table table;
  table.title = "Expected and found";
  table.columns = {{"What", ColumnKind::kText, ""},
                   {"Wanted", ColumnKind::kNumber, ""},
                   {"Within", ColumnKind::kNumber, ""},
                   {"Found", ColumnKind::kNumber, ""},
                   {"", ColumnKind::kText, ""}};
  for (const Check& check : checks) {
    table.rows.push_back({check.what, format_milli(check.want_milli), format_milli(check.tolerance_milli),
                          format_milli(check.got_milli), check.met() ? "met" : "not met"});
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

ReportData frame(const Scenario& scenario) {
  ReportData data;
  data.title = scenario.name;
  data.generated_by = fmt::format("berth simulate {}", scenario.file);
  data.scenario = scenario.text;
  data.origin_unix_ms = scenario.origin_unix_ms;
  return data;
}

void add_input_notes(const Input& input, ReportData& data) {
  if (input.outside_window > 0) {
    data.notes.push_back(
        {NoteKind::kInfo, fmt::format("{} jobs of the trace lie outside the chosen window and were left out.",
                                      human_amount(input.outside_window))});
  }
  if (input.without_tenant > 0) {
    data.notes.push_back(
        {NoteKind::kWarning, fmt::format("{} jobs without a tenant were left out, as the scenario says.",
                                         human_amount(input.without_tenant))});
  }
  for (const std::string& remark : input.remarks) data.notes.push_back({NoteKind::kInfo, remark + "."});
}

}  // namespace

ReportData replay_report(const Scenario& scenario, const Input& input, const Outcome& outcome,
                         const ReplaySummary& summary, const std::vector<Check>& checks) {
  ReportData data = frame(scenario);
  data.subtitle = fmt::format("{} jobs on {} nodes with {} GPUs", human_amount(summary.all.jobs),
                              human_amount(static_cast<std::int64_t>(input.nodes.size())),
                              human_amount(outcome.gpu_capacity_milli, 1000));
  data.key_figures = {
      {"Mean waiting time", human_duration(summary.all.waiting.mean), "",
       "All the time that a job spends without room."},
      {"Jobs that waited at most", human_duration(summary.all.waiting.p90), "",
       "Nine of ten jobs waited no longer."},
      {"Mean completion time", human_duration(summary.all.completion.mean), "", "From submission to end."},
      {"GPUs allocated", percent(metric(summary.metrics, "gpu_allocation_while_arriving_pct")), "%",
       "Mean share of the GPUs that had work, from the first submission to the last."},
      {"Evictions", human_amount(summary.all.evictions), "",
       "How often a running job had to make room; reclaims of guaranteed quota are the ones by another "
       "queue."},
      {"GPU-hours lost", human_amount(summary.all.lost_gpu_seconds, 3600), "h",
       "GPU time that evictions cost: work since the last checkpoint, restart, grace."}};
  if (!scenario.description.empty()) {
    Section about;
    about.title = "About";
    about.blocks.emplace_back(TextBlock{scenario.description, false, ""});
    data.sections.push_back(std::move(about));
  }

  Section allocation;
  allocation.title = "Allocation";
  TimeChart gpus =
      chart(outcome, "GPUs allocated, by queue", "The line on top is what the cluster has.", "GPU");
  gpus.divisor = 1000;
  gpus.style = SeriesStyle::kStacked;
  for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
    gpus.series.push_back(series_of(outcome, input.queues[outcome.leaves[i]].name, kTrackQueues + 2 * i));
    data.color_order.push_back(input.queues[outcome.leaves[i]].name);
  }
  gpus.capacity = Series{"GPUs of the cluster", {{outcome.begin, outcome.gpu_capacity_milli}}};
  allocation.blocks.emplace_back(std::move(gpus));
  TimeChart waiting = chart(outcome, "Jobs waiting, by queue", "", "jobs");
  waiting.style = SeriesStyle::kStacked;
  for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
    waiting.series.push_back(
        series_of(outcome, input.queues[outcome.leaves[i]].name, kTrackQueues + 2 * i + 1));
  }
  allocation.blocks.emplace_back(std::move(waiting));
  TimeChart demand = chart(outcome, "GPUs that waiting jobs ask for", "", "GPU");
  demand.divisor = 1000;
  demand.series.push_back(series_of(outcome, "waiting", kTrackPendingGpu));
  allocation.blocks.emplace_back(std::move(demand));
  data.sections.push_back(std::move(allocation));

  Section waits;
  waits.title = "Waiting";
  waits.lead = fmt::format(
      "Waiting of all jobs: mean {}, median {}, 99 % below {}.", human_duration(summary.all.waiting.mean),
      human_duration(summary.all.waiting.median), human_duration(summary.all.waiting.p99));
  waits.blocks.emplace_back(spread_chart(input, outcome, false, true, "Waiting time by queue", ""));
  waits.blocks.emplace_back(spread_chart(input, outcome, true, true, "Waiting time by size of job", ""));
  waits.blocks.emplace_back(group_table("By queue", "Queue", summary.queues));
  waits.blocks.emplace_back(group_table("By size", "Size", summary.sizes));
  if (summary.large.jobs > 0)
    waits.blocks.emplace_back(group_table("The largest gangs", "Size", {summary.large}));
  data.sections.push_back(std::move(waits));

  Section completion;
  completion.title = "Completion";
  completion.blocks.emplace_back(
      spread_chart(input, outcome, false, false, "Completion time by queue", "From submission to end."));
  data.sections.push_back(std::move(completion));

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
  data.notes.push_back({NoteKind::kInfo, fmt::format("Charts over time show means over {}.",
                                                     human_duration(outcome.series.width()))});
  if (outcome.occupations_left_out > 0) {
    data.notes.push_back({NoteKind::kInfo, fmt::format("{} later bars of the node chart are left out.",
                                                       human_amount(outcome.occupations_left_out))});
  }
  return data;
}

ReportData inflation_report(const Scenario& scenario, const Input& input, const InflationOutcome& outcome,
                            const std::vector<Check>& checks) {
  ReportData data = frame(scenario);
  const std::vector<Metric> metrics = inflation_metrics(outcome);
  data.subtitle = fmt::format("{} jobs offered to {} nodes with {} GPUs, seed {}", human_amount(outcome.jobs),
                              human_amount(static_cast<std::int64_t>(input.nodes.size())),
                              human_amount(outcome.gpu_capacity_milli, 1000), scenario.seed);
  data.key_figures = {
      {"GPU demand arrived", percent(metric(metrics, "arrived_pct")), "%", "Of the cluster's GPUs."},
      {"GPUs allocated", percent(metric(metrics, "allocated_pct")), "%",
       "Of the cluster's GPUs, at the end."},
      {"Jobs placed", human_amount(outcome.placed), "", ""},
      {"Jobs dropped", human_amount(outcome.jobs - outcome.placed), "",
       "They fitted on no node when they came."}};
  if (!scenario.description.empty()) {
    Section about;
    about.title = "About";
    about.blocks.emplace_back(TextBlock{scenario.description, false, ""});
    data.sections.push_back(std::move(about));
  }
  Section curve;
  curve.title = "Curve";
  curve.lead =
      "Jobs are offered one by one to an empty cluster; nothing leaves, and what fits nowhere is dropped.";
  Table table;
  table.title = "GPUs allocated as demand arrives";
  table.columns = {{"Demand arrived", ColumnKind::kNumber, "% of GPUs"},
                   {"Allocated", ColumnKind::kNumber, "% of GPUs"},
                   {"Jobs", ColumnKind::kNumber, ""}};
  for (const InflationPoint& point : outcome.curve) {
    table.rows.push_back({fmt::format("{}", point.arrived_pct),
                          human_amount(point.allocated_pct_milli(outcome.gpu_capacity_milli), 1000, 2),
                          human_amount(point.jobs)});
  }
  Table dropped;
  dropped.title = "Dropped jobs by size";
  dropped.columns = {{"Size", ColumnKind::kText, ""}, {"Jobs", ColumnKind::kNumber, ""}};
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    if (outcome.dropped[i] == 0) continue;
    dropped.rows.push_back(
        {std::string(size_class_name(static_cast<SizeClass>(i))), human_amount(outcome.dropped[i])});
  }
  if (!dropped.rows.empty()) curve.blocks.emplace_back(std::move(dropped));
  curve.blocks.emplace_back(std::move(table));
  data.sections.push_back(std::move(curve));
  if (!checks.empty()) data.sections.push_back(checks_section(checks));
  add_input_notes(input, data);
  return data;
}

}  // namespace berth::sim
