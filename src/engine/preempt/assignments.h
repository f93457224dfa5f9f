// The ways to give each pod set of a workload one of its flavors, one after the other: what a search with one flavor per pod set
// looks at (victims.h, Decider::try_flavors, decide_quota.cc).
//
// Order: lexicographic by pod set, each in the order of its choices (State::choices): of the first pod set its first choice, with
// all choices of the others, then its second. Pod sets of one flavor group have the same flavors. A choice is left out where it
// leads nowhere whatever ends: the quota that the queue could ever have is too small for the pod set (or for all that share the
// pair), or the nodes that its constraints allow could not host so many slots if nothing ran. Where each pod set has one choice at
// most there is one assignment, and it is not judged.
//
// `leaving_out`: instead, those in which some pod sets get nothing, because their group may do without them.
//
// Cost: a step for each choice that is looked at; once O(nodes) for each choice that too few nodes allow.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/state.h"
#include "engine/place/placer.h"

namespace berth::engine {

class Assignments {
 public:
  // `needs`: by pod set, the slots without which it does not start; 0: it is not judged by that.
  Assignments(State& state, const WorkloadState& workload, std::vector<std::int64_t> needs,
              std::int64_t& steps, bool leaving_out = false);

  // Some pod set has a choice.
  bool several() const { return several_; }
  // The next one, valid until the next call; nullptr: there is none, or the steps have ended.
  const Assignment* next();

 private:
  bool could_have(std::size_t set, ChargeId choice);
  bool goes_with_those_before(std::size_t set) const;
  bool is_enough() const;

  State& state_;
  const WorkloadState& w_;
  std::vector<std::int64_t> needs_;
  std::int64_t& steps_;
  bool leaving_out_;
  bool several_ = false;
  bool begun_ = false;
  std::vector<std::vector<ChargeId>> options_;  // by pod set; not valid: it is left out
  std::vector<std::size_t> at_;                 // into options_
  Assignment picked_;
};

// The slots without which each pod set does not start.
std::vector<std::int64_t> needs_of(const WorkloadState& workload, Ask ask);

}  // namespace berth::engine
