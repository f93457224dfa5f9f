// Limits of each lane of a queue (a user) within its quota.
#include "engine/quota/lane_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/quota/limits_support.h"

namespace berth::engine {
namespace {

using namespace test;

class LaneLimitsOf : public LimitsTest {
 protected:
  void SetUp() override {
    LimitsTest::SetUp();
    queue = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
    limit(2);
  }
  void limit(std::int64_t gpus) {
    queue.lanes.limits = {{"f", "nvidia.com/gpu", gpus * 1000}};
    ok(e.apply(QueueUpsert{queue}));
  }
  Workload job(const std::string& uid, const std::string& lane, int pods, std::int64_t priority = 0) {
    Workload w = gang_workload(uid, pods, 1, priority, "q");
    w.lane = lane;
    return w;
  }
  void add(const std::string& uid, const std::string& lane, int pods, std::int64_t priority = 0) {
    ok(e.apply(WorkloadUpsert{job(uid, lane, pods, priority)}));
  }

  Queue queue;
};

TEST_P(LaneLimitsOf, HoldForEachLaneAlike) {
  for (const char* uid : {"a1", "a2", "a3"}) add(uid, "alice", 1);
  for (const char* uid : {"b1", "b2", "b3"}) add(uid, "bob", 1);
  EXPECT_EQ(decided(), (Names{"a1", "a2", "b1", "b2"}));
  const Verdict v = *e.verdict("a3");
  EXPECT_EQ(v.reason.code, ReasonCode::kLaneLimit) << to_text(v.reason);
  EXPECT_EQ(to_text(v.reason),
            "needs 1 nvidia.com/gpu, but alice may use only 0 more in this queue (limit per user)");
  ok(e.apply(WorkloadRemove{"b1"}));
  EXPECT_EQ(decided(), (Names{"b3"})) << "what bob gave back is bob's";
  ok(e.apply(WorkloadRemove{"a1"}));
  EXPECT_EQ(decided(), (Names{"a3"}));
}

TEST_P(LaneLimitsOf, BlockNoOtherWorkInAStrictQueue) {
  queue.order = QueueOrder::kStrict;
  limit(2);
  add("a1", "alice", 2, 5);
  add("a2", "alice", 1, 5);
  add("b1", "bob", 2);
  EXPECT_EQ(decided(), (Names{"a1", "b1"}));
}

TEST_P(LaneLimitsOf, AreNoReasonToEndAnybody) {
  add("low", "alice", 2, 0);
  ASSERT_EQ(decided(), (Names{"low"}));
  add("high", "alice", 2, 10);
  EXPECT_EQ(decided(DecisionKind::kEvict), (Names{})) << "nor work of the same user";
  EXPECT_EQ(e.verdict("high")->reason.code, ReasonCode::kLaneLimit);
}

// Preemption in the queue goes on as ever, and leaves everybody within the limit.
TEST_P(LaneLimitsOf, CountForPreemptors) {
  limit(4);
  add("a-top", "alice", 2, 20);
  add("b-low", "bob", 4, 0);
  add("c-low", "carol", 2, 0);
  ASSERT_EQ(decided().size(), 3u);
  add("a-high", "alice", 2, 10);
  EXPECT_EQ(decided(DecisionKind::kEvict).size(), 1u) << "the queue is full";
  add("a-more", "alice", 1, 10);
  EXPECT_EQ(decided(DecisionKind::kEvict), (Names{})) << "alice has, or holds, her 4";
}

// Whether old work could start at all is asked of an empty cluster, where its lane has the same limit.
TEST_P(LaneLimitsOf, HoldOnAnEmptyClusterToo) {
  queue.ordering.age_limit = 1000;
  limit(1);
  for (int i = 0; i < 7; ++i) add("w" + std::to_string(i), "user-" + std::to_string(i), 1);
  ASSERT_EQ(decided().size(), 7u);
  add("never", "alice", 2);
  EXPECT_EQ(decided(), (Names{})) << "quota is short, and so is what alice may have";
  now += 10'000;
  EXPECT_EQ(decided(), (Names{}));
  add("last", "bob", 1);
  EXPECT_EQ(decided(), (Names{"last"})) << "what is beyond its own limit bars nobody, however old it is";
}

TEST_P(LaneLimitsOf, CapWhatGrows) {
  Workload w = job("elastic", "alice", 6);
  w.root.pod_sets[0].least = 1;
  ok(e.apply(WorkloadUpsert{w}));
  std::size_t slots = 0;
  for (const Decision& d : e.decide(now += 1000)) slots += d.slots.size();
  ok(e.audit());
  EXPECT_EQ(slots, 2u);
}

TEST_P(LaneLimitsOf, MayShrinkBelowWhatRuns) {
  add("a1", "alice", 2);
  ASSERT_EQ(decided(), (Names{"a1"}));
  limit(1);
  add("a2", "alice", 1);
  EXPECT_EQ(decided(), (Names{}));
  EXPECT_EQ(decided(DecisionKind::kEvict), (Names{}));
  ok(e.apply(WorkloadRemove{"a1"}));
  EXPECT_EQ(decided(), (Names{"a2"}));
  queue.lanes.limits.clear();
  ok(e.apply(QueueUpsert{queue}));
  add("a3", "alice", 4);
  EXPECT_EQ(decided(), (Names{"a3"})) << "no limit any more";
}

TEST_P(LaneLimitsOf, FollowWorkThatChangesItsLane) {
  add("w", "alice", 2);
  ASSERT_EQ(decided(), (Names{"w"}));
  ok(e.apply(WorkloadUpsert{job("w", "bob", 2)}));
  add("a", "alice", 2);
  add("b", "bob", 1);
  EXPECT_EQ(decided(), (Names{"a"}));
}

TEST_P(LaneLimitsOf, EndAHoldThatOtherWorkLeavesNoRoomFor) {
  for (const char* lane : {"bob", "carol", "dave", "eve"}) add(lane, lane, 2);
  ASSERT_EQ(decided().size(), 4u);
  add("a", "alice", 2, 5);
  ASSERT_EQ(decided(DecisionKind::kHold), (Names{"a"}));
  const auto runs = [&](const std::string& uid) { return has_running(e, uid); };
  const std::string one = runs("bob") ? "bob" : "carol";
  ok(e.apply(WorkloadUpsert{job(one, "alice", 2)}));
  EXPECT_EQ(decided(DecisionKind::kReleaseHold), (Names{"a"}));
}

TEST(LaneLimitsThat, MakeNoSenseAreRefused) {
  Engine e;
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.lanes.limits = {{"f", "nvidia.com/gpu", -1}};
  EXPECT_FALSE(e.apply(QueueUpsert{q}));
  q.lanes.limits = {{"f", "nvidia.com/gpu", 1}, {"f", "nvidia.com/gpu", 2}};
  EXPECT_FALSE(e.apply(QueueUpsert{q}));
}

// Whatever comes, no decision takes a lane above its limit: reckoned from the slots alone.
TEST_P(LaneLimitsOf, NoDecisionExceedsThem) {
  Random random(GetParam() ? 11 : 12);
  const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random.below(most)); };
  queue.preemption = {WithinQueue::kLowerOrNewerEqual, Reclaim::kAny};
  std::int64_t most = 2;
  std::map<std::string, Workload> all;
  std::int64_t starts = 0, evictions = 0, full = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::string uid = "w" + std::to_string(draw(24));
    const auto kind = draw(10);
    if (kind == 0) {
      limit(most = draw(6));
    } else if (kind < 4) {
      if (all.erase(uid) > 0) ok(e.apply(WorkloadRemove{uid}));
    } else if (!all.contains(uid)) {
      Workload w =
          job(uid, std::string(1, static_cast<char>('a' + draw(3))), static_cast<int>(1 + draw(4)), draw(4));
      if (draw(2) == 0) w.root.pod_sets[0].least = 1 + draw(w.root.pod_sets[0].count);
      ok(e.apply(WorkloadUpsert{w}));
      all.emplace(uid, w);
    }
    const auto in_use = [&] {
      std::map<std::string, std::int64_t> out;
      for (const auto& view : e.workloads())
        out[all.at(std::string(view.uid)).lane] += view.slots_running + view.slots_held;
      return out;
    };
    const auto before = in_use();
    const auto decisions = e.decide(now += 1000);
    ok(e.audit());
    for (const auto& [lane, used] : in_use()) {
      const auto had = before.find(lane);
      ASSERT_LE(used, std::max(most, had == before.end() ? 0 : had->second)) << "step " << step;
      full += used == most ? 1 : 0;
    }
    for (const Decision& d : decisions) {
      starts += d.kind == DecisionKind::kStart ? 1 : 0;
      if (d.kind != DecisionKind::kEvict) continue;
      ++evictions;
      for (const auto& p : d.slots)
        ok(e.apply(SlotUpdate{d.workload, p.pod_set, p.index, SlotState::kWaiting, ""}));
    }
  }
  EXPECT_GT(starts, 200);
  EXPECT_GT(evictions, 30);
  EXPECT_GT(full, 1000);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutNodes, LaneLimitsOf, ::testing::Bool());

}  // namespace
}  // namespace berth::engine
