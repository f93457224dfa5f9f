// Logarithms and powers of two in integers: the same bits on every machine, which the standard library's
// functions of floating point numbers do not promise. For samplers (base/samplers.h).
//
// A fixed-point number here has 32 bits after the point. Both functions are monotone; their error is below
// 2^-28, relative for the power, absolute for the logarithm. O(32) multiplications each.
//
// Source: the binary logarithm by repeated squaring (Knuth, The Art of Computer Programming 1, 1.2.2, exercise 25 and the
// text around it), the power as a product of roots of two.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/checked.h"

namespace berth {

inline constexpr int kFixedBits = 32;
inline constexpr std::int64_t kFixedOne = std::int64_t{1} << kFixedBits;

namespace detail {

__extension__ using UInt128 = unsigned __int128;

inline constexpr int kRootBits = 62;

// The largest integer whose square is at most v.
constexpr std::uint64_t floor_sqrt(UInt128 v) {
  UInt128 low = 0;
  UInt128 high = UInt128{1} << 64;  // excluded
  while (high - low > 1) {
    const UInt128 middle = low + (high - low) / 2;
    if (middle * middle <= v) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return static_cast<std::uint64_t>(low);
}

// 2^(1/2), 2^(1/4), ... with 62 bits after the point.
constexpr std::array<std::uint64_t, kFixedBits> roots_of_two() {
  std::array<std::uint64_t, kFixedBits> out{};
  std::uint64_t root = std::uint64_t{2} << kRootBits;
  for (auto& entry : out) {
    root = floor_sqrt(UInt128{root} << kRootBits);
    entry = root;
  }
  return out;
}
inline constexpr auto kRootsOfTwo = roots_of_two();

}  // namespace detail

// log2(v) for v >= 1, from 0 to just below 64.
constexpr std::int64_t log2_fixed(std::uint64_t v) {
  const int whole = static_cast<int>(std::bit_width(v)) - 1;
  // In [1, 2) with 62 bits after the point.
  detail::UInt128 m = whole <= 62 ? detail::UInt128{v} << (62 - whole) : detail::UInt128{v} >> (whole - 62);
  std::int64_t out = static_cast<std::int64_t>(whole) << kFixedBits;
  for (int bit = kFixedBits - 1; bit >= 0; --bit) {
    m = (m * m) >> 62;
    if (m < detail::UInt128{2} << 62) continue;
    m >>= 1;
    out += std::int64_t{1} << bit;
  }
  return out;
}

// v times 2^x, rounded down, for v >= 0 and 0 <= x; the largest int64 where it would be more.
constexpr std::int64_t times_exp2(std::int64_t v, std::int64_t x) {
  detail::UInt128 m = detail::UInt128{1} << 62;
  for (int bit = 0; bit < kFixedBits; ++bit) {
    if (((x >> (kFixedBits - 1 - bit)) & 1) == 0) continue;
    m = (m * detail::kRootsOfTwo[static_cast<std::size_t>(bit)]) >> 62;
  }
  const std::int64_t whole = x >> kFixedBits;
  if (v == 0) return 0;
  if (whole > 62) return kInt64Max;
  const detail::UInt128 product = detail::UInt128{static_cast<std::uint64_t>(v)} * m;  // below 2^126
  const detail::UInt128 out = product >> (62 - whole);
  return out > static_cast<detail::UInt128>(kInt64Max) ? kInt64Max : static_cast<std::int64_t>(out);
}

}  // namespace berth
