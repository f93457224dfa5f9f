// Builds the parts of a report's page: the body's markup, with all numbers so that it works without its script, and the data for
// the pictures. Used by report.cc.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/page/report_data.h"
#include "sim/page/report_reduce.h"
#include "text/json.h"

namespace berth::sim {

class ReportPage {
 public:
  explicit ReportPage(const ReportData& data);

  const std::string& navigation() const { return navigation_; }
  const std::string& body() const { return body_; }
  const std::string& json() const { return json_.str(); }

 private:
  void add_key_figures();
  void add_section(const Section& section);
  void add_notes();
  void add_scenario();
  void open_section(std::string_view title, std::string_view lead);
  // `words`: the picture for readers that cannot see it.
  void open_figure(std::string_view kind, std::string_view title, std::string_view note,
                   std::string_view words);
  void close_figure();

  void add(const TextBlock& block);
  void add(const Table& table);
  void add(const TimeChart& chart);
  void add(const XyChart& chart);
  void add(const Distribution& distribution);
  void add(const Gantt& gantt);

  void add_legend(const TimeChart& chart, const ReducedTimeChart& reduced,
                  const std::vector<std::string>& colors);
  void add_strip(const Distribution& distribution, const ReducedGroup& group, const std::string& color,
                 int row);
  void write_group(const ReducedGroup& group, const std::string& color);
  void write_series(const ReducedSeries& series, const std::string& color);

  // The CSS variables that hold the colours of series or groups: by name, so that a queue has one colour on the whole
  // page; by position where they follow an order, or where none of the names is a usual one (color_order).
  template <class Reduced>
  std::vector<std::string> colors(const std::vector<Reduced>& shown, Palette palette, std::size_t all);
  std::vector<std::string> colors_of(const XyChart& chart);
  std::string color_of(const std::string& name);

  const ReportData& data_;
  std::map<std::string, std::size_t, std::less<>> colors_;
  std::string navigation_;
  std::string body_;
  text::JsonWriter json_;
  std::size_t sections_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace berth::sim
