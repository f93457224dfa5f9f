// Gangs of pods of which some have ended: what a scheduler finds that starts after another died in the middle of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

struct Life {
  std::string node;
  std::string ended_at = "";  // it has ended well
  std::string made_at = "2026-11-22T10:00:00Z";
  std::string phase = "Succeeded";
};

std::string member(const std::string& labels, int index, const Life& life = {}) {
  const std::string name = "g-" + std::to_string(index);
  std::string yaml = pod_yaml(name, 1,
                              "  uid: " + name + life.made_at + "\n  creationTimestamp: \"" + life.made_at +
                                  "\"\n  labels: " + labels + "\n",
                              life.node.empty() ? "" : "  nodeName: " + life.node + "\n");
  if (!life.ended_at.empty()) {
    yaml.insert(yaml.rfind("---"), "status:\n  phase: " + life.phase +
                                       "\n  containerStatuses:\n"
                                       "  - {name: main, state: {terminated: {exitCode: 0, finishedAt: \"" +
                                       life.ended_at + "\"}}}\n");
  }
  return yaml;
}

const std::string kSized = "{berth.dev/gang: g, berth.dev/gang-size: \"4\"}";
const std::string kGrouped = "{scheduling.x-k8s.io/pod-group: g}";

std::string pod_group(int min_member) {
  return "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n"
         "spec: {minMember: " +
         std::to_string(min_member) + "}\n---\n";
}

TEST(IntakeGangs, TheRestOfATornGangDoesNotWaitForAMemberThatHasEnded) {
  for (const bool grouped : {false, true}) {
    const std::string& labels = grouped ? kGrouped : kSized;
    World world;
    world.apply(node_yaml("n0", 4) + (grouped ? pod_group(4) : "") + member(labels, 1, {.node = "n0"}) +
                member(labels, 2) + member(labels, 3));
    EXPECT_THAT(world.decide(), IsEmpty()) << "as far as one knows, a fourth is to come";
    world.apply(member(labels, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z"}));
    EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-2->n0 g-3->n0"));
  }
}

TEST(IntakeGangs, ItDoesNotWaitIfAllBoundMembersHaveEnded) {
  World world;
  world.apply(node_yaml("n0", 4) + member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z"}) +
              member(kSized, 1) + member(kSized, 2));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one is still to come";
  world.apply(member(kSized, 3));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-1->n0 g-2->n0 g-3->n0"));
}

TEST(IntakeGangs, AMemberThatFailedIsMadeAgainAndWaitedFor) {
  World world;
  world.apply(node_yaml("n0", 4) +
              member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z", .phase = "Failed"}) +
              member(kSized, 1, {.node = "n0"}) + member(kSized, 2) + member(kSized, 3));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
}

TEST(IntakeGangs, AReplacementDoesNotWaitForMembersThatSucceeded) {
  World world;
  world.apply(node_yaml("n0", 4));
  for (int i = 0; i < 4; ++i) world.apply(member(kSized, i, {.node = "n0"}));
  world.apply(member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z"}) +
              member(kSized, 1, {.node = "n0", .ended_at = "2026-11-22T10:06:00Z", .phase = "Failed"}));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(member(kSized, 9));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-9->n0"));
}

// Kueue's retriable-in-group.
TEST(IntakeGangs, AGangDoesNotWaitForAFailedMemberThatIsNotReplaced) {
  World world;
  const std::string waits = member(kSized, 2) + member(kSized, 3);
  std::string failed =
      member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z", .phase = "Failed"});
  world.apply(node_yaml("n0", 4) + member(kSized, 1, {.node = "n0"}) + waits + failed);
  EXPECT_THAT(world.decide(), IsEmpty()) << "somebody makes it again";
  failed.insert(failed.find("  labels:"), "  annotations: {kueue.x-k8s.io/retriable-in-group: \"false\"}\n");
  world.apply(failed);
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-2->n0 g-3->n0"));
}

TEST(IntakeGangs, AGangWaitsUntilAllOfItsPodsArePrepared) {
  const auto gated = [](int index, const std::string& by) {
    std::string pod = member("{kueue.x-k8s.io/pod-group-name: g}", index);
    const std::string gates = by.empty() ? "" : "kueue.x-k8s.io/admission-gated-by: \"" + by + "\", ";
    return pod.insert(pod.find("  labels:"),
                      "  annotations: {" + gates + "kueue.x-k8s.io/pod-group-total-count: \"2\"}\n");
  };
  World world;
  world.apply(node_yaml("n0", 4) + gated(0, "a.example,b.example") + gated(1, "b.example"));
  EXPECT_THAT(world.decide(), IsEmpty());
  const auto* why = world.intake.blocked("Gang/kueue/default/g");
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(why->detail, "Admission is gated by: a.example,b.example");
  world.apply(gated(0, ""));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_EQ(world.intake.blocked("Gang/kueue/default/g")->detail, "Admission is gated by: b.example");
  world.remove(Kind::kPod, "g-1");
  world.apply(gated(1, ""));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-0->n0 g-1->n0"));
}

TEST(IntakeGangs, PodsOfAFormerGangOfTheSameNameDoNotCount) {
  World world;
  world.apply(node_yaml("n0", 4));
  for (int i = 0; i < 4; ++i) {
    world.apply(member(kSized, 10 + i, {.node = "n0", .ended_at = "2026-11-22T09:30:00Z"}));
  }
  const Life later{.made_at = "2026-11-22T10:00:00Z"};
  for (int i = 0; i < 3; ++i) {
    world.apply(member(kSized, i, later));
    EXPECT_THAT(world.decide(), IsEmpty()) << i << " of four, and nobody runs";
  }
  world.apply(member(kSized, 3, later));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-0->n0 g-1->n0 g-2->n0 g-3->n0"));
}

TEST(IntakeGangs, AnEndedPodThatIsGoneIsWaitedForAgain) {
  World world;
  world.apply(node_yaml("n0", 4) + member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z"}) +
              member(kSized, 1));
  const auto count = [&] { return world.told.begin()->second.root.pod_sets.at(0).count; };
  EXPECT_EQ(count(), 3);
  world.remove(Kind::kPod, "g-0");
  EXPECT_EQ(count(), 4);
  world.apply(member(kSized, 0, {.ended_at = "2026-11-22T10:05:00Z"}));
  EXPECT_EQ(count(), 4) << "it never had a node, whatever its status says";
}

TEST(IntakeGangs, WhatIsLeftOfARunningGangIsNoSurplus) {
  World world;
  world.apply(node_yaml("n0", 4));
  for (int i = 0; i < 4; ++i) world.apply(member(kSized, i, {.node = "n0"}));
  const auto least = [&] { return world.told.begin()->second.root.pod_sets.at(0).least; };
  EXPECT_EQ(least(), 4);
  world.apply(member(kSized, 0, {.node = "n0", .ended_at = "2026-11-22T10:05:00Z"}));
  EXPECT_EQ(least(), 4) << "three run; none of them may be taken alone";
}

}  // namespace
}  // namespace berth::dialect
