#include "engine/preempt/rights/force.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/preempt/rights/yield.h"
#include "engine/state/bands.h"

namespace berth::engine {
namespace {

bool is_there(const State& state, const TakenBack& taken) {
  const WorkloadState& by = state.workloads[taken.by.index()];
  return by.used && by.arrival == taken.arrival;
}

// Surplus waits for free room only.
bool waits_for_room(const WorkloadState& w) {
  if (!w.active) return false;
  return w.running() + w.held() == 0 || (w.waiting() > 0 && !claim_of(w).free_room_only);
}

const WorkloadState* who_would_take_back(const State& state, const WorkloadState& w,
                                         std::span<const QuotaItem> request) {
  for (const TakenBack& taken : state.queues[w.queue.index()].taken_back) {
    const WorkloadState& by = state.workloads[taken.by.index()];
    const bool alike = std::any_of(request.begin(), request.end(), [&](const QuotaItem& item) {
      return item.amount > 0 &&
             std::find(taken.pairs.begin(), taken.pairs.end(), item.pair) != taken.pairs.end();
    });
    if (alike && is_there(state, taken) && waits_for_room(by)) return &by;
  }
  return nullptr;
}

// The borrowed part of these places.
std::vector<QuotaItem> borrowed(const State& state, const WorkloadState& w,
                                std::span<const PlacedSlot> placed) {
  std::vector<QuotaItem> out;
  for (const PlacedSlot& p : placed) {
    for (const QuotaItem& item : state.charges[p.charge].quota) {
      if (item.amount > 0 && state.quota.borrows(w.queue, item.pair)) add_item(out, item.pair, item.amount);
    }
  }
  return out;
}

// `v` is about to lose room that it took.
void count_loss(const State& state, WorkloadState& v, ReasonCode why) {
  const TimeMs took_at = std::exchange(v.takings.at, kEndOfTime);
  if (took_at == kEndOfTime || why == ReasonCode::kPreempted) return;
  if (state.now - took_at >= kKept) v.takings.losses = 0;
  if (++v.takings.losses < kLossesInARow) return;
  v.takings.patient_until =
      state.now + doubled(kFirstPatience, v.takings.losses - kLossesInARow, kMostPatience);
}

}  // namespace

bool is_patient(const State& state, const WorkloadState& w) {
  return state.now < w.preempts_from();
}

namespace {

std::string_view may_take(WithinQueue within) {
  switch (within) {
    case WithinQueue::kNever:
      return "nothing";
    case WithinQueue::kLowerPriority:
      return "lower priority";
    case WithinQueue::kLowerOrNewerEqual:
      return "lower or newer equal priority";
    case WithinQueue::kLaterInOrder:
      return "later workloads";
  }
  return "";
}

std::string_view may_take(Reclaim reclaim) {
  switch (reclaim) {
    case Reclaim::kNever:
      return "nothing";
    case Reclaim::kLowerPriority:
      return "lower-priority borrowers";
    case Reclaim::kAny:
      return "any borrower";
  }
  return "";
}

}  // namespace

Reason no_victims(const State& state, const WorkloadState& w) {
  const PreemptionPolicy& policy = state.queues[w.queue.index()].spec.preemption;
  Reason out{ReasonCode::kNoVictims, "", "its pods have preemptionPolicy: Never", 0, 0, 0, {}};
  if (!w.may_preempt) return out;
  if (state.now < w.takings.patient_until) {
    out.detail = fmt::format("paused: what it preempted was lost {} times in a row", w.takings.losses);
  } else if (is_patient(state, w)) {
    out.detail = "not yet: its preemption delay has not passed";
  } else {
    out.detail = fmt::format("allowed: {} in its queue, {} in others", may_take(policy.within),
                             may_take(policy.reclaim));
  }
  return out;
}

bool may_borrow_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request) {
  return state.queues[w.queue.index()].spec.preemption.borrow_within != BorrowWithin::kNever &&
         w.takings.lost_force_at != state.outside_version &&
         who_would_take_back(state, w, request) == nullptr;
}

std::string why_not_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request) {
  if (const WorkloadState* by = who_would_take_back(state, w, request); by != nullptr)
    return fmt::format("; not to borrow until {} starts", by->name);
  return "; not to borrow until the cluster changes";
}

std::string why_not_while_borrowing(const State& state, const WorkloadState& w,
                                    std::span<const PlacedSlot> placed) {
  const WorkloadState* by = who_would_take_back(state, w, borrowed(state, w, placed));
  return by == nullptr ? "" : fmt::format("; not to borrow until {} starts", by->name);
}

void note_gain(State& state, WorkloadId taker, std::span<const PlacedSlot> placed) {
  WorkloadState& w = state.workloads[taker.index()];
  w.takings.while_borrowing = w.takings.while_borrowing || !borrowed(state, w, placed).empty();
}

void note_loss(State& state, WorkloadId victim, WorkloadId to, ReasonCode why) {
  WorkloadState& v = state.workloads[victim.index()];
  count_loss(state, v, why);
  const bool by_force = std::exchange(v.takings.by_force, false);
  const bool while_borrowing = std::exchange(v.takings.while_borrowing, false);
  if (by_force) v.takings.lost_force_at = state.outside_version;
  if ((!by_force && !while_borrowing) || why != ReasonCode::kReclaimed) return;
  auto& all = state.queues[v.queue.index()].taken_back;
  std::erase_if(all, [&](const TakenBack& taken) { return !is_there(state, taken) || taken.by == to; });
  TakenBack now{to, state.workloads[to.index()].arrival, {}};
  state.workloads[to.index()].took_back = true;
  for (const PodSetState& set : v.sets) {
    for (const Slot& slot : set.slots) {
      if (!takes_room(slot)) continue;
      for (const QuotaItem& item : state.charges[slot.charge].quota) {
        if (std::find(now.pairs.begin(), now.pairs.end(), item.pair) == now.pairs.end())
          now.pairs.push_back(item.pair);
      }
    }
  }
  all.push_back(std::move(now));
}

void note_broken_hold(State& state, WorkloadId holder) {
  count_loss(state, state.workloads[holder.index()], ReasonCode::kHoldBroken);
}

}  // namespace berth::engine
