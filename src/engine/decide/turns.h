// The order in which the starts of one decide() come, where terms about other pods let one come only behind another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/state/state.h"

namespace berth::engine {

// Such a slot may have its place by other slots of the same decide(). It must be near to one, or one lets it be spread. For slots that
// spread the order of several pod sets matters, too, and a search tries few orders.
bool may_come_by_others(const State& state, ChargeId charge);
template <class Slots>
bool may_come_by_others(const State& state, const Slots& slots) {
  return state.accounts.counted().any() && std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
           return may_come_by_others(state, slot.charge);
         });
}

// Whether slots that are charged on both planes could have come one after the other, by all their terms. On kNowBit alone they may be
// near to pods that end.
template <class Slots>
bool terms_hold(State& state, const Slots& slots, PlaneMask planes = kBothPlanes) {
  return state.accounts.all_come(slots, planes) && state.accounts.fit_in_turn(slots, Mode::kStart);
}

// Groups of places that are charged on these planes, where one group comes after the other. These never come, in whatever order: they are
// near to each other alone, or with `spreads` are never spread as they must be. Ascending places in `groups`.
// Cost: O(groups x passes), 16 times that where some may be the first of their kind.
std::vector<std::size_t> never_in_turn(Counted& counted,
                                       const std::vector<std::vector<Counted::Place>>& groups,
                                       PlaneMask planes, bool spreads);

// The slots to which a decision gave their places, but for those that have ended since; of an eviction those that end.
std::vector<Slot> places_of(const State& state, const Decision& decision);

// Whether the starts among these can come one after the other, each where its terms hold, and behind the evictions that it is behind.
// `without`: evictions that have not been.
bool all_have_turns(State& state, const std::vector<Decision>& decisions,
                    std::span<const std::size_t> without);

// Moves starts so far back that each comes where its terms hold. Growth stays behind the start of its workload. A start stays where it
// is if no turn is found for it.
// Cost of both: one look at each start. Those that wait cost one more for each that comes, 65,536 at most. Four times that if some never come.
void put_in_turn(State& state, std::vector<Decision>& decisions);

}  // namespace berth::engine
