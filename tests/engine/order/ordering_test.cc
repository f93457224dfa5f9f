// The order of a queue, without starvation.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// A queue of its own on one node, and a clock: what starts runs for its time, and ends.
class OrderingWorld {
 public:
  OrderingWorld(int gpus, const Ordering& ordering, PreemptionPolicy preemption = {}) {
    ok(engine_.apply(gpu_node("n0", gpus)));
    ok(engine_.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
    Event event = gpu_queue("q", "", gpus, preemption);
    std::get<QueueUpsert>(event).queue.ordering = ordering;
    ok(engine_.apply(event));
  }

  // A job of `gpus` that runs for `runs`; `expected`: what the engine is told, nothing where negative.
  void submit(const std::string& name, int gpus, DurationMs runs, DurationMs expected = -1,
              std::int64_t priority = 0, WorkloadKind kind = WorkloadKind::kTraining) {
    Workload w = gang_workload(name, 1, gpus, priority, "q");
    w.created = now_;
    w.kind = kind;
    w.restart.checkpoint_every = checkpoints ? 1 : 0;
    w.restart.overhead = overhead;
    if (expected >= 0) w.expected_duration = expected;
    left_[name] = runs;
    ok(engine_.apply(WorkloadUpsert{w}));
  }

  // Goes on to `until`, deciding at every end, at every time that the engine names, and at `until`.
  void run(TimeMs until) {
    while (true) {
      take(engine_.decide(now_));
      TimeMs next = std::min(until, std::max(now_ + 1, engine_.next_time()));
      for (const auto& [name, began] : running_) next = std::min(next, std::max(now_, began + left_[name]));
      const bool done = next >= until;
      now_ = next;
      std::vector<std::string> ended;
      for (const auto& [name, began] : running_) {
        if (began + left_[name] <= now_) ended.push_back(name);
      }
      for (const std::string& name : ended) {
        running_.erase(name);
        ok(engine_.apply(WorkloadRemove{name}));
      }
      if (done) break;
    }
    take(engine_.decide(now_));
    ok(engine_.audit());
  }

  TimeMs now() const { return now_; }
  bool runs(const std::string& name) const { return running_.count(name) > 0; }
  // Names in the order of their first starts.
  const std::vector<std::string>& started() const { return started_; }
  int evictions() const { return evictions_; }
  DurationMs overhead = 0;  // of jobs that are submitted from here on, as the engine is told
  bool checkpoints = true;  // the same; without, an eviction loses all that was done
  Engine& engine() { return engine_; }

 private:
  void take(const std::vector<Decision>& decisions) {
    for (const Decision& d : decisions) {
      if (d.kind == DecisionKind::kStart) {
        if (std::find(started_.begin(), started_.end(), d.workload) == started_.end())
          started_.push_back(d.workload);
        running_[d.workload] = now_;
      }
      if (d.kind != DecisionKind::kEvict) continue;
      ++evictions_;
      if (checkpoints) left_[d.workload] -= now_ - running_[d.workload];
      running_.erase(d.workload);
      ok(engine_.apply(SlotUpdate{d.workload, 0, 0, SlotState::kGone, ""}));
      ok(engine_.apply(SlotUpdate{d.workload, 0, 0, SlotState::kWaiting, ""}));
      again_ = true;
    }
    if (again_) {
      again_ = false;
      take(engine_.decide(now_));
    }
  }

  Engine engine_;
  TimeMs now_ = 1000;
  std::map<std::string, DurationMs> left_;
  std::map<std::string, TimeMs> running_;
  std::vector<std::string> started_;
  int evictions_ = 0;
  bool again_ = false;
};

Ordering by(OrderBy what, std::optional<DurationMs> age_limit = std::nullopt) {
  Ordering o;
  o.by = what;
  o.age_limit = age_limit;
  return o;
}

using Names = std::vector<std::string>;

TEST(OrderInQueue, ShortestFirstAndUnknownLast) {
  OrderingWorld w(1, by(OrderBy::kDuration));
  w.submit("first", 1, kMinute);
  w.run(w.now() + 1);
  w.submit("unknown", 1, kMinute);
  w.submit("long", 1, kMinute, 3 * kHour);
  w.submit("short", 1, kMinute, kHour);
  w.submit("medium", 1, kMinute, 2 * kHour);
  w.run(w.now() + kHour);
  EXPECT_EQ(w.started(), (Names{"first", "short", "medium", "long", "unknown"}));
}

TEST(OrderInQueue, PriorityRanksBeforeTheKeyOrBehindIt) {
  for (const bool first : {true, false}) {
    Ordering o = by(OrderBy::kDuration);
    o.priority_first = first;
    OrderingWorld w(1, o);
    w.submit("busy", 1, kMinute);
    w.run(w.now() + 1);
    w.submit("short", 1, kMinute, kHour, 0);
    w.submit("important", 1, kMinute, 2 * kHour, 5);
    w.run(w.now() + kHour);
    EXPECT_EQ(w.started(),
              first ? (Names{"busy", "important", "short"}) : (Names{"busy", "short", "important"}));
  }
}

TEST(OrderInQueue, TiersPutServicesBeforeTrainingBeforeBatch) {
  Ordering o;
  o.tiers = Tiers::kByKind;
  OrderingWorld w(1, o);
  w.submit("busy", 1, kMinute);
  w.run(w.now() + 1);
  w.submit("batch", 1, kMinute, -1, 100, WorkloadKind::kBatch);
  w.submit("training", 1, kMinute, -1, 0, WorkloadKind::kTraining);
  w.submit("service", 1, kMinute, -1, -100, WorkloadKind::kService);
  w.run(w.now() + kHour);
  EXPECT_EQ(w.started(), (Names{"busy", "service", "training", "batch"}));
}

TEST(OrderInQueue, TiersDecideAboutVictims) {
  Ordering o;
  o.tiers = Tiers::kByKind;
  OrderingWorld w(1, o, {WithinQueue::kLowerPriority, Reclaim::kNever});
  w.submit("training", 1, 10 * kHour, -1, 100, WorkloadKind::kTraining);
  w.run(w.now() + kMinute);
  w.submit("service", 1, kHour, -1, 0, WorkloadKind::kService);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("service"));
  EXPECT_EQ(w.evictions(), 1);
  w.submit("training again", 1, kHour, -1, 100, WorkloadKind::kTraining);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("service"));
}

