#include "engine/preempt/rights/cost.h"

#include <algorithm>

#include "engine/order/rank.h"
#include "engine/state/bands.h"

namespace berth::engine {
namespace {

Int128 of_bands(const WorkloadState& w) {
  Int128 sum = 0;
  for (const PodSetState& set : w.sets) {
    if (set.marks->bands.empty()) continue;
    each_active(set,
                [&](const Slot&, std::uint32_t, std::int64_t place) { sum += band_at(set, place).cost; });
  }
  return sum;
}

}  // namespace

std::int64_t victim_cost(const State&, const WorkloadState& w, TimeMs now) {
  if (w.running() == 0) return 0;
  const Int128 weight = w.weight.devices > 0 ? w.weight.devices : w.weight.cpus;
  const Int128 time =
      Int128{lost_work(w.progress, w.restart, w.started, now)} + w.restart.overhead + w.restart.grace;
  return clamp_to_int64(weight * time / 1000 + of_bands(w));
}

std::int64_t slot_cost(const State& state, const WorkloadState& w, const Slot& slot, std::int64_t of_band) {
  const Weight& of_slot = state.charges[slot.charge].weight;
  const Int128 weight = w.weight.devices > 0 ? of_slot.devices : of_slot.cpus;
  const Int128 time = Int128{w.restart.overhead} + w.restart.grace;
  return clamp_to_int64(weight * time / 1000 + of_band);
}

TimeMs yields_from(const State& state, const WorkloadState& w, bool across) {
  const PreemptionPolicy& policy = state.queues[w.queue.index()].spec.preemption;
  const DurationMs of_queue =
      across ? policy.minimum_runtime_across.value_or(policy.minimum_runtime) : policy.minimum_runtime;
  return saturating_add(w.started, w.minimum_runtime.value_or(of_queue));
}

}  // namespace berth::engine
