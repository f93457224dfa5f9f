// Binds and what can become of them.
#include <gtest/gtest.h>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;

TEST(Binds, OnePodIsBoundOnceWithItsUid) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  const auto binds = w.take(Step::kBind);
  ASSERT_EQ(binds.size(), 1u);
  EXPECT_EQ(binds[0].path, "/api/v1/namespaces/default/pods/a/binding");
  EXPECT_NE(binds[0].body.find(uid_of("a")), std::string::npos);
  EXPECT_EQ(node_of(binds[0]), "n1");
  w.answer(Step::kBind, "a", Outcome::kOk);
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kBinding);  // until the watch shows it
  w.pod({.name = "a", .node = "n1"});
  w.turn();
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_EQ(w.core->carrier().places().binds(), 0u);
  EXPECT_EQ(w.core->carrier().busy(), 0u);
  EXPECT_TRUE(w.core->engine().audit());
}

TEST(Binds, TheDevicesAreWrittenWithTheBindAndKnownAfterARestart) {
  World w;
  w.node("n1", 2);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.bind_all();
  w.pod({.name = "b"});
  w.turn();
  const auto binds = w.take(Step::kBind);
  ASSERT_EQ(binds.size(), 1u);
  EXPECT_EQ(devices_of(binds[0]), "1");

  World after;
  after.node("n1", 2);
  after.pod({.name = "b", .node = "n1", .devices = devices_of(binds[0])});
  after.recover();
  after.pod({.name = "c"});
  after.turn();
  const auto others = after.take(Step::kBind);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(devices_of(others[0]), "0");
}

TEST(Binds, TheWatchMayBeFasterThanTheAnswer) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.pod({.name = "a", .node = "n1"});
  w.turn();
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kRunning);
  w.answer(Step::kBind, "a", Outcome::kOk);
  EXPECT_EQ(w.core->carrier().places().binds(), 0u);
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kRunning);
}

TEST(Binds, AGangIsBoundOnlyWhenWhole) {
  World w;
  w.node("n1", 2);
  w.node("n2", 2);
  w.recover();
  for (const char* name : {"a", "b", "c"}) w.pod({.name = name, .gang = "g", .size = 4});
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pod({.name = "d", .gang = "g", .size = 4});
  w.turn();
  EXPECT_EQ(w.take(Step::kBind).size(), 4u);
}

TEST(Binds, AlreadyAssignedToTheSameNodeIsASuccess) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.answer(Step::kBind, "a", Outcome::kConflict, "pod a is already assigned to node \"n1\"");
  EXPECT_TRUE(w.take(Step::kRead).empty());
  EXPECT_EQ(w.core->carrier().busy(), 0u);
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kBinding);
}

TEST(Binds, ABindByAnotherClientIsTakenAsAFact) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.node("n2");
  w.answer(Step::kBind, "a", Outcome::kConflict, "pod a is already assigned to node \"n2\"");
  EXPECT_EQ(w.only(Step::kRead), "a");
  w.answer(Step::kRead, "a", Outcome::kOk, "", pod_json({.name = "a", .node = "n2"}, w.version + 10));
  EXPECT_TRUE(w.take(Step::kBind).empty());
  const auto slot = w.core->engine().slot(uid_of("a"), 0, 0);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->state, SlotState::kRunning);
  EXPECT_EQ(slot->node, "n2");
  // The watch, which lags behind, shows it without a node: an older state does not count.
  w.pod({.name = "a"});
  w.turn();
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_EQ(w.core->carrier().places().binds(), 0u);
}

TEST(Binds, AnUnknownOutcomeIsReadBackAndTheSameNodeTriedAgain) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.answer(Step::kBind, "a", Outcome::kUnknown, "timed out");
  EXPECT_EQ(w.only(Step::kRead), "a");
  // Its room may not be given to anybody meanwhile.
  w.node("n2", 0);
  w.pod({.name = "b", .priority = 0});
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.answer(Step::kRead, "a", Outcome::kOk, "", pod_json({.name = "a"}, w.version + 10));
  EXPECT_TRUE(w.take(Step::kBind).empty());  // it rests first
  w.pass(kMinute);
  const auto again = w.take(Step::kBind);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].uid, uid_of("a"));
  EXPECT_EQ(node_of(again[0]), "n1");
  w.answer(Step::kBind, "a", Outcome::kConflict, "pod a is already assigned to node \"n1\"");
  EXPECT_EQ(w.core->carrier().busy(), 0u);
}

