// The course of work after its start: starts, checkpoints, failures, elastic jobs; by hand, and sums that must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_support.h"
#include "sim/watcher_support.h"

namespace berth::sim {
namespace {

using testing::HasSubstr;

constexpr const char* kOneQueue = "queues:\n  - {name: q, unlimited: true}\n";

std::string runtime_scenario(const std::string& rules = "", const std::string& rest = "") {
  return "name: test\ncluster: [{kind: berth, path: t.jsonl}]\ntrace: [{kind: berth, path: t.jsonl" + rules +
         "}]\n" + kOneQueue + rest;
}

Result<Replayed> replay_in(const TempFolder& folder, const std::string& trace, const std::string& yaml,
                           std::uint64_t seed = 1) {
  folder.file("t.jsonl", kTraceHeader + trace);
  return replay_of(yaml, folder.path(), seed);
}

// Every job that ended: its time is what it waited, what it paid, what it lost and what it worked.
void expect_times_add_up(const Replayed& run) {
  for (std::size_t i = 0; i < run.outcome.jobs.size(); ++i) {
    const Job& job = run.input.trace.jobs[i];
    const JobOutcome& result = run.outcome.jobs[i];
    if (result.state != JobState::kDone || run.input.trace.shapes[job.shape].elastic) continue;
    ASSERT_EQ(result.end - job.submit,
              result.waited + result.startup + result.checkpointing + result.lost + job.duration)
        << job.name;
    ASSERT_GE(result.lost, 0);
    ASSERT_GE(result.lost_gpu_ms, result.failed_gpu_ms);
    ASSERT_LE(result.longest_wait, result.waited);
  }
}

TEST(Starts, AnImageIsPulledOncePerNode) {
  const TempFolder folder;
  const auto run = replay_in(folder,
                             R"({"kind":"node","name":"n1","gpus":8}
{"kind":"node","name":"n2","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":8}
{"kind":"job","id":"b","queue":"q","submit_ms":0,"duration_ms":500000,"gpus":8}
{"kind":"job","id":"c","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":8}
)",
                             runtime_scenario(", pod_start: 10s, image_pull: 60s, warm_up: 5s"));
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(job_of(*run, "a").end, 175'000);
  EXPECT_EQ(job_of(*run, "b").end, 575'000);
  // Where a was, its image lies already.
  EXPECT_EQ(job_of(*run, "c").end, 175'000 + 15'000 + 10'000);
  EXPECT_EQ(job_of(*run, "c").startup, 15'000);
  EXPECT_EQ(run->outcome.image_pulls, 2);
  expect_times_add_up(*run);
}

TEST(Starts, PodsThatShareANodeShareThePull) {
  const TempFolder folder;
  const auto run = replay_in(folder,
                             R"({"kind":"node","name":"n1","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":4}
{"kind":"job","id":"b","queue":"q","submit_ms":30000,"duration_ms":1000,"gpus":4}
{"kind":"job","id":"other","queue":"q","submit_ms":200000,"duration_ms":1000,"gpus":4,"image":"other","image_pull_ms":1000}
)",
                             runtime_scenario(", image_size: 12Gi, image_bandwidth: 214748365"));
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(job_of(*run, "a").end, 61'000);  // 12 GiB at 214,748,365 bytes/s: 60 s
  EXPECT_EQ(job_of(*run, "b").end, 61'000);
  EXPECT_EQ(job_of(*run, "b").startup, 30'000);
  EXPECT_EQ(job_of(*run, "other").end, 202'000);
  EXPECT_EQ(run->outcome.image_pulls, 2);
}

TEST(Starts, TheSpreadComesFromTheSeed) {
  const TempFolder folder;
  const std::string trace = R"({"kind":"node","name":"n1","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":8}
)";
  const std::string yaml = runtime_scenario(", pod_start: 100s, pod_start_spread: 50%");
  const auto first = replay_in(folder, trace, yaml, 1);
  const auto again = replay_in(folder, trace, yaml, 1);
  const auto other = replay_in(folder, trace, yaml, 2);
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(job_of(*first, "a").startup, job_of(*again, "a").startup);
  EXPECT_NE(job_of(*first, "a").startup, job_of(*other, "a").startup);
  EXPECT_GE(job_of(*first, "a").startup, 50'000);
  EXPECT_LE(job_of(*first, "a").startup, 150'000);
}

constexpr const char* kTwoNodes = R"({"kind":"node","name":"n1","gpus":8,"labels":{"rack":"r1"}}
{"kind":"node","name":"n2","gpus":8,"labels":{"rack":"r1"}}
{"kind":"job","id":"gang","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":16}
)";

TEST(Failures, AGangGoesOnFromItsLastCheckpointWhenTheNodeIsBack) {
  const TempFolder folder;
  const auto run =
      replay_in(folder, kTwoNodes,
                runtime_scenario(", checkpoint_every: 20s, checkpoint_time: 1s, restart_overhead: 7s",
                                 "failures: [{unit: node, node: n2, at: 50s, repair: 30s}]\n"));
  ASSERT_TRUE(run) << run.error().str();
  const JobOutcome& gang = job_of(*run, "gang");
  // At 50 s: 20 work, 1 checkpoint, 20, 1, 8 s of work that are lost. 40 s are kept. Room again at 80 s: 7 s, then 60 s of work
  // with two checkpoints.
  EXPECT_EQ(gang.waited, 30'000);
  EXPECT_EQ(gang.failures, 1);
  EXPECT_EQ(gang.evictions, 0);
  EXPECT_EQ(gang.end, 80'000 + 7000 + 60'000 + 2000);
  EXPECT_EQ(gang.lost, 8000 + 7000);
  EXPECT_EQ(gang.failed_gpu_ms, 8000 * 16'000);
  EXPECT_EQ(gang.lost_gpu_ms, 15'000 * 16'000);
  EXPECT_EQ(gang.waited_for, ReasonCode::kNodes);
  EXPECT_EQ(run->outcome.failures, 1);
  EXPECT_EQ(run->outcome.nodes_lost, 1);
  EXPECT_EQ(run->outcome.series.integral(kTrackDown, run->outcome.end), Int128{8000} * 30'000);
  expect_times_add_up(*run);
}

TEST(Failures, ARackTakesAllItsNodesAlong) {
  const TempFolder folder;
  const auto run = replay_in(folder, kTwoNodes,
                             runtime_scenario("",
                                              "failures: [{unit: domain, label: rack, value: r1, at: 50s, "
                                              "repair: 30s}]\n"));
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(run->outcome.failures, 1);
  EXPECT_EQ(run->outcome.nodes_lost, 2);
  EXPECT_EQ(job_of(*run, "gang").failures, 1);
  EXPECT_EQ(job_of(*run, "gang").end, 80'000 + 100'000);
  expect_times_add_up(*run);
}

TEST(Failures, ADeviceTakesOnlyItsOwnWork) {
  const TempFolder folder;
  const auto run = replay_in(
      folder,
      R"({"kind":"node","name":"n1","gpus":2}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":1}
{"kind":"job","id":"b","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":1}
)",
      runtime_scenario("", "failures: [{unit: device, node: n1, device: 1, at: 40s, repair: 1h}]\n"));
  ASSERT_TRUE(run) << run.error().str();
  const JobOutcome& a = job_of(*run, "a");
  const JobOutcome& b = job_of(*run, "b");
  EXPECT_EQ(a.failures + b.failures, 1);
  const JobOutcome& hit = a.failures > 0 ? a : b;
  const JobOutcome& other = a.failures > 0 ? b : a;
  EXPECT_EQ(other.end, 100'000);
  EXPECT_EQ(hit.end, 200'000);  // on the device that is left, from the beginning
  EXPECT_EQ(hit.waited, 60'000);
  EXPECT_EQ(hit.lost, 40'000);
  expect_times_add_up(*run);
}

TEST(Failures, ALooseGangLosesOnlyTheSlot) {
  const TempFolder folder;
  const auto run =
      replay_in(folder,
                R"({"kind":"node","name":"n1","gpus":8}
{"kind":"node","name":"n2","gpus":8}
{"kind":"job","id":"loose","queue":"q","submit_ms":0,"duration_ms":100000,"pod_sets":[{"count":2,"gpus":8}],"disruption":"one"}
)",
                runtime_scenario("", "failures: [{unit: node, node: n2, at: 40s, repair: 30s}]\n"));
  ASSERT_TRUE(run) << run.error().str();
  // It stands still for 30 s, and loses nothing else.
  EXPECT_EQ(job_of(*run, "loose").end, 130'000);
  EXPECT_EQ(job_of(*run, "loose").waited, 0);
  EXPECT_EQ(job_of(*run, "loose").lost, 30'000);
  expect_times_add_up(*run);
}

TEST(Failures, NothingGoesOnForEverWhenWorkIsStuck) {
  const TempFolder folder;
  const auto run = replay_in(folder,
                             R"({"kind":"node","name":"n1","gpus":8}
{"kind":"job","id":"huge","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":64}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":1000000,"gpus":8}
)",
                             runtime_scenario("", "failures: [{every: 1h, repair: 10m}]\n"));
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(job_of(*run, "a").state, JobState::kDone);
  EXPECT_EQ(job_of(*run, "huge").state, JobState::kWaiting);
  EXPECT_EQ(run->outcome.unfinished, 1);
}

constexpr const char* kFleet =
    "name: fleet\n"
    "cluster:\n"
    "  - {kind: shape, name: a, count: 8, gpus: 8, labels: {rack: r1}}\n"
    "  - {kind: shape, name: b, count: 8, gpus: 8, labels: {rack: r2}}\n"
    "trace: [{kind: generate, jobs: 400, span: 2d, max_gpus: 32, queue: q, checkpoint_every: 30m, "
    "checkpoint_time: 20s,"
    " restart_overhead: 2m, grace: 30s, pod_start: 20s, pod_start_spread: 30%, image_pull: 1m, warm_up: 10s "
    "ELASTIC}]\n"
    "queues: [{name: q, unlimited: true, within: lower-priority}]\n"
    "failures:\n"
    "  - {unit: node, every: 5d, repair: 3h, repair_spread: wide}\n"
    "  - {unit: device, every: 40d, repair: 5h}\n"
    "  - {unit: domain, label: rack, every: 3d, repair: 1h, repair_spread: fixed}\n";

std::string fleet(const std::string& elastic) {
  std::string yaml = kFleet;
  yaml.replace(yaml.find(" ELASTIC"), 8, elastic);
  return yaml;
}

TEST(Failures, RandomOnesAreTheSameForTheSeedAndTimesAddUp) {
  const TempFolder folder;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto run = replay_in(folder, "", fleet(""), seed);
    ASSERT_TRUE(run) << run.error().str();
    EXPECT_GT(run->outcome.failures, 10);
    EXPECT_EQ(run->outcome.unfinished, 0);
    expect_times_add_up(*run);
    std::int64_t hit = 0;
    for (const JobOutcome& job : run->outcome.jobs) hit += job.failures;
    EXPECT_GT(hit, 0);
    const auto again = replay_in(folder, "", fleet(""), seed);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->outcome.failures, run->outcome.failures);
    EXPECT_EQ(again->outcome.end, run->outcome.end);
    for (std::size_t i = 0; i < run->outcome.jobs.size(); ++i) {
      ASSERT_EQ(again->outcome.jobs[i].end, run->outcome.jobs[i].end);
    }
  }
}

// Failures, starts, checkpoints, elastic jobs, a service and reclaims between two queues, all at once: nothing runs where nothing is, the
// times add up, and at the end no job is left anywhere.
TEST(Failures, NothingRunsOnWhatIsOutAndNothingIsLeftBehind) {
  const std::string yaml =
      "name: all at once\n"
      "cluster:\n"
      "  - {kind: shape, name: a, count: 6, gpus: 8, labels: {rack: r1}}\n"
      "  - {kind: shape, name: b, count: 6, gpus: 8, labels: {rack: r2}}\n"
      "trace:\n"
      "  - {kind: generate, jobs: 250, span: 2d, max_gpus: 32, queue: x, checkpoint_every: 30m, "
      "checkpoint_time: 20s,\n"
      "     restart_overhead: 2m, grace: 45s, pod_start: 20s, pod_start_spread: 30%, image_pull: 1m, "
      "gpus_per_task: 2,\n"
      "     elastic_share: 50%, elastic_least: 25%, resize_time: 10s}\n"
      "  - {kind: generate, jobs: 100, span: 2d, max_gpus: 16, queue: y, checkpoint_every: 1h, grace: 30s}\n"
      "services:\n"
      "  - {name: s, queue: y, priority: 10, gpus: 1, requests_per_replica: 1, min: 2, max: 24, up_delay: "
      "1m, warm_up: 90s,\n"
      "     for: 2d, load: {form: daily, low: 2, high: 22, noise: 20%}}\n"
      "queues:\n"
      "  - name: all\n"
      "    children:\n"
      "      - {name: x, reclaim: any, quota: [{resource: gpu, nominal: 48}]}\n"
      "      - {name: y, reclaim: any, within: lower-priority, quota: [{resource: gpu, nominal: 48}]}\n"
      "failures:\n"
      "  - {unit: node, every: 4d, repair: 3h, repair_spread: wide}\n"
      "  - {unit: device, every: 20d, repair: 5h}\n"
      "  - {unit: domain, label: rack, every: 3d, repair: 1h}\n";
  const TempFolder folder;
  std::int64_t evictions = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto scenario = parse_scenario(yaml, "s.yaml", folder.path(), {.seed = seed});
    ASSERT_TRUE(scenario) << scenario.error().str();
    Replayed run;
    auto input = load(*scenario);
    ASSERT_TRUE(input) << input.error().str();
    run.input = *std::move(input);
    Watcher watcher(scenario->engine);
    ReplayOptions options;
    options.audit_every = 16;
    auto outcome = replay(run.input, watcher, options);
    ASSERT_TRUE(outcome) << outcome.error().str();
    run.outcome = *std::move(outcome);
    EXPECT_THAT(watcher.wrongs(), testing::IsEmpty()) << "seed " << seed;
    EXPECT_TRUE(watcher.empty());
    EXPECT_EQ(watcher.nodes_out(), run.outcome.nodes_lost);
    EXPECT_GT(watcher.nodes_out(), 4);
    EXPECT_GT(watcher.devices_out(), 2);
    EXPECT_GT(watcher.slots_lost(), 10);
    EXPECT_EQ(run.outcome.unfinished, 0);
    expect_times_add_up(run);
    for (const JobOutcome& job : run.outcome.jobs) evictions += job.evictions;
    // At the end nothing is allocated, and the sum of allocations is the room of all that ran.
    EXPECT_EQ(run.outcome.series.value(kTrackAllocated), 0);
    EXPECT_EQ(run.outcome.series.value(kTrackPending), 0);
    EXPECT_EQ(run.outcome.series.value(kTrackPendingGpu), 0);
    EXPECT_EQ(run.outcome.series.value(kTrackDown), 0);
    const ServiceAccount& service = run.outcome.services.front().account;
    EXPECT_EQ(service.time, 48 * kHour);
    EXPECT_GT(service.offered, service.unserved);
    EXPECT_LE(service.replica_ms_ready, service.replica_ms_target);
  }
  EXPECT_GT(evictions, 0);
}

TEST(Failures, RandomOnesComeAsOftenAsTheySay) {
  FaultRule rule;
  rule.every = 100 * 24 * kHour;
  rule.repair = kHour;
  rule.spread = RepairSpread::kExponential;
  const std::vector<Node> nodes = make_nodes({}, 500);
  auto faults = Faults::make({rule}, nodes, 7);
  ASSERT_TRUE(faults) << faults.error().str();
  std::int64_t strikes = 0;
  DurationMs repairs = 0;
  const TimeMs end = 365 * 24 * kHour;
  for (TimeMs at = faults->first(0, 0); at < end; at = faults->next(0, at)) {
    ++strikes;
    repairs += faults->strike(0).repair;
  }
  EXPECT_NEAR(static_cast<double>(strikes), 500 * 3.65, 4 * 43);  // four standard deviations
  EXPECT_NEAR(static_cast<double>(repairs / strikes), kHour, 0.1 * kHour);
}

TEST(Failures, WrongOnesSayWhatIsMeant) {
  const std::string head =
      "name: t\ncluster: [{kind: shape, count: 1, gpus: 8}]\nqueues: [{name: q, unlimited: true}]\n"
      "trace: [{kind: generate, jobs: 1, queue: q}]\nfailures: [{";
  const auto error = [&](const std::string& rule) { return error_of(head + rule + "}]\n", "."); };
  EXPECT_THAT(error("repair: 1h"), HasSubstr("every (random), or at"));
  EXPECT_THAT(error("at: 1h, repair: 1h"), HasSubstr("says of what"));
  EXPECT_THAT(error("at: 1h, repair: 1h, node: x"), HasSubstr("node 'x' is not in the cluster"));
  EXPECT_THAT(error("unit: device, at: 1h, repair: 1h, node: node-0000, device: 9"),
              HasSubstr("no such device"));
  EXPECT_THAT(error("unit: domain, every: 1d, repair: 1h"), HasSubstr("label"));
  EXPECT_THAT(error("unit: domain, every: 1d, repair: 1h, label: rack"),
              HasSubstr("no node has the label rack"));
  EXPECT_THAT(error("unit: device, every: 1d, repair: 1h, label: rack"), HasSubstr("is for unit: domain"));
}

TEST(Elastic, StartsSmallGrowsAndKeepsItsWork) {
  const TempFolder folder;
  const auto run = replay_in(folder,
                             R"({"kind":"node","name":"n1","gpus":8}
{"kind":"job","id":"first","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":4}
{"kind":"job","id":"elastic","queue":"q","submit_ms":0,"duration_ms":30000,"pod_sets":[{"count":8,"least":2,"gpus":1}]}
)",
                             runtime_scenario());
  ASSERT_TRUE(run) << run.error().str();
  // 4 slots for 10 s, 8 from then on: 10 x 4 of the 240 slot-seconds are done at 10 s, 25 s are left.
  EXPECT_EQ(job_of(*run, "elastic").first_start, 0);
  EXPECT_EQ(job_of(*run, "elastic").end, 35'000);
  EXPECT_EQ(job_of(*run, "elastic").resizes, 1);
  EXPECT_EQ(job_of(*run, "elastic").lost, 0);
}

TEST(Elastic, EfficiencyAndThePauseOfAResize) {
  const TempFolder folder;
  const auto run = replay_in(folder,
                             R"({"kind":"node","name":"n1","gpus":8}
{"kind":"job","id":"first","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":4}
{"kind":"job","id":"elastic","queue":"q","submit_ms":0,"duration_ms":30000,"pod_sets":[{"count":8,"least":2,"gpus":1}],"efficiency":[[1,1],[4,1],[8,0.75]],"resize_ms":500,"pod_start_ms":2000}
)",
                             runtime_scenario());
  ASSERT_TRUE(run) << run.error().str();
  // Work: 30 s x 8 x 0.75 = 180. 2 s of start, 8 s at 4: 32. The new slots work from 12 s on: 2 s more at 4: 8. Then 0.5 s of
  // pause, and 140 at 6 per second.
  EXPECT_EQ(job_of(*run, "elastic").end, 12'500 + 23'334);
  EXPECT_EQ(job_of(*run, "elastic").startup, 2000);
  EXPECT_EQ(job_of(*run, "elastic").lost, 500);
}

TEST(Elastic, AShareOfAnyTraceCanBeMadeElastic) {
  const TempFolder folder;
  const auto rigid = replay_in(folder, "", fleet(""), 5);
  const auto elastic = replay_in(
      folder, "", fleet(", gpus_per_task: 1, elastic_share: 60%, elastic_least: 25%, resize_time: 15s"), 5);
  ASSERT_TRUE(rigid) << rigid.error().str();
  ASSERT_TRUE(elastic) << elastic.error().str();
  std::int64_t jobs = 0;
  std::int64_t several = 0;
  for (const Job& job : elastic->input.trace.jobs) {
    const JobShape& shape = elastic->input.trace.shapes[job.shape];
    several += shape.slots > 1 ? 1 : 0;
    jobs += shape.elastic ? 1 : 0;
  }
  EXPECT_GT(jobs, several / 3);
  EXPECT_LT(jobs, several);
  EXPECT_EQ(elastic->outcome.unfinished, 0);
  expect_times_add_up(*elastic);
  for (const Job& job : rigid->input.trace.jobs) EXPECT_FALSE(rigid->input.trace.shapes[job.shape].elastic);
}

TEST(Elastic, WrongTablesSayWhatIsMeant) {
  const std::string head =
      "name: t\ncluster: [{kind: shape, count: 1, gpus: 8}]\nqueues: [{name: q, unlimited: true}]\n"
      "trace: [{kind: generate, jobs: 1, queue: q, ";
  const auto error = [&](const std::string& rule) { return error_of(head + rule + "}]\n", "."); };
  EXPECT_THAT(error("elastic_share: 0.5, efficiency: [[1, 1], [1, 0.9]]"), HasSubstr("must rise"));
  EXPECT_THAT(error("elastic_share: 0.5, efficiency: [[1, 1], [2, 0.4]]"),
              HasSubstr("slower than with fewer"));
  EXPECT_THAT(error("elastic_share: 0.5, efficiency: [1, 2]"), HasSubstr("a list of [slots, efficiency]"));
  EXPECT_THAT(error("elastic_share: 150%"), HasSubstr("a share from 0 to 1"));
  EXPECT_THAT(error("elastic_least: 50%"), HasSubstr("needs elastic_share"));
}

TEST(Elastic, WhatIsWholeAndWhatALossTakesAlong) {
  Group root;
  root.pod_sets.resize(2);
  root.pod_sets[0].count = 4;
  root.pod_sets[0].least = 2;
  Group child;
  child.pod_sets.resize(1);
  child.pod_sets[0].count = 3;
  child.disruption = Disruption::kAll;
  root.groups.push_back(child);
  root.least = 2;
  EXPECT_TRUE(is_whole(root, {2, 1, 0}));
  EXPECT_TRUE(is_whole(root, {4, 0, 3}));
  EXPECT_FALSE(is_whole(root, {1, 1, 3}));
  EXPECT_FALSE(is_whole(root, {2, 1, 2}));
  EXPECT_FALSE(is_whole(root, {4, 0, 0}));
  root.disruption = Disruption::kOne;
  EXPECT_EQ(whole_sets_lost(root, {false, false, true}), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(whole_sets_lost(root, {true, false, false}), (std::vector<bool>{false, false, false}));
  root.disruption = Disruption::kAll;
  EXPECT_EQ(whole_sets_lost(root, {false, false, true}), (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace berth::sim
