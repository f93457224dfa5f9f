#include "dialect/owners/job/job_indexes.h"

#include <algorithm>
#include <optional>

#include "base/integers.h"

namespace berth::dialect {
namespace {

std::optional<std::int64_t> to_index(std::string_view text) {
  return to_integer(text, 0);
}

}  // namespace

JobIndexes JobIndexes::parse(std::string_view text, std::int64_t completions) {
  JobIndexes out;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = to_index(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : to_index(part.substr(dash + 1));
    if (!first || !last || *first >= completions || *last < *first) continue;
    out.add(*first, std::min(*last, completions - 1));
  }
  return out;
}

void JobIndexes::add(std::int64_t first, std::int64_t last) {
  // Those that the new one touches become one with it.
  const auto from = std::find_if(intervals_.begin(), intervals_.end(),
                                 [&](const Interval& known) { return known.last + 1 >= first; });
  const auto to =
      std::find_if(from, intervals_.end(), [&](const Interval& known) { return known.first > last + 1; });
  if (from != to) {
    first = std::min(first, from->first);
    last = std::max(last, std::prev(to)->last);
  }
  intervals_.insert(intervals_.erase(from, to), {first, last});
}

void JobIndexes::add(const JobIndexes& others) {
  for (const Interval& other : others.intervals_) add(other.first, other.last);
}

std::int64_t JobIndexes::count() const {
  std::int64_t out = 0;
  for (const Interval& known : intervals_) out += known.last - known.first + 1;
  return out;
}

std::int64_t JobIndexes::next_free(std::int64_t from) const {
  for (const Interval& known : intervals_) {
    if (from < known.first) break;
    from = std::max(from, known.last + 1);
  }
  return from;
}

}  // namespace berth::dialect
