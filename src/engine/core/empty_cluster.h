// The same nodes, queues and foreign pods with no work on them: would a workload start if it were alone?
//
// Asked of those who have waited for the age limit of their queue: nothing behind them starts before they do
// (order/pending.h), which must not go on for ever where they never can.
//
// A state of its own, made when the first question comes, so that no index of the live state pays for questions. Making it
// costs O(nodes + queues); afterwards every fact about nodes, topologies, flavors, queues and foreign pods is told to it,
// and a question costs one search for places (place/placer.h), bounded by the engine's `search_steps`. Answers hold until
// State::place_version changes.
//
// Several pod sets find their places one after the other, so an answer is worth something only if they are laid as the live
// state would lay them: nodes have the same ids here, which break ties, and are scored for the same demand mix.
#pragma once

#include "engine/core/state.h"

namespace berth::engine {

class EmptyCluster {
 public:
  explicit EmptyCluster(const State& live);

  // A fact that the live state took; those about work do not matter here.
  void tell(const State& live, const Event& event);

  // Whether a search finds places and quota for the slots that wait, of a workload of which nothing runs. A search that ends
  // at its bound finds none. No change to `live`.
  bool could_start(const State& live, WorkloadId id);

 private:
  void take_names(const State& live);
  void take_mix(const State& live);
  WorkloadId adopt(const State& live, const WorkloadState& from);

  State state_;
  std::uint64_t mix_version_ = 0;  // of the live state's scores
};

}  // namespace berth::engine
