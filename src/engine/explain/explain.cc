#include "engine/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/explain/room.h"
#include "engine/place/placer.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

bool is_of_room(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
    case ReasonCode::kQuota:
    case ReasonCode::kLaneLimit:
    case ReasonCode::kFirmLimit:
      return true;
    default:
      return std::any_of(reason.children.begin(), reason.children.end(), is_of_room);
  }
}

// Pod sets by their names.
void name_sets(const State& state, const WorkloadState& w, Reason& reason) {
  if (reason.code == ReasonCode::kNodes && !reason.detail.empty()) {
    const auto set = static_cast<std::size_t>(std::strtoull(reason.detail.c_str(), nullptr, 10));
    if (set < w.sets.size()) {
      const std::string asks = asks_of(state, w.sets[set]);
      reason.subject = w.sets[set].marks->name;
      if (!asks.empty()) reason.subject += fmt::format("{}{} each", reason.subject.empty() ? "" : ", ", asks);
    }
  }
  for (Reason& child : reason.children) name_sets(state, w, child);
}

Verdict found_verdict(const State& state, WorkloadId id);

}  // namespace

Verdict verdict_of(const State& state, WorkloadId id) {
  Verdict verdict = found_verdict(state, id);
  name_sets(state, state.workloads[id.index()], verdict.reason);
  return verdict;
}

Verdict explain(State& state, const Reservations& reservations, WorkloadId id) {
  Verdict verdict = found_verdict(state, id);
  const WorkloadState& w = state.workloads[id.index()];
  const bool parked = w.active && w.held() == 0 && w.pending.valid() && state.pending.at(w.pending).parked;
  if (parked && is_of_room(verdict.reason)) {
    // Room reserved against it does not count as free.
    const Trial trial(state);
    for (const std::uint64_t number : state.pending.at(w.pending).why.reserved) {
      if (const Reservation* r = reservations.find(number)) charge_reserved(state, *r, +1);
    }
    RoomNow now(state, id);
    now.renew(verdict.reason);
    now.say_enough(verdict.reason);
  }
  name_sets(state, w, verdict.reason);
  return verdict;
}

namespace {

Verdict found_verdict(const State& state, WorkloadId id) {
  const WorkloadState& w = state.workloads[id.index()];
  if (w.held() > 0) {
    std::int64_t blocked = 0;
    for (const auto& set : w.sets) {
      for (const auto& slot : set.slots) {
        if (slot.state == SlotState::kHeld) ++blocked;
      }
    }
    return {VerdictKind::kHeld, {ReasonCode::kWaitingForRoom, "", "", blocked, 0, 0, {}}};
  }
  if (!w.active) return {VerdictKind::kBlocked, {ReasonCode::kInactive, "", "", 0, 0, 0, {}}};
  if (w.pending.valid()) {
    const Pending::Class& c = state.pending.at(w.pending);
    const WorkloadId head = state.pending.blocked_by(w.pending);
    // Work that came in front of it later has its turn first, whatever it lacked before. A limit of its own, or parts, it still lacks.
    if (c.parked && !(head.valid() && c.why.in_line)) return {c.why.verdict, c.why.reason};
    if (head.valid()) {
      return {VerdictKind::kBlocked,
              {ReasonCode::kBehindHead, state.workloads[head.index()].name, "", 0, 0, 0, {}}};
    }
    return {VerdictKind::kBlocked, {}};  // not tried yet
  }
  if (w.running() > 0) {
    const bool known = std::none_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& set) {
      return std::any_of(set.slots.begin(), set.slots.end(), [&](const Slot& slot) {
        return slot.node.valid() && state.nodes.is_opaque(slot.node);
      });
    });
    const auto lacking = state.no_places.find(id.value);
    if (!known && lacking != state.no_places.end()) return {VerdictKind::kQuotaOnly, lacking->second};
    return {known ? VerdictKind::kPlaced : VerdictKind::kQuotaOnly, {ReasonCode::kFits, "", "", 0, 0, 0, {}}};
  }
  return {VerdictKind::kBlocked, lacks_pods_of(w)};
}

}  // namespace
}  // namespace berth::engine