TEST(Binds, AnUnknownOutcomeThatHadSucceededIsASuccess) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.answer(Step::kBind, "a", Outcome::kUnknown);
  w.only(Step::kRead);
  w.answer(Step::kRead, "a", Outcome::kOk, "", pod_json({.name = "a", .node = "n1"}, w.version + 1));
  EXPECT_EQ(w.slot(uid_of("a")), SlotState::kRunning);
  EXPECT_EQ(w.core->carrier().places().binds(), 0u);
  EXPECT_TRUE(w.take(Step::kBind).empty());
}

TEST(Binds, AReadThatFailsIsTriedAgain) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.answer(Step::kBind, "a", Outcome::kUnknown);
  w.only(Step::kRead);
  w.answer(Step::kRead, "a", Outcome::kUnknown);
  EXPECT_TRUE(w.take(Step::kRead).empty());
  w.pass(kMinute);
  EXPECT_EQ(w.only(Step::kRead), "a");
  EXPECT_TRUE(w.take(Step::kBind).empty());
}

TEST(Binds, APodThatIsGoneFreesItsRoomAndOlderNewsOfItDoNotCount) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.pod({.name = "b"});
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.answer(Step::kBind, "a", Outcome::kNotFound);
  w.only(Step::kRead);
  w.answer(Step::kRead, "a", Outcome::kNotFound);
  EXPECT_EQ(w.only(Step::kBind), "b");
  w.pod({.name = "a"});  // an older event of the watch
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  EXPECT_FALSE(w.core->intake().pod(uid_of("a")));
  w.pod_gone("a");
  w.answer(Step::kBind, "b", Outcome::kOk);
  EXPECT_EQ(w.core->carrier().busy(), 0u);
}

TEST(Binds, WhatWasNotExecutedIsDecidedAnewAfterARest) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  w.only(Step::kBind);
  w.answer(Step::kBind, "a", Outcome::kUnavailable, "too many requests");
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pass(kMinute);
  EXPECT_EQ(w.only(Step::kBind), "a");
  w.answer(Step::kBind, "a", Outcome::kOk);
  EXPECT_EQ(w.core->carrier().busy(), 0u);
}

TEST(Binds, ARefusedBindDoesNotSpin) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  std::size_t sent = w.take(Step::kBind).size();
  for (int i = 0; i < 600; ++i) {  // a minute
    if (i > 0) w.pass(100);
    if (const auto more = w.take(Step::kBind); !more.empty()) {
      sent += more.size();
      w.answer(Step::kBind, "a", Outcome::kForbidden, "may not create pods/binding");
    } else if (i == 0) {
      w.answer(Step::kBind, "a", Outcome::kForbidden, "may not create pods/binding");
    }
  }
  EXPECT_GE(sent, 3u);
  EXPECT_LE(sent, 20u);
}

TEST(Binds, AMemberThatFailsIsPlacedElsewhere) {
  World w;
  w.node("n1", 1);
  w.node("n2", 1);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2});
  w.turn();
  const auto binds = w.take(Step::kBind);
  ASSERT_EQ(binds.size(), 2u);
  w.answer(Step::kBind, "a", Outcome::kOk);
  w.pod({.name = "a", .gang = "g", .size = 2, .node = node_of(binds[0])});
  // The node that b was meant for goes away, another comes.
  w.object(
      dialect::Kind::kNode, node_of(binds[1]),
      R"({"metadata":{"name":")" + node_of(binds[1]) +
          R"("},"spec":{"unschedulable":true},"status":{"allocatable":{"cpu":"64","pods":"110","nvidia.com/gpu":"1"}}})");
  w.node("n3", 1);
  w.answer(Step::kBind, "b", Outcome::kUnavailable);
  w.pass(kSecond);
  const auto again = w.take(Step::kBind);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].uid, uid_of("b"));
  EXPECT_EQ(node_of(again[0]), "n3");
}

}  // namespace
}  // namespace berth::scheduler::testing
