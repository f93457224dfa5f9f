// The life of jobs in time, worked out by hand.
#include "observe/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::HasSubstr;

std::string scenario_of(const std::string& queues, const std::string& extra = "") {
  return "name: test\ncluster: [{kind: berth, path: t.jsonl}]\ntrace: [{kind: berth, path: t.jsonl" + extra +
         "}]\nqueues:\n" + queues;
}

// The row of a job in jobs.csv.
// The columns of jobs.csv up to the state.
std::string row_of(const SimulateResult& result, const std::string& job) {
  for (const OutputFile& file : result.files) {
    if (file.name != "jobs.csv") continue;
    const std::size_t at = file.content.find("\n" + job + ",");
    if (at == std::string::npos) return "";
    std::size_t end = at;
    for (int column = 0; column < 11; ++column) end = file.content.find(',', end + 1);
    return file.content.substr(at + 1, end - at - 1);
  }
  return "";
}

Result<SimulateResult> run(const TempFolder& folder, const std::string& trace, const std::string& yaml,
                           const SimulateOptions& options = {}) {
  folder.file("t.jsonl", kTraceHeader + trace);
  BERTH_ASSIGN(const Scenario scenario, parse_scenario(yaml, "s.yaml", folder.path()));
  SimulateOptions audited = options;
  audited.audit_every = 1;
  return simulate(scenario, audited);
}

TEST(Replay, WaitsForRoomInOrder) {
  const TempFolder folder;
  const auto result = run(folder,
                          R"({"kind":"node","name":"n","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":8}
{"kind":"job","id":"b","queue":"q","submit_ms":1000,"duration_ms":5000,"gpus":4}
{"kind":"job","id":"c","queue":"q","submit_ms":2000,"duration_ms":20000,"gpus":4}
)",
                          scenario_of("  - {name: q, unlimited: true}\n"));
  ASSERT_TRUE(result) << result.error().str();
  // job,queue,gpus,submit_s,first_start_s,end_s,duration_s,waiting_s,evictions,lost_s,state
  EXPECT_EQ(row_of(*result, "a"), "a,q,8,0,0,10,10,0,0,0,completed");
  EXPECT_EQ(row_of(*result, "b"), "b,q,4,1,10,15,5,9,0,0,completed");
  EXPECT_EQ(row_of(*result, "c"), "c,q,4,2,10,30,20,8,0,0,completed");
  EXPECT_EQ(metric_of(*result, "waiting_mean_s"), 5667);
  EXPECT_EQ(metric_of(*result, "makespan_s"), 30'000);
  // 8 x 10 + 4 x 5 + 4 x 20 = 180 GPU-seconds of 8 x 30.
  EXPECT_EQ(metric_of(*result, "gpu_allocation_pct"), 75'000);
}

TEST(Replay, StrictHeadBlocksAndBestEffortDoesNot) {
  const std::string trace = R"({"kind":"node","name":"n","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":6}
{"kind":"job","id":"b","queue":"q","submit_ms":1000,"duration_ms":5000,"gpus":4}
{"kind":"job","id":"c","queue":"q","submit_ms":2000,"duration_ms":3000,"gpus":2}
)";
  const TempFolder folder;
  const auto strict = run(folder, trace, scenario_of("  - {name: q, unlimited: true, order: strict}\n"));
  ASSERT_TRUE(strict) << strict.error().str();
  EXPECT_EQ(row_of(*strict, "c"), "c,q,2,2,10,13,3,8,0,0,completed");
  const auto loose = run(folder, trace, scenario_of("  - {name: q, unlimited: true}\n"));
  ASSERT_TRUE(loose) << loose.error().str();
  EXPECT_EQ(row_of(*loose, "c"), "c,q,2,2,2,5,3,0,0,0,completed");
}

constexpr const char* kTwoQueues =
    "  - name: all\n    children:\n"
    "      - {name: x, reclaim: any, quota: [{resource: gpu, nominal: 8}]}\n"
    "      - {name: y, reclaim: any, quota: [{resource: gpu, nominal: 8}]}\n";

