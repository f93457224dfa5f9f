// Limits of work that is not preemptible, in a queue and in those above it.
#include "engine/quota/firm_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/quota/limits_support.h"

namespace berth::engine {
namespace {

using namespace test;

// Two departments of 8 devices in one tree; each has two teams.
class FirmLimitsOf : public LimitsTest {
 protected:
  void SetUp() override {
    LimitsTest::SetUp();
    for (const char* name : {"d1", "d2"}) limit(name, "all", 0, std::nullopt);
    for (const char* name : {"a", "b"}) limit(name, "d1", 4, 2);
    for (const char* name : {"c", "d"}) limit(name, "d2", 4, std::nullopt);
    ok(e.apply(cohort("all")));
  }
  void limit(const std::string& name, const std::string& parent, int gpus, std::optional<std::int64_t> firm) {
    Queue& q = queues[name];
    q = std::get<QueueUpsert>(gpu_queue(name, parent, gpus)).queue;
    q.leaf = name.size() == 1;
    if (firm) q.quotas[1].firm_limit = *firm * 1000;
    ok(e.apply(QueueUpsert{q}));
  }
  Workload job(const std::string& uid, const std::string& queue, int pods, bool firm, int priority = 0) {
    Workload w = gang_workload(uid, pods, 1, priority, queue);
    w.preemptible = !firm;
    return w;
  }
  void add(const std::string& uid, const std::string& queue, int pods, bool firm, int priority = 0) {
    ok(e.apply(WorkloadUpsert{job(uid, queue, pods, firm, priority)}));
  }

