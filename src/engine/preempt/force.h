// Who may borrow by force (PreemptionPolicy::borrow_within), or take room in its own queue while it borrows, and who stands back from it
// for a while.
//
// The rights to take room make no order. One may borrow by force from work of lower priority in another queue; work of that queue
// that stays within its quota may reclaim what was borrowed; and work in front of that in its queue may take the room from it, and
// borrow in turn. Then the first may come again by force, and so on for ever, each step by right. What gives way is the weakest
// of these rights, once it has turned out to be worth nothing:
//   - A queue whose work had to give back what it had borrowed by force borrows nothing by force of these flavors and resources, as
//     long as the work that took it back waits for room: that could take it back again at once.
//   - A workload that has lost, in whatever way, room that it took by force takes none so again until something has happened that is no
//     consequence of a decision (State::outside_version). By this alone no circle goes on by force: between two such happenings
//     each workload loses what it so took once. The first rule is there because in a busy cluster something always happens.
// The same circle closes where work that stays within its quota reclaims room, and work in front of it in its queue takes the room
// from it and borrows: what was borrowed is reclaimed, and the room lent again. So of who took room from its own queue while it borrowed,
// and had to give it back, the first holds, too: none of its queue does so as long as the work that took it back waits for room.
//
// Other circles need no borrowing at all: A takes from B, by that C of another queue may reclaim from A, B from C, and all of it again. What
// ends all of them: whoever lost to other queues what it took, kLossesInARow times in a row and each time before it had kept it for
// kKept, takes nothing for a while, each time for twice as long, and starts only where there is room. Within a queue one yields
// to another by an order, which makes no circle, so that whoever ends a circle's turn there took it, and loses it to another queue: some
// such loss comes again and again in each. So each comes to rest, and if nothing else changes, is tried again ever more seldom.
//
// All look at what has been, not ahead: whether somebody who waits would take the room back is a search of its own.
#pragma once

#include <span>
#include <string>

#include "engine/core/state.h"
#include "engine/place/placer.h"

namespace berth::engine {

inline constexpr std::int64_t kLossesInARow = 3;
inline constexpr DurationMs kFirstPatience = 60'000;
inline constexpr DurationMs kMostPatience = 3'600'000;
// Longer than that: what others kept only because it was patient is none that it might keep.
inline constexpr DurationMs kKept = 2 * kMostPatience;

// It takes no room from anybody before patient_until. O(1).
bool is_patient(const State& state, const WorkloadState& w);
// That nobody yields to it, with the policy of its queue, and its patience.
Reason no_victims(const State& state, const WorkloadState& w);

// Whether `w` may borrow by force what it asks for. O(workloads that took something back from its queue, and are there still).
bool may_borrow_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request);

// Why not, where the policy of its queue would let it, as the end of a sentence that its owner reads.
std::string why_not_by_force(const State& state, const WorkloadState& w, std::span<const QuotaItem> request);

// `placed`, charged now, with room that its own queue gave up: why it may not have that as long as it borrows for it, as above; "": it may.
std::string why_not_while_borrowing(const State& state, const WorkloadState& w,
                                    std::span<const PlacedSlot> placed);
// It got this so.
void note_gain(State& state, WorkloadId taker, std::span<const PlacedSlot> placed);

// Told before `victim` loses room to `to`, with the reason that its owner reads.
void note_loss(State& state, WorkloadId victim, WorkloadId to, ReasonCode why);

}  // namespace berth::engine
