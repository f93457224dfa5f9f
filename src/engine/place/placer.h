// Finds places for one workload: flavors, domains, nodes and devices together. One depth-first search over the steps of its group
// tree. Every group is all or nothing; pod sets above their least count take as many slots as fit.
//
// Choices at each step: the domains of a group with a topology request; the charges of a pod set, in the order of the queue's
// flavors. Last comes leaving the child out, if the group's least count allows. A slot goes to the best node of its shape's index.
// Bounded by `steps`: one per slot placed and per choice tried.
//
// Domains (placer_domains.cc, with the questions of nearness.h). A gang lies in the fewest domains, level by level from the widest down (nodes/fewest.h). This holds
// below a required level, with a preferred level, and without a request if topologies are known. Nodes that are alone in their
// domains are left to the placement policy, unless that level is requested. A required level is tried with each domain in which all
// pod sets together may have room. Each of these searches has a slice of the steps; slices grow from round to round, so that no
// domain is left out. A preference binds no pod: if it leads to no places, the search goes on without it.
//
// The search within one choice is greedy: each slot goes to the best node. That is exact for one shape without domains, and a
// heuristic if several shapes compete for the same nodes. If it finds no places for several pod sets, it runs once more, the pod
// sets with the least spare room first (best fit decreasing, by scarcity). Before that it runs with pod sets that count others in front
// of those that they count, where there are any.
//
// Charges whose nodes are awaited take quota alone. They are in no domain. If a group requests a domain, and every pod set that
// must start may wait for nodes, all of them start so. The domain is chosen when they get their places.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/place/nearness.h"
#include "engine/place/scope.h"
#include "engine/state/state.h"

namespace berth::engine {

struct Failure {
  bool by_quota = false;
  bool by_nodes = false;
  bool steps_ended = false;
  bool never =
      // whatever else runs: decided by the request, not by a search, which examines one part after the other
      false;
  bool of_parts = false;        // too few of its pod sets could start in the empty cluster
  bool of_limit = false;        // it waits only for other work within a limit that binds it (state/limits.h)
  std::vector<Reason> reasons;  // at most 8, in the order found, no two alike
};

// The amount of the pair that one slot charges, in the choice that charges least of it; 0: there is no choice.
std::int64_t least_charge(const State& state, std::span<const ChargeId> choices, FlavorResource pair);
// The mark of one of several pod sets in a reason's detail: its number. "": there is only one.
std::string set_mark(const WorkloadState& w, std::size_t set);
// The reason "pods are missing", counted over the whole workload.
Reason lacks_pods_of(const WorkloadState& w);

// The reason that firm work may have only `room` of the pair where it needs `need`: of the queue whose limit leaves least.
Reason firm_limit_reason(const State& state, const WorkloadState& w, FlavorResource pair, std::int64_t need,
                         std::int64_t room);

class Placer {
 public:
  // `only`: each pod set with this charge alone; nullptr: with all.
  // `ask`: how many slots of each pod set must be placed, and are placed where they fit.
  Placer(State& state, WorkloadId workload, Mode mode, Budget& steps, const Assignment* only = nullptr,
         Ask ask = Ask::kFree);
  using Orders = Scope::Orders;
  Placer(State& state, WorkloadId workload, Mode mode, Budget& steps, Orders orders);
  Placer(const Placer&) = delete;

  // `look` is called when a pod set finds too little room for its least count on all nodes. At that time the trial holds the
  // charges of earlier pod sets, and none of its own. It may look, and must not charge.
  void watch(std::function<void(std::uint32_t set, ChargeId charge)> look) { watch_ = std::move(look); }

  // True: the trial holds the charges of placed(). False: rolled back, failure() says why.
  bool run();
  // Asks only whether there are places: preferred domains are ignored.
  void without_preferences() { scope_.preferences = false; }
  const std::vector<PlacedSlot>& placed() const { return scope_.placed; }
  const Failure& failure() const { return failure_; }

  // A necessary condition for run(), cheap: every pod set that must start has some choice with quota and enough room.
  bool may_fit();

 private:
  struct OfGroup {
    DomainId chosen;           // while its children are placed
    bool roomy = false;        // some domain had room, and quota was short
    std::int64_t done = 0;     // children started
    std::int64_t skipped = 0;  // children left out
  };

  bool lacks_pods();
  bool lacks_flavors();
  bool search();
  void acquit();
  using SortKey = std::pair<std::int64_t, std::int64_t>;
  // The orders of `walk_` that are tried next. False: it is the same as before.
  bool counting_first();
  bool scarcest_first();
  bool reorder(std::span<const SortKey> keys);
  bool put_off();
  bool walk(std::size_t step);
  bool enter(std::size_t step);
  bool leaf(std::size_t step);
  bool leave(std::size_t step);
  bool skip(std::size_t step);
  bool spend();
  bool ended() const { return failure_.steps_ended || slice_ended_; }

  // Domains: placer_domains.cc.
  bool in_domain(std::size_t step, std::uint32_t level);
  bool together(std::size_t step);
  void forget_since(const Failure& before);
  bool in_fewest(std::size_t step);
  bool try_each(std::size_t step, std::vector<DomainId> domains, bool required);

  // Slots: placer_slots.cc.
  std::int64_t place_slots(std::uint32_t set, ChargeId charge, std::int64_t least, std::int64_t want);
  std::int64_t within_quota(std::uint32_t set, const Charge& c, std::int64_t least, std::int64_t want);
  std::int64_t place_segments(std::uint32_t set, ChargeId charge, std::int64_t least, std::int64_t count);
  DomainId segment_domain(std::uint32_t set, ChargeId charge, std::uint32_t level, std::int64_t part,
                          std::int64_t& best) const;
  std::int64_t place_near(std::uint32_t set, ChargeId charge, std::int64_t count, std::size_t& next_slot);
  std::vector<DomainId> order_of(std::uint32_t set, ChargeId charge, std::int64_t count);
  std::int64_t place_among(std::uint32_t set, ChargeId charge, std::int64_t count, std::vector<NodeId> among,
                           std::size_t& next_slot);
  std::int64_t place_anywhere(std::uint32_t set, ChargeId charge, std::int64_t count, std::size_t& next_slot);
  void note_quota(std::uint32_t set, const Charge& charge, std::int64_t slots);
  std::int64_t given_before(FlavorResource pair) const;
  std::int64_t asked_later(std::uint32_t set, FlavorResource pair);
  void note(Reason reason);

  Scope scope_;
  Nearness near_{scope_};
  // The same as in scope_.
  State& state_;
  const WorkloadState& w_;
  const Structure& structure_;
  Mode mode_;
  Budget& steps_;
  std::span<const Step> walk_;   // the steps of the structure, in the order in which they are taken
  std::vector<Step> reordered_;  // they, where that is not the structure's own order
  std::vector<OfGroup> groups_;
  // The domains that the group `plan_of_` fills in this order; empty: each pod set finds its own.
  std::vector<DomainId> plan_;
  std::uint32_t plan_of_ = 0;
  std::int64_t floor_ = 0;  // of the steps, in the present slice
  bool slice_ended_ = false;
  Failure failure_;
  bool lacks_room_ = false;  // the last call of place_slots() found too few nodes
  std::function<void(std::uint32_t, ChargeId)> watch_;
};

}  // namespace berth::engine
