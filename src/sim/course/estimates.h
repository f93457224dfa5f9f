// The expected run time that the engine gets: none, the truth, or an estimate with an error.
//
// The models of error:
//   factor  the truth times a factor that lies log-uniformly between 1/F and F: too short as often as too long
//   over    what users do (Mu'alem and Feitelson, IEEE TPDS 2001; Tsafrir, Etsion and Feitelson, JSSPP 2005):
//           the truth times a factor that lies uniformly between 1 and F, then up to the next round time
//   given   what the trace itself says; a job for which it says nothing has no estimate
//
// The error of a job follows from the seed and the job's name alone. It is the same in every run of the scenario, whatever the
// other jobs and its own course.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/enums.h"
#include "base/time.h"

namespace berth::sim {

enum class Knowledge : std::uint8_t { kUnknown, kKnown, kEstimated };
enum class EstimateModel : std::uint8_t { kFactor, kOver, kGiven };

struct EstimateRules {
  Knowledge knowledge = Knowledge::kUnknown;
  EstimateModel model = EstimateModel::kFactor;
  std::int64_t factor_milli = 3000;  // F in thousandths, 1000 to 1,000,000
  std::uint64_t seed = 0;
};

// The duration that the engine is told, at least 1 ms; none where it is told nothing. `given` is what the
// trace says (absent = nothing). `duration` is not negative.
std::optional<DurationMs> expected_duration(const EstimateRules& rules, std::string_view name,
                                            DurationMs duration, std::optional<DurationMs> given);

// The least of the times that people write into forms (1, 2, 5, 10, 15, 20, 30 min, 1, 2, 3, 4, 6, 8, 12 h,
// then whole days) that is not below `duration`.
DurationMs round_time(DurationMs duration);

}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::Knowledge> {
  static constexpr std::array names{"unknown"sv, "known"sv, "estimated"sv};
};
template <>
struct EnumNames<sim::EstimateModel> {
  static constexpr std::array names{"factor"sv, "over"sv, "given"sv};
};
}  // namespace berth
