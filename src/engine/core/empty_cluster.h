// The same nodes, queues and foreign pods with no work on them: would a workload start if it were alone?
//
// Asked of those who have waited for the age limit of their queue: nothing behind them starts before they do
// (order/pending.h), which must not go on for ever where they never can.
//
// A state of its own, made when the first question comes, so that no index of the live state pays for questions. Making it
// costs O(nodes + queues); afterwards every fact about nodes, topologies, flavors, queues and foreign pods is told to it,
// and a question costs one search for places (place/placer.h), bounded by the engine's `search_steps`. Answers hold until
// State::place_version changes.
#pragma once

#include "engine/core/state.h"

namespace berth::engine {

class EmptyCluster {
 public:
  explicit EmptyCluster(const State& live);

  // A fact that the live state took; those about work, and about its demand, do not matter here.
  void tell(const Event& event);

  // Whether a search finds places and quota for the slots that wait, of a workload of which nothing runs. A search that ends
  // at its bound finds none. No change to `live`.
  bool could_start(const State& live, WorkloadId id);

 private:
  WorkloadId adopt(const State& live, const WorkloadState& from);

  State state_;
};

}  // namespace berth::engine
