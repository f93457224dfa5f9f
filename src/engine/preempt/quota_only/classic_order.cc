#include "engine/preempt/quota_only/classic_order.h"

#include <tuple>
#include <utility>

#include "base/checked.h"
#include "engine/preempt/rights/force.h"

namespace berth::engine {

ClassicOrder::ClassicOrder(const State& state, WorkloadId preemptor, std::span<const QuotaItem> request,
                           std::span<const FlavorResource> is_short)
    : state_(state),
      preemptor_(state.workloads[preemptor.index()]),
      short_(is_short),
      by_force_(may_borrow_by_force(state, preemptor_, request)) {
  const QuotaTree& quota = state.quota;
  const PreemptionPolicy& policy = state.queues[preemptor_.queue.index()].spec.preemption;
  std::vector<Candidate> hierarchical, priority, same;
  if (policy.reclaim != Reclaim::kNever && quota.parent(preemptor_.queue).valid()) {
    children_.resize(quota.size());
    for (std::size_t q = 0; q < quota.size(); ++q) {
      if (quota.parent(QueueId(q)).valid()) children_[quota.parent(QueueId(q)).index()].emplace_back(q);
    }
    std::vector<QuotaItem> rest(request.begin(), request.end());
    bool advantage = covers(preemptor_.queue, rest);
    QueueId below = preemptor_.queue;
    for (QueueId at = quota.parent(below); at.valid(); at = quota.parent(at)) {
      collect_below(at, below, at, advantage, advantage ? hierarchical : priority);
      advantage = covers(at, rest) || advantage;
      below = at;
    }
  }
  if (policy.within != WithinQueue::kNever) collect_queue(preemptor_.queue, QueueId(), false, same);

  const YieldOrder order(state, policy.victims);
  const auto by_order = [&](const Candidate& a, const Candidate& b) { return order(a.who, b.who); };
  for (auto* list : {&hierarchical, &priority, &same}) {
    std::sort(list->begin(), list->end(), by_order);
    candidates_.insert(candidates_.end(), list->begin(), list->end());
  }

  const bool others = !hierarchical.empty() || !priority.empty();
  const bool below_nominal = std::all_of(short_.begin(), short_.end(), [&](FlavorResource pair) {
    return quota.usage(preemptor_.queue, pair, kAfter) < quota.nominal(preemptor_.queue, pair);
  });
  if (!others || (!by_force_ && !below_nominal)) {
    attempts_ = {true};
  } else if (!by_force_ && hierarchical.empty()) {
    attempts_ = {false, true};
  } else {
    attempts_ = {true, false};
  }
}

// Does the queue's own quota cover its use and `rest`? Subtracts from `rest` the part that quota which it never lends can cover.
bool ClassicOrder::covers(QueueId queue, std::vector<QuotaItem>& rest) const {
  const QuotaTree& quota = state_.quota;
  bool all = true;
  for (QuotaItem& item : rest) {
    const std::int64_t use = quota.usage(queue, item.pair, kAfter);
    if (saturating_add(use, item.amount) > quota.subtree(queue, item.pair)) all = false;
    const std::int64_t own = std::max<std::int64_t>(0, quota.local(queue, item.pair) - use);
    item.amount = std::max<std::int64_t>(0, item.amount - own);
  }
  return all;
}

void ClassicOrder::collect_below(QueueId at, QueueId skip, QueueId ancestor, bool advantage,
                                 std::vector<Candidate>& out) {
  for (const QueueId child : children_[at.index()]) {
    if (child == skip || child == preemptor_.queue || within_own_quota(state_.quota, child, short_)) continue;
    collect_below(child, skip, ancestor, advantage, out);
    collect_queue(child, ancestor, advantage, out);
  }
}

void ClassicOrder::collect_queue(QueueId queue, QueueId ancestor, bool advantage,
                                 std::vector<Candidate>& out) {
  const PreemptionPolicy& policy = state_.queues[preemptor_.queue.index()].spec.preemption;
  const bool same_queue = queue == preemptor_.queue;
  const auto offer = [&](WorkloadId id, bool holder) {
    const WorkloadState& w = state_.workloads[id.index()];
    Candidate candidate{{id, YieldCause::kWithinQueue, holder}, ancestor, false};
    if (!uses_any(state_, candidate.who, short_) || !may_yield(state_, candidate.who, preemptor_, more_at_))
      return;
    if (!same_queue) {
      candidate.who.cause = YieldCause::kReclaim;
      if (!advantage) {
        const std::int64_t priority = whole_of(w, holder).priority;
        const bool below_threshold = priority < claimant(preemptor_).priority &&
                                     (!policy.borrow_threshold || priority <= *policy.borrow_threshold);
        if (!by_force_ || !below_threshold) {
          candidate.no_borrowing = true;
        } else {
          candidate.who.cause = YieldCause::kReclaimWhileBorrowing;
        }
      }
    }
    out.push_back(candidate);
  };
  for (const WorkloadId id : state_.queues[queue.index()].started) offer(id, false);
  for (const auto& [order, id] : state_.queues[queue.index()].holders) offer(id, true);
}

std::size_t ClassicOrder::next(std::size_t from, bool borrowing) const {
  for (; from < candidates_.size(); ++from) {
    const Candidate& c = candidates_[from];
    const QueueId queue = state_.workloads[c.who.workload.index()].queue;
    if (queue == preemptor_.queue) return from;
    if (borrowing && c.no_borrowing) continue;
    bool above = true;
    for (QueueId at = queue; at.valid() && at != c.ancestor && above; at = state_.quota.parent(at)) {
      above = !within_own_quota(state_.quota, at, short_);
    }
    if (above) return from;
  }
  return from;
}

}  // namespace berth::engine
