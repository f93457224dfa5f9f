// The decisions of one decide() are net. A start that was not announced yet is taken back instead of evicted:
//
//   victims    A workload that started in this decide(), and becomes a victim in it, has not started. The search begins anew without
//              it: a queue that would borrow by that start alone has nothing to give back.
//   own quota  Work that fits within its own queue's quota, but finds no room for its least, gets the room of work that started or
//              grew in this decide() on borrowed quota, whatever the policies say. It would have gone first if it had been tried
//              first. So work within its own quota goes before work that borrows over the whole round, and not only among the heads
//              of queues. Within a queue its order stays.
//
// Rules for the rest of the same decide(), so that no cycle of rights closes in it:
//   - Work that lost a start preempts nothing, and waits for no room that is about to be free. It starts in free room, or is tried
//     again at the next decide(). The same holds for work that has started in it and would grow.
//   - Work that lost slots does not grow.
//   - Work that got a hold, started from one, or grew cannot be evicted. The same holds for work that started before an eviction in
//     it, since the eviction was needed beside that start.
//   - A hold that becomes a start is reported as a start only.
//
// Cost: nothing where nothing borrows. Otherwise, for work that could be within its own quota, one search for places; if that finds
// none O(log n) of them, for the n starts on borrowed quota.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "engine/decide/decide.h"
#include "engine/preempt/rights/force.h"
#include "engine/preempt/with_places/assignments.h"
#include "engine/state/bands.h"

