// The contents of a report, as plain values. The code that runs a simulation (or compares several) fills a ReportData; report.h
// turns it into one HTML page.
//
// A report is a list of sections, and a section is a list of blocks: text, tables, charts over time,
// distributions, Gantt charts. A page that compares policies is the same thing with one series or group per
// policy, so nothing here knows what a queue or a policy is.
//
// Units: times are TimeMs from the start of the trace, durations are milliseconds. Every other amount is an int64 over a divisor
// ("1500 over 1000, unit GPU" is 1.5 GPU). There is no floating point here, so that equal runs give equal bytes.
//
// Size: give the data as it is. The renderer aggregates: series to kMaxPoints, samples to quantiles, many series to "other", many
// bars to the longest. So the page stays below a few megabytes for any input; see report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"

namespace berth::sim {

// One large number at the top of the page. Four to eight of them read well.
struct KeyFigure {
  std::string label;  // "Median waiting time"
  std::string value;  // formatted: "3 min 20 s" (report.h: human_duration, human_amount)
  std::string unit;   // may be empty: "GPU", "%"
  std::string hint;   // one sentence that explains the term; may be empty
};

// A paragraph. Plain text; an empty line starts a new paragraph.
struct TextBlock {
  std::string text;
  bool preformatted = false;  // a scenario file, a log: fixed-width, folded away below its title
  std::string title;          // needed where preformatted
};

enum class ColumnKind : std::uint8_t {
  kText,
  kNumber,      // the cell is shown as it is, aligned right, sorted as a number: "12,345", "99.4"
  kDurationMs,  // the cell holds whole milliseconds and is shown as a human duration, sorted as a number
  kDifference,  // "+12.3 %": as kNumber, with a colour for better and worse (Column::direction)
};

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::kText;
  std::string unit;   // shown below the name; may be empty
  int direction = 0;  // of kDifference: -1 less is better, 1 more is better, 0 neither
};

