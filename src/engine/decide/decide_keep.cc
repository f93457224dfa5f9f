// Reserves quota for the blocked head of a strict queue against work behind it in other queues of its tree, if its queue could not
// reclaim that quota. Otherwise others would borrow it again and again, and a strict queue without reclaim would starve.
//
//   holder   The first of a strict queue, below a parent, that may not reclaim any borrowed quota (Reclaim::kAny), while it lacks
//            quota that it could have, whatever else it lacks. Not below a queue whose children share by decayed use, because their
//            order changes with time.
//   amount   Each pair of its least charge. If it would not borrow: what is left of its queue's own nominal quota, as much as it
//            needs. If it would: all of it, up to its borrowing limit. Only the part that is available now.
//   against  Work behind it in the order across queues, not work in front. Such work starts, or holds room, only with the quota
//            that is left, and with the room of its own victims. Nothing is evicted to free reserved quota.
//
// Source: kubernetes-sigs/kueue, pkg/scheduler/scheduler.go (reserveCapacityForUnreclaimablePreempt, quotaResourcesToReserve).
// There every head reserves it for the cycle in which it is examined, and the head of a strict queue is examined in every cycle.
// The reservation of a BestEffortFIFO head, for one cycle only, is left out here. Kueue also reserves quota in use, so others may
// not even replace their own work.
// Cost: nothing for work that lacks quota anyway, which most waiting work does. For work that would start or hold room, O(keepers
// of its tree), and O(items x depth) for those that reserve; after a change of use the same for each class that is kept out.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/decide/decide.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/state/trial.h"

namespace berth::engine {

// The first class of a strict queue, tried already or not.
ClassId Decider::head_of(QueueId queue) {
  return state_.pending.strict_head(queue, [&](ClassId id) {
    return holds_up_nobody(state_.workloads[state_.pending.at(id).members.begin()->workload.index()]);
  });
}

// The present request of the head of a strict queue.
const Asked& Decider::asked_by_head(ClassId head) {
  Pending::Class& c = state_.pending.at(head);
  Asked& asked = c.why.asked;
  if (asked.as_of == state_.use_version) return asked;
  asked = {{}, 0, false, state_.use_version};
  const WorkloadState& w = state_.workloads[c.members.begin()->workload.index()];
  std::vector<QuotaItem> items;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    const PodSetState& set = w.sets[s];
    const std::vector<ChargeId> choices = choices_of(state_, w, s);
    const std::int64_t least = set.least - set.active;
    if (choices.empty() || set.waiting == 0 || least <= 0) continue;
    for (const QuotaItem& item : state_.charges[state_.likely_choice(w, choices, least)].quota) {
      if (item.amount > 0) add_item(items, item.pair, saturating_mul(item.amount, least));
    }
  }
  FlavorMode mode = FlavorMode::kFits;
  for (const QuotaItem& item : items)
    mode = std::min(mode, rate_quota(state_, w, item.pair, item.amount).mode);
  if (mode != FlavorMode::kPreempts) return asked;
  asked.items = std::move(items);
  asked.height = borrowing_height(w);  // as it stands in line
  asked.borrows = state_.quota.reach(w.queue, asked.items, 1) > 0;
  return asked;
}

bool Decider::goes_before(ClassId a, std::int64_t a_height, ClassId b, std::int64_t b_height) {
  const Pending::Class& x = state_.pending.at(a);
  const Pending::Class& y = state_.pending.at(b);
  if (a_height != b_height) return a_height < b_height;
  if (x.broken != y.broken) return x.broken;
  // Their queues, or those above them, that are siblings.
  std::vector<QueueId> above;
  for (QueueId at = y.queue; at.valid(); at = state_.quota.parent(at)) above.push_back(at);
  QueueId ours = x.queue;
  while (std::find(above.begin(), above.end(), state_.quota.parent(ours)) == above.end())
    ours = state_.quota.parent(ours);
  const auto common = std::find(above.begin(), above.end(), state_.quota.parent(ours));
  const Share share = state_.share_of(ours, a);
  const Share other = state_.share_of(*(common - 1), b);
  if (share != other) return share < other;
  return state_.pending.stands_before(a, b);
}

