// One attempt of one workload, the first of its class: it starts, or gets a hold, or is parked with its reasons.
//
// The steps, for an assignment of flavors to pod sets (find()):
//   1. start    where there is room now
//   2. stop     if nothing that ends or yields would help: pods are missing, a limit is full, only surplus waits (stops())
//   3. wait     for room that is about to be free and is not pledged, instead of evicting work
//   4. victims  that make room (preempt/with_places/victims.h)
// Each place stands beside what is reserved from the workload (reserved.h).
//
// Three drivers take these steps. with_places(): any flavors, in the order of the queue. try_flavors(): one assignment after the
// other, if the queue does not take the first that fits (FlavorSearch). with_quota(): flavors without known nodes, as Kueue does
// (attempt_quota.cc). Before them take_from_borrowers() gives work within its own quota the room of new borrowers
// (attempt_own.cc).
//
// Work that starts whole if it can is tried in sizes before that (asked_size.h). Where only quota is known, attempt_quota.cc finds the
// largest size instead.
//
// Cost: that of its searches, bounded by the step budget of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/budget.h"
#include "engine/decide/asked_size.h"
#include "engine/decide/decisions.h"
#include "engine/decide/held_room.h"
#include "engine/decide/old_work.h"
#include "engine/decide/reserved.h"
#include "engine/decide/strict_heads.h"
#include "engine/place/placer.h"
#include "engine/plan/plans.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/with_places/units.h"
#include "engine/preempt/with_places/victims.h"
#include "engine/state/state.h"
#include "engine/state/trial.h"

namespace berth::engine {

// The parts of one decide(), which its attempts share.
struct Round {
  Round(State& of, Plans& plans)
      : state(of), lists(of), decisions(of), held(of, decisions), strict(of), old(of, plans, strict) {}

  State& state;
  UnitLists lists;
  Decisions decisions;
  HeldRoom held;
  StrictHeads strict;
  OldWork old;
};

class Attempt {
 public:
  // `took_back`: starts that earlier attempts for it in this decide() have taken back.
  Attempt(Round& round, ClassId id, std::int64_t took_back);
  void run();
  // Starts that it has taken back. If there are any, it decided nothing, and the search begins anew.
  std::int64_t took_back() const { return took_back_; }

 private:
  enum class Way : std::uint8_t { kNone, kStart, kWait, kVictims };
  struct Found {
    Way way = Way::kNone;
    VictimPlan plan;  // its charges are in the trial
    // For kNone: why, and whether victims_ has searched in vain.
    Failure failure;
    TimeMs more_at = kEndOfTime;
    bool searched = false;
  };
  bool may_try();
  bool refuse(ReasonCode code, std::string detail);

  Found find(const Assignment* only);
  std::optional<Failure> own_shortage(const Failure& lacking);
  std::optional<Found> stops(const Failure& lacking);
  std::optional<VictimPlan> search_victims(const Assignment* only);
  Found find_victims(const Assignment* only, const Failure& lacking);
  bool carry_out(const Found& found);
  void with_places();
  // Starts it with so much, or gives it a hold. False: that cannot be.
  bool begins_with(AskedSize::Size size);
  bool try_flavors();
  FlavorRating rate(const Found& found);

  // As it starts within its own queue's quota, in the room of work that started on borrowed quota (attempt_own.cc).
  bool take_from_borrowers();
  bool is_within_own(const Assignment& assignment, const std::vector<std::int64_t>& needs,
                     std::vector<QuotaItem>& asked) const;

  // Where only quota is known (attempt_quota.cc).
  void with_quota();
  bool try_quota(std::span<const std::int64_t> counts, bool only_ask);
  bool try_quota_anyhow(std::span<const std::int64_t> counts, bool only_ask);
  std::optional<VictimPlan> quota_plan(const FlavorChooser& chooser);
  bool hold_quota(std::span<const ChargeId> charges, std::span<const std::int64_t> counts, VictimPlan plan);
  bool start_exactly(std::span<const ChargeId> charges, std::span<const std::int64_t> counts);

  // Runs a placer that make(placer) puts there, beside what is reserved. True: its charges are in the trial.
  template <class Make>
  bool place(std::optional<Placer>& placer, Mode mode, const Make& make) {
    Trial trial(state_);
    kept_out_ = false;
    make(placer);
    if (!placer->run()) return false;
    reserved_.learn(w_, placer->placed(), mode);
    if (reserved_.stands_beside(w_, placer->placed(), mode)) {
      trial.stay();
      return true;
    }
    trial.rollback();
    reserved_.charge_quota(+1);
    reserved_.charge_room(+1);
    make(placer);
    const bool found = placer->run();
    reserved_.charge_room(-1);
    reserved_.charge_quota(-1);
    if (found) trial.stay();
    kept_out_ = !found;
    beside_failed_ = beside_failed_ || kept_out_;
    return found;
  }
  void park(const Failure& failure, const VictimSearch* search, TimeMs more_at = kEndOfTime);
  void tell_reserved(Parked& why, Reason& reason);
  void stand_in_line(const Failure& failure, const VictimSearch* search, Parked& why);
  void tell(Parked why, Reason reason);
  void choose_group(Parked& why) const;

  Round& round_;
  State& state_;
  ClassId class_;
  WorkloadId id_;
  const WorkloadState& w_;
  Budget steps_;
  Reserved reserved_;
  std::optional<VictimSearch> victims_;
  bool kept_out_ = false;       // the last place() found places, but none beside what is reserved
  bool beside_failed_ = false;  // it found room, but none beside what is reserved
  bool own_ended_ = false;      // take_from_borrowers() ended at the bound of its search
  bool flavors_ended_ = false;  // try_flavors() did: it has not shown that other work must yield
  std::int64_t took_back_before_;
  std::int64_t took_back_ = 0;
  TimeMs more_at_ = kEndOfTime;  // of with_quota()
  Budget quota_steps_{0};        // left to it for assignments of flavors
};

}  // namespace berth::engine