// At most kMaxTableRows rows are shown, the first ones; the page says how many are left out.
struct Table {
  std::string title;
  std::string note;  // below the title: how to read it; may be empty
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`; an empty cell shows a dash
};

// The value from t_ms until the next point (a step function). Before its first point a series is 0.
struct SeriesPoint {
  TimeMs t_ms = 0;
  std::int64_t value = 0;
};

struct Series {
  std::string name;                 // a queue, a policy. The same name has the same colour on the whole page
  std::vector<SeriesPoint> points;  // t_ms ascending; of several with one t_ms the last counts
};

enum class SeriesStyle : std::uint8_t {
  kStacked,  // filled areas on top of each other; values must not be negative
  kLines,    // one line each
};

// Names of a kChoice need clearly different colours; those of kOrdered (size classes, priorities) follow an
// order and get one ramp from light to dark.
enum class Palette : std::uint8_t { kChoice, kOrdered };

// Amounts over time: GPUs allocated by queue, pending workloads, a share held.
struct TimeChart {
  std::string title;
  std::string note;  // one or two sentences: what the picture says; may be empty
  std::string unit;  // of an amount after the divisor: "GPU", "workloads"
  std::int64_t divisor = 1;
  SeriesStyle style = SeriesStyle::kLines;
  Palette palette = Palette::kChoice;
  std::vector<Series> series;
  std::optional<Series> capacity;  // drawn as a line above the others: what there is
  TimeMs begin_ms = 0;             // the picture spans [begin_ms, end_ms]
  TimeMs end_ms = 0;
};

struct SampleGroup {
  std::string name;                   // a queue, a size class, a policy
  std::vector<std::int64_t> samples;  // in any order
};

enum class SampleKind : std::uint8_t {
  kDurationMs,  // human durations
  kAmount,      // amount / divisor in `unit`: slowdown, GPUs
};

// How samples are distributed, per group: a quantile strip per group, the cumulative curve, and the numbers.
// The axis is logarithmic, with a place of its own for 0 (a job that did not wait at all).
struct Distribution {
  std::string title;
  std::string note;
  std::string subject = "workloads";  // what one sample is, in the plural: "1,200 workloads"
  SampleKind kind = SampleKind::kDurationMs;
  std::string unit;  // of kAmount
  std::int64_t divisor = 1;
  Palette palette = Palette::kChoice;
  std::string overall =
      "all";  // name of the row over all groups; empty: no such row (policies do not add up)
  std::vector<SampleGroup> groups;
};

// A point of a curve over any number: a share, a size, a parameter.
struct XyPoint {
  std::int64_t x = 0;  // over XyChart::x_divisor
  std::int64_t y = 0;
  std::int64_t low = 0;  // least and greatest, where several runs make the point; otherwise as y
  std::int64_t high = 0;
};
struct XySeries {
  std::string name;
  std::vector<XyPoint> points;  // x ascending
  bool dashed = false;          // figures of others
};
// Curves over a number, with their numbers below: a metric over a parameter, allocated over arrived. The
// first kMaxSeries series and of each the first kMaxXyPoints points are drawn.
struct XyChart {
  std::string title;
  std::string note;
  std::string x_title;  // "Demand arrived, % of the GPUs"
  std::int64_t x_divisor = 1;
  std::string y_title;  // "GPUs allocated, %"
  SampleKind y_kind = SampleKind::kAmount;
  std::int64_t y_divisor = 1;
  bool from_zero = true;  // whether the axis of y begins at 0 where no value is negative
  bool marks = true;      // whether every point is marked
  std::vector<XySeries> series;
};

enum class BarEnd : std::uint8_t {
  kCompleted,
  kEvicted,  // preempted or reclaimed: it goes back to its queue
  kFailed,   // its node failed
  kRunning,  // still running at the end of the picture
};

struct GanttBar {
  std::string workload;
  std::string series;          // the queue (or policy): decides the colour
  TimeMs start_ms = 0;         // half open: [start_ms, end_ms)
  TimeMs end_ms = 0;           // > start_ms
  std::int64_t gpu_milli = 0;  // on this lane; 1000 is one device
  BarEnd end = BarEnd::kCompleted;
  std::vector<int> devices;  // which ones, where known; otherwise the renderer lays bars out without overlap
};

struct GanttLane {
  std::string node;
  std::string hint;  // model, rack; may be empty
  int devices = 0;
  std::vector<GanttBar> bars;  // in any order
};

struct Gantt {
  std::string title;
  std::string note;
  std::vector<GanttLane> lanes;  // the first kMaxGanttLanes are drawn
  TimeMs begin_ms = 0;
  TimeMs end_ms = 0;
};

using Block = std::variant<TextBlock, Table, TimeChart, XyChart, Distribution, Gantt>;

struct Section {
  std::string title;  // short: it is also the entry in the page's navigation
  std::string lead;   // one sentence; may be empty
  std::vector<Block> blocks;
};

enum class NoteKind : std::uint8_t {
  kInfo,     // how something was read or counted
  kWarning,  // something of the input was repaired or left out: the numbers depend on it
};

struct Note {
  NoteKind kind = NoteKind::kInfo;
  std::string text;
};

struct ReportData {
  std::string title;               // "Philly, October 2017"
  std::string subtitle;            // "58,920 jobs on 264 nodes with 2,112 GPUs, first in first out"
  std::string program;             // "berth 0.1.0 (commit 1a2b3c)"; may be empty
  std::string generated_by;        // "berth simulate scenarios/philly.yaml": no time of day, see report.h
  std::string seeds;               // "seed 1", "seeds 1, 2, 3"; may be empty
  std::vector<std::string> files;  // names of files beside the page, which its foot links to
  std::string scenario;            // the scenario file as it was; shown folded away; may be empty
  // The Unix time of t_ms 0, where the trace has one: axes then show dates (UTC), otherwise days and hours.
  std::optional<TimeMs> origin_unix_ms;
  std::vector<KeyFigure> key_figures;
  std::vector<Section> sections;
  std::vector<Note> notes;
  // Names that come first when colours are given out (the queues in their usual order); others follow in the
  // order in which the page meets them. A chart none of whose names is here (pending workloads) counts its
  // colours from the first.
  std::vector<std::string> color_order;
};

}  // namespace berth::sim
