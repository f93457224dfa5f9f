// JobSets as owners of owners: what is read of them, the slots of their pods, and how they wait, start, end and start again.
#include "dialect/owners/job_set/job_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using testing::World;

constexpr const char* kQueueOfJobSet = "labels: {kueue.x-k8s.io/queue-name: team}";
constexpr const char* kInOrder = "startupPolicy: {startupPolicyOrder: InOrder}, ";

std::string template_of(const std::string& marks = "") {
  return "template: {metadata: {" + marks +
         "}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}";
}

// A leader and two Jobs of two workers. `head` goes into its metadata, `spec` into its spec.
std::string jobset_yaml(const std::string& head, const std::string& spec, const std::string& workers = "",
                        const std::string& status = "") {
  return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: js, uid: js, generation: 1, " +
         head + "}\nspec: {" + spec + "replicatedJobs: [{name: leader, template: {spec: {" + template_of() +
         "}}}, {name: workers, replicas: 2, " + workers +
         "template: {spec: {parallelism: 2, completions: 2, completionMode: Indexed, " + template_of() +
         "}}}]}\n" + status + "---\n";
}

std::string owned_by(const std::string& version, const std::string& kind, const std::string& name) {
  return "ownerReferences: [{apiVersion: " + version + ", kind: " + kind + ", name: " + name +
         ", uid: " + name + ", controller: true}]";
}

// A Job of it: js-leader-0, js-workers-0, js-workers-1.
std::string job_yaml(const std::string& name, int pods, const std::string& status = "") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", uid: " + name + ", " +
         owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "js") +
         "}\nspec: {completionMode: Indexed, parallelism: " + std::to_string(pods) +
         ", completions: " + std::to_string(pods) + ", " + template_of() + "}\n" + status + "---\n";
}

// Pod `index` of a Job.
std::string pod_of(const std::string& job, int index, const std::string& extra = "") {
  const std::string name = job + "-" + std::to_string(index);
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
         ", annotations: {batch.kubernetes.io/job-completion-index: '" + std::to_string(index) + "'}, " +
         owned_by("batch/v1", "Job", job) + "}\nspec: {" + extra +
         "containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n---\n";
}

Ask ask_for_jobset(const std::string& yaml) {
  return ask_of(testing::objects_of(yaml).at(0));
}

using HeldJobSets = testing::WorldThatHolds;

TEST(JobSets, SayTheirSetsFromBothFeeds) {
  const std::string yaml = jobset_yaml(kQueueOfJobSet, "suspend: true, ");
  for (const auto& object : {testing::objects_of(yaml).at(0), testing::objects_of_json(yaml).at(0)}) {
    const Ask ask = ask_of(object);
    ASSERT_THAT(ask.sets, SizeIs(2));
    EXPECT_EQ(ask.sets[0].name, "leader");
    EXPECT_EQ(ask.sets[0].size, 1);
    EXPECT_EQ(ask.sets[1].name, "workers");
    EXPECT_EQ(ask.sets[1].size, 4) << "two Jobs of two pods";
    EXPECT_EQ(ask.sets[1].pod->requests.get("cpu"), 1000);
    EXPECT_FALSE(ask.sets[1].later);
    EXPECT_TRUE(ask.gang);
    EXPECT_TRUE(ask.suspended);
    EXPECT_TRUE(ask.kind->can_be_held());
    EXPECT_EQ(ask.kind->api_version(), "jobset.x-k8s.io/v1alpha2");
  }
}

TEST(JobSets, SetsThatComeLaterAreKnown) {
  EXPECT_TRUE(ask_for_jobset(jobset_yaml(kQueueOfJobSet, kInOrder)).sets[1].later);
  EXPECT_FALSE(ask_for_jobset(jobset_yaml(kQueueOfJobSet, kInOrder)).sets[0].later)
      << "the first comes at once";
  const std::string after = "dependsOn: [{name: leader, status: Ready}], ";
  EXPECT_TRUE(ask_for_jobset(jobset_yaml(kQueueOfJobSet, "", after)).sets[1].later);
}

TEST(JobSets, EndAndFail) {
  const auto ended = [](const std::string& type) {
    return ask_for_jobset(
        jobset_yaml(kQueueOfJobSet, "", "",
                    "status: {conditions: [{type: " + type + ", status: 'True', message: so}]}\n"));
  };
  const Ask done = ended("Completed");
  EXPECT_TRUE(done.finished);
  EXPECT_FALSE(done.failed);
  EXPECT_EQ(done.over, "it is complete");
  EXPECT_EQ(done.ending, "so");
  EXPECT_EQ(done.size(), 0);
  EXPECT_TRUE(ended("Failed").failed);
  EXPECT_FALSE(ended("Suspended").finished);
}

