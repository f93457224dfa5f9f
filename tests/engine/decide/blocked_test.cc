// Blocked work that is tried again: its reason stays true, and no work is passed over.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// The numbers of the first reason about room in a verdict.
std::pair<std::int64_t, std::int64_t> need_and_have(const Reason& reason) {
  if (reason.code == ReasonCode::kNodes) return {reason.need, reason.have};
  for (const Reason& child : reason.children) {
    if (const auto found = need_and_have(child); found.first > 0) return found;
  }
  return {0, 0};
}

TEST(Blocked, TheNumbersFollowTheRoom) {
  Engine e;
  for (const char* name : {"n1", "n2", "n3"}) ok(e.apply(gpu_node(name, 1)));
  for (const char* uid : {"a", "b", "c"}) ok(e.apply(gang(uid, 1, 1)));
  ASSERT_EQ(e.decide(1000).size(), 3u);
  ok(e.apply(gang("three", 3, 1)));
  EXPECT_TRUE(e.decide(2000).empty());
  const auto numbers = [&] { return need_and_have(e.verdict("three")->reason); };
  EXPECT_EQ(numbers(), std::pair(std::int64_t{3}, std::int64_t{0}));
  ok(e.apply(WorkloadRemove{"a"}));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_EQ(numbers(), std::pair(std::int64_t{3}, std::int64_t{1}));
  ok(e.apply(WorkloadRemove{"b"}));
  EXPECT_TRUE(e.decide(4000).empty());
  EXPECT_EQ(numbers(), std::pair(std::int64_t{3}, std::int64_t{2}));
  ok(e.audit());
  ok(e.apply(WorkloadRemove{"c"}));
  EXPECT_EQ(e.decide(5000).size(), 1u);
  ok(e.audit());
}

// There were no victims when the work was parked; there are some when it is tried again.
TEST(Blocked, NewVictimsAreFound) {
  Engine e;
  for (const char* name : {"n1", "n2"}) ok(e.apply(gpu_node(name, 1)));
  for (const char* uid : {"a", "b"}) ok(e.apply(gang(uid, 1, 1, 5)));
  ASSERT_EQ(e.decide(1000).size(), 2u);
  ok(e.apply(gang("two", 2, 1, 5)));
  EXPECT_TRUE(e.decide(2000).empty());
  // Work of lower priority takes the place that is too little for the gang.
  ok(e.apply(WorkloadRemove{"a"}));
  ok(e.apply(gang("low", 1, 1, 1)));
  ASSERT_EQ(e.decide(3000).size(), 1u);
  ok(e.apply(WorkloadRemove{"b"}));
  const auto decisions = e.decide(4000);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(decisions[0].workload, "low");
  EXPECT_EQ(decisions[1].kind, DecisionKind::kHold);
  EXPECT_EQ(decisions[1].workload, "two");
  ok(e.audit());
}

