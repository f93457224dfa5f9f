// Exclusive topology of JobSets: a pod set for each Job, which lies in one domain, where no other Job lies; leaders start first.
#include "dialect/owners/job_set/exclusive_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect::exclusive {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::World;

const std::string kMark = std::string(kExclusiveTopology) + ": rack";
// printf 'default/js-workers-0' | sha1sum
constexpr const char* kFirstKey = "3088a61cca4e2b285ba0c7152a3394241edcfbc1";

// 40 of 64 CPUs: two pods need two nodes.
std::string template_of(const std::string& spec = "") {
  return "template: {spec: {" + spec + "containers: [{name: c, resources: {requests: {cpu: '40'}}}]}}";
}

struct Text {
  std::string name = "js";
  std::string annotations = kMark;  // of the JobSet
  std::string spec = "suspend: true, ";
  std::string of_jobs;  // annotations of the replicated job
  int jobs = 2;
  int pods = 2;
  std::string of_pods;  // goes into their spec
  std::string status;
};

std::string jobset_yaml(const Text& text = {}) {
  const std::string pods = std::to_string(text.pods);
  return "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: " + text.name +
         ", uid: " + text.name +
         ", generation: 1, labels: {kueue.x-k8s.io/queue-name: team}, annotations: {" + text.annotations +
         "}}\nspec: {" + text.spec +
         "replicatedJobs: [{name: workers, replicas: " + std::to_string(text.jobs) +
         ", template: {metadata: {annotations: {" + text.of_jobs + "}}, spec: {parallelism: " + pods +
         ", completions: " + pods + ", completionMode: Indexed, " + template_of(text.of_pods) + "}}}]}\n" +
         text.status + "---\n";
}

// A Job that the JobSet "js" owns.
std::string job_yaml(const std::string& name, const std::string& status = "") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", uid: " + name +
         ", ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: js, uid: js, "
         "controller: true}]}\nspec: {completionMode: Indexed, parallelism: 2, completions: 2, " +
         template_of() + "}\n" + status + "---\n";
}

std::string pod_yaml(const std::string& job, int index, const std::string& key, const std::string& spec) {
  const std::string name = job + "-" + std::to_string(index);
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
         ", labels: {jobset.sigs.k8s.io/job-key: '" + key +
         "', jobset.sigs.k8s.io/priority: '0'}, annotations: {batch.kubernetes.io/job-completion-index: '" +
         std::to_string(index) + "'}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: " + job +
         ", uid: " + job + ", controller: true}]}\nspec: {" + spec +
         "containers: [{name: c, resources: {requests: {cpu: '40'}}}]}\n---\n";
}

std::string key_of_job(const std::string& job) {
  Meta marks;
  marks.ns = "default";
  add_job_key(marks, job);
  return marks.labels.at(std::string(kJobKey));
}

// As JobSet's webhook makes it.
std::string leader(const std::string& job, const std::string& spec = "") {
  const std::string key = key_of_job(job);
  const auto term = [](const std::string& conditions) {
    return "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, namespaceSelector: {}, "
           "labelSelector: {matchExpressions: [" +
           conditions + "]}}]}";
  };
  const std::string label = "key: jobset.sigs.k8s.io/job-key, operator: ";
  const std::string near = term("{" + label + "In, values: ['" + key + "']}");
  const std::string apart = term("{" + label + "Exists}, {" + label + "NotIn, values: ['" + key +
                                 "']}, {key: jobset.sigs.k8s.io/priority, operator: In, values: ['0']}");
  return pod_yaml(job, 0, key,
                  "affinity: {podAffinity: " + near + ", podAntiAffinity: " + apart + "}, " + spec);
}

std::string follower(const std::string& job, int index, const std::string& rack,
                     const std::string& spec = "") {
  return pod_yaml(job, index, key_of_job(job), "nodeSelector: {rack: '" + rack + "'}, " + spec);
}

// Racks with so many nodes each: r0, r1 and so on, with nodes r0-0, r0-1 and so on.
std::string racks(const std::vector<int>& nodes) {
  std::string out;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const std::string rack = "r" + std::to_string(r);
    for (int n = 0; n < nodes[r]; ++n)
      out += node_yaml(rack + "-" + std::to_string(n), 0, "    rack: " + rack + "\n");
  }
  return out;
}

Ask ask_for(const Text& text) {
  return ask_of(testing::objects_of(jobset_yaml(text)).at(0));
}

