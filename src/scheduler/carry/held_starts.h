// Starts that are decided but not carried out yet: they await admission (admission checks, Kueue's blockAdmission), or their pods
// are still to come (Intake::expects()). The engine counts their slots as binding: the quota and the places are theirs. Nothing of
// them is on the server, so that a start that is given up leaves nothing behind. Lives on the decision thread; the carrier asks it.
// Only in memory: after a restart the start is decided, and held, again.
//
// Cost: O(slots of the start) per call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/decision.h"

namespace berth::scheduler {

class HeldStarts {
 public:
  // More slots of a workload of which some are held already join them. `generation`: of the owner's spec; 0: it is none that is suspended.
  void add(const Decision& start, std::int64_t generation);
  // To be carried out, and not held any longer.
  std::optional<Decision> take(std::string_view workload);
  // The same of those of its slots that have a place: quota alone goes on being held.
  std::optional<Decision> take_placed(std::string_view workload);
  void forget(std::string_view workload);
  // One place of it; nothing where that is not held.
  std::optional<SlotPlacement> take(std::string_view workload, std::int64_t pod_set, std::int64_t index);
  // False: it was not held.
  bool drop(std::string_view workload, std::int64_t pod_set, std::int64_t index);

  bool empty() const { return held_.empty(); }
  bool has(std::string_view workload) const { return find(workload) != nullptr; }
  bool keeps(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  std::size_t places(std::string_view workload) const;
  std::int64_t generation(std::string_view workload) const;

 private:
  using Slot = std::pair<std::int64_t, std::int64_t>;  // pod set, index
  struct Held {
    Decision start;  // without its slots
    std::map<Slot, SlotPlacement> slots;
    std::int64_t generation = 0;
  };
  const Held* find(std::string_view workload) const;

  std::unordered_map<std::string, Held> held_;
};

}  // namespace berth::scheduler
