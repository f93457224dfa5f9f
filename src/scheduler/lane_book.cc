#include "scheduler/lane_book.h"

namespace berth::scheduler {

void LaneBook::add(const Entry& entry, int sign) {
  Sum& sum = sums_[entry.lane];
  (entry.state == State::kAdmitted ? sum.admitted : sum.pending) += sign;
  for (const auto& [key, amount] : entry.uses) {
    const auto it = sum.uses.try_emplace(key, 0).first;
    it->second += sign * amount;
    if (it->second == 0) sum.uses.erase(it);
  }
  if (sum.pending == 0 && sum.admitted == 0 && sum.uses.empty()) sums_.erase(entry.lane);
}

void LaneBook::set(const std::string& workload, std::string_view lane, State state,
                   const std::vector<dialect::WorkloadStatus::Assignment>& assignments) {
  const auto known = entries_.find(workload);
  if (known != entries_.end()) {
    add(known->second, -1);
    entries_.erase(known);
  }
  if (lane.empty() || state == State::kNone) return;
  Entry entry{std::string(lane), state, {}};
  if (state == State::kAdmitted) {
    for (const auto& assignment : assignments) {
      for (const auto& flavor : assignment.flavors) {
        entry.uses.push_back({{flavor.flavor, flavor.resource}, assignment.usage.get(flavor.resource)});
      }
    }
  }
  add(entry, +1);
  entries_.emplace(workload, std::move(entry));
}

const LaneBook::Sum* LaneBook::find(const std::string& lane) const {
  const auto it = sums_.find(lane);
  return it == sums_.end() ? nullptr : &it->second;
}

}  // namespace berth::scheduler
