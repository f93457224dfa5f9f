// Traces as files: which form they have, writing them, decision logs as traces, and what is said about them.
#include "sim/trace/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/measure/trace_stats.h"
#include "sim/scenario/input.h"
#include "sim/sim_support.h"
#include "text/source.h"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TraceForms, AreFoundByContent) {
  const TempFolder folder;
  const auto form = [&](const std::string& content) {
    const auto found = detect_form(folder.file("f", content));
    return found ? std::string(enum_name(*found)) : found.error().str();
  };
  EXPECT_EQ(form("{\"kind\":\"berth-trace\",\"version\":1}\n"), "berth");
  EXPECT_EQ(form("{\"format\":\"berth-decision-log\",\"version\":1}\n"), "log");
  EXPECT_EQ(form("job_id,submit_s,gpus,duration_s,vc\n"), "philly");
  EXPECT_EQ(form("\xEF\xBB\xBF\"job_id\",\"submit_s\",\"gpus\",\"duration_s\"\n"), "philly");
  EXPECT_EQ(form("submit,gpus,duration\n"), "gangs");
  EXPECT_EQ(form("#job id,arrival time (sec),topology,shape,size,duration (sec)\n"), "gangs");
  EXPECT_EQ(form("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"), "openb");
  EXPECT_EQ(form("; Version: 2\n1 0 -1 1 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"), "swf");
  EXPECT_EQ(form("; nothing but comments\n"), "swf");
  EXPECT_THAT(form("sn,cpu_milli,memory_mib,gpu,model\n"),
              AllOf(HasSubstr(":1"), HasSubstr("list of nodes")));
  EXPECT_THAT(form("hello world\n"), AllOf(HasSubstr(":1"), HasSubstr("--format"), HasSubstr("philly")));
  EXPECT_THAT(form("{\"kind\":\"other\"}\n"), HasSubstr("--format"));
  EXPECT_THAT(form(""), HasSubstr("empty"));
  EXPECT_THAT(detect_form("-").error().str(), HasSubstr("--format"));
}

// A scenario over a Berth trace at `path`.
std::string scenario_over(const std::string& path) {
  return "name: again\ncluster: [{kind: berth, path: " + path + "}]\ntrace: [{kind: berth, path: " + path +
         "}]\nqueues: {from: " + path + "}\n";
}

Result<SimulateResult> run_scenario(const std::string& yaml, const std::string& folder,
                                    const std::string& log = "") {
  BERTH_ASSIGN(const Scenario scenario, parse_scenario(yaml, "s.yaml", folder));
  SimulateOptions options;
  options.log = log;
  return simulate(scenario, options);
}

void convert(const TraceFile& file, const std::string& out, WrittenForm form) {
  TraceBuilder jobs;
  const auto world = read_trace_file(file, jobs);
  ASSERT_TRUE(world) << world.error().str();
  const Trace trace = jobs.finish();
  auto writer = TraceWriter::open(out, form);
  ASSERT_TRUE(writer) << writer.error().str();
  ASSERT_TRUE(writer->world(*world));
  for (const Job& job : trace.jobs) {
    const auto written = writer->job(job, trace);
    ASSERT_TRUE(written) << written.error().str();
  }
  ASSERT_TRUE(writer->commit());
}

constexpr const char* kBusy =
    "name: busy\n"
    "cluster: [{kind: shape, count: 12, gpus: 8, cpu: 64, memory: 256Gi}]\n"
    "trace:\n"
    "  - {kind: generate, jobs: 400, span: 36h, max_gpus: 32, checkpoint_every: 10m, restart_overhead: 1m,\n"
    "     grace: 20s, tenants: [{name: a, weight: 3}, {name: b, weight: 1}]}\n"
    "queues:\n"
    "  - name: pool\n"
    "    children:\n"
    "      - {name: a, reclaim: any, quota: [{resource: gpu, nominal: 48}]}\n"
    "      - {name: b, reclaim: any, quota: [{resource: gpu, nominal: 48}]}\n";

// The strongest check of the log reader: what a simulation went through, read back from its log, is its trace.
TEST(DecisionLog, OfASimulationIsItsTraceAgain) {
  const TempFolder folder;
  const std::string log = folder.path() + "/run.log.zst";
  const auto first = run_scenario(kBusy, folder.path(), log);
  ASSERT_TRUE(first) << first.error().str();
  ASSERT_GT(metric_of(*first, "evictions"), 0) << "no job came back, so that nothing is shown";
  TraceFile file;
  file.path = log;
  file.form = TraceForm::kLog;
  const std::string trace = folder.path() + "/run.jsonl";
  convert(file, trace, WrittenForm::kBerth);
  const auto again = run_scenario(scenario_over(trace), folder.path());
  ASSERT_TRUE(again) << again.error().str();
  ASSERT_EQ(first->metrics.size(), again->metrics.size());
  for (std::size_t i = 0; i < first->metrics.size(); ++i) {
    EXPECT_EQ(first->metrics[i].name, again->metrics[i].name);
    EXPECT_EQ(first->metrics[i].milli, again->metrics[i].milli) << first->metrics[i].name;
  }
}

