#include "engine/preempt/quota_only/fair_order.h"

#include <algorithm>

#include "base/checked.h"

namespace berth::engine {

FairOrder::FairOrder(State& state, WorkloadId preemptor, std::span<const QuotaItem> request,
                     std::span<const FlavorResource> contested, FairCandidates& candidates)
    : state_(state),
      queue_(state.workloads[preemptor.index()].queue),
      request_(request),
      contested_(contested),
      candidates_(candidates),
      by_final_(state.config.fair_strategy != FairStrategy::kInitialShare),
      by_initial_(state.config.fair_strategy != FairStrategy::kFinalShare),
      had_its_turn_(state.workloads[preemptor.index()].takings.fairly_at == state.outside_version) {
  for (QueueId at = queue_; at.valid(); at = state_.quota.parent(at)) path_.push_back(at);
  children_.resize(state_.quota.size());
  for (std::size_t q = 0; q < state_.quota.size(); ++q) {
    const QueueId parent = state_.quota.parent(QueueId(q));
    if (parent.valid()) children_[parent.index()].emplace_back(q);
  }
}

bool FairOrder::on_path(QueueId queue) const {
  return std::find(path_.begin(), path_.end(), queue) != path_.end();
}

Share FairOrder::share(QueueId queue) const {
  if (!on_path(queue)) return state_.fairness.share(queue, queue, {});
  return state_.fairness.share(queue, queue_, charged_ ? std::span<const QuotaItem>() : request_);
}

// The children of the lowest common ancestor.
FairOrder::Sides FairOrder::sides(QueueId target) const {
  QueueId theirs = target;
  while (!on_path(state_.quota.parent(theirs))) theirs = state_.quota.parent(theirs);
  const QueueId common = state_.quota.parent(theirs);
  QueueId ours = queue_;
  while (state_.quota.parent(ours) != common) ours = state_.quota.parent(ours);
  return {ours, theirs};
}

// The preemptor's queue stays within its quota. So do those above it up to `ours` whose quota is cut below that of their queues.
bool FairOrder::within_nominal(QueueId ours) const {
  const QuotaTree& quota = state_.quota;
  return std::all_of(request_.begin(), request_.end(), [&](const QuotaItem& item) {
    if (std::find(contested_.begin(), contested_.end(), item.pair) == contested_.end()) return true;
    for (QueueId at = queue_;; at = quota.parent(at)) {
      const std::int64_t more = charged_ ? 0 : quota.passed_up_more(queue_, at, item.pair, item.amount);
      const bool counts = at == queue_ || quota.is_cut(at, item.pair);
      if (counts && saturating_add(quota.usage(at, item.pair, kAfter), more) > quota.subtree(at, item.pair))
        return false;
      if (at == ours) return true;
    }
  });
}

// The final rule, of a candidate that is not freed.
bool FairOrder::fair_at_last(std::uint32_t candidate, const Sides& sides) {
  const Share before = share(sides.theirs);
  candidates_.free(candidate, -1);
  const Share ours = share(sides.ours);
  const Share after = share(sides.theirs);
  candidates_.free(candidate, +1);
  return ours < after || (ours == after && after < before);
}

std::uint32_t FairOrder::front(QueueId queue) {
  if (!from_left_) return candidates_.front(queue);
  const auto it = left_.find(queue);
  return it == left_.end() || it->second.empty() ? FairCandidates::kNone : it->second.back();
}

std::uint32_t FairOrder::pop(QueueId queue) {
  const std::uint32_t first = front(queue);
  if (from_left_) {
    left_[queue].pop_back();
  } else {
    candidates_.drop_front(queue);
  }
  return first;
}

// Its share does not always say so: below a queue that shares otherwise it may have one, and borrow nothing.
bool FairOrder::borrows_any(QueueId queue) const {
  for (std::size_t p = 0; p < state_.quota.pairs(); ++p) {
    if (state_.quota.borrows(queue, FlavorResource(p))) return true;
  }
  return false;
}

// Both have the same share. The preemptor's own queue gives last.
bool FairOrder::gives_before(QueueId a, QueueId b) {
  if (a == queue_ || b == queue_) return b == queue_;
  return candidates_.yields_before(front(a), front(b));
}

// The queue below `at` whose turn it is; none: no candidate is left there.
QueueId FairOrder::turn(QueueId at) {
  while (true) {
    QueueId leaf, inner;
    Share leaf_share, inner_share;
    for (const QueueId child : children_[at.index()]) {
      if (done_.contains(child)) continue;
      const Share s = share(child);
      const bool borrows = borrows_any(child);
      if (state_.queues[child.index()].spec.leaf) {
        if ((!borrows && child != queue_) || front(child) == FairCandidates::kNone) {
          done_.insert(child);
        } else if (!leaf.valid() || s > leaf_share || (s == leaf_share && gives_before(child, leaf))) {
          leaf = child;
          leaf_share = s;
        }
      } else if (!borrows && !on_path(child)) {
        done_.insert(child);
      } else if (!inner.valid() || s > inner_share) {
        inner = child;
        inner_share = s;
      }
    }
    if (!leaf.valid() && !inner.valid()) {
      done_.insert(at);
      return {};
    }
    if (!inner.valid() || (leaf.valid() && inner_share < leaf_share)) return leaf;
    if (const QueueId found = turn(inner); found.valid()) return found;
  }
}

QueueId FairOrder::next_queue() {
  if (path_.size() == 1) return front(queue_) != FairCandidates::kNone ? queue_ : QueueId();
  return done_.contains(path_.back()) ? QueueId() : turn(path_.back());
}

FairOrder::Turn FairOrder::next_by_final() {
  for (QueueId queue = next_queue(); queue.valid(); queue = next_queue()) {
    if (queue == queue_) return {pop(queue), YieldCause::kWithinQueue};
    const Sides both = sides(queue);
    if (within_nominal(both.ours)) return {pop(queue), YieldCause::kReclaim};
    while (front(queue) != FairCandidates::kNone) {
      const std::uint32_t candidate = pop(queue);
      if (had_its_turn_) continue;
      if (fair_at_last(candidate, both)) return {candidate, YieldCause::kFairShare};
      left_[queue].push_back(candidate);
    }
  }
  return {};
}

FairOrder::Turn FairOrder::next_by_initial() {
  for (QueueId queue = next_queue(); queue.valid(); queue = next_queue()) {
    if (queue == queue_) return {pop(queue), YieldCause::kWithinQueue};
    const Sides both = sides(queue);
    done_.insert(queue);  // once: what is left of it may not become the poorer side
    const bool within = within_nominal(both.ours);
    if (within && !from_left_) return {pop(queue), YieldCause::kReclaim};
    // Behind victims of its own the preemptor may be within its quota. Its fair share is the reason all the same.
    if ((within || !had_its_turn_) && share(both.ours) < share(both.theirs))
      return {pop(queue), had_its_turn_ ? YieldCause::kReclaim : YieldCause::kFairShare};
  }
  return {};
}

FairOrder::Turn FairOrder::next() {
  if (by_final_) {
    const Turn found = next_by_final();
    if (found.candidate != FairCandidates::kNone || !by_initial_) return found;
    by_final_ = false;
    from_left_ = true;
    for (auto& [queue, list] : left_) std::reverse(list.begin(), list.end());
    done_.clear();
  }
  return next_by_initial();
}

bool FairOrder::legal(std::span<const std::uint32_t> taken, bool charged) {
  charged_ = charged;
  for (std::size_t i = taken.size(); i-- > 0;) candidates_.free(taken[i], +1);
  const bool final_counts = state_.config.fair_strategy != FairStrategy::kInitialShare;
  const bool initial_counts = state_.config.fair_strategy != FairStrategy::kFinalShare;
  bool ok = true;
  for (const std::uint32_t i : taken) {
    const QueueId queue = candidates_.queue_of(i);
    if (!ok || queue == queue_) {
      candidates_.free(i, -1);
      continue;
    }
    const Sides both = sides(queue);
    if (!within_nominal(both.ours)) {
      ok = (final_counts && fair_at_last(i, both)) ||
           (initial_counts && share(both.ours) < share(both.theirs));
    }
    candidates_.free(i, -1);
  }
  charged_ = false;
  return ok;
}

}  // namespace berth::engine
