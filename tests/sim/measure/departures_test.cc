// Fragmentation placement where work comes and goes, on generated worlds: 64 nodes of 8 GPUs, and two weeks of work like Helios'. Its
// large gangs wait for nodes that are wholly free. One world says little, so it is a mean over several. Prints the waiting.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

// Mean waiting, weighted by the GPUs of the jobs.
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
  double waited = 0;
  double gpus = 0;
  SimulateOptions options;
  options.look_at_replay = [&](const Input& input, const Outcome& outcome, const ReplaySummary&) {
    for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
      const auto weight = static_cast<double>(input.trace.shapes[input.trace.jobs[i].shape].gpu_milli) / 1000;
      waited += weight * static_cast<double>(outcome.jobs[i].waited) / 1000;
      gpus += weight;
    }
  };
  const auto result = simulate(*scenario, options);
  if (!result) {
    ADD_FAILURE() << result.error().str();
    return 1;
  }
  return waited / gpus;
}

TEST(Departures, LargeWorkWaitsNoLongerThanWhereNodesArePacked) {
  double sum = 0;
  int worlds = 0;
  for (const int jobs : {10'355, 11'990}) {  // 95 and 110 % of the GPUs
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const double ours = mean_wait("fragmentation", jobs, seed);
      const double pack = mean_wait("pack", jobs, seed);
      std::printf("%d jobs, seed %d: %.0f s, pack %.0f s\n", jobs, static_cast<int>(seed), ours, pack);
      sum += std::log(ours / pack);
      ++worlds;
    }
  }
  const double ratio = std::exp(sum / worlds);
  std::printf("mean ratio: %.3f\n", ratio);
  EXPECT_LT(ratio, 0.99);
}

}  // namespace
}  // namespace berth::sim
