#include "engine/order/rank.h"

#include <algorithm>

#include "base/checked.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kMostPriority = std::int64_t{1} << 32;

std::int64_t tier(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::kService:
    case WorkloadKind::kInteractive:
      return 2;
    case WorkloadKind::kTraining:
      return 1;
    case WorkloadKind::kBatch:
      return 0;
  }
  return 0;
}

// Work done in a run that began at `began`, its restart overhead taken off.
DurationMs worked(const Progress& progress, const Restart& restart, TimeMs began, TimeMs now) {
  const DurationMs overhead = progress.runs > 0 ? restart.overhead : 0;
  return std::max<DurationMs>(0, saturating_sub(now - began, overhead));
}

}  // namespace

std::int64_t ranked_priority(Tiers tiers, WorkloadKind kind, std::int64_t priority) {
  if (tiers == Tiers::kNone) return priority;
  return tier(kind) * 2 * kMostPriority + std::clamp(priority, -kMostPriority, kMostPriority - 1);
}

DurationMs kept_work(const Progress& progress, const Restart& restart, TimeMs began, TimeMs now) {
  const DurationMs all = worked(progress, restart, began, now);
  if (restart.last_checkpoint && *restart.last_checkpoint > began) {
    return std::min(all, worked(progress, restart, began, *restart.last_checkpoint));
  }
  return restart.checkpoint_every > 0 ? all - all % restart.checkpoint_every : 0;
}

DurationMs lost_work(const Progress& progress, const Restart& restart, TimeMs began, TimeMs now) {
  return std::max<DurationMs>(
      0, worked(progress, restart, began, now) - kept_work(progress, restart, began, now));
}

std::optional<DurationMs> remaining_work(const Progress& progress, const Restart& restart,
                                         std::optional<DurationMs> expected, TimeMs began, TimeMs now) {
  if (!expected) return std::nullopt;
  DurationMs done = progress.done;
  if (began > 0) done = saturating_add(done, worked(progress, restart, began, now));
  return std::max<DurationMs>(0, saturating_sub(*expected, done));
}

std::int64_t attained_service(const Progress& progress, TimeMs now) {
  const Int128 more = static_cast<Int128>(progress.devices) * std::max<DurationMs>(0, now - progress.since);
  return clamp_to_int64(progress.attained + more / 1000);
}

std::int64_t attained_level(const Ordering& ordering, std::int64_t attained) {
  if (ordering.by == OrderBy::kAttained) return attained / ordering.attained_first;
  std::int64_t level = 0;
  for (std::int64_t end = ordering.attained_first; level + 1 < ordering.attained_levels && attained >= end;
       end = saturating_mul(end, ordering.attained_ratio)) {
    ++level;
  }
  return level;
}

std::int64_t seat(const Ordering& ordering, const Progress& progress) {
  if (ordering.by != OrderBy::kAttained && ordering.by != OrderBy::kAttainedLevels) return 0;
  if (progress.promotions == 0) return 0;
  std::int64_t out = ordering.attained_first;
  for (std::int64_t i = 1; i < progress.promotions && out < kInt64Max; ++i) out = saturating_mul(out, 2);
  return out;
}

DurationMs age_limit(const Ordering& ordering, std::optional<DurationMs> expected) {
  constexpr std::int64_t kRunTimes = 2;  // more change little (docs/policies.md)
  const DurationMs limit = ordering.limit();
  return limit == 0 || !expected ? limit : std::max(limit, saturating_mul(*expected, kRunTimes));
}

std::int64_t order_key(const Ordering& ordering, const Progress& progress, const Restart& restart,
                       std::optional<DurationMs> expected, TimeMs began, TimeMs now) {
  switch (ordering.by) {
    case OrderBy::kCreation:
      return 0;
    case OrderBy::kDuration:
      return expected.value_or(kUnknownKey);
    case OrderBy::kRemaining:
      return remaining_work(progress, restart, expected, began, now).value_or(kUnknownKey);
    case OrderBy::kAttained:
    case OrderBy::kAttainedLevels:
      return attained_level(ordering, attained_service(progress, now));
  }
  return 0;
}

}  // namespace berth::engine
