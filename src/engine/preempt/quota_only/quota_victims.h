// Victims where quota is short: takes candidates in policy order until everything fits. Then, from the last to the first, it gives
// back each candidate that is not needed.
//
//   classic  candidates and attempts of classic_order.h
//   fair     where the queues above share by dominant shares: candidates and turns of fair_order.h
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/preemption (facts in research/kueue.md 1.8 and 1.9).
// Cost: O(queues + candidates log candidates + taken x (fit + queues of the tree)).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/preempt/rights/yield.h"
#include "engine/state/state.h"

namespace berth::engine {

// Whether this queue and those above it share by dominant shares.
bool shares_dominantly(const State& state, QueueId queue);

struct QuotaVictims {
  State& state;
  WorkloadId preemptor;
  std::span<const QuotaItem> request;           // the charges of its start, by pair
  std::span<const FlavorResource> short_pairs;  // the pairs that must be freed
  // Does the preemptor fit now, with the room that was freed? `borrowing`: may it end up above its nominal quota?
  std::function<bool(bool borrowing)> fits;
  TimeMs& more_at;  // falls to the time at which time alone could allow more victims
  // Frees (-1) or gives back (+1) the room of a candidate.
  std::function<void(const Yielder&, int sign)> free;

  // Victims in the order in which they were taken; all room is given back again. None: no candidate may be evicted, or too few.
  std::optional<std::vector<Yielder>> run() const;
  std::optional<std::vector<Yielder>> classic() const;
  std::optional<std::vector<Yielder>> fair() const;

 private:
  void give_back(std::vector<Yielder>& taken, bool borrowing) const;
  void restore(const std::vector<Yielder>& taken) const;
};

}  // namespace berth::engine
