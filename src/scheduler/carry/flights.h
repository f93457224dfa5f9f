// Gangs that are being bound, each with its members that are not known to be bound, and the time by which all must be. Lives on the
// decision thread; the carrier tells it what becomes of the members.
//
// Cost: O(log n) per call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace berth::scheduler {

class Flights {
 public:
  // `within`: after the first member, until the gang is due.
  explicit Flights(DurationMs within) : within_(within) {}

  // The member is being bound.
  void expect(const std::string& workload, std::string uid, TimeMs now);
  // A member vanished before it was bound, or its place went back before it came. The deadline shows whether the gang is complete all
  // the same.
  void lose(const std::string& workload, TimeMs now);
  // A member was bound without a decision of this process: by a leader before, or by another client.
  void find(const std::string& workload, TimeMs now);
  bool was_found(const std::string& workload) const { return flights_.at(workload).found; }
  // The member is bound. Here, and below: nothing for work that is not being bound.
  void landed(const std::string& workload, const std::string& uid);
  // The member is gone.
  void gone(const std::string& workload, const std::string& uid);
  void forget(std::string_view workload);
  // Another time until it is due.
  void extend(const std::string& workload, TimeMs now);
  // Members that are not known to be bound.
  const std::set<std::string>& open(const std::string& workload) const { return flights_.at(workload).open; }

  // Workloads whose time has come since the last call. Each is to be forgotten or extended.
  std::vector<std::string> due(TimeMs now);
  TimeMs next_due() const { return timers_.empty() ? kEndOfTime : timers_.begin()->first; }

 private:
  struct Flight {
    std::set<std::string> open;
    TimeMs deadline = 0;
    bool lost = false;
    bool found = false;
  };
  using All = std::unordered_map<std::string, Flight>;
  Flight& of(const std::string& workload, TimeMs now);
  void close(All::iterator flight);

  const DurationMs within_;
  All flights_;
  std::multimap<TimeMs, std::string> timers_;
};

}  // namespace berth::scheduler
