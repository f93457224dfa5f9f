// Pieces that the pages of one run and of several have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/course/series.h"
#include "sim/measure/metrics.h"
#include "sim/page/report_data.h"
#include "sim/scenario/input.h"
#include "sim/scenario/scenario.h"

namespace berth::sim {

// The value of a metric, 0 where there is none.
std::int64_t metric_or_zero(const std::vector<Metric>& metrics, std::string_view name);

// Title, scenario, origin and description.
ReportData report_frame(const Scenario& scenario);
void add_input_notes(const Input& input, ReportData& data);
Section checks_section(const std::vector<Check>& checks);

// Values per bin of equal width, as points of a chart. At most kMostReportBins points: neighbours are put
// together as their mean.
inline constexpr std::size_t kMostReportBins = 1024;
std::vector<SeriesPoint> binned_points(TimeMs begin, DurationMs width,
                                       const std::vector<std::int64_t>& values);
// A track of a series over time (sim/replay/replay.h).
Series track_series(const BinnedSeries& series, std::string name, std::size_t track);

}  // namespace berth::sim
