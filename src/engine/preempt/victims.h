// Who must yield: victims and places together, for a workload that fits nowhere as things are.
//
// Who may be a victim, and in what order: candidates.h. What is looked for: the set whose highest rank is lowest (priority;
// of equal priority surplus before whole workloads), of these the one that costs least (cost.h), then the smallest. With
// another order than by cost (PreemptionPolicy::victims) what that order takes first, less whoever is not needed.
//
// Algorithm.
//   1. Take candidates in order, in growing steps, until everything fits, quota and places; the shortest such prefix gives the
//      lowest possible highest rank. From the last to the first, give each one back whose return still leaves a fit.
//   2. The others of that rank and below may do better. Of at most kExact of them the best set is found by trying all that
//      could still be better (branch and bound, at most kExactFits fits). Of more: where nodes are short, node by node, the
//      node first whose next slot costs least (node_prices.h), with as many candidates in order of cost as it takes until none
//      that follows can make a cheaper place; where only quota is, by what each frees for its cost. Then all of them, where
//      they are not many more, or else whoever is in one of these sets, are looked at exactly as above.
//   3. With the places of the preemptor known, whoever can stay beside it stays.
// No victim of the result can be dropped. With a required topology, 2 is done domain by domain.
//
// Where the queues share by their dominant shares, who yields is a matter of turns (fair_order.h): 1 takes them, and gives back
// whoever the others can have their turns without; 2 is left out.
//
// Flavors: the search is done with one assignment of flavors to pod sets after the other (assignments.h), as the queue says
// (FlavorSearch in model/queue.h): the first with which the search ends, else the best of those with a plan. Of those that are as
// good the one whose victims are worth least by the measure above, where `victims` goes by cost; else the first. Where no
// assignment to all pod sets has a plan, those are tried that leave some out, where their groups can do without.
//
// Cost: O(units of the queues that may yield, once per decide()) + O(candidates looked at) + O(log) fits for the prefix + one
// fit for each victim taken, and at most kExactFits more; all bounded by `steps`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/state.h"
#include "engine/place/placer.h"
#include "engine/preempt/assignments.h"
#include "engine/preempt/candidates.h"
#include "engine/preempt/flavor_choice.h"
#include "engine/preempt/units.h"

namespace berth::engine {

struct VictimPlan {
  struct Victim {
    WorkloadId workload;
    bool reclaim = false;  // of another queue
    bool holder = false;   // only its hold ends
    bool whole = true;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> slots;  // pod set and index, of a part
    std::int64_t cost = 0;
    ReasonCode why = ReasonCode::kPreempted;
  };
  std::vector<Victim> victims;     // in the order in which the last of each was taken
  std::vector<PlacedSlot> placed;  // the preemptor's places, once they are gone

  bool takes_from_own_queue() const {
    return std::any_of(victims.begin(), victims.end(), [](const Victim& v) { return !v.reclaim; });
  }
};

class VictimSearch {
 public:
  VictimSearch(State& state, UnitLists& lists, WorkloadId preemptor, std::int64_t& steps);

  // Without a look at any candidate: is there anybody whom the policy could touch? O(1).
  bool could_help() const;
  // Found: the trial holds the freed room of the victims and the charges of the places, all on the after plane.
  // Otherwise rolled back; why_not() says why. `ask` says how much must fit. `only`: in these flavors; nullptr: in any.
  std::optional<VictimPlan> run(Ask ask = Ask::kLeast, const Assignment* only = nullptr);
  const Reason& why_not() const { return why_not_; }
  // After run() found nothing: the first time at which enough work may yield, because it has run its minimum or stands behind in
  // line by then; kEndOfTime: time alone changes nothing.
  TimeMs more_at() const { return more_at_; }

 private:
  using Sequence = std::vector<std::uint32_t>;  // of candidates
  struct Worth {
    std::int64_t priority = 0;
    bool whole = false;
    std::int64_t cost = 0;
    std::size_t evicted = 0;
    std::size_t size = 0;
    auto operator<=>(const Worth&) const = default;
    void add(const Unit& unit);
  };
  struct Exact;

  std::optional<VictimPlan> run_with(const Assignment& assignment);
  std::optional<VictimPlan> run_entitled(const Assignment& assignment);
  std::optional<VictimPlan> run_any();
  void find_wanted();
  bool nodes_are_short();
  bool fits(std::vector<PlacedSlot>* placed = nullptr);
  // The victims in `from`, taken in its order until everything fits, less whoever is not needed. Nothing stays freed.
  std::optional<Sequence> minimal(const std::function<std::uint32_t()>& from);
  std::optional<Sequence> minimal(const Sequence& from);
  bool take_until_fits(const std::function<std::uint32_t()>& from, Sequence& taken);
  void shorten(Sequence& taken, std::size_t too_few);
  Sequence reprieve(const Sequence& taken);
  std::optional<Sequence> reprieve_fairly(const Sequence& taken);
  void undo(const Sequence& taken);
  void improve();
  void exact(const Sequence& pool, std::size_t most_fits);
  void exact_from(Exact& search, std::size_t at, Worth so_far);
  bool may_all_go(Sequence& set);
  bool would_stay_away(const Sequence& set);
  Sequence by_value(const Sequence& among) const;
  Sequence within_domain(const Sequence& among, DomainId domain) const;
  Worth worth(const Sequence& set) const;
  void consider(std::optional<Sequence> found);
  std::optional<VictimPlan> plan_of(const Sequence& victims);
  bool stays_entitled(const Sequence& victims, std::vector<PlacedSlot>& placed);
  FlavorRating rate(const VictimPlan& plan) const;
  void keep_only_needed(Sequence& victims, const std::vector<PlacedSlot>& placed);
  bool fits_beside(const Unit& unit, const std::vector<PlacedSlot>& placed) const;
  TimeMs enough_at();

  State& state_;
  UnitLists& lists_;
  WorkloadId id_;
  const WorkloadState& w_;
  std::int64_t& steps_;
  Ask ask_ = Ask::kLeast;
  Assignment assignment_;  // that is tried
  Wanted wanted_;
  std::optional<Candidates> candidates_;
  std::optional<FairUnits> fair_units_;
  std::optional<FairOrder> fair_;  // of this assignment, where the queues share by their dominant shares
  std::optional<Sequence> best_;
  Worth worth_;                 // of the last plan
  bool some_are_slow_ = false;  // with any assignment
  std::string by_force_;        // why nobody is taken by force, with any assignment
  Reason why_not_;
  TimeMs more_at_ = kEndOfTime;
};

}  // namespace berth::engine
