// Demand bands (model/workload.h): with what claim a pod set asks for more slots, and who may take which away.
//
// A slot's place in the bands is its rank among the active slots of its pod set, by index: where slots 0, 2 and 5 are active,
// 5 has place 2. The first `least` places are the set's part of the gang and never yield alone; the rest is surplus and
// yields slot by slot. Without bands the surplus takes free room only, and nobody is ended for it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/state.h"

namespace berth::engine {

// The band of one place of a pod set.
struct BandView {
  std::int64_t end = 0;       // the first place after it
  std::int64_t priority = 0;  // on top of the workload's
  bool declared = false;      // the workload names it; otherwise it is implied
  bool protected_from_reclaim = false;
  DurationMs reclaim_within = 0;
  std::int64_t cost = 0;  // of the loss of one slot, besides what victim_cost() reckons
};
// O(bands).
BandView band_at(const PodSetState& set, std::int64_t place);

// Some of it runs, and no pod set of which pods wait lacks any of its least: what waits are more slots. So also where another part, of
// which no pods wait, does not run: a claim goes by what could start.
bool grows(const WorkloadState& workload);

// What stands behind the next slots that a workload asks for: the highest priority among their bands. Where it is open which of
// its children start, the lowest: it must not take more by what it asks for than it would be worth as it runs.
struct Claim {
  std::int64_t priority = 0;
  DurationMs reclaim_within = 0;  // its room must be free so soon after a decision; 0 = no matter
  bool free_room_only = false;    // growth that no band declares: nobody yields to it
};
Claim claim_of(const WorkloadState& workload);

// How many more slots of each pod set are asked for.
enum class Ask : std::uint8_t {
  kLeast,       // without which nothing starts; of growth: one slot
  kClaim,       // the least, and what the band of the claim still has room for, as far as it fits
  kWholeClaim,  // the same, or nothing
  kFree,  // as kClaim, and surplus of those that have their least beside others that do not: where nobody yields
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
