// Room that is reserved for old work: the nodes, or the domain, where such a workload can start as a whole soonest. Other work
// starts beside that room, and not in it (decide/old_work.h has the rules).
//
// A plan is a list of places for the least count of the workload. If running work must end first, a trial removes the work that is
// expected to end soonest, as little as the workload needs. Expected ends: the stated run time less the time done. If it is
// unknown, the work is expected to run as long again as it has run: long-tailed run times have a rest that grows with age. Services
// end last. Plans never use the room of foreign pods.
//
// A plan stays while its nodes suit, since room that becomes free there adds up. After a sixteenth of the age limit it is made
// anew, for nodes that may be free sooner by then. It is made anew again each time its total age has doubled. So sooner or later a
// plan outlasts the work in it, and the workload starts.
//
// Cost: a plan is O(running slots x log(running workloads)) charges and O(log(running workloads)) searches for places, each bounded
// by the engine's `search_steps`. Looking a plan up is O(its slots).
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
  void keep_only(State& state, std::span<const std::uint64_t> arrivals);
  // The plan of this number; nullptr: it is not in force any more.
  const Reservation* find(std::uint64_t number) const;
  // Goes up with every plan.
  std::uint64_t plans() const { return plans_; }

 private:
  void pin(State& state) const;
  bool still_suits(State& state, const Reservation& r) const;

  std::map<std::uint64_t, Reservation> plans_for_;  // by arrival
  std::uint64_t plans_ = 0;
};

// The expected end of work that runs, or would start now; kEndOfTime: unknown.
TimeMs known_end(const State& state, const WorkloadState& w);

// Charges the room of a reservation, or gives it back, in a trial.
void charge_reserved(State& state, const Reservation& reservation, int sign);

}  // namespace berth::engine
