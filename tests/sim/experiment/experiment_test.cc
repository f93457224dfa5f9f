// Experiments: what they are made of, that runs stand in their order however many go at a time, and what is
// computed from them.
#include "sim/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/experiment/compare.h"
#include "sim/page/report.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kScenario =
    "name: small\n"
    "cluster: [{kind: shape, count: 4, gpus: 8}]\n"
    "trace: [{kind: generate, jobs: 200, span: 1d, max_gpus: 16, tenants: [{name: a, weight: 2}, {name: b}], "
    "checkpoint_every: 10m, restart_overhead: 1m}]\n"
    "queues:\n"
    "  - name: pool\n"
    "    children:\n"
    "      - {name: a, reclaim: any, quota: [{resource: gpu, nominal: 16}]}\n"
    "      - {name: b, reclaim: any, quota: [{resource: gpu, nominal: 16}]}\n";

struct Ran {
  Experiment experiment;
  std::vector<RunPlan> plans;
  std::vector<RunResult> results;
  Comparison comparison() const { return {&experiment, &plans, &results}; }
};
Ran run(Experiment experiment, std::size_t jobs = 2) {
  Ran out{std::move(experiment), {}, {}};
  auto plans = plan_runs(out.experiment);
  EXPECT_TRUE(plans) << plans.error().str();
  if (plans) out.plans = *std::move(plans);
  RunOptions options;
  options.jobs = jobs;
  out.results = run_all(out.plans, options);
  return out;
}

std::vector<std::string> names(const Experiment& experiment) {
  std::vector<std::string> out;
  for (const Variant& variant : experiment.variants) out.push_back(variant.name);
  return out;
}

TEST(Experiment, IsMadeOfArguments) {
  Experiment one = experiment_of({"folder/one.yaml"});
  EXPECT_THAT(names(one), ElementsAre("one"));
  ASSERT_TRUE(vary(one, "policy.placement=pack,spread"));
  EXPECT_THAT(names(one), ElementsAre("policy.placement=pack", "policy.placement=spread"));
  ASSERT_TRUE(sweep(one, "cluster[0].count=1..2:0.5"));
  EXPECT_EQ(one.axis, "cluster[0].count");
  ASSERT_EQ(one.variants.size(), 6u);
  EXPECT_EQ(one.variants[4].name, "policy.placement=spread, cluster[0].count=1.5");
  EXPECT_EQ(one.variants[4].series, "policy.placement=spread");
  EXPECT_EQ(one.variants[4].at_milli, 1500);
  EXPECT_EQ(one.variants[4].changes.size(), 2u);

  Experiment two = experiment_of({"a/x.yaml", "b/x.yaml", "y.yml"});
  EXPECT_THAT(names(two), ElementsAre("a/x.yaml", "b/x.yaml", "y"));
  ASSERT_TRUE(vary(two, "a=[1,2],{b: 3, c: 4},'5,6'"));
  EXPECT_EQ(two.variants.size(), 9u);
  EXPECT_EQ(two.variants[1].name, "a/x.yaml, a={b: 3, c: 4}");
}

