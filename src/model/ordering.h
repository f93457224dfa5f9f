// The order of the workloads of a queue, and the order of queues among their siblings. When to choose which: docs/policies.md. The
// decisions: engine/order/ and engine/quota/fairness.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/enums.h"
#include "base/time.h"

namespace berth {

// The order of the workloads of a queue; ties by creation, then arrival.
//   creation         first in, first out
//   duration         shortest expected run time first (SJF); unknown ones after all known ones
//   remaining        shortest expected rest first (SRTF): the expected run time less what is done and kept
//   attained         least attained service first (LAS): device time used so far, in steps
//   attained-levels  the same in a few levels of growing width (two-dimensional LAS, as in Tiresias)
enum class OrderBy : std::uint8_t { kCreation, kDuration, kRemaining, kAttained, kAttainedLevels };
template <>
struct EnumNames<OrderBy> {
  static constexpr std::array names{"creation"sv, "duration"sv, "remaining"sv, "attained"sv,
                                    "attained-levels"sv};
};

// Whether the kind of a workload ranks before its priority.
//   none     priority alone
//   by-kind  services and interactive work above training above batch, whatever their priorities; priority ranks within
enum class Tiers : std::uint8_t { kNone, kByKind };
template <>
struct EnumNames<Tiers> {
  static constexpr std::array names{"none"sv, "by-kind"sv};
};

struct Ordering {
  static constexpr DurationMs kDefaultAgeLimit = 3 * 24 * kHour;

  OrderBy by = OrderBy::kCreation;
  bool priority_first = true;  // false: `by` ranks before priority
  Tiers tiers = Tiers::kNone;
  // Work that has waited this long goes before all others of the same priority, or of the queue if priority is not first. Room is
  // reserved for it until it starts. Work with a known run time waits for twice that, if it is longer. 0: never. Absent: never by
  // creation, else three days.
  std::optional<DurationMs> age_limit;
  // For attained and attained-levels: the width of a step and of the first level, in device-milliseconds. Each further level ends
  // at `attained_ratio` times the end of the one before.
  std::int64_t attained_first = kHour;
  std::int64_t attained_ratio = 8;
  std::int64_t attained_levels = 4;

  // The shortest of any workload of the queue. 0: never.
  DurationMs limit() const {
    return age_limit.value_or(by == OrderBy::kCreation ? DurationMs{0} : kDefaultAgeLimit);
  }

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("by", s.by);
    v("priority_first", s.priority_first);
    v("tiers", s.tiers);
    v("age_limit", s.age_limit);
    v("attained_first", s.attained_first);
    v("attained_ratio", s.attained_ratio);
    v("attained_levels", s.attained_levels);
  }
  bool operator==(const Ordering&) const = default;
};

// The order of the children of a queue. Work that stays within its own quota always goes before work that would borrow.
//   priority          by the priority and creation of their first workloads, as if they were one queue
//   dominant-share    least dominant share of use above the guarantee, by weight (Kueue's fair sharing)
//   guaranteed-share  least part of the guarantee used; beyond the guarantees, as dominant-share
//   decayed-use       least use in the past, by weight; half of it is forgotten every half-life
enum class Sharing : std::uint8_t { kPriority, kDominantShare, kGuaranteedShare, kDecayedUse };
template <>
struct EnumNames<Sharing> {
  static constexpr std::array names{"priority"sv, "dominant-share"sv, "guaranteed-share"sv, "decayed-use"sv};
};

}  // namespace berth
