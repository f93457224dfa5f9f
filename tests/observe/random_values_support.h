// Random values of every model type, made through fields(), so that a new field is covered the moment it exists.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/random.h"
#include "model/event.h"
#include "observe/codec.h"

namespace berth::observe::testing {

inline std::string random_text(Random& random) {
  static constexpr std::string_view kPieces[] = {
      "a", "node-1", "nvidia.com/gpu", "\"", "\\",   "\n",   "\t", "\x01", "é", "漢", "😀", "/", " ",
      "{", "]",      "null",           "12", "true", "\x7f", ":"};
  std::string out;
  for (auto n = random.below(5); n > 0; --n) out += kPieces[random.below(std::size(kPieces))];
  return out;
}

inline std::int64_t random_integer(Random& random) {
  switch (random.below(5)) {
    case 0:
      return 0;
    case 1:
      return random.between(-3, 1000);
    case 2:
      return std::numeric_limits<std::int64_t>::max() - random.between(0, 1);
    case 3:
      return std::numeric_limits<std::int64_t>::min() + random.between(0, 1);
    default:
      return static_cast<std::int64_t>(random.next());
  }
}

template <class T>
void fill(Random& random, T& out, int depth = 0) {
  if constexpr (std::same_as<T, bool>) {
    out = random.chance(1, 2);
  } else if constexpr (std::same_as<T, std::int64_t>) {
    out = random_integer(random);
  } else if constexpr (std::same_as<T, std::string>) {
    out = random_text(random);
  } else if constexpr (NamedEnum<T>) {
    out = static_cast<T>(random.below(EnumNames<T>::names.size()));
  } else if constexpr (codec_detail::kIsShared<T>) {
    fill(random, out.edit(), depth);
  } else if constexpr (codec_detail::kIsOptional<T>) {
    if (random.chance(1, 2)) fill(random, out.emplace(), depth);
  } else if constexpr (codec_detail::kIsVector<T>) {
    for (auto n = depth > 4 ? 0 : random.below(3); n > 0; --n) fill(random, out.emplace_back(), depth + 1);
  } else if constexpr (std::same_as<T, Labels>) {
    for (auto n = random.below(4); n > 0; --n) out[random_text(random)] = random_text(random);
  } else if constexpr (std::same_as<T, ResourceList>) {
    for (auto n = random.below(4); n > 0; --n) out.set(random_text(random), random_integer(random));
  } else {
    T::fields(out, [&](std::string_view, auto& member) { fill(random, member, depth + 1); });
  }
}

template <std::size_t I = 0>
Event random_event(Random& random, std::size_t kind) {
  if constexpr (I < std::variant_size_v<Event>) {
    if (kind != I) return random_event<I + 1>(random, kind);
    std::variant_alternative_t<I, Event> event;
    fill(random, event);
    return event;
  } else {
    return {};
  }
}

}  // namespace berth::observe::testing
