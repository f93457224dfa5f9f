// How many pods a Job's controller makes (Kubernetes: pkg/controller/job, syncJob() and manageJob()): the rules, one row each, and what
// Berth makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/gangs/gangs.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/job/job_owner.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

std::string yaml_of(const std::string& spec, const std::string& status, const std::string& meta = "") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, labels: {kueue.x-k8s.io/queue-name: "
         "q}" +
         meta + "}\nspec: {" + spec + (spec.empty() ? "" : ", ") +
         "template: {spec: {containers: [{name: main, resources: {requests: {cpu: '1'}, limits: "
         "{nvidia.com/gpu: '1'}}}]}}}\nstatus: {" +
         status + "}\n---\n";
}

Job job_of(const std::string& spec, const std::string& status, const std::string& meta = "") {
  return std::get<Job>(testing::objects_of(yaml_of(spec, status, meta)).at(0));
}

struct Rule {
  const char* what;
  const char* spec;
  const char* status;
  std::int64_t size;  // pods at once, if none is there
};

TEST(JobRules, PodsAtOnce) {
  static constexpr const char* kIndexed = "completionMode: Indexed, parallelism: 3, completions: 6";
  static constexpr const char* kByIndex =
      "completionMode: Indexed, parallelism: 3, completions: 6, backoffLimitPerIndex: 1";
  const Rule rules[] = {
      {"the defaults are one", "", "", 1},
      {"parallelism", "parallelism: 3", "", 3},
      {"parallelism 0 pauses it", "parallelism: 0, completions: 5", "", 0},
      {"without completions, none has ended well", "parallelism: 3", "failed: 2", 3},
      {"without completions, one has: the others are waited for", "parallelism: 3", "succeeded: 1", 0},
      {"completions that are left", "parallelism: 4, completions: 6", "succeeded: 3", 3},
      {"more than parallelism are left", "parallelism: 4, completions: 9", "succeeded: 3", 4},
      {"none is left", "parallelism: 4, completions: 6", "succeeded: 6", 0},
      {"more succeeded than there should (completions were lowered)", "parallelism: 4, completions: 6",
       "succeeded: 8", 0},
      {"indexes that are done", kIndexed, "completedIndexes: '0-3', succeeded: 4", 2},
      {"the list goes before the number", kIndexed, "completedIndexes: '0-3', succeeded: 2", 2},
      {"the number alone", kIndexed, "succeeded: 4", 2},
      {"indexes beyond completions do not count", kIndexed, "completedIndexes: '0-3,6-9', succeeded: 8", 2},
      {"what cannot be read does not count", kIndexed, "completedIndexes: '0,x,3-1,2-', succeeded: 1", 3},
      {"an index that has failed is not tried again", kByIndex,
       "completedIndexes: '0', failedIndexes: '1,3-4', succeeded: 1, failed: 6", 2},
      {"all that are left have failed", kByIndex, "completedIndexes: '0-2', failedIndexes: '3-5'", 0},
      {"more indexes have failed than maxFailedIndexes",
       "completionMode: Indexed, parallelism: 3, completions: 6, backoffLimitPerIndex: 1, maxFailedIndexes: "
       "1",
       "failedIndexes: '0,1'", 0},
      {"as many as maxFailedIndexes",
       "completionMode: Indexed, parallelism: 3, completions: 6, backoffLimitPerIndex: 1, maxFailedIndexes: "
       "2",
       "failedIndexes: '0,1'", 3},
      {"as many pods have failed as the backoffLimit", "parallelism: 3, backoffLimit: 2", "failed: 2", 3},
      {"more", "parallelism: 3, backoffLimit: 2", "failed: 3", 0},
      {"its default is 6", "parallelism: 3", "failed: 7", 0},
      {"by index it has none", kByIndex, "failed: 70", 3},
      {"unless it is said",
       "completionMode: Indexed, parallelism: 3, completions: 6, backoffLimitPerIndex: 1, "
       "backoffLimit: 9",
       "failed: 10", 0},
      {"condition Complete", "parallelism: 3", "conditions: [{type: Complete, status: 'True'}]", 0},
      {"condition Failed", "parallelism: 3", "conditions: [{type: Failed, status: 'True'}]", 0},
      {"condition SuccessCriteriaMet", "parallelism: 3",
       "conditions: [{type: SuccessCriteriaMet, status: 'True'}]", 0},
      {"condition FailureTarget", "parallelism: 3", "conditions: [{type: FailureTarget, status: 'True'}]", 0},
      {"which is not true", "parallelism: 3", "conditions: [{type: FailureTarget, status: 'False'}]", 3},
      {"condition Suspended says nothing that the spec does not", "parallelism: 3",
       "conditions: [{type: Suspended, status: 'True'}]", 3},
  };
  for (const Rule& rule : rules) EXPECT_EQ(job_of(rule.spec, rule.status).size(), rule.size) << rule.what;
  EXPECT_EQ(job_of("parallelism: 3", "", ", deletionTimestamp: '2026-01-01T00:00:00Z'").size(), 0)
      << "one that is being deleted makes none";
}

