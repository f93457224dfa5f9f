// Whole numbers that stand in texts: labels, annotations, options.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace berth {

// The number that the whole text is, from `least` to `most`. No sign but a minus, and no space. O(length).
inline std::optional<std::int64_t> to_integer(std::string_view text,
                                              std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                              std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace berth
