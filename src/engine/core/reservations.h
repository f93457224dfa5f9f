// Room that old work waits for: the nodes, or the domain, where a workload that has waited for its queue's age limit can be
// whole soonest. Others start beside that room, and not in it (decide_reserve.cc says which others).
//
// A plan is a list of places for the least that the workload may start with. Where running work must end first, that which is
// expected to end soonest is taken away in a trial, as little of it as the workload needs to find its places. Expected ends:
// the run time as it was told, less what is done; where it is not known, as long again as the work has run (of run times with
// a long tail the expected rest grows with the age). Services end last. The room of foreign pods is never planned with.
//
// A plan stays while its nodes suit, since room that others leave in it adds up there. It is made anew, for nodes that may be
// free sooner by then, after a sixteenth of the age limit, and then each time when the plans have lasted as long again. So a plan
// outlasts what runs in it sooner or later, and the workload starts.
//
// Cost: a plan is O(running slots x log(running workloads)) charges and O(log(running workloads)) searches for places, each
// bounded by the engine's `search_steps`. Looking a plan up is O(its slots).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/place/placer.h"

namespace berth::engine {

struct Reservation {
  WorkloadId workload;
  std::uint64_t arrival = 0;          // of the workload: ids are used again
  std::uint64_t number = 0;           // of the plan; no two plans have the same
  std::vector<PlacedSlot> placed;     // empty: there is no room for it beside the reservations that go before
  TimeMs at = 0;                      // when the room is expected to be free
  std::vector<std::uint64_t> beside;  // the numbers of the plans that went before
  std::uint64_t place_version = 0;
  TimeMs since = 0;  // of the first plan
  TimeMs renew_at = 0;
};

class Reservations {
 public:
  // The reservation of a workload, planned beside `others`, which go before it. The trial must be empty, and is left empty.
  const Reservation& plan(State& state, WorkloadId id, std::span<const Reservation* const> others);
  // The plan that stands; nullptr: one is due.
  const Reservation* standing(State& state, WorkloadId id, std::span<const Reservation* const> others) const;
  // Forgets all plans but those of the workloads with these arrivals, ascending.
  void keep_only(std::span<const std::uint64_t> arrivals);
  // The plan of this number; nullptr: it is not in force any more.
  const Reservation* find(std::uint64_t number) const;
  // Goes up with every plan.
  std::uint64_t plans() const { return plans_; }
  // The choices of flavors that plans refer to stay in the catalog.
  template <class F>
  void each_charge(F&& f) const {
    for (const auto& [arrival, reservation] : plans_for_) {
      for (const PlacedSlot& p : reservation.placed) f(p.charge);
    }
  }

 private:
  bool still_suits(State& state, const Reservation& r) const;

  std::map<std::uint64_t, Reservation> plans_for_;  // by arrival
  std::uint64_t plans_ = 0;
};

// When work is expected to end that runs, or would start now; kEndOfTime: that is not known.
TimeMs known_end(const State& state, const WorkloadState& w);

// Charges the room of a reservation, or gives it back, in a trial.
void charge_reserved(State& state, const Reservation& reservation, int sign);

}  // namespace berth::engine
