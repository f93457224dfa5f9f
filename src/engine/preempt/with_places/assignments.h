// Enumerates the assignments of one flavor to each pod set of a workload. Searches with one flavor per pod set use it (victims.h,
// decide/attempt.h).
//
// Order: lexicographic by pod set, each in the order of its choices (State::choices). Pod sets of one flavor group have the same
// flavors. Choices that cannot work in the empty cluster are left out. There the queue's largest possible quota, or the nodes that
// the constraints allow, are too small for the pod set (or for all that share the pair). If each pod set has at most one choice,
// there is one assignment, without these checks.
//
// `leaving_out`: instead, the assignments in which some pod sets get nothing, because their group may do without them.
//
// Cost: a step for each choice examined; once O(nodes) for each choice that too few nodes allow.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/budget.h"
#include "engine/place/placer.h"
#include "engine/state/state.h"

namespace berth::engine {

class Assignments {
 public:
  // `needs`: by pod set, the slots without which it does not start; 0: not checked.
  Assignments(State& state, const WorkloadState& workload, std::vector<std::int64_t> needs, Budget& steps,
              bool leaving_out = false);

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
  Budget& steps_;
  bool leaving_out_;
  bool several_ = false;
  bool begun_ = false;
  std::vector<std::vector<ChargeId>> options_;  // by pod set; not valid: left out
  std::vector<std::size_t> at_;                 // into options_
  Assignment picked_;
};

// The slots without which each pod set does not start.
std::vector<std::int64_t> needs_of(const WorkloadState& workload, Ask ask);

}  // namespace berth::engine
