#include "engine/plan/reservations.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "engine/preempt/rights/yield.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

// Work that has room, and when it is expected to leave it.
struct Ending {
  TimeMs at = 0;
  std::uint64_t arrival = 0;
  WorkloadId workload;
  auto operator<=>(const Ending&) const = default;
};

TimeMs expected_end(const State& state, const WorkloadState& w) {
  if (w.kind == WorkloadKind::kService || w.expected) return known_end(state, w);
  const DurationMs ran = w.running() > 0 ? state.now - w.started : 0;
  return saturating_add(state.now, std::max<DurationMs>(1, ran));
}

std::vector<Ending> endings(const State& state) {
  std::vector<Ending> out;
  const auto add = [&](WorkloadId id) {
    const WorkloadState& w = state.workloads[id.index()];
    out.push_back({expected_end(state, w), w.arrival, id});
  };
  for (const QueueState& queue : state.queues) {
    for (const WorkloadId id : queue.started) add(id);
  }
  for (const auto& [order, id] : state.holders) {
    if (state.workloads[id.index()].running() == 0) add(id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Frees the room of a workload: the slots that run, and those that are held for it.
void take_away(State& state, WorkloadId id) {
  for (const bool holder : {false, true}) free_room(state, {id, YieldCause::kWithinQueue, holder}, -1);
}

// Its places, with the first `gone` of those that end taken away. Nothing stays charged but the others.
std::optional<std::vector<PlacedSlot>> places_without(State& state, WorkloadId id,
                                                      const std::vector<Ending>& ends, std::size_t gone) {
  Trial trial(state);
  for (std::size_t i = 0; i < gone; ++i) take_away(state, ends[i].workload);
  Budget steps(state.config.search_steps);
  Placer placer(state, id, Mode::kPlan, steps, nullptr, Ask::kLeast);
  std::optional<std::vector<PlacedSlot>> out;
  if (placer.run()) out = placer.placed();
  return out;
}

struct Soonest {
  std::vector<PlacedSlot> placed;
  TimeMs at = 0;
};

Soonest soonest(State& state, WorkloadId id) {
  const std::vector<Ending> ends = endings(state);
  std::size_t too_few = 0;
  std::size_t enough = 0;
  auto found = places_without(state, id, ends, 0);
  while (!found && enough < ends.size()) {
    too_few = enough;
    enough = std::min(ends.size(), std::max<std::size_t>(1, 2 * enough));
    found = places_without(state, id, ends, enough);
  }
  if (!found) return {};
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    if (auto sooner = places_without(state, id, ends, middle)) {
      found = std::move(sooner);
      enough = middle;
    } else {
      too_few = middle;
    }
  }
  return {std::move(*found), enough == 0 ? state.now : ends[enough - 1].at};
}

std::vector<std::uint64_t> numbers_of(std::span<const Reservation* const> reservations) {
  std::vector<std::uint64_t> out;
  for (const Reservation* r : reservations) out.push_back(r->number);
  return out;
}

}  // namespace

// Whether the nodes, devices and flavors of a plan are still there, and its slots wait.
bool Reservations::still_suits(State& state, const Reservation& r) const {
  const WorkloadState& w = state.workloads[r.workload.index()];
  return std::all_of(r.placed.begin(), r.placed.end(), [&](const PlacedSlot& p) {
    if (p.set >= w.sets.size() || p.slot >= w.sets[p.set].slots.size()) return false;
    if (w.sets[p.set].slots[p.slot].state != SlotState::kWaiting) return false;
    const auto& choices = state.spec(w.sets[p.set].spec).choices;
    if (std::find(choices.begin(), choices.end(), p.charge) == choices.end()) return false;
    if (state.nodes.is_opaque(p.node)) return true;
    const auto& record = state.nodes.record(p.node);
    const Shape& shape = state.shape_of(p.charge);
    if (!record.alive || static_mismatch(shape, record.spec).code != ReasonCode::kNone) return false;
    for (const Piece& piece : state.accounts.grants()[p.grant].pieces) {
      if (piece.device >= record.devices.size() || record.devices[piece.device].account.capacity == 0)
        return false;
    }
    bool has_places = true;
    each_driver(state.nodes.held().mounted, shape.mounts, [&](ResourceId places, std::int64_t volumes) {
      has_places = has_places && volumes <= state.nodes.account(p.node, places).capacity;
    });
    return has_places && std::all_of(shape.amounts.begin(), shape.amounts.end(), [&](const ShapeAmount& a) {
             return a.amount <= state.nodes.account(p.node, a.resource).capacity;
           });
  });
}

TimeMs known_end(const State& state, const WorkloadState& w) {
  if (w.kind == WorkloadKind::kService || !w.expected) return kEndOfTime;
  const bool runs = w.running() > 0;
  const auto rest = remaining_work(w.progress, w.restart, w.expected, runs ? w.started : 0, state.now);
  const DurationMs again = !runs && w.progress.runs > 0 ? w.restart.overhead : 0;
  return saturating_add(state.now, saturating_add(*rest, again));
}

const Reservation* Reservations::standing(State& state, WorkloadId id,
                                          std::span<const Reservation* const> others) const {
  const auto found = plans_for_.find(state.workloads[id.index()].arrival);
  if (found == plans_for_.end()) return nullptr;
  const Reservation& r = found->second;
  if (r.workload != id || state.now >= r.renew_at) return nullptr;
  // One without places may have some as soon as the cluster or the others are not the same.
  if (r.placed.empty())
    return r.place_version == state.place_version && r.beside == numbers_of(others) ? &r : nullptr;
  return still_suits(state, r) ? &r : nullptr;
}

void Reservations::keep_only(State& state, std::span<const std::uint64_t> arrivals) {
  const auto gone = std::erase_if(plans_for_, [&](const auto& entry) {
    return !std::binary_search(arrivals.begin(), arrivals.end(), entry.first);
  });
  if (gone > 0) pin(state);
}

void Reservations::pin(State& state) const {
  state.planned.clear();
  for (const auto& [arrival, reservation] : plans_for_) {
    for (const PlacedSlot& p : reservation.placed) state.planned.emplace_back(p.charge, p.grant);
  }
}

const Reservation* Reservations::find(std::uint64_t number) const {
  for (const auto& [arrival, reservation] : plans_for_) {
    if (reservation.number == number) return &reservation;
  }
  return nullptr;
}

const Reservation& Reservations::plan(State& state, WorkloadId id,
                                      std::span<const Reservation* const> others) {
  const WorkloadState& w = state.workloads[id.index()];
  Soonest found;
  {
    Trial trial(state);
    for (const Reservation* other : others) charge_reserved(state, *other, +1);
    found = soonest(state, id);
  }
  const auto [at, is_new] = plans_for_.try_emplace(w.arrival);
  Reservation& r = at->second;
  const DurationMs limit = state.queues[w.queue.index()].spec.ordering.limit();
  if (is_new) r.since = state.now;
  r.workload = id;
  r.arrival = w.arrival;
  r.number = ++plans_;
  r.placed = std::move(found.placed);
  r.at = found.at;
  r.beside = numbers_of(others);
  r.place_version = state.place_version;
  r.renew_at = saturating_add(state.now, std::max({DurationMs{1}, limit / 16, state.now - r.since}));
  ++state.stats.reservations;
  pin(state);
  return r;
}

void charge_reserved(State& state, const Reservation& reservation, int sign) {
  const WorkloadState& w = state.workloads[reservation.workload.index()];
  constexpr PlaneMask kKept = kBothPlanes | kReservedBit;
  for (const PlacedSlot& p : reservation.placed) state.accounts.try_charge(charged(w, p), kKept, sign);
}

}  // namespace berth::engine