using Held = testing::WorldThatHolds;

// By pod set, the racks of its slots; a node is named by its rack.
std::map<std::int64_t, std::set<std::string>> racks_of(const Decision& start) {
  std::map<std::int64_t, std::set<std::string>> out;
  for (const SlotPlacement& slot : start.slots) out[slot.pod_set].insert(slot.node.substr(0, 2));
  return out;
}

// The released JobSet starts, and its leaders have come and are bound where their places are.
void start_leaders(World& world) {
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + jobset_yaml());
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  world.intake.set_released("js", true);
  world.drain();
  world.apply(jobset_yaml({.spec = ""}) + job_yaml("js-workers-0") + job_yaml("js-workers-1"));
  for (const SlotPlacement& slot : started[0].slots) {
    if (slot.index != 0) continue;
    const std::string job = "js-workers-" + std::to_string(slot.pod_set);
    world.apply(leader(job));
    world.apply(leader(job, "nodeName: " + slot.node + ", "));
  }
}

// The first Job of the one counts for the last Job of the other, in whatever order they came.
void expect_apart(const World& world, const std::string& a, const std::string& b) {
  const PodTemplate& keeps_away = world.told.at(b).root.pod_sets.back().pod;
  ASSERT_THAT(keeps_away.terms, SizeIs(2));
  ASSERT_EQ(keeps_away.terms[0].kind, TermKind::kApart);
  EXPECT_THAT(*world.told.at(a).root.pod_sets.front().pod.selected, Contains(keeps_away.terms[0].selector));
}

TEST(ExclusiveJobs, EachHasAPodSetForItself) {
  const Text text;
  for (const auto& object :
       {testing::objects_of(jobset_yaml(text)).at(0), testing::objects_of_json(jobset_yaml(text)).at(0)}) {
    const Ask ask = ask_of(object);
    ASSERT_THAT(ask.sets, SizeIs(2));
    EXPECT_EQ(ask.size(), 4);
    for (const AskedSet& set : ask.sets) {
      EXPECT_EQ(set.name, "workers");
      EXPECT_EQ(set.size, 2);
      EXPECT_TRUE(set.after_first);
      EXPECT_FALSE(set.comes_later(0));
      EXPECT_TRUE(set.comes_later(1));
      ASSERT_THAT(set.pod->terms, SizeIs(2));
      EXPECT_EQ(set.pod->terms[0].level, "rack");
      EXPECT_EQ(set.pod->terms[1].level, "rack");
      EXPECT_THAT(set.pod->unsupported, IsEmpty());
    }
    EXPECT_FALSE(ask.sets[0].continues);
    EXPECT_TRUE(ask.sets[1].continues);
    EXPECT_EQ(ask.sets[0].marks->labels.at(std::string(kJobKey)), kFirstKey);
    EXPECT_NE(ask.sets[1].marks->labels.at(std::string(kJobKey)), kFirstKey);
  }
}

TEST(ExclusiveJobs, TheMarkOfTheReplicatedJobGoesFirst) {
  const std::string own = std::string(kExclusiveTopology) + ": block";
  EXPECT_EQ(ask_for({.of_jobs = own}).sets[0].pod->terms[0].level, "block");
  EXPECT_EQ(ask_for({.annotations = "", .of_jobs = own}).sets[0].pod->terms[0].level, "block");
  EXPECT_THAT(ask_for({.annotations = ""}).sets, SizeIs(1));
}

TEST(ExclusiveJobs, WhatIsNotHonouredIsNamed) {
  const auto why = [](const Text& text) {
    const Ask ask = ask_for(text);
    EXPECT_THAT(ask.sets, SizeIs(1));
    return ask.sets[0].pod->unsupported.empty() ? "" : ask.sets[0].pod->unsupported[0];
  };
  const std::string by_selector = std::string(kNodeSelectorStrategy) + ": 'true'";
  EXPECT_EQ(why({.annotations = kMark + ", " + by_selector}), kNodeSelectorStrategy);
  EXPECT_THAT(why({.annotations = std::string(kExclusiveTopology) + ": ''"}), HasSubstr("no node label"));
  const std::string near =
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, "
      "labelSelector: {}}]}}, ";
  EXPECT_THAT(why({.of_pods = near}), HasSubstr("required podAffinity"));
  EXPECT_EQ(why({.annotations = by_selector}), "") << "alone it says nothing";
}

