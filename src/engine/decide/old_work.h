// Room for old work. A workload that has waited for the age limit of its queue, and has its turn (order/rank.h), has a reservation.
// It lies on the nodes, or in the domain, where the workload can be whole soonest (plan/reservations.h). Others start beside it.
//
//   which  In each queue the workload that has its turn, tried already or not. In a strict queue only the head, which blocks the
//          rest anyway.
//   from   Work of its queue that stands behind it. Work of other queues that stands behind it across queues, shares left aside,
//          if its quota comes from as far up the tree. And work that borrows from farther up. So work within its own quota never
//          waits for old work that would borrow, and higher priority waits for nothing. Work that is known to end before the room
//          is expected to be free starts in it all the same (backfill).
//   how    Work may start, or hold room, if nodes and quota are enough for it and for all that is reserved from it. Room that is
//          not enough for others adds up until the old work is whole. Work that finds room but for a reservation takes nothing
//          from others: nothing yields for reserved room.
//
// "Goes before" is an order: no two old heads wait for each other.
// Cost: nothing where no workload is old and blocked. Otherwise O(old heads) for each attempt. Work that finds room charges each slot
// that is reserved from it, and searches once more if it does not stand beside them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/decide/strict_heads.h"
#include "engine/plan/plans.h"
#include "engine/state/state.h"

namespace berth::engine {

class OldWork {
 public:
  OldWork(State& state, Plans& plans, StrictHeads& strict) : state_(state), plans_(plans), strict_(strict) {}

  // Asks which old blocked classes could still start: the answer changes with nodes and quota.
  void review();
  // Asks the empty cluster whether the first workload of the class could start there.
  void ask_empty(ClassId id);
  // Drops what the questions have left in the catalog of the empty cluster.
  void forget() {
    if (plans_.empty) plans_.empty->sweep();
  }
  // The aged work of each queue takes turns.
  void give_turns();
  // The reservations that stand against a class that would borrow as far up as `height`.
  std::vector<const Reservation*> reserved_from(ClassId id, std::int64_t height);
  // Wakes classes from which less is reserved than when they were parked.
  void wake_kept_out();

 private:
  struct Head {
    ClassId head;
    WorkloadId workload;
    std::int64_t height = 0;  // borrowing_height()
  };
  bool takes_turn(WorkloadId id);
  bool has_turn(const QueueState& q);
  void give_turn(QueueId queue);
  std::vector<Head> with_turns();
  std::vector<const Reservation*> reservations_of(const std::vector<Head>& heads);

  State& state_;
  Plans& plans_;
  StrictHeads& strict_;
};

}  // namespace berth::engine
