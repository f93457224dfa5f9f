// Trees that are given by each member's parent, and whose parents may lead round in a circle.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth {

// A chain of parents without an end.
struct Cycle {
  std::string
      text;  // "a -> b -> a", once round, from where the search came to it; of a long one the beginning and its length
  bool on_it = false;  // the member itself, not only one above it
};

// The members whose chain of parents never ends, and only they. `parents`: of each member; one that is not a member (an empty
// name, too) is where a chain ends. The views live as long as those given. O(n log n), whatever the shape.
std::map<std::string_view, Cycle> find_cycles(const std::map<std::string_view, std::string_view>& parents);

}  // namespace berth
