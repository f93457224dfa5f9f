// Work that has waited for the age limit goes before all others, and has room reserved for it: unless it never can start.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr DurationMs kLimit = kMinute;

Event queue_q(std::int64_t gpus, QueueOrder order = QueueOrder::kBestEffort) {
  Event event = gpu_queue("q", "", gpus, {});
  Queue& q = std::get<QueueUpsert>(event).queue;
  q.order = order;
  q.ordering.age_limit = kLimit;
  return event;
}

// The same, with victims later in this order.
Event queue_by(OrderBy order, std::int64_t attained_first) {
  Event event = queue_q(1000);
  Queue& q = std::get<QueueUpsert>(event).queue;
  q.preemption.within = WithinQueue::kLaterInOrder;
  q.ordering.by = order;
  q.ordering.attained_first = attained_first;
  return event;
}

Engine with_nodes(std::initializer_list<std::pair<const char*, int>> nodes) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  for (const auto& [name, gpus] : nodes) ok(e.apply(gpu_node(name, gpus)));
  ok(e.apply(queue_q(1000)));
  return e;
}

Event job(const std::string& uid, int count, int gpus, TimeMs created) {
  Workload w = gang_workload(uid, count, gpus, 0, "q");
  w.created = created;
  return WorkloadUpsert{w};
}

bool runs(const Engine& e, const std::string& uid) {
  return e.slot(uid, 0, 0)->state == SlotState::kBinding;
}

// The reservation that a verdict names.
std::string reserved_for(const Engine& e, const std::string& uid) {
  const Reason why = e.verdict(uid)->reason;
  for (const Reason& child : why.children) {
    if (child.code == ReasonCode::kReserved) return child.subject;
  }
  return why.code == ReasonCode::kReserved ? why.subject : "";
}

// Becomes old, and finds no room for its two pods of 4 GPUs on a node of 4.
Engine with_an_old_gang_too_large() {
  Engine e = with_nodes({{"n1", 4}});
  ok(e.apply(job("old", 2, 4, 1)));
  e.decide(1);
  e.decide(2 * kLimit);
  return e;
}

