#include "engine/preempt/cost.h"

#include <algorithm>

namespace berth::engine {

std::int64_t victim_cost(const State& state, const WorkloadState& w, TimeMs now) {
  Int128 devices = 0;  // thousandths
  Int128 cpus = 0;
  for (const auto& set : w.sets) {
    for (const auto& slot : set.slots) {
      if (slot.state != SlotState::kBinding && slot.state != SlotState::kRunning) continue;
      const Shape& shape = state.shape_of(slot.charge);
      for (const auto& d : shape.devices) devices += d.count * d.milli;
      for (const auto& a : shape.amounts) {
        if (a.resource == ResourceId(0u)) cpus += a.amount;
      }
    }
  }
  const Int128 weight = devices > 0 ? devices : cpus;
  if (w.running() == 0) return 0;
  DurationMs lost = std::max<DurationMs>(0, now - w.started);
  if (w.restart.last_checkpoint && *w.restart.last_checkpoint > w.started) {
    lost = std::max<DurationMs>(0, now - *w.restart.last_checkpoint);
  } else if (w.restart.checkpoint_every > 0) {
    lost %= w.restart.checkpoint_every;
  }
  const Int128 time = Int128{lost} + w.restart.overhead + w.restart.grace;
  return clamp_to_int64(weight * time / 1000);
}

TimeMs yields_from(const State& state, const WorkloadState& w) {
  const DurationMs of_queue = state.queues[w.queue.index()].spec.preemption.minimum_runtime;
  return saturating_add(w.started, w.minimum_runtime.value_or(of_queue));
}

}  // namespace berth::engine
