// ReportData -> one self-contained HTML page: style, script and data are inside, nothing is loaded from a
// network, and it opens from a file. Light and dark, from a phone to a wide screen, keyboard, print.
//
// Bounds, so that a page of a million jobs opens at once: a chart has at most kMaxPoints steps (beyond, each
// step is a slice of time with its mean, and the least and greatest value stay visible), kMaxSeries series
// (beyond, the smallest become "other"), a distribution kMaxGroups groups and kMaxCurvePoints points per
// curve, a curve over a number kMaxXyPoints points, a Gantt chart kMaxGanttLanes lanes and kMaxGanttBars bars (the longest), a
// table kMaxTableRows rows. The page says where it left something out.
//
// Equal data gives equal bytes: no clock, no random, no floating point in the data.
// Text of any kind is safe to pass: it is escaped for HTML and for script, and bytes that are not UTF-8
// become U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/page/report_data.h"

namespace berth::sim {

inline constexpr std::size_t kMaxPoints = 2000;
inline constexpr std::size_t kMaxSeries = 12;
inline constexpr std::size_t kMaxGroups = 24;
inline constexpr std::size_t kMaxCurvePoints = 200;
inline constexpr std::size_t kMaxXyPoints = 500;
inline constexpr std::size_t kMaxGanttLanes = 64;
inline constexpr std::size_t kMaxGanttBars = 4000;
inline constexpr std::size_t kMaxTableRows = 500;

// The page. O(n log n) in the data given; a few copies of the samples at most.
std::string render_report(const ReportData& data);

// Writes the page beside `path` and renames it into place, so that `path` never holds half a page. Errors:
// kInvalid with the path and the system's reason where the file cannot be written.
Status write_report(const ReportData& data, const std::string& path);

// "0 s", "3 min 20 s", "5 h 12 min", "2 d 3 h": two units at most, rounded to nearest. Negative ones get a
// minus.
std::string human_duration(DurationMs ms);
// amount / divisor with thousands separators and at most `decimals` digits, without trailing zeros:
// "12,345.6".
std::string human_amount(std::int64_t amount, std::int64_t divisor = 1, int decimals = 1);

}  // namespace berth::sim
