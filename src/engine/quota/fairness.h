// The share of each queue, for the order of queues among their siblings (Sharing in model/ordering.h).
//
// Measures of a queue n below its parent p, with the request of its candidate added (so that a large request counts before it is
// granted). Per resource r, over all flavors; use is the promised amount (the after plane):
//   borrowed(n, r)   = sum of max(0, use - subtree quota) over the flavors
//   lendable(p, r)   = sum of what p could have in an empty cluster (QuotaTree::potential)
//   dominant-share   = max over r of borrowed(n, r) / lendable(p, r), divided by n's weight. Among queues that borrow, a higher
//                    priority among the siblings goes before all shares. With Queue::ranks_within_quota the same holds among those
//                    within their quotas, and then the part of guaranteed-share counts there.
//   guaranteed-share = where n stays within its quota: max over r of use / subtree quota, unweighted (the quota is the weight).
//   These queues come before all that exceed theirs, which compare by dominant-share.
//   decayed-use      = max over r of D(n, r) / (lendable(p, r) x tick), divided by n's weight
// A weight of 0 while anything is borrowed (or was used) ranks behind every other weight; two such compare unweighted. If nothing
// of r is lendable, r does not count; a queue that borrows only such resources comes behind all that do not, with no share.
//
// Only use above the guarantee counts in the dominant share. If all use counted, a queue with a large guarantee would never get a
// part of the surplus.
//
// Source: Kueue's fair sharing (research: resource_node.go, fair_sharing.go), after Ghodsi et al., "Dominant Resource Fairness",
// NSDI 2011, computed exactly instead of in thousandths. Beyond the guarantees the queue with the least borrowed / weight starts
// next. This splits the surplus by weight among the queues that want it (progressive filling). It is KAI's division by over-quota
// weights without its rounding.
//
// Decayed use: D is counted by decayed_use.h, with the parent's half-life.
//
// Shares are exact fractions, compared by Euclid's algorithm: no product leaves 128 bits, and only the decay is rounded.
// Costs: share() O(pairs of the tree x depth); note_use() O(depth x pairs); advance() O(queues that share by decayed use) per tick;
// rebuild() O(queues x pairs), on configuration changes only.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "base/time.h"
#include "engine/quota/decayed_use.h"
#include "engine/quota/tree.h"
#include "model/ordering.h"

namespace berth::engine {

// A non-negative fraction with what ranks before it.
struct Share {
  bool over = false;          // beyond its guarantee by anything that counts
  std::int64_t priority = 0;  // of its queue among the siblings, where that counts: the higher first
  bool weightless = false;    // of a queue of weight 0
  Int128 num = 0;
  Int128 den = 1;  // positive

  std::strong_ordering operator<=>(const Share& other) const;
  bool operator==(const Share& other) const { return std::is_eq(*this <=> other); }
};

// a/b against c/d; a, c not negative, b, d positive.
std::strong_ordering compare_fractions(Int128 a, Int128 b, Int128 c, Int128 d);

class Fairness {
 public:
  struct Node {
    Sharing sharing = Sharing::kPriority;  // of its children
    DurationMs half_life = 0;
    Rational weight;                  // of its own
    std::int64_t priority = 0;        // the same
    bool ranks_within_quota = false;  // of its children (model/queue.h)
  };

  explicit Fairness(const QuotaTree& quota) : quota_(quota) {}
  Fairness(const Fairness&) = delete;
  Fairness& operator=(const Fairness&) = delete;

  // After QuotaTree::rebuild, with the same queues. `resource_of`: per pair, a number for its resource. Past use is kept.
  void rebuild(std::vector<Node> nodes, const std::vector<std::uint32_t>& resource_of, TimeMs now);

  // Whether the place of `queue` among its siblings depends on use at all.
  bool counts(QueueId queue) const;
  bool counts_above(QueueId queue) const {
    return counts_above_[queue.index()] != 0;
  }  // its own or an ancestor's
  // The share of `queue`, an ancestor of `leaf` or itself, with `ask` added to the leaf. Zero where it does not count.
  // `within`: as if it stayed within its quota.
  Share share(QueueId queue, QueueId leaf, std::span<const QuotaItem> ask, bool within = false) const;

  // The use of a leaf is about to change: its use since the last note counts until `now`.
  void note_use(QueueId leaf, TimeMs now);
  // Lets time pass. True if a tick ended for any queue: then shares by decayed use have changed.
  bool advance(TimeMs now);

 private:
  void set_rate(QueueId queue);
  Share weighted(QueueId queue, Int128 num, Int128 den) const;

  const QuotaTree& quota_;
  std::vector<Node> nodes_;
  std::vector<std::uint8_t> counts_above_;
  std::vector<std::uint32_t> resource_of_;
  std::size_t resources_ = 0;
  std::vector<std::vector<std::int64_t>> lendable_;  // by parent that shares, by resource
  std::vector<DecayedUse> past_;                     // by queue whose parent shares by decayed use
  std::vector<QueueId> decaying_;
  TimeMs next_tick_ = kEndOfTime;
};

}  // namespace berth::engine
