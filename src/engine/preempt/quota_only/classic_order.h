// The possible victims when quota is short, one after the other: Kueue's classic preemption, exactly.
//
// Only work that uses a pair that is short counts. Three classes, in this order, each in the order of yield.h (Kueue: lower
// priority, later start, arrival):
//   hierarchical  Work of other queues. Some subtree around the preemptor covers its request with its own quota, and the candidate
//                 lies outside of it. The preemptor's `reclaim` policy alone decides.
//   priority      Work of other queues without that advantage. If the preemptor then borrows, its `borrow_within` decides too.
//   same queue    The preemptor's `within` policy.
// Work of another queue may be evicted only while every queue from its own up to below the common ancestor exceeds its quota of a
// short pair. That changes with every victim, so next() checks it again.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/preemption/classical (facts in research/kueue.md 1.8).
// Cost: O(queues of the tree + candidates log candidates); next() O(depth x short pairs) per candidate passed over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/preempt/rights/yield.h"
#include "engine/state/state.h"

namespace berth::engine {

class ClassicOrder {
 public:
  // `request`: what a start charges, by pair. `is_short`: the pairs that must be freed.
  ClassicOrder(const State& state, WorkloadId preemptor, std::span<const QuotaItem> request,
               std::span<const FlavorResource> is_short);

  // Whether the preemptor may end up above its nominal quota: one attempt after the other.
  const std::vector<bool>& attempts() const { return attempts_; }

  struct Candidate {
    Yielder who;
    QueueId ancestor;           // lowest that it has in common with the preemptor; none in its own queue
    bool no_borrowing = false;  // evicted only if the preemptor stays within its nominal quota
  };
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // When time alone could bring more; kEndOfTime: never.
  TimeMs more_at() const { return more_at_; }
  // The first at or after `from` that may be evicted as things are now; candidates().size(): none.
  std::size_t next(std::size_t from, bool borrowing) const;

 private:
  void collect_below(QueueId at, QueueId skip, QueueId ancestor, bool advantage, std::vector<Candidate>& out);
  void collect_queue(QueueId queue, QueueId ancestor, bool advantage, std::vector<Candidate>& out);
  bool covers(QueueId queue, std::vector<QuotaItem>& rest) const;

  const State& state_;
  const WorkloadState& preemptor_;
  std::span<const FlavorResource> short_;
  bool by_force_;
  std::vector<std::vector<QueueId>> children_;
  std::vector<Candidate> candidates_;
  std::vector<bool> attempts_;
  TimeMs more_at_ = kEndOfTime;
};

}  // namespace berth::engine
