#include "engine/decide/strict_heads.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/decide/shortage.h"
#include "engine/preempt/quota_only/flavor_choice.h"

namespace berth::engine {

void Kept::charge(State& state, int sign) const {
  state.quota.add(queue, pair, sign * amount[kNow], kNowBit);
  state.quota.add(queue, pair, sign * amount[kAfter], kAfterBit);
}

// The first class of a strict queue, tried already or not.
ClassId StrictHeads::head_of(QueueId queue) {
  return state_.pending.strict_head(queue, [&](ClassId id) {
    return stands_aside(state_, state_.workloads[state_.pending.at(id).members.begin()->workload.index()]);
  });
}

// The present request of the head of a strict queue.
const Asked& StrictHeads::asked_by_head(ClassId head) {
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
  asked.height = borrowing_height(state_, w);  // as it stands in line
  asked.borrows = state_.quota.reach(w.queue, asked.items, 1) > 0;
  return asked;
}

bool StrictHeads::goes_before(ClassId a, std::int64_t a_height, ClassId b, std::int64_t b_height) {
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

std::vector<Kept> StrictHeads::reserved_from(ClassId id, std::int64_t height) {
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
      kept.charge(state_, +1);  // what is kept for one is not there for the next
      out.push_back(kept);
    }
  }
  for (const Kept& kept : out) kept.charge(state_, -1);
  return out;
}

// Less is reserved if the head has changed, lacks no quota any more, or stands behind them now. Missing quota is checked anew,
// because the search of the head may have stopped at nodes.
void StrictHeads::wake_kept_out() {
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
    const auto kept =
        reserved_from(id, borrowing_height(state_, state_.workloads[c.members.begin()->workload.index()]));
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
