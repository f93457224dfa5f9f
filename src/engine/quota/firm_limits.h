// Limits of work that is not preemptible (firm work), per queue and pair (Quota::firm_limit in model/queue.h). A limit of a queue counts
// the firm work of that queue and of all below it, on both planes (base/plane.h).
//
// Nothing can be evicted to make room within such a limit: all that counts there is firm. So work beyond it waits until other firm work
// ends. Limits of lanes are alike (lane_limits.h).
//
// Invariant: no decision brings firm work above a limit. If outside facts did (a limit that shrank, a pod that was there before), room()
// is negative and no more of it starts.
//
// Costs: add() and room() O(depth); set() forgets all use, which the owner adds anew.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/quota/tree.h"

namespace berth::engine {

class FirmLimits {
 public:
  struct Limit {
    QueueId queue;
    FlavorResource pair;
    std::int64_t amount = 0;
    bool operator==(const Limit&) const = default;
  };

  // Takes the limits, and the parent of each queue. False: nothing has changed. True: no slot counts until it is added anew.
  bool set(std::vector<QueueId> parents, std::size_t pairs, std::vector<Limit> limits);
  // Whether a limit of this queue, or of one above it, counts its firm work.
  bool bind(QueueId queue) const { return widest(queue).valid(); }
  // The highest of these queues; not valid: there is none.
  QueueId widest(QueueId queue) const {
    return queue.index() < widest_.size() ? widest_[queue.index()] : QueueId();
  }

  void add(QueueId queue, FlavorResource pair, std::int64_t amount, PlaneMask planes);
  // How much more of the pair firm work of this queue may have; kInt64Max: there is no limit.
  std::int64_t room(QueueId queue, FlavorResource pair, Plane plane) const;
  // The same, on all planes that a placement of this mode must fit.
  std::int64_t room(QueueId queue, FlavorResource pair, Mode mode) const {
    const std::int64_t after = room(queue, pair, kAfter);
    return mode == Mode::kStart ? std::min(after, room(queue, pair, kNow)) : after;
  }
  // The queue, from this one up, whose limit leaves the least room; of several the lowest. Only where there is a limit.
  QueueId tightest(QueueId queue, FlavorResource pair, Mode mode) const;

  const std::vector<Limit>& limits() const { return limits_; }
  // The charged amount that a limit counts.
  std::int64_t used(const Limit& limit, Plane plane) const {
    return cell(limit.queue, limit.pair).used[plane];
  }

 private:
  struct Cell {
    std::int64_t limit = -1;  // negative: none
    std::array<std::int64_t, 2> used{};
  };
  const Cell& cell(QueueId queue, FlavorResource pair) const {
    return cells_[queue.index() * pairs_ + pair.index()];
  }
  // Calls f(queue, cell) for each limit that counts firm work of this queue, from the lowest up.
  template <class Self, class F>
  static void each(Self& self, QueueId queue, FlavorResource pair, F&& f) {
    if (!self.bind(queue) || pair.index() >= self.pairs_) return;
    for (QueueId at = queue; at.valid(); at = self.parents_[at.index()]) {
      auto& c = self.cells_[at.index() * self.pairs_ + pair.index()];
      if (c.limit >= 0) f(at, c);
    }
  }

  std::size_t pairs_ = 0;
  std::vector<QueueId> parents_;
  std::vector<Limit> limits_;
  std::vector<QueueId> widest_;  // by queue; empty: there are no limits
  std::vector<Cell> cells_;      // [queue][pair], where there are limits
};

}  // namespace berth::engine
