#include "sim/results/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "sim/page/report.h"
#include "text/json.h"

namespace berth::sim {
namespace {

std::string percent(std::int64_t milli) {
  return fmt::format("{}.{} %", milli / 1000, milli % 1000 / 100);
}

// Points of a percent with two digits: "93.10".
std::string points(std::int64_t milli) {
  const std::int64_t hundredths = (std::abs(milli) + 5) / 10;
  return fmt::format("{}{}.{:02}", milli < 0 && hundredths > 0 ? "-" : "", hundredths / 100,
                     hundredths % 100);
}

std::int64_t metric(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& m : metrics) {
    if (m.name == name) return m.milli;
  }
  return 0;
}

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::kFuture:
      return "not-submitted";
    case JobState::kWaiting:
      return "waiting";
    case JobState::kRunning:
      return "running";
    case JobState::kEnding:
      return "ending";
    case JobState::kDone:
      return "completed";
  }
  return "";
}

// Events beside the jobs' own course: failures, starts, services. Only what occurred.
std::string runtime_lines(const Input& input, const Outcome& outcome, const ReplaySummary& summary) {
  const auto value = [&](const std::string& name, int digits = 0) {
    return human_amount(metric(summary.metrics, name), 1000, digits);
  };
  std::string out;
  if (outcome.failures > 0) {
    out += fmt::format(
        "failures: {}, {} nodes out, {} GPU-hours down; {} times a job was hit, GPU-hours lost: {}\n",
        value("failures"), value("nodes_lost"), value("gpu_hours_down"), value("job_failures"),
        value("failure_lost_gpu_hours"));
  }
  if (metric(summary.metrics, "startup_hours") > 0 || metric(summary.metrics, "checkpoint_hours") > 0) {
    out += fmt::format("starting took jobs {} hours, with {} image pulls; writing checkpoints {} hours\n",
                       value("startup_hours"), value("image_pulls"), value("checkpoint_hours"));
  }
  if (metric(summary.metrics, "resizes") > 0) {
    out += fmt::format("elastic jobs grew or shrank {} times while they ran\n", value("resizes"));
  }
  for (const Service& service : input.services) {
    const std::string prefix = "service." + service.name + ".";
    out += fmt::format(
        "service {}: {} of {} requests not served ({} %), short {} % of the time, at worst by {}/s; "
        "replica-hours: {} wanted, {} served\n",
        service.name, value(prefix + "unserved"), value(prefix + "requests"),
        value(prefix + "unserved_pct", 2), value(prefix + "short_pct", 2),
        value(prefix + "worst_short_per_s", 1), value(prefix + "replica_hours_wanted"),
        value(prefix + "replica_hours_ready"));
  }
  return out + "\n";
}

Status system_error(const std::string& what, const std::string& path) {
  return fail(ErrorCode::kInvalid, "{} cannot be {}: {}", path, what, std::strerror(errno));
}

Status write_whole(const std::string& path, std::string_view content) {
  const std::string beside = path + ".part";
  {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(beside.c_str(), "wb"),
                                                               &std::fclose);
    if (!file) return system_error("written", beside);
    const bool whole = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() &&
                       std::fflush(file.get()) == 0;
    if (!whole) {
      const int error = errno;
      std::remove(beside.c_str());
      errno = error;
      return system_error("written", beside);
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(beside.c_str());
    errno = error;
    return system_error("written", path);
  }
  return {};
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  const auto width = [](const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
  };
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - width(row[i]), ' ');
      line += i == 0 ? row[i] + room : "  " + room + row[i];
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string replay_table(const Scenario& scenario, const Input& input, const Outcome& outcome,
                         const ReplaySummary& summary) {
  std::string out =
      fmt::format("{}: {} jobs on {} nodes with {} GPUs\n", scenario.name, human_amount(summary.all.jobs),
                  human_amount(static_cast<std::int64_t>(input.nodes.size())),
                  human_amount(outcome.gpu_capacity_milli, 1000));
  out += fmt::format("GPUs allocated: {} while jobs arrive, {} over the whole run of {}\n",
                     percent(metric(summary.metrics, "gpu_allocation_while_arriving_pct")),
                     percent(metric(summary.metrics, "gpu_allocation_pct")),
                     human_duration(outcome.end - outcome.begin));
  out += fmt::format("evictions: {}, {} of them reclaims; GPU-hours lost to them: {}\n",
                     human_amount(summary.all.evictions),
                     human_amount(metric(summary.metrics, "reclaims"), 1000),
                     human_amount(metric(summary.metrics, "lost_gpu_hours"), 1000));
  out += runtime_lines(input, outcome, summary);
  std::vector<std::vector<std::string>> rows;
  const auto head = [&](std::string name) {
    rows.push_back({std::move(name), "jobs", "wait mean", "median", "p90", "p99", "completion mean", "median",
                    "p99", "evictions"});
  };
  const auto line = [&](const JobGroup& g) {
    if (g.jobs == 0) return;
    rows.push_back(
        {g.name, human_amount(g.jobs), human_duration(g.waiting.mean), human_duration(g.waiting.median),
         human_duration(g.waiting.p90), human_duration(g.waiting.p99), human_duration(g.completion.mean),
         human_duration(g.completion.median), human_duration(g.completion.p99), human_amount(g.evictions)});
  };
  head("");
  line(summary.all);
  line(summary.large);
  rows.push_back({});
  head("by queue");
  for (const JobGroup& g : summary.queues) line(g);
  rows.push_back({});
  head("by size");
  for (const JobGroup& g : summary.sizes) line(g);
  out += aligned(rows);
  if (outcome.unfinished > 0) {
    out += fmt::format("\n{} jobs never ran:\n", human_amount(outcome.unfinished));
    for (const Outcome::Stuck& stuck : outcome.stuck) {
      out +=
          fmt::format("  {} ({}), for example {}\n", human_amount(stuck.jobs), stuck.reason, stuck.example);
    }
  }
  if (input.outside_window > 0)
    out += fmt::format("\n{} jobs lie outside the window and were left out\n",
                       human_amount(input.outside_window));
  if (input.without_tenant > 0)
    out += fmt::format("\n{} jobs without a tenant were left out\n", human_amount(input.without_tenant));
  for (const std::string& remark : input.remarks) out += "\n" + remark + "\n";
  return out;
}

