// Withdrawal, eviction and recovery.
#include <gtest/gtest.h>

#include <set>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;

constexpr const char* kRefused = "may not create pods/binding";

// A gang of two of which the first is bound and the second cannot be.
void half_bind(World& w, const std::string& owner) {
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .owner = owner});
  w.turn();
  ASSERT_EQ(w.take(Step::kBind).size(), 2u);
  w.answer(Step::kBind, "a", Outcome::kOk);
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = owner, .node = "n1"});
  w.turn();
  w.answer(Step::kBind, "b", Outcome::kForbidden, kRefused);
  for (int i = 0; i < 29; ++i) {
    w.pass(kSecond);
    for (const auto& sent : w.take(Step::kBind)) {
      EXPECT_EQ(sent.uid, uid_of("b"));
      w.answer(Step::kBind, "b", Outcome::kForbidden, kRefused);
    }
  }
  EXPECT_TRUE(w.take(Step::kMark).empty());
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.pass(2 * kSecond);
}

TEST(Withdrawal, MembersOfAControllerAreMarkedAndDeleted) {
  World w;
  half_bind(w, "ReplicaSet");
  const auto marks = w.take(Step::kMark);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].uid, uid_of("a"));
  EXPECT_EQ(condition_field(marks[0], "type"), "DisruptionTarget");
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.answer(Step::kMark, "a", Outcome::kOk);
  EXPECT_EQ(w.only(Step::kDelete), "a");
  w.answer(Step::kDelete, "a", Outcome::kOk);
  w.pod_gone("a");
  w.turn();
  EXPECT_EQ(w.core->carrier().places().evictions(), 0u);
  EXPECT_TRUE(w.core->engine().audit());
}

TEST(Withdrawal, BarePodsAreNeverDeletedAndKeepTheirRoom) {
  World w;
  half_bind(w, "");
  for (int i = 0; i < 100; ++i) {
    w.pass(kSecond);
    for (const auto& sent : w.take(Step::kBind)) {
      EXPECT_EQ(sent.uid, uid_of("b"));
      w.answer(Step::kBind, "b", Outcome::kForbidden, kRefused);
    }
  }
  EXPECT_TRUE(w.take(Step::kMark).empty());
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  // The room of the bound one is not given away.
  w.pod({.name = "x", .gpus = 2});
  w.turn();
  for (const auto& sent : w.take(Step::kBind)) EXPECT_NE(sent.uid, uid_of("x"));
  EXPECT_TRUE(w.core->engine().audit());
}

TEST(Withdrawal, SlowBindsAreNoFailure) {
  World w;
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  ASSERT_EQ(w.take(Step::kBind).size(), 2u);
  w.answer(Step::kBind, "a", Outcome::kOk);
  for (int i = 0; i < 100; ++i) w.pass(kSecond);
  EXPECT_TRUE(w.take(Step::kMark).empty());
  w.answer(Step::kBind, "b", Outcome::kOk);
  EXPECT_EQ(w.core->carrier().busy(), 0u);
}

TEST(Withdrawal, AMemberThatVanishesBeforeItIsBoundIsMissedAtTheDeadline) {
  World w;
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  ASSERT_EQ(w.take(Step::kBind).size(), 2u);
  w.answer(Step::kBind, "a", Outcome::kOk);
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.pod_gone("b");
  w.pod({.name = "x"});  // gets the room of b
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "x");
  w.pod({.name = "c", .gang = "g", .size = 2, .owner = "ReplicaSet"});  // in its place, and there is none
  w.turn();
  EXPECT_TRUE(w.take(Step::kMark).empty());
  w.pass(31 * kSecond);
  EXPECT_EQ(w.only(Step::kMark), "a");
}

// A bind of the leader before may arrive after the first lists, when other work has the rest of the room.
TEST(Withdrawal, AMemberThatAnotherLeaderBoundIsMissedAtTheDeadline) {
  World w;
  w.node("n1", 2);
  w.pod({.name = "x", .node = "n1"});
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.recover();
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.turn();
  w.pass(29 * kSecond);
  EXPECT_TRUE(w.take(Step::kMark).empty());
  w.pass(2 * kSecond);
  EXPECT_EQ(w.only(Step::kMark), "a");
}

