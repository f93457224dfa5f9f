// The steps that a search may take. Searches are bounded in steps and never in time, so that they end alike on every machine.
// Several searches for one workload share a budget. A search that ended for lack of steps has shown nothing, and says so.
#pragma once

#include <algorithm>
#include <cstdint>

namespace berth::engine {

class Budget {
 public:
  explicit Budget(std::int64_t steps) : left_(steps) {}

  // Takes steps. False: there were not enough, and the budget has ended.
  bool spend(std::int64_t steps = 1) {
    left_ -= steps;
    return left_ >= 0;
  }
  // A step was asked for, and there was none.
  bool ended() const { return left_ < 0; }
  // At least one more step is left.
  bool has_steps() const { return left_ > 0; }
  std::int64_t left() const { return left_; }

  // The search has to stop as if no step were left.
  void end() { left_ = -1; }
  // The result stands although the search ended: no later search counts it as cut short.
  void forgive() { left_ = std::max<std::int64_t>(left_, 0); }
  // At least so many steps, for a search of which the result is known to exist.
  void grant(std::int64_t steps) { left_ = std::max(left_, steps); }

 private:
  std::int64_t left_;
};

}  // namespace berth::engine
