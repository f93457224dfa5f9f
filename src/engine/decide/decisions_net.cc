// Starts of the same decide() that are taken back (decisions.h).
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "engine/decide/decisions.h"
#include "engine/decide/shortage.h"
#include "engine/decide/turns.h"
#include "engine/state/bands.h"
#include "engine/state/limits.h"

namespace berth::engine {
namespace {

// It holds room that is about to be free anyway: nothing has yielded for it.
bool waits_for_room(const WorkloadState& w) {
  return w.held() > 0 && w.hold_cause == ReasonCode::kReleasingRoom;
}

}  // namespace

bool Decisions::takes_nothing(WorkloadId id) const {
  return state_.done.is(id, Done::kYielded) || state_.done.is(id, Done::kSettled) ||
         begun_.count(id.value) > 0;
}

// Told of slots that are to start, with what they charge charged.
void Decisions::note_begun(WorkloadId id, Begun& begun, bool is_new, const std::vector<PlacedSlot>& placed) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (is_new) {
    begun.ran = w.running() > 0;
    begun.progress = w.progress;
    begun.took_at = w.takings.at;
    begun.priority = claim_of(w).priority;
    state_.done.note(id, begun.ran ? Done::kSettled : Done::kBegun);
  }
  if (begun.decisions.empty() || begun.decisions.back() != begun.start)
    begun.decisions.push_back(begun.start);
  bool borrows = false;
  for (const PlacedSlot& p : placed) {
    begun.slots.emplace_back(p.set, p.slot);
    borrows = borrows || state_.quota.reach(w.queue, state_.charges[p.charge].quota, 0) > 0;
  }
  if (borrows && !std::exchange(begun.borrows, true)) borrowers_.push_back(id);
}

void Decisions::end_start(WorkloadId id) {
  if (const auto it = begun_.find(id.value); it != begun_.end()) it->second.stretch = 0;
}

// These slots of a started workload have not started, or all of it. `freed`: planes that a kept trial has freed already. Or its hold of this
// decide() has not been: what it stands behind has not started. Nothing has yielded for that hold, or the start would be settled.
void Decisions::cancel(WorkloadId id, PlaneMask freed, const SlotNames& part) {
  WorkloadState& w = state_.workloads[id.index()];
  if (begun_.count(id.value) == 0) {
    release_hold(id, {ReasonCode::kHoldBroken, "", "", 0, 0, 0, {}}, 0);
    drop_ended_hold(id);
    state_.done.note(id, Done::kYielded);
    state_.news.taken_back = true;
    return;
  }
  Begun& begun = begun_.at(id.value);
  const SlotNames slots = part.empty() ? SlotNames(begun.slots.begin(), begun.slots.end()) : part;
  for (const auto& [s, i] : slots) {
    state_.move_slot(id, s, i, SlotState::kWaiting, 0, freed);
    begun.slots.erase(std::remove(begun.slots.begin(), begun.slots.end(), SlotName(s, i)), begun.slots.end());
    for (const std::size_t at : begun.decisions) {
      std::erase_if(out_[at].slots, [&](const SlotPlacement& p) {
        return p.pod_set == static_cast<std::int64_t>(s) && p.index == static_cast<std::int64_t>(i);
      });
    }
  }
  const std::size_t first = begun.decisions.front();
  state_.stats.slots_started -= static_cast<std::int64_t>(slots.size());
  for (const std::size_t at : begun.decisions) {
    Decision& d = out_[at];
    std::erase_if(d.flavors, [&](const FlavorChoice& f) {
      return std::none_of(d.slots.begin(), d.slots.end(),
                          [&](const SlotPlacement& p) { return p.pod_set == f.pod_set; });
    });
    if (d.slots.empty()) --state_.stats.starts;
  }
  begun.decisions.erase(std::remove_if(begun.decisions.begin(), begun.decisions.end(),
                                       [&](std::size_t at) { return out_[at].slots.empty(); }),
                        begun.decisions.end());
  if (!begun.ran && w.running() == 0) {  // as if it had never been
    w.started = 0;
    w.progress = begun.progress;
    w.takings.at = begun.took_at;
  }
  state_.done.note(id, Done::kYielded);
  if (state_.queues[w.queue.index()].spec.order == QueueOrder::kStrict) passed_.emplace_back(w.queue, first);
  if (is_limited(state_, w)) {
    state_.news.freed_limit = true;
    passed_.emplace_back(QueueId(), 0);
  }
  begun.stretch = 0;
  order_changed_ = state_.news.taken_back = true;
  if (begun.slots.empty()) {
    if (begun.borrows) std::erase(borrowers_, id);
    begun_.erase(id.value);
  }
  state_.settle(id);
  state_.changed(id);
}

