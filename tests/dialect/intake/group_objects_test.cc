// Gangs whose pods name an object: parts, queues, and objects that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

constexpr const char* kTrainGang = "VolcanoPodGroup/default/train";

std::string volcano_group(const std::string& spec) {
  return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: train}\nspec: " + spec +
         "\n---\n";
}

std::string volcano_queue(const std::string& name, const std::string& spec = "{weight: 1}") {
  return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name +
         "}\nspec: " + spec + "\n---\n";
}

std::string task_pod(const std::string& name, const std::string& task, const std::string& more = "",
                     const std::string& node = "") {
  return pod_yaml(
      name, 1,
      "  annotations: {scheduling.k8s.io/group-name: train, volcano.sh/task-spec: " + task + more + "}\n",
      node.empty() ? "" : "  nodeName: " + node + "\n");
}

std::string replica_pod(const std::string& name, const std::string& replica, int gpus = 1,
                        const std::string& node = "") {
  return pod_yaml(
      name, gpus,
      "  annotations: {scheduling.k8s.io/group-name: train}\n  labels: {replica: \"" + replica + "\"}\n",
      node.empty() ? "" : "  nodeName: " + node + "\n");
}

// A PodGroup whose subgroups are two pods each; `spec` is open.
std::string replicas(const std::string& spec) {
  return volcano_group(spec +
                       ", subGroupPolicy: [{name: r, subGroupSize: 2, minSubGroups: 1, matchLabelKeys: "
                       "[replica]}]}");
}

void bind(World& world, const std::vector<std::string>& pods, const std::string& replica) {
  for (const std::string& pod : pods) world.apply(replica_pod(pod, replica, 1, "n0"));
}

// Why the pods of the gang need not be made yet.
std::string stopped(World& world) {
  const auto view = world.intake.gang(Kind::kVolcanoPodGroup, "default/train");
  return view->stopped ? to_text(*view->stopped) : "";
}

std::string waits_for(World& world, const std::string& uid = kTrainGang) {
  const Reason* reason = world.intake.blocked(uid);
  return reason == nullptr ? "" : to_text(*reason);
}

