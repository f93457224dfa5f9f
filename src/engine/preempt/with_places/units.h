// Units of eviction, listed per queue in the order of eviction. A surplus slot of elastic work is one unit; the rest of a workload
// is one unit.
//
// The lists are valid for one decide(), because costs change with time. A new start rebuilds the list of its queue. Units that were
// evicted meanwhile stay in the list; the search skips them. If a slot of an elastic workload was evicted after the list was built,
// its other slots move to different demand bands. renew() recomputes one unit.
//
// Cost of building: O(n) for the started workloads of the queue (and the slots of elastic ones), once; all searches of one decide()
// share it. Only the part that a search reads is sorted: the first eighth at O(n), all of it at O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/state/bands.h"
#include "engine/state/state.h"

namespace berth::engine {

struct Unit {
  WorkloadId workload;
  std::uint64_t arrival = 0;  // of the workload
  TimeMs started = 0;
  std::int64_t priority = 0;
  // Cost of evicting this unit. For a whole: without the surplus units of the same workload, which always go first.
  std::int64_t cost = 0;
  // So many of its pods are beyond their disruption budgets, if it alone goes. For a whole: without its surplus units, as cost.
  std::int64_t beyond = 0;
  std::int64_t standing = 0;  // in line (preempt/rights/standing.h), where that decides
  std::uint32_t set = 0;      // for a surplus slot
  std::uint32_t slot = 0;
  std::int64_t active = 0;  // of its pod set, when it was listed
  bool whole = true;
  bool is_protected = false;  // from other queues
  bool holder = false;        // only its hold ends
};

// Recomputes a surplus slot; false: it is no surplus any more. O(1) if nothing of its pod set was evicted, else O(slots).
bool renew(Unit& unit, const WorkloadState& workload);

// Whether `a` is evicted before `b` in this order. Units with fewer pods beyond their disruption budgets go first, whatever the order
// says, as in the default scheduler. The order is total.
bool yields_before(VictimOrder order, const Unit& a, const Unit& b);

class UnitLists {
 public:
  explicit UnitLists(const State& state) : state_(state) {}

  // Only the first unit is in its place; in_order() sorts the others.
  std::span<const Unit> of(QueueId queue, VictimOrder order);
  // Puts the first `count` of the units that of() gave for this queue in order.
  void in_order(QueueId queue, std::size_t count) {
    if (List& list = lists_[queue.index()]; count > list.sorted) sort(list, count);
  }
  // Among the units of of() for this queue: the most slots of one that runs on several nodes; 1: all run on one node.
  std::int64_t widest(QueueId queue) const { return lists_[queue.index()].widest; }
  // Some of these units are beyond their disruption budgets.
  bool some_beyond(QueueId queue) const { return lists_[queue.index()].some_beyond; }
  // The queues below this root, by id.
  std::span<const QueueId> tree(QueueId root);

 private:
  struct List {
    bool built = false;
    std::uint64_t version = 0;
    VictimOrder order = VictimOrder::kCost;
    std::int64_t widest = 1;
    bool some_beyond = false;
    std::uint64_t budgets = 0;  // the version of the budgets that it was counted with; 0: its pods have none
    std::vector<Unit> units;
    std::size_t sorted = 0;  // so many are in order, and before all others
  };
  void build(QueueId queue, List& list) const;
  void count_beyond(List& list, WorkloadId id) const;
  static void sort(List& list, std::size_t count);

  const State& state_;
  std::vector<List> lists_;  // by queue
  std::vector<std::vector<QueueId>> trees_;
};

}  // namespace berth::engine
