#include "engine/preempt/with_places/units.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/checked.h"
#include "engine/preempt/rights/cost.h"
#include "engine/preempt/rights/standing.h"

namespace berth::engine {

namespace {

constexpr std::size_t kWorthParting = 16;  // units

// Does it run on more than one node?
bool stands_apart(const WorkloadState& w) {
  NodeId first;
  bool apart = false;
  for (const PodSetState& set : w.sets) {
    each_active(set, [&](const Slot& slot, std::uint32_t, std::int64_t) {
      if (!first.valid()) first = slot.node;
      apart = apart || slot.node != first;
    });
  }
  return apart;
}

}  // namespace

bool renew(Unit& unit, const WorkloadState& w) {
  const PodSetState& set = w.sets[unit.set];
  const SlotState state = set.slots[unit.slot].state;
  if ((state != SlotState::kBinding && state != SlotState::kRunning) || set.active <= set.least) return false;
  if (set.active == unit.active) return true;
  bool surplus = false;
  each_active(set, [&](const Slot&, std::uint32_t index, std::int64_t place) {
    if (index != unit.slot) return;
    const BandView band = band_at(set, place);
    surplus = place >= set.least;
    unit.priority = saturating_add(w.priority, band.priority);
    unit.is_protected = band.protected_from_reclaim;
  });
  return surplus;
}

bool yields_before(VictimOrder order, const Unit& a, const Unit& b) {
  const auto tie = [](const Unit& u) {
    return std::make_tuple(-u.started, ~u.arrival, u.whole, u.set, ~u.slot);
  };
  if (a.holder != b.holder) return a.holder;
  if (a.beyond != b.beyond) return a.beyond < b.beyond;
  switch (order) {
    case VictimOrder::kYoungestFirst:
      return tie(a) < tie(b);
    case VictimOrder::kLowestPriorityFirst:
      if (a.priority != b.priority) return a.priority < b.priority;
      if (a.whole != b.whole) return b.whole;
      return tie(a) < tie(b);
    case VictimOrder::kLatestInOrder:
    case VictimOrder::kCost:
      break;
  }
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.whole != b.whole) return b.whole;
  if (a.standing != b.standing) return a.standing > b.standing;
  if (a.cost != b.cost) return a.cost < b.cost;
  return tie(a) < tie(b);
}

std::span<const Unit> UnitLists::of(QueueId queue, VictimOrder order) {
  if (lists_.size() < state_.queues.size()) lists_.resize(state_.queues.size());
  List& list = lists_[queue.index()];
  const std::uint64_t version = state_.queues[queue.index()].starts;
  const bool is_current =
      list.version == version && (list.budgets == 0 || list.budgets == state_.disruptions.version());
  if (list.built && is_current && list.order == order) return list.units;
  list.version = version;
  list.order = order;
  list.built = true;
  list.sorted = 0;
  build(queue, list);
  in_order(queue, std::min<std::size_t>(1, list.units.size()));
  return list.units;
}

void UnitLists::sort(List& list, std::size_t count) {
  const auto before = [&](const Unit& a, const Unit& b) { return yields_before(list.order, a, b); };
  const std::size_t first = list.units.size() / 8;
  const auto begin = list.units.begin() + static_cast<std::ptrdiff_t>(list.sorted);
  auto end = list.units.end();
  if (list.sorted == 0 && first >= kWorthParting && count <= first) {
    end = begin + static_cast<std::ptrdiff_t>(first);
    std::nth_element(begin, end, list.units.end(), before);
  }
  std::sort(begin, end, before);
  list.sorted = static_cast<std::size_t>(end - list.units.begin());
}

void UnitLists::build(QueueId queue, List& list) const {
  list.units.clear();
  list.widest = 1;
  list.some_beyond = false;
  list.budgets = 0;
  const auto& started = state_.queues[queue.index()].started;
  list.units.reserve(started.size());
  for (const WorkloadId id : started) {
    const WorkloadState& w = state_.workloads[id.index()];
    if (!w.preemptible || w.withdraw) continue;
    Unit whole;
    whole.workload = id;
    whole.arrival = w.arrival;
    whole.started = w.started;
    whole.priority = kInt64Min;
    // Work that has not started yet (decide/decisions.h) loses nothing.
    const bool is_new = state_.done.is(id, Done::kBegun);
    whole.cost = is_new ? 0 : victim_cost(state_, w, state_.now);
    if (w.running() > list.widest && stands_apart(w)) list.widest = w.running();
    if (list.order == VictimOrder::kLatestInOrder) whole.standing = standing(state_, w);
    const bool incomplete = w.incomplete();
    for (std::uint32_t s = 0; s < w.sets.size(); ++s) {
      const PodSetState& set = w.sets[s];
      if (set.active == 0) continue;
      if (set.marks->bands.empty()) {
        whole.priority = std::max(whole.priority, w.priority);
        if (incomplete || set.active <= set.least) continue;
      }
      each_active(set, [&](const Slot& slot, std::uint32_t index, std::int64_t place) {
        const BandView band = band_at(set, place);
        Unit unit = whole;
        unit.priority = saturating_add(w.priority, band.priority);
        unit.is_protected = band.protected_from_reclaim;
        unit.whole = false;
        unit.active = set.active;
        unit.set = s;
        unit.slot = index;
        whole.priority = std::max(whole.priority, unit.priority);
        whole.is_protected = whole.is_protected || unit.is_protected;
        if (place < set.least || incomplete) return;
        unit.cost = is_new ? 0 : slot_cost(state_, w, slot, band.cost);
        whole.cost = std::max<std::int64_t>(0, whole.cost - unit.cost);
        list.units.push_back(unit);
      });
    }
    list.units.push_back(whole);
    if (state_.disruptions.any()) count_beyond(list, id);
  }
}

// For the units of the workload, which are the last of the list: its surplus, then its whole.
void UnitLists::count_beyond(List& list, WorkloadId id) const {
  const WorkloadState& w = state_.workloads[id.index()];
  const auto has = [](const PodSetState& set) { return !set.budgets->empty(); };
  if (std::none_of(w.sets.begin(), w.sets.end(), has)) return;
  list.budgets = state_.disruptions.version();
  Disrupted all(state_.disruptions, state_.now);
  for (const PodSetState& set : w.sets)
    each_active(set, [&](const Slot&, std::uint32_t, std::int64_t) { all.add(*set.budgets); });
  Unit& whole = list.units.back();
  whole.beyond = all.beyond();
  for (auto unit = std::next(list.units.rbegin());
       unit != list.units.rend() && unit->workload == id && !unit->whole; ++unit) {
    Disrupted one(state_.disruptions, state_.now);
    one.add(*w.sets[unit->set].budgets);
    unit->beyond = one.beyond();
    whole.beyond -= unit->beyond;
  }
  list.some_beyond = list.some_beyond || all.beyond() > 0;
}

std::span<const QueueId> UnitLists::tree(QueueId root) {
  if (trees_.empty()) {
    trees_.resize(state_.queues.size());
    for (std::size_t q = 0; q < state_.queues.size(); ++q) {
      if (q < state_.quota.size()) trees_[state_.quota.root(QueueId(q)).index()].push_back(QueueId(q));
    }
  }
  return trees_[root.index()];
}

}  // namespace berth::engine