TEST(DecisionLog, WhatNeverRanAndWhatStillRuns) {
  const TempFolder folder;
  const auto workload = [](const std::string& uid, const std::string& more) {
    return "{\"e\":\"workload\",\"workload\":{\"uid\":\"" + uid + "\",\"queue\":\"q\",\"created\":500" +
           more + ",\"root\":{\"pod_sets\":[{\"name\":\"w\",\"present\":0}]}}}\n";
  };
  const auto started = [](const std::string& uid) {
    return "{\"kind\":\"start\",\"workload\":\"" + uid + "\",\"slots\":[{\"node\":\"n\"}]}";
  };
  const std::string log = folder.file(
      "l",
      "{\"format\":\"berth-decision-log\",\"version\":1}\n"
      "{\"e\":\"node\",\"node\":{\"name\":\"gone\"}}\n{\"e\":\"node\",\"node\":{\"name\":\"n\"}}\n"
      "{\"e\":\"queue\",\"queue\":{\"name\":\"q\",\"unlimited\":true}}\n" +
          workload("ended", "") + workload("runs", "") + workload("expects", ",\"expected_duration\":60000") +
          workload("waits", "") + workload("waits-expecting", ",\"expected_duration\":7000") +
          "{\"decide\":1000,\"decisions\":[" + started("ended") + "," + started("runs") + "," +
          started("expects") +
          "]}\n{\"e\":\"workload-remove\",\"uid\":\"ended\"}\n{\"e\":\"node-remove\",\"name\":\"gone\"}\n"
          "{\"decide\":4000}\n");
  TraceBuilder builder;
  const auto world = read_log(log, {}, builder);
  ASSERT_TRUE(world) << world.error().str();
  ASSERT_EQ(world->nodes.size(), 1u);
  EXPECT_EQ(world->nodes[0].name, "n");
  EXPECT_EQ(builder.left_out().size(), 1u);
  EXPECT_EQ(builder.remarks().size(), 2u);
  const Trace trace = builder.finish();
  std::map<std::string, DurationMs> durations;
  for (const Job& job : trace.jobs) {
    durations[job.name] = job.duration;
    EXPECT_EQ(job.submit, -500) << "created half a second before the first decide()";
    EXPECT_EQ(trace.shapes[job.shape].root.pod_sets.at(0).present, std::nullopt);
  }
  EXPECT_EQ(durations, (std::map<std::string, DurationMs>{
                           {"ended", 3000}, {"runs", 3000}, {"expects", 60000}, {"waits-expecting", 7000}}));
}

TEST(DecisionLog, BadOnesNameTheLine) {
  const TempFolder folder;
  TraceBuilder builder;
  const auto says = [&](const std::string& text) {
    const auto bad = read_log(folder.file("l", text), {}, builder);
    return bad ? std::string() : bad.error().str();
  };
  EXPECT_THAT(says("{\"decide\":1}\n"), HasSubstr(":1"));
  EXPECT_THAT(says("{\"format\":\"berth-decision-log\",\"version\":1}\n{\"e\":\"nothing\"}\n"),
              HasSubstr(":2"));
}

