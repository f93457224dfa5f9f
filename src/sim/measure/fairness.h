// The share that each queue held against the share that it deserved, over a run. It is a second opinion: computed from the run's
// time series alone, not by the engine.
//
// The share that a queue deserves of G GPUs, at a time when its demand is d (its use plus the demand of its waiting jobs). The tree
// is walked from its roots. At each level the queues first get their guarantees (nominal quota of the queue and those below it), up
// to their demand. The rest goes to queues with more demand, in proportion to their weights. This is water-filling: no queue gets
// more than it asks for or may borrow, and the rest of one goes to the others. This is max-min fairness with guarantees (Ghodsi et
// al., NSDI 2011, for one resource).
//
// The index of a moment is Jain's (sum x)^2 / (n sum x^2) over x = held / deserved of the queues that deserve something. It is 1 if
// all get the same part of what they deserve, and 1/n if one gets everything (Jain, Chiu, Hawe 1984). Both are taken of the means
// of each bin of the series; so short unfairness evens out within one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/time.h"
#include "sim/replay/replay.h"
#include "sim/scenario/input.h"

namespace berth::sim {

// A claimant in a division.
struct Claim {
  std::int64_t weight = 1;  // not negative; weight 0 gets nothing
  std::int64_t most = 0;    // what it asks for
};
// Divides `amount` in proportion to the weights, none more than `most`, rounded down; the rest of rounding is not given. O(n log
// n).
std::vector<std::int64_t> fill_by_weight(std::int64_t amount, std::span<const Claim> claims);

// Per leaf queue, in the order of Outcome::leaves; amounts in GPU-milliseconds x 1000.
struct QueueFairness {
  std::vector<std::int64_t> deserved;  // per bin of the series, GPU milli
  Int128 held_milli_ms = 0;
  Int128 deserved_milli_ms = 0;
  Int128 below_share_milli_ms = 0;      // where it held less than it deserved
  Int128 below_guarantee_milli_ms = 0;  // where it held less of its guarantee than it asked for
};

struct Fairness {
  std::vector<QueueFairness> queues;
  std::vector<std::int64_t> index_milli;  // per bin; 1000 where there is no demand
  std::int64_t index_mean_milli = 1000;   // over the time in which any queue deserved something
};

// O(bins x queues log queues).
Fairness fairness_of(const Input& input, const Outcome& outcome);

}  // namespace berth::sim
