// Standard Workload Format, gangs, host lists and the newer lines of Berth's own form: what is made of good
// files, and what is said about bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/input.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSwf =
    "; Version: 2.2\n"
    "; Computer: two racks\n"
    "; MaxNodes: 4\n"
    "; MaxProcs: 32\n"
    "; UnixStartTime: 1577836800\n"
    ";\n"
    "1 0 -1 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 1 -1 -1\n"
    "2 10.5 -1 60.25 -1 -1 -1 4 -1 -1 0 4 1 -1 2 1 -1 -1\n"
    "3 20 -1 -1 4 -1 -1 4 60 -1 5 4 1 -1 2 1 -1 -1\n"
    "4 30 -1 10 2 -1 -1 2 60 -1 3 4 1 -1 2 1 -1 -1\n"
    "5 40 -1 10 -1 -1 -1 -1 60 -1 1 4 1 -1 2 1 -1 -1\n"
    "6 50 -1 10 20 -1 -1 20 60 -1 1 -1 -1 -1 -1 -1 1 30\n";

TEST(Swf, ProcessorsTimesTenantsAndWhatIsLeftOut) {
  const TempFolder folder;
  const std::string path = folder.file("a.swf", kSwf);
  TraceBuilder builder;
  JobRules rules;
  rules.no_tenant_queue = "rest";
  rules.as_given = true;
  const auto read = read_swf_jobs(path, {}, rules, builder);
  ASSERT_TRUE(read) << read.error().str();
  const auto left_out = builder.left_out();
  EXPECT_EQ(left_out.size(), 3u);
  for (const auto& [why, jobs] : left_out) EXPECT_EQ(jobs, 1) << why;
  ASSERT_EQ(builder.remarks().size(), 1u);
  EXPECT_THAT(builder.remarks().begin()->first, HasSubstr("dependencies"));
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.jobs.size(), 3u);
  EXPECT_EQ(trace.jobs[0].name, "1");
  EXPECT_EQ(trace.jobs[0].duration, kHour);
  EXPECT_EQ(trace.jobs[0].expected, 2 * kHour);
  EXPECT_EQ(trace.shapes[trace.jobs[0].shape].slots, 2);
  EXPECT_EQ(trace.shapes[trace.jobs[0].shape].gpu_milli, 16'000);
  EXPECT_EQ(trace.queues.name(trace.jobs[0].queue), "queue-1");
  EXPECT_EQ(trace.jobs[1].submit, 10'500);
  EXPECT_EQ(trace.jobs[1].duration, 60'250);
  EXPECT_EQ(trace.jobs[1].expected, kNotSaid);
  EXPECT_EQ(trace.shapes[trace.jobs[1].shape].gpu_milli, 4'000);  // as requested: none is known as allocated
  EXPECT_EQ(trace.queues.name(trace.jobs[2].queue), "rest");
}

TEST(Swf, ProcessorsAsCpusAndUsersAsTenants) {
  const TempFolder folder;
  const std::string path = folder.file("a.swf", kSwf);
  TraceBuilder builder;
  JobRules rules;
  rules.no_tenant_queue = "rest";
  rules.processors = Processors::kCpus;
  rules.cpus_per_task = 8;
  ASSERT_TRUE(read_swf_jobs(path, {SwfTenant::kUser}, rules, builder));
  const Trace trace = builder.finish();
  const JobShape& first = trace.shapes[trace.jobs[0].shape];
  EXPECT_EQ(first.gpu_milli, 0);
  EXPECT_EQ(first.cpu_milli, 16'000);
  EXPECT_EQ(first.slots, 2);
  EXPECT_EQ(trace.queues.name(trace.jobs[0].queue), "user-3");
  const JobShape& last = trace.shapes[trace.jobs[2].shape];
  EXPECT_EQ(last.slots, 3);  // 8 + 8 + 4
}

TEST(Swf, NodesFromTheComments) {
  const TempFolder folder;
  const auto header = read_swf_header(folder.file("a.swf", kSwf));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->computer, "two racks");
  EXPECT_EQ(header->unix_start_s, 1577836800);
  const auto nodes = read_swf_nodes(folder.file("a.swf", kSwf), Processors::kGpus, {});
  ASSERT_TRUE(nodes) << nodes.error().str();
  ASSERT_EQ(nodes->size(), 4u);
  EXPECT_EQ(nodes->front().devices.at(0).count, 8);
  const auto says = [&](const std::string& text, Processors processors) {
    const auto bad = read_swf_nodes(folder.file("b.swf", text), processors, {});
    return bad ? std::string() : bad.error().str();
  };
  EXPECT_THAT(says("; nothing\n", Processors::kGpus), AllOf(HasSubstr("MaxNodes"), HasSubstr("kind: shape")));
  EXPECT_THAT(says("; MaxNodes: 3\n; MaxProcs: 32\n", Processors::kGpus), HasSubstr("multiple"));
  EXPECT_THAT(says("; MaxNodes: 2\n; MaxProcs: 256\n", Processors::kGpus), HasSubstr("processors: cpu"));
  EXPECT_EQ(says("; MaxNodes: 2\n; MaxProcs: 256\n", Processors::kCpus), "");
}

struct BadForm {
  std::string content;
  std::vector<std::string> says;
};

void expect_bad_forms(const std::string& kind, const std::vector<BadForm>& cases) {
  for (const BadForm& bad : cases) {
    const TempFolder folder;
    folder.file("bad", bad.content);
    const std::string message =
        error_of("name: bad\ncluster: [{kind: shape, count: 1, gpus: 8}]\ntrace: [{kind: " + kind +
                     ", path: bad, queue: q, max_jobs: 3}]\nqueues: [{name: q, unlimited: true}]\n",
                 folder.path());
    EXPECT_NE(message, "") << bad.content;
    for (const std::string& word : bad.says) EXPECT_THAT(message, HasSubstr(word)) << bad.content;
  }
}

TEST(BadInput, Swf) {
  const auto line = [](const std::string& submit, const std::string& run, const std::string& processors) {
    return "1 " + submit + " -1 " + run + " " + processors + " -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
  };
  expect_bad_forms("swf",
                   {{line("0", "60", "2") + "2 5 -1\n", {"/bad:2", "3 fields", "18"}},
                    {line("0", "60", "2 7"), {"/bad:1", "more than 18"}},
                    {line("x", "60", "2"), {"/bad:1:3", "field 2 (submit time)", "'x'"}},
                    {line("-1", "60", "2"), {"/bad:1:3", "must be known"}},
                    {line("0", "-60", "2"), {"field 4 (run time)", "not negative"}},
                    {line("0", "1.2345", "2"), {"field 4", "three digits"}},
                    {line("0", "60", "2.5"), {"field 5 (allocated processors)", "whole number"}},
                    {line("0", "60", "99999999999999999999"), {"field 5"}},
                    {line("99999999999999999999", "60", "2"), {"field 2"}},
                    {line("0", "1", "1") + line("0", "1", "1") + line("0", "1", "1") + line("0", "1", "1"),
                     {"/bad:4", "max_jobs"}},
                    {"; MaxNodes: 3\n", {"no jobs"}}});
}

TEST(Gangs, OwnAndPublishedColumns) {
  const TempFolder folder;
  for (const std::string text : {"submit_s,gpus,duration_s\n5,20,60.5\n",
                                 "#job id,arrival time (sec),topology,shape,size,duration (sec)\n"
                                 "7,5.0,CLOS,20,20,60.5\n"}) {
    TraceBuilder builder;
    JobRules rules;
    rules.queue = "q";
    rules.topology.preferred = std::string(kLeafLabel);
    const auto read = read_gangs(folder.file("g.csv", text), rules, builder);
    ASSERT_TRUE(read) << read.error().str();
    const Trace trace = builder.finish();
    ASSERT_EQ(trace.jobs.size(), 1u);
    EXPECT_EQ(trace.jobs[0].submit, 5'000);
    EXPECT_EQ(trace.jobs[0].duration, 60'500);
    const JobShape& shape = trace.shapes[trace.jobs[0].shape];
    EXPECT_EQ(shape.slots, 3);
    EXPECT_EQ(shape.gpu_milli, 20'000);
    EXPECT_EQ(shape.root.topology.preferred, kLeafLabel);
  }
}

TEST(BadInput, Gangs) {
  expect_bad_forms("gangs", {{"submit_s,duration_s\n1,2\n", {"/bad:1", "GPUs", "gpus"}},
                             {"submit_s,gpus,duration_s\n1,0,2\n", {"/bad:2", "gpus"}},
                             {"submit_s,gpus,duration_s\n1,1,-2\n", {"/bad:2", "duration_s", "negative"}},
                             {"submit_s,gpus,duration_s\n1,1,1m\n", {"/bad:2", "duration_s", "'1m'"}},
                             {"submit_s,gpus,duration_s\n,1,1\n", {"/bad:2", "submit_s"}},
                             {"submit_s,gpus,duration_s\n1,1\n", {"/bad:2"}}});
}

TEST(Hosts, LevelsHoldTheWayToTheSwitch) {
  const TempFolder folder;
  const auto fleet = read_hosts(folder.file("t.csv", "ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G1,P1,S1\nc,G1,P2,S1\n"),
                                HostColumns(), NodeShape());
  ASSERT_TRUE(fleet) << fleet.error().str();
  ASSERT_EQ(fleet->nodes.size(), 3u);
  const std::string leaf(kLeafLabel);
  EXPECT_EQ(fleet->nodes[0].labels.at(leaf), "G1.P1.S1");
  EXPECT_EQ(fleet->nodes[1].labels.at(leaf), "G1.P1.S1");
  EXPECT_EQ(fleet->nodes[2].labels.at(leaf), "G1.P2.S1");
  EXPECT_EQ(fleet->topology->levels.size(), 4u);
  const auto says = [&](const std::string& text) {
    const auto bad = read_hosts(folder.file("b.csv", text), HostColumns(), NodeShape());
    return bad ? std::string() : bad.error().str();
  };
  EXPECT_THAT(says("ip,DSW,PSW\na,G1,P1\n"), HasSubstr("ASW"));
  EXPECT_THAT(says("ip,DSW,PSW,ASW\na,G1,P1,S1\na,G1,P1,S1\n"), AllOf(HasSubstr(":3"), HasSubstr("already")));
  EXPECT_THAT(says("ip,DSW,PSW,ASW\na,G1,,S1\n"), AllOf(HasSubstr(":2"), HasSubstr("PSW")));
}

// A gang that requires one leaf runs within one, and one that no leaf can hold never starts.
TEST(Hosts, GangsKeepToTheRequiredLevel) {
  const TempFolder folder;
  folder.file("t.csv", "ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G1,P1,S2\nc,G1,P1,S2\n");
  folder.file("g.csv", "submit_s,gpus,duration_s\n0,16,60\n");
  const auto run = [&](const std::string& gangs) {
    folder.file("g.csv", gangs);
    const auto scenario = parse_scenario(
        "name: leaves\ncluster: [{kind: hosts, path: t.csv, gpus: 8}]\n"
        "trace: [{kind: gangs, path: g.csv, queue: q, topology: {required: berth.dev/leaf}}]\n"
        "queues: [{name: q, unlimited: true}]\n",
        "s.yaml", folder.path());
    EXPECT_TRUE(scenario) << scenario.error().str();
    const auto result = simulate(*scenario);
    EXPECT_TRUE(result) << result.error().str();
    return *result;
  };
  const auto fits = run("submit_s,gpus,duration_s\n0,16,60\n");
  EXPECT_EQ(metric_of(fits, "completed"), 1'000);
  const auto never = run("submit_s,gpus,duration_s\n0,24,60\n");
  EXPECT_EQ(metric_of(never, "completed"), 0);
}

TEST(BadInput, LinesOfTheBerthForm) {
  const std::string header = "{\"kind\":\"berth-trace\",\"version\":1}\n";
  const std::string job = "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1";
  expect_bad_forms(
      "berth",
      {{header + job + ",\"root\":{\"pod_set\":[]}}\n", {":2", "pod_set"}},
       {header + job + ",\"root\":{},\"gpus\":1}\n", {":2", "not two"}},
       {header + job + ",\"root\":{\"pod_sets\":[{\"name\":\"w\"}]},\"topology\":{\"required\":\"x\"}}\n",
        {":2", "topology", "root"}},
       {header + job + ",\"gpus\":1,\"expected_ms\":-5}\n", {":2", "expected_ms"}},
       {header + job + ",\"gpus\":1,\"topology\":{\"level\":\"x\"}}\n", {":2", "level"}}});
  const TempFolder folder;
  const auto says = [&](const std::string& line, BerthTracePart part) {
    const auto bad = read_berth_trace(folder.file("t", header + line), part, {}, nullptr);
    return bad ? std::string() : bad.error().str();
  };
  EXPECT_THAT(says("{\"kind\":\"topology\",\"name\":\"t\"}\n", BerthTracePart::kNodes), HasSubstr("levels"));
  EXPECT_THAT(says("{\"kind\":\"node\",\"node\":{\"name\":\"n\",\"gpus\":8}}\n", BerthTracePart::kNodes),
              AllOf(HasSubstr(":2"), HasSubstr("gpus")));
  EXPECT_THAT(says("{\"kind\":\"queue\",\"queue\":{\"weight\":8}}\n", BerthTracePart::kQueues),
              HasSubstr("weight"));
  EXPECT_THAT(says("{\"kind\":\"flavor\"}\n", BerthTracePart::kQueues), HasSubstr("flavor"));
}

}  // namespace
}  // namespace berth::sim
