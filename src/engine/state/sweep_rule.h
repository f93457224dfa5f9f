// When the catalog is swept of entries that nothing uses. At once: they are many, or some of them are long. Within half a minute:
// a part of the specs have no pod set any more. Each entry is an index over all nodes, and a tenant chooses how many
// different ones there are. A sweep costs O(workloads + entries): work that ends and leaves no spec behind costs none.
// Cost: O(1) per call.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/checked.h"
#include "base/time.h"

namespace berth::engine {

class SweepRule {
 public:
  // The last pod set of a spec has left it; or one has come to it again. `is_long`: Spec::is_long.
  void note_left(bool is_long) { ++(is_long ? long_left_ : left_); }
  void note_back(bool is_long) { --(is_long ? long_left_ : left_); }
  // `live`: the entries of the catalog.
  bool is_due(std::size_t live, std::size_t workloads) const {
    return live >= 4 * live_at_sweep_ || long_left_ >= kMostLongLeft + workloads / 16;
  }
  // The memory of long specs is freed soon, even if they are few.
  bool is_due_at(TimeMs now, std::size_t live) const {
    if (now < next_) return false;
    return long_left_ > 0 || (live >= kFew && left_ >= live / 16);
  }
  void swept(std::size_t live, TimeMs now) {
    live_at_sweep_ = std::max<std::size_t>(256, live);
    left_ = long_left_ = 0;
    next_ = saturating_add(now, kEvery);
  }

 private:
  static constexpr std::size_t kMostLongLeft = 64;
  static constexpr std::size_t kFew = 64;  // entries that may stay for work that comes and goes
  static constexpr DurationMs kEvery = 30 * kSecond;

  std::size_t live_at_sweep_ = 256;
  std::size_t left_ = 0;  // specs without pod sets
  std::size_t long_left_ = 0;
  TimeMs next_ = 0;
};

}  // namespace berth::engine
