// Finds victims and places together, for a workload that fits nowhere at present.
//
// Possible victims and their order: candidates.h. The search looks for the set with the fewest pods beyond their disruption budgets
// (state/disruptions.h). Among these it takes the one whose highest rank is lowest, then the cheapest (cost.h), then the smallest. Rank is
// priority; at equal priority surplus ranks below whole workloads. With another order than cost (PreemptionPolicy::victims) it takes
// the first in that order, and gives back all that are not needed.
//
// Algorithm.
//   1. Take candidates in order, in growing steps, until everything fits, quota and places. The shortest such prefix gives the
//      lowest possible highest rank. From the last to the first, give back each one whose return still leaves a fit.
//   2. The other candidates of that rank and below may do better. For at most kExact of them, branch and bound tries all sets that
//      could still be better (at most kExactFits fits). For more candidates there are two heuristics. If nodes are short: node by
//      node, the node first whose next slot costs least (node_prices.h), until no later candidate can make a cheaper place. If only
//      quota is short: by freed quota per cost. Then all candidates, if they are few enough, or else the members of these sets, are
//      searched exactly as above.
//   3. With the preemptor's places known, every victim that can stay beside it stays.
// No victim of the result can be dropped. With a required topology, 2 runs domain by domain.
//
// Pods that the preemptor must be near to (required affinity) are no candidates at first. They are where nothing is found without
// them. Others of them may stay near enough, and without any the preemptor may be the first of its kind. Then more victims are not
// always better, so that each node is looked at for itself, as the default scheduler does.
//
// Where the queues share by dominant shares, the turns of fair_order.h decide. 1 takes them, and gives back each victim without
// which the others still have their turns; 2 is left out.
//
// Flavors: the search runs with one assignment of flavors to pod sets after the other (assignments.h), as the queue says
// (FlavorSearch in model/queue.h). It takes the first assignment that ends the search, else the best with a plan. Among equals the
// cheapest victims win if `victims` is cost, else the first assignment. If no full assignment has a plan, assignments that leave
// out some pod sets are tried, if their groups allow it.
//
// Cost: O(units of the queues with possible victims, once per decide()) + O(candidates examined) + O(log) fits for the prefix + one
// fit per victim taken, and at most kExactFits more; all bounded by `steps`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/place/placer.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/with_places/assignments.h"
#include "engine/preempt/with_places/candidates.h"
#include "engine/preempt/with_places/units.h"
#include "engine/state/state.h"

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

// Whether the policy allows any victim at all, without a look at candidates. O(1).
bool may_have_victims(const State& state, const WorkloadState& w);

class VictimSearch {
 public:
  VictimSearch(State& state, UnitLists& lists, WorkloadId preemptor, Budget& steps);

  // On success the trial holds the freed room of the victims and the charges of the places, all on the after plane. Otherwise it is
  // rolled back; why_not() says why. `ask`: how much must fit. `only`: the flavors to use; nullptr: any.
  std::optional<VictimPlan> run(Ask ask = Ask::kLeast, const Assignment* only = nullptr);
  const Reason& why_not() const { return why_not_; }
  // After run() found nothing: the first time at which enough work may be evicted, by its minimum runtime or its place in line.
  // kEndOfTime: time alone changes nothing.
  TimeMs more_at() const { return more_at_; }
  // After run() found nothing: with some victims it would have had its quota, and found no places. A gain of room may change that.
  bool lacked_places() const { return lacked_places_; }

 private:
  using Sequence = std::vector<std::uint32_t>;      // of candidates
  static constexpr std::size_t kMostPool = 50'000;  // candidates that a search node by node looks at
  struct Worth {
    std::int64_t beyond = 0;  // pods beyond their disruption budgets; add() counts each unit for itself
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
  // The victims in `from`, taken in its order until everything fits, without those that are not needed. Nothing stays freed.
  std::optional<Sequence> minimal(const std::function<std::uint32_t()>& from);
  std::optional<Sequence> minimal(const Sequence& from);
  bool take_until_fits(const std::function<std::uint32_t()>& from, Sequence& taken);
  void shorten(Sequence& taken, std::size_t too_few);
  Sequence reprieve(const Sequence& taken);
  Sequence needed_of(Sequence victims, const std::function<bool(const Unit&)>& fits_with);
  std::optional<Sequence> reprieve_fairly(const Sequence& taken);
  void undo(const Sequence& taken);
  void within_budgets();
  bool has_term(bool (*is_one)(const Counted&, CountedId)) const;
  void on_one_node();
  bool has_part(const Unit& unit) const;
  bool stay_in_place(const std::vector<PlacedSlot>& placed) const;
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
  Budget& steps_;
  Ask ask_ = Ask::kLeast;
  Assignment assignment_;  // being tried
  Wanted wanted_;
  std::optional<Candidates> candidates_;
  std::optional<FairUnits> fair_units_;
  std::optional<FairOrder> fair_;  // of this assignment, where the queues share by their dominant shares
  std::optional<Sequence> best_;
  Worth worth_;                 // of the last plan
  bool some_are_slow_ = false;  // with any assignment
  bool lacked_places_ = false;  // the same
  std::string by_force_;        // why it may not borrow by force, with any assignment
  Reason why_not_;
  TimeMs more_at_ = kEndOfTime;
};

}  // namespace berth::engine