TEST(OrderInQueue, AChangeOfRulesLinesUpAgain) {
  OrderingWorld w(1, by(OrderBy::kCreation));
  w.submit("busy", 1, kMinute);
  w.run(w.now() + 1);
  w.submit("older", 1, kMinute, 2 * kHour);
  w.submit("shorter", 1, kMinute, kHour);
  w.run(w.now() + 1);
  Event event = gpu_queue("q", "", 1, {});
  std::get<QueueUpsert>(event).queue.ordering = by(OrderBy::kDuration);
  ok(w.engine().apply(event));
  w.run(w.now() + kHour);
  EXPECT_EQ(w.started(), (Names{"busy", "shorter", "older"}));
}

TEST(OrderInQueue, LeastAttainedAfterAnEviction) {
  Ordering o = by(OrderBy::kAttained);
  o.attained_first = kMinute;
  OrderingWorld w(1, o, {WithinQueue::kLowerPriority, Reclaim::kNever});
  w.submit("has had an hour", 1, 10 * kHour);
  w.run(w.now() + kHour);
  w.submit("urgent", 1, kHour, -1, 1);
  w.run(w.now() + kMinute);
  ASSERT_TRUE(w.runs("urgent"));
  w.submit("fresh", 1, kMinute);
  w.run(w.now() + kHour);
  EXPECT_TRUE(w.runs("has had an hour"));
  EXPECT_EQ(w.started(), (Names{"has had an hour", "urgent", "fresh"}));
}

// Small preferred jobs arrive without end and keep the node full. A job of the whole node gets its turn within the age limit
// and the run time of what runs then, and never without a limit.
class Starvation : public ::testing::TestWithParam<OrderBy> {};

