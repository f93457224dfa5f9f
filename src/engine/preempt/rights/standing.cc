#include "engine/preempt/rights/standing.h"

#include <algorithm>

#include "engine/preempt/rights/cost.h"

namespace berth::engine {
namespace {

const Ordering& ordering_of(const State& state, const WorkloadState& w) {
  return state.queues[w.queue.index()].spec.ordering;
}

bool is_old(const Ordering& ordering, const WorkloadState& w) {
  return w.progress.old && ordering.limit() > 0;
}

// The same of work that runs: whether it started in its turn does not matter, its next turn would come at once.
bool was_aged(const Ordering& ordering, const WorkloadState& v) {
  return v.progress.age > 0 && ordering.limit() > 0;
}

// Was promoted, and has not attained yet what that is worth.
bool keeps_seat(const Ordering& ordering, const WorkloadState& v, TimeMs now) {
  return v.started > 0 && attained_service(v.progress, now) < seat(ordering, v.progress);
}

// When `v`, which runs, will have had so much service, if it goes on as it does: not before now.
TimeMs attains_at(const State& state, const WorkloadState& v, Int128 service) {
  const std::int64_t have = attained_service(v.progress, state.now);
  if (service <= have) return state.now;
  const std::int64_t rate = state.service_rate(v);
  if (rate <= 0) return kEndOfTime;
  // As attained_service() will reckon it then, to the millisecond: what is less than a whole unit now counts, unless it goes when the
  // service is noted anew, since it has started just now, or has grown.
  const bool anew = v.service_noted;
  const Int128 missing = service - (anew ? have : v.progress.attained);
  return clamp_to_int64((anew ? state.now : v.progress.since) + (missing * 1000 + rate - 1) / rate);
}

// Time that the end of its run now would cost: work that is not kept, and the way back.
DurationMs time_lost(const WorkloadState& v, TimeMs now) {
  if (v.started == 0) return 0;
  const DurationMs back = saturating_add(v.restart.overhead, v.restart.grace);
  const DurationMs kept = kept_work(v.progress, v.restart, v.started, now);
  return saturating_add(back, std::max<DurationMs>(0, now - v.started - kept));
}

// Whether checkpoints of its run are reckoned, and not reported.
bool reckons_checkpoints(const WorkloadState& v) {
  const auto& reported = v.restart.last_checkpoint;
  return v.started > 0 && v.restart.checkpoint_every > 0 && !(reported && *reported > v.started);
}

// When a run begins to work: the overhead of a restart comes first.
TimeMs works_from(const WorkloadState& v) {
  return saturating_add(v.started, v.progress.runs > 0 ? v.restart.overhead : 0);
}

// The next checkpoint that is reckoned, after now.
TimeMs next_checkpoint(const WorkloadState& v, TimeMs now) {
  if (!reckons_checkpoints(v)) return kEndOfTime;
  const TimeMs first = works_from(v);
  const DurationMs every = v.restart.checkpoint_every;
  const std::int64_t done = std::max<std::int64_t>(0, now - first) / every;
  return saturating_add(first, saturating_mul(done + 1, every));
}

std::int64_t key_of(const Ordering& ordering, const WorkloadState& w, TimeMs now) {
  return order_key(ordering, w.progress, w.restart, w.expected, w.started, now);
}

// The service at which the level above this one begins; the last has none above it.
std::int64_t beyond_level(const Ordering& ordering, std::int64_t level) {
  if (ordering.by == OrderBy::kAttained) return saturating_mul(ordering.attained_first, level + 1);
  if (level + 1 >= ordering.attained_levels) return kInt64Max;
  std::int64_t end = ordering.attained_first;
  for (; level > 0; --level) end = saturating_mul(end, ordering.attained_ratio);
  return end;
}

}  // namespace

bool is_newer(const WorkloadState& v, const WorkloadState& w) {
  return v.created > w.came();
}

bool stands_behind(const State& state, const InLine& its_place, const InLine& place) {
  const WorkloadState& v = its_place.workload;
  const WorkloadState& w = place.workload;
  const Ordering& ordering = ordering_of(state, w);
  if (ordering.priority_first && its_place.priority != place.priority)
    return its_place.priority < place.priority;
  const bool newer = is_newer(v, w);
  const bool v_old = was_aged(ordering, v);
  const bool w_old = is_old(ordering, w);
  if (v_old || w_old) return w_old && (v_old ? newer : !keeps_seat(ordering, v, state.now));
  const std::int64_t mine = key_of(ordering, w, state.now);
  const std::int64_t its = key_of(ordering, v, state.now);
  switch (ordering.by) {
    case OrderBy::kCreation:
      return newer;
    case OrderBy::kDuration:
    case OrderBy::kRemaining:
      return its > saturating_add(mine, time_lost(v, state.now));
    case OrderBy::kAttained:
    case OrderBy::kAttainedLevels:
      return its > mine &&
             saturating_sub(attained_service(v.progress, state.now),
                            attained_service(w.progress, state.now)) > victim_cost(state, v, state.now);
  }
  return false;
}

TimeMs stands_behind_at(const State& state, const InLine& its_place, const InLine& place) {
  const WorkloadState& v = its_place.workload;
  const WorkloadState& w = place.workload;
  const Ordering& ordering = ordering_of(state, w);
  const TimeMs now = state.now;
  if (ordering.priority_first && its_place.priority != place.priority) return kEndOfTime;
  if (was_aged(ordering, v) || v.started == 0) return kEndOfTime;
  if (is_old(ordering, w)) {
    return keeps_seat(ordering, v, now) ? attains_at(state, v, seat(ordering, v.progress)) : kEndOfTime;
  }
  switch (ordering.by) {
    case OrderBy::kCreation:
      return kEndOfTime;
    case OrderBy::kDuration:
    case OrderBy::kRemaining: {
      const TimeMs at = next_checkpoint(v, now);
      if (at == kEndOfTime) return at;
      const std::int64_t its = order_key(ordering, v.progress, v.restart, v.expected, v.started, at);
      const DurationMs back = saturating_add(v.restart.overhead, v.restart.grace);
      return its > saturating_add(key_of(ordering, w, now), back) ? at : kEndOfTime;
    }
    case OrderBy::kAttained:
    case OrderBy::kAttainedLevels: {
      const std::int64_t need = beyond_level(ordering, key_of(ordering, w, now));
      const std::int64_t rate = state.service_rate(v);
      if (need == kInt64Max || rate <= 0) return kEndOfTime;
      const std::int64_t have = attained_service(v.progress, now);
      const auto when = [&](Int128 service) { return attains_at(state, v, service); };
      const TimeMs level_ends = std::max(now + 1, when(need));
      const std::int64_t more = saturating_sub(have, attained_service(w.progress, now));
      const TimeMs first = works_from(v);
      if (!reckons_checkpoints(v)) {
        // Once it works, what it would lose grows as fast as what it has had; until then only the latter does.
        const std::int64_t cost = victim_cost(state, v, now);
        if (more > cost) return when(need) > now ? level_ends : kEndOfTime;
        const TimeMs enough = when(Int128{have} - more + cost + 1);
        return enough <= first ? std::max(level_ends, enough) : kEndOfTime;
      }
      const Int128 back =
          static_cast<Int128>(rate) * saturating_add(v.restart.overhead, v.restart.grace) / 1000;
      const TimeMs worth = when(have - more + back + 2);
      const TimeMs at = std::max(level_ends, worth);
      if (at <= first) return at;
      const DurationMs every = v.restart.checkpoint_every;
      return saturating_add(first, saturating_mul((at - first - 1) / every + 1, every));
    }
  }
  return kEndOfTime;
}

std::int64_t standing(const State& state, const WorkloadState& v) {
  const Ordering& ordering = ordering_of(state, v);
  if (was_aged(ordering, v)) return kInt64Min;
  return ordering.by == OrderBy::kCreation ? v.created : key_of(ordering, v, state.now);
}

}  // namespace berth::engine
