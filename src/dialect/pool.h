// Equal values are kept once. Which of two equal ones is kept decides nothing. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace berth::dialect {

// Cost: O(values of the same hash) per call.
template <class T, std::size_t (*kHash)(const T&)>
class Pool {
 public:
  std::shared_ptr<const T> share(T&& value) {
    const std::size_t hash = kHash(value);
    const auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end;) {
      auto known = it->second.lock();
      if (known == nullptr) {
        it = known_.erase(it);
        continue;
      }
      if (*known == value) return known;
      ++it;
    }
    auto made = std::make_shared<const T>(std::move(value));
    known_.emplace(hash, made);
    return made;
  }

 private:
  std::unordered_multimap<std::size_t, std::weak_ptr<const T>> known_;
};

}  // namespace berth::dialect