TEST_P(Starvation, IsBoundedByTheAgeLimit) {
  constexpr DurationMs kOldAfter = 5 * kHour;
  constexpr DurationMs kRun = 30 * kMinute;
  for (const DurationMs limit : {DurationMs{0}, kOldAfter}) {
    OrderingWorld w(8, by(GetParam(), limit));
    const auto small = [&](int i) { w.submit("small " + std::to_string(i), 1, kRun, kRun); };
    int next = 0;
    for (; next < 8; ++next) {
      small(next);
      w.run(w.now() + kMinute);
    }
    const TimeMs submitted = w.now();
    w.submit("large", 8, 2 * kHour, 2 * kHour);
    TimeMs begin = 0;
    while (w.now() < submitted + 20 * kHour && begin == 0) {
      small(next++);
      w.run(w.now() + 3 * kMinute);
      if (w.runs("large")) begin = w.now();
    }
    if (limit == 0) {
      EXPECT_EQ(begin, 0) << "without a limit it starves";
    } else {
      ASSERT_GT(begin, 0) << "it starved";
      EXPECT_LE(begin, submitted + limit + kRun + 3 * kMinute);
      EXPECT_GT(begin, submitted + limit - kMinute) << "it was not preferred before";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Starvation,
                         ::testing::Values(OrderBy::kCreation, OrderBy::kDuration, OrderBy::kRemaining,
                                           OrderBy::kAttained, OrderBy::kAttainedLevels),
                         [](const auto& test) {
                           std::string name(enum_name(test.param));
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

constexpr PreemptionPolicy kByOrder{WithinQueue::kLaterInOrder, Reclaim::kNever};

TEST(LaterInOrder, TheShortestRemainingRunsAndTheLongOneComesBackOnce) {
  OrderingWorld w(1, by(OrderBy::kRemaining, 0), kByOrder);
  w.submit("long", 1, 10 * kHour, 10 * kHour);
  w.run(w.now() + kHour);
  w.submit("nine hours and a bit", 1, 9 * kHour + kMinute, 9 * kHour + kMinute);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("long")) << "it has less left";
  w.submit("short", 1, kHour, kHour);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("short"));
  w.run(w.now() + kHour);
  EXPECT_TRUE(w.runs("long")) << "what it did is kept, so it goes on first";
  w.run(w.now() + 30 * kHour);
  EXPECT_EQ(w.evictions(), 1);
  EXPECT_EQ(w.started().size(), 3u);
}

TEST(LaterInOrder, NothingIsPreemptedForLessThanItsRestartCosts) {
  OrderingWorld w(1, by(OrderBy::kRemaining, 0), kByOrder);
  w.overhead = 20 * kMinute;
  w.submit("running", 1, 2 * kHour, 2 * kHour);
  w.run(w.now() + kMinute);
  w.submit("a little shorter", 1, 100 * kMinute, 100 * kMinute);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("running")) << "119 minutes against 100 and 20";
  w.submit("much shorter", 1, 90 * kMinute, 90 * kMinute);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("much shorter"));
}

TEST(LaterInOrder, AParkedClassIsTriedAgainForANewFirstMember) {
  OrderingWorld w(1, by(OrderBy::kRemaining, 0), kByOrder);
  w.submit("running", 1, 2 * kHour, 2 * kHour);
  w.run(w.now() + kMinute);
  w.submit("longer", 1, 5 * kHour, 5 * kHour);
  w.run(w.now() + kMinute);
  w.submit("shorter", 1, kHour, kHour);  // alike, so of the same class
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("shorter"));
}

TEST(LaterInOrder, OldWorkIsNotPreemptedByTheOrder) {
  OrderingWorld w(1, by(OrderBy::kRemaining, 2 * kHour), kByOrder);
  int next = 0;
  w.submit("long", 1, kHour, kHour);
  w.run(w.now() + kMinute);
  for (; next < 30; ++next) {
    w.submit("short " + std::to_string(next), 1, 10 * kMinute, 10 * kMinute);
    w.run(w.now() + 5 * kMinute);
  }
  EXPECT_TRUE(w.runs("long"));
  EXPECT_EQ(w.evictions(), 1) << "once, and never again after two hours of waiting";
}

