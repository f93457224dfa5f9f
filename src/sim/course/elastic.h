// Elastic jobs: how fast they work with fewer slots than they asked for, and which jobs of a trace are made elastic.
//
// A job's work is its duration times its speed with all slots. With n slots it works at n x efficiency(n). The efficiency is
// a table; between its points it follows a straight line, outside them the nearest point holds. Without a table it is 1: twice
// the slots, half the time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/workload.h"

namespace berth::sim {

struct EfficiencyPoint {
  std::int64_t slots = 1;
  std::int64_t milli = 1000;  // of the speed of one slot alone, per slot; 1 to 1000
  bool operator==(const EfficiencyPoint&) const = default;
};

class Scaling {
 public:
  Scaling() = default;  // linear
  // Points with rising numbers of slots. An error where they do not rise, an efficiency is out of range, or more slots would be
  // slower than fewer.
  static Result<Scaling> table(std::vector<EfficiencyPoint> points);

  // Units of work per millisecond; 0 for no slots.
  std::int64_t speed(std::int64_t slots) const;
  // Empty: linear.
  const std::vector<EfficiencyPoint>& points() const { return points_; }
  bool operator==(const Scaling&) const = default;

 private:
  std::vector<EfficiencyPoint> points_;
};

struct ElasticRules {
  std::int64_t share_milli = 0;    // of the jobs of more than one slot, drawn by the seed and the job's name
  std::int64_t least_milli = 500;  // of each pod set's slots, rounded up, at least one
  std::uint64_t seed = 0;
};

// Whether the rules make this job elastic.
bool made_elastic(const ElasticRules& rules, std::string_view name);
// The same tree with the least counts of the rules; the loss of one pod is then the loss of only that pod.
void make_elastic(const ElasticRules& rules, Group& root);

// Whether some pod set of the tree may run with fewer slots than it asks for.
bool is_elastic(const Group& root);
// Whether these numbers of slots, by pod set, make a whole workload. Every pod set has none or its least, every group none or its
// least number of children, the root at least its own.
bool is_whole(const Group& root, const std::vector<std::int64_t>& slots);
// Which pod sets lose all their slots when each of those marked loses one. A group that is disrupted as one loses everything below
// it if any part is hit. Another group loses only that part.
std::vector<bool> whole_sets_lost(const Group& root, const std::vector<bool>& hit);

}  // namespace berth::sim
