// Readers: what they make of good files, and what they say about bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "sim/scenario/input.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::HasSubstr;

std::string data(const std::string& name) {
  return source_path("tests/sim/data/" + name);
}

std::string gzipped(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(OpenbReader, NodesByNameWithRanks) {
  const auto order = read_openb_order(data("order.7.txt"));
  ASSERT_TRUE(order) << order.error().str();
  const auto nodes = read_openb_nodes(data("nodes.csv"), &*order);
  ASSERT_TRUE(nodes) << nodes.error().str();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].name, "openb-node-a");
  EXPECT_EQ((*nodes)[0].rank, 1);
  EXPECT_EQ((*nodes)[1].rank, 0);
  EXPECT_EQ((*nodes)[1].allocatable.get("memory"), std::int64_t{1} << 30);
  EXPECT_EQ((*nodes)[1].devices.at(0).count, 2);
  EXPECT_EQ((*nodes)[1].labels.at("nvidia.com/gpu.product"), "T4");
}

TEST(OpenbReader, PodsInOrderOfArrivalWithClones) {
  const auto order = read_openb_order(data("order.7.txt"));
  TraceBuilder builder;
  JobRules rules;
  rules.queue = "q";
  ASSERT_TRUE(read_openb_pods(data("pods.csv"), &*order, rules, builder));
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.jobs.size(), 5u);
  EXPECT_EQ(trace.jobs[0].name, "p0");
  EXPECT_EQ(trace.jobs[4].name, "p1.clone-1");
  EXPECT_EQ(trace.jobs[4].shape, trace.jobs[1].shape);
  const PodTemplate& p0 = trace.shapes[trace.jobs[0].shape].root.pod_sets.at(0).pod;
  EXPECT_EQ(p0.claim.requests.at(0).count, 2);
  EXPECT_EQ(p0.required_affinity->at(0).labels.at(0).values, (std::vector<std::string>{"T4", "G2"}));
  EXPECT_EQ(trace.shapes[trace.jobs[1].shape].gpu_milli, 500);
  EXPECT_EQ(trace.shapes[trace.jobs[3].shape].gpu_milli, 0);
}

