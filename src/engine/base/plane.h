// Two accounts of everything that is used, kept side by side:
//   now    what is physically taken: binding + running + releasing
//   after  what is promised once the releasing ones are gone: binding + running + held
// A start must fit both; a plan (a hold on room that victims leave) must fit `after` only. So room under releasing pods is
// never free too early, and held room is never given away.
#pragma once

#include <cstdint>

#include "model/event.h"

namespace berth::engine {

enum Plane : std::uint8_t { kNow = 0, kAfter = 1 };
using PlaneMask = std::uint8_t;
inline constexpr PlaneMask kNowBit = 1;
inline constexpr PlaneMask kAfterBit = 2;
inline constexpr PlaneMask kBothPlanes = 3;
// Beside the planes: room that a plan keeps (plan/reservations.h). No pod is there, and none is sure to come.
inline constexpr PlaneMask kReservedBit = 4;
// Beside one of the planes: the slot is on the other one as well, before it goes (-1) or after it came (+1).
inline constexpr PlaneMask kPodBit = 8;
// Beside both planes: a pod that is ending, and keeps its room for an unknown time.
inline constexpr PlaneMask kEndingBit = 16;

// The planes that a placement must fit.
enum class Mode : std::uint8_t { kStart, kPlan };

inline PlaneMask planes_of(Mode mode) {
  return mode == Mode::kStart ? kBothPlanes : kAfterBit;
}

// The planes that a slot in this state charges.
inline PlaneMask planes_of(SlotState state) {
  switch (state) {
    case SlotState::kHeld:
      return kAfterBit;
    case SlotState::kBinding:
    case SlotState::kRunning:
      return kBothPlanes;
    case SlotState::kReleasing:
      return kNowBit;
    case SlotState::kAbsent:
    case SlotState::kWaiting:
    case SlotState::kGone:
      return 0;
  }
  return 0;
}

// The part that leaves first when such a slot is to end: that of the after plane.
inline PlaneMask freed_of(SlotState state) {
  const auto after = static_cast<PlaneMask>(planes_of(state) & kAfterBit);
  return planes_of(state) == kBothPlanes ? static_cast<PlaneMask>(after | kPodBit) : after;
}

}  // namespace berth::engine