// All that starts, whether at once or as surplus behind the least number.
std::vector<std::string> all_placed(World& world) {
  std::vector<std::string> out;
  for (const std::string& start : world.started(world.decide())) {
    std::istringstream pods(start.substr(start.find(' ') + 1));
    for (std::string pod; pods >> pod;) out.push_back(pod);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(GroupObjects, AGangStartsWithTheLeastOfEachTask) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") +
              volcano_group("{minMember: 3, minTaskMember: {ps: 1, worker: 2}}"));
  world.apply(task_pod("w-0", "worker") + task_pod("w-1", "worker") + task_pod("w-2", "worker"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "three pods, and no ps";
  EXPECT_THAT(waits_for(world), HasSubstr("ps"));
  world.apply(task_pod("p-0", "ps"));
  EXPECT_THAT(all_placed(world), ElementsAre("p-0->n0", "w-0->n0", "w-1->n0", "w-2->n0"));
  const auto& sets = world.told.at(kTrainGang).root.pod_sets;
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, "worker");
  EXPECT_EQ(sets[0].count, 3);
  EXPECT_EQ(sets[0].least, 2) << "one is elastic";
  EXPECT_EQ(sets[1].least, 1);
}

TEST(GroupObjects, TheRoomOfATaskIsNotTakenByAnother) {
  World world;
  world.apply(node_yaml("n0", 3) + volcano_queue("default") +
              volcano_group("{minMember: 3, minTaskMember: {ps: 1, worker: 1}}"));
  for (const char* name : {"w-0", "w-1", "w-2", "w-3"}) world.apply(task_pod(name, "worker"));
  world.apply(task_pod("p-0", "ps"));
  EXPECT_THAT(all_placed(world), ElementsAre("p-0->n0", "w-0->n0", "w-1->n0"));
}

TEST(GroupObjects, TheObjectMayComeBehindItsPods) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + replica_pod("a-0", "a") +
              replica_pod("a-1", "a") + replica_pod("b-0", "b"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(waits_for(world), HasSubstr("PodGroup default/train does not exist"));
  world.apply(replicas("{minMember: 4"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the second subgroup lacks a pod";
  EXPECT_THAT(waits_for(world), HasSubstr("r:b"));
  world.apply(replica_pod("b-1", "b"));
  EXPECT_THAT(all_placed(world), ElementsAre("a-0->n0", "a-1->n0", "b-0->n0", "b-1->n0"));
}

// As Volcano: with the least number of subgroups and of pods the gang starts, and the others follow, each whole.
TEST(GroupObjects, FurtherSubgroupsFollowOneByOne) {
  World world;
  world.apply(node_yaml("n0", 5) + volcano_queue("default") + replicas("{minMember: 2"));
  for (const char* name : {"a", "b", "c", "d"}) {
    world.apply(replica_pod(std::string(name) + "-0", name) + replica_pod(std::string(name) + "-1", name));
  }
  world.remove(Kind::kPod, "b-1");
  EXPECT_THAT(all_placed(world), ElementsAre("a-0->n0", "a-1->n0"));
  const auto later = [&](const char* pod) {
    const auto view = world.intake.pod(std::string("Pod/default/") + pod);
    return view->later != nullptr ? to_text(*view->later) + "; " + view->later->detail : "";
  };
  EXPECT_THAT(later("b-0"), HasSubstr("r:b")) << "it lacks a pod";
  EXPECT_THAT(later("c-0"), HasSubstr("after those before it"));
  EXPECT_EQ(later("a-0"), "");
  bind(world, {"a-0", "a-1"}, "a");
  EXPECT_EQ(world.told.at(kTrainGang).root.pod_sets[2].least, 2);
  EXPECT_TRUE(world.told.at(kTrainGang).asks_more_since);
  EXPECT_EQ(later("c-0"), "");
  EXPECT_THAT(all_placed(world), ElementsAre("c-0->n0", "c-1->n0"));
  bind(world, {"c-0", "c-1"}, "c");
  EXPECT_THAT(all_placed(world), IsEmpty()) << "no room for both of the last, and none starts alone";
  world.apply(node_yaml("n1", 1));
  EXPECT_THAT(all_placed(world), ElementsAre(HasSubstr("d-0->"), HasSubstr("d-1->")));
  EXPECT_EQ(world.intake.gang(Kind::kVolcanoPodGroup, "default/train")->report.least, 2)
      << "it was whole before";
  EXPECT_THAT(world.refused, IsEmpty());
}

// One that lost a pod is mended before another starts.
TEST(GroupObjects, ABrokenSubgroupGoesFirst) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + replicas("{minMember: 2"));
  for (const char* name : {"a", "b"})
    world.apply(replica_pod(std::string(name) + "-0", name) + replica_pod(std::string(name) + "-1", name));
  EXPECT_THAT(all_placed(world), ElementsAre("a-0->n0", "a-1->n0"));
  bind(world, {"a-0"}, "a");
  world.remove(Kind::kPod, "a-1");
  EXPECT_THAT(all_placed(world), IsEmpty());
  EXPECT_FALSE(world.told.at(kTrainGang).asks_more_since) << "it is broken, and does not grow";
  world.apply(replica_pod("a-2", "a"));
  EXPECT_THAT(all_placed(world), ElementsAre("a-2->n0"));
  bind(world, {"a-2"}, "a");
  EXPECT_THAT(all_placed(world), ElementsAre("b-0->n0", "b-1->n0"));
}

TEST(GroupObjects, SubgroupsOfTwoTemplatesStartWhole) {
  World world;
  world.apply(node_yaml("n0", 3) + volcano_queue("default") + replicas("{minMember: 2"));
  for (const char* name : {"a", "b"}) world.apply(replica_pod(std::string(name) + "-lead", name, 2));
  EXPECT_THAT(all_placed(world), IsEmpty());
  for (const char* name : {"b", "a"}) world.apply(replica_pod(std::string(name) + "-work", name));
  EXPECT_THAT(all_placed(world), ElementsAre("b-lead->n0", "b-work->n0")) << "b was there first";
}

TEST(GroupObjects, AfterARestartSubgroupsThatHadBegunGoOn) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default"));
  for (const char* name : {"a-0", "a-1"}) world.apply(replica_pod(name, "a"));
  bind(world, {"b-0", "b-1"}, "b");
  world.apply(replicas("{minMember: 2"));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_THAT(all_placed(world), ElementsAre("a-0->n0", "a-1->n0"));
  EXPECT_EQ(world.intake.gang(Kind::kVolcanoPodGroup, "default/train")->report.least, 2);
}