// Two long jobs of unknown run time take turns on one GPU. In steps of an hour they do so all the time, in levels only where
// one of them climbs; in both each eviction is far apart, and both end.
TEST(LaterInOrder, AttainedServiceIsEvenedOutWithoutThrashing) {
  for (const OrderBy what : {OrderBy::kAttained, OrderBy::kAttainedLevels}) {
    Ordering o = by(what, 0);
    o.attained_first = kHour;
    OrderingWorld w(1, o, kByOrder);
    w.submit("a", 1, 20 * kHour);
    w.run(w.now() + 30 * kMinute);
    w.submit("b", 1, 20 * kHour);
    w.run(w.now() + kMinute);
    EXPECT_TRUE(w.runs("a")) << "both are in the first level";
    w.run(w.now() + kHour);
    EXPECT_TRUE(w.runs("b")) << "a has had its hour";
    w.run(w.now() + 39 * kHour);
    EXPECT_GE(w.evictions(), 2);
    EXPECT_LE(w.evictions(), what == OrderBy::kAttained ? 40 : 4);
    EXPECT_FALSE(w.runs("a") || w.runs("b")) << "40 hours of work in a little more than 40 hours";
    EXPECT_TRUE(w.engine().workloads().empty());
  }
}

// Both wait for the age limit again and again while the other runs. A promotion that lasted for one age limit would never let
// work end that is longer and keeps nothing; here each is worth twice the one before.
TEST(LaterInOrder, ThePromotedKeepTheirSeatsLongerEachTime) {
  for (const OrderBy what : {OrderBy::kAttained, OrderBy::kAttainedLevels}) {
    Ordering o = by(what, kHour);
    o.attained_first = kHour;
    OrderingWorld w(1, o, kByOrder);
    w.checkpoints = false;
    w.submit("a", 1, 30 * kHour);
    w.submit("b", 1, 30 * kHour);
    w.run(w.now() + 150 * kHour);
    EXPECT_TRUE(w.engine().workloads().empty());
    EXPECT_LE(w.evictions(), 12);
    EXPECT_GE(w.evictions(), 4);
  }
}

TEST(LaterInOrder, APromotedSeatEndsWithItsLevelAndNotBefore) {
  Ordering o = by(OrderBy::kAttainedLevels, kHour);
  o.attained_first = 3 * kHour;
  OrderingWorld w(1, o, kByOrder);
  w.submit("a", 1, 100 * kHour);
  w.run(w.now() + kMinute);
  w.submit("b", 1, 100 * kHour);
  w.run(w.now() + kHour);
  ASSERT_TRUE(w.runs("b")) << "it was old, and a never was promoted";
  w.run(w.now() + 3 * kHour - 2 * kMinute);
  EXPECT_TRUE(w.runs("b")) << "a has been old for two hours";
  w.run(w.now() + 3 * kMinute);
  EXPECT_TRUE(w.runs("a"));
  EXPECT_EQ(w.evictions(), 2);
}

// A queue by levels of attained service, the first of which ends after an hour of a GPU, on so many.
void levels_on(Engine& e, int gpus) {
  ok(e.apply(gpu_node("n0", gpus)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  Event queue = gpu_queue("q", "", gpus, kByOrder);
  std::get<QueueUpsert>(queue).queue.ordering = by(OrderBy::kAttainedLevels, 0);
  ok(e.apply(queue));
}

// A level ends while nothing else happens: the engine names the time.
TEST(LaterInOrder, DemotionComesWithTimeAlone) {
  Engine e;
  levels_on(e, 2);
  Workload a = gang_workload("a", 1, 2, 0, "q");
  a.restart.checkpoint_every = 1;
  ok(e.apply(WorkloadUpsert{a}));
  EXPECT_EQ(e.decide(1000).size(), 1u);
  ok(e.apply(gang("b", 1, 2, 0, "q")));
  EXPECT_TRUE(e.decide(1000).empty());
  EXPECT_EQ(e.next_time(), 1000 + kHour / 2) << "two GPUs use up an hour of one in half the time";
  EXPECT_TRUE(e.decide(e.next_time() - 1).empty());
  const auto d = e.decide(e.next_time());
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].workload, "a");
  EXPECT_EQ(d[1].kind, DecisionKind::kHold);
  EXPECT_EQ(e.next_time(), kEndOfTime);
}