TEST(ExclusiveJobs, TooManyAreRefused) {
  const Ask ask = ask_of(testing::objects_of_json(jobset_yaml({.jobs = 257})).at(0));
  EXPECT_THAT(ask.problem, HasSubstr("has 257 Jobs with alpha.jobset.sigs.k8s.io/exclusive-topology"));
  EXPECT_THAT(ask.problem, HasSubstr("more than 256"));
  EXPECT_THAT(ask.sets, SizeIs(1));
  EXPECT_EQ(ask_for({.jobs = 256}).problem, "");
}

TEST(ExclusiveJobs, CountWhatTheirJobsStillMake) {
  Held world;
  world.apply(queue_of_cpus(1000) + jobset_yaml() +
              job_yaml("js-workers-1", "status: {succeeded: 1, completedIndexes: '0'}\n"));
  const auto sizes = [&] {
    const auto& sets = world.intake.owner("js")->sets;
    return std::vector<std::int64_t>{sets[0].size, sets[1].size, sets[0].reclaimable, sets[1].reclaimable};
  };
  EXPECT_THAT(sizes(), ElementsAre(2, 1, 0, 1));
  world.remove(Kind::kJob, "js-workers-1");
  EXPECT_THAT(sizes(), ElementsAre(2, 2, 0, 0)) << "it is made again";
}

