// Groups of pods that start before all of their members are there (Kueue's pod-group-fast-admission).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

constexpr const char* kUid = "Gang/kueue/default/g";

struct Member {
  std::string node = "";
  std::string size = "3";
  int gpus = 1;
  std::string more = "";  // annotations
  std::string spec = "";
  std::string fast = "true";
};

std::string member(const std::string& name, const Member& m = {}) {
  return pod_yaml(name, m.gpus,
                  "  uid: " + name +
                      "\n  creationTimestamp: \"2026-11-22T10:00:00Z\"\n"
                      "  labels: {kueue.x-k8s.io/pod-group-name: g}\n"
                      "  annotations: {kueue.x-k8s.io/pod-group-total-count: \"" +
                      m.size + "\", kueue.x-k8s.io/pod-group-fast-admission: \"" + m.fast + "\"" + m.more +
                      "}\n",
                  m.spec + (m.node.empty() ? "" : "  nodeName: " + m.node + "\n"));
}

std::int64_t slots_in(const World& world, SlotState state) {
  std::int64_t out = 0;
  for (std::int64_t set = 0; set < 2; ++set) {
    for (std::int64_t i = 0; i < 10; ++i) {
      const auto slot = world.engine.slot(kUid, set, i);
      out += slot && slot->state == state ? 1 : 0;
    }
  }
  return out;
}

TEST(IntakeMembers, AllOfAGroupStartWithItsFirstPod) {
  World world;
  world.apply(node_yaml("n0", 3) + member("a"));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: a->n0 ?->n0 ?->n0"));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 0));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 1));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 2));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 3));
  EXPECT_FALSE(world.intake.expects(kUid, 1, 0));
  world.apply(member("b"));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 1)) << "it has come";
  EXPECT_TRUE(world.intake.expects(kUid, 0, 2));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(IntakeMembers, OrNoneOfThem) {
  World world;
  world.apply(node_yaml("n0", 2) + member("a"));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(node_yaml("n1", 1));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: a->n1 ?->n0 ?->n0"));
}

TEST(IntakeMembers, AGroupThatDoesNotSaySoWaitsForAll) {
  for (const char* value : {"false", "True", ""}) {
    World world;
    world.apply(node_yaml("n0", 8) + member("a", {.fast = value}) + member("b", {.fast = value}));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << value;
    world.apply(member("c", {.fast = value}));
    EXPECT_EQ(world.started(world.decide()).size(), 1u) << value;
  }
}

TEST(IntakeMembers, OneMemberThatSaysSoIsEnough) {
  World world;
  world.apply(node_yaml("n0", 8) + member("a", {.fast = "false"}));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(member("b"));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: a->n0 b->n0 ?->n0"));
}

TEST(IntakeMembers, ThoseThatDisagreeAboutTheirNumberWait) {
  World world;
  world.apply(node_yaml("n0", 8) + member("a") + member("b", {.size = "4"}));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  ASSERT_NE(world.intake.blocked(kUid), nullptr);
  world.remove(Kind::kPod, "b");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: a->n0 ?->n0 ?->n0"));
}

TEST(IntakeMembers, APodOfAnotherKindIsInThePlaceOfOneThatWasToCome) {
  World world;
  world.apply(node_yaml("n0", 8) + member("a"));
  (void)world.decide();
  EXPECT_EQ(slots_in(world, SlotState::kBinding), 3);
  world.apply(member("b", {.gpus = 2}));
  EXPECT_EQ(slots_in(world, SlotState::kBinding), 2) << "one of the three is another";
  EXPECT_TRUE(world.intake.expects(kUid, 0, 1));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 2));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: b->n0"));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(IntakeMembers, TheSlotOfAPodIsThatOfItsIndex) {
  World world;
  world.apply(node_yaml("n0", 8) + member("c", {.more = ", kueue.x-k8s.io/pod-group-pod-index: \"2\""}));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: ?->n0 ?->n0 c->n0"));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 0));
  world.apply(member("b", {.more = ", kueue.x-k8s.io/pod-group-pod-index: \"1\""}));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 0));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 1));
}

TEST(IntakeMembers, APodThatIsGatedIsToCome) {
  World world;
  world.apply(node_yaml("n0", 8) + member("a") +
              member("b", {.spec = "  schedulingGates: [{name: example.com/wait}]\n"}));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: a->n0 b->n0 ?->n0"));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 1));
  EXPECT_EQ(world.intake.pod_at(kUid, 0, 1)->state, SlotState::kAbsent);
  world.apply(member("b"));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 1));
}

TEST(IntakeMembers, WhatHasEndedIsNotToCome) {
  World world;
  const auto ended = [](std::string yaml, const std::string& phase) {
    yaml.insert(yaml.rfind("---"), "status:\n  phase: " + phase +
                                       "\n  containerStatuses:\n  - {name: main, state: {terminated: "
                                       "{exitCode: 0, finishedAt: \"2026-11-22T10:05:00Z\"}}}\n");
    return yaml;
  };
  world.apply(node_yaml("n0", 8) + member("a", {.node = "n0"}) + member("b", {.node = "n0"}) +
              member("c", {.node = "n0"}));
  EXPECT_EQ(slots_in(world, SlotState::kRunning), 3);
  world.apply(ended(member("c", {.node = "n0"}), "Succeeded"));
  EXPECT_FALSE(world.intake.expects(kUid, 0, 2));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(ended(member("b", {.node = "n0"}), "Failed"));
  EXPECT_TRUE(world.intake.expects(kUid, 0, 1)) << "one that is made instead of it";
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: ?->n0"));
}

TEST(IntakeMembers, AMemberThatLeavesBeforeTheStartIsStillToCome) {
  World world;
  world.apply(node_yaml("n0", 2) + member("a") + member("b"));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kPod, "a");
  world.apply(node_yaml("n0", 3));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: ?->n0 b->n0 ?->n0"));
  world.remove(Kind::kPod, "b");
  EXPECT_EQ(slots_in(world, SlotState::kBinding), 0) << "with its last pod the group is gone";
  EXPECT_FALSE(world.intake.expects(kUid, 0, 0));
}

TEST(IntakeMembers, NodesWithoutRoomForThoseToComeAreNotTaken) {
  World world;
  world.apply(node_yaml("n0", 3) + member("a"));
  (void)world.decide();
  world.apply(pod_yaml("other", 1));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