// The time of the question does not matter either: fractions of a unit of service are not lost.
TEST(LaterInOrder, DemotionIsNamedToTheMillisecondWheneverItIsAsked) {
  for (TimeMs asked = 1000; asked < 1012; ++asked) {
    Engine e;
    levels_on(e, 1);
    const auto part_of_a_gpu = [&](const std::string& name) {
      Workload w = gang_workload(name, 1, 1, 0, "q");
      w.root.pod_sets[0].pod.claim.requests[0].milli = 700;
      w.restart.checkpoint_every = 1;
      ok(e.apply(WorkloadUpsert{w}));
    };
    part_of_a_gpu("a");
    EXPECT_EQ(e.decide(1000).size(), 1u);
    part_of_a_gpu("b");
    EXPECT_TRUE(e.decide(asked).empty());
    EXPECT_EQ(e.next_time(), 1000 + 5'142'858) << "an hour of a GPU, at 0.7 of one; asked at " << asked;
    EXPECT_TRUE(e.decide(e.next_time() - 1).empty());
    EXPECT_EQ(e.decide(e.next_time()).size(), 2u);
  }
}

TEST(LaterInOrder, TheLastInLineYieldsFirstWhereTheQueueSaysSo) {
  for (const VictimOrder order : {VictimOrder::kCost, VictimOrder::kLatestInOrder}) {
    OrderingWorld w(2, by(OrderBy::kRemaining, 0),
                    {WithinQueue::kLaterInOrder, Reclaim::kNever, {}, {}, order});
    w.overhead = kHour;
    w.submit("very long and dear", 1, 90 * kHour, 90 * kHour);
    w.overhead = 0;
    w.submit("long and cheap", 1, 10 * kHour, 10 * kHour);
    w.run(w.now() + kMinute);
    w.submit("short", 1, kHour, kHour);
    w.run(w.now() + kMinute);
    EXPECT_TRUE(w.runs("short"));
    // Whichever is evicted first, the longest has to go in the end: taking the cheapest first is one eviction more.
    EXPECT_FALSE(w.runs("very long and dear"));
    EXPECT_TRUE(w.runs("long and cheap"));
    EXPECT_EQ(w.evictions(), order == VictimOrder::kCost ? 2 : 1);
  }
}

TEST(LaterInOrder, PriorityRanksFirst) {
  OrderingWorld w(1, by(OrderBy::kRemaining, 0), kByOrder);
  w.submit("important", 1, 10 * kHour, 10 * kHour, 1);
  w.run(w.now() + kMinute);
  w.submit("short", 1, kHour, kHour, 0);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("important"));
  w.submit("more important", 1, 20 * kHour, 20 * kHour, 2);
  w.run(w.now() + kMinute);
  EXPECT_TRUE(w.runs("more important"));
}

TEST(OrderInQueue, TheReasonNamesTheOldWorkThatHasTheReservation) {
  OrderingWorld w(2, by(OrderBy::kDuration, kHour));
  w.submit("running", 1, 10 * kHour, 10 * kHour);
  w.run(w.now() + kMinute);
  w.submit("large", 2, kHour, kHour);
  w.run(w.now() + 2 * kHour);
  w.submit("fills the gap", 1, kMinute, kMinute);
  w.submit("small", 1, 20 * kHour, 20 * kHour);
  w.run(w.now() + 2 * kMinute);
  EXPECT_EQ(w.started(), (Names{"running", "fills the gap"}));
  EXPECT_FALSE(w.runs("small"));
  const auto why = w.engine().verdict("small");
  ASSERT_TRUE(why.has_value());
  ASSERT_FALSE(why->reason.children.empty()) << to_text(why->reason);
  EXPECT_EQ(why->reason.children.back().code, ReasonCode::kReserved);
  EXPECT_EQ(why->reason.children.back().subject, "large");
}

TEST(OrderInQueue, NonsenseIsRefused) {
  Engine e;
  const auto refused = [&](auto&& change) {
    Event event = gpu_queue("q", "", 1);
    change(std::get<QueueUpsert>(event).queue);
    const auto status = e.apply(event);
    return !status && status.error().message.find("queue q") != std::string::npos;
  };
  EXPECT_TRUE(refused([](Queue& q) { q.ordering.age_limit = -1; }));
  EXPECT_TRUE(refused([](Queue& q) { q.ordering.attained_first = 0; }));
  EXPECT_TRUE(refused([](Queue& q) { q.ordering.attained_ratio = 1; }));
  EXPECT_TRUE(refused([](Queue& q) { q.ordering.attained_levels = 65; }));
  EXPECT_TRUE(refused([](Queue& q) { q.half_life = 0; }));
  EXPECT_FALSE(refused([](Queue&) {}));
}

}  // namespace
}  // namespace berth::engine