TEST(ExclusiveJobs, WaitWholeAndStartEachInARackOfItsOwn) {
  Held world;
  world.apply(racks({1, 3}) + queue_of_cpus(1000) + jobset_yaml());
  EXPECT_THAT(world.decide(), IsEmpty()) << "both would lie in the second rack";
  world.apply(node_yaml("r0-1", 0, "    rack: r0\n"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(4));
  const auto where = racks_of(started[0]);
  EXPECT_THAT(where.at(0), SizeIs(1));
  EXPECT_THAT(where.at(1), SizeIs(1));
  EXPECT_NE(where.at(0), where.at(1));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Quota counts all pods, also those that come later.
TEST(ExclusiveJobs, WaitForTheQuotaOfAllPods) {
  Held world;
  world.apply(racks({2, 2}) + queue_of_cpus(159) + jobset_yaml());
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(queue_of_cpus(160));
  EXPECT_THAT(world.decide(), SizeIs(1));
}

TEST(ExclusiveJobs, OfTwoJobSetsShareNoRack) {
  Held world;
  world.apply(racks({4, 4, 4}) + queue_of_cpus(1000) + jobset_yaml());
  const auto first = world.decide();
  ASSERT_THAT(first, SizeIs(1));
  world.apply(jobset_yaml({.name = "other", .jobs = 1}) + jobset_yaml({.name = "third", .jobs = 1}));
  const auto second = world.decide();
  ASSERT_THAT(second, SizeIs(1)) << "each rack has two nodes left, and is another Job's";
  std::set<std::string> all = racks_of(second[0]).at(0);
  for (const auto& [set, racks] : racks_of(first[0])) all.insert(racks.begin(), racks.end());
  EXPECT_THAT(all, SizeIs(3));
}

TEST(ExclusiveJobs, CountForJobSetsThatComeAfterThem) {
  Held world;
  world.apply(racks({2}) + queue_of_cpus(1000) + jobset_yaml());
  world.apply(jobset_yaml({.name = "other"}));
  world.apply(queue_of_cpus(999));
  expect_apart(world, "other", "js");
  expect_apart(world, "js", "other");
}

// Their pods have a key, too, whether or not their own Jobs ask for a domain.
TEST(ExclusiveJobs, KeepJobSetsThatAreNotApart) {
  Held world;
  world.apply(racks({4}) + queue_of_cpus(1000) + jobset_yaml({.jobs = 1}));
  ASSERT_THAT(world.decide(), SizeIs(1));
  world.apply(jobset_yaml({.name = "plain", .annotations = "", .jobs = 1}));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(node_yaml("n", 0) + node_yaml("m", 0));
  EXPECT_THAT(world.decide(), SizeIs(1));
}

TEST(ExclusiveJobs, FollowersTakeTheKeptPlaces) {
  Held world;
  start_leaders(world);
  const auto revision = world.intake.workload("js")->revision;
  for (int job = 0; job < 2; ++job) {
    EXPECT_FALSE(world.intake.expects("js", job, 0)) << "the leader is there";
    EXPECT_TRUE(world.intake.expects("js", job, 1));
    const auto leads = world.intake.pod_at("js", job, 0);
    ASSERT_TRUE(leads);
    const std::string rack(leads->node.substr(0, 2));
    world.apply(follower("js-workers-" + std::to_string(job), 1, rack));
    const auto follows = world.intake.pod_at("js", job, 1);
    ASSERT_TRUE(follows);
    EXPECT_EQ(follows->uid, "js-workers-" + std::to_string(job) + "-1");
    EXPECT_FALSE(world.intake.expects("js", job, 1));
  }
  EXPECT_EQ(world.intake.workload("js")->revision, revision) << "their places are not void";
  expect_apart(world, "js", "js");
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Its leader is gone, and comes again: it must go where the pods that wait want to be.
TEST(ExclusiveJobs, AreAllPlacedInTheRackThatAFollowerNames) {
  Held world;
  start_leaders(world);
  const std::string node(world.intake.pod_at("js", 0, 0)->node);
  const std::string rack = node.substr(0, 2);
  world.apply(follower("js-workers-0", 1, rack));
  const auto selector = [&] { return world.told.at("js").root.pod_sets[0].pod.node_selector; };
  EXPECT_THAT(*selector(), IsEmpty());
  world.intake.remove(Kind::kPod, "default", "js-workers-0-0", "js-workers-0-0");
  world.drain();
  world.apply(leader("js-workers-0"));
  ASSERT_THAT(*selector(), SizeIs(1));
  EXPECT_EQ(selector()->at("rack"), rack);
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(ExclusiveJobs, ThatAreNotHeldStartWithTheirLeaders) {
  World world;
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + jobset_yaml({.spec = ""}) + job_yaml("js-workers-0") +
              job_yaml("js-workers-1") + leader("js-workers-0"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the other leader is missing";
  world.apply(leader("js-workers-1"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(4));
  const auto where = racks_of(started[0]);
  EXPECT_NE(where.at(0), where.at(1));
  EXPECT_TRUE(world.intake.expects("js", 0, 1));
  EXPECT_TRUE(world.intake.expects("js", 1, 1));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// One Job of one pod set: its followers differ from its leader, and are of its set all the same.
TEST(ExclusiveJobs, OneAloneIsOneSet) {
  World world;
  world.apply(racks({2}) + queue_of_cpus(1000) + jobset_yaml({.spec = "", .jobs = 1}) +
              job_yaml("js-workers-0") + leader("js-workers-0"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(2));
  for (const SlotPlacement& slot : started[0].slots) {
    if (slot.index == 0) world.apply(leader("js-workers-0", "nodeName: " + slot.node + ", "));
  }
  world.apply(follower("js-workers-0", 1, "r0"));
  EXPECT_EQ(world.intake.pod("js-workers-0-1")->pod_set, 0);
  EXPECT_EQ(world.intake.pod("js-workers-0-1")->index, 1);
  EXPECT_THAT(world.told.at("js").root.pod_sets, SizeIs(1));
}

// Berth starts while leaders run, and their followers are still to come: these get places where their leaders are.
TEST(ExclusiveJobs, AfterARestartFollowersGetPlacesBesideTheirLeaders) {
  World world;
  world.apply(racks({4, 4}) + queue_of_cpus(1000) + jobset_yaml({.spec = ""}) + job_yaml("js-workers-0") +
              job_yaml("js-workers-1") + leader("js-workers-0", "nodeName: r1-0, ") +
              leader("js-workers-1", "nodeName: r0-0, "));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  const auto where = racks_of(started[0]);
  EXPECT_EQ(where.at(0), std::set<std::string>{"r1"});
  EXPECT_EQ(where.at(1), std::set<std::string>{"r0"});
  EXPECT_TRUE(world.engine.audit());
}

// The pods of its other Jobs have keys as well: they are in no domain of a Job that has it for itself.
TEST(ExclusiveJobs, AreApartFromOtherJobsOfTheirJobSet) {
  Held world;
  std::string yaml = jobset_yaml({.annotations = "", .of_jobs = kMark, .jobs = 1});
  const std::string first = "{name: driver, template: {spec: {" + template_of() + "}}}, ";
  yaml.insert(yaml.find("{name: workers"), first);
  world.apply(racks({4}) + queue_of_cpus(1000) + yaml);
  ASSERT_THAT(world.told.at("js").root.pod_sets, SizeIs(2));
  EXPECT_EQ(world.told.at("js").root.pod_sets[0].flavor_group, "");
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(node_yaml("plain", 0));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(racks_of(started[0]).at(0), std::set<std::string>{"pl"});
  EXPECT_EQ(racks_of(started[0]).at(1), std::set<std::string>{"r0"});
}

// In order, or behind others, no pod of such a Job is there when the JobSet starts.
TEST(ExclusiveJobs, ThatComeLaterHaveTheirLeadersPlacesKeptToo) {
  Held world;
  std::string yaml = jobset_yaml({.annotations = "",
                                  .spec = "suspend: true, startupPolicy: {startupPolicyOrder: InOrder}, ",
                                  .of_jobs = kMark,
                                  .jobs = 1});
  const std::string first = "{name: driver, template: {spec: {" + template_of() + "}}}, ";
  yaml.insert(yaml.find("{name: workers"), first);
  world.apply(racks({4}) + node_yaml("plain", 0) + queue_of_cpus(1000) + yaml);
  ASSERT_THAT(world.decide(), SizeIs(1));
  world.intake.set_released("js", true);
  world.drain();
  EXPECT_FALSE(world.intake.expects("js", 0, 0));
  EXPECT_TRUE(world.intake.expects("js", 1, 0));
  EXPECT_TRUE(world.intake.expects("js", 1, 1));
}

TEST(ExclusiveJobs, AreOnePodSetInAWorkloadAndGetOneFlavor) {
  Held world;
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + jobset_yaml());
  const auto sketch = world.intake.sketch("js");
  ASSERT_TRUE(sketch);
  ASSERT_THAT(sketch->sets, SizeIs(1));
  EXPECT_EQ(sketch->sets[0].name, "workers");
  EXPECT_EQ(sketch->sets[0].count, 4);
  EXPECT_EQ(sketch->sets[0].least, 4);
  EXPECT_EQ(sketch->find(0), &sketch->sets[0]);
  EXPECT_EQ(sketch->find(1), &sketch->sets[0]);
  EXPECT_EQ(sketch->find(2), nullptr);
  const auto& sets = world.told.at("js").root.pod_sets;
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(sets[0].flavor_group, "workers");
  EXPECT_EQ(sets[1].flavor_group, "workers");
}

TEST(ExclusiveJobs, AreReleasedByTheirOneTemplate) {
  const Ask ask = ask_for({});
  const PodSetUpdate update{
      .name = "workers", .labels = {{"a", "b"}}, .annotations = {}, .node_selector = {}, .tolerations = {}};
  const auto release = ask.kind->release(ask, {.generation = 1, .updates = {&update, 1}});
  const json patch = json::parse(release.write.body);
  std::vector<std::string> templates;
  for (const json& one : patch) {
    if (one["path"].get<std::string>().starts_with("/spec/replicatedJobs")) templates.push_back(one.dump());
  }
  EXPECT_THAT(templates,
              ElementsAre(HasSubstr(R"("path":"/spec/replicatedJobs/0/template/spec/template/metadata")"),
                          HasSubstr(R"("value":{"a":"b"})")))
      << "its template has no labels of its own: the map is made";
}

TEST(ExclusiveJobs, MakeTheirPodsOnPaper) {
  const Ask ask = ask_for({.spec = ""});
  const MadePods made = ask.kind->make_pods(ask, {}, 100);
  ASSERT_THAT(made.pods, SizeIs(4));
  std::vector<std::string> names;
  for (const Pod& pod : made.pods) {
    names.push_back(pod.meta.name);
    const OwnedPlace place = ask.kind->place_of(ask, pod);
    EXPECT_EQ(pod.meta.labels.at(std::string(kJobKey)),
              ask.sets[place.set].marks->labels.at(std::string(kJobKey)));
  }
  EXPECT_THAT(names, ElementsAre("js-workers-0-0", "js-workers-0-1", "js-workers-1-0", "js-workers-1-1"));
}

// Its user takes the mark away while it waits.
TEST(ExclusiveJobs, BecomeOneSetWithoutTheMark) {
  Held world;
  world.apply(racks({4}) + queue_of_cpus(1000) + jobset_yaml());
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(jobset_yaml({.annotations = ""}));
  EXPECT_THAT(world.refused, IsEmpty());
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(4));
}

}  // namespace
}  // namespace berth::dialect::exclusive
