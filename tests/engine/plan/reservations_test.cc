// Old work has room reserved where it can be whole soonest; all others start beside that room (engine/decide/old_work.h).
#include <gtest/gtest.h>

#include <optional>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr DurationMs kAgeLimit = kHour;
constexpr TimeMs kOld = 2 * kAgeLimit;

struct OldWorld {
  Engine e;
  OldWorld() { ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}})); }

  void nodes(std::initializer_list<std::pair<const char*, int>> all) {
    for (const auto& [name, gpus] : all) ok(e.apply(gpu_node(name, gpus)));
  }
  void queue(const std::string& name, std::int64_t gpus, const std::string& parent = "", bool old = true,
             PreemptionPolicy preemption = {}) {
    Event event = gpu_queue(name, parent, gpus, {});
    Queue& q = std::get<QueueUpsert>(event).queue;
    q.order = QueueOrder::kBestEffort;
    q.ordering.age_limit = old ? kAgeLimit : 0;
    q.preemption = preemption;
    ok(e.apply(event));
  }
  void submit(const std::string& uid, int count, int gpus, TimeMs created,
              std::optional<DurationMs> expected = {}, std::int64_t priority = 0,
              const std::string& queue = "q") {
    Workload w = gang_workload(uid, count, gpus, priority, queue);
    w.created = created;
    w.expected_duration = expected;
    ok(e.apply(WorkloadUpsert{w}));
  }
  void gone(const std::string& uid) { ok(e.apply(WorkloadRemove{uid})); }
  std::string node(const std::string& uid) const {
    const auto slot = e.slot(uid, 0, 0);
    return slot->state == SlotState::kBinding ? std::string(slot->node) : "";
  }
  std::string reserved_for(const std::string& uid) const {
    const Reason why = e.verdict(uid)->reason;
    for (const Reason& child : why.children) {
      if (child.code == ReasonCode::kReserved) return child.subject;
    }
    return "";
  }
};

// Two nodes of 8 GPUs, each half full; an old workload wants a whole one.
struct TwoNodes : OldWorld {
  TwoNodes(DurationMs on_n1, DurationMs on_n2, std::int64_t quota = 100) {
    queue("q", quota);
    nodes({{"n1", 8}});
    submit("one", 1, 4, 1, on_n1);
    e.decide(1);
    nodes({{"n2", 8}});
    ok(e.apply(cordoned("n1", 8, true)));
    submit("two", 1, 4, 2, on_n2);
    e.decide(2);
    ok(e.apply(cordoned("n1", 8, false)));
    submit("old", 1, 8, 3);
    e.decide(3);
    e.decide(kOld);
  }
  static Event cordoned(const std::string& name, int gpus, bool is) {
    Event event = gpu_node(name, gpus);
    std::get<NodeUpsert>(event).node.unschedulable = is;
    return event;
  }
};

TEST(Reservations, OthersStartBesideTheNodeThatIsFreeSoonest) {
  for (const bool first : {true, false}) {
    TwoNodes w(first ? 3 * kHour : 9 * kHour, first ? 9 * kHour : 3 * kHour);
    ASSERT_EQ(w.node("one"), "n1");
    ASSERT_EQ(w.node("two"), "n2");
    w.submit("small", 1, 2, kOld);
    w.submit("next", 1, 2, kOld + 1);
    w.submit("last", 1, 2, kOld + 2);
    w.e.decide(kOld + 2);
    EXPECT_EQ(w.node("small"), first ? "n2" : "n1");
    EXPECT_EQ(w.node("next"), first ? "n2" : "n1");
    EXPECT_EQ(w.node("last"), "") << "what is free on the other node is reserved";
    EXPECT_EQ(w.reserved_for("last"), "old");
    w.gone(first ? "one" : "two");
    w.e.decide(kOld + 3);
    EXPECT_EQ(w.node("old"), first ? "n1" : "n2");
    EXPECT_EQ(w.node("last"), "");
  }
}

