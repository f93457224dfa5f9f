// Demand bands (model/workload.h): the claim with which a pod set asks for more slots, and the rights to evict its slots.
//
// The place of a slot in the bands is its rank among the active slots of its pod set, by index. Example: where slots 0, 2 and 5 are
// active, slot 5 has place 2. The first `least` places are the set's part of the gang and are never evicted alone. The rest is
// surplus and is evicted slot by slot. Without bands the surplus takes free room only, and preempts nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/state/state.h"

namespace berth::engine {

// The band of one place of a pod set.
struct BandView {
  std::int64_t end = 0;       // the first place after it
  std::int64_t priority = 0;  // on top of the workload's
  bool declared = false;      // the workload names it; otherwise it is implied
  bool protected_from_reclaim = false;
  DurationMs reclaim_within = 0;
  std::int64_t cost = 0;  // added to victim_cost() for the loss of one slot
};
// O(bands).
BandView band_at(const PodSetState& set, std::int64_t place);

// True if some of it runs, and no pod set with waiting pods lacks any of its least count: the waiting pods are growth. This also
// holds if another part, without waiting pods, does not run: a claim counts only what could start.
bool grows(const WorkloadState& workload);

// The claim of the next slots that a workload asks for: the highest priority among their bands. If it is open which of its children
// start, it is the lowest priority: a request must not take more than it is worth when it runs.
struct Claim {
  std::int64_t priority = 0;
  DurationMs reclaim_within = 0;  // its room must be free so soon after a decision; 0 = no matter
  bool free_room_only = false;    // growth that no band declares: it preempts nothing
};
Claim claim_of(const WorkloadState& workload);

// The number of further slots that are asked for, per pod set.
enum class Ask : std::uint8_t {
  kLeast,       // without which nothing starts; of growth: one slot
  kClaim,       // the least, and what the band of the claim still has room for, as far as it fits
  kWholeClaim,  // the same, or nothing
  // as kClaim, and surplus of pod sets that have their least, also beside sets that have not: without preemption
  kFree,
};
struct Extent {
  std::int64_t need = 0;
  std::int64_t want = 0;
};
std::vector<Extent> extents_of(const WorkloadState& workload, Ask ask);

// Calls f(slot, index, place) for the active slots of a pod set.
template <class F>
void each_active(const PodSetState& set, F&& f) {
  std::int64_t place = 0;
  for (std::uint32_t i = 0; i < set.slots.size() && place < set.active; ++i) {
    const Slot& slot = set.slots[i];
    if (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) f(slot, i, place++);
  }
}

}  // namespace berth::engine
