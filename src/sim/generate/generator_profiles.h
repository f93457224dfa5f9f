// The published shapes of known clusters, as tables that the generator draws from.
//
// Where the figures are from
//   - Philly, Helios, Seren, Kalos: the table of job statistics, and the distributions of GPUs per job, of
//     GPU-time by GPUs per job and of run times at powers of two seconds, published with Hu et al.,
//     "Characterization of Large Language Model Development in the Datacenter", NSDI 2024 (InternLM/AcmeTrace:
//     data/cluster_summary.csv and the figures' curves).
//   - Hours of the day: the mean number of GPU jobs per hour in four Helios clusters (Hu et al., SC 2021,
//     HeliosArtifact). Days of the week: Philly's jobs of October 2017 per weekday.
//   - Lingjun: the 2,498 jobs of Alibaba's 2023 trace (Cao et al., "Crux", SIGCOMM 2024), counted.
// How the tables were made: sizes are the steps of the published distribution. Run times are the published distribution over
// octaves (powers of two seconds) for all jobs. Each group of sizes is tilted by a power of the run time until it has its published
// share of the GPU-time. The whole keeps the published mean, and its distribution at the octaves within 3 points.
// tests/sim/generate/generator_test.cc and docs/traces.md compare the result with the published figures.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"
#include "sim/generate/generator.h"

namespace berth::sim {

struct SizeWeight {
  std::int64_t gpus = 0;
  std::uint64_t weight = 0;  // of a million jobs
  std::size_t runs = 0;      // in Profile::runs
};

// How often a run time lies in [0, 1), [1, 2), [2, 4), [4, 8) ... seconds, of about a million.
inline constexpr std::size_t kOctaves = 23;
using RunTimes = std::array<std::uint64_t, kOctaves>;

struct Profile {
  std::span<const SizeWeight> sizes;
  std::span<const RunTimes> runs;
  std::int64_t longest_s = 0;  // run time
};

// For every likeness but openb, whose jobs are single pods (generator.cc).
const Profile& profile_of(Likeness like);

// Weights of arrivals: by the hour of the day, and by the day of the week, Monday first.
std::span<const std::uint64_t, 24> hour_weights();
std::span<const std::uint64_t, 7> day_weights();

}  // namespace berth::sim