std::string inflation_table(const Scenario& scenario, const Input& input, const InflationOutcome& outcome,
                            const std::vector<CurvePoint>& published) {
  std::string out =
      fmt::format("{}: {} jobs offered to {} nodes with {} GPUs, seed {}\n", scenario.name,
                  human_amount(outcome.jobs), human_amount(static_cast<std::int64_t>(input.nodes.size())),
                  human_amount(outcome.gpu_capacity_milli, 1000), scenario.seed);
  out += fmt::format("placed {}, dropped {}\n\n", human_amount(outcome.placed),
                     human_amount(outcome.jobs - outcome.placed));
  std::vector<std::vector<std::string>> rows{{"GPU demand arrived", "GPUs allocated"}};
  if (!published.empty()) rows.front().insert(rows.front().end(), {"published", "difference"});
  const auto line = [&](std::int64_t mark) {
    const auto ours = allocated_at(outcome, mark);
    if (!ours) return;
    std::vector<std::string> row{fmt::format("{} %", mark), points(*ours) + " %"};
    if (const auto theirs = published_at(published, mark)) {
      row.push_back(points(*theirs) + " %");
      const std::string off = points(*ours - *theirs);
      row.push_back(off[0] == '-' || off == "0.00" ? off : "+" + off);
    }
    rows.push_back(std::move(row));
  };
  for (const std::int64_t mark : kFillMarks) line(mark);
  const std::int64_t last = outcome.curve.empty() ? 0 : outcome.curve.back().arrived_pct;
  if (std::find(std::begin(kFillMarks), std::end(kFillMarks), last) == std::end(kFillMarks)) line(last);
  return out + aligned(rows);
}

std::string checks_table(const std::vector<Check>& checks) {
  if (checks.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"expected", "want", "within", "got", ""}};
  for (const Check& check : checks) {
    rows.push_back({check.what, format_milli(check.want_milli), format_milli(check.tolerance_milli),
                    format_milli(check.got_milli), check.met() ? "met" : "NOT MET"});
  }
  return "\n" + aligned(rows);
}

std::vector<OutputFile> summary_files(const Scenario& scenario, const std::vector<Metric>& metrics,
                                      const std::vector<Check>& checks) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object();
  json.field("format", "berth-simulation-summary").field("version", 1);
  json.field("name", scenario.name).field("mode", enum_name(scenario.mode)).field("seed", scenario.seed);
  json.key("metrics").begin_object();
  for (const Metric& m : metrics) json.key(m.name).raw(format_milli(m.milli));
  json.end_object();
  json.key("checks").begin_array();
  for (const Check& check : checks) {
    json.begin_object().field("what", check.what);
    json.key("want").raw(format_milli(check.want_milli));
    json.key("within").raw(format_milli(check.tolerance_milli));
    json.key("got").raw(format_milli(check.got_milli));
    json.field("met", check.met());
    json.end_object();
  }
  json.end_array();
  json.end_object();
  std::string csv = "metric,value\n";
  for (const Metric& m : metrics) csv += csv_field(m.name) + "," + format_milli(m.milli) + "\n";
  return {{"summary.json", json.take() + "\n"}, {"metrics.csv", std::move(csv)}};
}

