#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "sim/page/report.h"
#include "sim/page/report_reduce.h"

namespace berth::sim {
namespace {

using Wide = Int128;

// Steps of a chart with too many points: twice a wide chart's pixels would be kMaxPoints; half is what the
// eye sees.
constexpr std::int64_t kSlices = static_cast<std::int64_t>(kMaxPoints) / 2;

struct Span {
  TimeMs begin;
  TimeMs end;
};

// The steps of a series within the span: the first point stands at its begin, times are strictly ascending.
std::vector<SeriesPoint> within(const std::vector<SeriesPoint>& points, Span span) {
  std::vector<SeriesPoint> steps = {{span.begin, 0}};
  for (const SeriesPoint& point : points) {
    if (point.t_ms >= span.end) break;
    const TimeMs at = std::max(point.t_ms, span.begin);
    if (at <= steps.back().t_ms) {
      steps.back().value = point.value;
    } else if (point.value != steps.back().value) {
      steps.push_back({at, point.value});
    }
  }
  return steps;
}

ReducedSeries sample(const std::vector<SeriesPoint>& steps, const std::vector<TimeMs>& edges, bool exact) {
  ReducedSeries out;
  const std::size_t count = edges.size() - 1;
  out.value.reserve(count);
  out.peak = kInt64Min;
  Wide whole = 0;
  std::size_t next = 0;  // the first step that begins after the current time
  std::int64_t current = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TimeMs at = edges[i];
    while (next < steps.size() && steps[next].t_ms <= at) current = steps[next++].value;
    std::int64_t low = current;
    std::int64_t high = current;
    Wide area = 0;
    while (next < steps.size() && steps[next].t_ms < edges[i + 1]) {
      area += static_cast<Wide>(current) * (steps[next].t_ms - at);
      at = steps[next].t_ms;
      current = steps[next++].value;
      low = std::min(low, current);
      high = std::max(high, current);
    }
    area += static_cast<Wide>(current) * (edges[i + 1] - at);
    whole += area;
    out.peak = std::max(out.peak, high);
    out.value.push_back(clamp_to_int64(divide_rounded(area, edges[i + 1] - edges[i])));
    if (!exact) {
      out.low.push_back(low);
      out.high.push_back(high);
    }
  }
  out.mean_milli = clamp_to_int64(divide_rounded(whole * 1000, edges.back() - edges.front()));
  return out;
}

// The sum of step functions: all their changes in the order of time.
std::vector<SeriesPoint> sum(const std::vector<std::vector<SeriesPoint>>& all,
                             const std::vector<std::size_t>& which) {
  std::vector<SeriesPoint> changes;
  for (const std::size_t i : which) {
    std::int64_t before = 0;
    for (const SeriesPoint& point : all[i]) {
      changes.push_back({point.t_ms, saturating_sub(point.value, before)});
      before = point.value;
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const SeriesPoint& a, const SeriesPoint& b) { return a.t_ms < b.t_ms; });
  std::vector<SeriesPoint> out;
  std::int64_t value = 0;
  for (const SeriesPoint& change : changes) {
    value = saturating_add(value, change.value);
    if (!out.empty() && out.back().t_ms == change.t_ms) {
      out.back().value = value;
    } else {
      out.push_back({change.t_ms, value});
    }
  }
  return out;
}

// All times at which anything changes, or equal slices where these are too many.
std::vector<TimeMs> make_edges(const std::vector<std::vector<SeriesPoint>>& all, Span span, bool& exact) {
  std::vector<TimeMs> edges;
  for (const auto& steps : all) {
    for (const SeriesPoint& step : steps) edges.push_back(step.t_ms);
  }
  edges.push_back(span.begin);
  edges.push_back(span.end);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  exact = edges.size() <= kMaxPoints + 1;
  if (exact) return edges;
  edges.clear();
  for (std::int64_t i = 0; i <= kSlices; ++i) {
    edges.push_back(span.begin + static_cast<TimeMs>(static_cast<Wide>(span.end - span.begin) * i / kSlices));
  }
  return edges;
}

Wide area_of(const std::vector<SeriesPoint>& steps, Span span) {
  Wide area = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TimeMs until = i + 1 < steps.size() ? steps[i + 1].t_ms : span.end;
    area += static_cast<Wide>(steps[i].value) * (until - steps[i].t_ms);
  }
  return area;
}

// The series that are drawn one by one, in their own order.
std::vector<std::size_t> greatest(const std::vector<std::vector<SeriesPoint>>& all, Span span,
                                  std::size_t most) {
  std::vector<std::pair<Wide, std::size_t>> areas;
  for (std::size_t i = 0; i < all.size(); ++i) areas.emplace_back(area_of(all[i], span), i);
  std::stable_sort(areas.begin(), areas.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < std::min(most, areas.size()); ++i) kept.push_back(areas[i].second);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

ReducedTimeChart reduce(const TimeChart& chart) {
  ReducedTimeChart out;
  const Span span{chart.begin_ms, chart.end_ms};
  if (span.end <= span.begin) return out;

  std::vector<std::vector<SeriesPoint>> all;
  for (const Series& series : chart.series) all.push_back(within(series.points, span));
  const bool stacked = chart.style == SeriesStyle::kStacked;
  std::vector<std::size_t> kept(all.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  std::vector<std::size_t> rest;
  if (all.size() > kMaxSeries) {
    kept = greatest(all, span, stacked ? kMaxSeries - 1 : kMaxSeries);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!std::binary_search(kept.begin(), kept.end(), i)) rest.push_back(i);
    }
    out.folded = rest.size();
  }

  std::vector<std::vector<SeriesPoint>> drawn;
  for (const std::size_t i : kept) drawn.push_back(all[i]);
  if (stacked && !rest.empty()) drawn.push_back(sum(all, rest));
  if (chart.capacity) drawn.push_back(within(chart.capacity->points, span));
  out.edges = make_edges(drawn, span, out.exact);

  for (std::size_t d = 0; d < drawn.size(); ++d) {
    ReducedSeries series = sample(drawn[d], out.edges, out.exact);
    if (d < kept.size()) {
      series.source = kept[d];
      series.name = chart.series[kept[d]].name;
      out.series.push_back(std::move(series));
    } else if (d == kept.size() && stacked && !rest.empty()) {
      series.other = true;
      series.name = fmt::format("other ({})", rest.size());
      out.series.push_back(std::move(series));
    } else {
      series.name = chart.capacity->name;
      out.capacity.push_back(std::move(series));
    }
  }
  if (stacked && all.size() > 1) {
    std::vector<std::size_t> everything(all.size());
    std::iota(everything.begin(), everything.end(), std::size_t{0});
    out.total.push_back(sample(sum(all, everything), out.edges, out.exact));
    out.total.front().name = "total";
  }
  return out;
}

}  // namespace berth::sim
