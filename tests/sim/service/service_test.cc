// Services: loads, targets, and load that is not served.
#include "sim/service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReplicaRule, TurnsLoadIntoReplicas) {
  ReplicaRule rule;
  rule.per_replica_milli = 2500;
  rule.headroom_milli = 200;
  rule.min = 2;
  rule.max = 10;
  EXPECT_EQ(wanted_replicas(rule, 0), 2);
  EXPECT_EQ(wanted_replicas(rule, 12'500), 6);  // 12.5 x 1.2 / 2.5
  EXPECT_EQ(wanted_replicas(rule, 12'501), 7);
  EXPECT_EQ(wanted_replicas(rule, 1'000'000), 10);
  EXPECT_EQ(replicas_for(12'500, 2500), 5);
  EXPECT_EQ(replicas_for(0, 2500), 0);
}

TEST(ReplicaRule, FollowsAtOnceWithoutDelays) {
  ReplicaRule rule;
  rule.max = 10;
  const auto steps = replica_steps(rule, {{0, 3000}, {10, 5000}, {20, 5000}, {30, 2000}}, 100);
  EXPECT_THAT(steps, ElementsAre(ReplicaStep{0, 3}, ReplicaStep{10, 5}, ReplicaStep{30, 2}));
}

TEST(ReplicaRule, WaitsUntilTheWindowAgrees) {
  ReplicaRule rule;
  rule.max = 10;
  rule.up_delay = 10;
  rule.down_delay = 30;
  // A peak of 5 is too short to be followed; 6 from 40 on is followed at 50; the fall at 100 is followed at 130, by then the most
  // that was wanted is 2.
  const auto steps = replica_steps(
      rule, {{0, 3000}, {10, 5000}, {15, 3000}, {40, 6000}, {100, 2000}, {110, 1000}, {120, 2000}}, 1000);
  EXPECT_THAT(steps, ElementsAre(ReplicaStep{0, 3}, ReplicaStep{50, 6}, ReplicaStep{130, 2}));
}

// Against the definition, moment by moment.
TEST(ReplicaRule, AgreesWithItsDefinition) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    ReplicaRule rule;
    rule.max = 8;
    rule.up_delay = random.between(0, 6);
    rule.down_delay = random.between(0, 12);
    std::vector<LoadPoint> load;
    for (TimeMs at = 0; at < 60; at += random.between(1, 7))
      load.push_back({at, random.between(0, 9) * 1000});
    const auto steps = replica_steps(rule, load, 80);
    std::vector<std::int64_t> wanted;
    std::int64_t target = 0;
    std::size_t next = 0;
    std::int64_t planned = 0;
    for (TimeMs t = 0; t < 80; ++t) {
      std::int64_t now = 0;
      for (const LoadPoint& point : load) {
        if (point.at <= t) now = wanted_replicas(rule, point.load_milli);
      }
      wanted.push_back(now);
      const auto window = [&](DurationMs length, bool most) {
        std::int64_t best = now;
        for (TimeMs u = std::max<TimeMs>(0, t - length); u <= t; ++u) {
          best = most ? std::max(best, wanted[static_cast<std::size_t>(u)])
                      : std::min(best, wanted[static_cast<std::size_t>(u)]);
        }
        return best;
      };
      if (t == 0) target = now;
      const std::int64_t up = window(rule.up_delay, false);
      const std::int64_t down = window(rule.down_delay, true);
      target = up > target ? up : std::min(target, down);
      if (next < steps.size() && steps[next].at == t) planned = steps[next++].replicas;
      ASSERT_EQ(planned, target) << "round " << round << " at " << t;
    }
    ASSERT_EQ(next, steps.size());
  }
}

TEST(Load, FromFilesAndMadeUp) {
  const TempFolder folder;
  LoadSource source;
  source.path = folder.file("a.csv", "requests_per_s,time_s\n2.5,100\n4,160.5\n");
  auto points = load_points(source, 1000, 1'000'000, 1);
  ASSERT_TRUE(points) << points.error().str();
  ASSERT_EQ(points->size(), 2u);
  EXPECT_EQ((*points)[0].at, 1000);
  EXPECT_EQ((*points)[0].load_milli, 2500);
  EXPECT_EQ((*points)[1].at, 61'500);
  source.repeat = 100'000;
  source.scale_milli = 2000;
  points = load_points(source, 1000, 250'000, 1);
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 5u);
  EXPECT_EQ((*points)[2].at, 101'000);
  EXPECT_EQ((*points)[3].load_milli, 8000);
  LoadSource lines;
  lines.form = LoadForm::kJsonl;
  lines.path = folder.file(
      "b.jsonl", "{\"time_ms\":0,\"requests_per_s\":1.5}\n\n{\"time_ms\":5,\"requests_per_s\":\"2\"}\n");
  points = load_points(lines, 0, 1000, 1);
  ASSERT_TRUE(points) << points.error().str();
  EXPECT_EQ(points->back().load_milli, 2000);
  LoadSource requests;
  requests.form = LoadForm::kRequests;
  requests.bin = 1000;
  requests.column = "when";
  requests.path = source_path("tests/sim/data/requests.csv");
  points = load_points(requests, 0, 10'000, 1);
  ASSERT_TRUE(points) << points.error().str();
  ASSERT_EQ(points->size(), 3u);  // two in the first second, one in the second, then none
  EXPECT_EQ((*points)[0].load_milli, 2000);
  EXPECT_EQ((*points)[1].load_milli, 1000);
  EXPECT_EQ((*points)[2].load_milli, 0);
  LoadSource daily;
  daily.form = LoadForm::kDaily;
  daily.bin = kHour;
  daily.low_milli = 1000;
  daily.high_milli = 9000;
  points = load_points(daily, 0, 48 * kHour, 1);
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 48u);
  EXPECT_EQ((*points)[4].load_milli, 1000);
  EXPECT_EQ((*points)[16].load_milli, 9000);
  EXPECT_EQ((*points)[28].load_milli, 1000);
  EXPECT_EQ((*points)[10].load_milli, 5000);
}

TEST(Load, WrongFilesSayWhere) {
  const TempFolder folder;
  const auto error = [&](LoadForm form, const std::string& content) {
    LoadSource source;
    source.form = form;
    source.path = folder.file("x", content);
    const auto points = load_points(source, 0, kHour, 1);
    return points ? std::string() : points.error().str();
  };
  EXPECT_THAT(error(LoadForm::kCsv, "time_s,rate\n"), HasSubstr("requests_per_s"));
  EXPECT_THAT(error(LoadForm::kCsv, "time_s,requests_per_s\n"), HasSubstr("holds no load"));
  EXPECT_THAT(error(LoadForm::kCsv, "time_s,requests_per_s\n5,1\n5,2\n"), HasSubstr("x:3: column 'time_s'"));
  EXPECT_THAT(error(LoadForm::kCsv, "time_s,requests_per_s\n5,-1\n"),
              HasSubstr("x:2: column 'requests_per_s'"));
  EXPECT_THAT(error(LoadForm::kJsonl, "{\"time_ms\":0}\n"), HasSubstr("x:1"));
  EXPECT_THAT(error(LoadForm::kRequests, "TIMESTAMP\nyesterday\n"), HasSubstr("x:2: column 'TIMESTAMP'"));
}

constexpr const char* kService =
    "name: service\n"
    "cluster: [{kind: shape, count: 1, name: n, gpus: 8}]\n"
    "trace: [{kind: berth, path: t.jsonl, grace: 10s}]\n"
    "queues: [{name: q, unlimited: true, within: lower-priority}]\n"
    "services:\n"
    "  - {name: chat, queue: q, priority: 10, gpus: 1, requests_per_replica: 1, min: 1, max: 8, warm_up: "
    "5s,\n"
    "     down_delay: 0s, for: 300s, load: {path: load.csv}}\n";

Result<SimulateResult> run_service(const TempFolder& folder, const std::string& jobs,
                                   const std::string& load) {
  folder.file("t.jsonl", kTraceHeader + jobs);
  folder.file("load.csv", "time_s,requests_per_s\n" + load);
  BERTH_ASSIGN(const Scenario scenario, parse_scenario(kService, "s.yaml", folder.path()));
  SimulateOptions options;
  options.audit_every = 1;
  return simulate(scenario, options);
}

constexpr const char* kSmall =
    R"({"kind":"job","id":"small","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":1}
)";

TEST(Service, GrowsAndShrinksWithItsLoad) {
  const TempFolder folder;
  const auto result = run_service(folder, kSmall, "0,2\n100,6\n200,2\n");
  ASSERT_TRUE(result) << result.error().str();
  // 2 replicas missing for the first 5 s, 4 for 5 s from 100 s on.
  EXPECT_EQ(metric_of(*result, "service.chat.unserved"), (2 * 5 + 4 * 5) * 1000);
  EXPECT_EQ(metric_of(*result, "service.chat.short_s"), 10'000);
  EXPECT_EQ(metric_of(*result, "service.chat.worst_short_per_s"), 4000);
  EXPECT_EQ(metric_of(*result, "service.chat.requests"), (200 + 600 + 200) * 1000);
  EXPECT_EQ(metric_of(*result, "makespan_s"), 300'000);
  // GPUs: 2 x 100 + 6 x 100 + 2 x 100, and the job's.
  EXPECT_EQ(metric_of(*result, "gpu_hours_allocated"), (1001 * 1000 + 1800) / 3600);
}

TEST(Service, TakesRoomFromTrainingAndGivesItBack) {
  const TempFolder folder;
  const auto result =
      run_service(folder,
                  R"({"kind":"job","id":"train","queue":"q","submit_ms":50000,"duration_ms":60000,"gpus":6}
)",
                  "0,2\n80,6\n200,1\n");
  ASSERT_TRUE(result) << result.error().str();
  // At 80 s the job must go: 10 s of grace, then 5 s until the four new replicas serve. The service keeps that room until 200 s.
  EXPECT_EQ(metric_of(*result, "evictions"), 1000);
  EXPECT_EQ(metric_of(*result, "service.chat.unserved"), (2 * 5 + 4 * 15) * 1000);
  EXPECT_EQ(metric_of(*result, "completed"), 1000);
  EXPECT_EQ(metric_of(*result, "completion_max_s"), 210'000);
}

TEST(Service, TakesTheSurplusOfElasticTrainingAndGivesItBack) {
  const TempFolder folder;
  const auto result = run_service(
      folder,
      R"({"kind":"job","id":"train","queue":"q","submit_ms":50000,"duration_ms":120000,"pod_sets":[{"count":6,"least":2,"gpus":1}]}
)",
      "0,2\n80,6\n200,1\n");
  ASSERT_TRUE(result) << result.error().str();
  // At 80 s four of its six workers go, with 10 s of grace; two go on. At 200 s it has all of them again.
  EXPECT_EQ(metric_of(*result, "evictions"), 0);
  EXPECT_EQ(metric_of(*result, "resizes"), 2000);
  EXPECT_EQ(metric_of(*result, "service.chat.unserved"), (2 * 5 + 4 * 15) * 1000);
  // 6 x 120 s of work: 6 x 30 s, 2 x 120 s, and 6 x 50 s from 200 s on.
  EXPECT_EQ(metric_of(*result, "completion_max_s"), (250 - 50) * 1000);
}

TEST(Service, CountsWhatNoRoomCanServe) {
  const TempFolder folder;
  const auto result = run_service(folder, kSmall, "0,12\n");
  ASSERT_TRUE(result) << result.error().str();
  // At most 8 replicas, one of the GPUs is taken for the first second.
  const std::int64_t unserved = metric_of(*result, "service.chat.unserved");
  EXPECT_GE(unserved, 4 * 300 * 1000);
  EXPECT_LE(unserved, (4 * 300 + 8 * 7) * 1000);
  EXPECT_EQ(metric_of(*result, "service.chat.short_pct"), 100'000);
}

TEST(Service, WrongOnesSayWhatIsMeant) {
  const std::string head =
      "name: t\ncluster: [{kind: shape, count: 1, gpus: 8}]\nqueues: [{name: q, unlimited: true}]\n"
      "trace: [{kind: generate, jobs: 1, queue: q}]\nservices: [{name: s, ";
  const auto error = [&](const std::string& rest) { return error_of(head + rest + "}]\n", "."); };
  const std::string load = ", load: {form: daily, low: 1, high: 2}";
  EXPECT_THAT(error("queue: q, requests_per_replica: 0, max: 2, for: 1h" + load),
              HasSubstr("requests_per_replica"));
  EXPECT_THAT(error("queue: q, requests_per_replica: 1, min: 3, max: 2, for: 1h" + load),
              HasSubstr("below min"));
  EXPECT_THAT(error("queue: x, requests_per_replica: 1, max: 2, for: 1h" + load), HasSubstr("queue 'x'"));
  EXPECT_THAT(error("queue: q, requests_per_replica: 1, max: 2, for: 1h"), HasSubstr("load"));
  EXPECT_THAT(
      error("queue: q, requests_per_replica: 1, max: 2, for: 1h, load: {form: daily, low: 3, high: 2}"),
      HasSubstr("not below low"));
}

}  // namespace
}  // namespace berth::sim
