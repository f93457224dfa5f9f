// The numbers that controllers give to the pods of an owner.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace berth::dialect {

// The number behind "<owner>-" in the name of a pod; nullopt where its name is none that a controller gives. O(length).
inline std::optional<std::int64_t> number_behind(std::string_view pod, std::string_view owner) {
  if (!pod.starts_with(owner)) return std::nullopt;
  pod.remove_prefix(owner.size());
  if (!pod.starts_with('-')) return std::nullopt;
  pod.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(pod.data(), pod.data() + pod.size(), number);
  if (error != std::errc() || end != pod.data() + pod.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace berth::dialect
