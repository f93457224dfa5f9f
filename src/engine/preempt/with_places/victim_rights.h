// The rights of one preemptor: whose work it may end, and when. They are set by the preemptor's queue (model/queue.h), and nothing else.
//
//   within     Work of the same queue with lower priority, or with equal priority and newer, or behind it in line
//              (preempt/rights/standing.h), as the policy says.
//   reclaim    Work of other queues of the tree that runs on borrowed quota. Every queue from the victim's up to below the common
//              ancestor uses more than its subtree's quota of a pair that both need. The preemptor's side stays within its own
//              subtree's quota with the request. Never: work that does not borrow, and protected demand bands.
//   borrow     With `borrow_within`: the same, although the preemptor's side borrows; only lower priority, up to the threshold. Not
//              a victim that fits into its own queue's quota once the other victims are gone: it would reclaim the room at once.
//              (Kueue does take it, if its turn comes early.) Not after force.h has found it useless.
//   fair       Where queues share by dominant shares, instead of the last two: work of every queue that borrows, in the turns of
//              fair_order.h. FairUnits passes the candidates to it.
//   minimum    Nothing is evicted before its minimum runtime, unless the preemptor's queue says otherwise. Surplus may be at any
//              time.
//   bound      If the preemptor's band must have its room within a time: only work that is gone by then.
// Priorities are those of demand bands, on both sides.
//
// Only reads the state, as it was when the rights were taken; still_borrows() also follows the trial. Cost: O(depth x pairs).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/preempt/rights/yield.h"
#include "engine/preempt/with_places/units.h"

namespace berth::engine {

class VictimRights {
 public:
  // `request`: the least amounts that the preemptor charges per pair. `fair`: for the turns of fair_order.h.
  VictimRights(const State& state, const WorkloadState& preemptor, std::span<const QuotaItem> request,
               bool fair);

  VictimOrder order() const { return policy_.victims; }
  // The pairs of which more is asked for than is there now.
  std::span<const QuotaItem> lacks() const { return short_; }
  // The same; if none is short, all pairs of the request: then nodes are short.
  std::span<const FlavorResource> contested() const { return contested_; }
  // Its policy allows borrowing by force, but force.h suspends it.
  bool stands_back() const { return policy_.borrow_within != BorrowWithin::kNever && !by_force_; }

  bool within_queue() const { return policy_.within != WithinQueue::kNever; }
  // The root of the tree whose queues it may have rights against; not valid: it has none.
  QueueId tree() const;
  // The right to evict work of this other queue; none: there is no right.
  std::optional<YieldCause> cause_of(QueueId queue) const;
  // The time from which the unit's rank allows its eviction: now or before, later, or kEndOfTime for never.
  TimeMs yields_from(const Unit& unit, YieldCause cause) const;
  // Behind this unit in the order of victims come only units of too high a priority.
  bool ends_line(const Unit& unit, YieldCause cause) const;
  // The preemptor must have its room before the unit's grace has passed.
  bool is_too_slow(DurationMs grace) const {
    return claim_.reclaim_within > 0 && grace > claim_.reclaim_within;
  }
  // Whether the queue of a victim still borrows this pair, as the trial stands.
  bool still_borrows(QueueId queue, FlavorResource pair) const;
  // The child of the common ancestor on the preemptor's side.
  QueueId side_towards(QueueId other) const { return chain_[meets(other) - 1]; }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffffu;
  // Where the path of another queue meets ours: an index into chain_; kNowhere: in another tree.
  std::uint32_t meets(QueueId other) const;
  // Every queue from this other one up to below the common ancestor borrows the pair.
  bool borrows_below(QueueId queue, FlavorResource pair) const;

  const State& state_;
  const WorkloadState& w_;
  std::span<const QuotaItem> request_;
  PreemptionPolicy policy_;
  Claim claim_;
  bool fair_;
  bool by_force_;
  std::vector<QueueId> chain_;  // our queue and those above it
  std::vector<std::uint8_t>
      own_quota_;  // by place in chain_: with the request, it stays within its own quota
  std::vector<QuotaItem> short_;
  std::vector<FlavorResource> contested_;
};

}  // namespace berth::engine
