// Decimal numbers in text, without loss: sign, digits, power of ten. Shared by scalars, quantities and
// durations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::text {

__extension__ typedef unsigned __int128 Uint128;

struct Decimal {
  bool negative = false;
  std::string_view whole;     // digits before the point
  std::string_view fraction;  // digits after it
  std::int64_t exponent = 0;  // written exponent, clamped to +-1'000'000
  std::size_t length = 0;     // characters of the text that were used
};

// Reads the longest number at the start of `text`: [+-] digits [. digits] [e [+-] digits]; at least one
// digit. An e that no digits follow is left alone (the suffix E of quantities).
std::optional<Decimal> scan_decimal(std::string_view text);

}  // namespace berth::text