  std::map<std::string, Queue> queues;
};

TEST_P(FirmLimitsOf, BindWorkThatIsNotPreemptibleAlone) {
  add("firm-1", "a", 2, true);
  add("firm-2", "a", 1, true);
  add("free", "a", 4, false);
  EXPECT_EQ(decided(), (Names{"firm-1", "free"}));
  const Verdict v = *e.verdict("firm-2");
  EXPECT_EQ(to_text(v.reason),
            "needs 1 nvidia.com/gpu, but work that is not preemptible may use only 0 more in queue a");
  ok(e.apply(WorkloadRemove{"firm-1"}));
  EXPECT_EQ(decided(), (Names{"firm-2"}));
}

TEST_P(FirmLimitsOf, CountAllThatIsBelow) {
  limit("d1", "all", 0, 3);
  add("a1", "a", 2, true);
  add("b1", "b", 2, true);
  add("b2", "b", 1, true);
  EXPECT_EQ(decided(), (Names{"a1", "b2"}));
  EXPECT_EQ(e.verdict("b1")->reason.code, ReasonCode::kFirmLimit);
  EXPECT_EQ(e.verdict("b1")->reason.subject, "d1") << "the tightest limit";
  limit("d1", "all", 0, std::nullopt);
  EXPECT_EQ(decided(), (Names{})) << "b has 1 left";
  limit("b", "d1", 4, 3);
  EXPECT_EQ(decided(), (Names{"b1"}));
}

TEST_P(FirmLimitsOf, AreNoReasonToEndAnything) {
  add("low", "a", 2, true, 0);
  add("other", "a", 4, false, 0);
  ASSERT_EQ(decided().size(), 2u);
  add("high", "a", 1, true, 10);
  EXPECT_EQ(decided(DecisionKind::kEvict), (Names{}));
}

// It may preempt and reclaim as far as its limit goes.
TEST_P(FirmLimitsOf, LeaveItsRightsWithinThem) {
  limit("c", "d2", 12, 2);
  add("full", "c", 16, false, 0);
  for (int i = 0; i < 8; ++i) add("d" + std::to_string(i), "a", 1, false, 0);
  ASSERT_EQ(decided().size(), 9u);
  add("firm", "a", 2, true, 5);
  EXPECT_EQ(decided(DecisionKind::kEvict).size(), 2u);
  add("more", "a", 1, true, 5);
  EXPECT_EQ(decided(DecisionKind::kEvict), (Names{})) << "2 are held";
}

TEST_P(FirmLimitsOf, FollowWorkThatBecomesPreemptible) {
  add("w", "a", 2, true);
  ASSERT_EQ(decided(), (Names{"w"}));
  add("next", "a", 2, true);
  EXPECT_EQ(decided(), (Names{}));
  add("w", "a", 2, false);
  EXPECT_EQ(decided(), (Names{"next"}));
  add("w", "a", 2, true);  // it has more now than the limit allows
  add("last", "b", 2, true);
  EXPECT_EQ(decided(), (Names{"last"}));
}

TEST_P(FirmLimitsOf, EndAHoldThatOtherWorkLeavesNoRoomFor) {
  for (int i = 0; i < 4; ++i) {
    for (const char* queue : {"a", "b", "c", "d"}) add(queue + std::to_string(i), queue, 1, false);
  }
  ASSERT_EQ(decided().size(), 16u);
  add("firm", "a", 2, true, 5);
  ASSERT_EQ(decided(DecisionKind::kHold), (Names{"firm"}));
  const std::string stays = has_running(e, "a0") ? "a0" : has_running(e, "a1") ? "a1" : "a2";
  ASSERT_TRUE(has_running(e, stays));
  add(stays, "a", 1, true);  // no longer preemptible, it leaves 1 of 2
  EXPECT_EQ(decided(DecisionKind::kReleaseHold), (Names{"firm"}));
}

TEST_P(FirmLimitsOf, BlockNoOtherWorkInAStrictQueue) {
  queues["a"].order = QueueOrder::kStrict;
  ok(e.apply(QueueUpsert{queues["a"]}));
  add("firm-1", "a", 2, true, 5);
  add("firm-2", "a", 1, true, 5);
  add("free", "a", 1, false);
  EXPECT_EQ(decided(), (Names{"firm-1", "free"}));
}

TEST(FirmLimitsThat, MakeNoSenseAreRefused) {
  Engine e;
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
  q.quotas[1].firm_limit = -1;
  EXPECT_FALSE(e.apply(QueueUpsert{q}));
  q.quotas[1].firm_limit = std::nullopt;
  q.quotas[1].subtree_limit = -1;
  EXPECT_FALSE(e.apply(QueueUpsert{q}));
}

// Whatever comes, no decision takes firm work above a limit: reckoned from the slots alone.
TEST_P(FirmLimitsOf, NoDecisionExceedsThem) {
  Random random(GetParam() ? 21 : 22);
  const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random.below(most)); };
  std::map<std::string, std::int64_t> most{{"a", 2}, {"b", 2}, {"d1", 16}};
  std::map<std::string, Workload> all;
  std::int64_t starts = 0, full = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::string uid = "w" + std::to_string(draw(24));
    const auto kind = draw(10);
    if (kind == 0) {
      const std::string name = draw(3) == 0 ? "d1" : draw(2) == 0 ? "a" : "b";
      most[name] = draw(5);
      limit(name, name == "d1" ? "all" : "d1", name == "d1" ? 0 : 4, most[name]);
    } else if (kind < 4) {
      if (all.erase(uid) > 0) ok(e.apply(WorkloadRemove{uid}));
    } else if (!all.contains(uid)) {
      const Workload w = job(uid, draw(2) == 0 ? "a" : "b", static_cast<int>(1 + draw(3)), draw(2) == 0,
                             static_cast<int>(draw(4)));
      ok(e.apply(WorkloadUpsert{w}));
      all.emplace(uid, w);
    }
    const auto in_use = [&] {
      std::map<std::string, std::int64_t> out;
      for (const auto& view : e.workloads()) {
        const Workload& w = all.at(std::string(view.uid));
        if (w.preemptible) continue;
        out[w.queue] += view.slots_running + view.slots_held;
        out["d1"] += view.slots_running + view.slots_held;
      }
      return out;
    };
    const auto before = in_use();
    const auto decisions = e.decide(now += 1000);
    ok(e.audit());
    for (const auto& [name, used] : in_use()) {
      const auto had = before.find(name);
      ASSERT_LE(used, std::max(most[name], had == before.end() ? 0 : had->second))
          << name << ", step " << step;
      full += used == most[name] ? 1 : 0;
    }
    for (const Decision& d : decisions) {
      starts += d.kind == DecisionKind::kStart ? 1 : 0;
      if (d.kind != DecisionKind::kEvict) continue;
      for (const auto& p : d.slots)
        ok(e.apply(SlotUpdate{d.workload, p.pod_set, p.index, SlotState::kWaiting, ""}));
    }
  }
  EXPECT_GT(starts, 100);
  EXPECT_GT(full, 300);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutNodes, FirmLimitsOf, ::testing::Bool());

}  // namespace
}  // namespace berth::engine
