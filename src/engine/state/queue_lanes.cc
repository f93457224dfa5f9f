#include "engine/state/queue_lanes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/state/limits.h"

namespace berth::engine {
namespace {

// Calls f(slot, planes) for all that the workload has.
template <class F>
void each_charged(const WorkloadState& w, F&& f) {
  for (const auto& set : w.sets) {
    for (const auto& slot : set.slots) {
      if (const PlaneMask planes = planes_of(slot.state); planes != 0) f(charged(w, slot), planes);
    }
  }
}

// Charges the limits of its lane with all that the workload has, or (-1) takes it back.
void charge_limits(State& state, const WorkloadState& w, int sign) {
  each_charged(
      w, [&](const Charged& slot, PlaneMask planes) { state.accounts.charge_lane(slot, planes, sign); });
}

// The same for the limits of firm work.
void charge_firm(State& state, const WorkloadState& w, int sign) {
  each_charged(
      w, [&](const Charged& slot, PlaneMask planes) { state.accounts.charge_firm(slot, planes, sign); });
}

// Counts what the workload has in its lane, or (-1) takes it out: its use, and what its limits count.
void count_in_lane(State& state, const WorkloadState& w, int sign) {
  for (const auto& set : w.sets) {
    for (const auto& slot : set.slots) {
      if (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning)
        use_lane(state, w, slot.charge, sign);
    }
  }
  charge_limits(state, w, sign);
}

}  // namespace

void use_lane(State& state, const WorkloadState& w, ChargeId charge, int sign) {
  Lanes& lanes = state.queues[w.queue.index()].lanes;
  for (const QuotaItem& item : state.charges[charge].quota)
    lanes.use(w.lane, state.pairs.resource_numbers()[item.pair.index()], sign * item.amount);
}

bool put_in_lane(State& state, WorkloadId id, std::uint32_t lane) {
  WorkloadState& w = state.workloads[id.index()];
  if (w.lane == lane) return false;
  count_in_lane(state, w, -1);
  w.lane = lane;
  count_in_lane(state, w, +1);
  if (!state.accounts.limits(w.queue).any()) return false;
  state.news.filled_lanes.insert(w.queue);
  state.news.holds_suspect = true;  // what is held there may be beyond the limit now
  return true;
}

void limit_lanes(State& state, QueueId queue) {
  std::vector<QuotaItem> limits;
  for (const LaneLimit& limit : state.queues[queue.index()].spec.lanes.limits)
    limits.push_back({state.pairs.of(limit.flavor, limit.resource), limit.amount});
  if (!state.accounts.set_limits(queue, std::move(limits))) return;
  for (const WorkloadState& w : state.workloads) {
    if (w.used && w.queue == queue) charge_limits(state, w, +1);
  }
}

bool make_preemptible(State& state, WorkloadId id, bool preemptible) {
  WorkloadState& w = state.workloads[id.index()];
  if (w.preemptible == preemptible) return false;
  charge_firm(state, w, -1);
  w.preemptible = preemptible;
  charge_firm(state, w, +1);
  if (!state.accounts.firm().bind(w.queue)) return false;
  note_filled(state, w);
  state.news.holds_suspect = true;
  return true;
}

void limit_firm(State& state) {
  std::vector<FirmLimits::Limit> limits;
  std::vector<QueueId> parents;
  for (std::size_t q = 0; q < state.queues.size(); ++q) {
    parents.push_back(state.quota.parent(QueueId(q)));
    for (const Quota& quota : state.queues[q].spec.quotas) {
      if (quota.firm_limit)
        limits.push_back({QueueId(q), state.pairs.of(quota.flavor, quota.resource), *quota.firm_limit});
    }
  }
  if (!state.accounts.set_firm_limits(std::move(parents), state.quota.pairs(), std::move(limits))) return;
  for (std::size_t i = 0; i < state.workloads.size(); ++i) {
    const WorkloadState& w = state.workloads[i];
    if (!w.used || w.preemptible) continue;
    charge_firm(state, w, +1);
    state.settle(WorkloadId(i));  // it is tried apart from preemptible work, or no longer
  }
}

TimeMs order_lanes(State& state, QueueId queue) {
  Lanes& lanes = state.queues[queue.index()].lanes;
  lanes.advance(state.now);
  if (!lanes.ordered()) {
    state.pending.set_lanes(queue, {});
    return kEndOfTime;
  }
  std::vector<std::int64_t> capacity;
  for (std::size_t p = 0; p < state.quota.pairs(); ++p) {
    const std::size_t r = state.pairs.resource_numbers()[p];
    if (r >= capacity.size()) capacity.resize(r + 1, 0);
    const std::int64_t most = std::max<std::int64_t>(0, state.quota.potential(queue, FlavorResource(p)));
    capacity[r] = saturating_add(capacity[r], most);
  }
  state.pending.set_lanes(queue, lanes.places(capacity));
  return lanes.next_tick(state.now);
}

void each_lane_use(const State& state, QueueId queue, TimeMs at, const LaneUse& f) {
  const Lanes& lanes = state.queues[queue.index()].lanes;
  if (!lanes.ordered()) return;
  lanes.each_average(
      std::max(state.now, at), [&](std::uint32_t lane, std::size_t resource, std::int64_t amount) {
        f(lanes.name(lane), state.pairs.resource_of_number(static_cast<std::uint32_t>(resource)), amount);
      });
}

}  // namespace berth::engine
