// Items that come one after the other, where one may have to wait for another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {

// Takes each item of `left` for which `come(item)` is true, pass by pass, until no more come. `left` keeps the others. True: all came.
// Cost: O(items x passes) calls.
template <class T, class Come>
bool come_in_turn(std::vector<T>& left, const Come& come) {
  for (std::size_t before = left.size() + 1; !left.empty() && left.size() < before;) {
    before = left.size();
    std::erase_if(left, come);
  }
  return left.empty();
}

// The same where some items can come only before others: those of which `is_first(item)` is true while none has come. One of them after
// the other is tried as the very first, the first kMostFirsts at most. `undo(item)` takes back that an item came. Where not all can
// come, the try counts that leaves the fewest.
// Cost: that of come_in_turn() for each try.
template <class T, class IsFirst, class Come, class Undo>
bool come_in_some_turn(std::vector<T>& left, const IsFirst& is_first, const Come& come, const Undo& undo) {
  constexpr std::size_t kMostFirsts = 16;
  const auto rest = std::stable_partition(left.begin(), left.end(), is_first);
  const auto tries = std::min(static_cast<std::size_t>(rest - left.begin()), kMostFirsts);
  if (tries == 0) return come_in_turn(left, come);
  const std::vector<T> all = left;
  const auto try_with = [&](std::size_t first, std::vector<T>& came) {
    left = all;
    std::rotate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(first),
                left.begin() + static_cast<std::ptrdiff_t>(first + 1));
    return come_in_turn(left, [&](const T& item) {
      if (!come(item)) return false;
      came.push_back(item);
      return true;
    });
  };
  std::size_t best = 0;
  std::size_t fewest = all.size() + 1;
  for (std::size_t first = 0; first < tries; ++first) {
    std::vector<T> came;
    if (try_with(first, came)) return true;
    if (left.size() < fewest) {
      fewest = left.size();
      best = first;
    }
    for (std::size_t i = came.size(); i-- > 0;) undo(came[i]);
  }
  std::vector<T> came;
  return try_with(best, came);
}

}  // namespace berth