TEST(JobSets, AreLeftToAnotherController) {
  EXPECT_FALSE(
      ask_for_jobset(jobset_yaml(kQueueOfJobSet, "managedBy: jobset.sigs.k8s.io/jobset-controller, "))
          .is_led);
  EXPECT_TRUE(ask_for_jobset(jobset_yaml(kQueueOfJobSet, "managedBy: kueue.x-k8s.io/multikueue, ")).is_led);
  const std::string of_trainer = owned_by("trainer.kubeflow.org/v1alpha1", "TrainJob", "t");
  EXPECT_TRUE(ask_for_jobset(jobset_yaml(of_trainer, "")).is_led);
}

TEST(JobSets, AWrongFieldIsNamed) {
  JsonDecoder decoder;
  const auto read = decoder.decode(
      R"({"metadata":{"name":"js"},"spec":{"replicatedJobs":[{"name":"a","replicas":"2","template":{"spec":
      {"template":{"spec":{"containers":[]}}}}}]}})",
      Kind::kJobSet);
  ASSERT_TRUE(read);
  EXPECT_THAT(std::string(problem_of(*read)), HasSubstr("replicas"));
  const auto empty = decoder.decode(R"({"metadata":{"name":"js"},"spec":{}})", Kind::kJobSet);
  ASSERT_TRUE(empty);
  EXPECT_THAT(std::string(problem_of(*empty)), HasSubstr("replicatedJobs"));
}

TEST(JobSets, APodHasTheSlotOfItsJobAndIndex) {
  const Ask ask = ask_for_jobset(jobset_yaml(kQueueOfJobSet, ""));
  const auto place = [&](const std::string& job, int index) {
    return ask.kind->place_of(ask, std::get<Pod>(testing::objects_of(pod_of(job, index)).at(0)));
  };
  EXPECT_EQ(place("js-leader-0", 0).set, 0U);
  EXPECT_EQ(place("js-leader-0", 0).index, 0);
  EXPECT_EQ(place("js-workers-0", 1).set, 1U);
  EXPECT_EQ(place("js-workers-0", 1).index, 1);
  EXPECT_EQ(place("js-workers-1", 1).index, 3);
  EXPECT_EQ(place("js-workers-x", 1).index, std::nullopt);
  EXPECT_EQ(place("other-0", 1).index, std::nullopt);
}

TEST(JobSets, WaitAndStartAsOneGang) {
  HeldJobSets world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + jobset_yaml(kQueueOfJobSet, "suspend: true, "));
  const auto& sets = world.told.at("js").root.pod_sets;
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(sets[0].name, "leader");
  EXPECT_EQ(sets[1].count, 4);
  EXPECT_THAT(world.decide(), IsEmpty()) << "it asks for 5 CPUs of 4";
  world.apply(queue_of_cpus(5));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(5));
  const auto sketch = world.intake.sketch("js");
  ASSERT_TRUE(sketch);
  EXPECT_EQ(sketch->sets.at(1).name, "workers");
  EXPECT_THAT(sketch->name, HasSubstr("jobset-js-"));
}

// As the priority of a gang of pods: whether it has pods or not makes no difference.
TEST(JobSets, HaveTheLowestPriorityOfTheirTemplatesWhileTheyWait) {
  HeldJobSets world;
  std::string yaml = jobset_yaml(kQueueOfJobSet, "suspend: true, ");
  yaml.replace(yaml.find("containers: ["), 13, "priority: 100, containers: [");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + yaml);
  EXPECT_EQ(world.intake.workload("js")->priority, 0) << "the workers have none";
}

