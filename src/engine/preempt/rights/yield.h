// Terms of the search for victims that the orders of candidates share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/preempt/rights/standing.h"
#include "engine/state/state.h"

namespace berth::engine {

// The right by which a workload is evicted. It is also the reason that the user reads.
enum class YieldCause : std::uint8_t {
  kWithinQueue,            // to work of its own queue
  kReclaim,                // borrowed quota goes back to its owner
  kReclaimWhileBorrowing,  // to work of higher priority that borrows itself
  kFairShare,              // to a queue that has less of its share
};

inline ReasonCode reason_of(YieldCause cause) {
  switch (cause) {
    case YieldCause::kWithinQueue:
      return ReasonCode::kPreempted;
    case YieldCause::kReclaim:
      return ReasonCode::kReclaimed;
    case YieldCause::kReclaimWhileBorrowing:
      return ReasonCode::kReclaimedWhileBorrowing;
    case YieldCause::kFairShare:
      return ReasonCode::kReclaimedFairly;
  }
  return ReasonCode::kPreempted;
}

struct Yielder {
  WorkloadId workload;
  YieldCause cause = YieldCause::kWithinQueue;
  bool holder = false;  // only its hold ends
};

// Slots whose eviction gives room and quota back.
inline bool takes_room(const Slot& slot) {
  return (planes_of(slot.state) & kAfterBit) != 0;
}

// The slots of one yielder: its held slots for a hold, else its running ones. Work that runs and also holds room to grow is two
// yielders: its hold goes first.
inline bool gives_room(const Yielder& who, const Slot& slot) {
  return who.holder ? slot.state == SlotState::kHeld
                    : slot.state == SlotState::kBinding || slot.state == SlotState::kRunning;
}

// Frees (-1) or gives back (+1) the room of these slots on the after plane, as a trial.
inline void free_room(State& state, const Yielder& who, int sign) {
  const WorkloadState& w = state.workloads[who.workload.index()];
  for (const auto& set : w.sets) {
    for (const auto& slot : set.slots) {
      if (gives_room(who, slot)) state.accounts.try_charge(charged(w, slot), freed_of(slot.state), sign);
    }
  }
}

// Whether any of these slots is charged to one of the pairs.
inline bool uses_any(const State& state, const Yielder& who, std::span<const FlavorResource> pairs) {
  for (const auto& set : state.workloads[who.workload.index()].sets) {
    for (const auto& slot : set.slots) {
      if (!gives_room(who, slot)) continue;
      for (const QuotaItem& item : state.charges[slot.charge].quota) {
        if (item.amount > 0 && std::find(pairs.begin(), pairs.end(), item.pair) != pairs.end()) return true;
      }
    }
  }
  return false;
}

// The queue and all below it use no more than its own quota of any of the pairs.
inline bool within_own_quota(const QuotaTree& quota, QueueId queue, std::span<const FlavorResource> pairs) {
  return std::none_of(pairs.begin(), pairs.end(),
                      [&](FlavorResource pair) { return quota.borrows(queue, pair); });
}

// The time from which `v`, which runs or holds room in the queue of `w`, may be evicted for `w` by the queue's `within`. 0: now;
// kEndOfTime: time alone never allows it.
TimeMs within_yields_from(const State& state, const InLine& v, const InLine& w);

// whole_of(): a workload that would be evicted as a whole or lose its hold, with the priority of the highest demand band that it
// would lose (state/bands.h). claimant(): a workload that asks for room, with the priority of its request.
InLine whole_of(const WorkloadState& v, bool holder);
InLine claimant(const WorkloadState& w);

// Where only quota is counted, and workloads are evicted as a whole: may `who` be evicted for `w`? Checks the policy of the queue
// of `w` (its `within` in its own queue, else its `reclaim`), minimum runtimes and demand bands. `more_at` falls to the time at
// which that could become true. The caller checks the quota.
bool may_yield(const State& state, const Yielder& who, const WorkloadState& w, TimeMs& more_at);

// Whether the running `v` has run its minimum, or `w` may ignore that. `more_at` as above.
bool ran_its_minimum(const State& state, const WorkloadState& v, const WorkloadState& w, TimeMs& more_at);

// The order among workloads of one class where only quota is counted: by the preemptor's `victims`. There cost and
// lowest-priority-first both mean Kueue's order: lower priority, later start, arrival.
class YieldOrder {
 public:
  YieldOrder(const State& state, VictimOrder order) : state_(state), order_(order) {}
  bool operator()(const Yielder& a, const Yielder& b) const;

 private:
  const State& state_;
  VictimOrder order_;
};

}  // namespace berth::engine