// Its controller has not made the others yet.
TEST(Withdrawal, AfterARestartMembersThatComeLaterAreMissedAtTheDeadline) {
  World w;
  w.node("n1", 2);
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.recover();
  w.pod({.name = "x"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "x");
  for (int i = 0; i < 100; ++i) w.pass(kSecond);
  EXPECT_TRUE(w.take(Step::kMark).empty()) << "no member waits that could be bound";
  w.pod({.name = "b", .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  w.pass(31 * kSecond);
  EXPECT_EQ(w.only(Step::kMark), "a");
}

TEST(Withdrawal, AMemberThatTookThePlaceOfOneThatVanishedIsEnough) {
  World w;
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  ASSERT_EQ(w.take(Step::kBind).size(), 2u);
  w.answer(Step::kBind, "a", Outcome::kOk);
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.pod_gone("b");
  w.pod({.name = "c", .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  w.bind_all();
  w.pass(31 * kSecond);
  EXPECT_TRUE(w.take(Step::kMark).empty());
}

// Eight running pods of low priority on one node, then one of high priority that needs two devices.
void fill_and_preempt(World& w) {
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "low", .size = 2});
  w.turn();
  w.bind_all();
  w.take(Step::kEvent);
  w.pod({.name = "high", .priority = 100, .gpus = 2});
  w.turn();
}

TEST(Evictions, TheConditionIsOnEveryPodBeforeAnyIsDeleted) {
  World w;
  fill_and_preempt(w);
  const auto marks = w.take(Step::kMark);
  ASSERT_EQ(marks.size(), 2u);
  for (const auto& mark : marks) {
    EXPECT_EQ(condition_field(mark, "type"), "DisruptionTarget");
    EXPECT_EQ(condition_field(mark, "status"), "True");
    EXPECT_EQ(condition_field(mark, "reason"), "PreemptionByScheduler");
    EXPECT_NE(condition_field(mark, "message").find("default/high"), std::string::npos);
    EXPECT_EQ(mark.write_class, kube::WriteClass::kBind);
  }
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.answer(Step::kMark, "a", Outcome::kOk);
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.answer(Step::kMark, "b", Outcome::kUnavailable);
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.pass(kMinute);
  EXPECT_EQ(w.only(Step::kMark), "b");
  w.answer(Step::kMark, "b", Outcome::kOk);
  const auto deletes = w.take(Step::kDelete);
  ASSERT_EQ(deletes.size(), 2u);
  EXPECT_EQ(deletes[0].uid, uid_of("a"));
  EXPECT_EQ(deletes[1].uid, uid_of("b"));
  // The room is given when both are gone, not before.
  w.answer(Step::kDelete, "a", Outcome::kOk);
  w.answer(Step::kDelete, "b", Outcome::kOk);
  w.pod_gone("a");
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pod_gone("b");
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "high");
  EXPECT_TRUE(w.core->engine().audit());
}

TEST(Evictions, AVictimThatIsGoneAlreadyIsGone) {
  World w;
  fill_and_preempt(w);
  w.take(Step::kMark);
  w.answer(Step::kMark, "a", Outcome::kNotFound);
  w.answer(Step::kMark, "b", Outcome::kOk);
  w.take(Step::kDelete);
  w.answer(Step::kDelete, "b", Outcome::kConflict, "uid mismatch");
  EXPECT_EQ(w.only(Step::kBind), "high");
}

TEST(Evictions, ADeleteOfUnknownOutcomeIsSentAgain) {
  World w;
  fill_and_preempt(w);
  w.take(Step::kMark);
  w.pod_gone("b");  // it ended by itself: the withdrawal does not wait for its mark
  w.turn();
  w.answer(Step::kMark, "a", Outcome::kOk);
  EXPECT_EQ(w.only(Step::kDelete), "a");
  w.answer(Step::kDelete, "a", Outcome::kUnknown);
  w.pass(kMinute);
  EXPECT_EQ(w.only(Step::kDelete), "a");
}

TEST(Evictions, AVictimWhoseBindIsOnItsWayIsAwaited) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "low"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "low");
  w.pod({.name = "high", .priority = 100});
  w.turn();
  EXPECT_TRUE(w.take(Step::kMark).empty());
  // The watch shows the bind before its answer: it is ending all the same.
  w.pod({.name = "low", .node = "n1"});
  w.turn();
  EXPECT_EQ(w.slot(uid_of("low")), SlotState::kReleasing);
  w.answer(Step::kBind, "low", Outcome::kOk);
  EXPECT_EQ(w.only(Step::kMark), "low");
  w.answer(Step::kMark, "low", Outcome::kOk);
  EXPECT_EQ(w.only(Step::kDelete), "low");
  w.answer(Step::kDelete, "low", Outcome::kOk);
  w.pod_gone("low");
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "high");
}

TEST(Evictions, AVictimWhoseBindFailsIsNotDeleted) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "low"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "low");
  w.pod({.name = "high", .priority = 100});
  w.turn();
  w.answer(Step::kBind, "low", Outcome::kUnavailable);
  EXPECT_TRUE(w.take(Step::kMark).empty());
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  EXPECT_EQ(w.only(Step::kBind), "high");
}

TEST(Evictions, APodThatIsEndingIsNotTakenAsRunningAgain) {
  World w;
  fill_and_preempt(w);
  w.take(Step::kMark);
  w.pod({.name = "a", .gang = "low", .size = 2, .node = "n1", .priority = 0});  // some other change of it
  w.turn();
  EXPECT_EQ(w.core->carrier().places().evictions(), 2u);
  EXPECT_TRUE(w.take(Step::kBind).empty());
  EXPECT_TRUE(w.core->engine().audit());
}

// ---------------------------------------------------------------------------------------------------------------- recovery

TEST(Recovery, AHalfBoundGangIsCompletedBeforeAnythingElse) {
  World w;
  w.node("n1", 2);
  w.pod({.name = "a", .gang = "g", .size = 2, .node = "n1"});
  w.pod({.name = "b", .gang = "g", .size = 2});
  w.pod({.name = "urgent", .priority = 1000});  // would take the last device
  w.recover();
  const auto binds = w.take(Step::kBind);
  ASSERT_GE(binds.size(), 1u);
  EXPECT_EQ(binds[0].uid, uid_of("b"));
}

