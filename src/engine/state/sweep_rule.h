// When the catalog is swept of entries that nothing uses: when they are many, or when some of them are long. Cost: O(1) per call.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/checked.h"
#include "base/time.h"

namespace berth::engine {

class SweepRule {
 public:
  // Workloads of long specs (Spec::is_long) have ended.
  void note_long(std::size_t specs) { long_left_ += specs; }
  // `live`: the entries of the catalog.
  bool is_due(std::size_t live, std::size_t workloads) const {
    return live >= 4 * live_at_sweep_ || long_left_ >= kMostLongLeft + workloads / 16;
  }
  // The memory of long specs is freed soon, even if they are few.
  bool is_due_at(TimeMs now) const { return long_left_ > 0 && now >= next_long_sweep_; }
  void swept(std::size_t live, TimeMs now) {
    live_at_sweep_ = std::max<std::size_t>(256, live);
    long_left_ = 0;
    next_long_sweep_ = saturating_add(now, kLongSweepEvery);
  }

 private:
  static constexpr std::size_t kMostLongLeft = 64;
  static constexpr DurationMs kLongSweepEvery = 30 * kSecond;

  std::size_t live_at_sweep_ = 256;
  std::size_t long_left_ = 0;  // since the last sweep
  TimeMs next_long_sweep_ = 0;
};

}  // namespace berth::engine
