#include "engine/state/broken.h"

#include <algorithm>

#include "base/checked.h"

namespace berth::engine {

void note_broken(State& state, WorkloadId id) {
  WorkloadState& w = state.workloads[id.index()];
  if (!w.delays->broken.most && w.delays->broken.ends_at == kEndOfTime) return;
  Brokenness& broken = w.delays.edit().broken;
  // With room on its way for all that it lacks, it is about to be whole again.
  const bool mends = std::all_of(w.sets.begin(), w.sets.end(),
                                 [](const PodSetState& s) { return s.active + s.held >= s.least; });
  const bool is = broken.most && w.needs_all && w.is_broken() && w.releasing() == 0 && !mends;
  if (is && broken.since == 0) {
    const bool earlier = broken.reported > 0 && (state.now == 0 || broken.reported < state.now);
    broken.since = earlier ? broken.reported : state.now;
  }
  if (!is) broken.since = 0;
  const TimeMs of_time = broken.since == 0 ? 0 : saturating_add(broken.since, broken.most.value_or(0));
  const TimeMs at = is ? of_time : kEndOfTime;
  if (at == broken.ends_at) return;
  auto& all = state.endings.broken;
  if (broken.ends_at != kEndOfTime) all.erase({broken.ends_at, id});
  broken.ends_at = at;
  if (at != kEndOfTime) all.emplace(at, id);
}

}  // namespace berth::engine
