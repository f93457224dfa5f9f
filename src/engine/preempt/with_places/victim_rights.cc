#include "engine/preempt/with_places/victim_rights.h"

#include <algorithm>

#include "engine/preempt/quota_only/fair_order.h"
#include "engine/preempt/rights/force.h"

namespace berth::engine {

VictimRights::VictimRights(const State& state, const WorkloadState& preemptor,
                           std::span<const QuotaItem> request, bool fair)
    : state_(state),
      w_(preemptor),
      request_(request),
      policy_(state.queues[preemptor.queue.index()].spec.preemption),
      claim_(claim_of(preemptor)),
      fair_(fair),
      by_force_(may_borrow_by_force(state, preemptor, request)) {
  for (QueueId at = w_.queue; at.valid(); at = state_.quota.parent(at)) {
    chain_.push_back(at);
    own_quota_.push_back(std::all_of(request.begin(), request.end(), [&](const QuotaItem& item) {
      return saturating_add(state_.quota.usage(at, item.pair, kAfter), item.amount) <=
             state_.quota.subtree(at, item.pair);
    }));
  }
  for (const QuotaItem& item : request) {
    if (item.amount > state_.quota.available(w_.queue, item.pair, kAfter)) short_.push_back(item);
  }
  for (const QuotaItem& item : short_.empty() ? request : std::span<const QuotaItem>(short_))
    contested_.push_back(item.pair);
}

QueueId VictimRights::tree() const {
  const bool reclaims = policy_.reclaim != Reclaim::kNever &&
                        !state_.queues[w_.queue.index()].spec.unlimited && chain_.size() > 1;
  return reclaims ? chain_.back() : QueueId();
}

std::uint32_t VictimRights::meets(QueueId other) const {
  for (QueueId at = other; at.valid(); at = state_.quota.parent(at)) {
    const auto it = std::find(chain_.begin(), chain_.end(), at);
    if (it != chain_.end()) return static_cast<std::uint32_t>(it - chain_.begin());
  }
  return kNowhere;
}

bool VictimRights::borrows_below(QueueId queue, FlavorResource pair) const {
  for (QueueId at = queue; std::find(chain_.begin(), chain_.end(), at) == chain_.end();
       at = state_.quota.parent(at)) {
    if (!state_.quota.borrows(at, pair)) return false;
  }
  return true;
}

bool VictimRights::still_borrows(QueueId queue, FlavorResource pair) const {
  const bool needed =
      std::any_of(request_.begin(), request_.end(), [&](const QuotaItem& n) { return n.pair == pair; });
  // The shares include borrowing of all queues above it, of any resource.
  return needed && (fair_ ? state_.quota.borrows(queue, pair) : borrows_below(queue, pair));
}

// Their side of the common ancestor borrows something that is needed, and ours stays within its own quota, or may end work of
// lower priority although it does not.
std::optional<YieldCause> VictimRights::cause_of(QueueId queue) const {
  const Queue& theirs = state_.queues[queue.index()].spec;
  if (queue == w_.queue || theirs.unlimited || !theirs.preemption.reclaimable) return std::nullopt;
  if (fair_) {
    return FairOrder::borrows(state_.quota, queue, contested_) ? std::optional(YieldCause::kFairShare)
                                                               : std::nullopt;
  }
  const std::uint32_t meeting = meets(queue);
  if (meeting == kNowhere || meeting == 0) return std::nullopt;
  if (own_quota_[meeting - 1] == 0 && !by_force_) return std::nullopt;
  const bool borrows = std::any_of(request_.begin(), request_.end(),
                                   [&](const QuotaItem& item) { return borrows_below(queue, item.pair); });
  if (!borrows) return std::nullopt;
  return own_quota_[meeting - 1] != 0 ? YieldCause::kReclaim : YieldCause::kReclaimWhileBorrowing;
}

TimeMs VictimRights::yields_from(const Unit& unit, YieldCause cause) const {
  if (cause != YieldCause::kWithinQueue) {
    bool yields = policy_.reclaim == Reclaim::kAny || unit.priority < claim_.priority;
    if (cause == YieldCause::kReclaimWhileBorrowing) {
      yields = unit.priority < claim_.priority &&
               (!policy_.borrow_threshold || unit.priority <= *policy_.borrow_threshold);
    }
    return yields ? 0 : kEndOfTime;
  }
  const InLine its{state_.workloads[unit.workload.index()], unit.priority};
  return within_yields_from(state_, its, {w_, claim_.priority});
}

// Where priority rules the order.
bool VictimRights::ends_line(const Unit& unit, YieldCause cause) const {
  const bool priority_rules = cause == YieldCause::kReclaim ? policy_.reclaim != Reclaim::kAny
                              : cause == YieldCause::kWithinQueue
                                  ? policy_.within != WithinQueue::kLaterInOrder
                                  : true;
  return order() != VictimOrder::kYoungestFirst && unit.priority > claim_.priority && priority_rules;
}

}  // namespace berth::engine
