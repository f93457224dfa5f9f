// Past use, per resource, in unit-milliseconds. Each moment counts half of what it counted a half-life later.
//
// Time passes in ticks, a sixteenth of the half-life each; a tick is worth 2^(-1/16) of the next. Use within the present tick
// counts in full. Whole numbers, rounded down (a part in 2^20 per tick), alike on every machine. Cost: run_until() O(resources x
// ticks that ended), at most 1,600 of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "base/time.h"

namespace berth::engine {

struct DecayedUse {
  static constexpr std::int64_t kTicks = 16;  // in a half-life

  std::vector<Int128> before;      // of ended ticks, by resource
  std::vector<Int128> present;     // of the present tick, so far
  std::vector<std::int64_t> rate;  // in use since `since`
  TimeMs since = 0;
  DurationMs tick = 1;

  void resize(std::size_t resources) {
    before.resize(resources, 0);
    present.resize(resources, 0);
    rate.resize(resources, 0);
  }
  void set_half_life(DurationMs half_life) { tick = std::max<DurationMs>(1, half_life / kTicks); }
  // Counts the present rate up to `now`, through the ends of all ticks on the way.
  void run_until(TimeMs now);
  // As if so much had always been used.
  void used_always(std::size_t resource, std::int64_t amount);
  // Within the present tick the present use counts as if it lasted the whole tick. So a queue that has just started much stands
  // behind at once, and keys change only with use and at ticks.
  Int128 counted(std::size_t resource, std::int64_t use) const {
    return std::max<Int128>(0, before[resource] + static_cast<Int128>(use) * tick);
  }
  // The use that, had it always been the same, would count as much as this does; as of `since`, rounded down.
  std::int64_t average(std::size_t resource) const;
  TimeMs tick_ends(TimeMs now) const { return (now / tick + 1) * tick; }
};

}  // namespace berth::engine