TEST(OldWork, ReservesRoomWhileItCouldStart) {
  Engine e = with_nodes({{"n1", 4}});
  ok(e.apply(job("running", 1, 2, 1)));
  e.decide(1);
  ok(e.apply(job("old", 1, 4, 2)));
  e.decide(2 * kLimit);
  ok(e.apply(job("small", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  EXPECT_FALSE(runs(e, "small"));
  EXPECT_EQ(reserved_for(e, "small"), "old");
  ok(e.apply(WorkloadRemove{"running"}));
  e.decide(2 * kLimit + 1);
  EXPECT_TRUE(runs(e, "old"));
}

// With one limit for all, a gang that runs for days would hold up all others of its size after hours of waiting.
TEST(OldWork, ALongJobWaitsForTwiceItsRunTimeBeforeRoomIsReserved) {
  Engine e = with_nodes({{"n1", 4}});
  ok(e.apply(job("running", 1, 2, 1)));
  e.decide(1);
  Event old = job("old", 1, 4, 2);
  std::get<WorkloadUpsert>(old).workload.expected_duration = 5 * kLimit;
  ok(e.apply(old));
  e.decide(2 * kLimit);
  ok(e.apply(job("small", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  EXPECT_TRUE(runs(e, "small")) << "it has waited for two limits, and runs for five";
  e.decide(11 * kLimit);
  ok(e.apply(job("late", 1, 1, 11 * kLimit)));
  e.decide(11 * kLimit);
  EXPECT_FALSE(runs(e, "late"));
  EXPECT_EQ(reserved_for(e, "late"), "old");
}

// Work of the same kind tries for all of it together: when the first of them leaves its place in line to come back as an old one, the
// next one tries for them.
TEST(OldWork, IsWokenWhicheverTriedForItsKind) {
  Engine e = with_nodes({{"n1", 4}});
  Event preempting = queue_q(1000);
  std::get<QueueUpsert>(preempting).queue.preemption.within = WithinQueue::kLowerPriority;
  ok(e.apply(preempting));
  ok(e.apply(gang("running", 1, 4, 2, "q")));
  e.decide(1);
  Workload first = gang_workload("first", 1, 1, 1, "q");
  first.created = kLimit / 2;
  ok(e.apply(WorkloadUpsert{first}));
  ok(e.apply(job("second", 1, 1, 2)));
  for (const TimeMs now : {kLimit / 2, kLimit + 10, 2 * kLimit}) EXPECT_TRUE(e.decide(now).empty());
  EXPECT_EQ(e.verdict("second")->reason.code, ReasonCode::kNone);
  ok(e.apply(WorkloadRemove{"running"}));
  EXPECT_EQ(e.decide(3 * kLimit).size(), 2u);
  EXPECT_TRUE(runs(e, "first"));
  EXPECT_TRUE(runs(e, "second"));
}

TEST(OldWork, ReservesNothingWhereItNeverCanStart) {
  Engine e = with_an_old_gang_too_large();
  ok(e.apply(job("small", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  EXPECT_TRUE(runs(e, "small"));
}

TEST(OldWork, ReservesRoomOnceANodeIsThere) {
  Engine e = with_an_old_gang_too_large();
  ok(e.apply(job("first", 1, 3, 2 * kLimit)));
  e.decide(2 * kLimit);
  ASSERT_TRUE(runs(e, "first"));
  // One more node: with n1 it would be enough, if n1 were empty.
  ok(e.apply(gpu_node("n2", 4)));
  ok(e.apply(job("second", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit + 1);
  EXPECT_FALSE(runs(e, "second"));
  ok(e.apply(WorkloadRemove{"first"}));
  e.decide(2 * kLimit + 2);
  EXPECT_TRUE(runs(e, "old"));
}

TEST(OldWork, ReservesNothingWhenTheNodeIsLost) {
  Engine e = with_nodes({{"n1", 4}, {"n2", 4}});
  ok(e.apply(job("running", 1, 2, 1)));
  e.decide(1);
  ok(e.apply(job("old", 2, 4, 2)));
  ok(e.apply(job("small", 1, 3, 3)));  // may pass while the other is young, and finds room
  e.decide(2);
  ok(e.apply(WorkloadRemove{"small"}));
  e.decide(2 * kLimit);
  ok(e.apply(job("later", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  ASSERT_FALSE(runs(e, "later"));
  ok(e.apply(NodeRemove{"n2"}));
  e.decide(2 * kLimit + 1);
  EXPECT_TRUE(runs(e, "later"));
}

TEST(OldWork, PodSetsThatFitOnlyOneByOneReserveNothing) {
  Engine e = with_nodes({{"n1", 4}});
  Workload w = gang_workload("old", 1, 3, 0, "q");
  w.created = 1;
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  w.root.pod_sets[1].name = "second";
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(2 * kLimit);
  ok(e.apply(job("small", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  EXPECT_TRUE(runs(e, "small"));
}

TEST(OldWork, WhatOthersUseDoesNotCountAndForeignPodsDo) {
  Engine e = with_nodes({{"n1", 4}});
  ok(e.apply(ForeignPodUpsert{{"daemon", "n1", {}, {{"nvidia.com/gpu", 1, 1000}}}}));
  ok(e.apply(job("old", 1, 4, 1)));
  e.decide(2 * kLimit);
  ok(e.apply(job("small", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit);
  EXPECT_TRUE(runs(e, "small"));
  ok(e.apply(ForeignPodRemove{"daemon"}));
  ok(e.apply(job("next", 1, 1, 2 * kLimit)));
  e.decide(2 * kLimit + 1);
  EXPECT_FALSE(runs(e, "next"));  // without the daemon the old one could start
  ok(e.apply(WorkloadRemove{"small"}));
  e.decide(2 * kLimit + 2);
  EXPECT_TRUE(runs(e, "old"));
}

TEST(OldWork, IsAskedAboutOncePerKindAndConfiguration) {
  Engine e = with_nodes({{"n1", 4}});
  for (int i = 0; i < 100; ++i) ok(e.apply(job("old-" + std::to_string(i), 2, 4, 1)));
  e.decide(1);
  EXPECT_EQ(e.stats().empty_searches, 0);  // no work is old yet
  for (TimeMs t = 2 * kLimit; t < 3 * kLimit; t += kSecond) {
    ok(e.apply(job("passes", 1, 1, t)));
    e.decide(t);
    ok(e.apply(WorkloadRemove{"passes"}));
    e.decide(t);
  }
  EXPECT_EQ(e.stats().empty_searches, 1);
  ok(e.apply(gpu_node("n2", 2)));
  e.decide(3 * kLimit);
  EXPECT_EQ(e.stats().empty_searches, 2);
}

TEST(OldWork, InAStrictQueueOnlyWhatCanNeverRunByQuotaLetsOthersPass) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 8)));
  ok(e.apply(queue_q(4, QueueOrder::kStrict)));
  ok(e.apply(job("never", 1, 5, 1)));  // more than its queue can ever have: refused
  ok(e.apply(job("running", 1, 2, 2)));
  e.decide(3);
  EXPECT_EQ(e.verdict("never")->kind, VerdictKind::kRefused);
  ASSERT_TRUE(runs(e, "running"));
  ok(e.apply(job("head", 1, 4, 4)));  // waits for quota that others use: Kueue's StrictFIFO waits with it
  ok(e.apply(job("behind", 1, 1, 5)));
  e.decide(6);
  EXPECT_FALSE(runs(e, "behind"));
  EXPECT_EQ(e.verdict("behind")->reason.code, ReasonCode::kBehindHead);
}

void ends(Engine& e, const std::string& uid, int slots) {
  for (int i = 0; i < slots; ++i) ok(e.apply(SlotUpdate{uid, 0, i, SlotState::kGone, ""}));
  for (int i = 0; i < slots; ++i) ok(e.apply(SlotUpdate{uid, 0, i, SlotState::kWaiting, ""}));
}

TEST(OldWork, TheTimeThatItRanIsNoWaiting) {
  Engine e = with_nodes({{"n1", 4}});
  ok(e.apply(job("long", 1, 4, 1)));
  e.decide(1);
  ok(e.apply(SlotUpdate{"long", 0, 0, SlotState::kRunning, "n1"}));
  const TimeMs later = 10 * kLimit;
  Workload high = gang_workload("high", 1, 3, 10, "q");
  high.created = later;
  ok(e.apply(WorkloadUpsert{high}));
  ends(e, "long", 1);  // its pod failed
  e.decide(later);
  ASSERT_TRUE(runs(e, "high"));
  ok(e.apply(job("small", 1, 1, later + 2)));  // may pass: the work that lost its room is not old yet
  e.decide(later + 2);
  EXPECT_TRUE(runs(e, "small"));
  ok(e.apply(WorkloadRemove{"small"}));
  ok(e.apply(job("late", 1, 1, later + kLimit)));
  e.decide(later + kLimit);
  EXPECT_FALSE(runs(e, "late")) << "it has waited for the limit by now";
}

// Work that becomes old while it holds room starts as old work (and is promoted): otherwise it would be old, and in front of the
// one that it yielded to, the moment that it yields, and take the room back.
TEST(OldWork, WhatHoldsRoomGrowsOldToo) {
  Engine e = with_nodes({{"n1", 2}});
  ok(e.apply(queue_by(OrderBy::kAttainedLevels, 110 * kSecond)));
  const auto submit = [&](const std::string& uid, int gpus, TimeMs created) {
    Workload w = gang_workload(uid, 1, gpus, 0, "q");
    w.created = created;
    w.restart.checkpoint_every = kSecond;
    ok(e.apply(WorkloadUpsert{w}));
  };
  submit("x", 2, 10);
  e.decide(10);
  ok(e.apply(SlotUpdate{"x", 0, 0, SlotState::kRunning, "n1"}));
  submit("y", 1, 5);
  e.decide(59 * kSecond);
  ASSERT_EQ(e.slot("y", 0, 0)->state, SlotState::kHeld);
  ends(e, "x", 1);
  e.decide(61 * kSecond);  // a second after y came to be old
  ASSERT_TRUE(runs(e, "y"));
  ok(e.apply(SlotUpdate{"y", 0, 0, SlotState::kRunning, "n1"}));
  const auto decisions =
      e.decide(kLimit + 60 * kSecond);  // x is old, and y has not had what its promotion is worth
  EXPECT_TRUE(decisions.empty());
}

// Both are old in the decide() in which x starts: by then x is promoted, and y, which is older, must not have its place.
TEST(OldWork, IsPromotedInTheRoundInWhichItStarts) {
  Engine e = with_nodes({{"n1", 1}});
  ok(e.apply(queue_by(OrderBy::kAttained, 10 * kSecond)));
  ok(e.apply(job("y", 1, 1, 5)));
  e.decide(kLimit + 4);  // a millisecond before it would be old
  ASSERT_TRUE(runs(e, "y"));
  ok(e.apply(SlotUpdate{"y", 0, 0, SlotState::kRunning, "n1"}));
  ok(e.apply(job("x", 1, 1, 10)));
  e.decide(kLimit + 20 * kSecond);
  ASSERT_EQ(e.slot("x", 0, 0)->state, SlotState::kHeld);
  ends(e, "y", 1);
  const auto decisions = e.decide(kLimit + 21 * kSecond);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(runs(e, "x"));
}

}  // namespace
}  // namespace berth::engine
