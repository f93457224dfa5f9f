// Bounds on memory for a file of jobs: each table beside the jobs ends in an error that names the bound and the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_support.h"
#include "sim/trace/readers.h"
#include "sim/trace/trace.h"
#include "sim/trace/trace_file.h"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr TableLimits kSmall{3, 4, 1'000};

std::string trace_of(const std::function<std::string(int)>& job, int jobs) {
  std::string text = kTraceHeader;
  for (int i = 0; i < jobs; ++i) {
    text += fmt::format("{{\"kind\":\"job\",\"id\":\"{}\",\"submit_ms\":{},\"duration_ms\":1,{}}}\n", i, i,
                        job(i));
  }
  return text;
}

// The error of a Berth trace of ten jobs, of which the i-th has `job(i)`.
std::string refused(const std::function<std::string(int)>& job) {
  const TempFolder folder;
  TraceFile file;
  file.path = folder.file("trace", trace_of(job, 10));
  file.rules.as_given = true;
  TraceBuilder jobs([](const Job&) -> Status { return {}; }, kSmall);
  const auto read = read_trace_file(file, jobs);
  return read ? std::string() : read.error().str();
}

TEST(TraceBounds, TablesBesideTheJobs) {
  const std::string one = "\"gpus\":1";
  EXPECT_EQ(refused([&](int) { return one; }), "");
  // Few kinds in turn are few, however many jobs have them.
  EXPECT_EQ(refused([&](int i) {
              const int kind = i % 2;
              return fmt::format(
                  "\"gpus\":{0},\"queue\":\"q{0}\",\"grace_ms\":{0},\"warm_up_ms\":{0},\"image_pull_ms\":{0},"
                  "\"image\":\"i{0}\",\"efficiency\":[[1,1],[{0},1]]",
                  kind + 2);
            }),
            "");
  EXPECT_THAT(refused([&](int i) { return fmt::format("{},\"queue\":\"q{}\"", one, i); }),
              AllOf(HasSubstr("trace:5"), HasSubstr("more than 3 queues"), HasSubstr("--queue")));
  EXPECT_THAT(refused([](int i) { return fmt::format("\"gpus\":{}", i + 1); }),
              AllOf(HasSubstr("trace:6"), HasSubstr("more than 4 different kinds of jobs")));
  EXPECT_THAT(refused([&](int i) { return fmt::format("{},\"grace_ms\":{}", one, i + 1); }),
              AllOf(HasSubstr("trace:6"), HasSubstr("more than 4 different costs of a restart")));
  EXPECT_THAT(refused([&](int i) { return fmt::format("{},\"warm_up_ms\":{}", one, i + 1); }),
              AllOf(HasSubstr("trace:6"), HasSubstr("more than 4 different costs of a start")));
  EXPECT_THAT(refused([&](int i) { return fmt::format("{},\"image_pull_ms\":1,\"image\":\"i{}\"", one, i); }),
              AllOf(HasSubstr("trace:6"), HasSubstr("more than 4 different images")));
  EXPECT_THAT(refused([&](int i) { return fmt::format("{},\"efficiency\":[[{},1]]", one, i + 1); }),
              AllOf(HasSubstr("trace:6"), HasSubstr("more than 4 different tables of efficiency")));
}

TEST(TraceBounds, TextsBesideTheJobs) {
  const std::string text(600, 'x');
  EXPECT_THAT(refused([&](int i) { return fmt::format("\"gpus\":1,\"queue\":\"{}{}\"", text, i); }),
              AllOf(HasSubstr("trace:3"), HasSubstr("more than 1000 bytes")));
  EXPECT_THAT(refused([&](int i) {
                return fmt::format("\"gpus\":1,\"image_pull_ms\":1,\"image\":\"{}{}\"", text, i);
              }),
              AllOf(HasSubstr("trace:3"), HasSubstr("more than 1000 bytes")));
  EXPECT_THAT(refused([&](int i) {
                return fmt::format("\"pod_sets\":[{{\"gpus\":1,\"node_selector\":{{\"{}\":\"{}\"}}}}]", text,
                                   i);
              }),
              AllOf(HasSubstr("trace:3"), HasSubstr("more than 1000 bytes")));
}

TEST(TraceBounds, NamesOfJobs) {
  const TempFolder folder;
  const auto read = [&](std::size_t length) {
    TraceFile file;
    file.path =
        folder.file("jobs.csv", "job_id,submit_s,gpus,duration_s\n" + std::string(length, 'n') + ",0,1,1\n");
    file.form = TraceForm::kPhilly;
    file.rules.as_given = true;
    TraceBuilder jobs;
    const auto done = read_trace_file(file, jobs);
    return done ? std::string() : done.error().str();
  };
  EXPECT_EQ(read(kMostNameBytes), "");
  EXPECT_THAT(read(kMostNameBytes + 1), AllOf(HasSubstr("jobs.csv:2"), HasSubstr("longer than 1024 bytes")));
}

// Pods of openb pass one by one like other jobs.
TEST(TraceBounds, OpenbIsNotHeld) {
  const TempFolder folder;
  TraceFile file;
  file.path = folder.file("pods.csv",
                          "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                          "a,1,1,1,1000,0,1\nb,1,1,1,1000,0,1\nc,1,1,1,1000,0,x\n");
  file.form = TraceForm::kOpenb;
  file.rules.as_given = true;
  std::vector<std::string> came;
  TraceBuilder jobs([&](const Job& job) -> Status {
    came.push_back(job.name);
    return {};
  });
  const auto read = read_trace_file(file, jobs);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().str(), HasSubstr("pods.csv:4"));
  EXPECT_THAT(came, testing::ElementsAre("a", "b"));
}

