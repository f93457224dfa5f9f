// Items by number, where the number of an item that is gone is given out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

// Cost: O(1) per call, amortized; the number that came free last is the next. `Store`: a std::deque where items are large and many,
// which moves none of them when it grows.
template <class T, class Store = std::vector<T>>
class Reused {
 public:
  std::uint32_t take() {
    if (unused_.empty()) {
      all_.emplace_back();
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    const std::uint32_t at = unused_.back();
    unused_.pop_back();
    return at;
  }
  // It is as new from now on.
  void give_back(std::uint32_t at) {
    all_[at] = T{};
    unused_.push_back(at);
  }
  T& operator[](std::size_t at) { return all_[at]; }
  const T& operator[](std::size_t at) const { return all_[at]; }
  std::size_t size() const { return all_.size(); }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  Store all_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace berth
