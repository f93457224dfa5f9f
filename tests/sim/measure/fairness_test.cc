// The shares that queues deserve, computed apart from the engine.
#include "sim/measure/fairness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::ElementsAre;

TEST(FillByWeight, ASmallDemandLeavesTheRestToOthers) {
  EXPECT_THAT(fill_by_weight(100, std::vector<Claim>{{1, 10}, {1, 100}, {1, 100}}), ElementsAre(10, 45, 45));
  EXPECT_THAT(fill_by_weight(100, std::vector<Claim>{{3, 1000}, {1, 1000}}), ElementsAre(75, 25));
  EXPECT_THAT(fill_by_weight(100, std::vector<Claim>{{3, 20}, {1, 1000}}), ElementsAre(20, 80));
  EXPECT_THAT(fill_by_weight(100, std::vector<Claim>{{0, 20}, {1, 30}}), ElementsAre(0, 30));
  EXPECT_THAT(fill_by_weight(0, std::vector<Claim>{{1, 20}}), ElementsAre(0));
  EXPECT_TRUE(fill_by_weight(5, {}).empty());
}

RC_GTEST_PROP(FillByWeight, IsMaxMinFair, ()) {
  const auto amount = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const auto raw = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 20), rc::gen::inRange(0, 300'000)));
  std::vector<Claim> claims;
  std::int64_t asked = 0;
  for (const auto& [weight, most] : raw) {
    claims.push_back({weight, most});
    asked += most;
  }
  const auto given = fill_by_weight(amount, claims);
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  RC_ASSERT(sum <= amount);
  // Nothing is left that anybody could use, but for rounding.
  RC_ASSERT(sum + static_cast<std::int64_t>(claims.size()) >= std::min(amount, asked));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    RC_ASSERT(given[i] >= 0 && given[i] <= claims[i].most);
    if (given[i] == claims[i].most) continue;
    // A queue that is not satisfied has no less per weight than any other, except for rounding: it may miss one, and others may
    // have one more from each queue that was rounded down before them.
    const auto count = static_cast<std::int64_t>(claims.size());
    for (std::size_t k = 0; k < claims.size(); ++k) {
      RC_ASSERT((given[i] + 1) * claims[k].weight + count * claims[i].weight >= given[k] * claims[i].weight);
    }
  }
}

// Two queues with a guarantee of 4 and 12 GPUs on 16; the first asks for all from the beginning, the second
// comes after 100 s.
constexpr const char* kTwo =
    "name: two\ncluster: [{kind: shape, count: 2, gpus: 8}]\n"
    "trace: [{kind: berth, path: jobs.jsonl}]\n"
    "queues:\n"
    "  - name: pool\n"
    "    children:\n"
    "      - {name: a, RECLAIM quota: [{resource: gpu, nominal: 4}]}\n"
    "      - {name: b, RECLAIM quota: [{resource: gpu, nominal: 12}]}\n";
constexpr const char* kFairJobs =
    "{\"kind\":\"berth-trace\",\"version\":1}\n"
    "{\"kind\":\"job\",\"id\":\"a1\",\"submit_ms\":0,\"duration_ms\":200000,\"queue\":\"a\",\"gpus\":8}\n"
    "{\"kind\":\"job\",\"id\":\"a2\",\"submit_ms\":0,\"duration_ms\":200000,\"queue\":\"a\",\"gpus\":8}\n"
    "{\"kind\":\"job\",\"id\":\"b1\",\"submit_ms\":100000,\"duration_ms\":100000,\"queue\":\"b\",\"gpus\":8}"
    "\n";

SimulateResult run_fairly(const TempFolder& folder, const std::string& reclaim) {
  folder.file("jobs.jsonl", kFairJobs);
  std::string yaml = kTwo;
  for (std::size_t at = yaml.find("RECLAIM"); at != std::string::npos; at = yaml.find("RECLAIM"))
    yaml.replace(at, 7, reclaim);
  const auto scenario = parse_scenario(yaml, "s.yaml", folder.path());
  EXPECT_TRUE(scenario) << scenario.error().str();
  auto result = simulate(*scenario);
  EXPECT_TRUE(result) << result.error().str();
  return *std::move(result);
}

TEST(Fairness, SeesAGuaranteeThatIsNotKept) {
  const TempFolder folder;
  const SimulateResult unfair = run_fairly(folder, "");
  // b asks for 8 GPUs of its guarantee for 100 s and has none.
  EXPECT_EQ(metric_of(unfair, "below_guarantee_gpu_hours"), 8 * 100 * 1000 / 3600);
  EXPECT_EQ(metric_of(unfair, "queue.b.below_guarantee_gpu_hours"), 8 * 100 * 1000 / 3600);
  EXPECT_EQ(metric_of(unfair, "queue.a.below_guarantee_gpu_hours"), 0);
  EXPECT_LT(metric_of(unfair, "fairness_index"), 900);
  const SimulateResult fair = run_fairly(folder, "reclaim: any,");
  EXPECT_EQ(metric_of(fair, "below_guarantee_gpu_hours"), 0);
  EXPECT_EQ(metric_of(fair, "fairness_index"), 1000);
  EXPECT_EQ(metric_of(fair, "evictions"), 1000);
}

TEST(Fairness, ReasonsOfWaitingAreKept) {
  const TempFolder folder;
  const SimulateResult result = run_fairly(folder, "");
  const auto jobs = std::find_if(result.files.begin(), result.files.end(),
                                 [](const OutputFile& file) { return file.name == "jobs.csv"; });
  ASSERT_NE(jobs, result.files.end());
  EXPECT_THAT(jobs->content, testing::HasSubstr("b1,b,8,100,200,300,100,100,0,0,completed,0,2,"));
  EXPECT_THAT(jobs->content, testing::Not(testing::HasSubstr("completed,0,2,,")));
  EXPECT_THAT(jobs->content, testing::HasSubstr("a1,a,8,0,0,200,200,0,0,0,completed,0,1,,0,0,0,0\n"));
}

}  // namespace
}  // namespace berth::sim
