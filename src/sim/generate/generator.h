// Seeded generators of jobs and nodes, for where no trace is at hand. Integers only: tables of weights and of
// quantiles with straight lines in between, so that a seed gives the same trace on every machine.
//
// The figures are published ones: generator_profiles.h says whose, docs/traces.md which of them are met and
// which are not. openb's fleet and shapes: Weng et al., USENIX ATC 2023. Any number of jobs takes the same
// memory, where the TraceBuilder has a sink.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/random.h"
#include "base/result.h"
#include "sim/trace/fleet.h"
#include "sim/trace/trace.h"

namespace berth::sim {

// A point of an inverse distribution function: `at` of 10,000 values are at most `value`.
struct Quantile {
  std::int64_t at = 0;  // of 10,000
  std::int64_t value = 0;
};
// A value whose distribution the table describes. The table goes from 0 to 10,000, ascending.
std::int64_t sample(Random& random, std::span<const Quantile> table);

enum class Likeness : std::uint8_t { kPhilly, kOpenb, kHelios, kSeren, kKalos, kLingjun };
}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::Likeness> {
  static constexpr std::array names{"philly"sv,     "openb"sv,      "helios"sv,
                                    "acme-seren"sv, "acme-kalos"sv, "lingjun"sv};
};
}  // namespace berth
namespace berth::sim {

inline constexpr DurationMs kLongestSpan = 100 * 365 * 24 * kHour;

struct TenantWeight {
  std::string name;
  std::int64_t weight = 1;
};

inline constexpr std::int64_t kMostGpus = 2048;  // of the largest job of any likeness

struct GeneratorOptions {
  Likeness like = Likeness::kPhilly;
  std::int64_t jobs = 1000;
  DurationMs span = 7 * 24 * kHour;   // jobs arrive in [0, span), as in arrivals.h; at most kLongestSpan
  std::int64_t max_gpus = kMostGpus;  // larger jobs are not drawn
  std::vector<TenantWeight> tenants;  // tenants that submit jobs; empty: none in particular
};

Status generate_jobs(std::uint64_t seed, const GeneratorOptions& options, const JobRules& rules,
                     TraceBuilder& out);

// `count` nodes like the cluster's:
//   openb    in the proportions of its fleet of GPU nodes, CPU and memory counted
//   lingjun  hosts of 8 GPUs, 8 to a leaf switch, the leaves on three aggregation groups (362, 306 and 179 of
//            847 hosts) under one core: labels kCoreLabel, kAggregationLabel, kLeafLabel
//   others   8 GPUs each
Fleet generate_fleet(Likeness like, std::uint64_t seed, std::int64_t count, const std::string& prefix);

}  // namespace berth::sim
