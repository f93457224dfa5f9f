// A map of few keys, in one sorted block instead of a node for each. An empty one takes 24 bytes.
// Cost: a look-up O(log keys), an insertion or removal O(keys). Both make iterators invalid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace berth {

template <class Key, class T>
class FlatMap {
 public:
  using Entry = std::pair<Key, T>;

  FlatMap() = default;
  // Where keys are equal, the first one counts.
  FlatMap(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) try_emplace(entry.first, entry.second);
  }

  // No effect, and false, where the key is there.
  auto try_emplace(const Key& key, T value) {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), key,
                         [](const Entry& entry, const Key& wanted) { return entry.first < wanted; });
    if (at != entries_.end() && !(key < at->first)) return std::pair(at, false);
    return std::pair(entries_.insert(at, Entry(key, std::move(value))), true);
  }
  T& operator[](const Key& key) { return try_emplace(key, T{}).first->second; }
  auto erase(typename std::vector<Entry>::const_iterator at) { return entries_.erase(at); }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto rbegin() const { return entries_.rbegin(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool operator==(const FlatMap&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace berth