constexpr const char* kReclaim = R"({"kind":"node","name":"n1","gpus":8}
{"kind":"node","name":"n2","gpus":8}
{"kind":"job","id":"a","queue":"x","submit_ms":0,"duration_ms":100000,"gpus":8}
{"kind":"job","id":"b","queue":"x","submit_ms":0,"duration_ms":200000,"gpus":8}
{"kind":"job","id":"c","queue":"y","submit_ms":65000,"duration_ms":30000,"gpus":8}
)";

// c takes back y's guarantee at 65 s. Victim: a or b, both started at 0; whichever it is has worked 65 s and keeps the
// last checkpoint's work, then pays the grace period, waits, and pays for the restart.
TEST(Replay, ReclaimKeepsTheLastCheckpoint) {
  const TempFolder folder;
  const auto result = run(
      folder, kReclaim, scenario_of(kTwoQueues, ", checkpoint_every: 20s, restart_overhead: 7s, grace: 5s"));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(metric_of(*result, "evictions"), 1000);
  EXPECT_EQ(metric_of(*result, "reclaims"), 1000);
  EXPECT_EQ(row_of(*result, "c"), "c,y,8,65,70,100,30,5,0,0,completed");
  const std::string a = row_of(*result, "a");
  const std::string b = row_of(*result, "b");
  // Lost: 5 s of work, 5 s of grace, 7 s of restart. Room again at 100 s, when both c and the survivor a, if it is a,
  // are done.
  if (a.find(",1,17,") != std::string::npos) {
    EXPECT_EQ(a, "a,x,8,0,0,147,100,30,1,17,completed");
    EXPECT_EQ(b, "b,x,8,0,0,200,200,0,0,0,completed");
  } else {
    EXPECT_EQ(a, "a,x,8,0,0,100,100,0,0,0,completed");
    EXPECT_EQ(b, "b,x,8,0,0,247,200,30,1,17,completed");
  }
  EXPECT_EQ(metric_of(*result, "lost_gpu_hours"), 38);  // 17 s x 8 GPUs = 136 s
}

TEST(Replay, WithoutCheckpointsAllWorkIsLost) {
  const TempFolder folder;
  const auto result = run(folder, kReclaim, scenario_of(kTwoQueues));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(row_of(*result, "c"), "c,y,8,65,65,95,30,0,0,0,completed");
  const bool a_was_evicted = row_of(*result, "a").find(",1,65,") != std::string::npos;
  EXPECT_EQ(row_of(*result, a_was_evicted ? "a" : "b"),
            a_was_evicted ? "a,x,8,0,0,195,100,30,1,65,completed" : "b,x,8,0,0,295,200,30,1,65,completed");
}

TEST(Replay, JobsOfNoLengthAndGangsOverNodes) {
  const TempFolder folder;
  const auto result = run(folder,
                          R"({"kind":"node","name":"n1","gpus":8}
{"kind":"node","name":"n2","gpus":8}
{"kind":"job","id":"zero","queue":"q","submit_ms":-5000,"duration_ms":0,"gpus":16}
{"kind":"job","id":"gang","queue":"q","submit_ms":-5000,"duration_ms":1000,"gpus":12}
{"kind":"job","id":"rest","queue":"q","submit_ms":-5000,"duration_ms":1000,"gpus":4}
)",
                          scenario_of("  - {name: q, unlimited: true}\n"));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(row_of(*result, "zero"), "zero,q,16,-5,-5,-5,0,0,0,0,completed");
  EXPECT_EQ(row_of(*result, "gang"), "gang,q,12,-5,-5,-4,1,0,0,0,completed");
  EXPECT_EQ(row_of(*result, "rest"), "rest,q,4,-5,-5,-4,1,0,0,0,completed");
}

