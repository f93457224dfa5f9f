// Fragmentation placement where work comes and goes, on generated worlds: 64 nodes of 8 GPUs, and two weeks of work like Helios'. Its
// large gangs wait for nodes that are wholly free. One world says little, so it is a mean over several. Prints the waiting.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

double mean_wait(const std::string& placement, int jobs, std::uint64_t seed) {
  const auto scenario = parse_scenario(
      "name: departures\nmode: replay\n"
      "cluster: [{kind: shape, count: 64, gpus: 8}]\n"
      "trace: [{kind: generate, like: helios, jobs: " +
          std::to_string(jobs) +
          ", span: 14d, queue: q}]\n"
          "queues: [{name: q, unlimited: true}]\n"
          "policy: {placement: " +
          placement + "}\n",
      "departures.yaml", source_path("examples"), {.seed = seed});
  if (!scenario) {
    ADD_FAILURE() << scenario.error().str();
    return 1;
  }
  const auto result = simulate(*scenario);
  if (!result) {
    ADD_FAILURE() << result.error().str();
    return 1;
  }
  return static_cast<double>(metric_of(*result, "waiting_mean_s")) / 1000;
}

TEST(Departures, LargeWorkWaitsNoLongerThanWhereNodesArePacked) {
  double sum = 0;
  int worlds = 0;
  for (const int jobs : {10'355, 11'990}) {  // 95 and 110 % of the GPUs
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const double ours = mean_wait("fragmentation", jobs, seed);
      const double pack = mean_wait("pack", jobs, seed);
      std::printf("%d jobs, seed %d: %.0f s, pack %.0f s\n", jobs, static_cast<int>(seed), ours, pack);
      sum += std::log(ours / pack);
      ++worlds;
    }
  }
  const double ratio = std::exp(sum / worlds);
  std::printf("mean ratio: %.3f\n", ratio);
  EXPECT_LT(ratio, 1.0);
}

}  // namespace
}  // namespace berth::sim
