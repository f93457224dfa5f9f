#include "sim/results/report_parts.h"

#include <fmt/format.h>

#include <utility>

#include "base/checked.h"
#include "sim/page/report.h"

namespace berth::sim {

std::int64_t metric_or_zero(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& metric : metrics) {
    if (metric.name == name) return metric.milli;
  }
  return 0;
}

ReportData report_frame(const Scenario& scenario) {
  ReportData data;
  data.title = scenario.name;
  data.generated_by = fmt::format("berth simulate {}", scenario.file);
  for (const std::string& change : scenario.changes) data.generated_by += fmt::format(" --set '{}'", change);
  data.seeds = fmt::format("seed {}", scenario.seed);
  data.scenario = scenario.text;
  data.origin_unix_ms = scenario.origin_unix_ms;
  if (!scenario.description.empty()) {
    Section about;
    about.title = "About";
    about.blocks.emplace_back(TextBlock{scenario.description, false, ""});
    data.sections.push_back(std::move(about));
  }
  if (!scenario.changes.empty()) {
    std::string changes;
    for (const std::string& change : scenario.changes) changes += (changes.empty() ? "" : ", ") + change;
    data.notes.push_back({NoteKind::kInfo, fmt::format("Otherwise than in the scenario file: {}.", changes)});
  }
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

Section checks_section(const std::vector<Check>& checks) {
  Section section;
  section.title = "Expectations";
  section.lead = "The expectations of the scenario, and the results.";
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

std::vector<SeriesPoint> binned_points(TimeMs begin, DurationMs width,
                                       const std::vector<std::int64_t>& values) {
  std::vector<SeriesPoint> out;
  const std::size_t together = (values.size() + kMostReportBins - 1) / kMostReportBins;
  for (std::size_t i = 0; i < values.size(); i += together) {
    Int128 sum = 0;
    const std::size_t until = std::min(i + together, values.size());
    for (std::size_t k = i; k < until; ++k) sum += values[k];
    out.push_back(
        {begin + static_cast<TimeMs>(i) * width, clamp_to_int64(sum / static_cast<std::int64_t>(until - i))});
  }
  return out;
}

Series track_series(const BinnedSeries& series, std::string name, std::size_t track) {
  std::vector<std::int64_t> values;
  for (std::size_t bin = 0; bin < series.bins(); ++bin) values.push_back(series.mean(track, bin));
  return {std::move(name), binned_points(series.bin_begin(0), series.width(), values)};
}

}  // namespace berth::sim
