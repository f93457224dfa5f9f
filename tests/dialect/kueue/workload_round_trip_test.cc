// Every Workload that Berth writes says, when it is read, what it was written of.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/objects/decode.h"

namespace berth::dialect {
namespace {

using nlohmann::json;

// A pod as the API server may take it in: amounts of every kind and size, and no more than one share of a device.
json random_pod(Random& r) {
  const auto amount_of = [&](std::string_view resource) -> std::string {
    if (r.chance(1, 20)) return "9223372036854775807";
    if (resource == "cpu") return r.chance(1, 2) ? fmt::format("{}m", r.between(1, 99'999)) : "7";
    if (resource.find('/') != std::string_view::npos) return fmt::format("{}", r.between(1, 16));
    return r.chance(1, 2) ? fmt::format("{}", r.between(1, kInt64Max / 2))
                          : fmt::format("{}Mi", r.between(1, 9999));
  };
  json containers = json::array();
  const bool shares = r.chance(1, 3);
  for (std::int64_t i = r.between(1, 3); i > 0; --i) {
    json amounts = json::object();
    for (const char* resource : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/fpga"}) {
      if (r.chance(1, 2)) amounts[resource] = amount_of(resource);
    }
    if (!shares && r.chance(1, 2)) amounts["nvidia.com/gpu"] = amount_of("nvidia.com/gpu");
    containers.push_back(
        {{"name", fmt::format("c{}", i)}, {"resources", {{"requests", amounts}, {"limits", amounts}}}});
  }
  json pod = {{"metadata", {{"annotations", json::object()}}}, {"spec", {{"containers", containers}}}};
  if (shares) {
    pod["metadata"]["annotations"][std::string(kGpuMilli)] = std::to_string(r.between(1, 1000));
    if (r.chance(1, 2)) pod["metadata"]["annotations"][std::string(kGpuResource)] = "amd.com/gpu";
  }
  for (std::int64_t i = r.between(0, 3); i > 0; --i)
    pod["spec"]["nodeSelector"][fmt::format("example.com/l{}", i)] = fmt::format("v{}", r.between(0, 9));
  return pod;
}

PodTemplate template_of(const json& pod) {
  const json job = {{"metadata", {{"name", "j"}, {"uid", "u"}}}, {"spec", {{"template", pod}}}};
  JsonDecoder decoder;
  const auto read = decoder.decode(job.dump(), Kind::kJob);
  EXPECT_TRUE(read.has_value()) << read.error().str() << job.dump();
  if (!read) return {};
  EXPECT_EQ(std::get<Job>(*read).problem, "");
  return *std::get<Job>(*read).spec.pod;
}

WorkloadSketch sketch_of(const std::vector<PodTemplate>& pods, Random& r) {
  WorkloadSketch sketch;
  sketch.uid = "u";
  sketch.ns = "team";
  sketch.name = workload_name("Job", "batch", "j", "u");
  sketch.owner = &Job::kOwner;
  sketch.owners = {{"j", "u"}};
  sketch.local_queue = "q";
  sketch.priority = r.between(-100, 100);
  if (r.chance(1, 2)) sketch.priority_class = "high";
  sketch.workload_class = r.chance(1, 2);
  if (r.chance(1, 2)) sketch.most_seconds = r.between(1, 1000);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::int64_t count = r.between(1, 1'000'000);
    sketch.sets.push_back({fmt::format("s{}", i), count, r.between(1, count), &pods[i], {}, 0});
  }
  return sketch;
}

void expect_reads_back(std::string_view version, const WorkloadSketch& sketch) {
  json object = json::parse(create_workload(version, sketch).body);
  object["metadata"]["uid"] = "object";
  JsonDecoder decoder;
  const auto read = decoder.decode(object.dump(), Kind::kWorkload);
  ASSERT_TRUE(read.has_value()) << read.error().str() << "\n" << object.dump();
  const auto& workload = std::get<KueueWorkload>(*read);
  EXPECT_EQ(workload_of(workload), sketch.uid);
  EXPECT_EQ(workload.queue, sketch.local_queue);
  EXPECT_EQ(workload.priority, sketch.priority);
  EXPECT_EQ(workload.priority_class, sketch.priority_class);
  EXPECT_EQ(workload.workload_priority, !sketch.priority_class.empty() && sketch.workload_class);
  EXPECT_EQ(workload.most_seconds, sketch.most_seconds);
  ASSERT_EQ(workload.pod_sets.size(), sketch.sets.size());
  for (std::size_t i = 0; i < sketch.sets.size(); ++i) {
    const auto& set = workload.pod_sets[i];
    EXPECT_EQ(set.name, sketch.sets[i].name);
    EXPECT_EQ(set.count, sketch.sets[i].count);
    EXPECT_EQ(set.min_count.value_or(set.count), sketch.sets[i].least);
    EXPECT_EQ(set.spec.pod->requests, sketch.sets[i].pod->requests) << object.dump();
    EXPECT_EQ(set.spec.pod->claim, sketch.sets[i].pod->claim) << object.dump();
    EXPECT_EQ(set.spec.pod->node_selector, sketch.sets[i].pod->node_selector);
    EXPECT_THAT(set.spec.pod->unsupported, ::testing::IsEmpty()) << object.dump();
  }
}

TEST(WorkloadRoundTrip, AShareOfADeviceIsReadAsItWasAsked) {
  const PodTemplate pod =
      template_of(json::parse(R"({"metadata":{"annotations":{"berth.dev/gpu-milli":"250"}},
                                  "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})"));
  ASSERT_EQ(pod.claim.requests.size(), 1u);
  ASSERT_EQ(pod.claim.requests[0].milli, 250);
  Random r(1);
  for (const std::string_view version : {"v1beta1", "v1beta2"})
    expect_reads_back(version, sketch_of({pod}, r));
}

TEST(WorkloadRoundTrip, WhateverIsWrittenIsReadAsItWas) {
  for (std::uint64_t seed = 1; seed <= 2000 && !::testing::Test::HasFailure(); ++seed) {
    Random r(seed);
    std::vector<PodTemplate> pods;
    for (std::int64_t i = r.between(1, 3); i > 0; --i) pods.push_back(template_of(random_pod(r)));
    expect_reads_back(r.chance(1, 2) ? "v1beta1" : "v1beta2", sketch_of(pods, r));
  }
}

}  // namespace
}  // namespace berth::dialect
