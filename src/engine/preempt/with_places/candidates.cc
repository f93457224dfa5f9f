#include "engine/preempt/with_places/candidates.h"

#include <algorithm>
#include <utility>

namespace berth::engine {

Candidates::Candidates(State& state, UnitLists& lists, WorkloadId preemptor, const Wanted& wanted,
                       Budget& steps, For purpose)
    : state_(state),
      lists_(lists),
      id_(preemptor),
      w_(state.workloads[preemptor.index()]),
      wanted_(wanted),
      steps_(steps),
      purpose_(purpose),
      rights_(state, w_, wanted.quota, purpose == For::kTurns) {
  for (const ShapeId shape : wanted.shapes) state_.index(shape, Mode::kPlan);  // eligible() is asked of it
  open_lines();
}

// ------------------------------------------------------------------------------------------------------------ the policy

bool Candidates::still_borrows(std::uint32_t i) const {
  const Unit& unit = all_[i].unit;
  const QueueId queue = state_.workloads[unit.workload.index()].queue;
  ChargeId last;
  bool found = false;
  each_slot(unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
    if (found || slot.charge == last) return;
    last = slot.charge;
    for (const QuotaItem& item : state_.charges[slot.charge].quota)
      found = found || rights_.still_borrows(queue, item.pair);
  });
  return found;
}

// Does its end free anything that is asked for: room on a node, quota that is short, or a domain of a term? Pods that the preemptor
// must be near to are seldom a help.
bool Candidates::relevant(const Unit& unit) const {
  const Counted& terms = state_.accounts.counted();
  bool found = false;
  ChargeId last;
  // For the whole workload: its surplus is useful if its whole is.
  for (const PodSetState& set : state_.workloads[unit.workload.index()].sets) {
    for (const Slot& slot : set.slots) {
      if (found) return true;
      if (!takes_room(slot)) continue;
      if (slot.charge != last) {
        last = slot.charge;
        for (const QuotaItem& item : state_.charges[slot.charge].quota) {
          found = found || std::any_of(rights_.lacks().begin(), rights_.lacks().end(),
                                       [&](const QuotaItem& n) { return n.pair == item.pair; });
        }
      }
      for (const ShapeId shape : wanted_.shapes) {
        const ShapeEntry& entry = state_.shapes[shape];
        const CountedId ours = entry.shape.counted;
        const CountedId theirs = state_.shape_of(slot.charge).counted;
        const bool both = ours.valid() && theirs.valid();
        if (both && purpose_ != For::kNearby && terms.counts(ours, TermKind::kNear, theirs)) {
          nearby_ = true;
          return false;
        }
        found = found || entry.index[static_cast<std::size_t>(Mode::kPlan)]->eligible(slot.node) ||
                (both && terms.conflict(ours, theirs));
      }
    }
  }
  return found;
}

bool Candidates::accepts(Unit& unit, YieldCause cause) {
  steps_.spend();
  const WorkloadState& v = state_.workloads[unit.workload.index()];
  if (!v.used || v.arrival != unit.arrival || v.withdraw || unit.workload == id_) return false;
  if (!unit.holder && !unit.whole && !renew(unit, v)) return false;
  if (cause != YieldCause::kWithinQueue && unit.is_protected) return false;
  if (!unit.holder && unit.whole) {
    const auto parts = parts_.find(unit.workload.value);
    const bool hold_stays =
        v.held() > 0 && (parts == parts_.end() || !all_[parts->second.front()].unit.holder);
    if (v.running() == 0 || hold_stays) return false;
  }
  TimeMs from = rights_.yields_from(unit, cause);
  if (from == kEndOfTime || !relevant(unit)) return false;
  if (!unit.holder && rights_.is_too_slow(v.restart.grace)) {
    slow_ = true;
    return false;
  }
  TimeMs minimum = kEndOfTime;
  if (unit.whole && !unit.holder && !ran_its_minimum(state_, v, w_, minimum)) from = std::max(from, minimum);
  if (state_.done.is(unit.workload, Done::kSettled)) from = std::max(from, state_.now + 1);
  if (from > state_.now) {
    young_.push_back({from, unit, cause});
    return false;
  }
  return true;
}

// ------------------------------------------------------------------------------------------------------------- the order

void Candidates::open_holders(QueueId queue, YieldCause cause) {
  for (const auto& [order, id] : state_.queues[queue.index()].holders) {
    const WorkloadState& v = state_.workloads[id.index()];
    Unit unit;
    unit.workload = id;
    unit.arrival = v.arrival;
    unit.started = v.started;
    unit.priority = saturating_add(v.priority, v.held_band);
    unit.whole = v.running() == 0;
    unit.holder = true;
    if (accepts(unit, cause)) add(unit, cause);
  }
}

void Candidates::open_lines() {
  const auto open = [&](QueueId queue, YieldCause cause) {
    open_holders(queue, cause);
    std::span<const Unit> units;
    if (!state_.queues[queue.index()].started.empty()) {
      units = lists_.of(queue, order());
      widest_ = std::max(widest_, lists_.widest(queue));
    }
    lines_.push_back({queue, units, 0, cause, kNone});
  };
  if (rights_.within_queue()) open(w_.queue, YieldCause::kWithinQueue);
  if (const QueueId tree = rights_.tree(); tree.valid()) {
    for (const QueueId queue : lists_.tree(tree)) {
      const QueueState& q = state_.queues[queue.index()];
      if (q.started.empty() && q.holders.empty()) continue;
      if (const auto cause = rights_.cause_of(queue)) open(queue, *cause);
    }
  }
  std::sort(all_.begin(), all_.end(),
            [&](const Candidate& a, const Candidate& b) { return yields_before(order(), a.unit, b.unit); });
  for (std::uint32_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].unit.whole) parts_[all_[i].unit.workload.value].push_back(i);
  }
  holders_handed_ = 0;
  for (std::uint32_t l = 0; l < lines_.size(); ++l) {
    if (!lines_[l].units.empty()) heap_.push_back(l);
  }
  const auto later = [&](std::uint32_t a, std::uint32_t b) {
    return yields_before(order(), lines_[b].units[lines_[b].next], lines_[a].units[lines_[a].next]);
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
}

