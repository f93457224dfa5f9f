// The order of victims where queues share by dominant shares, and whether each may be evicted. The same for quota alone and for
// places together with quota.
//
// Repeatedly the queue with the largest share, found from the root down, gives its next candidate, if
//   - it is the preemptor's own queue, or the preemptor stays within its own quota (a plain reclaim). A queue above it whose quota is cut
//     (QuotaTree::is_cut) must do so, too, below the common ancestor; or
//   - final     the preemptor's share with its request is not above the share that the other side keeps without the candidate
//   - initial   it is below the present share of the other side; once per queue.
// Among queues with the same share the one gives first whose candidate yields first. The preemptor's own queue gives last.
//
// The sides are the children of the lowest common ancestor. With both rules (FairStrategy) `initial` applies to candidates that
// `final` left out.
//
// Termination. Two rules beyond Kueue's:
//   - A candidate whose eviction leaves its side's share unchanged passes the final rule only if the preemptor's share stays below
//     it. Then no eviction raises the preemptor's side to the highest share without lowering the victim's share. So the side with
//     the highest share never gets anything back by eviction, and so on downwards: no cycle closes.
//   - The rules must hold for the final set of victims, and each victim in it must be needed for room. Work of the preemptor's own
//     queue that is evicted only to make its share look smaller would come back at once. So every victim that can come back does,
//     and legal() checks the rest. Kueue #14543 is a loop of two that lacks this check.
// With priorities within the queues, several resources, or room that others take meanwhile, longer cycles remain (three and more
// workloads, each step fair). So a workload evicts by these rules once, and again only after an event that is no consequence of a
// decision (State::outside_version).
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/preemption/fairsharing (facts in research/kueue.md 1.9). Shares are exact fractions
// (quota/fairness.h).
// Cost: next() O(queues of the tree) shares, and two for each candidate examined; legal() two shares per victim.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "engine/preempt/rights/yield.h"
#include "engine/state/state.h"

namespace berth::engine {

// The candidates by number, per queue in their order of eviction.
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
  // The next victim, with all before it freed (the caller frees it); none: no candidate is allowed.
  Turn next();
  // Would these victims, freed now and in the order of their turns, have had their turns alone? `charged`: the preemptor's places
  // are charged.
  bool legal(std::span<const std::uint32_t> taken, bool charged = false);

  // Whether the queue uses more of a contested pair than its own quota.
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
  bool within_nominal(QueueId ours) const;
  bool fair_at_last(std::uint32_t candidate, const Sides& sides);
  std::uint32_t front(QueueId queue);
  std::uint32_t pop(QueueId queue);
  bool gives_before(QueueId a, QueueId b);
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
  std::map<QueueId, std::vector<std::uint32_t>> left_;  // left out by the first rule, the first one last
  bool by_final_ = false;
  bool by_initial_ = false;
  bool had_its_turn_ = false;  // it may not evict by these rules again
  bool from_left_ = false;
  std::set<QueueId> done_;
};

}  // namespace berth::engine
