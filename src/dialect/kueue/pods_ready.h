// Kueue's waitForPodsReady: pods that are not ready in time are ended, and their workload is tried again later.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace berth::dialect {

struct PodsReady {
  DurationMs timeout = 30 * kMinute;          // since it was admitted
  std::optional<DurationMs> recovery;         // since pods that were ready are not any more; none: no limit
  std::optional<std::int64_t> most_requeues;  // after that it is deactivated; none: never
  DurationMs first_rest = kMinute;            // doubled each time
  DurationMs most_rest = kHour;
  DurationMs most_own = 2 * kHour;  // more than that no workload may give itself
  bool block_admission =
      false;                  // one after the other: each when the pods of all that were admitted are ready
  bool from_eviction = true;  // it goes to the end of the line; false: it keeps its place
  bool operator==(const PodsReady&) const = default;
};

// With the times that a workload says of itself (names.h kKueueReadyTimes), also where there are no others. Those that cannot be read
// do not count: no JSON object, no whole seconds, a time for recovery alone.
std::optional<PodsReady> with_own_times(const std::optional<PodsReady>& configured, std::string_view own);

}  // namespace berth::dialect
