// Exact integer arithmetic that never wraps. Amounts in Berth are int64 in base units. Sums that would leave the range are reported
// (checked_*) or clamped (saturating_*). Products in comparisons use 128 bits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace berth {

__extension__ using Int128 = __int128;

inline constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}
inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return b > 0 ? kInt64Max : kInt64Min;
  return out;
}
inline std::int64_t saturating_sub(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) return b < 0 ? kInt64Max : kInt64Min;
  return out;
}
inline std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return (a > 0) == (b > 0) ? kInt64Max : kInt64Min;
  return out;
}
inline std::int64_t clamp_to_int64(Int128 v) {
  if (v > kInt64Max) return kInt64Max;
  if (v < kInt64Min) return kInt64Min;
  return static_cast<std::int64_t>(v);
}

// The integer nearest to a / b, halves away from zero. b > 0, and |a| + b / 2 must fit.
inline Int128 divide_rounded(Int128 a, Int128 b) {
  return a >= 0 ? (a + b / 2) / b : -((-a + b / 2) / b);
}

// A positive rational weight, exact. Compare a/weight with b/weight through products in 128 bits, never by
// dividing.
struct Rational {
  std::int64_t num = 1;
  std::int64_t den = 1;
  bool operator==(const Rational&) const = default;
};

}  // namespace berth
