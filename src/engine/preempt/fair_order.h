// Whose turn it is to yield where queues share by their dominant shares, and whether it may: the same for quota alone and for
// places together with quota.
//
// Again and again the queue with the largest share, found from the root down, gives its next candidate, if
//   - it is the preemptor's own queue, or the preemptor stays within its own quota (a plain reclaim), or
//   - final     the preemptor's share with its request is not above what the other side keeps without the candidate
//   - initial   it is below what the other side has now; once per queue
// Both sides are the children of the lowest common ancestor. With both rules (FairStrategy) the second is asked of those whom
// the first left out.
//
// Termination. Two rules beyond Kueue's. A candidate whose end leaves the share of its side as it is counts for the final rule only
// where the preemptor's share stays below it. Then no eviction brings the preemptor's side to the highest share that there is
// without lowering the victim's: whoever has the most never gets anything back by eviction, and so on downwards, so that no circle
// of evictions closes. It needs the rules to hold of the set that is evicted in the end, and that everybody in it is needed for
// room: work of the preemptor's own queue that ends only to make its share look smaller comes back at once. So whoever can come
// back does, and then legal() asks of the rest: Kueue #14543 is a loop of two that comes of not asking.
//   Together with priorities within the queues, several resources, or room that others slip into, longer circles remain (of three
// and more workloads, each step of them fair). So a workload takes by these rules once, and again only when something has
// happened that is no consequence of decisions (State::outside_version): what it lost meanwhile it lost to others who may have it.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/preemption/fairsharing (facts in research/kueue.md 1.9). Shares are exact
// fractions (quota/fairness.h).
// Cost: next() O(queues of the tree) shares, and two for each candidate that is looked at; legal() two shares per victim.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "engine/core/state.h"
#include "engine/preempt/yield.h"

namespace berth::engine {

// The candidates, by number, queue by queue in the order in which they would yield.
class FairCandidates {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  virtual ~FairCandidates() = default;
  // The first of a queue that was not dropped; kNone: there is none.
  virtual std::uint32_t front(QueueId queue) = 0;
  virtual void drop_front(QueueId queue) = 0;
  virtual QueueId queue_of(std::uint32_t candidate) const = 0;
  virtual bool yields_before(std::uint32_t a, std::uint32_t b) const = 0;
  // Frees the room of a candidate, or gives it back, as a trial.
  virtual void free(std::uint32_t candidate, int sign) = 0;
};

class FairOrder {
 public:
  // `request`: what the preemptor's start charges; `contested`: the pairs that must be freed.
  FairOrder(State& state, WorkloadId preemptor, std::span<const QuotaItem> request,
            std::span<const FlavorResource> contested, FairCandidates& candidates);

  struct Turn {
    std::uint32_t candidate = FairCandidates::kNone;
    YieldCause cause = YieldCause::kWithinQueue;
  };
  // Who yields next, with all before it freed (the caller frees it); none: nobody may any more.
  Turn next();
  // Would these, freed now and in the order of their turns, have had their turns without anybody else? `charged`: the places of
  // the preemptor are.
  bool legal(std::span<const std::uint32_t> taken, bool charged = false);

  // Whether the queue has more of a contested pair than is its own.
  static bool borrows(const QuotaTree& quota, QueueId queue, std::span<const FlavorResource> contested) {
    return !within_own_quota(quota, queue, contested);
  }

 private:
  struct Sides {
    QueueId ours;
    QueueId theirs;
  };
  bool on_path(QueueId queue) const;
  Share share(QueueId queue) const;
  Sides sides(QueueId target) const;
  bool borrows_any(QueueId queue) const;
  bool within_nominal() const;
  bool fair_at_last(std::uint32_t candidate, const Sides& sides);
  std::uint32_t front(QueueId queue);
  std::uint32_t pop(QueueId queue);
  QueueId turn(QueueId at);
  QueueId next_queue();
  Turn next_by_final();
  Turn next_by_initial();

  State& state_;
  QueueId queue_;
  std::span<const QuotaItem> request_;
  bool charged_ = false;  // the request is in the accounts already
  std::span<const FlavorResource> contested_;
  FairCandidates& candidates_;
  std::vector<QueueId> path_;  // from the preemptor's queue to the root
  std::vector<std::vector<QueueId>> children_;
  std::map<QueueId, std::vector<std::uint32_t>> left_;  // by the first rule, the first one last
  bool by_final_ = false;
  bool by_initial_ = false;
  bool had_its_turn_ = false;  // it may not take by these rules again
  bool from_left_ = false;
  std::set<QueueId> done_;
};

}  // namespace berth::engine
