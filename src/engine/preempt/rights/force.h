// Limits on two preemption rights that can form cycles. "By force": preempting in another queue while borrowing
// (PreemptionPolicy::borrow_within). The other: preempting in the own queue while borrowing. Also the backoff after repeated
// losses.
//
// Preemption rights are not transitive, so they can cycle:
//   1. A (queue 1) preempts B (queue 2) while borrowing.
//   2. C (queue 2) stays within its quota and reclaims that room from A.
//   3. B, or another workload D of queue 2 with higher priority than C, preempts C and borrows.
//   4. A preempts B or D again. Each step is legal.
// The cycle is broken at its weakest step:
//   - A queue that had to give back room borrowed by force borrows none of these flavors and resources by force, while the workload
//     that took it back waits. That workload could take it back at once.
//   - A workload that lost room taken by force in any other way takes none by force until an event from outside
//     (State::outside_version). This rule alone ends all cycles by force: between two such events each workload loses such room
//     once. The first rule exists because a busy cluster has such events all the time.
//   - The cycle also closes by steps 2 and 3 alone: room is reclaimed, preempted within the queue, borrowed, and reclaimed again.
//     So the first rule also holds for room that a workload took from its own queue while it borrowed.
//
// Cycles without borrowing: A takes from B, C of another queue reclaims from A, B takes from C. The backoff ends all of them. A
// loss counts if another queue takes back what a workload took less than kKept ago. It counts, too, if pods that started since then
// break the terms of a hold: each such hold may have victims. After kLossesInARow losses in a row the
// workload preempts nothing for a while, each time for twice as long; it starts only in free room. Within a queue the order of
// victims allows no cycle, so every cycle contains such a loss by another queue again and again. So every cycle comes to rest, and
// is tried again ever more seldom.
//
// All rules look at past losses, never ahead: whether a waiting workload would take the room back is a search of its own.
#pragma once

#include <span>
#include <string>

#include "engine/place/placer.h"
#include "engine/state/state.h"

namespace berth::engine {

inline constexpr std::int64_t kLossesInARow = 3;
inline constexpr DurationMs kFirstPatience = 60'000;
inline constexpr DurationMs kMostPatience = 3'600'000;
// Longer than the longest backoff: room that a workload kept only because others were in backoff does not count as kept.
inline constexpr DurationMs kKept = 2 * kMostPatience;

// In backoff, or within its delay (Workload::preempts_after): it preempts nothing now. O(1).
bool is_patient(const State& state, const WorkloadState& w);
// The reason "no victims", with the policy of its queue, or with its backoff.
Reason no_victims(const State& state, const WorkloadState& w);

// Whether `w` may borrow `request` by force. O(workloads that took room back from its queue and still exist).
bool may_borrow_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request);

// Why it may not, although the policy of its queue allows it. The end of a sentence for the user.
std::string why_not_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request);

// `placed` is charged now, in room that its own queue gave up. Returns why the workload may not have it while it borrows for it;
// "": it may.
std::string why_not_while_borrowing(const State& state, const WorkloadState& w,
                                    std::span<const PlacedSlot> placed);
// Notes that `taker` got these places by preemption.
void note_gain(State& state, WorkloadId taker, std::span<const PlacedSlot> placed);

// The hold ends since its terms about other pods no longer hold.
void note_broken_hold(State& state, WorkloadId holder);

// To be called before `victim` loses room to `to`, with the reason for the user.
void note_loss(State& state, WorkloadId victim, WorkloadId to, ReasonCode why);

}  // namespace berth::engine