// Which pods were seen first says nothing after a restart.
TEST(GroupObjects, AfterARestartNoMoreSubgroupsStartThanAreNeeded) {
  World world;
  world.apply(node_yaml("n0", 6) + volcano_queue("default") +
              volcano_group("{minMember: 3, subGroupPolicy: [{name: r, subGroupSize: 1, minSubGroups: 2, "
                            "matchLabelKeys: [replica]}, {name: s, subGroupSize: 2, minSubGroups: 1, "
                            "matchLabelKeys: [shard]}]}") +
              replica_pod("a-0", "a") + replica_pod("b-0", "b"));
  bind(world, {"c-0"}, "c");
  bind(world, {"d-0"}, "d");
  for (const char* name : {"s-0", "s-1"}) {
    std::string pod = replica_pod(name, "x", 2);
    pod.replace(pod.find("replica:"), 8, "shard:");
    world.apply(pod);
  }
  EXPECT_THAT(all_placed(world), ElementsAre("s-0->n0", "s-1->n0")) << "room for these alone";
}

// A pod that is yet to be made keeps no other subgroup waiting, if the gang is whole without it.
TEST(GroupObjects, ASubgroupThatLacksPodsHoldsNoOtherUp) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + replicas("{minMember: 2"));
  bind(world, {"a-0"}, "a");
  bind(world, {"b-0"}, "b");
  world.apply(replica_pod("b-1", "b"));
  EXPECT_THAT(all_placed(world), ElementsAre("b-1->n0"));
  bind(world, {"b-1"}, "b");
  world.apply(replica_pod("a-1", "a"));
  EXPECT_THAT(all_placed(world), ElementsAre("a-1->n0")) << "it is mended when its pod is there";
}

// The API server does not check the class that a PodGroup names.
TEST(GroupObjects, AClassThatDoesNotExistCountsAsNone) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") +
              volcano_group("{minMember: 1, priorityClassName: high}") + task_pod("w-0", "worker"));
  EXPECT_EQ(world.intake.workload(kTrainGang)->priority, 0);
  EXPECT_EQ(waits_for(world), "");
  world.apply(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 70\n---\n");
  EXPECT_EQ(world.intake.workload(kTrainGang)->priority, 70);
}

TEST(GroupObjects, PodsThatMustNotPreemptAskTheirGangNotTo) {
  World world;
  world.apply(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 70\n---\n" +
      volcano_queue("default") + volcano_group("{minMember: 1, priorityClassName: high}") +
      pod_yaml("w-0", 1, "  annotations: {scheduling.k8s.io/group-name: train}\n",
               "  preemptionPolicy: Never\n"));
  EXPECT_FALSE(world.told.at(kTrainGang).may_preempt);
  EXPECT_EQ(world.told.at(kTrainGang).priority, 70);
}

// volcano.sh/preemptable of a pod: the others of its gang may be victims, those beyond the least number.
TEST(GroupObjects, PodsThatMustNotBeEvictedAreKept) {
  World world;
  const std::string keep = ", volcano.sh/preemptable: 'false'";
  world.apply(node_yaml("n0", 3) + volcano_queue("default") + volcano_group("{minMember: 1}") +
              task_pod("w-0", "worker", "", "n0") + task_pod("w-1", "worker", keep, "n0") +
              task_pod("w-2", "worker", "", "n0"));
  EXPECT_TRUE(world.told.at(kTrainGang).preemptible);
  world.apply(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 70\n---\n");
  const auto urgent = [](const std::string& name) {
    return pod_yaml(name, 1, "  labels: {scheduling.volcano.sh/queue-name: default}\n",
                    "  priorityClassName: high\n");
  };
  world.apply(urgent("u-0") + urgent("u-1") + urgent("u-2"));
  std::set<std::string> evicted;
  for (const Decision& decision : world.decide()) {
    if (decision.kind != DecisionKind::kEvict) continue;
    for (const auto& slot : decision.slots)
      evicted.emplace(world.intake.pod_at(decision.workload, slot.pod_set, slot.index)->name);
  }
  EXPECT_THAT(evicted, ElementsAre("w-0", "w-2"));
}

TEST(GroupObjects, AGangWhoseKeptPodWaitsIsNoVictim) {
  World world;
  const std::string keep = ", volcano.sh/preemptable: 'false'";
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + volcano_group("{minMember: 1}") +
              task_pod("w-0", "worker", "", "n0") + task_pod("w-1", "worker", keep));
  EXPECT_FALSE(world.told.at(kTrainGang).preemptible);
  EXPECT_TRUE(world.told.at(kTrainGang).root.pod_sets[1].bands.empty()) << "it claims nothing with that";
  world.apply(task_pod("w-1", "worker", keep, "n0"));
  EXPECT_TRUE(world.told.at(kTrainGang).preemptible);
  world.remove(Kind::kPod, "w-0");
  EXPECT_FALSE(world.told.at(kTrainGang).preemptible) << "all that is left must not be evicted";
}

