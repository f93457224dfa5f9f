// One round of decisions over the state, in this order:
//   1. withdrawals and drains
//   2. held work whose room has become free
//   3. work that has quota and whose nodes have come
//   4. pending work in its order: each is started, or gets a hold (with victims), or is parked with its reasons (attempt.h)
//   5. the end of gangs that lack slots for too long (Workload::broken_for)
// until nothing more changes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/decide/attempt.h"
#include "engine/plan/plans.h"
#include "engine/state/state.h"

namespace berth::engine {

class Decider {
 public:
  Decider(State& state, Plans& plans) : state_(state), round_(state, plans) {}
  std::vector<Decision> run();

 private:
  void end_withdrawn();
  void drain_stopped();
  bool end_broken();  // whether it ended a gang
  // Finds places for work that has quota alone and no longer awaits nodes, in its flavors: all slots at once, if there is room.
  // Comes before all other work, and preempts nothing.
  void place_awaited();
  // Records why place_awaited() found no places for `id`.
  void tell_no_places(WorkloadId id, const Failure& failure);
  void wake();
  std::optional<std::vector<CountedCrossing>> new_crossings();
  bool let_pass();
  void attempt(ClassId id);
  void stand_in_front_again();

  State& state_;
  Round round_;
};

}  // namespace berth::engine