std::vector<OutputFile> replay_files(const Input& input, const Outcome& outcome) {
  const BinnedSeries& series = outcome.series;
  struct Plain {
    const char* name;
    std::size_t track;
    bool thousandths;
  };
  constexpr Plain kPlain[] = {{"gpus_allocated", kTrackAllocated, true},
                              {"jobs_waiting", kTrackPending, false},
                              {"gpus_waiting", kTrackPendingGpu, true},
                              {"gpus_waiting_large", kTrackPendingLarge, true},
                              {"gpus_down", kTrackDown, true},
                              {"gpus_idle_on_free_nodes", kTrackIdleNodes, true},
                              {"gpus_idle_on_used_nodes", kTrackIdleWhole, true},
                              {"gpus_idle_parts", kTrackIdleParts, true}};
  struct PerQueue {
    const char* name;
    QueueTrack track;
    bool thousandths;
  };
  constexpr PerQueue kPerQueue[] = {{"gpus_allocated", QueueTrack::kAllocated, true},
                                    {"jobs_waiting", QueueTrack::kPending, false},
                                    {"gpus_waiting", QueueTrack::kPendingGpu, true},
                                    {"evictions", QueueTrack::kEvictions, false},
                                    {"lost_gpu_s", QueueTrack::kLost, true}};
  std::string csv = "time_s";
  for (const Plain& column : kPlain) csv += fmt::format(",{}", column.name);
  for (const std::uint32_t leaf : outcome.leaves) {
    for (const PerQueue& column : kPerQueue)
      csv += "," + csv_field(fmt::format("{}:{}", column.name, input.queues[leaf].name));
  }
  csv += "\n";
  for (std::size_t bin = 0; bin < series.bins(); ++bin) {
    csv += format_milli(series.bin_begin(bin));
    const auto add = [&](std::size_t track, bool thousandths) {
      const std::int64_t mean = series.mean(track, bin);
      csv += "," + (thousandths ? format_milli(mean) : fmt::format("{}", mean));
    };
    for (const Plain& column : kPlain) add(column.track, column.thousandths);
    for (std::size_t i = 0; i < outcome.leaves.size(); ++i) {
      for (const PerQueue& column : kPerQueue) add(queue_track(i, column.track), column.thousandths);
    }
    csv += "\n";
  }
  std::string jobs =
      "job,queue,gpus,submit_s,first_start_s,end_s,duration_s,waiting_s,evictions,lost_s,state,priority,"
      "slowdown,waited_for,startup_s,checkpointing_s,failures,resizes\n";
  for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
    const Job& job = input.trace.jobs[i];
    const JobOutcome& result = outcome.jobs[i];
    fmt::format_to(
        std::back_inserter(jobs), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        csv_field(job.name), csv_field(input.trace.queues.name(job.queue)),
        format_milli(input.trace.shapes[job.shape].gpu_milli), format_milli(job.submit),
        result.first_start == kEndOfTime ? "" : format_milli(result.first_start),
        result.end == kEndOfTime ? "" : format_milli(result.end), format_milli(job.duration),
        format_milli(result.waited), result.evictions, format_milli(result.lost), state_name(result.state),
        job.priority,
        result.state == JobState::kDone ? format_milli(slowdown_milli(result.end - job.submit, job.duration))
                                        : "",
        result.waited_for == ReasonCode::kNone ? "" : enum_name(result.waited_for),
        format_milli(result.startup), format_milli(result.checkpointing), result.failures, result.resizes);
  }
  return {{"series.csv", std::move(csv)}, {"jobs.csv", std::move(jobs)}};
}

std::vector<OutputFile> inflation_files(const InflationOutcome& outcome) {
  std::string csv = "arrived_pct,allocated_pct,jobs\n";
  for (const InflationPoint& point : outcome.curve) {
    csv += fmt::format("{},{},{}\n", point.arrived_pct,
                       format_milli(point.allocated_pct_milli(outcome.gpu_capacity_milli)), point.jobs);
  }
  return {{"curve.csv", std::move(csv)}};
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kInvalid, "{} cannot be made: {}", folder, error.message());
  if (!std::filesystem::is_directory(folder, error))
    return fail(ErrorCode::kInvalid, "{} is not a folder", folder);
  return {};
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  // Only where nothing was put into it: remove() does not touch a folder that is not empty.
  for (const std::string& folder : made_) std::filesystem::remove(folder, ignored);
}

Status OutputFolder::make() {
  if (path_.empty()) return {};
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::path(path_).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  for (; !at.empty() && !std::filesystem::exists(at, ignored); at = at.parent_path())
    made_.push_back(at.string());
  return make_folder(path_);
}

Status write_files(const std::string& folder, const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) BERTH_TRY(write_whole(folder + "/" + file.name, file.content));
  return {};
}

}  // namespace berth::sim
