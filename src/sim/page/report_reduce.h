// Cuts the data of a report down to what a screen can show, exactly and in bounded size. Used by report.cc;
// the bounds are in report.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/page/report_data.h"

namespace berth::sim {

// One series on the steps of its chart.
struct ReducedSeries {
  std::string name;
  std::size_t source = 0;           // position in TimeChart::series; of no meaning for `other`
  bool other = false;               // the sum of the series that were too many
  std::vector<std::int64_t> value;  // per step: the value, or where the chart is not exact its mean
  std::vector<std::int64_t> low;    // per step: least and greatest value; empty where the chart is exact
  std::vector<std::int64_t> high;
  std::int64_t mean_milli = 0;  // over the whole span, weighted by time, in thousandths of the amount
  std::int64_t peak = 0;
};

struct ReducedTimeChart {
  std::vector<TimeMs> edges;  // one more than steps; empty where the span is empty
  bool exact = true;          // false: the steps are equal slices of the span
  std::vector<ReducedSeries> series;
  std::vector<ReducedSeries> capacity;  // none or one
  std::vector<ReducedSeries> total;     // of a stacked chart with several series: one, their sum
  std::size_t folded = 0;               // series in `other` (stacked) or left out (lines)
};

// O(p log p) for p points. At most kMaxPoints steps and kMaxSeries series, the ones with the greatest means.
ReducedTimeChart reduce(const TimeChart& chart);

// Quantiles are nearest rank: the q-quantile of n samples is the ceil(q n)-th smallest.
struct ReducedGroup {
  std::string name;
  std::size_t source = 0;  // position in Distribution::groups; of no meaning for `other` and the overall row
  bool other = false;
  std::int64_t count = 0;
  std::int64_t zeros = 0;
  std::int64_t mean = 0;  // rounded to nearest
  std::int64_t min = 0, p10 = 0, p25 = 0, p50 = 0, p75 = 0, p90 = 0, p99 = 0, max = 0;
  std::vector<std::int64_t> curve_value;  // ascending, distinct; ends with max
  std::vector<std::int64_t> curve_rank;   // so many samples are at most the value
};

struct ReducedDistribution {
  std::vector<ReducedGroup> groups;   // at most kMaxGroups
  std::vector<ReducedGroup> overall;  // none or one
  std::size_t folded = 0;             // groups in `other`
};

// O(n log n) for n samples.
ReducedDistribution reduce(const Distribution& distribution);

// A rectangle of a bar: rows are milli-devices from the top of the lane.
struct GanttBox {
  std::size_t lane = 0;
  const GanttBar* bar = nullptr;
  std::int64_t row_milli = 0;
  std::int64_t height_milli = 0;
  TimeMs start_ms = 0;  // cut to the picture
  TimeMs end_ms = 0;
};

struct ReducedLane {
  const GanttLane* lane = nullptr;
  std::int64_t rows = 0;  // devices, and more where the data holds more than the devices can take
};

struct ReducedGantt {
  std::vector<ReducedLane> lanes;
  std::vector<GanttBox> boxes;  // by lane, then start, then row
  std::size_t left_out_lanes = 0;
  std::size_t left_out_bars = 0;  // the shortest, beyond kMaxGanttBars boxes
  std::size_t without_gpu = 0;    // bars that hold no GPU are not drawn
};

// Lays the bars of each lane out on its devices (first free, lowest number) without overlap. The result
// points into `gantt`. O(b (log b + devices)).
ReducedGantt reduce(const Gantt& gantt);

}  // namespace berth::sim
