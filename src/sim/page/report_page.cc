#include "sim/page/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/checked.h"
#include "sim/page/report.h"
#include "sim/page/report_format.h"
#include "sim/page/report_words.h"

namespace berth::sim {
namespace {

constexpr std::size_t kColors = 12;  // --s1 to --s12 in report.css: six colours, and the same six hatched
constexpr std::size_t kRamp = 9;     // --r1 to --r9
constexpr const char* kOtherColor = "--other";

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The class of a difference: " better", " worse", or none for what is small or neither.
const char* verdict_on(std::string_view difference, int direction) {
  if (direction == 0 || difference.empty() || (difference[0] != '+' && difference[0] != '-')) return "";
  return (difference[0] == '+') == (direction > 0) ? " better" : " worse";
}

void write_numbers(text::JsonWriter& json, std::string_view name, const std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) return;
  json.key(name).begin_array();
  for (const std::int64_t number : numbers) json.value(number);
  json.end_array();
}

}  // namespace

ReportPage::ReportPage(const ReportData& data) : data_(data) {
  for (const std::string& name : data.color_order) color_of(name);
  json_.begin_object();
  if (data.origin_unix_ms) json_.field("origin", *data.origin_unix_ms);
  json_.key("blocks").begin_array();
  add_key_figures();
  for (const Section& section : data.sections) add_section(section);
  add_notes();
  add_scenario();
  json_.end_array().end_object();
}

std::string ReportPage::color_of(const std::string& name) {
  const auto [at, fresh] = colors_.try_emplace(name, colors_.size());
  return fmt::format("--s{}", at->second % kColors + 1);
}

template <class Reduced>
std::vector<std::string> ReportPage::colors(const std::vector<Reduced>& shown, Palette palette,
                                            std::size_t all) {
  const auto usual = [this](const Reduced& item) {
    const auto at = colors_.find(item.name);
    return at != colors_.end() && at->second < data_.color_order.size();
  };
  const bool apart = !data_.color_order.empty() && std::none_of(shown.begin(), shown.end(), usual);
  std::vector<std::string> out;
  for (const Reduced& item : shown) {
    if (item.other) {
      out.emplace_back(kOtherColor);
    } else if (palette == Palette::kOrdered) {
      out.push_back(
          fmt::format("--r{}", all < 2 ? kRamp / 2 + 1 : 1 + item.source * (kRamp - 1) / (all - 1)));
    } else if (apart) {
      out.push_back(fmt::format("--s{}", out.size() % kColors + 1));
    } else {
      out.push_back(color_of(item.name));
    }
  }
  return out;
}

void ReportPage::add_key_figures() {
  if (data_.key_figures.empty()) return;
  body_ += "<section class=\"figures\" aria-label=\"Key figures\">\n";
  for (const KeyFigure& figure : data_.key_figures) {
    const std::string unit =
        figure.unit.empty() ? "" : fmt::format(" <span class=\"unit\">{}</span>", escape_html(figure.unit));
    const std::string hint = figure.hint.empty() ? "" : fmt::format("<p>{}</p>", escape_html(figure.hint));
    body_ += fmt::format("<div class=\"figure\"><h2>{}</h2><div class=\"value\">{}{}</div>{}</div>\n",
                         escape_html(figure.label), escape_html(figure.value), unit, hint);
  }
  body_ += "</section>\n";
}

void ReportPage::open_section(std::string_view title, std::string_view lead) {
  ++sections_;
  const std::string name = escape_html(title);
  navigation_ += fmt::format("<a href=\"#section-{}\">{}</a>\n", sections_, name);
  body_ +=
      fmt::format("<section class=\"part\" id=\"section-{0}\" aria-labelledby=\"title-{0}\">\n", sections_);
  body_ += fmt::format("<h2 id=\"title-{}\">{}</h2>\n", sections_, name);
  if (!lead.empty()) body_ += fmt::format("<p class=\"lead\">{}</p>\n", escape_html(lead));
}

