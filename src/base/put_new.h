// A map that is told of values again and again, most of them without news.
#pragma once

#include <utility>

namespace berth {

// Puts the value there. False: the map had it already, and stays as it is. Cost: a look-up and a comparison.
template <class Map, class Key, class T>
bool put_new(Map& map, const Key& key, T&& value) {
  const auto at = map.find(key);
  if (at != map.end() && at->second == value) return false;
  map.insert_or_assign(key, std::forward<T>(value));
  return true;
}

}  // namespace berth
