// Items that come one after the other, where one may have to wait for another.
#pragma once

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

}  // namespace berth
