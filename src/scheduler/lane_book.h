// What waits and what runs in each LocalQueue, kept up to date workload by workload: O(resources) per change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/workload_status.h"

namespace berth::scheduler {

class LaneBook {
 public:
  struct Sum {
    std::int64_t pending = 0;
    std::int64_t admitted = 0;
    std::map<std::pair<std::string, std::string>, std::int64_t> uses;  // flavor, resource; base units
  };
  enum class State : std::uint8_t { kNone, kPending, kAdmitted };

  // Replaces what was said of it before. kNone, or no lane: it counts nowhere.
  void set(const std::string& workload, std::string_view lane, State state,
           const std::vector<dialect::WorkloadStatus::Assignment>& assignments);
  // Nothing of it is known: nullptr.
  const Sum* find(const std::string& lane) const;

 private:
  struct Entry {
    std::string lane;
    State state = State::kNone;
    std::vector<std::pair<std::pair<std::string, std::string>, std::int64_t>> uses;
  };
  void add(const Entry& entry, int sign);

  std::unordered_map<std::string, Entry> entries_;  // by workload
  std::map<std::string, Sum> sums_;
};

}  // namespace berth::scheduler
