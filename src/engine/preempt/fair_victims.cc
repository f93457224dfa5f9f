#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/checked.h"
#include "engine/preempt/quota_victims.h"

namespace berth::engine {

// Candidates by queue, and the way from the root to the queue whose turn it is.
class QuotaVictims::FairSearch {
 public:
  explicit FairSearch(const QuotaVictims& of)
      : of_(of), state_(of.state), preemptor_(of.state.workloads[of.preemptor.index()]) {
    for (QueueId at = preemptor_.queue; at.valid(); at = state_.quota.parent(at)) path_.push_back(at);
    children_.resize(state_.quota.size());
    for (std::size_t q = 0; q < state_.quota.size(); ++q) {
      if (state_.quota.parent(QueueId(q)).valid())
        children_[state_.quota.parent(QueueId(q)).index()].emplace_back(q);
    }
    collect();
  }

  std::optional<std::vector<Yielder>> run() {
    std::vector<Yielder> left;
    const FairStrategy strategy = state_.config.fair_strategy;
    bool found = strategy == FairStrategy::kInitialShare ? false : first_pass(left);
    if (strategy == FairStrategy::kInitialShare) {
      found = second_pass();
    } else if (!found && strategy == FairStrategy::kFinalThenInitialShare) {
      waiting_.clear();
      for (const Yielder& who : left) waiting_[queue_of(who)].push_back(who);
      found = second_pass();
    }
    if (found) of_.give_back(taken_, true);
    of_.restore(taken_);
    if (!found) return std::nullopt;
    return taken_;
  }

 private:
  QueueId queue_of(const Yielder& who) const { return state_.workloads[who.workload.index()].queue; }
  bool on_path(QueueId queue) const { return std::find(path_.begin(), path_.end(), queue) != path_.end(); }
  Share share(QueueId queue) const {
    if (!on_path(queue)) return state_.fairness.share(queue, queue, {});
    return state_.fairness.share(queue, preemptor_.queue, of_.request);
  }

  void collect() {
    const PreemptionPolicy& policy = state_.queues[preemptor_.queue.index()].spec.preemption;
    const auto offer = [&](WorkloadId id, bool holder) {
      const WorkloadState& w = state_.workloads[id.index()];
      const bool own = w.queue == preemptor_.queue;
      bool may = w.priority < preemptor_.priority;
      if (&w == &preemptor_ || w.withdraw) return;
      if (own) {
        may = may_yield_within(state_, w, preemptor_, of_.more_at);
      } else {
        if (policy.reclaim == Reclaim::kNever || !state_.quota.parent(preemptor_.queue).valid()) return;
        may = may || policy.reclaim == Reclaim::kAny;
        if (state_.quota.root(w.queue) != path_.back()) return;
        if (within_own_quota(state_.quota, w.queue, of_.short_pairs)) return;
      }
      if (!may || (!holder && (!w.preemptible || !ran_its_minimum(state_, w, preemptor_, of_.more_at))))
        return;
      if (!uses_any(state_, w, of_.short_pairs)) return;
      waiting_[w.queue].push_back({id, own ? YieldCause::kWithinQueue : YieldCause::kFairShare, holder});
    };
    for (const QueueState& queue : state_.queues) {
      for (const WorkloadId id : queue.started) {
        if (state_.workloads[id.index()].held() == 0) offer(id, false);
      }
    }
    for (const auto& [order, id] : state_.holders) {
      if (state_.workloads[id.index()].running() == 0) offer(id, true);
    }
    for (auto& [queue, list] : waiting_) {
      std::sort(list.begin(), list.end(), YieldOrder(state_, policy.victims));
    }
  }

  bool has_candidates(QueueId queue) const {
    const auto it = waiting_.find(queue);
    return it != waiting_.end() && !it->second.empty();
  }

