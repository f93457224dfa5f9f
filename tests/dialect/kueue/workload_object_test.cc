// Kueue's Workload object: names, writes, and what is read back.
#include "dialect/kueue/workload_object.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/sha1.h"
#include "dialect/objects/decode.h"
#include "dialect/write/writes.h"

namespace berth::dialect {
namespace {

using nlohmann::json;

// The digests are those of sha1sum(1).
TEST(WorkloadObject, Sha1) {
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1(std::string(200, 'a')), "e61cfffe0d9195a525fc6cf06ca2d77119c24a40");
}

TEST(WorkloadObject, NamesAreKueues) {
  // printf 'Job\nbatch\ntrain\n11111111-2222-3333-4444-555555555555' | sha1sum
  EXPECT_EQ(workload_name("Job", "batch", "train", "11111111-2222-3333-4444-555555555555"),
            "job-train-" + sha1("Job\nbatch\ntrain\n11111111-2222-3333-4444-555555555555").substr(0, 5));
  const std::string longest = workload_name("Pod", "", std::string(253, 'x'), "u");
  EXPECT_EQ(longest.size(), 253u);
  EXPECT_TRUE(longest.starts_with("pod-xxx"));
}

WorkloadStatus example() {
  WorkloadStatus status;
  status.set(WorkloadCondition::kQuotaReserved, true, "QuotaReserved", "Quota reserved in ClusterQueue team",
             1'700'000'000'000);
  status.set(WorkloadCondition::kAdmitted, true, "Admitted", "The workload is admitted", 1'700'000'000'000);
  status.cluster_queue = "team";
  ResourceList usage{{"cpu", 3500}, {"memory", 2'147'483'648}, {"nvidia.com/gpu", 2000}};
  status.assignments.push_back(
      {"main", 2, {{"cpu", "any"}, {"memory", "any"}, {"nvidia.com/gpu", "h100"}}, usage});
  status.requeues = 2;
  status.requeue_at = 1'700'000'060'000;
  status.past_seconds = 7;
  status.reclaimable.push_back({"main", 1});
  return status;
}

TEST(WorkloadObject, WhatIsWrittenReadsBackAsTheSame) {
  const WorkloadStatus status = example();
  json object = json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
    "metadata":{"name":"w","namespace":"default","uid":"u"},
    "spec":{"queueName":"team","podSets":[{"name":"main","count":2,"template":{"spec":{"containers":[{"name":"pod"}]}}}]}})");
  object["status"] = json::parse(to_json(status, true));
  JsonDecoder decoder;
  const auto read = decoder.decode(object.dump(), Kind::kWorkload);
  ASSERT_TRUE(read.has_value()) << read.error().str();
  const auto& workload = std::get<KueueWorkload>(*read);
  EXPECT_EQ(to_json(workload.status, true), to_json(status, true));
  EXPECT_EQ(workload.status.find(WorkloadCondition::kAdmitted)->since, 1'700'000'000'000);
}

TEST(WorkloadObject, TheOlderVersionSpellsOneNameOtherwise) {
  const json newer = json::parse(write_workload_status("v1beta2", "ns", "w", "u", example()).body)["status"];
  json older = json::parse(write_workload_status("v1beta1", "ns", "w", "u", example()).body)["status"];
  EXPECT_EQ(newer["accumulatedPastExecutionTimeSeconds"], 7);
  EXPECT_EQ(older["accumulatedPastExexcutionTimeSeconds"], 7);
  EXPECT_FALSE(older.contains("accumulatedPastExecutionTimeSeconds"));
  json object = json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload",
    "metadata":{"name":"w","namespace":"default","uid":"u"},"spec":{"queueName":"team",
    "podSets":[{"name":"main","count":2,"template":{"spec":{"containers":[{"name":"pod"}]}}}]}})");
  object["status"] = older;
  JsonDecoder decoder;
  const auto read = decoder.decode(object.dump(), Kind::kWorkload);
  ASSERT_TRUE(read.has_value()) << read.error().str();
  EXPECT_EQ(std::get<KueueWorkload>(*read).status.past_seconds, 7);
}

TEST(WorkloadObject, TheTimeOfAConditionChangesWithItsStatusOnly) {
  WorkloadStatus status;
  EXPECT_TRUE(status.set(WorkloadCondition::kAdmitted, false, "A", "a", 1000));
  EXPECT_FALSE(status.set(WorkloadCondition::kAdmitted, false, "A", "a", 2000));
  EXPECT_TRUE(status.set(WorkloadCondition::kAdmitted, false, "B", "b", 3000));
  EXPECT_EQ(status.find(WorkloadCondition::kAdmitted)->since, 1000);
  EXPECT_TRUE(status.set(WorkloadCondition::kAdmitted, true, "B", "b", 4000));
  EXPECT_EQ(status.find(WorkloadCondition::kAdmitted)->since, 4000);
}

