// Published results on the real traces, where they are here; and every example that needs none.
#include <gtest/gtest.h>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

Result<SimulateResult> run_example(const std::string& name,
                                   std::optional<std::uint64_t> seed = std::nullopt) {
  BERTH_ASSIGN(const Scenario scenario, read_scenario(source_path("examples/" + name), seed));
  return simulate(scenario);
}

std::string missed(const SimulateResult& result) {
  std::string out;
  for (const Check& check : result.checks) {
    if (!check.met())
      out += check.what + ": want " + format_milli(check.want_milli) + ", got " +
             format_milli(check.got_milli) + "\n";
  }
  return out;
}

// Best fit on the ten published orders of arrival: within 0.05 point of the published curve at every point.
TEST(Published, OpenbBestFitTenOrders) {
  BERTH_NEEDS_TRACES();
  for (std::uint64_t seed = 42; seed <= 51; ++seed) {
    const auto result = run_example("openb-inflation.yaml", seed);
    ASSERT_TRUE(result) << result.error().str();
    EXPECT_EQ(result->checks.size(), 10u);
    EXPECT_TRUE(result->as_expected()) << "seed " << seed << "\n" << missed(*result);
  }
}

// Two complete tenants, first in first out: completion within 0.5 %, waiting within 2 %.
TEST(Published, PhillyTenantsFifo) {
  BERTH_NEEDS_TRACES();
  const auto result = run_example("philly-fifo.yaml");
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(result->checks.size(), 6u);
  EXPECT_TRUE(result->as_expected()) << missed(*result);
}

// The same with the shortest job first, and with the shortest remaining time first.
TEST(Published, PhillyTenantsShortestFirst) {
  BERTH_NEEDS_TRACES();
  for (const char* name : {"philly-sjf.yaml", "philly-srtf.yaml"}) {
    const auto result = run_example(name);
    ASSERT_TRUE(result) << result.error().str();
    EXPECT_EQ(result->checks.size(), 6u);
    EXPECT_TRUE(result->as_expected()) << name << "\n" << missed(*result);
  }
}

// October: all jobs end, in the pool and behind walls, and the pool serves them sooner.
TEST(Published, PhillyOctoberPoolAndWalls) {
  BERTH_NEEDS_TRACES();
  const auto pool = run_example("philly-october.yaml");
  ASSERT_TRUE(pool) << pool.error().str();
  EXPECT_EQ(metric_of(*pool, "jobs"), 58'920'000);
  EXPECT_EQ(metric_of(*pool, "completed"), 58'920'000);
  EXPECT_EQ(metric_of(*pool, "queue.no-tenant.jobs"), 6'954'000);
  EXPECT_GT(metric_of(*pool, "reclaims"), 0);
  EXPECT_EQ(metric_of(*pool, "reclaims"), metric_of(*pool, "evictions"));
  const auto walls = run_example("philly-october-walls.yaml");
  ASSERT_TRUE(walls) << walls.error().str();
  EXPECT_EQ(metric_of(*walls, "completed"), 51'966'000);
  EXPECT_EQ(metric_of(*walls, "without_tenant"), 6'954'000);
  EXPECT_EQ(metric_of(*walls, "evictions"), 0);
  EXPECT_LT(metric_of(*pool, "waiting_mean_s"), metric_of(*walls, "waiting_mean_s"));
}

// The other direction: with known durations and every node walled the numbers of the trace itself come back.
TEST(Published, OpenbReplayedInTimeNeverWaits) {
  BERTH_NEEDS_TRACES();
  const auto scenario = parse_scenario(
      "name: openb in time\n"
      "cluster: [{kind: openb, path: \"${BERTH_TRACES}/openb_2023/openb_node_list_gpu_node.csv\"}]\n"
      "trace: [{kind: openb, path: \"${BERTH_TRACES}/openb_2023/openb_pod_list_default.csv\", queue: q}]\n"
      "queues: [{name: q, unlimited: true}]\n",
      "s.yaml", source_path("examples"));
  ASSERT_TRUE(scenario) << scenario.error().str();
  const auto result = simulate(*scenario);
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(metric_of(*result, "completed"), 8'152'000);
  EXPECT_EQ(metric_of(*result, "waiting_max_s"), 0);
}

TEST(Examples, GeneratedMonth) {
  const auto first = run_example("generated.yaml");
  ASSERT_TRUE(first) << first.error().str();
  EXPECT_EQ(metric_of(*first, "completed"), 28'000'000);
  EXPECT_GT(metric_of(*first, "gpu_allocation_while_arriving_pct"), 60'000);
  const auto again = run_example("generated.yaml");
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(first->table, again->table);
  const auto other = run_example("generated.yaml", 2);
  ASSERT_TRUE(other) << other.error().str();
  EXPECT_NE(first->table, other->table);
}

TEST(Examples, OtherLikenessesAndForms) {
  const auto helios = run_example("generated-helios.yaml");
  ASSERT_TRUE(helios) << helios.error().str();
  EXPECT_EQ(metric_of(*helios, "completed"), 5'000'000);
  EXPECT_GT(metric_of(*helios, "gpu_allocation_while_arriving_pct"), 50'000);
  const auto acme = run_example("generated-acme.yaml");
  ASSERT_TRUE(acme) << acme.error().str();
  EXPECT_EQ(metric_of(*acme, "completed"), 7'600'000);
  const auto lingjun = run_example("generated-lingjun.yaml");
  ASSERT_TRUE(lingjun) << lingjun.error().str();
  EXPECT_EQ(metric_of(*lingjun, "completed"), 2'700'000);
  const auto swf = run_example("swf.yaml");
  ASSERT_TRUE(swf) << swf.error().str();
  EXPECT_EQ(metric_of(*swf, "completed"), 5'000);
  EXPECT_EQ(metric_of(*swf, "queue.others.jobs"), 1'000);
}

TEST(Published, LingjunHosts) {
  BERTH_NEEDS_TRACES();
  const auto result = run_example("lingjun-hosts.yaml");
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(metric_of(*result, "completed"), 10'000'000);
}

TEST(Examples, Small) {
  const auto result = run_example("small.yaml");
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(metric_of(*result, "completed"), 4'000);
  EXPECT_EQ(metric_of(*result, "reclaims"), 1'000);
}

}  // namespace
}  // namespace berth::sim
