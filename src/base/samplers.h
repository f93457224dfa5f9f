// Seeded samples of the distributions that simulations need, in integers only (base/random.h says why).
// Every sampler draws exactly one number from `random`, so that streams stay in step whatever comes out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/fixed_point.h"
#include "base/random.h"

namespace berth {

// A seed of its own for one of many streams or things: equal inputs, equal seed. FNV-1a over the name, then
// the mixer of splitmix64 (both public domain).
constexpr std::uint64_t derived_seed(std::uint64_t seed, std::string_view name, std::uint64_t number = 0) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  std::uint64_t z = hash + seed * 0x9e3779b97f4a7c15ull + number * 0xd1b54a32d192ed03ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Exponentially distributed with this mean (0 <= mean <= 2^56), rounded down; at most 44 times the mean.
inline std::int64_t sample_exponential(Random& random, std::int64_t mean) {
  constexpr Int128 kLn2 = 2977044471;                        // ln 2 with 32 bits after the point
  const std::uint64_t u = (random.next() >> 1) + 1;          // of (0, 2^63]
  const std::int64_t bits = 63 * kFixedOne - log2_fixed(u);  // -log2(u / 2^63)
  return clamp_to_int64(((Int128{bits} * kLn2) >> kFixedBits) * mean >> kFixedBits);
}

// Log-uniformly distributed in [low, high], 1 <= low <= high: every factor of two is as likely as any other.
inline std::int64_t sample_log_uniform(Random& random, std::int64_t low, std::int64_t high) {
  const std::int64_t span =
      log2_fixed(static_cast<std::uint64_t>(high)) - log2_fixed(static_cast<std::uint64_t>(low));
  const auto u = static_cast<std::int64_t>(random.next() >> 32);  // of [0, 1), 32 bits
  const std::int64_t x = static_cast<std::int64_t>((Int128{span} * u) >> kFixedBits);
  return std::clamp(times_exp2(low, x), low, high);
}

}  // namespace berth
