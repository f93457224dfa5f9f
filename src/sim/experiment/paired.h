// The difference between two variants of an experiment, paired by seed. Both ran the same work with each seed, so the share of the
// seed in a result cancels out. Exact: integers alone.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::sim {

struct PairedDifference {
  std::int64_t pairs = 0;  // 0: no seed has both
  std::int64_t mean = 0;   // rounded to nearest
  // The interval of the mean at 95 % (Student's t with pairs - 1 degrees of freedom), rounded outwards. With fewer than two pairs it
  // is not known: both ends are the mean.
  std::int64_t low = 0;
  std::int64_t high = 0;
  // The interval is known and leaves 0 out, or all pairs differ by the same amount, which is not 0.
  bool clear = false;

  bool known() const { return pairs >= 2; }
};

// The differences of the pairs stand in any order, at most kMostRuns (sim/experiment/experiment.h) of them.
PairedDifference paired_difference(const std::vector<std::int64_t>& differences);

}  // namespace berth::sim
