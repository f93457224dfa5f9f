// What may be ended as one, queue by queue, in the order in which it would be: the surplus slots of elastic work one by one, and
// everything else of a workload as a whole.
//
// The lists hold for one decide(): costs change with time, and new starts make them anew. Who was ended meanwhile is still
// listed; the search leaves it out. Of elastic work of which a slot was ended meanwhile the others stand at other places of the demand
// bands: renew() says what that makes of one. Building one costs O(n) for the started workloads of the queue (and the slots of the
// elastic ones), once; a thousand searches of one decide() share it. Only as much of it is put in order as a search looks at: the
// first eighth at O(n), all of it at O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/bands.h"
#include "engine/core/state.h"

namespace berth::engine {

struct Unit {
  WorkloadId workload;
  std::uint64_t arrival = 0;  // of the workload
  TimeMs started = 0;
  std::int64_t priority = 0;
  // Of the loss of this unit; of a whole, besides the surplus units of the same workload, which always go before it.
  std::int64_t cost = 0;
  std::int64_t standing = 0;  // in line (order/standing.h), where that decides
  std::uint32_t set = 0;      // of a surplus slot
  std::uint32_t slot = 0;
  std::int64_t active = 0;  // of its pod set, when it was listed
  bool whole = true;
  bool is_protected = false;  // from other queues
  bool holder = false;        // only its hold ends
};

// A surplus slot as it stands now; false: it is none any more. O(1) where nothing of its pod set was ended, else O(slots).
bool renew(Unit& unit, const WorkloadState& workload);

// Whose turn it is first under this order; total.
bool yields_before(VictimOrder order, const Unit& a, const Unit& b);

class UnitLists {
 public:
  explicit UnitLists(const State& state) : state_(state) {}

  // The first of them stands in its place; the others do after in_order().
  std::span<const Unit> of(QueueId queue, VictimOrder order);
  // Puts the first `count` of the units that of() gave for this queue in order.
  void in_order(QueueId queue, std::size_t count) {
    if (List& list = lists_[queue.index()]; count > list.sorted) sort(list, count);
  }
  // Of the units that of() gave for this queue, the most slots of one that runs on several nodes; 1: none does.
  std::int64_t widest(QueueId queue) const { return lists_[queue.index()].widest; }
  // The queues below this root, by id.
  std::span<const QueueId> tree(QueueId root);

 private:
  struct List {
    bool built = false;
    std::uint64_t version = 0;
    VictimOrder order = VictimOrder::kCost;
    std::int64_t widest = 1;
    std::vector<Unit> units;
    std::size_t sorted = 0;  // so many are in order, and before all others
  };
  void build(QueueId queue, List& list) const;
  static void sort(List& list, std::size_t count);

  const State& state_;
  std::vector<List> lists_;  // by queue
  std::vector<std::vector<QueueId>> trees_;
};

}  // namespace berth::engine