std::uint32_t Candidates::add(const Unit& unit, YieldCause cause) {
  const auto i = static_cast<std::uint32_t>(all_.size());
  all_.push_back({unit, cause, false, false, kNone, {}});
  if (unit.holder) return i;
  if (!unit.whole) {
    parts_[unit.workload.value].push_back(i);
  } else if (const auto it = parts_.find(unit.workload.value); it != parts_.end()) {
    all_[i].parts = it->second;
    for (const std::uint32_t part : it->second) all_[part].whole = i;
  }
  return i;
}

std::uint32_t Candidates::next() {
  const auto later = [&](std::uint32_t a, std::uint32_t b) {
    return yields_before(order(), lines_[b].units[lines_[b].next], lines_[a].units[lines_[a].next]);
  };
  if (holders_handed_ < all_.size() && all_[holders_handed_].unit.holder) return holders_handed_++;
  while (!heap_.empty() && !steps_.ended()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Line& line = lines_[heap_.back()];
    Unit unit = line.units[line.next++];
    if (line.next < line.units.size()) lists_.in_order(line.queue, line.next + 1);
    const YieldCause cause = line.cause;
    // Behind units with fewer pods beyond their budgets may come others of lower priority.
    const bool over = rights_.ends_line(unit, cause) && !lists_.some_beyond(line.queue);
    if (over || line.next == line.units.size()) {
      heap_.pop_back();
    } else {
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
    if (!over && accepts(unit, cause)) return add(unit, cause);
  }
  return kNone;
}

std::uint32_t Candidates::front(QueueId queue) {
  const auto line =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.queue == queue; });
  if (line == lines_.end()) return kNone;
  const auto may = [&](std::uint32_t i) { return queue == w_.queue || still_borrows(i); };
  if (line->front != kNone && !may(line->front)) drop_front(queue);
  // Holds stand first in all_, and are not among the units.
  for (std::uint32_t i = 0; line->front == kNone && i < all_.size() && all_[i].unit.holder; ++i) {
    if (!all_[i].handed && queue_of(i) == queue && may(i)) line->front = i;
  }
  while (line->front == kNone && line->next < line->units.size() && !steps_.ended()) {
    Unit unit = line->units[line->next++];
    if (line->next < line->units.size()) lists_.in_order(queue, line->next + 1);
    if (!accepts(unit, line->cause)) continue;
    const std::uint32_t i = add(unit, line->cause);
    if (may(i)) line->front = i;
  }
  return line->front;
}

void Candidates::drop_front(QueueId queue) {
  for (Line& line : lines_) {
    if (line.queue == queue) all_[std::exchange(line.front, kNone)].handed = true;
  }
}

TimeMs Candidates::first_young() const {
  TimeMs first = kEndOfTime;
  for (const Young& young : young_) first = std::min(first, young.from);
  return first;
}

std::vector<std::pair<TimeMs, std::uint32_t>> Candidates::add_young() {
  std::vector<std::pair<TimeMs, std::uint32_t>> out;
  for (const Young& young : young_) out.emplace_back(young.from, add(young.unit, young.cause));
  std::sort(out.begin(), out.end());
  return out;
}

// ------------------------------------------------------------------------------------------------------------- the trial

bool Candidates::take(std::uint32_t i, std::vector<std::uint32_t>& taken) {
  if (all_[i].freed) return true;
  for (const std::uint32_t part : all_[i].parts) {
    if (!take(part, taken)) return false;
  }
  if (purpose_ != For::kTurns && all_[i].of_other_queue() && !still_borrows(i)) {
    protected_ = true;
    return false;
  }
  free(i);
  taken.push_back(i);
  return true;
}

void Candidates::free(std::uint32_t i) {
  all_[i].freed = true;
  charge(all_[i].unit, -1);
}

void Candidates::give_back(std::uint32_t i) {
  all_[i].freed = false;
  charge(all_[i].unit, +1);
}

void Candidates::charge(const Unit& unit, int sign) {
  const WorkloadState& v = state_.workloads[unit.workload.index()];
  each_slot(unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
    state_.accounts.try_charge(charged(v, slot), freed_of(slot.state), sign);
  });
}

void FairUnits::free(std::uint32_t candidate, int sign) {
  if (sign < 0) {
    of_.take(candidate, with_[candidate]);
    return;
  }
  const auto it = with_.find(candidate);
  if (it == with_.end()) return of_.give_back(candidate);
  for (std::size_t i = it->second.size(); i-- > 0;) of_.give_back(it->second[i]);
  with_.erase(it);
}

std::int64_t Candidates::frees(std::uint32_t i, FlavorResource pair) const {
  std::int64_t sum = 0;
  each_slot(all_[i].unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
    for (const QuotaItem& item : state_.charges[slot.charge].quota) {
      if (item.pair == pair) sum = saturating_add(sum, item.amount);
    }
  });
  return sum;
}

}  // namespace berth::engine
