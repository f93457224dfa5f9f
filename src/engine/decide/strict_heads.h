// Reserves quota for the blocked head of a strict queue against work behind it in other queues of its tree, if its queue could not
// reclaim that quota. Otherwise others would borrow it again and again, and a strict queue without reclaim would starve.
//
//   holder   The first of a strict queue, below a parent, that may not reclaim any borrowed quota (Reclaim::kAny), while it lacks
//            quota that it could have, whatever else it lacks. Not below a queue whose children share by decayed use, because their
//            order changes with time.
//   amount   Each pair of its least charge. If it would not borrow: what is left of its queue's own nominal quota, as much as it
//            needs. If it would: all of it, up to its borrowing limit. Only the part that is available now.
//   against  Work behind it in the order across queues, not work in front. Such work starts, or holds room, only with the quota
//            that is left, and with the room of its own victims. Nothing is evicted to free reserved quota.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/scheduler.go (reserveCapacityForUnreclaimablePreempt, quotaResourcesToReserve).
// There every head reserves it for the cycle in which it is examined, and the head of a strict queue is examined in every cycle.
// The reservation of a BestEffortFIFO head, for one cycle only, is left out here. Kueue also reserves quota in use, so others may
// not even replace their own work.
// Cost: nothing for work that lacks quota anyway, which most waiting work does. For work that would start or hold room, O(keepers
// of its tree), and O(items x depth) for those that reserve; after a change of use the same for each class that is kept out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/state/state.h"

namespace berth::engine {

// Quota of one pair that is reserved for the head of a queue.
struct Kept {
  QueueId queue;
  WorkloadId by;
  FlavorResource pair;
  std::array<std::int64_t, 2> amount{};  // by plane

  void charge(State& state, int sign) const;
};

class StrictHeads {
 public:
  explicit StrictHeads(State& state) : state_(state) {}

  // The first class of a strict queue, tried already or not.
  ClassId head_of(QueueId queue);
  // All that is reserved from a class that would borrow as far up as `height`.
  std::vector<Kept> reserved_from(ClassId id, std::int64_t height);
  // Wakes classes from which less is reserved than when they were parked.
  void wake_kept_out();

 private:
  const Asked& asked_by_head(ClassId head);
  bool goes_before(ClassId a, std::int64_t a_height, ClassId b, std::int64_t b_height);

  State& state_;
};

}  // namespace berth::engine
