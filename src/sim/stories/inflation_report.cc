// The page of one inflation run.
#include <algorithm>
#include <utility>

#include "sim/page/report.h"
#include "sim/results/output.h"
#include "sim/results/report_parts.h"

namespace berth::sim {

namespace {

XyChart allocation_chart(const Scenario& scenario, const InflationOutcome& outcome,
                         const std::vector<CurvePoint>& published) {
  XyChart chart;
  chart.title = "GPUs allocated as demand arrives";
  chart.note = "The straight line would be a cluster without fragments.";
  chart.x_title = "Demand arrived, % of the GPUs";
  chart.y_title = "GPUs allocated, %";
  chart.y_divisor = 1000;
  chart.marks = false;
  XySeries ours{"Berth", {}, false};
  XySeries ideal{"no fragments", {}, true};
  for (const InflationPoint& point : outcome.curve) {
    const std::int64_t y = point.allocated_pct_milli(outcome.gpu_capacity_milli);
    const std::int64_t most = std::min<std::int64_t>(point.arrived_pct, 100) * 1000;
    ours.points.push_back({point.arrived_pct, y, y, y});
    ideal.points.push_back({point.arrived_pct, most, most, most});
  }
  XySeries theirs{scenario.expect_curve ? "published: " + scenario.expect_curve->policy : "", {}, true};
  for (const CurvePoint& point : published)
    theirs.points.push_back(
        {point.arrived_pct, point.allocated_pct_milli, point.allocated_pct_milli, point.allocated_pct_milli});
  chart.series.push_back(std::move(ours));
  if (!published.empty()) chart.series.push_back(std::move(theirs));
  chart.series.push_back(std::move(ideal));
  return chart;
}

Table marks_table(const InflationOutcome& outcome, const std::vector<CurvePoint>& published) {
  Table marks;
  marks.title = "At the usual marks";
  marks.columns = {{"Demand arrived", ColumnKind::kNumber, "% of GPUs"},
                   {"Allocated", ColumnKind::kNumber, "% of GPUs"}};
  if (!published.empty()) {
    marks.columns.push_back({"Published", ColumnKind::kNumber, "% of GPUs"});
    marks.columns.push_back({"Difference", ColumnKind::kDifference, "points", 1});
  }
  for (const std::int64_t mark : kFillMarks) {
    const auto got = allocated_at(outcome, mark);
    if (!got) continue;
    std::vector<std::string> row{fmt::format("{}", mark), human_amount(*got, 1000, 2)};
    if (const auto want = published_at(published, mark)) {
      row.push_back(human_amount(*want, 1000, 2));
      const std::string off = human_amount(*got - *want, 1000, 2);
      row.push_back(off[0] == '-' || off == "0" ? off : "+" + off);
    }
    marks.rows.push_back(std::move(row));
  }
  return marks;
}

Table dropped_table(const InflationOutcome& outcome) {
  Table dropped;
  dropped.title = "Dropped jobs by size";
  dropped.columns = {{"Size", ColumnKind::kText, ""}, {"Jobs", ColumnKind::kNumber, ""}};
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    if (outcome.dropped[i] == 0) continue;
    dropped.rows.push_back(
        {std::string(size_class_name(static_cast<SizeClass>(i))), human_amount(outcome.dropped[i])});
  }
  return dropped;
}

}  // namespace

ReportData inflation_report(const Scenario& scenario, const Input& input, const InflationOutcome& outcome,
                            const std::vector<CurvePoint>& published, const std::vector<Check>& checks) {
  ReportData data = report_frame(scenario);
  const std::vector<Metric> metrics = inflation_metrics(outcome, published);
  data.subtitle = fmt::format("{} jobs offered to {} nodes with {} GPUs, seed {}", human_amount(outcome.jobs),
                              human_amount(static_cast<std::int64_t>(input.nodes.size())),
                              human_amount(outcome.gpu_capacity_milli, 1000), scenario.seed);
  data.key_figures = {{"GPU demand arrived", human_amount(metric_or_zero(metrics, "arrived_pct"), 1000, 1),
                       "%", "Share of the cluster's GPUs."},
                      {"GPUs allocated", human_amount(metric_or_zero(metrics, "allocated_pct"), 1000, 1), "%",
                       "Share of the cluster's GPUs, at the end."},
                      {"Jobs placed", human_amount(outcome.placed), "", ""},
                      {"Jobs dropped", human_amount(outcome.jobs - outcome.placed), "",
                       "They fitted on no node when they came."}};
  Section curve;
  curve.title = "Curve";
  curve.lead =
      "Jobs are offered one by one to an empty cluster; nothing leaves, and what fits nowhere is dropped.";
  XyChart chart = allocation_chart(scenario, outcome, published);
  // Up to there every policy is the same; what follows is where they part.
  XyChart end = chart;
  end.title = "The same from 80 % on";
  end.note.clear();
  end.from_zero = false;
  for (XySeries& series : end.series)
    std::erase_if(series.points, [](const XyPoint& point) { return point.x < 80; });
  curve.blocks.emplace_back(std::move(chart));
  if (!end.series.front().points.empty()) curve.blocks.emplace_back(std::move(end));
  curve.blocks.emplace_back(marks_table(outcome, published));
  Table dropped = dropped_table(outcome);
  if (!dropped.rows.empty()) curve.blocks.emplace_back(std::move(dropped));
  data.sections.push_back(std::move(curve));
  if (!checks.empty()) data.sections.push_back(checks_section(checks));
  add_input_notes(input, data);
  return data;
}

}  // namespace berth::sim