// A configuration that changes is told of.
TEST(Blocked, WhatIsSaidFollowsTheConfiguration) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kNever, Reclaim::kNever})));
  ok(e.apply(gpu_node("n", 1)));
  ok(e.apply(gang("a", 1, 1, 0, "q")));
  ASSERT_EQ(e.decide(1000).size(), 1u);
  ok(e.apply(gang("b", 1, 1, 0, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  const auto said = [&] { return to_text(e.verdict("b")->reason); };
  EXPECT_NE(said().find("allowed: nothing in its queue"), std::string::npos) << said();
  ok(e.apply(gpu_queue("q", "", 8, {WithinQueue::kLowerPriority, Reclaim::kNever})));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_NE(said().find("allowed: lower priority in its queue"), std::string::npos) << said();
}

bool cut_short(const Reason& reason) {
  return reason.code == ReasonCode::kSearchBudget ||
         std::any_of(reason.children.begin(), reason.children.end(), cut_short);
}

// A strict queue, and a bound of steps that work of three pod sets is beyond.
struct ShortSearch {
  Engine e;
  ShortSearch() : e(config()) {
    ok(e.apply(gpu_node("n", 8)));
    ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
    Event strict = gpu_queue("q", "", 8);
    std::get<QueueUpsert>(strict).queue.order = QueueOrder::kStrict;
    ok(e.apply(strict));
  }
  static Workload three_sets(const std::string& uid) {
    Workload w = gang_workload(uid, 1, 1, 1, "q");
    w.root.pod_sets.resize(3, w.root.pod_sets.front());
    return w;
  }
  static EngineConfig config() {
    EngineConfig c;
    c.search_steps = 7;
    return c;
  }
};

TEST(Blocked, ACutSearchBlocksAStrictQueueLikeAnyOther) {
  ShortSearch w;
  ok(w.e.apply(WorkloadUpsert{w.three_sets("three")}));
  ok(w.e.apply(gang("one", 1, 1, 0, "q")));
  EXPECT_TRUE(w.e.decide(1000).empty());
  EXPECT_TRUE(cut_short(w.e.verdict("three")->reason)) << to_text(w.e.verdict("three")->reason);
  EXPECT_EQ(w.e.verdict("one")->reason.code, ReasonCode::kBehindHead);
  ok(w.e.apply(WorkloadRemove{"three"}));
  EXPECT_EQ(w.e.decide(2000).size(), 1u) << "and within the bound it is found";
}

// It was the head, and its own quota was short. Now other work stands in front of it.
TEST(Blocked, WorkBehindANewHeadWaitsForThatHead) {
  Engine e;
  ok(e.apply(gpu_node("n", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  Event strict = gpu_queue("q", "", 2, {WithinQueue::kNever, Reclaim::kNever});
  std::get<QueueUpsert>(strict).queue.order = QueueOrder::kStrict;
  ok(e.apply(strict));
  ok(e.apply(gang("runs", 1, 1, 0, "q")));
  ASSERT_EQ(e.decide(1000).size(), 1u);
  const auto said = [&](const char* uid) { return to_text(e.verdict(uid)->reason); };
  const std::string short_of_quota = "needs 2 nvidia.com/gpu in flavor f";
  ok(e.apply(gang("first", 1, 2, 0, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_TRUE(said("first").starts_with(short_of_quota)) << said("first");
  ok(e.apply(gang("in-front", 1, 2, 1, "q")));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_TRUE(said("in-front").starts_with(short_of_quota)) << said("in-front");
  const Reason behind = e.verdict("first")->reason;
  EXPECT_EQ(behind.code, ReasonCode::kBehindHead) << to_text(behind);
  EXPECT_EQ(behind.subject, "in-front");
  ok(e.apply(WorkloadRemove{"in-front"}));
  EXPECT_TRUE(e.decide(4000).empty());
  EXPECT_TRUE(said("first").starts_with(short_of_quota)) << said("first");
}

// Whatever its other pods lack: free room cannot cure a resource that no flavor has, so work behind it does not wait for that.
TEST(Blocked, ARequestThatNoFlavorHasBlocksNoOtherWork) {
  Engine e;
  ok(e.apply(gpu_node("n1", 2, {{"pool", "f"}})));
  ok(e.apply(FlavorUpsert{{"f", {{"pool", "f"}}, {}, {}, ""}}));
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 100)).queue;
  q.order = QueueOrder::kStrict;
  ok(e.apply(QueueUpsert{q}));
  Workload head = gang_workload("head", 1, 8, 0, "q");
  head.root.pod_sets.push_back(gang_workload("", 1, 1).root.pod_sets[0]);
  head.root.pod_sets[1].pod.node_selector.edit()["pool"] = "g";
  ok(e.apply(WorkloadUpsert{head}));
  ok(e.apply(gang("one", 1, 1, 0, "q")));
  EXPECT_EQ(e.decide(1000).size(), 1u);
  EXPECT_EQ(e.slot("one", 0, 0)->state, SlotState::kBinding) << to_text(e.verdict("one")->reason);
}

TEST(Blocked, ACutSearchRefusesNoWorkThatCanDoWithoutAPart) {
  ShortSearch w;
  Workload either = w.three_sets("either");
  either.root.groups.push_back(either.root);
  either.root.pod_sets.resize(1);
  either.root.pod_sets.front().pod.requests.set("memory", 1);
  either.root.least = 1;
  ok(w.e.apply(WorkloadUpsert{either}));
  EXPECT_TRUE(w.e.decide(1000).empty());
  EXPECT_TRUE(cut_short(w.e.verdict("either")->reason)) << to_text(w.e.verdict("either")->reason);
  EXPECT_EQ(w.e.verdict("either")->kind, VerdictKind::kBlocked);
}

// A strict queue with a quota of 8 GPUs on 16, of which "runs" has four, and a head with three pods of three GPUs.
class NeverAtOnce : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string name : {"f", "g"}) {
      ok(e.apply(gpu_node("n-" + name, 8, {{"pool", name}})));
      ok(e.apply(FlavorUpsert{{name, {{"pool", name}}, {}, {}, ""}}));
    }
    Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 8)).queue;
    q.order = QueueOrder::kStrict;
    ok(e.apply(QueueUpsert{q}));
    ok(e.apply(gang("runs", 1, 4, 0, "q")));
    ASSERT_EQ(e.decide(1000).size(), 1u);
    head = gang_workload("head", 1, 3, 0, "q");
    head.root.pod_sets.resize(3, head.root.pod_sets.front());
  }
  // Work behind it starts, and "head" is told `text`.
  void expect_refused(const std::string& text) {
    ok(e.apply(WorkloadUpsert{head}));
    ok(e.apply(gang("behind", 1, 1, 0, "q")));
    EXPECT_EQ(e.decide(2000).size(), 1u);
    EXPECT_EQ(e.slot("behind", 0, 0)->state, SlotState::kBinding);
    EXPECT_EQ(e.verdict("head")->kind, VerdictKind::kRefused);
    EXPECT_NE(to_text(e.verdict("head")->reason).find(text), std::string::npos)
        << to_text(e.verdict("head")->reason);
    ok(e.audit());
  }

  Engine e;
  Workload head;
};

TEST_F(NeverAtOnce, PodSetsThatAreTooLargeTogetherBlockNoOtherWork) {
  expect_refused("asks for 9 nvidia.com/gpu in flavor f, more than its queue can ever have (8)");
}

TEST_F(NeverAtOnce, TheFewestPartsThatAreNeededCount) {
  head.root.groups.resize(2, Group{head.root});
  head.root.pod_sets.clear();
  head.root.groups.push_back(head.root.groups.front());
  head.root.groups.back().pod_sets.resize(1);  // the cheapest part, and one of the others: 12
  head.root.least = 2;
  expect_refused("asks for 12 nvidia.com/gpu");
}

TEST_F(NeverAtOnce, AllFlavorsTogetherAreTooSmall) {
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 4)).queue;
  q.order = QueueOrder::kStrict;
  q.groups.front().flavors.push_back("g");
  q.quotas.push_back({"g", "cpu", 1'000'000, {}, {}});
  q.quotas.push_back({"g", "nvidia.com/gpu", 4000, {}, {}});
  ok(e.apply(QueueUpsert{q}));
  expect_refused("asks for 9 nvidia.com/gpu, more than its queue can ever have (8)");
}

TEST_F(NeverAtOnce, APartThatCannotStartIsNoneOfTheFewest) {
  head.root.pod_sets[1].pod.node_selector.edit()["pool"] = "none";
  head.root.pod_sets[2].pod.claim.requests[0].count = 6;
  head.root.least = 2;
  expect_refused("asks for 9 nvidia.com/gpu");
}

TEST_F(NeverAtOnce, WorkThatMayLeaveOutTheRestStandsInLine) {
  head.root.least = 2;
  ok(e.apply(WorkloadUpsert{head}));
  ok(e.apply(gang("behind", 1, 1, 0, "q")));
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_EQ(e.verdict("head")->kind, VerdictKind::kBlocked);
  EXPECT_EQ(e.verdict("behind")->reason.code, ReasonCode::kBehindHead);
}

}  // namespace
}  // namespace berth::engine
