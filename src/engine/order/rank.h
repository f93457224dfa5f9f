// The position of a workload in the line of its queue: pure functions of its progress and the queue's ordering (model/ordering.h,
// docs/policies.md).
//
// Aged work. A workload is *aged* after waiting (all its time without room together) for its age limit. That is the limit of
// the queue, or twice its own run time, if that is known and longer. The aged ones of a queue take turns, one at a time. Their order: priority (if that ranks first), age in steps that double (Progress::age), key. The
// workload whose turn it is becomes *old*. It stands in front of all others of its priority, and room is reserved for it
// (plan/reservations.h), until it starts. Then the next turn begins. So the order of the queue holds for all workloads but one.
//   - If all aged work went in front, a queue with more work than room would be first in, first out.
//   - If the oldest always went first, one workload that runs for days would keep all others of its size from their turns.
//   - If all had the same limit, long work would go before short work as soon as both are aged, and many would wait for one.
//
// Bound: before the turn of an aged workload come only higher priorities, and workloads that have waited for more than half as
// long. Those are finitely many, so its turn comes. Then it starts as soon as the work in its room has ended.
//
// Old work stays old. Exception: under attained service its start makes it young again, with nothing attained (the promotion of
// Tiresias). It then keeps its seat, even against old work, until it has attained the first level; each further promotion doubles
// that amount. Otherwise two such workloads would take turns at every age limit, and work longer than that, which loses its
// progress, would never end.
//
// Source of the two-dimensional levels: Gu et al., "Tiresias", NSDI 2019; of the remaining time: Schrage 1968.
#pragma once

#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "base/time.h"
#include "model/ordering.h"
#include "model/workload.h"

namespace berth::engine {

// The progress of a workload. Times are those of the decide() that noted them.
struct Progress {
  DurationMs done = 0;        // work of ended runs that was kept
  std::int64_t runs = 0;      // that ended before the work did
  std::int64_t attained = 0;  // device-milliseconds used up to `since`
  std::int64_t devices = 0;   // in use since then, thousandths (of CPUs, where it has no device)
  TimeMs since = 0;
  TimeMs waits_since =
      0;                 // its creation, later by the time that it ran: now - waits_since is all its waiting
  TimeMs run_began = 0;  // of a run whose end is not noted yet; 0: none
  // Its waiting in its age limits: 0 less than one, 1 one, 2 two, 3 four, and so on.
  std::int64_t age = 0;
  bool old = false;             // and its turn came: it stands in front of work that is not old
  std::int64_t promotions = 0;  // starts out of old age that made it young again
};

inline constexpr std::int64_t kUnknownKey = kInt64Max;  // behind all that are known

// Priority with the tier of the kind in front of it (Tiers::kByKind): tier x 2^33 + priority. Priorities are clamped to
// +-2^32, which no Kubernetes priority reaches.
std::int64_t ranked_priority(Tiers tiers, WorkloadKind kind, std::int64_t priority);

// The part of the run from `began` to `now` that would be kept if it ended now: up to the last checkpoint, reported or computed.
// The restart overhead of a run that is not the first comes before any work.
DurationMs kept_work(const Progress& progress, const Restart& restart, TimeMs began, TimeMs now);

// The part that would be lost. Computed checkpoints count from the first work, so a restart overhead delays all of them. A search
// for the least loss prefers workloads that seem to have just written a checkpoint, so this must be exact.
DurationMs lost_work(const Progress& progress, const Restart& restart, TimeMs began, TimeMs now);

// Expected remaining work at `now`; `began`: start of the present run, 0 if it does not run. Never negative: a workload that runs
// longer than expected counts as about to end. None if the run time is unknown.
std::optional<DurationMs> remaining_work(const Progress& progress, const Restart& restart,
                                         std::optional<DurationMs> expected, TimeMs began, TimeMs now);

// Device time used until `now`. Saturates.
std::int64_t attained_service(const Progress& progress, TimeMs now);
// The step or level of attained service; 0 is the first. O(levels).
std::int64_t attained_level(const Ordering& ordering, std::int64_t attained);

// The service that it must attain after its last promotion before old work may have its seat. 0 if it was never promoted, or if old
// work stays old. Saturates. O(promotions).
std::int64_t seat(const Ordering& ordering, const Progress& progress);

// How long a workload waits before it is aged; `expected`: its run time, if known. 0: it never is. Saturates.
DurationMs age_limit(const Ordering& ordering, std::optional<DurationMs> expected);

// The key among the workloads of a queue that are not old: the lower, the earlier.
std::int64_t order_key(const Ordering& ordering, const Progress& progress, const Restart& restart,
                       std::optional<DurationMs> expected, TimeMs began, TimeMs now);

}  // namespace berth::engine