// The starts and the holds of this decide() in the queue after that place in out_, in their order.
std::vector<std::pair<std::size_t, WorkloadId>> Decisions::begun_behind(QueueId queue,
                                                                        std::size_t first) const {
  std::vector<std::pair<std::size_t, WorkloadId>> behind;
  for (const auto& [id, begun] : begun_) {
    if (state_.workloads[id].queue == queue && begun.decisions.front() > first)
      behind.emplace_back(begun.decisions.front(), WorkloadId(id));
  }
  for (const auto& [id, at] : held_at_) {
    if (waits_for_room(state_.workloads[id]) && state_.workloads[id].queue == queue && at > first)
      behind.emplace_back(at, WorkloadId(id));
  }
  std::sort(behind.begin(), behind.end());
  return behind;
}

// The starts and the holds of this decide() that have passed work of their strict queue which stands aside no more, in their order. Growth
// passes any.
std::vector<WorkloadId> Decisions::passers() const {
  std::map<QueueId, std::vector<ClassId>> blocking;
  std::vector<std::pair<std::size_t, WorkloadId>> passing;
  const auto look_at = [&](std::uint32_t number, std::int64_t priority, std::size_t at) {
    const WorkloadState& w = state_.workloads[number];
    const auto [it, is_new] = blocking.try_emplace(w.queue);
    if (is_new) it->second = blocks_again(state_, w.queue);
    const auto is_passed = [&](const ClassId by) {
      return state_.pending.in_front(by, w.lane, priority, w.in_line);
    };
    if (std::any_of(it->second.begin(), it->second.end(), is_passed))
      passing.emplace_back(at, WorkloadId(number));
  };
  for (const auto& [number, begun] : begun_) {
    if (!begun.ran) look_at(number, begun.priority, begun.decisions.front());
  }
  for (const auto& [number, at] : held_at_) {
    const WorkloadState& w = state_.workloads[number];
    if (waits_for_room(w) && w.running() == 0) look_at(number, saturating_add(w.priority, w.held_band), at);
  }
  std::sort(passing.begin(), passing.end());
  std::vector<WorkloadId> out;
  for (const auto& [at, id] : passing) out.push_back(id);
  return out;
}

// If a start is taken back, starts behind it in the same strict queue are taken back too. So are starts that have their places by it,
// and starts that have passed work because of it.
void Decisions::cancel_behind(const Chosen& may_lean) {
  do {
    while (!passed_.empty()) {
      const auto [queue, first] = passed_.back();
      passed_.pop_back();
      if (queue.valid()) {
        for (const auto& [at, id] : begun_behind(queue, first)) cancel(id, 0);
        continue;
      }
      for (const WorkloadId id : passers()) cancel(id, 0);
    }
  } while (cancel_leaning(may_lean));
}

std::vector<Slot> Decisions::begun_places(WorkloadId id) const {
  const WorkloadState& w = state_.workloads[id.index()];
  std::vector<Slot> slots;
  for (const auto& [s, i] : begun_.at(id.value).slots) slots.push_back(w.sets[s].slots[i]);
  return slots;
}

bool Decisions::begun_in_turn(WorkloadId id) const {
  return !state_.accounts.counted().any() || state_.accounts.fit_in_turn(begun_places(id), Mode::kStart);
}

// The first of these starts whose terms about other pods no longer hold. Or the first of those that are near to each other alone.
std::optional<WorkloadId> Decisions::first_leaning(const Chosen& among) const {
  Counted& counted = state_.accounts.counted();
  if (!counted.any()) return std::nullopt;
  std::vector<std::pair<std::size_t, WorkloadId>> starts;
  for (const auto& [number, begun] : begun_) {
    if (among(WorkloadId(number))) starts.emplace_back(begun.decisions.front(), WorkloadId(number));
  }
  std::sort(starts.begin(), starts.end());
  std::vector<std::vector<Counted::Place>> places;
  for (const auto& [at, id] : starts) {
    const std::vector<Slot> slots = begun_places(id);
    if (!terms_hold(state_, slots)) return id;
    places.emplace_back();
    for (const Slot& slot : slots) {
      const CountedId part = state_.shape_of(slot.charge).counted;
      if (part.valid() && !state_.nodes.is_opaque(slot.node)) places.back().emplace_back(slot.node, part);
    }
  }
  const std::vector<std::size_t> never = never_in_turn(counted, places, kNowBit, false);
  return never.empty() ? std::nullopt : std::optional(starts[never.front()].second);
}

