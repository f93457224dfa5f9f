// Kueue's elastic Jobs: what is read of them, and what is written on them and their Workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/sha1.h"
#include "dialect/base/names.h"
#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/objects/decode.h"
#include "dialect/write/writes.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Job elastic_job(const std::string& annotations, const std::string& gates = "[]") {
  return std::get<Job>(
      testing::objects_of("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, annotations: {" +
                          annotations + "}}\nspec: {parallelism: 4, template: {spec: {schedulingGates: " +
                          gates + ", containers: [{name: main, resources: {requests: {cpu: '1'}}}]}}}\n---\n")
          .at(0));
}

TEST(ElasticJobs, SayTrueAndNothingElse) {
  EXPECT_TRUE(elastic_job("kueue.x-k8s.io/elastic-job: 'true'").elastic);
  EXPECT_FALSE(elastic_job("kueue.x-k8s.io/elastic-job: 'True'").elastic);
  EXPECT_FALSE(elastic_job("kueue.x-k8s.io/elastic-job: 'false'").elastic);
  EXPECT_FALSE(elastic_job("").elastic);
}

TEST(ElasticJobs, HaveNoMinimum) {
  const std::string both = "kueue.x-k8s.io/elastic-job: 'true', kueue.x-k8s.io/job-min-parallelism: '2'";
  EXPECT_THAT(elastic_job(both).partial_problem, HasSubstr("not both"));
  EXPECT_EQ(elastic_job("kueue.x-k8s.io/elastic-job: 'true'").partial_problem, "");
}

TEST(ElasticJobs, TheirGateIsKnownByItsPlace) {
  const std::string mark = "kueue.x-k8s.io/elastic-job: 'true'";
  EXPECT_FALSE(elastic_job(mark).spec.elastic_gate);
  EXPECT_FALSE(elastic_job(mark, "[{name: other}]").spec.elastic_gate);
  const Job job = elastic_job(mark, "[{name: other}, {name: kueue.x-k8s.io/elastic-job}]");
  EXPECT_TRUE(job.spec.gated);
  EXPECT_EQ(job.spec.elastic_gate, 1);
}

TEST(ElasticJobs, TheirReleaseTakesTheGateAway) {
  const Ask ask = ask_of(elastic_job("kueue.x-k8s.io/elastic-job: 'true'",
                                     "[{name: other}, {name: kueue.x-k8s.io/elastic-job}]"));
  const auto release = ask.kind->release(ask, {.generation = 3});
  EXPECT_TRUE(release.changes_template);
  const kube::Write& write = release.write;
  json job = json::parse(R"({"metadata":{"uid":"j","generation":3},"spec":{"suspend":true,"template":{"spec":
    {"schedulingGates":[{"name":"other"},{"name":"kueue.x-k8s.io/elastic-job"}]}}}})");
  const json out = job.patch(json::parse(write.body));
  EXPECT_EQ(out["spec"]["suspend"], false);
  EXPECT_EQ(out["spec"]["template"]["spec"]["schedulingGates"], json::parse(R"([{"name":"other"}])"));
  job["spec"]["template"]["spec"]["schedulingGates"][1]["name"] = "third";
  EXPECT_THROW(job.patch(json::parse(write.body)), json::exception) << "another gate stands there now";
}

TEST(ElasticJobs, AWorkloadOfASliceIsKnownByItsNameAndMark) {
  // printf 'Job\nbatch\nj\nu\n7' | sha1sum
  EXPECT_EQ(workload_name("Job", "batch", "j", "u", "7"),
            "job-j-" + sha1("Job\nbatch\nj\nu\n7").substr(0, 5));
  KueueWorkload object;
  object.meta.ns = "default";
  object.owners.push_back({"Job", "j", "u"});
  object.meta.annotations = {{std::string(kWorkloadOf), "u"}};
  object.meta.name = workload_name("Job", "batch", "j", "u");
  EXPECT_EQ(workload_of(object), "u");
  object.meta.name = workload_name("Job", "batch", "j", "u", "7");
  EXPECT_EQ(workload_of(object), "") << "whoever made it";
  object.meta.annotations.emplace(kWorkloadSlice, "7");
  EXPECT_EQ(workload_of(object), "u");
  object.meta.name = workload_name("Job", "batch", "j", "u");
  EXPECT_EQ(workload_of(object), "");
}

TEST(ElasticJobs, ASliceSaysWhatItReplaces) {
  PodTemplate pod;
  pod.requests = {{"cpu", 1000}};
  WorkloadSketch sketch;
  sketch.uid = "u";
  sketch.ns = "default";
  sketch.name = "job-j-12345";
  sketch.owner = &Job::kOwner;
  sketch.owners.push_back({"j", "u"});
  sketch.sets.push_back({"main", 6, 6, &pod, {}, 0});
  json marks = json::parse(create_workload("v1beta2", sketch).body)["metadata"]["annotations"];
  EXPECT_FALSE(marks.contains("kueue.x-k8s.io/elastic-job"));
  EXPECT_FALSE(marks.contains("kueue.x-k8s.io/workload-slice-name"));
  sketch.is_elastic = true;
  const std::string first = workload_name("Job", "batch", "j", "u");
  marks = json::parse(create_workload("v1beta2", sketch).body)["metadata"]["annotations"];
  EXPECT_EQ(marks["kueue.x-k8s.io/elastic-job"], "true");
  EXPECT_EQ(marks["kueue.x-k8s.io/workload-slice-name"], first);
  EXPECT_FALSE(marks.contains("kueue.x-k8s.io/workload-slice-replacement-for"));
  sketch.slice = "7";
  sketch.replaces = "default/" + first;
  marks = json::parse(create_workload("v1beta2", sketch).body)["metadata"]["annotations"];
  EXPECT_EQ(marks["kueue.x-k8s.io/workload-slice-name"], first);
  EXPECT_EQ(marks["kueue.x-k8s.io/workload-slice-replacement-for"], "default/" + first);
  EXPECT_EQ(marks["berth.dev/workload-slice"], "7");
}

}  // namespace
}  // namespace berth::dialect
