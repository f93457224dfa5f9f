// Names of enumerators, in one place per enum, used by logs, files and messages alike:
//
//   enum class Effect : std::uint8_t { kNoSchedule, kNoExecute };
//   template <> struct EnumNames<Effect> { static constexpr std::array names{"NoSchedule"sv, "NoExecute"sv};
//   };
//
// Enumerators must count up from 0. enum_name() and enum_parse() are then defined. The name of a value that is no enumerator is "?".
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace berth {

using namespace std::string_view_literals;

template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires { EnumNames<E>::names; };

template <NamedEnum E>
constexpr std::string_view enum_name(E e) {
  const auto index = static_cast<std::size_t>(e);
  return index < EnumNames<E>::names.size() ? std::string_view(EnumNames<E>::names[index]) : "?"sv;
}

template <NamedEnum E>
constexpr std::optional<E> enum_parse(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i) {
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace berth
