// The search for a gang whose members count each other, member by member: any order of the pod sets, and any node for each.
//
// The placer fills one pod set after the other with the nodes that the policy likes best, and domain by domain. Terms between members
// (nodes/counted.h) make that fail where another order of the pod sets, or another node, would do. The first members may take the
// domain in which the others have no room. This search looks at the combinations that the placer leaves out. Members of one pod set are
// alike, so each combination of places is looked at once.
//
// First all members gather in one of the domains that a term lets them choose from, one domain after the other. At last any node may
// be taken. The search is for gangs that the placer found no places for, within one group and without segments.
// Bounds: 512 steps, and a sixteenth of what the workload has left. Each step is one member on one node, and one more for each 64 nodes
// that it looks at. A search that ends there has found nothing, as a heuristic does.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/place/nearness.h"
#include "engine/place/scope.h"
#include "engine/state/state.h"

namespace berth::engine {

class OneByOne {
 public:
  OneByOne(Scope& scope, const Nearness& near, Budget& steps);

  // True: scope.placed has places for the least number of slots of each pod set, and the trial around it holds their charges.
  // False: nothing is changed.
  bool run();
  // Whether it left places out for want of quota: with more, it may find some.
  bool lacked_quota() const { return lacked_quota_; }

 private:
  bool may_help() const;
  bool choose(std::uint32_t set);
  bool leaves_group(std::uint32_t set, ChargeId charge) const;
  bool in_each_domain();
  bool within(std::vector<NodeId> among, std::int64_t steps);
  bool next();
  bool lacks_room(std::uint32_t set);
  bool put_one(std::uint32_t set);
  bool has_quota(const Charge& charge, std::int64_t slots);
  std::vector<NodeId> candidates(std::uint32_t set);
  bool spend();
  CountedId counted(std::uint32_t set) const;
  ShapeIndex& index(std::uint32_t set);

  Scope& scope_;
  const Nearness& near_;
  State& state_;
  Budget& steps_;
  std::int64_t left_;               // of kMostSteps
  std::int64_t floor_ = 0;          // of those, in the present domain
  std::vector<ChargeId> charges_;   // by pod set
  std::vector<std::int64_t> open_;  // by pod set: slots without a place
  std::vector<std::size_t> slots_;  // by pod set: the slots before this one have a place
  std::vector<NodeId> among_;       // the nodes that may be taken; empty: all
  std::set<std::vector<std::uint64_t>> seen_;
  bool lacked_quota_ = false;
};

}  // namespace berth::engine
