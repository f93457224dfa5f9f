#include "sim/page/report_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "sim/page/report.h"

namespace berth::sim {
namespace {

std::string with_unit(const Distribution& distribution, std::int64_t value) {
  if (distribution.kind == SampleKind::kDurationMs || distribution.unit.empty())
    return amount_of(distribution, value);
  return amount_of(distribution, value) + " " + distribution.unit;
}

std::string and_more(std::size_t all) {
  return all > kMostNamed ? fmt::format(" And {} more.", all - kMostNamed) : std::string();
}

}  // namespace

std::string percent_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "–";
  const auto permille = static_cast<std::int64_t>((static_cast<Int128>(part) * 2000 + whole) / whole / 2);
  return fmt::format("{}.{} %", human_amount(permille / 10), permille % 10);
}

std::string amount_of(const Distribution& distribution, std::int64_t value) {
  if (distribution.kind == SampleKind::kDurationMs) return human_duration(value);
  return human_amount(value, distribution.divisor, 2);
}

std::string y_text(const XyChart& chart, std::int64_t value) {
  if (chart.y_kind == SampleKind::kDurationMs) return human_duration(value);
  return human_amount(value, chart.y_divisor, 3);
}

std::string in_words(const Distribution& distribution, const ReducedGroup& group) {
  std::string out = fmt::format("Half of the {} {}: at most {}. Nine in ten: at most {}. ",
                                human_amount(group.count), distribution.subject,
                                with_unit(distribution, group.p50), with_unit(distribution, group.p90));
  if (group.zeros > 0) out += fmt::format("None at all: {}. ", percent_text(group.zeros, group.count));
  return out + fmt::format("The longest: {}.", with_unit(distribution, group.max));
}

std::string in_words(const Distribution& distribution, const ReducedDistribution& reduced) {
  std::string out = fmt::format("Quantiles and tails of {}.", distribution.subject);
  for (std::size_t i = 0; i < std::min(reduced.groups.size(), kMostNamed); ++i) {
    const ReducedGroup& group = reduced.groups[i];
    if (group.count > 0) out += fmt::format(" {}: {}", group.name, in_words(distribution, group));
  }
  return out + and_more(reduced.groups.size());
}

std::string in_words(const TimeChart& chart, const ReducedTimeChart& reduced) {
  std::string out =
      fmt::format("{} over {}.", chart.style == SeriesStyle::kStacked ? "Stacked areas" : "Lines",
                  human_duration(chart.end_ms - chart.begin_ms));
  const bool wide = chart.divisor > 0 && chart.divisor <= INT64_MAX / 1000;
  const std::string unit = chart.unit.empty() ? "" : " " + chart.unit;
  for (std::size_t i = 0; i < std::min(reduced.series.size(), kMostNamed); ++i) {
    const ReducedSeries& series = reduced.series[i];
    out += fmt::format(" {}: mean {}{}, peak {}{}.", series.name,
                       human_amount(series.mean_milli, wide ? chart.divisor * 1000 : INT64_MAX, 2), unit,
                       human_amount(series.peak, chart.divisor, 2), unit);
  }
  return out + and_more(reduced.series.size());
}

std::string in_words(const XyChart& chart) {
  std::string out = fmt::format("Curves of {} over {}.", chart.y_title, chart.x_title);
  const auto at = [&](const XyPoint& point) {
    return fmt::format("{} at {}", y_text(chart, point.y), human_amount(point.x, chart.x_divisor, 3));
  };
  const auto by_y = [](const XyPoint& a, const XyPoint& b) { return a.y < b.y; };
  for (std::size_t i = 0; i < std::min(chart.series.size(), kMostNamed); ++i) {
    const auto& points = chart.series[i].points;
    if (points.empty()) continue;
    out += fmt::format(" {}: from {} to {}, least {}, greatest {}.", chart.series[i].name, at(points.front()),
                       at(points.back()), at(*std::min_element(points.begin(), points.end(), by_y)),
                       at(*std::max_element(points.begin(), points.end(), by_y)));
  }
  return out + and_more(chart.series.size());
}

std::string in_words(const Gantt& gantt, const ReducedGantt& reduced) {
  std::string out = fmt::format("{} bars of work on {} nodes over {}.",
                                human_amount(static_cast<std::int64_t>(reduced.boxes.size())),
                                reduced.lanes.size(), human_duration(gantt.end_ms - gantt.begin_ms));
  for (std::size_t i = 0; i < std::min(reduced.lanes.size(), kMostNamed); ++i) {
    const auto bars = std::count_if(reduced.boxes.begin(), reduced.boxes.end(),
                                    [i](const GanttBox& box) { return box.lane == i; });
    out += fmt::format(" {}: {} devices, {} bars.", reduced.lanes[i].lane->node,
                       reduced.lanes[i].lane->devices, bars);
  }
  return out + and_more(reduced.lanes.size());
}

}  // namespace berth::sim