TEST(JobRules, WhatIsSettledIsReclaimable) {
  EXPECT_EQ(job_of("completionMode: Indexed, parallelism: 3, completions: 3, backoffLimitPerIndex: 1",
                   "completedIndexes: '0', failedIndexes: '1', succeeded: 1")
                .reclaimable(),
            2);
}

TEST(JobRules, WhichIndexesAreNext) {
  const auto next = [](const std::string& spec, const std::string& taken, std::int64_t missing) {
    std::vector<std::string> out;
    const Job job = job_of(spec, "");
    const auto completions = job.completions.value_or(1'000'000);
    for (const Pod& pod : pods_of_job(ask_of(job), JobIndexes::parse(taken, completions), missing))
      out.push_back(pod.meta.name);
    return out;
  };
  const std::string indexed = "completionMode: Indexed, parallelism: 9, completions: 7";
  EXPECT_THAT(next(indexed, "", 2), ElementsAre("j-0", "j-1"));
  EXPECT_THAT(next(indexed, "0,2-4", 9), ElementsAre("j-1", "j-5", "j-6")) << "and none beyond completions";
  EXPECT_THAT(next("parallelism: 3", "0,2", 3), ElementsAre("j-1", "j-3", "j-4"));
  EXPECT_THAT(next("completionMode: Indexed, parallelism: 1, completions: 100000000", "0-99999998", 1),
              ElementsAre("j-99999999"))
      << "at once, however many are done";
}

TEST(JobRules, IndexesAreIntervals) {
  JobIndexes indexes = JobIndexes::parse("5,1-2,7-9", 9);
  EXPECT_EQ(indexes.count(), 5);
  indexes.add(0);
  indexes.add(6);
  indexes.add(6);
  EXPECT_EQ(indexes, JobIndexes::parse("0-2,5-8", 100));
  EXPECT_EQ(indexes.next_free(0), 3);
  EXPECT_EQ(indexes.next_free(5), 9);
  EXPECT_EQ(JobIndexes::parse("", 5).count(), 0);
}

TEST(JobRules, ControllersThatMakeAndReleaseThePods) {
  EXPECT_FALSE(job_of("managedBy: kubernetes.io/job-controller", "").is_managed_elsewhere());
  EXPECT_TRUE(job_of("managedBy: kueue.x-k8s.io/multikueue", "").is_managed_elsewhere());
  const auto of = [](const std::string& owner) {
    return job_of("suspend: true", "",
                  ", ownerReferences: [{kind: " + owner + ", name: o, uid: o, controller: true}]");
  };
  EXPECT_TRUE(of("JobSet").has_owner());
  EXPECT_FALSE(of("CronJob").has_owner()) << "it makes Jobs, and does not release them";
}

TEST(JobRules, WhatIsReplacedWhenItIsGone) {
  EXPECT_FALSE(job_of("", "").replaces_when_gone);
  EXPECT_FALSE(job_of("podReplacementPolicy: TerminatingOrFailed", "").replaces_when_gone);
  EXPECT_TRUE(job_of("podReplacementPolicy: Failed", "").replaces_when_gone);
  EXPECT_TRUE(job_of("podFailurePolicy: {rules: []}", "").replaces_when_gone);
}

std::string pod_of_job(int index, const std::string& node = "") {
  const std::string name = "j-" + std::to_string(index);
  return pod_yaml(
      name, 1,
      "  uid: " + name + "\n  annotations: {batch.kubernetes.io/job-completion-index: '" +
          std::to_string(index) +
          "'}\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]\n",
      node.empty() ? "" : "  nodeName: " + node + "\n");
}

constexpr const char* kQueue =
    "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}\n---\n"
    "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: default}, "
    "spec: {clusterQueue: cq}}\n---\n";
