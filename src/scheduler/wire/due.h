// Keys and when they are due, each once: of two times for one key the earlier counts. Keys that are due at the same time come out in
// the order in which they were put in. O(log n) per change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace berth::scheduler {

class Due {
 public:
  void put(const std::string& key, TimeMs at) {
    const auto it = turns_.find(key);
    if (it != turns_.end() && it->second.first <= at) return;
    set(key, at);
  }
  // From now on due then, whatever it was before. A key that is due then already keeps its place.
  void set(const std::string& key, TimeMs at) {
    const auto [it, fresh] = turns_.try_emplace(key);
    if (!fresh) {
      if (it->second.first == at) return;
      keys_.erase(it->second);
    }
    it->second = {at, next_++};
    keys_.emplace(it->second, key);
  }
  // The time of the first; kEndOfTime: there is none.
  TimeMs next() const { return keys_.empty() ? kEndOfTime : keys_.begin()->first.first; }
  // The first, which stays. There is one.
  const std::string& first() const { return keys_.begin()->second; }
  // The first. There is one.
  std::string take() {
    std::string key = std::move(keys_.begin()->second);
    keys_.erase(keys_.begin());
    turns_.erase(key);
    return key;
  }
  std::size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }

 private:
  using Turn = std::pair<TimeMs, std::uint64_t>;  // when it is due, and the number of the change that said so

  std::map<Turn, std::string> keys_;
  std::unordered_map<std::string, Turn> turns_;
  std::uint64_t next_ = 0;
};

}  // namespace berth::scheduler
