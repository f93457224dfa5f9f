// Room that is held for work until its victims have gone: ends holds that no longer stand, and starts those that have their room.
//
// A hold stands while its nodes suit and have what it holds, and while its quota is there. Its pods must be able to come where they are
// held, beside the pods that are there, and maybe behind other holds. Only pods break a spread: room that is held for others may never get its pods. Two holds that
// broke each other would end and come again, without end.
// Cost of check(): O(held slots), and once more for spreads that hold behind other holds alone. start(): O(holds), and O(slots) of those
// that have room.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/decide/decisions.h"
#include "engine/state/state.h"

namespace berth::engine {

// Whether what runs and what is held make a whole workload: at every group nothing or at least its least number.
bool whole_with_hold(const Structure& structure, const WorkloadState& workload);

class HeldRoom {
 public:
  HeldRoom(State& state, Decisions& decisions) : state_(state), decisions_(decisions) {}

  // Ends holds whose room has changed: a node gone, cordoned or shrunk, quota taken away, a queue stopped, pods missing or placed by
  // another client.
  void check();
  // Starts holds whose room is free by now.
  void start();
  // Whether a hold has all its room by now. If it does not start then, its terms keep it, and no pod ends any more that would bring
  // that to light.
  bool some_is_ready() const;

 private:
  class Spreads;

  bool end_broken();   // whether it ended one
  bool end_circles();  // the same
  std::string trouble_of(WorkloadId id, Spreads& spreads);
  std::string overdraft_of(const WorkloadState& w, const Slot& slot) const;
  std::string broken_terms(WorkloadId id, Spreads& spreads);
  std::optional<NodeId> kept_away(const WorkloadState& w);
  bool charge(const WorkloadState& w, std::vector<PlacedSlot>& placed);

  State& state_;
  Decisions& decisions_;
};

}  // namespace berth::engine
