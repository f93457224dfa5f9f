// Keys and when they are due, each once: of two times for one key the earlier counts. Keys that are due at the same time come out in
// the order in which they were put in. O(log n + keys of that time) per change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace berth::scheduler {

class Due {
 public:
  void put(const std::string& key, TimeMs at) {
    const auto [it, fresh] = at_.try_emplace(key, at);
    if (!fresh) {
      if (it->second <= at) return;
      const auto range = keys_.equal_range(it->second);
      const auto old =
          std::find_if(range.first, range.second, [&](const auto& entry) { return entry.second == key; });
      if (old != range.second) keys_.erase(old);
      it->second = at;
    }
    keys_.emplace(at, key);
  }
  // From now on due then, whatever it was before.
  void set(const std::string& key, TimeMs at) {
    const auto it = at_.find(key);
    if (it != at_.end() && it->second < at) {
      const auto range = keys_.equal_range(it->second);
      keys_.erase(
          std::find_if(range.first, range.second, [&](const auto& entry) { return entry.second == key; }));
      at_.erase(it);
    }
    put(key, at);
  }
  // The time of the first; kEndOfTime: there is none.
  TimeMs next() const { return keys_.empty() ? kEndOfTime : keys_.begin()->first; }
  // The first, which stays. There is one.
  const std::string& first() const { return keys_.begin()->second; }
  // The first. There is one.
  std::string take() {
    std::string key = std::move(keys_.begin()->second);
    keys_.erase(keys_.begin());
    at_.erase(key);
    return key;
  }
  std::size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }

 private:
  std::multimap<TimeMs, std::string> keys_;
  std::unordered_map<std::string, TimeMs> at_;
};

}  // namespace berth::scheduler