TEST(GroupObjects, EndedPodsAreCounted) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + volcano_group("{minMember: 2}"));
  const auto report = [&] { return world.intake.gang(Kind::kVolcanoPodGroup, "default/train")->report; };
  const auto show = [&](const std::string& name, const std::string& phase) {
    std::string yaml = task_pod(name, "worker", "", "n0");
    yaml.insert(yaml.rfind("---"), "status: {phase: " + phase + "}\n");
    world.apply(yaml);
  };
  show("w-0", "Running");
  show("w-1", "Pending");
  EXPECT_EQ(report().bound, 2);
  EXPECT_EQ(report().running, 1);
  (void)world.intake.take_changed_gangs();
  show("w-1", "Running");
  EXPECT_EQ(report().running, 2);
  EXPECT_THAT(world.intake.take_changed_gangs(), ElementsAre(kTrainGang));
  show("w-0", "Succeeded");
  EXPECT_EQ(report().succeeded, 1);
  EXPECT_FALSE(report().over());
  show("w-1", "Failed");
  EXPECT_EQ(report().failed, 1);
  EXPECT_TRUE(report().over());
  EXPECT_THAT(world.intake.take_changed_gangs(), ElementsAre(kTrainGang));
  world.remove(Kind::kPod, "w-0");
  EXPECT_EQ(report().succeeded, 0);
  EXPECT_FALSE(report().over());
  EXPECT_THAT(world.intake.take_changed_gangs(), ElementsAre(kTrainGang));
}

TEST(GroupObjects, SoManySubgroupsMustBeThere) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") +
              volcano_group("{minMember: 2, subGroupPolicy: [{name: r, subGroupSize: 1, minSubGroups: 2, "
                            "matchLabelKeys: [replica]}]}") +
              replica_pod("a-0", "a") + replica_pod("a-1", "a"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(waits_for(world), HasSubstr("r (subgroups)"));
}

TEST(GroupObjects, TheObjectsQueueCounts) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("research", "{weight: 1, capability: {nvidia.com/gpu: 1}}") +
              volcano_group("{minMember: 2, queue: research}") + task_pod("w-0", "worker") +
              task_pod("w-1", "worker"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_EQ(world.intake.workload(kTrainGang)->queue, "volcano:research");
  world.apply(volcano_queue("research", "{weight: 1, capability: {nvidia.com/gpu: 2}}"));
  EXPECT_THAT(all_placed(world), ElementsAre("w-0->n0", "w-1->n0"));
  EXPECT_EQ(world.intake.charged_to(kTrainGang), "scheduling.volcano.sh/queue-name=research");
}

TEST(GroupObjects, TheDefaultQueueGivesWay) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_group("{minMember: 1, queue: default}") +
              task_pod("w-0", "worker"));
  EXPECT_EQ(world.intake.workload(kTrainGang)->queue, "volcano:default");
  EXPECT_THAT(world.decide(), IsEmpty()) << "there is no such queue";
  world.apply(volcano_queue("research") +
              task_pod("w-1", "worker", ", scheduling.volcano.sh/queue-name: research"));
  world.remove(Kind::kPod, "w-0");
  EXPECT_EQ(world.intake.workload(kTrainGang)->queue, "volcano:research");
  EXPECT_THAT(all_placed(world), ElementsAre("w-1->n0"));
}

TEST(GroupObjects, TheObjectsPriorityIsTheGangs) {
  World world;
  world.apply(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 70\n---\n" +
      volcano_queue("default") +
      volcano_group("{minMember: 1, priorityClassName: high, preemptable: false}") +
      task_pod("w-0", "worker"));
  EXPECT_EQ(world.told.at(kTrainGang).priority, 70);
  EXPECT_FALSE(world.told.at(kTrainGang).preemptible);
}

TEST(GroupObjects, APodOfTwoSystemsWaitsAndHurtsNoOther) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default") + volcano_group("{minMember: 2}") +
              task_pod("w-0", "worker") + task_pod("w-1", "worker"));
  world.apply(pod_yaml("both", 1,
                       "  uid: both\n  labels: {scheduling.x-k8s.io/pod-group: other}\n"
                       "  annotations: {scheduling.k8s.io/group-name: train}\n"));
  EXPECT_THAT(all_placed(world), ElementsAre("w-0->n0", "w-1->n0"));
  EXPECT_THAT(waits_for(world, "both"),
              HasSubstr("PodGroup other of coscheduling and PodGroup train of Volcano"));
}