TEST(Recovery, AHalfBoundGangWithoutRoomIsWithdrawnBeforeAnythingElse) {
  World w;
  w.node("n1", 1);
  w.pod({.name = "a", .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.pod({.name = "b", .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.pod({.name = "c"});
  w.recover();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  EXPECT_EQ(w.only(Step::kMark), "a");
  w.answer(Step::kMark, "a", Outcome::kOk);
  EXPECT_EQ(w.only(Step::kDelete), "a");
  w.pod_gone("a");
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "c");
}

// The one before was killed between the deletes of two pods of a gang: the first is gone and made anew, the others know.
TEST(Recovery, AnEvictionThatWasCutShortGoesOn) {
  World w;
  w.node("n1", 3);
  const std::string why = "preempted by default/high, which ranks higher (for default/high)";
  w.pod({.name = "b", .gang = "low", .size = 3, .owner = "ReplicaSet", .node = "n1", .eviction = why});
  w.pod({.name = "c",
         .gang = "low",
         .size = 3,
         .owner = "ReplicaSet",
         .node = "n1",
         .deleting = true,
         .eviction = why});
  w.pod({.name = "again", .gang = "low", .size = 3, .owner = "ReplicaSet"});
  w.pod({.name = "high", .priority = 100, .gpus = 3});
  w.recover();
  EXPECT_TRUE(w.take(Step::kBind).empty());  // the gang is not completed
  EXPECT_TRUE(w.take(Step::kMark).empty());  // it was told already
  EXPECT_EQ(w.only(Step::kDelete), "b");
  w.answer(Step::kDelete, "b", Outcome::kOk);
  w.pod_gone("b");
  w.turn();
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pod_gone("c");
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "high");
  EXPECT_TRUE(w.core->engine().audit());
}

// Killed while the conditions were written: nothing is deleted yet, and only some of the gang know. Bare pods too.
TEST(Recovery, AnEvictionThatWasOnlyAnnouncedInPartTakesTheWholeGang) {
  World w;
  w.node("n1", 2);
  w.pod({.name = "a",
         .gang = "low",
         .size = 2,
         .node = "n1",
         .eviction = "preempted by default/high, which ranks higher"});
  w.pod({.name = "b", .gang = "low", .size = 2, .node = "n1"});
  w.recover();
  const auto marks = w.take(Step::kMark);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].uid, uid_of("b"));
  EXPECT_EQ(condition_field(marks[0], "message"), "preempted by default/high, which ranks higher");
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.answer(Step::kMark, "b", Outcome::kOk);
  EXPECT_EQ(w.take(Step::kDelete).size(), 2u);
}

TEST(Recovery, OfAGangThatShrinksWhatIsLeftStays) {
  World w;
  w.node("n1", 3);
  for (const char* name : {"a", "b"}) w.pod({.name = name, .gang = "g", .size = 2, .node = "n1"});
  w.pod({.name = "c",
         .gang = "g",
         .size = 2,
         .node = "n1",
         .eviction = "preempted by default/high, which ranks higher"});
  w.recover();
  EXPECT_EQ(w.only(Step::kDelete), "c");
  EXPECT_TRUE(w.take(Step::kMark).empty());
  EXPECT_EQ(w.slot("Gang/berth/default/g", 0), SlotState::kRunning);
}

TEST(Recovery, BarePodsOfAHalfBoundGangKeepTheirRoom) {
  World w;
  w.node("n1", 1);
  w.pod({.name = "a", .gang = "g", .size = 2, .node = "n1"});
  w.pod({.name = "b", .gang = "g", .size = 2});
  w.recover();
  EXPECT_TRUE(w.take(Step::kMark).empty());
  EXPECT_TRUE(w.take(Step::kDelete).empty());
  w.node("n2", 1);
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "b");
}

TEST(Recovery, WholeGangsAndPodsThatEndAreLeftAlone) {
  World w;
  w.node("n1", 8);
  for (const char* name : {"a", "b"})
    w.pod({.name = name, .gang = "g", .size = 2, .owner = "ReplicaSet", .node = "n1"});
  w.pod({.name = "ending", .node = "n1", .deleting = true});
  w.recover();
  EXPECT_TRUE(w.peek().empty());
  EXPECT_EQ(w.slot(uid_of("ending")), SlotState::kReleasing);
  EXPECT_TRUE(w.core->engine().audit());
}

TEST(Recovery, AGangThatLacksPodsIsNotWithdrawn) {
  World w;
  w.node("n1", 8);
  w.pod({.name = "a",
         .gang = "g",
         .size = 2,
         .owner = "ReplicaSet",
         .node = "n1"});  // its controller makes b again
  w.recover();
  EXPECT_TRUE(w.take(Step::kMark).empty());
  w.pod({.name = "b", .gang = "g", .size = 2, .owner = "ReplicaSet"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "b");
}

}  // namespace
}  // namespace berth::scheduler::testing
