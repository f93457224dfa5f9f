#include "engine/preempt/quota_only/quota_victims.h"

#include <algorithm>
#include <cstddef>

#include "engine/preempt/quota_only/classic_order.h"

namespace berth::engine {

bool shares_dominantly(const State& state, QueueId queue) {
  const QueueId parent = state.quota.parent(queue);
  return parent.valid() && state.queues[parent.index()].spec.sharing == Sharing::kDominantShare;
}

void QuotaVictims::restore(const std::vector<Yielder>& taken) const {
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) free(*it, +1);
}

// A victim never keeps a hold for growth.
void QuotaVictims::give_back(std::vector<Yielder>& taken, bool borrowing) const {
  const auto ends = [&](const Yielder& hold) {
    return hold.holder && std::any_of(taken.begin(), taken.end(), [&](const Yielder& who) {
             return !who.holder && who.workload == hold.workload;
           });
  };
  for (std::size_t i = taken.size(); i-- > 0;) {
    if (ends(taken[i])) continue;
    free(taken[i], +1);
    if (fits(borrowing)) {
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      free(taken[i], -1);
    }
  }
}

std::optional<std::vector<Yielder>> QuotaVictims::run() const {
  const QueueId queue = state.workloads[preemptor.index()].queue;
  if (shares_dominantly(state, queue)) return fair();
  return classic();
}

std::optional<std::vector<Yielder>> QuotaVictims::classic() const {
  const ClassicOrder order(state, preemptor, request, short_pairs);
  more_at = std::min(more_at, order.more_at());
  for (const bool borrowing : order.attempts()) {
    std::vector<Yielder> taken;
    const auto& all = order.candidates();
    for (std::size_t i = order.next(0, borrowing); i < all.size(); i = order.next(i + 1, borrowing)) {
      // Work that runs and holds room to grow is evicted only together with its hold.
      const Yielder& who = all[i].who;
      const auto its_hold = [&](const Yielder& other) {
        return other.holder && other.workload == who.workload;
      };
      if (!who.holder && state.workloads[who.workload.index()].held() > 0 &&
          std::none_of(taken.begin(), taken.end(), its_hold))
        continue;
      free(who, -1);
      taken.push_back(who);
      if (!fits(borrowing)) continue;
      give_back(taken, borrowing);
      // A preemptor that evicts only from its own queue may borrow: the limit to its own quota protects other queues, which lose
      // nothing here. Kueue would evict more than it needs.
      const bool own = std::all_of(taken.begin(), taken.end(), [&](const Yielder& y) {
        return state.workloads[y.workload.index()].queue == state.workloads[preemptor.index()].queue;
      });
      if (!borrowing && own) give_back(taken, true);
      restore(taken);
      return taken;
    }
    restore(taken);
  }
  return std::nullopt;
}

}  // namespace berth::engine
