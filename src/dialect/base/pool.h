// Equal values are kept once. Which of two equal ones is kept decides nothing. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace berth::dialect {

// Cost: O(values of the same hash) per call, amortized.
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
    if (known_.size() >= 2 * kept_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      kept_ = std::max<std::size_t>(known_.size(), 128);
    }
    // Not make_shared(): what the pool notes of a value that is gone would keep its memory.
    std::shared_ptr<const T> made(new T(std::move(value)));
    known_.emplace(hash, made);
    return made;
  }

 private:
  std::unordered_multimap<std::size_t, std::weak_ptr<const T>> known_;
  std::size_t kept_ = 128;  // when those that are gone were left out last
};

}  // namespace berth::dialect
