// The resourceVersion of an object, by which an answer and what the watch shows are put in order. Larger is later (KEP-5504).
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace berth::scheduler {

// 0: it is none.
inline std::uint64_t version_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// For an object as JSON: the first field of that name is the object's own (inside of strings its quotes would be escaped). "":
// none.
inline std::string_view version_in(std::string_view body) {
  constexpr std::string_view kField = "\"resourceVersion\":\"";
  const auto at = body.find(kField);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = body.substr(at + kField.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace berth::scheduler
