// The actions of the present decide() on each workload. Cost: O(1) per call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "engine/order/sleepers.h"

namespace berth::engine {

class Done {
 public:
  // kBegun: it started, and nothing of it ran before. kSettled: it got a hold, started from one, or grew; it is not evicted before the
  // next decide(). kYielded: it lost slots, or a start.
  enum What : std::uint8_t { kBegun = 1, kSettled = 2, kYielded = 4 };

  void note(WorkloadId id, What what) {
    if (done_.size() <= id.index()) done_.resize(id.index() + 1, 0);
    if (done_[id.index()] == 0) with_some_.push_back(id);
    done_[id.index()] = static_cast<std::uint8_t>(done_[id.index()] | what);
  }
  bool is(WorkloadId id, What what) const {
    return id.index() < done_.size() && (done_[id.index()] & what) != 0;
  }
  // The next decide() begins.
  void forget() {
    for (const WorkloadId id : with_some_) done_[id.index()] = 0;
    with_some_.clear();
  }

 private:
  std::vector<std::uint8_t> done_;  // by workload
  std::vector<WorkloadId> with_some_;
};

}  // namespace berth::engine