  // The queue below `at` whose turn it is; none: nobody is left there.
  QueueId turn(QueueId at) {
    while (true) {
      QueueId leaf, inner;
      Share leaf_share, inner_share;
      for (const QueueId child : children_[at.index()]) {
        if (done_.contains(child)) continue;
        const Share s = share(child);
        const bool borrows = s != Share{};
        if (state_.queues[child.index()].spec.leaf) {
          if ((!borrows && child != preemptor_.queue) || !has_candidates(child)) {
            done_.insert(child);
          } else if (!leaf.valid() || s > leaf_share || (s == leaf_share && first_of(child, leaf))) {
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
  // Of two queues with the same share: whose first candidate yields before the other's.
  bool first_of(QueueId a, QueueId b) const {
    const YieldOrder order(state_, state_.queues[preemptor_.queue.index()].spec.preemption.victims);
    return order(waiting_.at(a).front(), waiting_.at(b).front());
  }

  QueueId next_queue() {
    if (path_.size() == 1) return has_candidates(path_.front()) ? path_.front() : QueueId();
    return done_.contains(path_.back()) ? QueueId() : turn(path_.back());
  }

  Yielder pop(QueueId queue) {
    auto& list = waiting_.at(queue);
    const Yielder who = list.front();
    list.erase(list.begin());
    return who;
  }

  bool take(const Yielder& who) {
    of_.free(who, -1);
    taken_.push_back(who);
    return of_.fits(true);
  }

  // The children of the lowest common ancestor on both sides.
  std::pair<QueueId, QueueId> sides(QueueId target) const {
    QueueId theirs = target;
    while (!on_path(state_.quota.parent(theirs))) theirs = state_.quota.parent(theirs);
    const QueueId common = state_.quota.parent(theirs);
    QueueId ours = preemptor_.queue;
    while (state_.quota.parent(ours) != common) ours = state_.quota.parent(ours);
    return {ours, theirs};
  }

  bool within_nominal() const {
    return std::all_of(of_.request.begin(), of_.request.end(), [&](const QuotaItem& item) {
      const auto& pairs = of_.short_pairs;
      if (std::find(pairs.begin(), pairs.end(), item.pair) == pairs.end()) return true;
      return saturating_add(state_.quota.usage(preemptor_.queue, item.pair, kAfter), item.amount) <=
             state_.quota.subtree(preemptor_.queue, item.pair);
    });
  }

  bool first_pass(std::vector<Yielder>& left) {
    done_.clear();
    for (QueueId queue = next_queue(); queue.valid(); queue = next_queue()) {
      if (queue == preemptor_.queue) {
        if (take(pop(queue))) return true;
        continue;
      }
      if (within_nominal()) {
        Yielder who = pop(queue);
        who.cause = YieldCause::kReclaim;
        if (take(who)) return true;
        continue;
      }
      const auto [ours, theirs] = sides(queue);
      while (has_candidates(queue)) {
        const Yielder who = pop(queue);
        of_.free(who, -1);
        const bool fair = share(ours) <= share(theirs);
        of_.free(who, +1);
        if (!fair) {
          left.push_back(who);
          continue;
        }
        if (take(who)) return true;
        break;  // shares are others now: it may be another queue's turn
      }
    }
    return false;
  }

  bool second_pass() {
    done_.clear();
    for (QueueId queue = next_queue(); queue.valid(); queue = next_queue()) {
      if (queue == preemptor_.queue) {
        if (take(pop(queue))) return true;
        continue;
      }
      const auto [ours, theirs] = sides(queue);
      if (within_nominal() || share(ours) < share(theirs)) {
        if (take(pop(queue))) return true;
      }
      done_.insert(queue);  // once: what is left of it may not become the poorer side
    }
    return false;
  }

  const QuotaVictims& of_;
  State& state_;
  const WorkloadState& preemptor_;
  std::vector<QueueId> path_;  // from the preemptor's queue to the root
  std::vector<std::vector<QueueId>> children_;
  std::map<QueueId, std::vector<Yielder>> waiting_;
  std::set<QueueId> done_;
  std::vector<Yielder> taken_;
};

std::optional<std::vector<Yielder>> QuotaVictims::fair() const {
  return FairSearch(*this).run();
}

}  // namespace berth::engine