TEST(Reservations, WithoutKnownRunTimesTheYoungestIsTakenToEndFirst) {
  OldWorld w;
  w.queue("q", 100);
  w.nodes({{"n1", 8}});
  w.submit("long", 1, 4, 1);
  w.e.decide(1);
  w.nodes({{"n2", 8}});
  w.submit("late", 1, 8, kHour);
  w.e.decide(kHour);
  ASSERT_EQ(w.node("late"), "n2");
  w.submit("old", 1, 8, kHour);
  w.e.decide(kHour);
  w.e.decide(3 * kHour);
  w.submit("small", 1, 4, 3 * kHour);
  w.e.decide(3 * kHour);
  EXPECT_EQ(w.node("small"), "n1");
}

TEST(Reservations, AGangHasItsNodesOneAfterTheOther) {
  OldWorld w;
  w.queue("q", 100);
  w.nodes({{"n1", 8}, {"n2", 8}, {"n3", 8}});
  for (int i = 0; i < 3; ++i) w.submit("run" + std::to_string(i), 1, 8, 1 + i, (4 + i) * kHour);
  w.e.decide(10);
  w.submit("old", 2, 8, 11);
  w.e.decide(11);
  w.e.decide(kOld);
  for (int i = 0; i < 3; ++i) {
    w.submit("small" + std::to_string(i), 1, 1, kOld + i);
    w.e.decide(kOld + i);
    EXPECT_EQ(w.node("small" + std::to_string(i)), "");
  }
  const std::string third = w.node("run2");
  w.gone("run0");  // the first of its nodes stays empty
  w.e.decide(kOld + 10);
  EXPECT_EQ(w.node("small0"), "");
  EXPECT_EQ(w.reserved_for("small0"), "old");
  w.gone("run2");  // this node is not one of them
  w.e.decide(kOld + 20);
  // All are free that it needs, on whichever nodes: it is whole.
  EXPECT_NE(w.node("old"), "");
  w.gone("run1");
  w.e.decide(kOld + 30);
  EXPECT_NE(w.node("small0"), "");
  EXPECT_FALSE(third.empty());
}

TEST(Reservations, WhatIsLeftOfANodeIsForOthers) {
  OldWorld w;
  w.queue("q", 100);
  w.nodes({{"n1", 8}});
  w.submit("running", 1, 6, 1, 5 * kHour);
  w.e.decide(1);
  w.submit("old", 1, 4, 2);
  w.e.decide(2);
  w.e.decide(kOld);
  w.submit("two", 1, 2, kOld);
  w.e.decide(kOld);
  EXPECT_EQ(w.node("two"), "") << "the two that are free are reserved";
  w.nodes({{"n2", 2}});
  w.e.decide(kOld + 1);
  EXPECT_EQ(w.node("two"), "n2");
  w.submit("four", 1, 4, kOld + 2);
  w.gone("running");
  w.e.decide(kOld + 2);
  EXPECT_EQ(w.node("old"), "n1");
  EXPECT_EQ(w.node("four"), "n1");
}

TEST(Reservations, HigherPriorityTakesTheRoomAllTheSame) {
  TwoNodes w(3 * kHour, 9 * kHour);
  w.submit("high", 1, 4, kOld, {}, 1);
  w.submit("higher", 1, 4, kOld, {}, 1);
  w.e.decide(kOld);
  EXPECT_NE(w.node("high"), "");
  EXPECT_NE(w.node("higher"), "");
}

TEST(Reservations, WorkOfOtherQueuesStartsBesideItToo) {
  for (const bool borrows : {false, true}) {
    OldWorld w;
    ok(w.e.apply(cohort("all")));
    w.queue("q", borrows ? 0 : 6, "all");
    w.queue("other", 100, "all", false);
    w.nodes({{"n1", 8}});
    w.submit("running", 1, 6, 1, {}, 0, "other");
    w.e.decide(1);
    w.submit("old", 1, 6, 2);
    w.e.decide(2);
    w.e.decide(kOld);
    w.submit("young", 1, 2, kOld, {}, 0, "other");
    w.e.decide(kOld);
    ASSERT_EQ(w.node("old"), "");
    // Within its own quota it waits for no old work that would borrow.
    EXPECT_EQ(w.node("young"), borrows ? "n1" : "") << to_text(w.e.verdict("young")->reason);
    EXPECT_EQ(w.reserved_for("young"), borrows ? "" : "old");
  }
}