// The trace read back from each written form.
TEST(TraceWriter, FormsReadBack) {
  const TempFolder folder;
  TraceFile file;
  file.path = folder.file(
      "jobs.csv", "job_id,submit_s,gpus,duration_s,vc\n1,0.5,1,60,a\n\"2,x\",3,20,0.25,\n3,4,8,7,b\n");
  file.form = TraceForm::kPhilly;
  file.rules.as_given = true;
  const auto rows = [&](const TraceFile& from) {
    TraceBuilder jobs;
    const auto world = read_trace_file(from, jobs);
    EXPECT_TRUE(world) << world.error().str();
    const Trace trace = jobs.finish();
    std::string out;
    for (const Job& job : trace.jobs) {
      out += fmt::format("{} {} {} {} '{}'\n", job.submit, job.duration, trace.shapes[job.shape].gpu_milli,
                         trace.shapes[job.shape].slots, trace.queues.name(job.queue));
    }
    return out;
  };
  const std::string want = rows(file);
  EXPECT_EQ(want, "500 60000 1000 1 'a'\n3000 250 20000 3 ''\n4000 7000 8000 1 'b'\n");
  for (const std::string suffix : {"", ".gz", ".zst"}) {
    TraceFile back = file;
    back.path = folder.path() + "/out.jsonl" + suffix;
    back.form = TraceForm::kBerth;
    convert(file, back.path, WrittenForm::kBerth);
    EXPECT_EQ(rows(back), want) << suffix;
    EXPECT_FALSE(std::filesystem::exists(back.path + ".part"));
    back.path = folder.path() + "/out.csv" + suffix;
    back.form = TraceForm::kPhilly;
    convert(file, back.path, WrittenForm::kCsv);
    EXPECT_EQ(rows(back), want) << suffix;
  }
  TraceFile swf = file;
  swf.path = folder.path() + "/out.swf";
  swf.form = TraceForm::kSwf;
  convert(file, swf.path, WrittenForm::kSwf);
  EXPECT_EQ(rows(swf), "500 60000 1000 1 'queue-1'\n3000 250 20000 3 ''\n4000 7000 8000 1 'queue-2'\n");
  EXPECT_THAT(read_text(swf.path), HasSubstr("; Queue: 2 b\n"));
}

TEST(TraceWriter, BerthFormKeepsEverything) {
  const TempFolder folder;
  const std::string text =
      "{\"kind\":\"berth-trace\",\"version\":1}\n"
      "{\"kind\":\"topology\",\"name\":\"t\",\"levels\":[\"rack\",\"kubernetes.io/hostname\"]}\n"
      "{\"kind\":\"node\",\"name\":\"a\",\"gpus\":8,\"gpu_model\":\"H100\",\"cpu\":\"64\",\"memory\":\"2Gi\","
      "\"labels\":{\"rack\":\"1\"},\"rank\":3}\n"
      "{\"kind\":\"node\",\"node\":{\"name\":\"b\",\"unschedulable\":true}}\n"
      "{\"kind\":\"flavor\",\"flavor\":{\"name\":\"f\",\"node_labels\":{\"rack\":\"1\"}}}\n"
      "{\"kind\":\"queue\",\"name\":\"q\",\"order\":\"strict\",\"quota\":[{\"resource\":\"gpu\",\"nominal\":"
      "8}]}\n"
      "{\"kind\":\"job\",\"id\":\"1\",\"queue\":\"q\",\"submit_ms\":-5,\"duration_ms\":7,\"expected_ms\":9,"
      "\"priority\":4,\"preemptible\":false,\"grace_ms\":2,\"pod_start_ms\":3,\"image_pull_ms\":4,\"image\":"
      "\"i\","
      "\"warm_up_ms\":5,\"checkpoint_ms\":6,\"resize_ms\":7,\"efficiency\":[[1,1],[16,0.75]],\"gpus\":16,"
      "\"topology\":{\"required\":\"rack\"}}"
      "\n"
      "{\"kind\":\"job\",\"id\":\"2\",\"queue\":\"q\",\"submit_ms\":0,\"duration_ms\":7,\"pod_sets\":[{"
      "\"count\":2,"
      "\"gpus\":1,\"gpu_milli\":500,\"cpu\":\"2\",\"least\":1,\"gpu_models\":[\"A\",\"B\"]}],\"disruption\":"
      "\"one\"}\n";
  const auto read = [&](const std::string& path, TraceWorld& world) {
    TraceFile file;
    file.path = path;
    file.rules.as_given = true;
    TraceBuilder jobs;
    auto got = read_trace_file(file, jobs);
    EXPECT_TRUE(got) << got.error().str();
    if (got) world = *std::move(got);
    return jobs.finish();
  };
  TraceWorld before;
  const Trace first = read(folder.file("a.jsonl", text), before);
  TraceFile file;
  file.path = folder.path() + "/a.jsonl";
  file.rules.as_given = true;
  convert(file, folder.path() + "/b.jsonl", WrittenForm::kBerth);
  TraceWorld after;
  const Trace second = read(folder.path() + "/b.jsonl", after);
  EXPECT_EQ(before.nodes, after.nodes);
  EXPECT_EQ(before.topologies, after.topologies);
  EXPECT_EQ(before.flavors, after.flavors);
  EXPECT_EQ(before.queues, after.queues);
  ASSERT_EQ(first.jobs.size(), second.jobs.size());
  for (std::size_t i = 0; i < first.jobs.size(); ++i) {
    const Job& a = first.jobs[i];
    const Job& b = second.jobs[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.submit, b.submit);
    EXPECT_EQ(a.duration, b.duration);
    EXPECT_EQ(a.expected, b.expected);
    EXPECT_EQ(a.priority, b.priority);
    EXPECT_EQ(a.preemptible, b.preemptible);
    EXPECT_EQ(first.shapes[a.shape].root, second.shapes[b.shape].root);
    EXPECT_EQ(first.restarts[a.restart], second.restarts[b.restart]);
    EXPECT_EQ(first.costs[a.costs], second.costs[b.costs]);
    EXPECT_EQ(a.scaling == kOfRules, b.scaling == kOfRules);
    if (a.scaling != kOfRules) {
      EXPECT_EQ(first.scalings[a.scaling], second.scalings[b.scaling]);
    }
  }
}

