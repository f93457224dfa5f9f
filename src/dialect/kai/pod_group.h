// KAI's PodGroup, which its pod grouper makes for each owner of pods.
//
//   subgroups      those without subgroups of their own are the parts of the gang, the others rings of them. Where one needs fewer than
//                  all of its own (minSubGroup), the others follow in turn. One of which no pod is needed counts as there
//   stray pods     a pod whose label names no subgroup of the PodGroup waits. The gang goes on without it.
//   preemptibility as it says; where it says nothing, work of priority 100 or more is no victim
//   staleness      a gang that lost pods which it needs, and has them not again after the grace period, ends. 60 seconds unless it says
//                  otherwise; negative: never
//   elastic        pods beyond the least number preempt and reclaim as the others do, and are the first to go
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

inline constexpr std::int64_t kKaiNoVictim = 100;               // the priority from which work is no victim
inline constexpr DurationMs kKaiStalenessGrace = 60 * kSecond;  // of a PodGroup that does not say

struct KaiPodGroup : GangObject {
  static constexpr Kind kKind = Kind::kKaiPodGroup;
  static const GangSystem kGang;
};

// A subgroup as it is written.
struct KaiSubgroup {
  std::string name;
  std::string parent;                 // "" = the PodGroup itself
  std::int64_t least = 1;             // pods, where it has no subgroups
  std::optional<std::int64_t> parts;  // of its subgroups; none: all
  TopologyRequest topology;
};

// Makes them the parts of the gang. `parts`: how many the PodGroup itself needs. Cost: O(subgroups squared).
void arrange(KaiPodGroup& group, const std::vector<KaiSubgroup>& subgroups,
             std::optional<std::int64_t> parts);

}  // namespace berth::dialect