// p0 takes two whole GPUs of the node of rank 0 or the one that best fit prefers; all that fits is placed.
TEST(OpenbReader, TinyInflation) {
  const auto scenario = read_scenario(data("every-key-inflation.yaml"));
  ASSERT_TRUE(scenario) << scenario.error().str();
  const auto result = simulate(*scenario);
  ASSERT_TRUE(result) << result.error().str();
  // 2 + 0.5 + 0.5 + 0 + 0.5 GPUs of 4.
  EXPECT_EQ(metric_of(*result, "arrived_pct"), 87'500);
  EXPECT_EQ(metric_of(*result, "jobs"), 5'000);
  const auto other = read_scenario(data("every-key-inflation.yaml"), 8);
  ASSERT_TRUE(other) << other.error().str();
  EXPECT_FALSE(simulate(*other)) << "there is no order.8.txt";
}

TEST(PhillyReader, GangsTenantsAndWindow) {
  TraceBuilder builder;
  JobRules rules;
  rules.no_tenant_queue = "rest";
  rules.from = 30 * kSecond;
  ASSERT_TRUE(read_philly_jobs(data("jobs.csv"), rules, builder));
  EXPECT_EQ(builder.outside_window(), 1);
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.queues.name(trace.jobs[0].queue), "blue");
  EXPECT_EQ(trace.queues.name(trace.jobs[1].queue), "rest");
  const Group& gang = trace.shapes[trace.jobs[0].shape].root;
  ASSERT_EQ(gang.pod_sets.size(), 2u);  // 20 = 2 x 8 + 4
  EXPECT_EQ(gang.pod_sets[0].count, 2);
  EXPECT_EQ(gang.pod_sets[0].pod.claim.requests.at(0).count, 8);
  EXPECT_EQ(gang.pod_sets[1].pod.claim.requests.at(0).count, 4);
}

TEST(Clusters, MachinesAndTenantNodes) {
  const auto scenario = read_scenario(data("every-key-replay.yaml"));
  ASSERT_TRUE(scenario) << scenario.error().str();
  const auto input = load(*scenario);
  ASSERT_TRUE(input) << input.error().str();
  // 4 of the shape, 2 machines of 4 GPUs and more, and 12 nodes in the proportion 4 to 2.
  EXPECT_EQ(input->nodes.size(), 18u);
  EXPECT_EQ(std::count_if(input->nodes.begin(), input->nodes.end(),
                          [](const Node& node) { return node.name.starts_with("red-"); }),
            8);
  const auto red = std::find_if(input->queues.begin(), input->queues.end(),
                                [](const Queue& q) { return q.name == "red"; });
  ASSERT_NE(red, input->queues.end());
  EXPECT_EQ(red->quotas.at(0).nominal, 64'000);
  EXPECT_EQ(red->parent, "all");
}

struct Bad {
  std::string content;
  std::vector<std::string> says;
};

void expect_bad(const std::string& kind, const std::vector<Bad>& cases) {
  for (const Bad& bad : cases) {
    const TempFolder folder;
    folder.file("bad", bad.content);
    const std::string message =
        error_of("name: bad\ncluster: [{kind: shape, count: 1, gpus: 8}]\ntrace: [{kind: " + kind +
                     ", path: bad, queue: q, max_jobs: 3}]\nqueues: [{name: q, unlimited: true}]\n",
                 folder.path());
    EXPECT_NE(message, "") << bad.content;
    EXPECT_THAT(message, HasSubstr("/bad")) << bad.content;
    for (const std::string& word : bad.says) EXPECT_THAT(message, HasSubstr(word)) << bad.content;
  }
}

TEST(BadInput, Philly) {
  const std::string header = "job_id,submit_s,gpus,duration_s\n";
  const std::string whole = gzipped(header + "1,0,1,60\n2,0,1,60\n");
  expect_bad("philly", {{"job_id,submit_s,duration_s\n1,0,60\n", {"gpus"}},
                        {header + "1,0,-4,60\n", {":2", "gpus"}},
                        {header + "1,0,4,60\n2,0,0,60\n", {":3", "gpus"}},
                        {header + "1,0,4,-1\n", {":2", "duration_s"}},
                        {header + "1,zero,4,1\n", {":2", "submit_s", "zero"}},
                        {header + "1,0,4\n", {":2"}},
                        {header + ",0,4,1\n", {":2", "job_id"}},
                        {header + "1,99999999999999999999,4,1\n", {":2", "submit_s"}},
                        {header + "1,0,4,1\n2,0,1,1\n3,0,1,1\n4,0,1,1\n", {":5", "max_jobs"}},
                        {whole.substr(0, whole.size() - 9), {}},
                        {"", {}}});
  const TempFolder folder;
  folder.file("empty", header);
  EXPECT_THAT(
      error_of("name: bad\ncluster: [{kind: shape, count: 1, gpus: 8}]\n"
               "trace: [{kind: philly, path: empty, queue: q}]\nqueues: [{name: q, unlimited: true}]\n",
               folder.path()),
      testing::AllOf(HasSubstr("s.yaml:3:"), HasSubstr("no jobs")));
}

TEST(BadInput, Openb) {
  const std::string header =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n";
  expect_bad("openb", {{header + "p,1,1,2,500,,0,1\n", {":2", "gpu_milli", "only one GPU"}},
                       {header + "p,1,1,1,0,,0,1\n", {":2", "gpu_milli"}},
                       {header + "p,1,1,-1,0,,0,1\n", {":2", "num_gpu"}},
                       {header + "p,1,1,1,1000,A||B,0,1\n", {":2", "gpu_spec", "A|B"}},
                       {header + "p,1,1,1,1000,,5,1\n", {":2", "deletion_time"}},
                       {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n", {"creation_time"}}});
}

TEST(BadInput, Berth) {
  const std::string header = "{\"kind\":\"berth-trace\",\"version\":1}\n";
  expect_bad(
      "berth",
      {{"{\"kind\":\"job\"}\n", {":1", "berth-trace"}},
       {"{\"kind\":\"berth-trace\",\"version\":2}\n", {":1", "version"}},
       {header + "{\"kind\":\"jobs\"}\n", {":2", "kind", "job"}},
       {header + "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1}\n", {":2", "gpus"}},
       {header + "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1,\"gpus\":-1}\n",
        {":2", "gpus"}},
       {header + "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1,\"gpu\":1}\n",
        {":2:", "gpu"}},
       {header + "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1,\"gpus\":1,\"pod_sets\":[{"
                 "}]}\n",
        {":2", "not two"}},
       {header + "{\"kind\":\"job\",\"id\":\"a\",\"submit_ms\":0,\"duration_ms\":1,\"pod_sets\":[{\"gpus\":2,"
                 "\"gpu_milli\":5}]}\n",
        {":2", "gpu_milli"}},
       {header + "{\"kind\":\"job\",\n", {":2"}},
       {header + header, {":2", "first"}}});
}

TEST(BadInput, OrdersThatDoNotFit) {
  const TempFolder folder;
  EXPECT_FALSE(read_openb_order(folder.file("a", "1 2 x\n0\n")));
  EXPECT_THAT(read_openb_order(folder.file("b", "1 2 x\n0\n")).error().str(), HasSubstr("b:1:5"));
  EXPECT_FALSE(read_openb_order(folder.file("c", "1 2\n")));
  EXPECT_FALSE(read_openb_order(folder.file("d", "1 2\n0\n0\n")));
  const auto three = read_openb_order(folder.file("e", "0 1 2\n9\n"));
  ASSERT_TRUE(three);
  EXPECT_THAT(read_openb_nodes(data("nodes.csv"), &*three).error().str(), HasSubstr("3 nodes"));
  TraceBuilder builder;
  JobRules rules;
  rules.queue = "q";
  EXPECT_THAT(read_openb_pods(data("pods.csv"), &*three, rules, builder).error().str(), HasSubstr("pod 9"));
}

}  // namespace
}  // namespace berth::sim
