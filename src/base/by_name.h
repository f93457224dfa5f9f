// Maps by text that are looked up by a view of it, without a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace berth {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <class T>
using ByName = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace berth
