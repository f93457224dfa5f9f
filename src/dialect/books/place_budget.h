// Places of work whose pods are not there yet: of suspended Jobs, and of groups that start before all of their members have come.
// Such a place costs some hundred bytes here and in the engine, and a number in a small object asks for a million of them. So the
// work of one namespace has a bounded number of them together. Work beyond it waits, with a reason, until others have started or
// are gone. Small work is not counted.
//
// Cost: O(log holders) per call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::dialect {

class PlaceBudget {
 public:
  static constexpr std::int64_t kMost = 300'000;  // of one namespace
  static constexpr std::int64_t kSmall = 100;     // work with no more pods is never turned away

  // Whether the holder (a workload) may have so many places, instead of those that it has. If not it has none.
  bool take(const std::string& ns, const std::string& holder, std::int64_t places) {
    if (places <= kSmall) {
      give_back(ns, holder);
      return true;
    }
    Namespace& in = namespaces_[ns];
    std::int64_t& has = in.places[holder];
    in.sum -= std::exchange(has, 0);
    if (places > kMost - in.sum) {
      in.turned_away.insert(holder);
      return false;
    }
    in.turned_away.erase(holder);
    in.sum += has = places;
    return true;
  }
  void give_back(const std::string& ns, const std::string& holder) {
    const auto at = namespaces_.find(ns);
    if (at == namespaces_.end()) return;
    Namespace& in = at->second;
    in.turned_away.erase(holder);
    if (const auto it = in.places.find(holder); it != in.places.end()) {
      in.sum -= it->second;
      if (it->second > 0) freed_.insert(ns);
      in.places.erase(it);
    }
    if (in.places.empty()) namespaces_.erase(at);
  }
  // Those that were turned away where places have become free since the last call: they are to ask again.
  std::vector<std::string> take_hopeful() {
    std::vector<std::string> out;
    for (const auto& ns : std::exchange(freed_, {})) {
      const auto at = namespaces_.find(ns);
      if (at != namespaces_.end())
        out.insert(out.end(), at->second.turned_away.begin(), at->second.turned_away.end());
    }
    return out;
  }

 private:
  struct Namespace {
    std::int64_t sum = 0;
    std::map<std::string, std::int64_t> places;  // by holder; 0: it was turned away
    std::set<std::string> turned_away;
  };
  std::map<std::string, Namespace> namespaces_;
  std::set<std::string> freed_;
};

}  // namespace berth::dialect
