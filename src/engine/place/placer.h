// Finds places for one workload: flavors, domains, nodes and devices together, in one depth-first search over the steps of
// its group tree. All or nothing at every group; pod sets above their least count take what fits.
//
// Choices at each step, in this order: at a group with a topology request its domains, the tightest sufficient one first
// (preferred: from the asked level outwards, then no restriction); at a pod set its charges in the order of the queue's
// flavors; at the end, leaving the child out where the group's least count allows. A slot goes to the best node of its
// shape's index. Bounded by `steps`: one per slot placed and per choice tried.
//
// Not exhaustive within a choice: slots of one choice go greedily to the best node, which is exact for one shape without
// domains, and a heuristic where several shapes compete for the same nodes. Where that finds no places for several pod sets,
// they are looked for once more with the pod sets first for which there is least room to spare (best fit decreasing, by what
// is scarce instead of by size).
//
// Charges whose nodes are awaited take quota alone. They are in no domain: where a group asks for one, and every pod set that
// must start may wait for nodes, it starts so with all of them, and the domain is chosen when it gets its places.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bands.h"
#include "engine/core/state.h"

namespace berth::engine {

struct PlacedSlot {
  std::uint32_t set = 0;
  std::uint32_t slot = 0;
  NodeId node;
  ChargeId charge;
  std::uint64_t devices = 0;
};

struct Failure {
  bool by_quota = false;
  bool by_nodes = false;
  bool steps_ended = false;
  bool never =
      false;  // whatever else runs: decided by who asks, not by a search, which looks at one part after the other
  bool of_parts = false;  // too few of its pod sets could start if nothing else were there
  bool of_lane = false;   // it waits for other work of its own lane, and for nothing that anybody else has
  std::vector<Reason> reasons;  // at most 8, in the order found, no two alike
};

// What one slot charges of the pair in the choice that charges least of it; 0: there is no choice.
std::int64_t least_charge(const State& state, std::span<const ChargeId> choices, FlavorResource pair);
// How a reason names one of several pod sets: the number of the set, in its detail. "": there is only one.
std::string set_mark(const WorkloadState& w, std::size_t set);
// That pods are missing, counted over the whole workload.
Reason lacks_pods_of(const WorkloadState& w);
// Whether every resource that both charge is charged to one flavor.
bool same_flavors(const State& state, ChargeId a, ChargeId b);
// How more slots of a pod set may be charged (State::choices): sets of one flavor group only like those that have a place.
std::vector<ChargeId> choices_of(State& state, const WorkloadState& w, std::size_t set);
// One of these for each pod set; not valid: it gets none (preempt/assignments.h).
using Assignment = std::vector<ChargeId>;

class Placer {
 public:
  // `only`: each pod set with this charge alone; nullptr: with all.
  // `ask`: how many slots of each pod set must be placed, and are placed where they fit.
  Placer(State& state, WorkloadId workload, Mode mode, std::int64_t& steps, const Assignment* only = nullptr,
         Ask ask = Ask::kFree);
  // Only as told, by pod set: this charge for exactly so many slots (0: none of them).
  struct Orders {
    std::span<const ChargeId> charges;
    std::span<const std::int64_t> counts;
  };
  Placer(State& state, WorkloadId workload, Mode mode, std::int64_t& steps, Orders orders);

  // Called where a pod set finds too little room for its least on all nodes, with what was placed before it charged in the trial,
  // and nothing of its own. It may look, and must not charge.
  void watch(std::function<void(std::uint32_t set, ChargeId charge)> look) { watch_ = std::move(look); }

  // True: the trial holds the charges of placed(). False: rolled back, failure() says why.
  bool run();
  const std::vector<PlacedSlot>& placed() const { return placed_; }
  const Failure& failure() const { return failure_; }

  // A necessary condition for run(), cheap: every pod set that must start has some choice with quota and enough room.
  bool may_fit();

 private:
  bool lacks_pods();
  bool lacks_flavors();
  bool search();
  void acquit();
  bool scarcest_first();
  bool put_off();
  void set_steps(std::vector<Step> steps);
  bool walk(std::size_t step);
  bool enter(std::size_t step);
  bool leaf(std::size_t step);
  bool leave(std::size_t step);
  bool skip(std::size_t step);
  bool in_domain(std::size_t step, std::uint32_t level, std::size_t most);
  std::int64_t place_slots(std::uint32_t set, ChargeId charge, std::int64_t least, std::int64_t want);
  bool place_some(std::uint32_t set, ChargeId charge, std::int64_t count, std::size_t& next_slot);
  NodeId best_node(ShapeIndex& index) const;
  bool in_segments(std::uint32_t set) const;
  std::int64_t room(const ShapeIndex& index) const;
  std::int64_t room_within(const ShapeIndex& index, DomainId domain) const;
  std::vector<ChargeId> choices(std::uint32_t set);
  void note_quota(std::uint32_t set, const Charge& charge, std::int64_t slots);
  std::int64_t given_before(FlavorResource pair) const;
  std::int64_t asked_later(std::uint32_t set, FlavorResource pair);
  std::int64_t must(std::uint32_t set) const { return extents_[set].need; }
  void note(Reason reason);

  State& state_;
  const WorkloadState& w_;
  const Structure& structure_;
  Mode mode_;
  std::int64_t& steps_;
  Orders orders_;                // empty: none
  std::vector<Extent> extents_;  // by pod set
  Assignment only_;              // empty: all charges
  std::vector<Step> walk_;       // the steps of the structure, in the order in which they are taken
  std::vector<PlacedSlot> placed_;
  std::vector<DomainId> domains_;      // restrictions in force, outermost first
  std::vector<DomainId> chosen_;       // by group, while its children are placed
  std::vector<char> roomy_;            // by group: some domain had room, and quota was short
  std::vector<std::int64_t> done_;     // children started, by group
  std::vector<std::int64_t> skipped_;  // children left out, by group
  std::vector<std::size_t> past_;      // by step: the step after the matching exit
  bool put_off_ = false;               // where the nodes are awaited, so that no domain can be chosen yet
  Failure failure_;
  bool lacks_room_ = false;  // the last call of place_slots() found too few nodes
  std::function<void(std::uint32_t, ChargeId)> watch_;
};

}  // namespace berth::engine
