// KAI's subgroups: some of several, also where these have subgroups of their own, and pods that name none of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using ::testing::Not;
using testing::pod_yaml;
using ::testing::UnorderedElementsAre;
using testing::World;

constexpr const char* kKaiTrain = "KaiPodGroup/default/train";
// Two replicas, each with a head and two workers. One is enough.
constexpr const char* kReplicas =
    "{minSubGroup: 1, subGroups: [{name: a}, {name: a-head, parent: a, minMember: 1}, {name: a-work, parent: "
    "a, minMember: 2}, {name: b}, {name: b-head, parent: b, minMember: 1}, {name: b-work, parent: b, "
    "minMember: 2}]}";

std::string kai_group(const std::string& spec) {
  return "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: train}\nspec: " + spec +
         "\n---\n";
}

std::string kai_pod(const std::string& name, const std::string& subgroup, const std::string& node = "") {
  const std::string label =
      subgroup.empty() ? "" : "  labels: {kai.scheduler/subgroup-name: " + subgroup + "}\n";
  return pod_yaml(name, 1, "  annotations: {pod-group-name: train}\n" + label,
                  node.empty() ? "" : "  nodeName: " + node + "\n");
}

std::string kai_replica(const std::string& name) {
  return kai_pod(name + "0", name + "-head") + kai_pod(name + "1", name + "-work") +
         kai_pod(name + "2", name + "-work");
}

std::string bound_replica(const std::string& name) {
  return kai_pod(name + "0", name + "-head", "n0") + kai_pod(name + "1", name + "-work", "n0") +
         kai_pod(name + "2", name + "-work", "n0");
}