TEST(GroupObjects, AnObjectThatCannotBeReadSaysWhy) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("default"));
  world.intake.unreadable(Kind::kVolcanoPodGroup, "default", "train", "spec.minMember is wrong");
  world.apply(task_pod("w-0", "worker"));
  EXPECT_THAT(waits_for(world), HasSubstr("spec.minMember is wrong"));
  world.apply(volcano_group("{minMember: 1, networkTopology: {mode: hard, highestTierAllowed: 1}}"));
  EXPECT_THAT(waits_for(world), HasSubstr("HyperNodes"));
  world.apply(volcano_group("{minMember: 1}"));
  EXPECT_THAT(all_placed(world), ElementsAre("w-0->n0"));
}

TEST(GroupObjects, BoundPodsOfBeforeARestartAreOfTheirParts) {
  World world;
  world.apply(task_pod("w-0", "worker", "", "n0") + task_pod("p-0", "ps", "", "n0") + node_yaml("n0", 8) +
              volcano_queue("default") + volcano_group("{minMember: 2, minTaskMember: {ps: 1, worker: 1}}"));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_THAT(world.decide(), IsEmpty());
  const auto view = world.intake.gang(Kind::kVolcanoPodGroup, "default/train");
  ASSERT_TRUE(view);
  EXPECT_EQ(world.told.at(kTrainGang).queue, "volcano:default") << "although its pods had nodes before";
  EXPECT_EQ(view->report.bound, 2);
  EXPECT_EQ(view->report.least, 2);
}

TEST(GroupObjects, PodsMayComeWhenTheQueueTakesThem) {
  World world;
  world.apply(node_yaml("n0", 8) +
              volcano_group("{minMember: 2, queue: research, minResources: {nvidia.com/gpu: 6}}"));
  EXPECT_THAT(stopped(world), HasSubstr("volcano:research"));
  world.apply(volcano_queue("research", "{weight: 1, capability: {nvidia.com/gpu: 4}}"));
  EXPECT_THAT(stopped(world), HasSubstr("more than its queue can ever have"));
  world.apply(volcano_queue("research", "{weight: 1, capability: {nvidia.com/gpu: 6}}"));
  EXPECT_EQ(stopped(world), "");
  world.apply(volcano_group("{minMember: 2, queue: research, minResources: {memory: 99999Gi}}"));
  EXPECT_THAT(stopped(world), HasSubstr("all nodes together have"));
}

TEST(GroupObjects, TheQueuesAboveCountToo) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("root", "{weight: 1}") +
              volcano_queue("dept", "{weight: 1, parent: root, capability: {nvidia.com/gpu: 4}}") +
              volcano_queue("research", "{weight: 1, parent: dept, capability: {nvidia.com/gpu: 6}}") +
              volcano_group("{minMember: 2, queue: research, minResources: {nvidia.com/gpu: 5}}"));
  EXPECT_THAT(stopped(world), HasSubstr("more than its queue can ever have"));
  world.apply(volcano_queue("dept", "{weight: 1, parent: root, capability: {nvidia.com/gpu: 5}}"));
  EXPECT_EQ(stopped(world), "");
  world.apply(
      volcano_queue("other", "{weight: 1, parent: dept, guarantee: {resource: {nvidia.com/gpu: 1}}}"));
  EXPECT_THAT(stopped(world), HasSubstr("more than its queue can ever have"))
      << "another one is guaranteed 1";
  world.apply(volcano_queue("other", "{weight: 1, parent: dept, deserved: {nvidia.com/gpu: 1}}"));
  EXPECT_EQ(stopped(world), "") << "what it deserves is lent";
  world.apply(volcano_group("{minMember: 2, queue: dept, minResources: {nvidia.com/gpu: 1}}"));
  EXPECT_THAT(stopped(world), HasSubstr("only a leaf takes work"));
}

TEST(GroupObjects, AClosedQueueAboveStopsIt) {
  World world;
  world.apply(node_yaml("n0", 8) + volcano_queue("dept", "{weight: 1}\nstatus: {state: Closed}") +
              volcano_queue("research", "{weight: 1, parent: dept}") +
              volcano_group("{minMember: 2, queue: research}"));
  EXPECT_THAT(stopped(world), HasSubstr("volcano:dept"));
  world.apply(volcano_queue("research", "{weight: 1, parent: nowhere}"));
  EXPECT_THAT(stopped(world), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace berth::dialect