namespace berth::engine {

// In this decide() it starts where there is room, and takes nothing.
bool Decider::takes_nothing(WorkloadId id) const {
  return state_.is_done(id, State::kYielded) || state_.is_done(id, State::kSettled) ||
         begun_.count(id.value) > 0;
}

// Told of slots that are to start, with what they charge charged.
void Decider::note_begun(WorkloadId id, const std::vector<PlacedSlot>& placed, std::size_t at) {
  WorkloadState& w = state_.workloads[id.index()];
  const auto [it, is_new] = begun_.try_emplace(id.value);
  Begun& begun = it->second;
  if (is_new) {
    begun.ran = w.running() > 0;
    begun.progress = w.progress;
    begun.took_at = w.took_at;
    state_.note_done(id, begun.ran ? State::kSettled : State::kBegun);
  }
  if (begun.decisions.empty() || begun.decisions.back() != at) begun.decisions.push_back(at);
  bool borrows = false;
  for (const PlacedSlot& p : placed) {
    begun.slots.emplace_back(p.set, p.slot);
    borrows = borrows || state_.quota.reach(w.queue, state_.charges[p.charge].quota, 0) > 0;
  }
  if (borrows && std::find(borrowers_.begin(), borrowers_.end(), id) == borrowers_.end())
    borrowers_.push_back(id);
}

// These slots of a started workload have not started. `freed`: planes that a kept trial has freed already.
void Decider::cancel(WorkloadId id, const SlotNames& slots, PlaneMask freed) {
  WorkloadState& w = state_.workloads[id.index()];
  Begun& begun = begun_.at(id.value);
  for (const auto& [s, i] : slots) {
    state_.move_slot(id, s, i, SlotState::kWaiting, 0, freed);
    std::erase(begun.slots, std::pair(s, i));
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
  std::erase_if(begun.decisions, [&](std::size_t at) { return out_[at].slots.empty(); });
  if (!begun.ran && w.running() == 0) {  // as if it had never been
    w.started = 0;
    w.progress = begun.progress;
    w.took_at = begun.took_at;
  }
  state_.note_done(id, State::kYielded);
  if (state_.queues[w.queue.index()].spec.order == QueueOrder::kStrict) passed_.emplace_back(w.queue, first);
  if (begun.slots.empty()) {
    begun_.erase(id.value);
    std::erase(borrowers_, id);
  }
  fresh_.erase(id.value);
  state_.settle(id);
  state_.changed(id);
}

// If a start is taken back, starts behind it in the same strict queue are taken back too.
void Decider::cancel_behind() {
  while (!passed_.empty()) {
    const auto [queue, first] = passed_.back();
    passed_.pop_back();
    std::vector<std::pair<std::size_t, WorkloadId>> behind;
    for (const auto& [id, begun] : begun_) {
      if (state_.workloads[id].queue == queue && begun.decisions.front() > first)
        behind.emplace_back(begun.decisions.front(), WorkloadId(id));
    }
    std::sort(behind.begin(), behind.end());
    for (const auto& [at, id] : behind) cancel(id, SlotNames(begun_.at(id.value).slots), 0);
  }
}

// Work yields beside all that has started by now: if any of that were taken back, it might not have to.
void Decider::settle_begun() {
  for (const auto& [id, begun] : begun_) state_.note_done(WorkloadId(id), State::kSettled);
  begun_.clear();
  borrowers_.clear();
}

// Starts that were taken back for it give it room, and no rights: the search begins anew without them. A workload takes back in one
// attempt of a decide() only.
void Decider::attempt(ClassId class_id) {
  const WorkloadId id = state_.pending.at(class_id).members.begin()->workload;
  took_back_ = 0;
  std::int64_t before = 0;
  do {
    before = took_back_;
    attempt_once(class_id, id);
  } while (took_back_ > before && state_.pending.at(class_id).members.begin()->workload == id);
  if (std::exchange(took_back_, 0) > 0) state_.note_done(id, State::kYielded);
}

// Of these victims, what started in this decide() did not. False: none did, and the trial stands.
bool Decider::take_back(const VictimPlan& plan) {
  const auto started_now = [&](const VictimPlan::Victim& v) {
    return !v.holder && begun_.count(v.workload.value) > 0;
  };
  if (std::none_of(plan.victims.begin(), plan.victims.end(), started_now)) return false;
  state_.abandon();
  for (const VictimPlan::Victim& victim : plan.victims) {
    if (!started_now(victim)) continue;
    SlotNames back = victim.slots;
    if (victim.whole) {
      back.clear();
      const WorkloadState& v = state_.workloads[victim.workload.index()];
      for (std::uint32_t s = 0; s < v.sets.size(); ++s)
        each_active(v.sets[s], [&](const Slot&, std::uint32_t i, std::int64_t) { back.emplace_back(s, i); });
    }
    cancel(victim.workload, back, 0);
    ++took_back_;
  }
  cancel_behind();
  return true;
}

// Decisions of which nothing is left are none.
std::vector<Decision> Decider::net() {
  std::erase_if(out_, [](const Decision& d) { return d.slots.empty(); });
  return std::move(out_);
}

// ------------------------------------------------------------------------------------------------------------ own quota

// Whether all pods of this assignment stay within the queue's own quota.
bool Decider::is_within_own(const WorkloadState& w, const Assignment& assignment,
                            const std::vector<std::int64_t>& needs, std::vector<QuotaItem>& asked) const {
  asked.clear();
  for (std::size_t s = 0; s < assignment.size(); ++s) {
    if (!assignment[s].valid()) continue;
    for (const QuotaItem& item : state_.charges[assignment[s]].quota) {
      const std::int64_t amount = saturating_mul(item.amount, needs[s]);
      if (amount > 0) add_item(asked, item.pair, amount);
    }
  }
  return !asked.empty() && std::all_of(asked.begin(), asked.end(), [&](const QuotaItem& item) {
    return saturating_add(state_.quota.usage(w.queue, item.pair, kAfter), item.amount) <=
           state_.quota.subtree(w.queue, item.pair);
  });
}

// Does it, in another queue of the tree, run on borrowed quota of a pair that is asked for, from its queue up to below the common
// ancestor?
bool Decider::borrows_from(WorkloadId id, const WorkloadState& w, std::span<const QuotaItem> asked) const {
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

void Decider::charge_begun(WorkloadId id, int sign) {
  const WorkloadState& v = state_.workloads[id.index()];
  for (const auto& [s, i] : begun_.at(id.value).slots) {
    const Slot& slot = v.sets[s].slots[i];
    state_.accounts.try_charge(charged(v, slot), kBothPlanes, sign);
  }
}

// With its slots charged: is no node, device, queue or lane of it beyond what it has?
bool Decider::begun_fits(WorkloadId id) const {
  const WorkloadState& v = state_.workloads[id.index()];
  const SlotNames& slots = begun_.at(id.value).slots;
  return std::all_of(slots.begin(), slots.end(), [&](const auto& name) {
    const Charged slot = charged(v, v.sets[name.first].slots[name.second]);
    return !state_.accounts.overdrawn_on_node(slot, Mode::kStart) &&
           !state_.accounts.overdraws_a_queue(slot, Mode::kStart);
  });
}

bool Decider::take_from_borrowers(WorkloadId id, Budget& steps) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (borrowers_.empty() || state_.is_done(id, State::kYielded) || grows(w)) return false;
  const std::vector<std::int64_t> needs = needs_of(w, Ask::kLeast);
  Assignments all(state_, w, needs, steps);
  std::vector<QuotaItem> asked;
  bool looked = false;  // whether it starts as things are
  while (const Assignment* assignment = all.next()) {
    if (!is_within_own(w, *assignment, needs, asked)) continue;
    std::vector<WorkloadId> from;  // the last one that started first
    for (std::size_t k = borrowers_.size(); k-- > 0;) {
      if (!steps.spend()) return false;
      if (borrows_from(borrowers_[k], w, asked)) from.push_back(borrowers_[k]);
    }
    if (from.empty()) continue;
    std::optional<Placer> placer;
    if (!std::exchange(looked, true)) {
      placer.emplace(state_, id, Mode::kStart, steps);
      const bool starts = placer->run();
      state_.abandon();
      if (starts) return false;
    }
    const auto to_start = [&](std::optional<Placer>& into) {
      into.emplace(state_, id, Mode::kStart, steps, assignment);
    };
    const auto starts_without = [&](std::size_t first) {
      state_.abandon();
      for (std::size_t k = 0; k < first; ++k) charge_begun(from[k], -1);
      if (!run_beside_kept(placer, id, Mode::kStart, to_start)) return false;
      return std::all_of(asked.begin(), asked.end(),
                         [&](const QuotaItem& item) { return !state_.quota.borrows(w.queue, item.pair); });
    };
    if (!starts_without(from.size())) continue;
    std::size_t too_few = 0;
    std::size_t enough = from.size();
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (starts_without(middle) ? enough : too_few) = middle;
    }
    if (!starts_without(enough)) break;
    from.resize(enough);
    for (std::size_t k = enough; k-- > 0;) {  // what can stay beside it does, the first one first
      charge_begun(from[k], +1);
      if (begun_fits(from[k])) {
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        charge_begun(from[k], -1);
      }
    }
    state_.commit();
    for (const WorkloadId borrower : from)
      cancel(borrower, SlotNames(begun_.at(borrower.value).slots), kBothPlanes);
    cancel_behind();
    start(id, placer->placed());
    return true;
  }
  state_.abandon();
  return false;
}

}  // namespace berth::engine