void ReportPage::add_section(const Section& section) {
  open_section(section.title, section.lead);
  for (const Block& block : section.blocks) {
    std::visit([this](const auto& content) { add(content); }, block);
  }
  body_ += "</section>\n";
}

void ReportPage::open_figure(std::string_view kind, std::string_view title, std::string_view note,
                             std::string_view words) {
  body_ += fmt::format(
      "<figure class=\"card {0}\" id=\"block-{1}\" aria-labelledby=\"caption-{1}\" "
      "aria-describedby=\"words-{1}\">\n",
      kind, blocks_);
  body_ += fmt::format("<figcaption><h3 id=\"caption-{}\">{}</h3>", blocks_, escape_html(title));
  if (!note.empty()) body_ += fmt::format("<p>{}</p>", escape_html(note));
  body_ += "</figcaption>\n";
  body_ += fmt::format("<p class=\"unseen\" id=\"words-{}\">{}</p>\n", blocks_, escape_html(words));
}

void ReportPage::close_figure() {
  body_ += "</figure>\n";
  json_.end_object();
  ++blocks_;
}

void ReportPage::add(const TextBlock& block) {
  if (block.preformatted) {
    body_ +=
        fmt::format("<details class=\"card\"><summary>{}</summary><pre tabindex=\"0\">{}</pre></details>\n",
                    escape_html(block.title), escape_html(block.text));
    return;
  }
  if (!block.title.empty()) body_ += fmt::format("<h3>{}</h3>\n", escape_html(block.title));
  std::string_view rest = block.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find("\n\n");
    body_ += fmt::format("<p class=\"text\">{}</p>\n", escape_html(rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
}

void ReportPage::add(const Table& table) {
  body_ += "<div class=\"card table\">";
  if (!table.title.empty()) body_ += fmt::format("<h3>{}</h3>", escape_html(table.title));
  if (!table.note.empty()) body_ += fmt::format("<p class=\"note\">{}</p>", escape_html(table.note));
  body_ += "<div class=\"scroll\" tabindex=\"0\"><table class=\"sortable\"><thead><tr>";
  for (const Column& column : table.columns) {
    body_ += fmt::format("<th scope=\"col\"{}>{}", column.kind == ColumnKind::kText ? "" : " class=\"n\"",
                         escape_html(column.name));
    if (!column.unit.empty()) body_ += fmt::format("<small>{}</small>", escape_html(column.unit));
    body_ += "</th>";
  }
  body_ += "</tr></thead>\n<tbody>\n";
  const std::size_t rows = std::min(table.rows.size(), kMaxTableRows);
  for (std::size_t r = 0; r < rows; ++r) {
    body_ += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string text = c < table.rows[r].size() ? table.rows[r][c] : std::string();
      const ColumnKind kind = table.columns[c].kind;
      const char* tag = c == 0 && kind == ColumnKind::kText ? "th scope=\"row\"" : "td";
      if (text.empty()) {
        body_ += fmt::format("<{}{}>–</{}>", tag, kind == ColumnKind::kText ? "" : " class=\"n\"",
                             c == 0 && kind == ColumnKind::kText ? "th" : "td");
      } else if (kind == ColumnKind::kText) {
        body_ += fmt::format("<{}>{}</{}>", tag, escape_html(text), c == 0 ? "th" : "td");
      } else if (const auto ms = whole_number(text); kind == ColumnKind::kDurationMs && ms) {
        body_ += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", *ms, human_duration(*ms));
      } else {
        std::string plain = text;
        std::erase(plain, ',');
        body_ +=
            fmt::format("<td class=\"n{}\" data-v=\"{}\">{}</td>",
                        kind == ColumnKind::kDifference ? verdict_on(plain, table.columns[c].direction) : "",
                        escape_html(plain), escape_html(text));
      }
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>";
  if (rows < table.rows.size()) {
    body_ += fmt::format("<p class=\"note\">The first {} of {} rows.</p>",
                         human_amount(static_cast<std::int64_t>(rows)),
                         human_amount(static_cast<std::int64_t>(table.rows.size())));
  }
  body_ += "</div>\n";
}

void ReportPage::write_series(const ReducedSeries& series, const std::string& color) {
  json_.begin_object().field("n", series.name).field("c", color);
  write_numbers(json_, "v", series.value);
  write_numbers(json_, "lo", series.low);
  write_numbers(json_, "hi", series.high);
  json_.end_object();
}

void ReportPage::add_legend(const TimeChart& chart, const ReducedTimeChart& reduced,
                            const std::vector<std::string>& colors) {
  const bool share = !reduced.capacity.empty() && chart.style == SeriesStyle::kStacked;
  const std::int64_t whole = share ? reduced.capacity.front().mean_milli : 0;
  body_ +=
      "<div class=\"legend scroll\"><table><thead><tr><th scope=\"col\"></th><th scope=\"col\" "
      "class=\"n\">mean</th>"
      "<th scope=\"col\" class=\"n\">peak</th>";
  if (share) body_ += "<th scope=\"col\" class=\"n\">of capacity</th>";
  body_ += "</tr></thead><tbody>\n";
  const auto row = [&](const ReducedSeries& series, const std::string& attributes, const std::string& mark) {
    body_ += fmt::format("<tr{}><th scope=\"row\">{}<span>{}</span></th>", attributes, mark,
                         escape_html(series.name));
    const bool wide = chart.divisor > 0 && chart.divisor <= INT64_MAX / 1000;
    // Small values need more digits: a share of 1, a few GPUs.
    const int digits = series.peak / std::max<std::int64_t>(chart.divisor, 1) < 10 ? 3 : 1;
    body_ += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td>",
                         human_amount(series.mean_milli, wide ? chart.divisor * 1000 : INT64_MAX, digits),
                         human_amount(series.peak, chart.divisor, digits));
    if (share) body_ += fmt::format("<td class=\"n\">{}</td>", percent_text(series.mean_milli, whole));
    body_ += "</tr>\n";
  };
  for (std::size_t i = 0; i < reduced.series.size(); ++i) {
    row(reduced.series[i], fmt::format(" data-i=\"{}\"", i), swatch(colors[i]));
  }
  for (const ReducedSeries& series : reduced.total) row(series, " class=\"total\"", "");
  for (const ReducedSeries& series : reduced.capacity) {
    row(series, " class=\"capacity\"", "<i class=\"swatch dash\"></i>");
  }
  body_ += "</tbody></table>";
  if (reduced.folded > 0 && chart.style == SeriesStyle::kLines) {
    body_ += fmt::format("<p class=\"note\">{} lines with smaller values are not drawn.</p>", reduced.folded);
  }
  body_ += "</div>\n";
}

void ReportPage::add(const TimeChart& chart) {
  const ReducedTimeChart reduced = reduce(chart);
  json_.begin_object().field("k", "time").field("title", chart.title).field("unit", chart.unit);
  json_.field("div", std::max<std::int64_t>(chart.divisor, 1))
      .field("stacked", chart.style == SeriesStyle::kStacked);
  json_.field("b", chart.begin_ms).field("e", chart.end_ms);
  if (reduced.exact) {
    write_numbers(json_, "t", reduced.edges);
  } else {
    json_.field("slices", reduced.edges.size() - 1);
  }
  json_.key("s").begin_array();
  const auto palette = colors(reduced.series, chart.palette, chart.series.size());
  for (std::size_t i = 0; i < reduced.series.size(); ++i) write_series(reduced.series[i], palette[i]);
  json_.end_array();
  for (const ReducedSeries& series : reduced.capacity) {
    json_.key("cap");
    write_series(series, "--capacity");
  }
  for (const ReducedSeries& series : reduced.total) {
    json_.key("tot");
    write_series(series, "--ink");
  }
  open_figure("time", chart.title, chart.note, in_words(chart, reduced));
  if (reduced.edges.empty() || reduced.series.empty()) {
    body_ += "<p class=\"empty\">No data in this span of time.</p>\n";
  } else {
    body_ += "<div class=\"beside\"><div><div class=\"plot\"></div>";
    if (!reduced.exact) {
      body_ += fmt::format("<p class=\"note\">Each point is the mean of {}; {}.</p>",
                           human_duration(reduced.edges[1] - reduced.edges[0]),
                           chart.style == SeriesStyle::kStacked ? "the thin outline is the peak within it"
                                                                : "the pale band spans least to greatest");
    }
    body_ += "</div>\n";
    add_legend(chart, reduced, palette);
    body_ += "</div>\n";
  }
  close_figure();
}

void ReportPage::write_group(const ReducedGroup& group, const std::string& color) {
  json_.begin_object().field("n", group.name).field("c", color).field("count", group.count);
  json_.field("zeros", group.zeros);
  if (group.count > 0) {
    write_numbers(
        json_, "q",
        {group.min, group.p10, group.p25, group.p50, group.p75, group.p90, group.p99, group.max, group.mean});
  }
  write_numbers(json_, "x", group.curve_value);
  write_numbers(json_, "r", group.curve_rank);
  json_.end_object();
}

void ReportPage::add_strip(const Distribution& distribution, const ReducedGroup& group,
                           const std::string& color, int row) {
  const auto cell = [&](std::int64_t value, const char* kind) {
    const std::string text = group.count > 0 ? escape_html(amount_of(distribution, value)) : std::string("–");
    body_ += fmt::format("<td class=\"n {}\">{}</td>", kind, text);
  };
  body_ += fmt::format("<tr data-i=\"{}\"{}><th scope=\"row\">{}<span>{}</span></th>", row,
                       row < 0 ? " class=\"total\"" : "", swatch(color), escape_html(group.name));
  body_ += "<td class=\"strip\"></td>";
  body_ += fmt::format("<td class=\"n count\">{}</td>", human_amount(group.count));
  cell(group.p50, "");
  cell(group.p90, "");
  cell(group.p99, "wide");
  cell(group.mean, "wide");
  body_ += "</tr>\n";
}

void ReportPage::add(const Distribution& distribution) {
  const ReducedDistribution reduced = reduce(distribution);
  json_.begin_object().field("k", "dist").field("title", distribution.title);
  json_.field("duration", distribution.kind == SampleKind::kDurationMs).field("unit", distribution.unit);
  json_.field("div", std::max<std::int64_t>(distribution.divisor, 1)).field("subject", distribution.subject);
  open_figure("dist", distribution.title, distribution.note, in_words(distribution, reduced));
  std::int64_t samples = 0;
  for (const ReducedGroup& group : reduced.groups) samples += group.count;
  if (samples == 0) {
    body_ += "<p class=\"empty\">No samples.</p>\n";
    close_figure();
    return;
  }
  const ReducedGroup* words = !reduced.overall.empty()     ? &reduced.overall.front()
                              : reduced.groups.size() == 1 ? &reduced.groups.front()
                                                           : nullptr;
  if (words != nullptr)
    body_ += fmt::format("<p class=\"words\">{}</p>\n", escape_html(in_words(distribution, *words)));
  const std::string unit = distribution.unit.empty()
                               ? std::string()
                               : fmt::format("<small>{}</small>", escape_html(distribution.unit));
  body_ += fmt::format(
      "<div class=\"pair\"><div class=\"scroll\"><table class=\"strips\"><thead><tr><th scope=\"col\"></th>"
      "<th scope=\"col\" class=\"strip\"><span class=\"key\"></span></th><th scope=\"col\" "
      "class=\"n count\">{0}</th>"
      "<th scope=\"col\" class=\"n\">median{1}</th><th scope=\"col\" class=\"n\">9 in 10{1}</th>"
      "<th scope=\"col\" class=\"n wide\">99 in 100{1}</th><th scope=\"col\" class=\"n wide\">mean{1}</th>"
      "</tr></thead><tbody>\n",
      escape_html(distribution.subject), unit);
  json_.key("g").begin_array();
  const auto palette = colors(reduced.groups, distribution.palette, distribution.groups.size());
  for (std::size_t i = 0; i < reduced.groups.size(); ++i) {
    write_group(reduced.groups[i], palette[i]);
    add_strip(distribution, reduced.groups[i], palette[i], static_cast<int>(i));
  }
  json_.end_array();
  for (const ReducedGroup& group : reduced.overall) {
    json_.key("all");
    write_group(group, "--ink");
    add_strip(distribution, group, "--ink", -1);
  }
  body_ += "</tbody></table></div>\n<div class=\"plot\"></div></div>\n";
  close_figure();
}

void ReportPage::add(const Gantt& gantt) {
  const ReducedGantt reduced = reduce(gantt);
  json_.begin_object().field("k", "gantt").field("title", gantt.title);
  json_.field("b", gantt.begin_ms).field("e", gantt.end_ms);
  json_.key("lanes").begin_array();
  for (const ReducedLane& lane : reduced.lanes) {
    json_.begin_object().field("n", lane.lane->node).field("h", lane.lane->hint);
    json_.field("d", lane.lane->devices).field("rows", lane.rows).end_object();
  }
  json_.end_array();
  std::map<std::string_view, std::size_t> series;
  json_.key("series").begin_array();
  for (const GanttBox& box : reduced.boxes) {
    if (!series.try_emplace(box.bar->series, series.size()).second) continue;
    json_.begin_object().field("n", box.bar->series).field("c", color_of(box.bar->series)).end_object();
  }
  json_.end_array();
  // One array per box: lane, row, height, start, end, series, how it ended, the bar's own start, end, GPUs,
  // name.
  json_.key("boxes").begin_array();
  for (const GanttBox& box : reduced.boxes) {
    json_.begin_array().value(box.lane).value(box.row_milli).value(box.height_milli);
    json_.value(box.start_ms).value(box.end_ms).value(series[box.bar->series]);
    json_.value(static_cast<int>(box.bar->end)).value(box.bar->start_ms).value(box.bar->end_ms);
    json_.value(box.bar->gpu_milli).value(box.bar->workload).end_array();
  }
  json_.end_array();

  open_figure("gantt", gantt.title, gantt.note, in_words(gantt, reduced));
  if (reduced.boxes.empty() || gantt.end_ms <= gantt.begin_ms) {
    body_ += "<p class=\"empty\">Nothing ran on these nodes in this span of time.</p>\n";
  } else {
    body_ += "<div class=\"chips\">";
    for (const GanttBox& box : reduced.boxes) {
      const auto at = series.find(box.bar->series);
      if (at == series.end()) continue;
      body_ += fmt::format("<span>{}{}</span>", swatch(color_of(box.bar->series)), escape_html(at->first));
      series.erase(at);
    }
    body_ +=
        "<span><i class=\"swatch evicted\"></i>evicted</span><span><i class=\"swatch "
        "failed\"></i>failed</span>"
        "</div>\n<div class=\"plot\"></div>\n";
  }
  std::string left;
  if (reduced.left_out_lanes > 0)
    left += fmt::format("{} more nodes are not drawn. ", reduced.left_out_lanes);
  if (reduced.left_out_bars > 0)
    left += fmt::format("The {} shortest bars are not drawn. ", reduced.left_out_bars);
  if (reduced.without_gpu > 0)
    left += fmt::format("{} bars hold no GPU and are not drawn. ", reduced.without_gpu);
  if (!left.empty()) body_ += fmt::format("<p class=\"note\">{}</p>\n", left);
  close_figure();
}

void ReportPage::add_notes() {
  if (data_.notes.empty()) return;
  open_section("Notes", "");
  body_ += "<ul class=\"card notes\">\n";
  for (const Note& note : data_.notes) {
    const bool warning = note.kind == NoteKind::kWarning;
    body_ += fmt::format("<li class=\"{}\"><b>{}</b> {}</li>\n", warning ? "warning" : "info",
                         warning ? "Warning" : "Note", escape_html(note.text));
  }
  body_ += "</ul>\n</section>\n";
}

void ReportPage::add_scenario() {
  if (data_.scenario.empty()) return;
  open_section("Scenario", "The file that was run, as it was.");
  add(TextBlock{data_.scenario, true, "Show the scenario file"});
  body_ += "</section>\n";
}

}  // namespace berth::sim
