// Quota and room that are reserved from the workload being attempted. Quota is reserved for the heads of strict queues
// (strict_heads.h), and room for old work that has its turn (old_work.h). The workload starts, or holds room, only beside both.
//
// The quota is learnt when the workload would start or hold room without it, because most waiting work lacks more than that.
// Cost: nothing where nothing is reserved; else O(amounts reserved + slots placed) for each question.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/decide/strict_heads.h"
#include "engine/place/placer.h"
#include "engine/plan/reservations.h"
#include "engine/state/state.h"

namespace berth::engine {

class Reserved {
 public:
  Reserved(State& state, StrictHeads& strict) : state_(state), strict_(strict) {}

  // From a class that would borrow as far up as `height`, with the room that old work has reserved from it.
  void begin(ClassId from, std::int64_t height, std::vector<const Reservation*> room);
  // Finds the reserved quota. `placed`: places of the workload that are charged already.
  void learn(const WorkloadState& w, std::span<const PlacedSlot> placed = {}, Mode mode = Mode::kPlan);
  // learn() may still find quota that is reserved.
  bool may_learn_more() const { return !known_ && !state_.keepers.empty(); }
  bool empty() const { return quota_.empty() && room_.empty(); }
  // Whether these places, which are charged, leave all that is reserved. Otherwise missing() has the pairs that are short.
  bool stands_beside(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode);
  // Quota: not in the trial, so that each charge is taken back by its own.
  void charge_quota(int sign);
  // Room: in the trial.
  void charge_room(int sign);

  const std::vector<Kept>& quota() const { return quota_; }
  const std::vector<const Reservation*>& room() const { return room_; }
  const std::vector<Reason>& missing() const { return missing_; }

 private:
  State& state_;
  StrictHeads& strict_;
  ClassId from_;
  std::int64_t height_ = 0;
  std::vector<Kept> quota_;
  bool known_ = false;
  std::vector<const Reservation*> room_;
  std::vector<Reason> missing_;
};

}  // namespace berth::engine
