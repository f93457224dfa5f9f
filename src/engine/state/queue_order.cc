// State's part in the order of queues (quota/fairness.h): what each has in use, and where it stands. Lanes: queue_lanes.h.
#include <algorithm>
#include <utility>

#include "engine/state/limits.h"
#include "engine/state/queue_lanes.h"
#include "engine/state/state.h"

namespace berth::engine {

void State::rebuild_fairness() {
  std::vector<Fairness::Node> rules(queues.size());
  std::vector<QueueId> parents(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const Queue& spec = queues[i].spec;
    rules[i] = {spec.sharing, spec.half_life, spec.weight, spec.priority, spec.ranks_within_quota};
    parents[i] = quota.parent(QueueId(i));
  }
  fairness.rebuild(std::move(rules), pairs.resource_numbers(), now);
  next_lane_tick_ = kEndOfTime;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    queues[i].lanes.set_rules(queues[i].spec.lanes, now,
                              [this](const std::string& name) { return pairs.resource_number(name); });
    limit_lanes(*this, QueueId(i));
  }
  pending.set_tree(std::move(parents));
  for (std::size_t i = 0; i < queues.size(); ++i)
    next_lane_tick_ = std::min(next_lane_tick_, order_lanes(*this, QueueId(i)));
  limit_firm(*this);
}

ChargeId State::likely_choice(const WorkloadState& w, std::span<const ChargeId> choices,
                              std::int64_t count) const {
  if (choices.size() == 1) return choices.front();
  const bool past_borrowing = queues[w.queue.index()].spec.flavor_search.past_borrowing;
  ChargeId best;
  ChargeId possible;  // in an empty cluster
  std::int64_t least = kInt64Max;
  for (const ChargeId choice : choices) {
    const auto& items = charges[choice].quota;
    if (!fits(w, items, count, Mode::kPlan)) {
      if (!possible.valid() && std::all_of(items.begin(), items.end(), [&](const QuotaItem& item) {
            return saturating_mul(item.amount, count) <= quota.potential(w.queue, item.pair);
          }))
        possible = choice;
      continue;
    }
    if (!past_borrowing) return choice;
    const std::int64_t height = quota.reach(w.queue, items, count);
    if (height < least) {
      least = height;
      best = choice;
    }
  }
  if (best.valid()) return best;
  return possible.valid() ? possible : choices.front();
}

// The least charge of a start of the class's first workload, in the flavors that it would get now. If its choice depends on the use
// of others, no event reports a change; so it is computed again whenever it matters (Attempt::may_try).
bool State::renew_ask(ClassId id) {
  Pending::Class& c = pending.at(id);
  if (c.members.empty()) return false;  // it is leaving the line
  const WorkloadState& w = workloads[c.members.begin()->workload.index()];
  if (!fairness.counts_above(w.queue) || (c.ask_version == config_version && !c.ask_may_change)) return false;
  c.ask_version = config_version;
  c.ask_may_change = false;
  const std::vector<QuotaItem> before = std::exchange(c.ask, {});
  for (const auto& set : w.sets) {
    const std::vector<ChargeId> all = choices(set);
    if (all.empty() || set.waiting == 0) continue;
    c.ask_may_change = c.ask_may_change || all.size() > 1;
    const std::int64_t least = std::max<std::int64_t>(1, set.least - set.active);
    for (const QuotaItem& item : charges[likely_choice(w, all, least)].quota)
      add_item(c.ask, item.pair, saturating_mul(item.amount, least));
  }
  return c.ask != before;
}

Share State::share_of(QueueId queue, ClassId candidate) {
  const Pending::Class& c = pending.at(candidate);
  // Once on the way up, so that all levels use the same value.
  if (c.ask_version != config_version || queue == c.queue) renew_ask(candidate);
  if (!fairness.counts(queue)) return {};
  Share share = fairness.share(queue, c.queue, c.ask);
  // A request that would not borrow goes first, whatever else its queue has borrowed.
  const Queue& above = queues[quota.parent(queue).index()].spec;
  if (above.sharing == Sharing::kDominantShare) {
    const bool borrows = std::any_of(c.ask.begin(), c.ask.end(), [&](const QuotaItem& item) {
      const std::int64_t more = quota.passed_up_more(c.queue, queue, item.pair, item.amount);
      return saturating_add(quota.usage(queue, item.pair, kAfter), more) > quota.subtree(queue, item.pair);
    });
    if (share.over && !borrows && above.ranks_within_quota)
      share = fairness.share(queue, c.queue, c.ask, true);
    share.over = borrows;
  }
  return share;
}