std::vector<Decider::Kept> Decider::kept_from(ClassId id, std::int64_t height) {
  std::vector<Kept> out;
  const QueueId mine = state_.pending.at(id).queue;
  if (state_.keepers.empty()) return out;
  const auto keepers = state_.keepers.find(state_.quota.root(mine));
  if (keepers == state_.keepers.end()) return out;
  // First all heads are checked for missing quota, before quota is reserved for any of them.
  std::vector<std::pair<QueueId, ClassId>> heads;
  for (const QueueId queue : keepers->second) {
    if (queue == mine) continue;
    const ClassId head = head_of(queue);
    if (!head.valid()) continue;
    const Asked& asked = asked_by_head(head);
    if (!asked.items.empty() && goes_before(head, asked.height, id, height)) heads.emplace_back(queue, head);
  }
  for (const auto& [queue, head] : heads) {
    const Asked& asked = state_.pending.at(head).why.asked;
    for (const QuotaItem& item : asked.items) {
      const std::int64_t use = state_.quota.usage(queue, item.pair, kAfter);
      std::int64_t most = saturating_sub(state_.quota.nominal(queue, item.pair), use);
      if (asked.borrows) {
        const auto limit = state_.quota.borrowing_limit(queue, item.pair);
        most = limit ? saturating_add(most, *limit) : kInt64Max;
      }
      Kept kept{queue, state_.pending.at(head).members.begin()->workload, item.pair, {}};
      for (const Plane plane : {kNow, kAfter}) {
        const std::int64_t there = state_.quota.available(queue, item.pair, plane);
        kept.amount[plane] = std::max<std::int64_t>(0, std::min({item.amount, most, there}));
      }
      if (kept.amount[kNow] == 0 && kept.amount[kAfter] == 0) continue;
      charge_kept(kept, +1);  // what is kept for one is not there for the next
      out.push_back(kept);
    }
  }
  for (const Kept& kept : out) charge_kept(kept, -1);
  return out;
}

void Decider::charge_kept(const Kept& kept, int sign) {
  state_.quota.add(kept.queue, kept.pair, sign * kept.amount[kNow], kNowBit);
  state_.quota.add(kept.queue, kept.pair, sign * kept.amount[kAfter], kAfterBit);
}

void Decider::charge_kept(int sign) {
  for (const Kept& kept : kept_) charge_kept(kept, sign);
}

// Finds the quota that is reserved against the attempted workload, whose places may be charged already.
void Decider::learn_kept(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode) {
  if (std::exchange(kept_known_, true) || state_.keepers.empty()) return;
  const auto charge = [&](int sign) {
    for (const PlacedSlot& p : placed) {
      for (const QuotaItem& item : state_.charges[p.charge].quota)
        state_.quota.add(w.queue, item.pair, sign * item.amount, planes_of(mode));
    }
  };
  charge(-1);
  kept_ = kept_from(attempted_, attempted_height_);
  charge(+1);
}

// With the places charged. Missing pairs go into short_beside_kept_.
bool Decider::stands_beside_kept(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode) {
  if (kept_.empty() && reserved_.empty()) return true;
  std::vector<QuotaItem> asked;
  for (const PlacedSlot& p : placed) {
    for (const QuotaItem& item : state_.charges[p.charge].quota) {
      if (item.amount > 0) add_item(asked, item.pair, item.amount);
    }
  }
  short_beside_kept_.clear();
  Trial trial(state_);
  charge_kept(+1);
  charge_reserved(+1);
  for (const QuotaItem& item : asked) {
    const std::int64_t left = state_.quota.available(w.queue, item.pair, mode);
    if (left >= 0) continue;
    short_beside_kept_.push_back({ReasonCode::kQuota,
                                  std::string(state_.resource_name(item.pair)),
                                  std::string(state_.flavor_name(item.pair)),
                                  item.amount,
                                  std::max<std::int64_t>(0, item.amount + left),
                                  0,
                                  {}});
  }
  const bool beside_reserved =
      reserved_.empty() || std::all_of(placed.begin(), placed.end(), [&](const PlacedSlot& p) {
        if (state_.accounts.overdrawn_on_node(charged(w, p), mode)) return false;
        const auto& items = state_.charges[p.charge].quota;
        return std::all_of(items.begin(), items.end(), [&](const QuotaItem& i) {
          return i.amount == 0 || state_.lane_room(w, i.pair, mode) >= 0;
        });
      });
  trial.rollback();
  charge_kept(-1);
  return short_beside_kept_.empty() && beside_reserved;
}

// Wakes classes against which less is reserved than when they were parked: the head has changed, lacks no quota any more, or stands
// behind them now. Missing quota is checked anew, because the search of the head may have stopped at nodes.
void Decider::wake_kept_out() {
  if (state_.pending.kept_out().empty()) return;
  bool other_heads = false;
  for (const auto& [root, queues] : state_.keepers) {
    for (const QueueId queue : queues) {
      const ClassId head = head_of(queue);
      const std::uint64_t now = head.valid() ? state_.pending.at(head).members.begin()->arrival : 0;
      other_heads = other_heads || state_.queues[queue.index()].kept_for != now;
      state_.queues[queue.index()].kept_for = now;
    }
  }
  if (!other_heads && state_.kept_as_of == state_.use_version) return;
  state_.kept_as_of = state_.use_version;
  const std::set<ClassId> all = state_.pending.kept_out();
  for (const ClassId id : all) {
    const Pending::Class& c = state_.pending.at(id);
    const auto kept = kept_from(id, borrowing_height(state_.workloads[c.members.begin()->workload.index()]));
    const bool same = std::all_of(c.why.kept.begin(), c.why.kept.end(), [&](const KeptBy& before) {
      return std::any_of(kept.begin(), kept.end(), [&](const Kept& now) {
        return now.queue == before.queue && now.pair == before.pair &&
               state_.workloads[now.by.index()].arrival == before.head;
      });
    });
    if (!same) state_.pending.wake(id);
  }
}

}  // namespace berth::engine
