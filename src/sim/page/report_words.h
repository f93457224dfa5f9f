// The pictures of a report in words: what a reader hears that cannot see them. Used by report_page.cc.
#pragma once

#include <string>

#include "sim/page/report_data.h"
#include "sim/page/report_reduce.h"

namespace berth::sim {

// At most kMostNamed series, groups or lanes are named.
inline constexpr std::size_t kMostNamed = 6;

std::string in_words(const TimeChart& chart, const ReducedTimeChart& reduced);
std::string in_words(const XyChart& chart);
std::string in_words(const Distribution& distribution, const ReducedDistribution& reduced);
std::string in_words(const Gantt& gantt, const ReducedGantt& reduced);

// One group: "Half of the 1,200 jobs: at most 3 min. ...".
std::string in_words(const Distribution& distribution, const ReducedGroup& group);
// A sample, as it is shown.
std::string amount_of(const Distribution& distribution, std::int64_t value);
// A value of a curve, as it is shown.
std::string y_text(const XyChart& chart, std::int64_t value);
// With one decimal, so that a column of them lines up.
std::string percent_text(std::int64_t part, std::int64_t whole);

}  // namespace berth::sim