TEST(TraceBounds, WorldOfABerthTrace) {
  const TempFolder folder;
  std::string text = kTraceHeader;
  for (std::size_t i = 0; i <= kMostTopologies; ++i) {
    text += fmt::format("{{\"kind\":\"topology\",\"name\":\"t{}\",\"levels\":[\"rack\"]}}\n", i);
  }
  const auto read = read_berth_trace(folder.file("trace", text), BerthTracePart::kNodes, {}, nullptr);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().str(), AllOf(HasSubstr(fmt::format("trace:{}", kMostTopologies + 2)),
                                        HasSubstr("more than 1000 topologies")));
}

TEST(TraceBounds, ValuesOfALine) {
  std::string sets = "1";
  for (int i = 0; i < 1'000'000; ++i) sets += ",1";
  EXPECT_THAT(refused([&](int) { return "\"pod_sets\":[" + sets + "]"; }),
              AllOf(HasSubstr("trace:2"), HasSubstr("more than 1000000 ")));
}

TEST(TraceBounds, JobsOfADecisionLog) {
  const TempFolder folder;
  std::string log =
      "{\"format\":\"berth-decision-log\",\"version\":1}\n"
      "{\"e\":\"queue\",\"queue\":{\"name\":\"q\",\"unlimited\":true}}\n";
  const auto workload = [](int i) {
    return fmt::format(
        "{{\"e\":\"workload\",\"workload\":{{\"uid\":\"{}\",\"queue\":\"q\",\"created\":1,\"expected_"
        "duration\":5,"
        "\"root\":{{\"pod_sets\":[{{\"name\":\"w\"}}]}}}}}}\n",
        i);
  };
  for (int i = 0; i < 4; ++i) {  // one at a time alive
    log += workload(i) +
           fmt::format("{{\"decide\":{}}}\n{{\"e\":\"workload-remove\",\"uid\":\"{}\"}}\n", i + 1, i);
  }
  const auto read = [&](std::int64_t most) {
    JobRules rules;
    rules.as_given = true;
    rules.max_jobs = most;
    TraceBuilder jobs;
    const auto done = read_log(folder.file("log", log), rules, jobs);
    return done ? std::string() : done.error().str();
  };
  EXPECT_EQ(read(4), "");
  EXPECT_THAT(read(3), AllOf(HasSubstr("log:13"), HasSubstr("more than 3 jobs"), HasSubstr("--max-jobs")));
}

TEST(TraceBounds, NodesOfTenants) {
  const TempFolder folder;
  folder.file("tenants.csv", "vc,nodes_of_8_gpus\na,200000\nb,200000\n");
  const auto scenario = parse_scenario(
      "name: s\ncluster: [{kind: tenant-nodes, path: tenants.csv, label: vc}]\n"
      "trace: [{kind: generate, jobs: 1, queue: q}]\nqueues: [{name: q, unlimited: true}]\n",
      "s.yaml", folder.path());
  ASSERT_TRUE(scenario) << scenario.error().str();
  const auto input = load(*scenario);
  ASSERT_FALSE(input);
  EXPECT_THAT(input.error().str(), AllOf(HasSubstr("400000 nodes"), HasSubstr("total_nodes")));
}

// Times as the engine takes them (model/bounds.h), so that none of a file is refused in the middle of a run.
TEST(ScenarioBounds, TimesAreThoseOfTheEngine) {
  for (const char* key : {"grace", "restart_overhead", "checkpoint_every"}) {
    const auto scenario =
        parse_scenario(fmt::format("name: s\ncluster: [{{kind: shape, count: 1, gpus: 8}}]\n"
                                   "trace: [{{kind: generate, jobs: 1, queue: q, {}: 1000000000000s}}]\n"
                                   "queues: [{{name: q, unlimited: true}}]\n",
                                   key),
                       "s.yaml", ".");
    ASSERT_FALSE(scenario) << key;
    EXPECT_THAT(scenario.error().str(), AllOf(HasSubstr("s.yaml:3"), HasSubstr(key)));
  }
}

// A node costs some kilobytes, whether it is written or made of a number.
TEST(ScenarioBounds, NodesThatAreMade) {
  const auto scenario = [](std::string_view cluster) {
    return parse_scenario(
        fmt::format("name: s\ncluster: [{}]\ntrace: [{{kind: generate, jobs: 1, queue: q}}]\n"
                    "queues: [{{name: q, unlimited: true}}]\n",
                    cluster),
        "s.yaml", ".");
  };
  for (const char* kind : {"kind: shape, gpus: 8", "kind: generate"}) {
    EXPECT_TRUE(scenario(fmt::format("{{{}, count: {}}}", kind, kMostNodes)));
    const auto beyond = scenario(fmt::format("{{{}, count: {}}}", kind, kMostNodes + 1));
    ASSERT_FALSE(beyond);
    EXPECT_THAT(beyond.error().str(), AllOf(HasSubstr("count"), HasSubstr("200000")));
  }
  const auto two =
      scenario("{kind: shape, gpus: 8, count: 150000}, {kind: shape, name: other, gpus: 8, count: 150000}");
  ASSERT_TRUE(two);
  const auto input = load(*two);
  ASSERT_FALSE(input);
  EXPECT_THAT(input.error().str(), AllOf(HasSubstr("s.yaml:2"), HasSubstr("more than 200000 nodes")));
}

}  // namespace
}  // namespace berth::sim
