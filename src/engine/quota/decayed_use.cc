#include "engine/quota/decayed_use.h"

namespace berth::engine {
namespace {

// 2^(-1/16) in parts of 2^20.
constexpr std::int64_t kDecay = 1004120;
constexpr int kDecayBits = 20;
// After so many ticks nothing is left of any amount below 2^100.
constexpr std::int64_t kForgotten = 16 * 100;

}  // namespace

void DecayedUse::run_until(TimeMs now) {
  std::int64_t ticks = now / tick - since / tick;
  if (ticks > kForgotten) {
    // As if it had used the present rate for as long as anything is remembered.
    since = (now / tick - kForgotten) * tick;
    std::fill(before.begin(), before.end(), 0);
    std::fill(present.begin(), present.end(), 0);
    ticks = kForgotten;
  }
  for (std::int64_t t = 0; t < ticks; ++t) {
    const TimeMs end = (since / tick + 1) * tick;
    for (std::size_t r = 0; r < before.size(); ++r) {
      const Int128 all = before[r] + present[r] + static_cast<Int128>(rate[r]) * (end - since);
      before[r] = (all * kDecay) >> kDecayBits;
      present[r] = 0;
    }
    since = end;
  }
  for (std::size_t r = 0; r < before.size(); ++r) {
    present[r] += static_cast<Int128>(rate[r]) * std::max<DurationMs>(0, now - since);
  }
  since = std::max(since, now);
}

std::int64_t DecayedUse::average(std::size_t resource) const {
  constexpr Int128 kOne = Int128{1} << kDecayBits;
  // The weight of one unit of constant use: in ended ticks, and so far in the present one.
  const Int128 unit = static_cast<Int128>(tick) * kDecay + (since % tick) * (kOne - kDecay);
  const Int128 all = std::max<Int128>(0, before[resource] + present[resource]);
  return clamp_to_int64(all * (kOne - kDecay) / unit);
}

void DecayedUse::used_always(std::size_t resource, std::int64_t amount) {
  constexpr std::int64_t kOne = std::int64_t{1} << kDecayBits;
  before[resource] = static_cast<Int128>(amount) * tick * kDecay / (kOne - kDecay);
}

}  // namespace berth::engine
