#include "sim/trace/trace_file.h"

#include <algorithm>
#include <utility>

#include "text/document.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::string_view kForms =
    "berth (JSON lines, docs/traces.md), log (a decision log), philly (CSV job_id,submit_s,gpus,duration_s), "
    "gangs (CSV submit_s,gpus,duration_s), swf (18 numbers per line), openb (CSV "
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,...)";

bool has_columns(std::string_view header, std::initializer_list<std::string_view> wanted) {
  std::vector<std::string_view> columns;
  for (std::size_t at = 0; at <= header.size();) {
    const std::size_t end = std::min(header.find(',', at), header.size());
    std::string_view column = header.substr(at, end - at);
    if (column.size() >= 2 && column.front() == '"' && column.back() == '"') {
      column = column.substr(1, column.size() - 2);
    }
    columns.push_back(column);
    at = end + 1;
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
}

std::size_t blank_separated_numbers(std::string_view line) {
  std::size_t fields = 0;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();
       at = line.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    if (line.substr(at, end - at).find_first_not_of("-.0123456789") != std::string_view::npos) return 0;
    ++fields;
    at = end;
  }
  return fields;
}

// The form that the first line with content shows.
std::optional<TraceForm> form_of_line(std::string_view line) {
  if (line.starts_with('{')) {
    if (line.find("\"berth-trace\"") != std::string_view::npos) return TraceForm::kBerth;
    if (line.find("\"berth-decision-log\"") != std::string_view::npos) return TraceForm::kLog;
    return std::nullopt;
  }
  if (has_columns(line, {"job_id", "submit_s", "gpus", "duration_s"})) return TraceForm::kPhilly;
  if (has_columns(line, {"name", "num_gpu", "gpu_milli"})) return TraceForm::kOpenb;
  const bool submit = has_columns(line, {"submit_s"}) || has_columns(line, {"submit"}) ||
                      has_columns(line, {"arrival time (sec)"});
  if (submit && (has_columns(line, {"gpus"}) || has_columns(line, {"size"}))) return TraceForm::kGangs;
  if (blank_separated_numbers(line) == 18) return TraceForm::kSwf;
  return std::nullopt;
}

}  // namespace

Result<TraceForm> detect_form(const std::string& path) {
  if (path == "-") {
    return fail(ErrorCode::kInvalid, "standard input cannot be looked at first; say its form with --format");
  }
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  text::LineReader lines(source);
  constexpr int kMostComments = 10'000;
  bool comment = false;
  for (int i = 0; i < kMostComments; ++i) {
    BERTH_ASSIGN(const auto read, lines.next());
    if (!read) break;
    std::string_view line = *read;
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    if (line[first] == ';') {
      comment = true;
      continue;
    }
    if (const auto form = form_of_line(line)) return *form;
    const SourcePlace place{path, lines.line(), 0};
    if (has_columns(line, {"sn", "cpu_milli", "memory_mib"}) || has_columns(line, {"machine_id", "gpus"}) ||
        has_columns(line, {"vc", "nodes_of_8_gpus"}) || has_columns(line, {"ip", "ASW"})) {
      return fail_at(place, "this is a list of nodes, not of jobs; scenarios read it under cluster:");
    }
    return fail_at(place, "cannot tell the form from '{}{}'; the forms are {}; say which one with --format",
                   line.substr(0, 60), line.size() > 60 ? "..." : "", kForms);
  }
  if (comment) return TraceForm::kSwf;
  return fail_at({path, 1, 0}, "empty; there is no job in it");
}

Result<TraceWorld> read_trace_file(const TraceFile& file, TraceBuilder& jobs) {
  TraceWorld world;
  jobs.begin_source();
  switch (file.form) {
    case TraceForm::kPhilly:
      BERTH_TRY(read_philly_jobs(file.path, file.rules, jobs));
      break;
    case TraceForm::kGangs:
      BERTH_TRY(read_gangs(file.path, file.rules, jobs));
      break;
    case TraceForm::kSwf:
      BERTH_TRY(read_swf_jobs(file.path, file.swf, file.rules, jobs));
      break;
    case TraceForm::kOpenb:
      BERTH_TRY(read_openb_pods(file.path, nullptr, file.rules, jobs));
      break;
    case TraceForm::kLog: {
      BERTH_ASSIGN(world, read_log(file.path, file.rules, jobs));
      break;
    }
    case TraceForm::kBerth: {
      BERTH_ASSIGN(world, read_berth_trace(file.path, BerthTracePart::kAll, file.rules, &jobs));
      break;
    }
  }
  return world;
}

}  // namespace berth::sim
