#include <algorithm>
#include <map>

#include "engine/preempt/quota_only/fair_order.h"
#include "engine/preempt/quota_only/quota_victims.h"

namespace berth::engine {
namespace {

// Whole workloads that hold quota which is short, by queue. For work that runs and holds room to grow, only its hold.
class WholeWorkloads final : public FairCandidates {
 public:
  explicit WholeWorkloads(const QuotaVictims& of)
      : of_(of),
        state_(of.state),
        preemptor_(of.state.workloads[of.preemptor.index()]),
        policy_(state_.queues[preemptor_.queue.index()].spec.preemption),
        order_(state_, policy_.victims) {
    for (const QueueState& queue : state_.queues) {
      for (const WorkloadId id : queue.started) {
        if (state_.workloads[id.index()].held() == 0) offer(id, false);
      }
    }
    for (const auto& [order, id] : state_.holders) offer(id, true);
    for (auto& [queue, list] : waiting_) {
      // The first one last.
      std::sort(list.begin(), list.end(),
                [&](std::uint32_t a, std::uint32_t b) { return yields_before(b, a); });
    }
  }

  std::uint32_t front(QueueId queue) override {
    const auto it = waiting_.find(queue);
    return it == waiting_.end() || it->second.empty() ? kNone : it->second.back();
  }
  void drop_front(QueueId queue) override { waiting_.at(queue).pop_back(); }
  QueueId queue_of(std::uint32_t candidate) const override {
    return state_.workloads[all_[candidate].workload.index()].queue;
  }
  bool yields_before(std::uint32_t a, std::uint32_t b) const override { return order_(all_[a], all_[b]); }
  void free(std::uint32_t candidate, int sign) override { of_.free(all_[candidate], sign); }

  QueueId own_queue() const { return preemptor_.queue; }

  Yielder& operator[](std::uint32_t candidate) { return all_[candidate]; }

 private:
  void offer(WorkloadId id, bool holder) {
    const WorkloadState& w = state_.workloads[id.index()];
    const Yielder who{id, YieldCause::kWithinQueue, holder};
    if (w.queue != preemptor_.queue) {
      if (!state_.quota.parent(preemptor_.queue).valid()) return;
      if (state_.quota.root(w.queue) != state_.quota.root(preemptor_.queue)) return;
      if (!FairOrder::borrows(state_.quota, w.queue, of_.short_pairs)) return;
    }
    if (!uses_any(state_, who, of_.short_pairs) || !may_yield(state_, who, preemptor_, of_.more_at)) return;
    waiting_[w.queue].push_back(static_cast<std::uint32_t>(all_.size()));
    all_.push_back(who);
  }

  const QuotaVictims& of_;
  State& state_;
  const WorkloadState& preemptor_;
  const PreemptionPolicy& policy_;
  YieldOrder order_;
  std::vector<Yielder> all_;
  std::map<QueueId, std::vector<std::uint32_t>> waiting_;
};

}  // namespace

std::optional<std::vector<Yielder>> QuotaVictims::fair() const {
  WholeWorkloads candidates(*this);
  FairOrder order(state, preemptor, request, short_pairs, candidates);
  std::vector<std::uint32_t> taken;
  bool found = false;
  while (!found) {
    const FairOrder::Turn turn = order.next();
    if (turn.candidate == FairCandidates::kNone) break;
    candidates[turn.candidate].cause = turn.cause;
    candidates.free(turn.candidate, -1);
    taken.push_back(turn.candidate);
    found = fits(true);
  }
  if (!found) {
    for (auto it = taken.rbegin(); it != taken.rend(); ++it) candidates.free(*it, +1);
    return std::nullopt;
  }
  // Gives back the candidates that `may` names, from the last to the first, as long as it still fits; the others stay in order.
  const auto shortened = [&](auto&& may) {
    std::vector<std::uint32_t> kept = taken;
    for (std::size_t i = kept.size(); i-- > 0;) {
      if (!may(kept[i])) continue;
      candidates.free(kept[i], +1);
      if (fits(true)) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        candidates.free(kept[i], -1);
      }
    }
    return kept;
  };
  const auto own = [&](std::uint32_t i) { return candidates.queue_of(i) == candidates.own_queue(); };
  std::vector<std::uint32_t> kept = shortened([](std::uint32_t) { return true; });
  bool legal = order.legal(kept);
  if (!legal) {
    // The others count on the end of work of the preemptor's own queue that is not needed: that instead of them?
    for (const std::uint32_t i : taken) {
      if (std::find(kept.begin(), kept.end(), i) == kept.end()) candidates.free(i, -1);
    }
    taken = shortened([&](std::uint32_t i) { return !own(i); });
    kept = shortened(own);
    legal = order.legal(kept);
  }
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) candidates.free(*it, +1);
  if (!legal) return std::nullopt;
  std::vector<Yielder> out;
  for (const std::uint32_t i : kept) out.push_back(candidates[i]);
  return out;
}

}  // namespace berth::engine