std::string cluster_queue(const std::string& more = "") {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq}, spec: {" + more +
         "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu], flavors: [{name: "
         "f, "
         "resources: [{name: cpu, nominalQuota: 9}, {name: nvidia.com/gpu, nominalQuota: 9}]}]}]}}\n---\n";
}
std::string local_queue_held() {
  return "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: default}, "
         "spec: {clusterQueue: cq, stopPolicy: Hold}}\n---\n";
}

TEST(JobRules, AHeldJobAsksForWhatIsLeft) {
  IntakeConfig config;
  config.hold_owners = true;
  World world(config);
  const std::string spec =
      "suspend: true, completionMode: Indexed, parallelism: 4, completions: 4, backoffLimitPerIndex: 1";
  world.apply(node_yaml("n0", 8) + kQueue + cluster_queue() +
              yaml_of(spec, "completedIndexes: '0', failedIndexes: '1', succeeded: 1"));
  ASSERT_TRUE(world.told.contains("j"));
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).count, 2);
  world.apply(yaml_of(spec, "completedIndexes: '0,2-3', failedIndexes: '1', succeeded: 3"));
  EXPECT_FALSE(world.intake.workload("j")) << "no place for pods that will never be made";
  world.apply(yaml_of(spec, "succeeded: 0") +
              yaml_of(spec, "conditions: [{type: FailureTarget, status: 'True'}]"));
  EXPECT_FALSE(world.intake.workload("j"));
}

TEST(JobRules, PodsOfAJobThatEndsStartNoMore) {
  World world;
  world.apply(node_yaml("n0", 8) + kQueue + cluster_queue() + yaml_of("parallelism: 2", "") +
              pod_of_job(0, "n0"));
  world.apply(yaml_of("parallelism: 2",
                      "conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded}]") +
              pod_of_job(1));
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_NE(world.intake.blocked("j"), nullptr);
  EXPECT_EQ(world.intake.blocked("j")->detail,
            "its Job j starts no more pods: its pods are being ended (condition SuccessCriteriaMet or "
            "FailureTarget)");
}

TEST(JobRules, OfAWorkQueueThatEndsThosePodsThatAreThereStart) {
  World world;
  world.apply(node_yaml("n0", 8) + kQueue + cluster_queue() + yaml_of("parallelism: 3", "succeeded: 1") +
              pod_of_job(1));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/j: j-1->n0"));
}

TEST(JobRules, AHeldQueueLetsAdmittedJobsMakeTheirNextPods) {
  for (const bool local : {false, true}) {
    World world;
    const std::string held = local ? local_queue_held() : cluster_queue("stopPolicy: Hold, ");
    world.apply(node_yaml("n0", 8) + kQueue + cluster_queue() +
                yaml_of("parallelism: 2, completions: 4", "") + pod_of_job(0, "n0") + pod_of_job(1, "n0"));
    EXPECT_THAT(world.decide(), IsEmpty());
    world.apply(held);
    world.remove(Kind::kPod, "j-0");
    world.apply(yaml_of("parallelism: 2, completions: 4", "succeeded: 1") + pod_of_job(2));
    EXPECT_THAT(world.started(world.decide(2000)), ElementsAre("default/j: j-2->n0")) << local;
    // Both have ended: the workload is gone, and comes again with the next pods.
    world.apply(pod_of_job(2, "n0"));
    world.remove(Kind::kPod, "j-1");
    world.remove(Kind::kPod, "j-2");
    EXPECT_FALSE(world.intake.workload("j"));
    world.apply(yaml_of("parallelism: 2, completions: 4", "succeeded: 3") + pod_of_job(3));
    EXPECT_THAT(world.started(world.decide(3000)), ElementsAre("default/j: j-3->n0")) << local;
  }
}

TEST(JobRules, AHeldQueueStartsNothingNew) {
  for (const bool local : {false, true}) {
    World world;
    world.apply(node_yaml("n0", 8) + kQueue + cluster_queue() +
                (local ? local_queue_held() : cluster_queue("stopPolicy: Hold, ")) +
                yaml_of("parallelism: 1, completions: 4", "") + pod_of_job(0));
    EXPECT_THAT(world.decide(), IsEmpty()) << local;
    world.apply(yaml_of("parallelism: 1, completions: 4, suspend: true", "succeeded: 2"));
    EXPECT_THAT(world.decide(2000), IsEmpty()) << "suspended: its admission was taken back. " << local;
  }
}

}  // namespace
}  // namespace berth::dialect