TEST(WorkloadObject, SaysWhatItsOwnerAsksForInBothVersions) {
  PodTemplate pod;
  pod.requests = {{"cpu", 1500}};
  pod.claim.requests.push_back({"nvidia.com/gpu", 2, 1000});
  WorkloadSketch sketch;
  sketch.uid = "uid-train";
  sketch.ns = "default";
  sketch.name = "job-train-12345";
  sketch.owner = &Job::kOwner;
  sketch.owners.push_back({"train", "uid-train"});
  sketch.local_queue = "team";
  sketch.priority = 7;
  sketch.priority_class = "urgent";
  sketch.workload_class = true;
  sketch.most_seconds = 60;
  sketch.sets.push_back({"main", 4, 2, &pod});
  const json newer = json::parse(create_workload("v1beta2", sketch).body);
  EXPECT_EQ(newer["spec"]["priorityClassRef"]["kind"], "WorkloadPriorityClass");
  EXPECT_EQ(newer["metadata"]["labels"]["kueue.x-k8s.io/job-uid"], "uid-train");
  EXPECT_EQ(newer["metadata"]["ownerReferences"][0]["kind"], "Job");
  const json& set = newer["spec"]["podSets"][0];
  EXPECT_EQ(set["count"], 4);
  EXPECT_EQ(set["minCount"], 2);
  EXPECT_EQ(set["template"]["spec"]["containers"][0]["resources"]["requests"].dump(),
            R"({"cpu":"1500m","nvidia.com/gpu":"2"})");
  const json older = json::parse(create_workload("v1beta1", sketch).body);
  EXPECT_EQ(older["apiVersion"], "kueue.x-k8s.io/v1beta1");
  EXPECT_EQ(older["spec"]["priorityClassName"], "urgent");
  EXPECT_EQ(older["spec"]["priorityClassSource"], "kueue.x-k8s.io/workloadpriorityclass");
  // The patch removes fields that have no value any more.
  const std::string before = digest_of(sketch, "v1beta2");
  sketch.priority_class = {};
  sketch.most_seconds.reset();
  EXPECT_NE(digest_of(sketch, "v1beta2"), before);
  const json patch = json::parse(update_workload("v1beta2", sketch.name, "u", sketch).body);
  EXPECT_TRUE(patch["spec"]["priorityClassRef"].is_null());
  EXPECT_TRUE(patch["spec"]["maximumExecutionTimeSeconds"].is_null());
}

TEST(Messages, AreCutBetweenCharacters) {
  EXPECT_EQ(bounded(std::string(1024, 'a')), std::string(1024, 'a'));
  const std::string cut = bounded(std::string(1020, 'a') + "\u00e9\u00e9\u00e9");
  EXPECT_EQ(cut, std::string(1020, 'a') + "...") << "the character would not fit whole";
  EXPECT_LE(bounded(std::string(5000, 'a')).size(), 1024u);
}

// An object of another client: its spec stays as it is.
TEST(WorkloadObject, GetsItsWorkForAnOwner) {
  WorkloadSketch sketch;
  sketch.uid = "uid-train";
  sketch.ns = "default";
  sketch.owner = &Job::kOwner;
  sketch.is_prebuilt = true;
  sketch.owners.push_back({"train", "uid-train"});
  const json of_job = json::parse(own_workload("v1beta2", "remote", "u", sketch, {}).body);
  EXPECT_EQ(of_job["metadata"]["uid"], "u");
  EXPECT_EQ(of_job["metadata"]["labels"]["kueue.x-k8s.io/job-uid"], "uid-train");
  EXPECT_EQ(of_job["metadata"]["ownerReferences"][0]["kind"], "Job");
  EXPECT_EQ(of_job["metadata"]["ownerReferences"][0]["controller"], true);
  EXPECT_FALSE(of_job.contains("spec"));
  sketch.owner = nullptr;
  sketch.is_group = true;
  sketch.owners = {{"a", "uid-a"}, {"b", "uid-b"}};
  const json of_pods =
      json::parse(own_workload("v1beta2", "remote", "u", sketch, {{"Pod", "c", "uid-c"}}).body);
  EXPECT_FALSE(of_pods["metadata"].contains("labels"));
  EXPECT_EQ(of_pods["metadata"]["ownerReferences"].size(), 3U);
}

TEST(WorkloadObject, BelongsToBerthWhenMarkNameAndOwnerAgree) {
  KueueWorkload object;
  object.meta.ns = "default";
  object.meta.name = workload_name("Job", "batch", "train", "uid-train");
  object.meta.annotations.emplace(std::string(kWorkloadOf), "uid-train");
  EXPECT_EQ(workload_of(object), "");
  object.owners.push_back({"Job", "train", "uid-train"});
  EXPECT_EQ(workload_of(object), "uid-train");
  object.meta.name += "x";
  EXPECT_EQ(workload_of(object), "") << "a second one that claims to be of the same Job";
  object.meta.annotations.clear();
  EXPECT_EQ(workload_of(object), "");
  KueueWorkload group;
  group.meta.ns = "default";
  group.meta.name = "g";
  group.meta.annotations.emplace(std::string(kWorkloadOf), "Gang/kueue/default/g");
  EXPECT_EQ(workload_of(group), "Gang/kueue/default/g");
}

TEST(WorkloadObject, HowPodsEnded) {
  const auto one = read_endings(R"({"kind":"Pod","status":{"phase":"Succeeded"}})");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->succeeded, 1);
  const auto list = read_endings(
      R"({"kind":"PodList","items":[{"status":{"phase":"Failed"}},{"status":{"phase":"Running"}},{}]})");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->failed, 1);
  EXPECT_EQ(list->others, 2);
  EXPECT_FALSE(read_endings("gone").has_value());
}

}  // namespace
}  // namespace berth::dialect