TEST(TraceWriter, LossesAreCountedAndSwfWantsOrder) {
  const TempFolder folder;
  Trace tables;
  tables.queues.intern("q");
  tables.restarts.emplace_back();
  const auto shape = [&](std::int64_t gpu_milli) {
    JobShape made;
    made.gpu_milli = gpu_milli;
    tables.shapes.push_back(made);
    return static_cast<std::uint32_t>(tables.shapes.size() - 1);
  };
  Job job;
  job.name = "j";
  job.submit = 10;
  auto writer = TraceWriter::open(folder.path() + "/x.swf", WrittenForm::kSwf);
  ASSERT_TRUE(writer);
  job.shape = shape(0);
  ASSERT_TRUE(writer->job(job, tables));
  job.shape = shape(500);
  ASSERT_TRUE(writer->job(job, tables));
  EXPECT_EQ(writer->jobs(), 1);
  EXPECT_EQ(writer->losses().size(), 2u);
  job.submit = 5;
  EXPECT_THAT(writer->job(job, tables).error().message, HasSubstr("--sort"));
  job.submit = -5;
  EXPECT_THAT(writer->job(job, tables).error().message, HasSubstr("--from-zero"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/x.swf")) << "nothing is there without commit()";
  EXPECT_FALSE(TraceWriter::open(folder.path() + "/no/such/folder/x", WrittenForm::kCsv));
}

TEST(TraceStats, ExactNumbers) {
  const TempFolder folder;
  TraceFile file;
  file.path = folder.file("jobs.csv",
                          "job_id,submit_s,gpus,duration_s,vc\n1,0,1,3600,a\n2,3600,8,7200,a\n3,1800,16,0,\n"
                          "4,7200,32,1800,b\n");
  file.form = TraceForm::kPhilly;
  file.rules.as_given = true;
  TraceStats stats;
  const Trace* tables = nullptr;
  TraceBuilder builder([&](const Job& job) -> Status {
    stats.add(job, *tables);
    return {};
  });
  tables = &builder.tables();
  ASSERT_TRUE(read_trace_file(file, builder));
  const TraceSummary summary = stats.summarize();
  EXPECT_EQ(summary.jobs, 4);
  EXPECT_EQ(summary.last - summary.first, 2 * kHour);
  EXPECT_EQ(summary.arrivals_per_hour_milli, 2'000);
  EXPECT_EQ(summary.busiest_hour, 2);
  EXPECT_EQ(static_cast<std::int64_t>(summary.gpu_ms_milli / kHour), 1'000 + 16'000 + 16'000);
  EXPECT_EQ(summary.mean_demand_gpu_milli, 16'500);
  EXPECT_EQ(summary.peak_demand.at_least, 40'000);  // the second and the fourth
  EXPECT_EQ(summary.peak_demand.at_most, 40'000);
  EXPECT_EQ(summary.max_gpu_milli, 32'000);
  EXPECT_EQ(stats.out_of_order, 1);
  EXPECT_EQ(stats.without_run_time, 1);
  EXPECT_EQ(stats.tenants.at("").jobs, 1);
  const std::string table = stats_table(file, stats, summary);
  EXPECT_THAT(table, AllOf(HasSubstr("4 jobs"), HasSubstr("without a tenant"), HasSubstr("run time of 0"),
                           HasSubstr("in front of them"), HasSubstr("33 GPU-hours")));
  const auto json = text::parse_json(stats_json(file, stats, summary), "stats");
  ASSERT_TRUE(json) << json.error().str();
  EXPECT_EQ(json->root().find("gpu_hours")->as_int(), 33);
  EXPECT_EQ(json->root().at({"defects", "without_tenant"})->as_int(), 1);
}

}  // namespace
}  // namespace berth::sim
