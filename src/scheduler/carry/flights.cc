#include "scheduler/carry/flights.h"

#include <algorithm>
#include <utility>

namespace berth::scheduler {

Flights::Flight& Flights::of(const std::string& workload, TimeMs now) {
  const auto [it, fresh] = flights_.try_emplace(workload);
  if (fresh) {
    it->second.deadline = now + within_;
    timers_.emplace(it->second.deadline, workload);
  }
  return it->second;
}

void Flights::close(All::iterator flight) {
  if (flight->second.open.empty() && !flight->second.lost) flights_.erase(flight);
}

void Flights::expect(const std::string& workload, std::string uid, TimeMs now) {
  of(workload, now).open.insert(std::move(uid));
}

void Flights::lose(const std::string& workload, TimeMs now) {
  of(workload, now).lost = true;
}

void Flights::find(const std::string& workload, TimeMs now) {
  if (flights_.contains(workload)) return;
  Flight& flight = of(workload, now);
  flight.lost = flight.found = true;
}

void Flights::landed(const std::string& workload, const std::string& uid) {
  const auto it = flights_.find(workload);
  if (it == flights_.end()) return;
  it->second.open.erase(uid);
  close(it);
}

void Flights::gone(const std::string& workload, const std::string& uid) {
  const auto it = flights_.find(workload);
  if (it == flights_.end()) return;
  it->second.lost |= it->second.open.erase(uid) > 0;
  close(it);
}

void Flights::forget(std::string_view workload) {
  if (!flights_.empty()) flights_.erase(std::string(workload));
}

void Flights::extend(const std::string& workload, TimeMs now) {
  const auto it = flights_.find(workload);
  if (it == flights_.end()) return;
  it->second.deadline = now + within_;
  timers_.emplace(it->second.deadline, workload);
}

std::vector<std::string> Flights::due(TimeMs now) {
  std::vector<std::string> out;
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::string workload = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    const auto it = flights_.find(workload);
    if (it == flights_.end() || it->second.deadline > now) continue;
    // The timer of an earlier flight of the workload may be left.
    if (std::find(out.begin(), out.end(), workload) == out.end()) out.push_back(workload);
  }
  return out;
}

}  // namespace berth::scheduler