TEST(Replay, SaysWhyJobsNeverRan) {
  const TempFolder folder;
  const auto result = run(folder,
                          R"({"kind":"node","name":"n","gpus":8,"gpu_model":"A100"}
{"kind":"job","id":"huge","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":16}
{"kind":"job","id":"other","queue":"q","submit_ms":0,"duration_ms":1000,"pod_sets":[{"gpus":1,"gpu_models":["H100"]}]}
{"kind":"job","id":"fine","queue":"q","submit_ms":0,"duration_ms":1000,"gpus":1}
)",
                          scenario_of("  - {name: q, unlimited: true}\n"));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(metric_of(*result, "unfinished"), 2000);
  EXPECT_EQ(metric_of(*result, "completed"), 1000);
  EXPECT_THAT(result->table, HasSubstr("2 jobs never ran"));
  EXPECT_THAT(result->table, HasSubstr("2 pods need nodes, there is room for 1"));
  EXPECT_THAT(row_of(*result, "huge"), HasSubstr("waiting"));
}

TEST(Replay, SharesOfAGpuStackOnOneDevice) {
  const TempFolder folder;
  const auto result = run(folder,
                          R"({"kind":"node","name":"n","gpus":1}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":10000,"pod_sets":[{"gpus":1,"gpu_milli":600}]}
{"kind":"job","id":"b","queue":"q","submit_ms":0,"duration_ms":10000,"pod_sets":[{"gpus":1,"gpu_milli":400}]}
{"kind":"job","id":"c","queue":"q","submit_ms":0,"duration_ms":10000,"pod_sets":[{"gpus":1,"gpu_milli":100}]}
)",
                          scenario_of("  - {name: q, unlimited: true}\n"));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(row_of(*result, "b"), "b,q,0.4,0,0,10,10,0,0,0,completed");
  EXPECT_EQ(row_of(*result, "c"), "c,q,0.1,0,10,20,10,10,0,0,completed");
}

TEST(Replay, RepeatedRunsAndLogsAreTheSameBytes) {
  const TempFolder folder;
  const std::string yaml = source_path("examples/small.yaml");
  const auto scenario = read_scenario(yaml);
  ASSERT_TRUE(scenario) << scenario.error().str();
  std::vector<SimulateResult> results;
  for (const char* name : {"/a.log", "/b.log"}) {
    SimulateOptions options;
    options.log = folder.path() + name;
    auto result = simulate(*scenario, options);
    ASSERT_TRUE(result) << result.error().str();
    results.push_back(*std::move(result));
  }
  EXPECT_EQ(results[0].table, results[1].table);
  ASSERT_EQ(results[0].files.size(), results[1].files.size());
  for (std::size_t i = 0; i < results[0].files.size(); ++i) {
    EXPECT_EQ(results[0].files[i].content, results[1].files[i].content) << results[0].files[i].name;
  }
  EXPECT_EQ(read_text(folder.path() + "/a.log"), read_text(folder.path() + "/b.log"));
  EXPECT_FALSE(read_text(folder.path() + "/a.log").empty());
  const auto again = observe::replay_file(folder.path() + "/a.log", {});
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_TRUE(again->same());
  EXPECT_GT(again->decisions, 0);
}

TEST(Replay, ExpectationsAreJudged) {
  const TempFolder folder;
  const std::string trace = R"({"kind":"node","name":"n","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":10000,"gpus":8}
)";
  const std::string yaml = scenario_of("  - {name: q, unlimited: true}\n");
  const auto met =
      run(folder, trace, yaml + "expect:\n  - {metric: completion_mean_s, value: 10.1, within: 1%}\n");
  ASSERT_TRUE(met) << met.error().str();
  EXPECT_TRUE(met->as_expected());
  const auto missed =
      run(folder, trace, yaml + "expect:\n  - {metric: completion_mean_s, value: 10.2, within: 1%}\n");
  ASSERT_TRUE(missed) << missed.error().str();
  EXPECT_FALSE(missed->as_expected());
  const auto unknown =
      run(folder, trace, yaml + "expect:\n  - {metric: completion, value: 10, within: 1%}\n");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().str(), HasSubstr("s.yaml:7:"));
}

}  // namespace
}  // namespace berth::sim