TEST(Experiment, SaysWhatIsWrongWithAnArgument) {
  const auto message = [](const Status& status) { return status ? std::string() : status.error().message; };
  Experiment e = experiment_of({"x.yaml"});
  EXPECT_THAT(message(set_in_all(e, "policy.placement")), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(message(set_in_all(e, "a[x]=1")), HasSubstr("no path"));
  EXPECT_THAT(message(set_in_all(e, "a=[1")), HasSubstr("a=[1"));
  EXPECT_THAT(message(vary(e, "=1,2")), HasSubstr("--vary"));
  EXPECT_THAT(message(sweep(e, "a=1..2")), HasSubstr("FROM..TO:STEP"));
  EXPECT_THAT(message(sweep(e, "a=2..1:1")), HasSubstr("FROM at most TO"));
  EXPECT_THAT(message(sweep(e, "a=1..2:0")), HasSubstr("STEP above 0"));
  EXPECT_THAT(message(sweep(e, "a=1..1000000:1")), HasSubstr("steps"));
  ASSERT_TRUE(sweep(e, "a=1..2:1"));
  EXPECT_THAT(message(sweep(e, "b=1..2:1")), HasSubstr("axis already"));
}

TEST(Experiment, Seeds) {
  EXPECT_THAT(*parse_seeds("3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*parse_seeds("7..9"), ElementsAre(7, 8, 9));
  EXPECT_THAT(*parse_seeds("5,1"), ElementsAre(5, 1));
  for (const char* wrong : {"", "0", "a", "3..1", "1..", "1,1", "1,,2", "1..99999999"})
    EXPECT_FALSE(parse_seeds(wrong)) << wrong;
}

TEST(Experiment, IsReadFromAFile) {
  const TempFolder folder;
  folder.file("base.yaml", kScenario);
  const std::string path = folder.file("e.yaml",
                                       "experiment: two orders\n"
                                       "scenario: base.yaml\n"
                                       "seeds: 2..3\n"
                                       "metrics: [waiting_mean_s]\n"
                                       "variants:\n"
                                       "  - {name: as it is}\n"
                                       "  - name: strict\n"
                                       "    set:\n"
                                       "      queues[0].children[*].order: strict\n"
                                       "      policy: {placement: spread}\n");
  EXPECT_TRUE(*is_experiment(path));
  EXPECT_FALSE(*is_experiment(folder.path() + "/base.yaml"));
  auto experiment = read_experiment(path);
  ASSERT_TRUE(experiment) << experiment.error().str();
  EXPECT_THAT(experiment->seeds, ElementsAre(2, 3));
  const auto plans = plan_runs(*experiment);
  ASSERT_TRUE(plans) << plans.error().str();
  ASSERT_EQ(plans->size(), 4u);
  EXPECT_EQ((*plans)[3].name, "strict, seed 3");
  EXPECT_EQ((*plans)[3].scenario.seed, 3u);
  EXPECT_EQ((*plans)[3].scenario.engine.placement, Placement::kSpread);
  EXPECT_EQ((*plans)[3].scenario.queues.back().order, QueueOrder::kStrict);
  EXPECT_EQ((*plans)[1].scenario.queues.back().order, QueueOrder::kBestEffort);
  EXPECT_THAT((*plans)[3].scenario.changes,
              ElementsAre("queues[0].children[*].order=strict", "policy={placement: spread}"));
}

TEST(Experiment, SaysWhatIsWrongWithAFile) {
  const TempFolder folder;
  const auto message = [&](const std::string& text) {
    const auto read = read_experiment(folder.file("e.yaml", text));
    return read ? std::string() : read.error().str();
  };
  EXPECT_THAT(message("experiment: e\n"), HasSubstr("nothing to run"));
  EXPECT_THAT(message("experiment: e\nvariants: [{name: a}]\n"), HasSubstr("variants[0].scenario"));
  EXPECT_THAT(message("experiment: e\nscenario: s\nvariants: [{name: a}, {name: a}]\n"),
              HasSubstr("two variants"));
  EXPECT_THAT(message("experiment: e\nscenario: s\nvariants: [{name: a, set: {\"x[\": 1}}]\n"),
              HasSubstr("e.yaml:3:"));
  EXPECT_THAT(message("experiment: e\nscenario: s\nseeds: none\n"), HasSubstr("e.yaml:3:"));
  EXPECT_THAT(message("experiment: e\nscenario: s\nmetric: [a]\n"), HasSubstr("did you mean metrics"));
  // A wrong value names the scenario's key and the variant.
  folder.file("base.yaml", kScenario);
  const auto experiment = read_experiment(
      folder.file("e.yaml",
                  "experiment: e\nscenario: base.yaml\nvariants:\n  - {name: a}\n  - {name: b, set: "
                  "{\"cluster[0].count\": many}}\n"));
  ASSERT_TRUE(experiment);
  const auto plans = plan_runs(*experiment);
  ASSERT_FALSE(plans);
  EXPECT_THAT(plans.error().str(), HasSubstr("base.yaml:2:"));
  EXPECT_THAT(plans.error().str(), HasSubstr("cluster[0].count"));
  EXPECT_THAT(plans.error().str(), HasSubstr("variant b"));
}

TEST(Runs, AreTheSameHoweverManyGoAtATime) {
  const TempFolder folder;
  Experiment experiment = experiment_of({folder.file("base.yaml", kScenario)});
  ASSERT_TRUE(vary(experiment, "policy.placement=fragmentation,spread,first"));
  experiment.seeds = {1, 2, 3};
  const Ran one = run(experiment, 1);
  const Ran four = run(experiment, 4);
  EXPECT_EQ(comparison_table(one.comparison()), comparison_table(four.comparison()));
  const auto files = comparison_files(one.comparison());
  const auto others = comparison_files(four.comparison());
  ASSERT_EQ(files.size(), others.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    EXPECT_EQ(files[i].content, others[i].content) << files[i].name;
  EXPECT_EQ(render_report(comparison_report(one.comparison())),
            render_report(comparison_report(four.comparison())));
  EXPECT_THAT(one.comparison().failed(), IsEmpty());
  // And each is what it would be alone: the scenario says nothing of placement, which is fragmentation then.
  const auto scenario = read_scenario(folder.path() + "/base.yaml", 2);
  ASSERT_TRUE(scenario);
  const auto alone = simulate(*scenario);
  ASSERT_TRUE(alone);
  EXPECT_EQ(one.results[1].metrics.size(), alone->metrics.size());
  for (std::size_t i = 0; i < alone->metrics.size(); ++i)
    EXPECT_EQ(one.results[1].metrics[i].milli, alone->metrics[i].milli) << alone->metrics[i].name;
}

TEST(Runs, OneThatFailsDoesNotTakeTheOthersAlong) {
  const TempFolder folder;
  folder.file("jobs.1.csv", "job_id,submit_s,gpus,duration_s\nj,0,1,10\n");
  const std::string path = folder.file("s.yaml",
                                       "name: s\ncluster: [{kind: shape, count: 1, gpus: 8}]\n"
                                       "trace: [{kind: philly, path: \"jobs.${SEED}.csv\", queue: "
                                       "q}]\nqueues: [{name: q, unlimited: true}]\n");
  Experiment experiment = experiment_of({path});
  experiment.seeds = {1, 2};
  const Ran ran = run(experiment);
  EXPECT_FALSE(ran.results[0].error.has_value());
  ASSERT_TRUE(ran.results[1].error.has_value());
  EXPECT_THAT(comparison_table(ran.comparison()), HasSubstr("s, seed 2: " + folder.path() + "/jobs.2.csv"));
  EXPECT_EQ(ran.comparison().statistics(0, "completed").count, 1);
  EXPECT_THAT(render_report(comparison_report(ran.comparison())), HasSubstr("A run failed"));
}

TEST(Statistics, MeanDeviationAndReach) {
  const MetricStatistics s = statistics_of({2000, 4000, 4000, 4000, 5000, 5000, 7000, 9000});
  EXPECT_EQ(s.count, 8);
  EXPECT_EQ(s.mean, 5000);
  EXPECT_EQ(s.deviation, 2138);  // sqrt(32/7)
  EXPECT_EQ(s.min, 2000);
  EXPECT_EQ(s.max, 9000);
  EXPECT_EQ(statistics_of({7}).deviation, 0);
  EXPECT_EQ(statistics_of({}).count, 0);
  EXPECT_EQ(statistics_of({-3, -4}).mean, -4);  // halves away from zero
}

TEST(Statistics, Differences) {
  EXPECT_EQ(difference_text(110, 100), "+10 %");
  EXPECT_EQ(difference_text(100, 110), "-9.1 %");
  EXPECT_EQ(difference_text(5, 0), "");
  EXPECT_EQ(difference_text(0, 0), "0 %");
  EXPECT_EQ(difference_text(-50, -100), "+50 %");
}

TEST(Movers, MeetsJobsByNameAndSaysWhy) {
  RunCourse before;
  RunCourse after;
  before.queues = after.queues = {"q"};
  const auto job = [](std::string name, DurationMs waited, std::int64_t gpus, ReasonCode reason) {
    JobCourse out;
    out.name = std::move(name);
    out.waited = waited;
    out.gpu_milli = gpus * 1000;
    out.waited_for = reason;
    return out;
  };
  before.jobs = {job("small", 100, 1, ReasonCode::kNodes), job("large", 50, 64, ReasonCode::kQuota),
                 job("same", 5, 1, ReasonCode::kNone), job("gone", 5, 1, ReasonCode::kNone),
                 job("late", 0, 1, ReasonCode::kNone)};
  after.jobs = {job("late", 70, 1, ReasonCode::kBehindHead), job("large", 0, 64, ReasonCode::kNone),
                job("small", 40, 1, ReasonCode::kNodes), job("same", 5, 1, ReasonCode::kNone)};
  const Movers movers = movers_of(before, after, 10);
  EXPECT_EQ(movers.jobs, 4);
  EXPECT_EQ(movers.only_before, 1);
  EXPECT_EQ(movers.only_after, 0);
  ASSERT_EQ(movers.gained.size(), 2u);
  EXPECT_EQ(movers.gained[0].before->name, "large");  // 64 GPUs weigh more
  EXPECT_EQ(movers.gained[0].change, -50);
  EXPECT_EQ(why_moved(movers.gained[0]), "waited for quota; then started at once");
  EXPECT_EQ(why_moved(movers.gained[1]), "waited for room on nodes in both, for another time");
  ASSERT_EQ(movers.lost.size(), 1u);
  EXPECT_EQ(movers.lost[0].change, 70);
  EXPECT_EQ(static_cast<std::int64_t>(movers.saved_ms), 110);
  EXPECT_EQ(movers_of(before, after, 1).gained.size(), 1u);
}

TEST(Fill, AnyScenarioCanBeFilled) {
  const TempFolder folder;
  Experiment experiment = experiment_of({folder.file("base.yaml", kScenario)});
  experiment.fill = true;
  experiment.seeds = {1, 2};
  const Ran ran = run(experiment);
  EXPECT_THAT(ran.comparison().failed(), IsEmpty());
  EXPECT_TRUE(ran.comparison().inflation());
  const MetricStatistics at100 = ran.comparison().statistics(0, "allocated_pct_at.100");
  EXPECT_EQ(at100.count, 2);
  EXPECT_GT(at100.mean, 50'000);
  EXPECT_LE(at100.mean, 100'000);
  // Ends soon after 130 %.
  EXPECT_GE(ran.comparison().statistics(0, "arrived_pct").min, 130'000);
  EXPECT_LT(ran.comparison().statistics(0, "arrived_pct").max, 180'000);
  EXPECT_THAT(comparison_table(ran.comparison()), HasSubstr("Allocated at 130 %"));
}

TEST(Metrics, EveryColumnHasATitle) {
  EXPECT_EQ(metric_title("waiting_mean_s"), "Waiting, mean");
  EXPECT_EQ(metric_title("large.waiting_p99_s"), "Waiting, p99, 32 GPUs and more");
  EXPECT_EQ(metric_title("queue.7f04ca.lost_gpu_hours"), "GPU-hours lost, 7f04ca");
  EXPECT_EQ(metric_title("allocated_pct_at.100"), "Allocated at 100 %");
  EXPECT_EQ(metric_title("above_published_at.130"), "Above published at 130 %");
  EXPECT_EQ(metric_text("waiting_mean_s", 90'000), "1 min 30 s");
  EXPECT_EQ(metric_text("fairness_index", 987), "0.987");
  EXPECT_EQ(metric_text("gpu_allocation_pct", 93'120), "93.12 %");
  EXPECT_EQ(metric_direction("waiting_mean_s"), -1);
  EXPECT_EQ(metric_direction("gpu_allocation_pct"), 1);
  EXPECT_EQ(metric_direction("jobs"), 0);
}

// Metrics that are set by hand, of two variants and these seeds.
Ran made_up(const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second) {
  Ran out;
  out.experiment.name = "made up";
  out.experiment.variants = {{"a", "", {}, "", {}}, {"b", "", {}, "", {}}};
  for (std::size_t v = 0; v < 2; ++v) {
    const auto& values = v == 0 ? first : second;
    for (std::size_t s = 0; s < values.size(); ++s) {
      RunPlan plan{v, v == 0 ? "a" : "b", false, {}};
      plan.scenario.seed = s + 1;
      out.plans.push_back(std::move(plan));
      RunResult result;
      result.metrics = {{"evictions", values[s]}};
      out.results.push_back(std::move(result));
    }
  }
  for (std::size_t s = 0; s < std::max(first.size(), second.size()); ++s)
    out.experiment.seeds.push_back(s + 1);
  return out;
}

TEST(Comparison, ADifferenceIsPairedBySeed) {
  // The seeds differ by far more than the variants: only pairs show it.
  const Ran ran = made_up({100'000, 900'000, 500'000}, {111'000, 910'000, 509'000});
  EXPECT_TRUE(ran.comparison().difference(1, 0, "evictions").clear);
  EXPECT_EQ(ran.comparison().difference_from_first(1, "evictions"), "+2 % (+1.5 % to +2.5 %)");
  EXPECT_THAT(comparison_table(ran.comparison()), HasSubstr("against the first (95 %)"));
  const auto files = comparison_files(ran.comparison());
  const auto csv = std::find_if(files.begin(), files.end(),
                                [](const auto& file) { return file.name == "differences.csv"; });
  ASSERT_NE(csv, files.end());
  EXPECT_EQ(csv->content,
            "variant,metric,pairs,difference,low,high,clear\nb,evictions,3,10,7.515,12.485,yes\n");
}

TEST(Comparison, ADifferenceThatMayBeChanceIsUnclear) {
  const Ran ran = made_up({100'000, 200'000, 300'000}, {150'000, 190'000, 320'000});
  EXPECT_EQ(ran.comparison().difference_from_first(1, "evictions"), "unclear");
  const std::string page = render_report(comparison_report(ran.comparison()));
  EXPECT_THAT(page, HasSubstr(">unclear</td>"));
  EXPECT_THAT(page, HasSubstr("Paired by seed, over 3 seeds"));
  EXPECT_THAT(page, HasSubstr("a; one more is not clearly off"));
  EXPECT_THAT(page, HasSubstr("<a href=\"differences.csv\">"));
  EXPECT_THAT(page, HasSubstr("seeds 1, 2, 3"));
}

TEST(Comparison, OneRunEachHasPlainDifferences) {
  const Ran ran = made_up({100'000}, {150'000});
  EXPECT_EQ(ran.comparison().difference_from_first(1, "evictions"), "+50 %");
  EXPECT_THAT(comparison_table(ran.comparison()), Not(HasSubstr("95 %")));
  EXPECT_EQ(
      made_up({100'000, 100'000}, {100'000, 100'000}).comparison().difference_from_first(1, "evictions"),
      "0 %");
  // A seed of one variant alone makes no pair.
  EXPECT_EQ(made_up({100'000, 5'000}, {150'000}).comparison().difference(1, 0, "evictions").pairs, 1);
}

TEST(Comparison, SaysWhereQuotaNoLongerCoversTheNodes) {
  const TempFolder folder;
  Experiment experiment = experiment_of({folder.file("s.yaml", kScenario)});
  ASSERT_TRUE(sweep(experiment, "cluster[0].count=3..5:1"));
  const Ran ran = run(std::move(experiment));
  const auto gaps = ran.comparison().quota_gaps();
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_THAT(
      gaps[0],
      HasSubstr(
          "5: the queues have quota for 32 nvidia.com/gpu in all, the nodes have 40: 8 are never used"));
  EXPECT_THAT(render_report(comparison_report(ran.comparison())),
              HasSubstr("Quota no longer covers the nodes."));
}

}  // namespace
}  // namespace berth::sim