// The label stands on the JobSet alone, and Jobs and pods come in any order.
TEST(JobSets, PodsOfItsJobsBelongToItsQueueAndGang) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4));
  const std::string pods = pod_of("js-workers-0", 0) + pod_of("js-workers-0", 1) + pod_of("js-workers-1", 0) +
                           pod_of("js-workers-1", 1) + pod_of("js-leader-0", 0);
  world.apply(pods);
  EXPECT_THAT(world.decide(), IsEmpty()) << "their Jobs have not been seen";
  world.apply(job_yaml("js-workers-0", 2) + job_yaml("js-workers-1", 2) + job_yaml("js-leader-0", 1));
  EXPECT_THAT(world.decide(), IsEmpty()) << "nor has the JobSet";
  const auto missing = world.intake.missing_owners();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].uid, "js");
  world.apply(jobset_yaml(kQueueOfJobSet, ""));
  EXPECT_THAT(world.decide(), IsEmpty()) << "5 CPUs of 4, and no pod starts on its own";
  EXPECT_EQ(world.intake.workload("js")->pods, 5);
  world.apply(queue_of_cpus(5));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "js");
  EXPECT_THAT(started[0].slots, SizeIs(5));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(JobSets, AQueueOfItsJobTemplatesCountsWhereItNamesNone) {
  World world;
  const std::string named = "template: {metadata: {" + std::string(kQueueOfJobSet) + "}, spec: {";
  std::string yaml = jobset_yaml("labels: {}", "");
  for (auto at = yaml.find("template: {spec: {p"); at != std::string::npos;
       at = yaml.find("template: {spec: {p"))
    yaml.replace(at, 18, named);
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + yaml);
  std::string job = job_yaml("js-workers-0", 2);
  job.replace(job.find("metadata: {"), 11, "metadata: {" + std::string(kQueueOfJobSet) + ", ");
  world.apply(job + pod_of("js-workers-0", 0));
  EXPECT_EQ(world.intake.workload("js")->queue, "cq");
}

// Pods that come after the rest runs are no reason to wait: their places are kept.
TEST(JobSets, InOrderItStartsWithoutThePodsThatComeLater) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) + jobset_yaml(kQueueOfJobSet, kInOrder) +
              job_yaml("js-leader-0", 1) + pod_of("js-leader-0", 0));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(5)) << "the leader, and places for four workers";
  for (int index = 0; index < 4; ++index) EXPECT_TRUE(world.intake.expects("js", 1, index));
  EXPECT_FALSE(world.intake.expects("js", 0, 0)) << "the leader is there";
  world.apply(pod_of("js-leader-0", 0, "nodeName: n0, "));
  world.apply(job_yaml("js-workers-0", 2) + pod_of("js-workers-0", 1));
  EXPECT_EQ(world.intake.pod("js-workers-0-1")->pod_set, 1);
  EXPECT_EQ(world.intake.pod("js-workers-0-1")->index, 1);
  EXPECT_FALSE(world.intake.expects("js", 1, 1)) << "it has come";
  EXPECT_TRUE(world.intake.expects("js", 1, 0));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(JobSets, InOrderWithoutRoomForAllItWaits) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + jobset_yaml(kQueueOfJobSet, kInOrder) +
              job_yaml("js-leader-0", 1) + pod_of("js-leader-0", 0));
  EXPECT_THAT(world.decide(), IsEmpty());
}

TEST(JobSets, HeldInOrderItExpectsLaterPodsOnceItIsReleased) {
  HeldJobSets world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) +
              jobset_yaml(kQueueOfJobSet, std::string("suspend: true, ") + kInOrder));
  ASSERT_THAT(world.decide(), SizeIs(1));
  EXPECT_FALSE(world.intake.expects("js", 1, 0));
  world.intake.set_released("js", true);
  world.drain();
  EXPECT_TRUE(world.intake.expects("js", 1, 0));
  world.intake.set_released("js", false);  // the API server has refused it
  world.drain();
  EXPECT_FALSE(world.intake.expects("js", 1, 0));
}

// A Job that ended, or in which some index has ended, makes fewer pods when the JobSet runs again.
TEST(JobSets, AsksForThePodsThatItsJobsStillMake) {
  HeldJobSets world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) + jobset_yaml(kQueueOfJobSet, "suspend: true, "));
  EXPECT_EQ(world.intake.owner("js")->size(), 5);
  world.apply(
      job_yaml("js-leader-0", 1, "status: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}\n"));
  EXPECT_EQ(world.intake.owner("js")->sets[0].size, 0);
  EXPECT_EQ(world.intake.owner("js")->sets[0].reclaimable, 1);
  world.apply(job_yaml("js-workers-1", 2, "status: {succeeded: 1, completedIndexes: '0'}\n"));
  EXPECT_EQ(world.intake.owner("js")->sets[1].size, 3);
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  world.remove(Kind::kJob, "js-workers-1");
  EXPECT_EQ(world.intake.owner("js")->sets[1].size, 4) << "it is made again";
}

TEST(JobSets, OnlyTheTopmostIsHeld) {
  HeldJobSets world;
  std::string job = job_yaml("js-leader-0", 1);
  job.replace(job.find("spec: {"), 7, "spec: {suspend: true, ");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) + jobset_yaml(kQueueOfJobSet, "suspend: true, ") + job);
  EXPECT_TRUE(world.intake.workload("js"));
  EXPECT_FALSE(world.intake.workload("js-leader-0"));
}

