// The limits of the lanes of a leaf (LaneOrder::limits in model/queue.h): the charged amounts of each lane on both planes
// (base/plane.h), and the amounts that are left.
//
// Invariant: no decision brings a lane above a limit. If outside facts did (a limit that shrank, a pod that was there before),
// room() is negative and nothing more starts. Only what is limited is kept.
//
// Costs: add() and room() O(limits of the queue); set() forgets all use, which the owner adds anew.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "engine/quota/tree.h"

namespace berth::engine {

class LaneLimits {
 public:
  bool any() const { return !limits_.empty(); }
  // The most of each pair for every lane alike; pairs are different.
  void set(std::vector<QuotaItem> limits) {
    limits_ = std::move(limits);
    used_.clear();
  }
  const std::vector<QuotaItem>& limits() const { return limits_; }

  void add(std::uint32_t lane, FlavorResource pair, std::int64_t amount, PlaneMask planes) {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i].pair != pair) continue;
      if (lane >= used_.size()) used_.resize(lane + 1);
      used_[lane].resize(limits_.size());
      for (const Plane plane : {kNow, kAfter}) {
        if ((planes & (1u << plane)) != 0) used_[lane][i][plane] += amount;
      }
    }
  }
  // How much more of the pair the lane may have; kInt64Max: it has no limit.
  std::int64_t room(std::uint32_t lane, FlavorResource pair, Plane plane) const {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i].pair != pair) continue;
      const bool known = lane < used_.size() && i < used_[lane].size();
      return limits_[i].amount - (known ? used_[lane][i][plane] : 0);
    }
    return kInt64Max;
  }
  // The same, on all planes that a placement of this mode must fit.
  std::int64_t room(std::uint32_t lane, FlavorResource pair, Mode mode) const {
    const std::int64_t after = room(lane, pair, kAfter);
    return mode == Mode::kStart ? std::min(after, room(lane, pair, kNow)) : after;
  }

 private:
  std::vector<QuotaItem> limits_;
  std::vector<std::vector<std::array<std::int64_t, 2>>> used_;  // by lane, by limit
};

}  // namespace berth::engine