// False: there is none.
bool Decisions::cancel_leaning(const Chosen& among) {
  const auto first = first_leaning(among);
  if (first) cancel(*first, 0);
  return first.has_value();
}

std::optional<std::vector<WorkloadId>> Decisions::going_with(const std::vector<WorkloadId>& all,
                                                             WorkloadId id,
                                                             const std::vector<PlacedSlot>& placed) {
  const auto is_limited_start = [&](const auto& begun) {
    return is_limited(state_, state_.workloads[begun.first]);
  };
  if (!state_.accounts.counted().any() && std::none_of(begun_.begin(), begun_.end(), is_limited_start))
    return all;
  std::vector<WorkloadId> gone = all;
  std::size_t seen = 0;
  const auto stays = [&](WorkloadId other) {
    return std::find(gone.begin(), gone.end(), other) == gone.end();
  };
  // Holds that go leave room, and count nowhere else.
  const auto take_away = [&](WorkloadId other) {
    if (!stays(other) || begun_.count(other.value) == 0) return;
    charge_start(other, -1);
    gone.push_back(other);
  };
  // Those that would only stay by its own slots count as gone: they may be the ones that it is near to.
  const auto charge_placed = [&](int sign) {
    for (const PlacedSlot& p : placed)
      state_.accounts.try_charge(charged(state_.workloads[id.index()], p), kBothPlanes, sign);
  };
  charge_placed(-1);
  const QueueId own = state_.workloads[id.index()].queue;
  bool is_blocked = false;
  do {
    for (; seen < gone.size(); ++seen) {
      const WorkloadState& w = state_.workloads[gone[seen].index()];
      if (state_.queues[w.queue.index()].spec.order == QueueOrder::kStrict) {
        for (const auto& [at, other] : begun_behind(w.queue, begun_.at(gone[seen].value).decisions.front()))
          take_away(other);
      }
      if (!is_limited(state_, w)) continue;
      const std::vector<ClassId> passed = blocks_again(state_, own);
      const auto is_in_front = [&](const ClassId by) {
        return state_.pending.in_front(by, state_.workloads[id.index()].pending);
      };
      is_blocked = is_blocked || std::any_of(passed.begin(), passed.end(), is_in_front);
      for (const WorkloadId other : passers()) take_away(other);
    }
    if (const auto leaning = first_leaning(stays)) take_away(*leaning);
  } while (seen < gone.size());
  charge_placed(+1);
  // Work that goes with them may stand in front of it in its strict queue.
  const bool is_behind =
      state_.queues[own.index()].spec.order == QueueOrder::kStrict &&
      std::any_of(gone.begin() + static_cast<std::ptrdiff_t>(all.size()), gone.end(),
                  [&](const WorkloadId other) { return state_.workloads[other.index()].queue == own; });
  const bool stands = !is_behind && !is_blocked && stays(id) && terms_hold(state_, placed);
  for (std::size_t k = gone.size(); k-- > all.size();) charge_start(gone[k], +1);
  return stands ? std::optional(gone) : std::nullopt;
}

// Work yields, or starts to stay, beside all that has started by now. If any of that were taken back, it might not have to, or not be
// near to the pods that it must be near to.
void Decisions::settle_begun() {
  for (const auto& [id, begun] : begun_) state_.done.note(WorkloadId(id), Done::kSettled);
  begun_.clear();
  borrowers_.clear();
}

bool Decisions::started_now(const VictimPlan::Victim& victim) const {
  return !victim.holder && begun_.count(victim.workload.value) > 0;
}

bool Decisions::started_victims(const VictimPlan& plan) const {
  return std::any_of(plan.victims.begin(), plan.victims.end(),
                     [&](const VictimPlan::Victim& v) { return started_now(v); });
}