std::vector<std::string> kai_placed(World& world) {
  std::vector<std::string> out;
  for (const std::string& start : world.started(world.decide())) {
    std::istringstream pods(start.substr(start.find(' ') + 1));
    for (std::string one; pods >> one;) out.push_back(one.substr(0, one.find('-')));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string kai_why(World& world) {
  const Reason* reason = world.intake.blocked(kKaiTrain);
  return reason == nullptr ? "" : to_text(*reason);
}

std::string kai_later(World& world, const std::string& name) {
  const auto view = world.intake.pod("Pod/default/" + name);
  return view->later == nullptr ? "" : to_text(*view->later) + "; " + view->later->detail;
}

TEST(KaiSubgroups, OneReplicaStartsWholeAndTheOtherFollowsWhole) {
  World world;
  world.apply(node_yaml("n0", 5) + kai_group(kReplicas) + kai_pod("a0", "a-head") + kai_pod("a1", "a-work") +
              kai_pod("b0", "b-head"));
  EXPECT_THAT(kai_placed(world), IsEmpty());
  EXPECT_THAT(kai_why(world), HasSubstr("a-work"));
  world.apply(kai_pod("a2", "a-work") + kai_pod("b1", "b-work") + kai_pod("b2", "b-work"));
  EXPECT_THAT(kai_placed(world), ElementsAre("a0", "a1", "a2")) << "b has no room beside it";
  EXPECT_THAT(kai_later(world, "b0"), HasSubstr("after those before it"));
  world.apply(bound_replica("a"));
  EXPECT_THAT(kai_placed(world), IsEmpty()) << "two of three have room";
  EXPECT_EQ(kai_later(world, "b0") + kai_later(world, "b1"), "") << "its turn has come";
  world.apply(node_yaml("n0", 6));
  EXPECT_THAT(kai_placed(world), ElementsAre("b0", "b1", "b2"));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(KaiSubgroups, TheSecondReplicaStartsWhereTheFirstLacksPods) {
  World world;
  world.apply(node_yaml("n0", 8) + kai_group(kReplicas) + kai_pod("a0", "a-head") + kai_pod("a1", "a-work") +
              kai_replica("b"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b0", "b1", "b2"));
  world.apply(bound_replica("b"));
  EXPECT_THAT(kai_placed(world), IsEmpty());
  EXPECT_THAT(kai_later(world, "a1"), HasSubstr("a-work"));
  EXPECT_THAT(kai_later(world, "a0"), HasSubstr("after those before it"));
}

// A choice within a choice: two of three replicas, of which the last needs one of its two subgroups.
TEST(KaiSubgroups, AReplicaMayNeedSomeOfItsOwn) {
  World world;
  world.apply(
      node_yaml("n0", 8) +
      kai_group("{minSubGroup: 1, subGroups: [{name: a, minMember: 3}, {name: b, minSubGroup: 1}, {name: "
                "b-one, parent: b, minMember: 1}, {name: b-two, parent: b, minMember: 1}]}") +
      kai_pod("a0", "a") + kai_pod("b0", "b-one") + kai_pod("b1", "b-two"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b0")) << "a lacks pods, and b needs one subgroup";
  world.apply(kai_pod("b0", "b-one", "n0"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b1")) << "the other one is the next step";
  world.apply(kai_pod("b1", "b-two", "n0") + kai_pod("a1", "a") + kai_pod("a2", "a"));
  EXPECT_THAT(kai_placed(world), ElementsAre("a0", "a1", "a2"));
}

TEST(KaiSubgroups, ASubgroupThatNeedsNoPodCountsAsThere) {
  World world;
  world.apply(node_yaml("n0", 8) +
              kai_group("{minSubGroup: 1, subGroups: [{name: a, minMember: 0}, {name: b, minMember: 2}]}") +
              kai_pod("b0", "b") + kai_pod("b1", "b"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b0", "b1"));
}

TEST(KaiSubgroups, APodOfNoSubgroupWaitsAlone) {
  World world;
  world.apply(node_yaml("n0", 8) + kai_group("{subGroups: [{name: a, minMember: 2}]}") + kai_pod("a0", "a") +
              kai_pod("a1", "a") + kai_pod("x0", "gone") + kai_pod("y0", ""));
  EXPECT_THAT(kai_placed(world), ElementsAre("a0", "a1"));
  EXPECT_THAT(kai_later(world, "x0"),
              HasSubstr("no subgroup gone, which the label kai.scheduler/subgroup-name"));
  EXPECT_THAT(kai_later(world, "y0"), HasSubstr("no subgroup \"\""));
  world.apply(kai_pod("a0", "a", "n0") + kai_pod("a1", "a", "n0"));
  EXPECT_THAT(kai_placed(world), IsEmpty());
  world.apply(kai_group("{subGroups: [{name: a, minMember: 2}, {name: gone, minMember: 1}]}"));
  EXPECT_THAT(kai_placed(world), ElementsAre("x0")) << "now there is one";
  EXPECT_EQ(kai_later(world, "x0"), "");
}

TEST(KaiSubgroups, ThePodsOfOneThatVanishesRunOnAndAreNotNeeded) {
  World world;
  world.apply(
      node_yaml("n0", 8) + kai_group("{subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}]}") +
      kai_pod("a0", "a", "n0") + kai_pod("b0", "b", "n0") + kai_pod("b1", "b", "n0") + kai_pod("b2", "b"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b2"));
  world.apply(kai_group("{subGroups: [{name: a, minMember: 1}]}"));
  EXPECT_THAT(kai_placed(world), IsEmpty());
  EXPECT_THAT(kai_later(world, "b2"), HasSubstr("no subgroup b"));
  const auto& sets = world.told.at(kKaiTrain).root.pod_sets;
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].least, 1);
  EXPECT_EQ(sets[1].least, 0) << "they may be taken one by one";
  EXPECT_THAT(world.refused, IsEmpty());
}

// As KAI's action stalegangeviction judges it: also where Berth has never seen a pod of the part.
TEST(KaiSubgroups, AGangWhosePartIsGoneIsNotWhole) {
  World world;
  world.apply(node_yaml("n0", 8) +
              kai_group("{subGroups: [{name: a, minMember: 2}, {name: b, minMember: 1}]}") +
              kai_pod("a0", "a", "n0") + kai_pod("a1", "a", "n0") + kai_pod("a2", "a", "n0"));
  EXPECT_THAT(kai_placed(world), IsEmpty());
  const auto& sets = world.told.at(kKaiTrain).root.pod_sets;
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].count, 4);
  EXPECT_EQ(sets[0].least, 4) << "the pod of b is missing, whatever there is of a";
  world.apply(kai_pod("b0", "b"));
  EXPECT_THAT(kai_placed(world), ElementsAre("b0"));
  EXPECT_EQ(world.told.at(kKaiTrain).root.pod_sets[0].least, 2);
}

// Two replicas of a head and two workers, each within a rack. One is enough.
constexpr const char* kRackReplicas =
    "{minSubGroup: 1, subGroups: [{name: a, topologyConstraint: {topology: t, requiredTopologyLevel: rack}}, "
    "{name: a-head, parent: a, minMember: 1}, {name: a-work, parent: a, minMember: 2}, {name: b, "
    "topologyConstraint: {topology: t, requiredTopologyLevel: rack}}, {name: b-head, parent: b, minMember: "
    "1}, "
    "{name: b-work, parent: b, minMember: 2}]}";

std::string racks() {
  return "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec: {levels: "
         "[{nodeLabel: "
         "rack}, {nodeLabel: kubernetes.io/hostname}]}\n---\n";
}

std::string in_rack(const std::string& node, const std::string& rack, int gpus) {
  return node_yaml(node, gpus, "    rack: " + rack + "\n");
}

// "a0->n1", as they are placed.
std::vector<std::string> kai_nodes(World& world) {
  std::vector<std::string> out;
  for (const std::string& start : world.started(world.decide())) {
    std::istringstream pods(start.substr(start.find(' ') + 1));
    for (std::string one; pods >> one;) out.push_back(one);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Each starts whole in a rack of its own choice: the first that is chosen, and those that follow.
TEST(KaiSubgroups, ReplicasThatAreChosenLieInOneRackEach) {
  World world;
  world.apply(racks() + in_rack("n0", "r0", 2) + in_rack("n1", "r1", 2) + kai_group(kRackReplicas) +
              kai_replica("a") + kai_replica("b"));
  EXPECT_THAT(kai_nodes(world), IsEmpty()) << "four GPUs, and no rack has three";
  EXPECT_THAT(kai_why(world), Not(HasSubstr("topologyConstraint")));
  world.apply(in_rack("n2", "r1", 2));
  EXPECT_THAT(kai_nodes(world),
              UnorderedElementsAre(::testing::StartsWith("a0->"), ::testing::StartsWith("a1->"),
                                   ::testing::StartsWith("a2->")));
  world.apply(kai_pod("a0", "a-head", "n1") + kai_pod("a1", "a-work", "n1") + kai_pod("a2", "a-work", "n2"));
  EXPECT_THAT(kai_nodes(world), IsEmpty()) << "three GPUs are left in two racks";
  EXPECT_EQ(kai_later(world, "b0"), "") << "its turn has come";
  world.apply(in_rack("n3", "r0", 1));
  EXPECT_THAT(kai_nodes(world),
              UnorderedElementsAre(HasSubstr("->n0"), HasSubstr("->n0"), HasSubstr("->n3")));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// A pod that is made again goes to the rack of its replica.
TEST(KaiSubgroups, APodOfAChosenReplicaGoesBackToItsRack) {
  World world;
  world.apply(racks() + in_rack("n0", "r0", 3) + in_rack("n1", "r1", 3) + in_rack("n2", "r2", 8) +
              kai_group(kRackReplicas) + kai_pod("a0", "a-head", "n0") + kai_pod("a1", "a-work", "n0") +
              kai_pod("b0", "b-head", "n1") + kai_pod("b1", "b-work", "n1") + kai_pod("b2", "b-work", "n1") +
              kai_pod("a2", "a-work"));
  EXPECT_THAT(kai_nodes(world), ElementsAre("a2->n0"));
  EXPECT_TRUE(world.engine.audit());
}

}  // namespace
}  // namespace berth::dialect
