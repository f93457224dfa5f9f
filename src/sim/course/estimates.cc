#include "sim/course/estimates.h"

#include <algorithm>

#include "base/checked.h"
#include "base/samplers.h"

namespace berth::sim {
namespace {

constexpr DurationMs kDay = 24 * kHour;
constexpr std::int64_t kUnit = 1000;  // factors are thousandths

}  // namespace

DurationMs round_time(DurationMs duration) {
  static constexpr DurationMs kRound[] = {kMinute,      2 * kMinute,  5 * kMinute, 10 * kMinute, 15 * kMinute,
                                          20 * kMinute, 30 * kMinute, kHour,       2 * kHour,    3 * kHour,
                                          4 * kHour,    6 * kHour,    8 * kHour,   12 * kHour};
  const auto* const at = std::lower_bound(std::begin(kRound), std::end(kRound), duration);
  if (at != std::end(kRound)) return *at;
  return saturating_mul(duration / kDay + (duration % kDay > 0 ? 1 : 0), kDay);
}

std::optional<DurationMs> expected_duration(const EstimateRules& rules, std::string_view name,
                                            DurationMs duration, std::optional<DurationMs> given) {
  switch (rules.knowledge) {
    case Knowledge::kUnknown:
      return std::nullopt;
    case Knowledge::kKnown:
      return std::max<DurationMs>(1, duration);
    case Knowledge::kEstimated:
      break;
  }
  Random random(derived_seed(rules.seed, name));
  const std::int64_t most = rules.factor_milli;
  const auto scaled = [&](Int128 num, Int128 den) {
    return std::max<DurationMs>(1, clamp_to_int64(Int128{duration} * num / den));
  };
  switch (rules.model) {
    case EstimateModel::kFactor: {
      // 1/F to F is one sample of 1 to F^2, divided by F; thousandths of thousandths keep it fine.
      const std::int64_t fine = sample_log_uniform(random, kUnit * kUnit, most * most);
      return scaled(fine, Int128{most} * kUnit);
    }
    case EstimateModel::kOver:
      return round_time(scaled(random.between(kUnit, most), kUnit));
    case EstimateModel::kGiven:
      if (!given) return std::nullopt;
      return std::max<DurationMs>(1, *given);
  }
  return std::nullopt;
}

}  // namespace berth::sim
