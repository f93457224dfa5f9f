// Counts per LocalQueue: waiting work, work with quota, and work that may start; per ClusterQueue: work with quota that may not
// start yet. Kept up to date workload by workload: O(resources) per change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/kueue/workload_status.h"

namespace berth::scheduler {

class LaneBook {
 public:
  using Uses = std::map<std::pair<std::string, std::string>, std::int64_t>;  // flavor, resource; base units
  struct Sum {
    std::int64_t pending = 0;
    std::int64_t held = 0;  // has quota, and something outside keeps it from starting
    std::int64_t admitted = 0;
    Uses held_uses, admitted_uses;
    bool empty() const {
      return pending == 0 && held == 0 && admitted == 0 && held_uses.empty() && admitted_uses.empty();
    }
  };
  enum class State : std::uint8_t { kNone, kPending, kHeld, kAdmitted };

  // Replaces what was said of it before. kNone, or no lane: it counts nowhere. `queue`: its ClusterQueue, as the engine names it.
  void set(const std::string& workload, std::string_view lane, std::string_view queue, State state,
           const std::vector<dialect::WorkloadStatus::Assignment>& assignments);
  // Nothing of it is known: nullptr.
  const Sum* find(const std::string& lane) const;
  // For a ClusterQueue, only held work.
  const Sum* held_in(const std::string& queue) const;

 private:
  struct Entry {
    std::string lane, queue;
    State state = State::kNone;
    std::vector<std::pair<std::pair<std::string, std::string>, std::int64_t>> uses;
  };
  static void add(std::map<std::string, Sum>& sums, const std::string& key, const Entry& entry, int sign);
  void add(const Entry& entry, int sign);

  std::unordered_map<std::string, Entry> entries_;  // by workload
  std::map<std::string, Sum> sums_;                 // by lane
  std::map<std::string, Sum> held_;                 // by ClusterQueue
};

}  // namespace berth::scheduler