void State::touch_queue(QueueId queue) {
  if (!fairness.counts_above(queue) && !queues[queue.index()].lanes.ordered()) return;
  touched_.add(queue);
}

void State::reorder_queues() {
  for (const QueueId queue : touched_.take()) {
    fairness.note_use(queue, now);
    pending.refresh(queue);
    if (queues[queue.index()].lanes.ordered())
      next_lane_tick_ = std::min(next_lane_tick_, order_lanes(*this, queue));
  }
  if (now >= next_lane_tick_) {
    next_lane_tick_ = kEndOfTime;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (queues[i].lanes.ordered())
        next_lane_tick_ = std::min(next_lane_tick_, order_lanes(*this, QueueId(i)));
    }
  }
  if (fairness.advance(now)) pending.refresh_all();
}

bool State::fits(const WorkloadState& w, std::span<const QuotaItem> items, std::int64_t count,
                 Mode mode) const {
  if (!quota.fits(w.queue, items, count, mode)) return false;
  return !is_limited(*this, w) || std::all_of(items.begin(), items.end(), [&](const QuotaItem& item) {
    return saturating_mul(item.amount, count) <= limit_room(*this, w, item.pair, mode) || item.amount == 0;
  });
}

std::int64_t State::lane_room(const WorkloadState& w, FlavorResource pair, Mode mode) const {
  return accounts.limits(w.queue).room(w.lane, pair, mode);
}

// ----------------------------------------------------------------------------------------------------------- aged work

// `lacks_room`: some slot lacks room. Work that waits to grow has room; work with a hold has none yet. If such work aged only when
// it is back in line, it would take the room back from the work that it let pass.
void State::grow_older(WorkloadId id, bool lacks_room) {
  WorkloadState& w = workloads[id.index()];
  Progress& p = w.progress;
  const DurationMs limit = age_limit(queues[w.queue.index()].spec.ordering, w.expected);
  const bool waits = lacks_room && w.running() == 0 && limit > 0;
  const DurationMs ran = p.run_began > 0 ? std::max<DurationMs>(0, now - p.run_began) : 0;  // not noted yet
  const TimeMs since = saturating_add(p.waits_since, ran);
  const auto next = [&] {
    return waits ? saturating_add(since,
                                  saturating_mul(limit, std::int64_t{1} << std::min<std::int64_t>(p.age, 62)))
                 : kEndOfTime;
  };
  while (next() <= now) ++p.age;
  const TimeMs at = next();
  line_up_aged(id, waits && p.age > 0);
  if (w.aged_at == at) return;
  if (w.aged_at != kEndOfTime) ages_.erase({w.aged_at, id});
  w.aged_at = at;
  if (at != kEndOfTime) ages_.emplace(at, id);
}

void State::line_up_aged(WorkloadId id, bool waits) {
  WorkloadState& w = workloads[id.index()];
  std::optional<Aged> place;
  const Ordering& ordering = queues[w.queue.index()].spec.ordering;
  if (waits) {
    const std::int64_t key = order_key(ordering, w.progress, w.restart, w.expected, 0, w.progress.since);
    place = Aged{ordering.priority_first ? -w.priority : 0, -w.progress.age, key, w.came(), w.arrival, id};
  }
  if (place == w.aged && (!place || w.aged_in == w.queue)) return;
  if (w.aged) {
    QueueState& before = queues[w.aged_in.index()];
    before.aged.erase(*w.aged);
    if (before.aged.empty()) aged_queues.erase(w.aged_in);
  }
  w.aged = place;
  w.aged_in = w.queue;
  if (!place) return;
  queues[w.queue.index()].aged.insert(*place);
  aged_queues.insert(w.queue);
}

void State::grow_old() {
  while (!ages_.empty() && ages_.begin()->first <= now) {
    settle(ages_.begin()->second);
  }
}

void State::give_turn(WorkloadId id) {
  workloads[id.index()].progress.old = true;
  settle(id);
  changed(id);
}

}  // namespace berth::engine
