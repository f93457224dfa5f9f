#include "sim/measure/trace_stats.h"

#include <algorithm>
#include <utility>

#include "sim/page/report.h"
#include "text/json.h"

namespace berth::sim {
namespace {

constexpr std::size_t kTimeParts = 60;
constexpr std::size_t kTenantsShown = 12;

// part / whole in thousandths of a percent.
std::int64_t percent_milli(Int128 part, Int128 whole) {
  return whole == 0 ? 0 : clamp_to_int64(divide_rounded(part * 100'000, whole));
}
// One digit after the point.
std::string percent(Int128 part, Int128 whole) {
  const std::int64_t tenths = (percent_milli(part, whole) + 50) / 100;
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}
std::string gpus(std::int64_t milli) {
  return human_amount(milli, 1000, 2);
}
std::string gpu_hours(Int128 gpu_ms_milli) {
  return human_amount(clamp_to_int64(gpu_ms_milli / kHour), 1000, 1);
}

// Eighths of a character cell, so that a row of them is a small picture.
std::string bars(const std::vector<std::int64_t>& values) {
  static constexpr std::array<const char*, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::int64_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::string out;
  for (const std::int64_t value : values) {
    std::size_t eighths = 0;
    if (most > 0) eighths = static_cast<std::size_t>((static_cast<Int128>(value) * 8 + most - 1) / most);
    out += kBlocks[eighths];
  }
  return out;
}

std::size_t octave_of(DurationMs duration) {
  std::size_t octave = 0;
  for (std::int64_t s = duration / kSecond; s > 0; s /= 2) ++octave;
  return octave;
}

std::vector<std::pair<std::string, StatsGroup>> tenants_by_gpu_time(const TraceStats& stats) {
  std::vector<std::pair<std::string, StatsGroup>> out(stats.tenants.begin(), stats.tenants.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second.gpu_ms_milli > b.second.gpu_ms_milli;
  });
  return out;
}

std::int64_t node_gpus(const TraceStats& stats) {
  std::int64_t sum = 0;
  for (const Node& node : stats.world.nodes) {
    for (const DevicePool& pool : node.devices) sum += pool.count;
  }
  return sum;
}

}  // namespace

void TraceStats::add(const Job& job, const Trace& tables) {
  const std::int64_t gpu_milli = tables.shapes[job.shape].gpu_milli;
  const Int128 gpu_time = static_cast<Int128>(gpu_milli) * job.duration;
  if (job.submit < previous_) ++out_of_order;
  if (job.duration == 0) ++without_run_time;
  if (job.expected != kNotSaid) ++expected;
  previous_ = job.submit;
  sums_.first = sums_.jobs == 0 ? job.submit : std::min(sums_.first, job.submit);
  sums_.last = sums_.jobs == 0 ? job.submit : std::max(sums_.last, job.submit);
  ++sums_.jobs;
  sums_.max_gpu_milli = std::max(sums_.max_gpu_milli, gpu_milli);
  sums_.gpu_ms_milli += gpu_time;
  gpu_sum_ += gpu_milli;
  const std::size_t octave = octave_of(job.duration);
  if (sums_.by_octave.size() <= octave) sums_.by_octave.resize(octave + 1);
  ++sums_.by_octave[octave];
  ++sums_.by_hour[static_cast<std::size_t>((hour_of(job.submit) % 24 + 24) % 24)];
  const SizeClass size = size_class(gpu_milli);
  run_times_.add(size, job.duration);
  demand_.add(job.submit, job.duration, gpu_milli);
  busiest_.add(job.submit);
  StatsGroup& tenant = tenants[tables.queues.name(job.queue)];
  for (StatsGroup* group : {&groups_[static_cast<std::size_t>(size)], &tenant}) {
    ++group->jobs;
    group->gpu_ms_milli += gpu_time;
  }
}

std::size_t TraceStats::memory_bytes() const {
  return run_times_.memory_bytes() + demand_.memory_bytes() + busiest_.memory_bytes() +
         sums_.by_octave.capacity() * sizeof(std::int64_t);
}

TraceSummary TraceStats::summarize() {
  TraceSummary out = sums_;
  if (out.jobs == 0) return out;
  run_times_.settle();
  demand_.settle();
  out.run_time = run_times_.all();
  out.run_time_exact = run_times_.exact();
  out.mean_gpu_milli = clamp_to_int64(divide_rounded(gpu_sum_, out.jobs));
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const auto size = static_cast<SizeClass>(i);
    if (groups_[i].jobs > 0) out.sizes.push_back({size, groups_[i], run_times_.of(size)});
  }
  const DurationMs span = std::max<DurationMs>(1, out.last - out.first);
  out.over_time = demand_.over_time(out.first, out.last, kTimeParts);
  out.busiest_hour = busiest_.jobs();
  out.arrivals_per_hour_milli =
      clamp_to_int64(static_cast<Int128>(out.jobs) * kHour * 1000 / std::max<DurationMs>(span, kHour));
  out.mean_demand_gpu_milli = clamp_to_int64(out.gpu_ms_milli / std::max<DurationMs>(span, kHour));
  out.peak_demand = demand_.peak();
  return out;
}

namespace {

std::string sizes_table(const TraceSummary& summary) {
  std::string out;
  out += fmt::format("\n  {:<12} {:>12} {:>7} {:>14} {:>7}  {:<16} {:<16} {}\n", "size", "jobs", "%",
                     "GPU-hours", "%", "mean run time", "median", "p90");
  for (const StatsSize& size : summary.sizes) {
    out += fmt::format("  {:<12} {:>12} {:>7} {:>14} {:>7}  {:<16} {:<16} {}\n", size_class_name(size.size),
                       human_amount(size.group.jobs), percent(size.group.jobs, summary.jobs),
                       gpu_hours(size.group.gpu_ms_milli),
                       percent(size.group.gpu_ms_milli, summary.gpu_ms_milli),
                       human_duration(size.run_time.mean), human_duration(size.run_time.median),
                       human_duration(size.run_time.p90));
  }
  return out;
}

std::string tenants_table(const TraceStats& stats, const TraceSummary& summary) {
  std::string out;
  const auto tenants = tenants_by_gpu_time(stats);
  if (tenants.size() > 1 || (tenants.size() == 1 && !tenants[0].first.empty())) {
    out += fmt::format("\n  {:<24} {:>12} {:>7} {:>14} {:>7}\n", "tenant", "jobs", "%", "GPU-hours", "%");
    for (std::size_t i = 0; i < std::min(tenants.size(), kTenantsShown); ++i) {
      const auto& [name, group] = tenants[i];
      out += fmt::format("  {:<24} {:>12} {:>7} {:>14} {:>7}\n", name.empty() ? "(none)" : name,
                         human_amount(group.jobs), percent(group.jobs, summary.jobs),
                         gpu_hours(group.gpu_ms_milli), percent(group.gpu_ms_milli, summary.gpu_ms_milli));
    }
    if (tenants.size() > kTenantsShown) {
      out += fmt::format("  and {} more\n", tenants.size() - kTenantsShown);
    }
  }
  return out;
}

std::string defects_table(const TraceStats& stats) {
  std::string defects;
  const auto defect = [&](std::int64_t jobs, std::string_view what) {
    if (jobs > 0) defects += fmt::format("  {:>12}  {}\n", human_amount(jobs), what);
  };
  const auto none = stats.tenants.find("");
  defect(none == stats.tenants.end() ? 0 : none->second.jobs,
         "without a tenant: a scenario says where they go (no_tenant_queue, drop_without_tenant)");
  defect(stats.without_run_time, "with a run time of 0");
  defect(stats.out_of_order, "submitted before the job in front of them (readers put them into order)");
  for (const std::string& remark : stats.remarks) defects += remark + "\n";
  defect(stats.expected, "that say how long they expect to run");
  return defects.empty() ? defects : "\n  jobs to know of\n" + defects;
}

}  // namespace

std::string stats_table(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary) {
  std::string out =
      fmt::format("{}: {}, {} jobs\n", file.path, enum_name(file.form), human_amount(summary.jobs));
  const auto row = [&](std::string_view name, const std::string& value) {
    out += fmt::format("  {:<12} {}\n", name, value);
  };
  if (!stats.world.nodes.empty()) {
    row("nodes",
        fmt::format("{} with {} GPUs", human_amount(static_cast<std::int64_t>(stats.world.nodes.size())),
                    human_amount(node_gpus(stats))));
  }
  if (!stats.world.queues.empty()) {
    row("queues", human_amount(static_cast<std::int64_t>(stats.world.queues.size())));
  }
  for (const Topology& topology : stats.world.topologies) {
    row("topology", fmt::format("{}: {}", topology.name, fmt::join(topology.levels, " > ")));
  }
  if (summary.jobs == 0) return out;
  row("submitted", fmt::format("over {} (from {} s to {} s)", human_duration(summary.last - summary.first),
                               format_milli(summary.first), format_milli(summary.last)));
  row("arrivals", fmt::format("{} per hour, {} in the busiest hour",
                              human_amount(summary.arrivals_per_hour_milli, 1000, 1),
                              human_amount(summary.busiest_hour)));
  row("", fmt::format("|{}| over the span", bars(summary.over_time)));
  row("", fmt::format("|{}| by the hour, 0 to 23",
                      bars(std::vector<std::int64_t>(summary.by_hour.begin(), summary.by_hour.end()))));
  const Spread& run = summary.run_time;
  row("run time", fmt::format("mean {}, median {}, p90 {}, p99 {}, longest {}", human_duration(run.mean),
                              human_duration(run.median), human_duration(run.p90), human_duration(run.p99),
                              human_duration(run.max)));
  if (!summary.run_time_exact) {
    row("", fmt::format("median, p90 and p99, here and by size, are within {} %: too many run times differ",
                        format_milli(kRunTimeErrorPctMilli)));
  }
  row("", fmt::format("|{}| below 1 s, 2 s, 4 s ... {}", bars(summary.by_octave),
                      human_duration(kSecond << (summary.by_octave.size() - 1))));
  row("GPUs",
      fmt::format("mean {} per job, largest {}", gpus(summary.mean_gpu_milli), gpus(summary.max_gpu_milli)));
  const DemandSteps::Peak& peak = summary.peak_demand;
  row("demand", fmt::format("{} GPU-hours, {} GPUs on average over the span, {} at once if no job waited",
                            gpu_hours(summary.gpu_ms_milli), gpus(summary.mean_demand_gpu_milli),
                            peak.at_least == peak.at_most
                                ? gpus(peak.at_most)
                                : fmt::format("{} to {}", gpus(peak.at_least), gpus(peak.at_most))));
  return out + sizes_table(summary) + tenants_table(stats, summary) + defects_table(stats);
}

std::string stats_json(const TraceFile& file, const TraceStats& stats, const TraceSummary& summary) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  const auto milli = [&](std::string_view name, std::int64_t value) {
    json.key(name).raw(format_milli(value));
  };
  const auto spread = [&](std::string_view name, const Spread& s) {
    json.key(name).begin_object();
    milli("mean", s.mean);
    milli("median", s.median);
    milli("p90", s.p90);
    milli("p99", s.p99);
    milli("max", s.max);
    json.end_object();
  };
  const auto hours = [](Int128 gpu_ms_milli) { return clamp_to_int64(gpu_ms_milli / kHour); };
  json.begin_object();
  json.field("format", "berth-trace-inspection").field("version", 1);
  json.field("file", file.path).field("form", enum_name(file.form));
  json.field("nodes", static_cast<std::int64_t>(stats.world.nodes.size()));
  json.field("node_gpus", node_gpus(stats));
  json.field("queues", static_cast<std::int64_t>(stats.world.queues.size()));
  json.field("jobs", summary.jobs);
  milli("first_submit_s", summary.first);
  milli("last_submit_s", summary.last);
  milli("arrivals_per_hour", summary.arrivals_per_hour_milli);
  json.field("busiest_hour_jobs", summary.busiest_hour);
  json.key("jobs_by_hour").begin_array();
  for (const std::int64_t jobs : summary.by_hour) json.value(jobs);
  json.end_array();
  spread("run_time_s", summary.run_time);
  milli("run_time_percentiles_within_pct", summary.run_time_exact ? 0 : kRunTimeErrorPctMilli);
  json.key("jobs_by_run_time_octave").begin_array();
  for (const std::int64_t jobs : summary.by_octave) json.value(jobs);
  json.end_array();
  milli("gpus_mean", summary.mean_gpu_milli);
  milli("gpus_max", summary.max_gpu_milli);
  milli("gpu_hours", hours(summary.gpu_ms_milli));
  milli("demand_mean_gpus", summary.mean_demand_gpu_milli);
  milli("demand_peak_gpus", summary.peak_demand.at_most);
  milli("demand_peak_gpus_at_least", summary.peak_demand.at_least);
  json.key("sizes").begin_array();
  for (const StatsSize& size : summary.sizes) {
    json.begin_object().field("size", size_class_name(size.size)).field("jobs", size.group.jobs);
    milli("jobs_pct", percent_milli(size.group.jobs, summary.jobs));
    milli("gpu_hours", hours(size.group.gpu_ms_milli));
    milli("gpu_hours_pct", percent_milli(size.group.gpu_ms_milli, summary.gpu_ms_milli));
    spread("run_time_s", size.run_time);
    json.end_object();
  }
  json.end_array();
  json.key("tenants").begin_array();
  for (const auto& [name, group] : tenants_by_gpu_time(stats)) {
    json.begin_object().field("tenant", name).field("jobs", group.jobs);
    milli("gpu_hours", hours(group.gpu_ms_milli));
    json.end_object();
  }
  json.end_array();
  json.key("defects").begin_object();
  const auto none = stats.tenants.find("");
  json.field("without_tenant", none == stats.tenants.end() ? std::int64_t{0} : none->second.jobs);
  json.field("without_run_time", stats.without_run_time);
  json.field("out_of_order", stats.out_of_order);
  json.end_object();
  json.field("with_expected_duration", stats.expected);
  json.key("remarks").begin_array();
  for (const std::string& remark : stats.remarks) json.value(remark);
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace berth::sim
