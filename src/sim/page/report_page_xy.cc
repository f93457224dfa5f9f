// Curves over a number: markup, data, and the table of their numbers.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/page/report.h"
#include "sim/page/report_format.h"
#include "sim/page/report_page.h"
#include "sim/page/report_words.h"

namespace berth::sim {
namespace {

// The point of a series at x, or nullptr.
const XyPoint* point_at(const XySeries& series, std::int64_t x) {
  const auto it = std::lower_bound(series.points.begin(), series.points.end(), x,
                                   [](const XyPoint& point, std::int64_t at) { return point.x < at; });
  return it == series.points.end() || it->x != x ? nullptr : &*it;
}

}  // namespace

// As of a chart over time: where none of the names is a usual one, colours count from the first.
std::vector<std::string> ReportPage::colors_of(const XyChart& chart) {
  const auto usual = [this](const XySeries& series) {
    return std::find(data_.color_order.begin(), data_.color_order.end(), series.name) !=
           data_.color_order.end();
  };
  const bool apart =
      !data_.color_order.empty() && std::none_of(chart.series.begin(), chart.series.end(), usual);
  std::vector<std::string> out;
  for (const XySeries& series : chart.series)
    out.push_back(apart ? fmt::format("--s{}", out.size() % kMaxSeries + 1) : color_of(series.name));
  return out;
}

void ReportPage::add(const XyChart& chart) {
  const std::size_t count = std::min(chart.series.size(), kMaxSeries);
  json_.begin_object().field("k", "xy").field("title", chart.title);
  json_.field("x", chart.x_title).field("xdiv", std::max<std::int64_t>(chart.x_divisor, 1));
  json_.field("y", chart.y_title).field("div", std::max<std::int64_t>(chart.y_divisor, 1));
  json_.field("duration", chart.y_kind == SampleKind::kDurationMs).field("zero", chart.from_zero);
  json_.field("marks", chart.marks);
  json_.key("s").begin_array();
  const auto palette = colors_of(chart);
  std::set<std::int64_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    const XySeries& series = chart.series[i];
    json_.begin_object().field("n", series.name).field("c", palette[i]).field("dash", series.dashed);
    json_.key("p").begin_array();
    for (std::size_t k = 0; k < std::min(series.points.size(), kMaxXyPoints); ++k) {
      const XyPoint& point = series.points[k];
      places.insert(point.x);
      json_.begin_array().value(point.x).value(point.y);
      if (point.low != point.y || point.high != point.y) json_.value(point.low).value(point.high);
      json_.end_array();
    }
    json_.end_array().end_object();
  }
  json_.end_array();

  open_figure("xy", chart.title, chart.note, in_words(chart));
  if (places.empty()) {
    body_ += "<p class=\"empty\">No points.</p>\n";
    close_figure();
    return;
  }
  body_ += "<div class=\"chips\">";
  for (std::size_t i = 0; count > 1 && i < count; ++i) {
    const std::string name = escape_html(chart.series[i].name);
    body_ += chart.series[i].dashed
                 ? fmt::format("<span><i class=\"swatch hollow\" style=\"--c:var({})\"></i>{}</span>",
                               palette[i], name)
                 : fmt::format("<span>{}{}</span>", swatch(palette[i]), name);
  }
  body_ += "</div>\n<div class=\"plot\"></div>\n";
  if (count < chart.series.size())
    body_ +=
        fmt::format("<p class=\"note\">{} more curves are not drawn.</p>\n", chart.series.size() - count);
  // With the spread of the runs where a point stands for several.
  body_ += fmt::format(
      "<details class=\"numbers\"><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\">"
      "<table class=\"sortable\"><thead><tr><th scope=\"col\" class=\"n\">{}</th>",
      escape_html(chart.x_title));
  for (std::size_t i = 0; i < count; ++i)
    body_ += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", escape_html(chart.series[i].name));
  body_ += "</tr></thead>\n<tbody>\n";
  std::size_t rows = 0;
  for (const std::int64_t x : places) {
    if (++rows > kMaxTableRows) break;
    body_ += fmt::format("<tr><td class=\"n\" data-v=\"{}\">{}</td>", x, human_amount(x, chart.x_divisor, 3));
    for (std::size_t i = 0; i < count; ++i) {
      const XyPoint* point = point_at(chart.series[i], x);
      if (point == nullptr) {
        body_ += "<td class=\"n\">–</td>";
        continue;
      }
      std::string text = y_text(chart, point->y);
      if (point->low != point->high)
        text += fmt::format(" ({} to {})", y_text(chart, point->low), y_text(chart, point->high));
      body_ += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", point->y, text);
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div></details>\n";
  close_figure();
}

}  // namespace berth::sim