TEST(JobSets, AreReleasedAndSuspendedByTheirSpec) {
  const std::string text =
      R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"js","namespace":"default","uid":"u",
      "generation":3},"spec":{"suspend":true,"replicatedJobs":[{"name":"a","template":{"spec":{"template":{"spec":
      {"containers":[{"name":"c"}]}}}}},{"name":"b","template":{"spec":{"template":{"spec":{"nodeSelector":{"own":"1"},
      "containers":[{"name":"c"}]}}}}}]}})";
  JsonDecoder decoder;
  auto read = decoder.decode(text, Kind::kJobSet);
  ASSERT_TRUE(read);
  const Ask ask = ask_of(std::move(*read));
  const PodSetUpdate update{.name = "b",
                            .labels = {},
                            .annotations = {{"example.com/x", "1"}},
                            .node_selector = {{"own", "1"}, {"pool", "p"}},
                            .tolerations = {}};
  const auto release = ask.kind->release(ask, {.generation = 3, .updates = {&update, 1}});
  EXPECT_TRUE(release.changes_template);
  const json after = json::parse(text).patch(json::parse(release.write.body));
  EXPECT_EQ(after["spec"]["suspend"], false);
  const auto pod = [&](std::size_t job) {
    return after["spec"]["replicatedJobs"][job]["template"]["spec"]["template"];
  };
  EXPECT_FALSE(pod(0)["spec"].contains("nodeSelector")) << "the update is for the other set";
  EXPECT_EQ(pod(1)["spec"]["nodeSelector"].dump(), R"({"own":"1","pool":"p"})");
  EXPECT_EQ(pod(1)["metadata"]["annotations"]["example.com/x"], "1");
  EXPECT_EQ(after["metadata"]["annotations"]["berth.dev/pod-set-updates"], "pool");
  EXPECT_THAT(release.write.path, HasSubstr("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/js"));
  const auto suspend = json::parse(ask.kind->suspend(ask, false).body);
  EXPECT_EQ(suspend.dump(), R"({"metadata":{"uid":"u"},"spec":{"suspend":true}})");
}

// Kinds that Berth does not read, at the top of a chain.
TEST(OwnersWithoutARow, TheirPodsStartOneByOneAndItIsSaid) {
  World world;
  const std::string wrapped = owned_by("ops.example.com/v1", "Crate", "aw");
  world.apply(node_yaml("n0", 0) + "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, " + wrapped +
              "}\nspec: {parallelism: 2, " + template_of() + "}\n---\n" + pod_of("j", 0) + pod_of("j", 1));
  const auto unread = world.intake.missing_owners();
  ASSERT_THAT(unread, SizeIs(1));
  EXPECT_EQ(unread[0].kind, nullptr);
  EXPECT_EQ(unread[0].word, "Crate");
  EXPECT_EQ(unread[0].group, "ops.example.com");
  EXPECT_EQ(unread[0].uid, "aw");
  EXPECT_EQ(unread[0].ns, "default");
  EXPECT_THAT(world.intake.missing_owners(), IsEmpty()) << "once";
  EXPECT_THAT(world.decide(), SizeIs(2));
}

// Its group ends as those of Kubernetes do, and is not one of them.
TEST(OwnersWithoutARow, AGroupBelowKubernetesDomainIsNoneOfItsOwn) {
  World world;
  world.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: driver, uid: driver, " +
              owned_by("odd.k8s.io/v1", "Oddity", "spark") +
              "}\nspec: {schedulerName: berth, containers: [{name: c}]}\n");
  const auto unread = world.intake.missing_owners();
  ASSERT_THAT(unread, SizeIs(1));
  EXPECT_EQ(unread[0].word, "Oddity");
  EXPECT_EQ(unread[0].group, "odd.k8s.io");
}

TEST(OwnersWithoutARow, TheirPodsWaitWhereTheNamespaceDemandsAQueue) {
  World world;
  world.apply(
      node_yaml("n0", 0) +
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {berth.dev/tenant: ''}}\n---\n" +
      "apiVersion: v1\nkind: Pod\nmetadata: {name: w, uid: w, " +
      owned_by("ops.example.com/v1", "Crate", "aw") + "}\nspec: {containers: [{name: c}]}\n---\n");
  EXPECT_THAT(world.decide(), IsEmpty());
  const Reason* why = world.intake.blocked("w");
  ASSERT_NE(why, nullptr);
  EXPECT_THAT(why->detail, HasSubstr("names no queue"));
  EXPECT_THAT(why->detail, HasSubstr("Berth does not read its Crate aw"));
}

}  // namespace
}  // namespace berth::dialect
