// The same nodes, queues and foreign pods without any work: would a workload start if it were alone?
//
// Used for workloads that have waited for the age limit of their queue. Nothing behind them starts before they do
// (order/pending.h). That must not last for ever for a workload that can never start.
//
// It is a state of its own, made for the first question, so that no index of the live state pays for questions. Making it costs
// O(nodes + queues). Afterwards it takes every fact about nodes, topologies, flavors, queues and foreign pods. A question costs one
// search for places (place/placer.h), bounded by the engine's `search_steps`. Answers hold until State::place_version changes.
//
// Several pod sets find their places one after the other. So an answer is useful only if places are chosen as in the live state.
// Nodes have the same ids here (they break ties), and the same demand mix scores them.
#pragma once

#include "engine/state/state.h"

namespace berth::engine {

class EmptyCluster {
 public:
  explicit EmptyCluster(const State& live);

  // Takes a fact that the live state took. Facts about work are ignored.
  void tell(const State& live, const Event& event);

  // Whether a search finds places and quota for the slots that wait, of a workload of which nothing runs. A search that ends
  // at its bound finds none. No change to `live`.
  bool could_start(const State& live, WorkloadId id);

  // Drops what questions have left.
  void sweep() { state_.sweep_now(); }

 private:
  void take_names(const State& live);
  void take_mix(const State& live);
  WorkloadId adopt(const State& live, const WorkloadState& from);

  State state_;
  std::uint64_t mix_version_ = 0;  // of the live state's scores
};

}  // namespace berth::engine