TEST(Reservations, EndWithTheOldWork) {
  TwoNodes w(3 * kHour, 9 * kHour);
  w.submit("other", 1, 4, kOld);
  w.submit("small", 1, 4, kOld + 1);
  w.e.decide(kOld + 1);
  ASSERT_EQ(w.node("other"), "n2");
  ASSERT_EQ(w.node("small"), "");
  w.gone("old");
  w.e.decide(kOld + 2);
  EXPECT_EQ(w.node("small"), "n1");
}

TEST(Reservations, MoveWhenTheirNodeIsLost) {
  TwoNodes w(3 * kHour, 9 * kHour);
  w.submit("small", 1, 4, kOld);
  w.e.decide(kOld);
  ASSERT_EQ(w.node("small"), "n2");
  w.gone("small");
  ok(w.e.apply(NodeRemove{"n1"}));
  w.e.decide(kOld + 1);
  w.submit("late", 1, 4, kOld + 2);
  w.e.decide(kOld + 2);
  EXPECT_EQ(w.node("late"), "");
  EXPECT_EQ(w.reserved_for("late"), "old");
}

TEST(Reservations, NothingYieldsForRoomThatIsReserved) {
  OldWorld w;
  w.queue("q", 100, "", true, {WithinQueue::kLowerPriority});
  w.nodes({{"n1", 8}});
  w.submit("high", 1, 4, 1, {}, 5);
  w.submit("low", 1, 2, 1, {}, 0);
  w.e.decide(1);
  w.submit("old", 1, 8, 2, {}, 3);
  w.e.decide(2);
  w.e.decide(kOld);
  ASSERT_EQ(w.node("old"), "");
  // It would fit but for the reservation: nothing ends for it.
  w.submit("young", 1, 2, kOld, {}, 2);
  EXPECT_TRUE(w.e.decide(kOld).empty());
  EXPECT_EQ(w.reserved_for("young"), "old");
}

TEST(Reservations, OfQuotaAddUpToo) {
  OldWorld w;
  w.queue("q", 8);
  w.nodes({{"n1", 16}});
  w.submit("a", 1, 3, 1);
  w.submit("b", 1, 3, 1);
  w.e.decide(1);
  w.submit("old", 1, 5, 2);
  w.e.decide(2);
  w.e.decide(kOld);
  w.submit("small", 1, 1, kOld);
  w.e.decide(kOld);
  EXPECT_EQ(w.node("small"), "");
  EXPECT_EQ(w.reserved_for("small"), "old");
  w.gone("a");
  w.e.decide(kOld + 1);
  EXPECT_NE(w.node("old"), "");
  EXPECT_EQ(w.node("small"), "");
  w.gone("b");
  w.e.decide(kOld + 2);
  EXPECT_NE(w.node("small"), "");
}

// A stream of small work that never ends would keep a gang out for ever.
TEST(Reservations, AStreamOfSmallWorkEndsForAGang) {
  OldWorld w;
  w.queue("q", 1000);
  w.nodes({{"n1", 8}, {"n2", 8}, {"n3", 8}, {"n4", 8}});
  std::vector<std::pair<TimeMs, std::string>> ends;
  w.submit("gang", 3, 8, 1);
  int next = 0;
  TimeMs now = 1;
  for (; now < 6 * kAgeLimit && w.node("gang").empty(); now += kMinute) {
    for (const auto& [at, uid] : ends) {
      if (at <= now) w.gone(uid);
    }
    std::erase_if(ends, [&](const auto& end) { return end.first <= now; });
    if (now == 1) w.submit("first", 1, 8, 0);
    for (int i = 0; i < 4; ++i) {
      const std::string uid = "s" + std::to_string(next++);
      w.submit(uid, 1, 2, now);
    }
    for (const Decision& d : w.e.decide(now)) {
      if (d.kind == DecisionKind::kStart && d.workload != "gang")
        ends.emplace_back(now + 7 * kMinute + next % 5 * kMinute, d.workload);
    }
  }
  EXPECT_FALSE(w.node("gang").empty());
  EXPECT_LT(now, kAgeLimit + kHour);
}

}  // namespace
}  // namespace berth::engine
