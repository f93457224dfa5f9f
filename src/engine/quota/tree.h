// The quota tree: for each queue and each (flavor, resource) pair how much is used, and how much may still be.
//
// Arithmetic of Kueue (pkg/cache/scheduler/resource_node.go; research/kueue.md 1.4), for trees of any depth:
//   local(n)     = max(0, subtree(n) - lending limit), 0 without a limit: what n never lends
//   subtree(n)   = nominal(n) + sum over children of (subtree - local), at most Quota::subtree_limit
//   usage(inner) = own + sum over children of max(0, usage - local)
//   available(root) = subtree - usage
//   available(n)    = max(0, local - usage) + P, where P = available(parent), with a borrowing limit b at most
//                     (subtree - local) - max(0, usage - local) + b
// Usage is kept on two planes (base/plane.h). A limit may be exceeded by outside facts only; available() then says 0 or
// less, and nothing more fits.
//
// Costs: add() and available() O(depth); rebuild() O(queues x pairs), on configuration changes only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/base/plane.h"

namespace berth::engine {

// A (flavor, resource) pair.
using FlavorResource = Id<struct FlavorResourceTag>;

struct QuotaItem {
  FlavorResource pair;
  std::int64_t amount = 0;
  bool operator==(const QuotaItem&) const = default;
};

// Adds an amount to that of its pair in the list, or a new item.
void add_item(std::vector<QuotaItem>& items, FlavorResource pair, std::int64_t amount);

class QuotaTree {
 public:
  struct Limit {
    FlavorResource pair;
    std::int64_t nominal = 0;
    std::optional<std::int64_t> borrowing;
    std::optional<std::int64_t> lending;
    std::optional<std::int64_t> subtree = std::nullopt;
  };
  struct Node {
    QueueId parent;  // none: a root
    std::vector<Limit> limits;
  };

  // Takes a new configuration: `nodes` by queue index (parents may come later than children; no cycles: the caller has
  // checked). Usage of known queues is kept.
  void rebuild(std::vector<Node> nodes, std::size_t pairs);

  // Adds (or with a negative amount takes away) use of a queue on the given planes. Exactly undone by the negative amount.
  void add(QueueId queue, FlavorResource pair, std::int64_t amount, PlaneMask planes);

  std::int64_t available(QueueId queue, FlavorResource pair, Plane plane) const;
  // On all planes that a placement of this mode must fit.
  std::int64_t available(QueueId queue, FlavorResource pair, Mode mode) const {
    const std::int64_t after = available(queue, pair, kAfter);
    return mode == Mode::kStart ? std::min(after, available(queue, pair, kNow)) : after;
  }
  // The amount that the queue could have in an empty cluster.
  std::int64_t potential(QueueId queue, FlavorResource pair) const;
  // Do `count` times these items fit (start: both planes; plan: the after plane)?
  bool fits(QueueId queue, std::span<const QuotaItem> items, std::int64_t count, Mode mode) const;

  std::int64_t usage(QueueId queue, FlavorResource pair, Plane plane) const {
    return cell(queue, pair).usage[plane];
  }
  std::int64_t nominal(QueueId queue, FlavorResource pair) const { return cell(queue, pair).nominal; }
  std::int64_t subtree(QueueId queue, FlavorResource pair) const { return cell(queue, pair).subtree; }
  // The quotas below it are more together than its own limit.
  bool is_cut(QueueId queue, FlavorResource pair) const { return cell(queue, pair).cut; }
  // The part of its subtree's quota that a queue never lends.
  std::int64_t local(QueueId queue, FlavorResource pair) const { return cell(queue, pair).local; }
  // How much more than its nominal quota it may have; none: no limit.
  std::optional<std::int64_t> borrowing_limit(QueueId queue, FlavorResource pair) const {
    const std::int64_t limit = cell(queue, pair).borrowing;
    return limit < 0 ? std::nullopt : std::optional(limit);
  }
  bool declares(QueueId queue, FlavorResource pair) const { return cell(queue, pair).declared; }
  // More than its own subtree's quota is used (on the after plane): it runs on borrowed quota.
  bool borrows(QueueId queue, FlavorResource pair) const {
    const Cell& c = cell(queue, pair);
    return c.usage[kAfter] > c.subtree;
  }
  // The part of a queue's use that its parent sees.
  std::int64_t passed_up(QueueId queue, FlavorResource pair, Plane plane) const {
    const Cell& c = cell(queue, pair);
    return c.usage[plane] > c.local ? c.usage[plane] - c.local : 0;
  }
  // The growth of the use of `ancestor` (or `queue` itself) with `amount` more in `queue`, on the after plane. It is less than
  // `amount` if the rest stays within quota that is never lent. O(depth).
  std::int64_t passed_up_more(QueueId queue, QueueId ancestor, FlavorResource pair,
                              std::int64_t amount) const;
  QueueId parent(QueueId queue) const { return parents_[queue.index()]; }
  QueueId root(QueueId queue) const;
  // Levels below the queue: 0 for a leaf.
  std::int64_t height(QueueId queue) const { return heights_[queue.index()]; }

  // The height from which the quota of `amount` more comes, on the after plane: that of the lowest queue, from `queue` up, whose
  // own quota covers it. 0: its own. If no queue covers it, the root's height. Also whether anything above that could give back.
  // O(depth).
  struct Covering {
    std::int64_t height = 0;
    bool may_reclaim = false;
  };
  Covering covering(QueueId queue, FlavorResource pair, std::int64_t amount) const;
  // The height that `count` times these items reach, each for itself: the highest. 0 times: what the queue uses now.
  std::int64_t reach(QueueId queue, std::span<const QuotaItem> items, std::int64_t count) const;
  std::size_t size() const { return parents_.size(); }
  std::size_t pairs() const { return pairs_; }

 private:
  struct Cell {
    std::int64_t nominal = 0;
    std::int64_t subtree = 0;
    std::int64_t local = 0;
    std::int64_t borrowing = -1;  // negative: no limit
    std::array<std::int64_t, 2> usage{};
    bool declared = false;
    bool cut = false;
  };
  Cell& cell(QueueId q, FlavorResource p) { return cells_[q.index() * pairs_ + p.index()]; }
  const Cell& cell(QueueId q, FlavorResource p) const { return cells_[q.index() * pairs_ + p.index()]; }

  std::size_t pairs_ = 0;
  std::vector<QueueId> parents_;
  std::vector<std::int64_t> heights_;
  std::vector<Cell> cells_;  // [queue][pair]
};

}  // namespace berth::engine