Decisions::SlotNames Decisions::slots_of(const VictimPlan::Victim& victim) const {
  if (!victim.whole) return victim.slots;
  SlotNames out;
  const WorkloadState& v = state_.workloads[victim.workload.index()];
  for (std::uint32_t s = 0; s < v.sets.size(); ++s)
    each_active(v.sets[s], [&](const Slot&, std::uint32_t i, std::int64_t) { out.emplace_back(s, i); });
  return out;
}

std::int64_t Decisions::take_back(const VictimPlan& plan) {
  if (!started_victims(plan)) return 0;
  state_.abandon();
  std::int64_t starts = 0;
  for (const VictimPlan::Victim& victim : plan.victims) {
    if (!started_now(victim)) continue;
    cancel(victim.workload, 0, slots_of(victim));
    ++starts;
  }
  cancel_behind([](const WorkloadId) { return true; });
  return starts;
}

// Room that others have given back by now may have been held meanwhile. A hold that has ended without effect is not told: no work has
// yielded for it, and no decision may rest on it.
void Decisions::drop_holds_without_effect() {
  for (std::size_t k = 0; k < out_.size(); ++k) {
    if (out_[k].kind != DecisionKind::kReleaseHold || out_[k].slots.empty()) continue;
    const WorkloadId id = *state_.find_workload(out_[k].workload);
    if (held_at_.contains(id.value) && held_at_.at(id.value) < k && !some_yielded(id) &&
        !was_needed(state_.workloads[id.index()].queue, held_at_.at(id.value)))
      drop_ended_hold(id);
  }
}

// Decisions of which nothing is left are none.
std::vector<Decision> Decisions::net() {
  if (hold_ended_ && gave_back_) drop_holds_without_effect();
  std::erase_if(out_, [](const Decision& d) { return d.slots.empty(); });
  if (order_changed_) put_in_turn(state_, out_);
  return std::move(out_);
}

bool Decisions::borrows_from(WorkloadId id, const WorkloadState& w, std::span<const QuotaItem> asked) const {
  const WorkloadState& v = state_.workloads[id.index()];
  if (v.queue == w.queue || state_.quota.root(v.queue) != state_.quota.root(w.queue)) return false;
  std::vector<QueueId> chain;
  for (QueueId at = w.queue; at.valid(); at = state_.quota.parent(at)) chain.push_back(at);
  const auto borrowed = [&](FlavorResource pair) {
    for (QueueId at = v.queue; std::find(chain.begin(), chain.end(), at) == chain.end();
         at = state_.quota.parent(at)) {
      if (!state_.quota.borrows(at, pair)) return false;
    }
    return true;
  };
  for (const auto& [s, i] : begun_.at(id.value).slots) {
    for (const QuotaItem& item : state_.charges[v.sets[s].slots[i].charge].quota) {
      const bool wanted = std::any_of(asked.begin(), asked.end(),
                                      [&](const QuotaItem& other) { return other.pair == item.pair; });
      if (wanted && item.amount > 0 && borrowed(item.pair)) return true;
    }
  }
  return false;
}

void Decisions::charge_start(WorkloadId id, int sign) {
  const WorkloadState& v = state_.workloads[id.index()];
  for (const auto& [s, i] : begun_.at(id.value).slots) {
    const Slot& slot = v.sets[s].slots[i];
    state_.accounts.try_charge(charged(v, slot), kBothPlanes, sign);
  }
}

// With its slots charged: is no node, device, queue or limit of it beyond what it has?
bool Decisions::start_fits(WorkloadId id) const {
  const WorkloadState& v = state_.workloads[id.index()];
  const auto& slots = begun_.at(id.value).slots;
  const bool fits = std::all_of(slots.begin(), slots.end(), [&](const auto& name) {
    const Charged slot = charged(v, v.sets[name.first].slots[name.second]);
    return !state_.accounts.overdrawn_on_node(slot, Mode::kStart) &&
           !state_.accounts.overdraws_a_queue(slot, Mode::kStart);
  });
  return fits && begun_in_turn(id);
}

// Those that do not go stand by the starts before them, whatever the slots that come behind them do to their spreads.
void Decisions::cancel_starts(const std::vector<WorkloadId>& going, std::size_t all, PlaneMask freed) {
  for (std::size_t k = 0; k < all; ++k) cancel(going[k], freed);
  cancel_behind(
      [&](const WorkloadId id) { return std::find(going.begin(), going.end(), id) != going.end(); });
}

}  // namespace berth::engine
