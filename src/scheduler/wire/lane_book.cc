#include "scheduler/wire/lane_book.h"

namespace berth::scheduler {

void LaneBook::add(std::map<std::string, Sum>& sums, const std::string& key, const Entry& entry, int sign) {
  Sum& sum = sums[key];
  switch (entry.state) {
    case State::kNone:
      break;
    case State::kPending:
      sum.pending += sign;
      break;
    case State::kHeld:
      sum.held += sign;
      break;
    case State::kAdmitted:
      sum.admitted += sign;
      break;
  }
  Uses& uses = entry.state == State::kHeld ? sum.held_uses : sum.admitted_uses;
  for (const auto& [pair, amount] : entry.uses) {
    const auto it = uses.try_emplace(pair, 0).first;
    it->second += sign * amount;
    if (it->second == 0) uses.erase(it);
  }
  if (sum.empty()) sums.erase(key);
}

void LaneBook::add(const Entry& entry, int sign) {
  add(sums_, entry.lane, entry, sign);
  if (entry.state == State::kHeld) add(held_, entry.queue, entry, sign);
}

void LaneBook::set(const std::string& workload, std::string_view lane, std::string_view queue, State state,
                   const std::vector<dialect::WorkloadStatus::Assignment>& assignments) {
  const auto known = entries_.find(workload);
  if (known != entries_.end()) {
    add(known->second, -1);
    entries_.erase(known);
  }
  if (lane.empty() || state == State::kNone) return;
  Entry entry{std::string(lane), std::string(queue), state, {}};
  if (state != State::kPending) {
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

const LaneBook::Sum* LaneBook::held_in(const std::string& queue) const {
  const auto it = held_.find(queue);
  return it == held_.end() ? nullptr : &it->second;
}

}  // namespace berth::scheduler
