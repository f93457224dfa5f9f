#include "sim/scenario/quota_gap.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "model/resources.h"

namespace berth::sim {
namespace {

// The quota of all queues together, or nothing where a queue's use of the resource has no bound. A tree can use the sum of the quotas
// of its queues: borrowing moves quota, and makes none.
std::optional<std::int64_t> quota_in_all(const Input& input, std::string_view resource,
                                         bool uncovered_is_free) {
  std::int64_t sum = 0;
  for (const Queue& queue : input.queues) {
    bool covered = false;
    for (const Quota& quota : queue.quotas) {
      if (quota.resource != resource) continue;
      covered = true;
      sum = saturating_add(sum, quota.nominal);
    }
    if (queue.leaf && (queue.unlimited || (!covered && (uncovered_is_free || queue.open))))
      return std::nullopt;
  }
  return sum;
}

}  // namespace

std::string quota_gap(const Input& input, bool ignore_uncovered) {
  std::map<std::string_view, std::int64_t> devices;
  for (const Node& node : input.nodes) {
    for (const DevicePool& pool : node.devices)
      devices[pool.resource] = saturating_add(devices[pool.resource], pool.count);
  }
  for (const auto& [resource, count] : devices) {
    const auto quota = quota_in_all(input, resource, ignore_uncovered);
    if (!quota) continue;
    const std::int64_t covered = *quota / units_per_one(resource);
    const std::int64_t gap = count - covered;
    if (gap * 100 < count || gap <= 0) continue;
    return fmt::format("the queues have quota for {} {} in all, the nodes have {}: {} are never used",
                       covered, resource, count, gap);
  }
  return "";
}

}  // namespace berth::sim
