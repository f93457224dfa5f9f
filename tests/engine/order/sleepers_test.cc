// Blocked work that is alike sleeps in groups: the first in line is tried for all of them, and none is passed over.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

Event free_queue(const std::string& name, WithinQueue within = WithinQueue::kNever) {
  Queue q;
  q.name = name;
  q.unlimited = true;
  q.preemption.within = within;
  return QueueUpsert{q};
}

Event created(TimeMs at, Workload w) {
  w.created = at;
  return WorkloadUpsert{std::move(w)};
}

std::vector<std::string> started(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const Decision& d : decisions) {
    if (d.kind == DecisionKind::kStart) out.push_back(d.workload);
  }
  return out;
}

// 200 kinds of waiting work in 50 queues ask for the same room: an end costs a few looks, and the order across the queues
// is by priority, then by creation.
TEST(Sleepers, OneIsTriedForManyQueues) {
  Engine e;
  ok(e.apply(gpu_node("n", 1)));
  ok(e.apply(gang("first", 1, 1, 9)));
  ASSERT_EQ(e.decide(1000).size(), 1u);
  struct Waiting {
    std::int64_t minus_priority;
    TimeMs created;
    std::string uid;
    auto operator<=>(const Waiting&) const = default;
  };
  std::set<Waiting> line;
  for (int q = 0; q < 50; ++q) {
    ok(e.apply(free_queue("q" + std::to_string(q))));
    for (int p = 0; p < 4; ++p) {
      const TimeMs at = 1 + (q * 37 + p * 11) % 101;
      const std::string uid = "w" + std::to_string(q) + "-" + std::to_string(p);
      ok(e.apply(created(at, gang_workload(uid, 1, 1, p, "q" + std::to_string(q)))));
      line.insert({-p, at * 1000 + q, uid});  // of equal age the one that came first
    }
  }
  TimeMs now = 2000;
  EXPECT_TRUE(e.decide(now).empty());
  std::string running = "first";
  while (!line.empty()) {
    const auto before = e.stats().attempts;
    ok(e.apply(WorkloadRemove{running}));
    const auto who = started(e.decide(++now));
    ASSERT_EQ(who.size(), 1u);
    EXPECT_EQ(who[0], line.begin()->uid);
    EXPECT_LE(e.stats().attempts - before, 3);
    running = who[0];
    line.erase(line.begin());
  }
  ok(e.audit());
}

// The same in one queue whose work may preempt: at lower priorities the same work need not be asked.
TEST(Sleepers, OneIsTriedForLowerPriorities) {
  Engine e;
  ok(e.apply(gpu_node("n", 2)));
  ok(e.apply(free_queue("q", WithinQueue::kLowerPriority)));
  ok(e.apply(gang("first", 1, 1, 50, "q")));
  ok(e.apply(gang("second", 1, 1, 50, "q")));
  ASSERT_EQ(e.decide(1000).size(), 2u);
  for (int p = 0; p < 40; ++p) ok(e.apply(gang("w" + std::to_string(p), 2, 1, p, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  const auto before = e.stats().attempts;
  ok(e.apply(WorkloadRemove{"first"}));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_LE(e.stats().attempts - before, 2);
  ok(e.apply(WorkloadRemove{"second"}));
  EXPECT_EQ(started(e.decide(4000)), std::vector<std::string>{"w39"});
}

TEST(Sleepers, AClassThatLeavesHandsOver) {
  Engine e;
  ok(e.apply(gpu_node("n", 1)));
  ok(e.apply(gang("runs", 1, 1)));
  ASSERT_EQ(e.decide(1000).size(), 1u);
  for (const char* q : {"a", "b", "c"}) {
    ok(e.apply(free_queue(q)));
    ok(e.apply(gang(q, 1, 1, 0, q)));
  }
  EXPECT_TRUE(e.decide(2000).empty());
  ok(e.apply(WorkloadRemove{"a"}));
  EXPECT_TRUE(e.decide(3000).empty());
  ok(e.apply(WorkloadRemove{"runs"}));
  ok(e.apply(WorkloadRemove{"b"}));
  EXPECT_EQ(started(e.decide(4000)), std::vector<std::string>{"c"});
}

// The first in line lacks quota by the time that there is room: the next one gets it.
TEST(Sleepers, WorkThatLacksMoreThanRoomIsPassed) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  const PreemptionPolicy never{WithinQueue::kNever, Reclaim::kNever};
  ok(e.apply(gpu_queue("a", "", 1, never)));
  ok(e.apply(gpu_queue("b", "", 1, never)));
  ok(e.apply(gpu_queue("filler", "", 9, never)));
  ok(e.apply(gpu_node("n1", 1)));
  ok(e.apply(gpu_node("n2", 1)));
  ok(e.apply(gang("one", 1, 1, 9, "filler")));
  Workload part = gang_workload("part", 1, 1, 9, "filler");
  part.root.pod_sets[0].pod.claim.requests[0].milli = 600;
  ok(e.apply(WorkloadUpsert{part}));
  ASSERT_EQ(e.decide(1000).size(), 2u);
  ok(e.apply(gang("in a", 1, 1, 5, "a")));
  ok(e.apply(gang("in b", 1, 1, 1, "b")));
  EXPECT_TRUE(e.decide(2000).empty());
  part.uid = part.name = "more of a";
  part.queue = "a";
  part.root.pod_sets[0].pod.claim.requests[0].milli = 300;
  ok(e.apply(WorkloadUpsert{part}));
  ASSERT_EQ(started(e.decide(3000)), std::vector<std::string>{"more of a"});
  ok(e.apply(WorkloadRemove{"one"}));
  EXPECT_EQ(started(e.decide(4000)), std::vector<std::string>{"in b"});
  ok(e.apply(WorkloadRemove{"more of a"}));
  ok(e.apply(WorkloadRemove{"in b"}));
  EXPECT_EQ(started(e.decide(5000)), std::vector<std::string>{"in a"});
}

// Room is reserved for old work of one queue: what asks for the same room in another queue, behind it, waits with the first.
TEST(Sleepers, WaitTogetherForRoomThatIsReserved) {
  Engine e;
  Queue q;
  q.name = "a";
  q.unlimited = true;
  q.ordering.age_limit = 1000;
  ok(e.apply(QueueUpsert{q}));
  ok(e.apply(free_queue("b")));
  ok(e.apply(gpu_node("n", 2)));
  for (const char* uid : {"f1", "f2"}) ok(e.apply(gang(uid, 1, 1)));
  ASSERT_EQ(e.decide(1000).size(), 2u);
  ok(e.apply(created(1000, gang_workload("old", 1, 2, 3, "a"))));
  EXPECT_TRUE(e.decide(1500).empty());
  ok(e.apply(created(1500, gang_workload("in a", 1, 1, 3, "a"))));
  ok(e.apply(created(1500, gang_workload("in b", 1, 1, 1, "b"))));
  EXPECT_TRUE(e.decide(1600).empty());
  EXPECT_TRUE(e.decide(2100).empty());  // "old" is old
  ok(e.apply(WorkloadRemove{"f1"}));
  EXPECT_TRUE(e.decide(2200).empty());
  ok(e.apply(WorkloadRemove{"old"}));
  ok(e.apply(WorkloadRemove{"f2"}));
  EXPECT_EQ(started(e.decide(2300)), (std::vector<std::string>{"in a", "in b"}));
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
