// Gangs that have not the name of one object: of several PodGroups, of two API groups, and of the replicas of a Workload of 1.35.
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
using testing::pod_yaml;
using testing::World;

constexpr const char* kBoth = R"(["default/ps","default/work"])";

// `groups`: Koordinator's mark.
std::string sigs_group(const std::string& name, int least, const std::string& groups = "",
                       const std::string& api = "scheduling.sigs.k8s.io") {
  const std::string marks =
      groups.empty() ? "" : ", annotations: {gang.scheduling.koordinator.sh/groups: '" + groups + "'}";
  return "apiVersion: " + api + "/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name + marks +
         "}\nspec: {minMember: " + std::to_string(least) + "}\n---\n";
}

std::string sigs_member(const std::string& name, const std::string& group, const std::string& node = "") {
  return pod_yaml(name, 1, "  labels: {pod-group.scheduling.sigs.k8s.io: " + group + "}\n",
                  node.empty() ? "" : "  nodeName: " + node + "\n");
}

std::string referrer(const std::string& name, const std::string& replica) {
  return pod_yaml(name, 1, "",
                  "  workloadRef: {name: train, podGroup: work, podGroupReplicaKey: " + replica + "}\n");
}

std::string old_workload(int least) {
  return "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: train}\nspec: {podGroups: "
         "[{name: work, policy: {gang: {minCount: " +
         std::to_string(least) + "}}}]}\n---\n";
}

std::vector<std::string> named_placed(World& world) {
  std::vector<std::string> out;
  for (const std::string& start : world.started(world.decide())) {
    std::istringstream pods(start.substr(start.find(' ') + 1));
    for (std::string one; pods >> one;) out.push_back(one.substr(0, one.find('-')));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string named_waits(World& world, const std::string& uid) {
  const Reason* reason = world.intake.blocked(uid);
  return reason == nullptr ? "" : to_text(*reason);
}

TEST(NamedGangs, APodGroupOfTheOlderGroupIsRead) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_member("a0", "a"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(named_waits(world, "PodGroup/default/a"), HasSubstr("does not exist"));
  world.apply(sigs_group("a", 2));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one of two is there";
  world.apply(sigs_member("a1", "a"));
  EXPECT_THAT(named_placed(world), ElementsAre("a0", "a1"));
}

TEST(NamedGangs, ThePresentGroupComesFirst) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_group("a", 2) + sigs_member("a0", "a"));
  world.apply(sigs_group("a", 1, "", "scheduling.x-k8s.io"));
  EXPECT_THAT(named_placed(world), ElementsAre("a0"));
}

TEST(NamedGangs, PodGroupsThatNameEachOtherStartTogether) {
  World world;
  world.apply(node_yaml("n0", 2) + sigs_group("ps", 1, kBoth) + sigs_group("work", 2, kBoth) +
              sigs_member("p0", "ps") + sigs_member("w0", "work") + sigs_member("w1", "work"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "room for two of three";
  world.apply(node_yaml("n0", 3));
  EXPECT_THAT(named_placed(world), ElementsAre("p0", "w0", "w1"));
  const auto& root = world.told.at("PodGroup/default/ps+work").root;
  ASSERT_EQ(root.pod_sets.size(), 2u);
  EXPECT_EQ(root.pod_sets[0].least, 1);
  EXPECT_EQ(root.pod_sets[1].least, 2);
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(NamedGangs, OneWaitsForThePodsAndTheObjectOfTheOther) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_member("p0", "ps") + sigs_group("ps", 1, kBoth));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(named_waits(world, "PodGroup/default/ps+work"), HasSubstr("work"));
  world.apply(sigs_member("w0", "work"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "work has no PodGroup yet";
  world.apply(sigs_group("work", 2, kBoth));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one of two is there";
  EXPECT_THAT(named_waits(world, "PodGroup/default/ps+work"), HasSubstr("work"));
  world.apply(sigs_member("w1", "work"));
  EXPECT_THAT(named_placed(world), ElementsAre("p0", "w0", "w1"));
}

TEST(NamedGangs, AnObjectThatNoLongerNamesOthersIsAGangOfItsOwn) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_member("p0", "ps") + sigs_group("ps", 1, kBoth));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(sigs_group("ps", 1));
  EXPECT_THAT(named_placed(world), ElementsAre("p0"));
  EXPECT_FALSE(world.intake.workload("PodGroup/default/ps+work"));
}

TEST(NamedGangs, GroupsThatCannotBeReadKeepTheGangWaiting) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_member("p0", "ps") + sigs_group("ps", 1, R"(["other/work"])"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(named_waits(world, "PodGroup/default/ps"), HasSubstr("other/work is of another namespace"));
}

TEST(NamedGangs, AfterARestartPodsThatRunAreOfTheSameGang) {
  World world;
  world.apply(node_yaml("n0", 8) + sigs_member("p0", "ps", "n0") + sigs_member("w0", "work", "n0") +
              sigs_member("w1", "work"));
  world.apply(sigs_group("ps", 1, kBoth) + sigs_group("work", 2, kBoth));
  const auto info = world.intake.workload("PodGroup/default/ps+work");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pods, 3);
  EXPECT_THAT(named_placed(world), ElementsAre("w1"));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(NamedGangs, EachReplicaOfAWorkloadIsAGang) {
  World world;
  world.apply(node_yaml("n0", 8) + referrer("a0", "a") + referrer("b0", "b") + referrer("b1", "b"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(named_waits(world, "UpstreamWorkload/default/train/work/a"),
              HasSubstr("Workload default/train/work/a does not exist"));
  world.apply(old_workload(2));
  EXPECT_THAT(named_placed(world), ElementsAre("b0", "b1")) << "a lacks a pod";
  world.apply(old_workload(1));
  EXPECT_THAT(named_placed(world), ElementsAre("a0"));
  world.remove(Kind::kUpstreamWorkload, "train");
  EXPECT_THAT(named_waits(world, "UpstreamWorkload/default/train/work/a"), HasSubstr("does not exist"));
}

// Koordinator's default, once-satisfied, would let it start alone.
TEST(NamedGangs, AGangThatLostPodsWaitsUntilTheyAreEnoughAgain) {
  const auto member = [](const std::string& name, const std::string& node = "") {
    return pod_yaml(name, 1,
                    "  annotations: {gang.scheduling.koordinator.sh/name: a, "
                    "gang.scheduling.koordinator.sh/min-available: '3'}\n",
                    node.empty() ? "" : "  nodeName: " + node + "\n");
  };
  World world;
  world.apply(node_yaml("n0", 8) + member("a0", "n0") + member("a1", "n0") + member("a2", "n0"));
  world.remove(Kind::kPod, "a0");
  world.remove(Kind::kPod, "a1");
  world.apply(member("a3"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(world.engine.explain("Gang/Koordinator/default/a")->reason),
              HasSubstr("2 of the gang's 3 exist"));
  world.apply(member("a4"));
  EXPECT_THAT(named_placed(world), ElementsAre("a3", "a4"));
}

}  // namespace
}  // namespace berth::dialect
