// The decisions of one decide() are net (engine/decide/decisions.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

std::map<std::string, DecisionKind> kinds(const std::vector<Decision>& decisions) {
  std::map<std::string, DecisionKind> out;
  for (const Decision& d : decisions) EXPECT_TRUE(out.emplace(d.workload, d.kind).second) << d.workload;
  return out;
}

// The queue of `late` has a first workload that would borrow more than there is, so that the other queue borrows before its turn comes.
void borrow_before_its_turn(Reclaim reclaim) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n0", 8)));
  const PreemptionPolicy policy{WithinQueue::kLowerPriority, reclaim};
  ok(e.apply(gpu_queue("a", "roof", 4, policy)));
  ok(e.apply(gpu_queue("b", "roof", 4, policy)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("borrower", 1, 6, 1, "a")));
  ok(e.apply(gang("first", 3, 3, 0, "b")));
  Workload late = gang_workload("late", 1, 4, -1, "b");
  ok(e.apply(WorkloadUpsert{late}));
  const auto all = kinds(e.decide(1000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"late", DecisionKind::kStart}}));
  for (TimeMs now = 1000; now < 6000; now += 1000) EXPECT_TRUE(e.decide(now).empty());
}

TEST(NetDecisions, WhatIsWithinItsOwnQuotaGoesBeforeWhatBorrows) {
  borrow_before_its_turn(Reclaim::kAny);
}

TEST(NetDecisions, AlsoWhereItsQueueNeverReclaims) {
  borrow_before_its_turn(Reclaim::kNever);
}

Event two_flavor_queue(const std::string& name, std::vector<std::string> flavors, std::int64_t x,
                       std::int64_t y) {
  Queue q;
  q.name = name;
  q.parent = "roof";
  q.groups = {{{"cpu", "nvidia.com/gpu"}, std::move(flavors)}};
  q.quotas = {{"x", "cpu", 1'000'000, {}, {}},
              {"x", "nvidia.com/gpu", x * 1000, {}, {}},
              {"y", "cpu", 1'000'000, {}, {}},
              {"y", "nvidia.com/gpu", y * 1000, {}, {}}};
  return QueueUpsert{q};
}

// `borrower` borrows a GPU of each flavor. Node x1 is too full for `own` even without it, and node y1 is not.
TEST(NetDecisions, TheRoomOfABorrowerIsTakenInTheFlavorThatHasIt) {
  Engine e;
  for (const std::string name : {"x", "y"}) ok(e.apply(FlavorUpsert{{name, {{"pool", name}}, {}, {}, ""}}));
  ok(e.apply(gpu_node("x1", 4, {{"pool", "x"}})));
  ok(e.apply(gpu_node("y1", 5, {{"pool", "y"}})));
  ok(e.apply(two_flavor_queue("lender", {"x", "y"}, 8, 4)));
  ok(e.apply(two_flavor_queue("taker", {"y", "x"}, 0, 4)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("fills", 1, 3, 0, "lender")));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"fills", DecisionKind::kStart}}));
  Workload borrower = gang_workload("borrower", 1, 4, 1, "taker");
  for (const std::string name : {"second", "third"}) {
    PodSet set = borrower.root.pod_sets[0];
    set.name = name;
    set.pod.claim.requests[0].count = 1;
    borrower.root.pod_sets.push_back(set);
  }
  ok(e.apply(WorkloadUpsert{borrower}));
  ok(e.apply(gang("own", 1, 3, 0, "lender")));
  const auto all = kinds(e.decide(2000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"own", DecisionKind::kStart}}));
}

// `owner` stays within its queue's quota until `borrower` starts in the same queue. A start that is taken back justifies no eviction.
TEST(NetDecisions, AStartThatIsTakenBackMakesNoVictimsBesideIt) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n0", 8)));
  const PreemptionPolicy policy{WithinQueue::kLowerPriority, Reclaim::kAny};
  ok(e.apply(gpu_queue("a", "roof", 6, policy)));
  ok(e.apply(gpu_queue("b", "roof", 4, policy)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gang("owner", 1, 4, 1, "b")));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"owner", DecisionKind::kStart}}));
  ok(e.apply(gang("borrower", 1, 3, 1, "b")));
  ok(e.apply(gang("first", 3, 3, 0, "a")));
  ok(e.apply(gang("late", 1, 6, -1, "a")));
  const auto all = kinds(e.decide(2000));
  ok(e.audit());
  EXPECT_EQ(all, (std::map<std::string, DecisionKind>{{"borrower", DecisionKind::kStart}}));
  EXPECT_EQ(e.decide(2001).size(), 0U) << "late needs the room of owner, and borrower alone borrows";
}

// `next` must be near to a pod of the team in its zone. `sole` is the only one, and lets none of `next` come to zone z1. So it is evicted,
// and `next` may be the first of the team anywhere.
class NeedlessEviction : public ::testing::Test {
 protected:
  void SetUp() override {
    ok(e.apply(TopologyUpsert{{"default", {"zone", "host"}}}));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    for (const std::string number : {"1", "2"})
      ok(e.apply(gpu_node("n" + number, 8, {{"host", "n" + number}, {"zone", "z" + number}})));
    queue.preemption.minimum_runtime = kRun;
    ok(e.apply(QueueUpsert{queue}));
    ok(e.apply(DisruptionBudgetUpdate{"budget", 1}));
    ok(e.apply(WorkloadUpsert{sole()}));
    ASSERT_EQ(e.decide(1000).size(), 1U);
    ok(e.apply(SlotUpdate{"sole", 0, 0, SlotState::kRunning, "n1"}));
    ok(e.apply(WorkloadUpsert{next()}));
  }

  static Workload of_team(const std::string& uid, std::int64_t priority, int gpus, const std::string& node) {
    Workload w = gang_workload(uid, 1, gpus, priority, "q");
    auto& pod = w.root.pod_sets.front().pod;
    pod.selected = std::vector<std::string>{"team"};
    if (!node.empty()) pod.node_selector = Labels{{"host", node}};
    return w;
  }
  static Workload sole() {
    Workload w = of_team("sole", 10, 4, "n1");
    auto& pod = w.root.pod_sets.front().pod;
    pod.terms = std::vector<CountedTerm>{{TermKind::kApart, "next", "zone"}};
    pod.budgets = std::vector<std::string>{"budget"};
    w.restart = {100'000, 0, 0};
    return w;
  }
  static Workload next() {
    Workload w = of_team("next", 100, 1, "");
    auto& pod = w.root.pod_sets.front().pod;
    pod.terms = std::vector<CountedTerm>{{TermKind::kNear, "team", "zone"}};
    pod.selected = std::vector<std::string>{"next", "team"};
    return w;
  }

  static constexpr TimeMs kRun = 60'000;
  Engine e;
  Queue queue = std::get<QueueUpsert>(gpu_queue("q", "", 32)).queue;
};

TEST_F(NeedlessEviction, StandsWhereNothingElseStarts) {
  EXPECT_EQ(
      kinds(e.decide(1000 + kRun)),
      (std::map<std::string, DecisionKind>{{"sole", DecisionKind::kEvict}, {"next", DecisionKind::kHold}}));
  ok(e.audit());
}

TEST_F(NeedlessEviction, IsTakenBackWhereAPodStartsThatIsNearEnough) {
  ok(e.apply(WorkloadUpsert{of_team("mate", 0, 1, "n2")}));
  EXPECT_EQ(
      kinds(e.decide(1000 + kRun)),
      (std::map<std::string, DecisionKind>{{"mate", DecisionKind::kStart}, {"next", DecisionKind::kStart}}));
  ok(e.audit());
  EXPECT_TRUE(has_running(e, "sole"));
  EXPECT_TRUE(e.decide(2000 + kRun).empty());
  // As if it had never been evicted: its run began then, and its budget has one eviction left.
  ok(e.apply(gang("urgent", 1, 8, 200, "q")));
  ok(e.apply(gang("urgent too", 1, 8, 200, "q")));
  const auto all = e.decide(3000 + kRun);
  const auto yields = std::find_if(all.begin(), all.end(), [](const Decision& d) {
    return d.kind == DecisionKind::kEvict && d.workload == "sole";
  });
  ASSERT_NE(yields, all.end());
  EXPECT_EQ(yields->cost, 4 * (kRun + 2000)) << "its whole run is lost";
  EXPECT_EQ(yields->reason.detail, "");
  ok(e.audit());
}

TEST_F(NeedlessEviction, StandsWhereItsRoomHasBeenTaken) {
  ok(e.apply(WorkloadUpsert{of_team("mate", 0, 1, "n2")}));
  Workload large = gang_workload("large", 1, 6, 50, "q");
  large.root.pod_sets.front().pod.node_selector = Labels{{"host", "n1"}};
  ok(e.apply(WorkloadUpsert{large}));
  EXPECT_EQ(kinds(e.decide(1000 + kRun)),
            (std::map<std::string, DecisionKind>{{"sole", DecisionKind::kEvict},
                                                 {"large", DecisionKind::kHold},
                                                 {"mate", DecisionKind::kStart},
                                                 {"next", DecisionKind::kStart}}));
  ok(e.audit());
}

// `large` is of the team, and evicts `sole`. `next` must be near to a pod of the team, gets a hold by that of `large`, and starts by `mate`,
// which starts behind it.
class StartOfAHold : public ::testing::Test {
 protected:
  void SetUp() override {
    ok(e.apply(TopologyUpsert{{"default", {"zone", "host"}}}));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(e.apply(gpu_node("n1", 8, {{"host", "n1"}, {"zone", "z1"}})));
    ok(e.apply(gpu_queue("q", "", 32)));
    ok(e.apply(gang("sole", 1, 5, 0, "q")));
    ASSERT_EQ(e.decide(1000).size(), 1U);
    next.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{{TermKind::kNear, "team", "zone"}};
  }
  static Workload of_team(const std::string& uid, int gpus, int priority) {
    Workload w = gang_workload(uid, 1, gpus, priority, "q");
    w.root.pod_sets.front().pod.selected = std::vector<std::string>{"team"};
    return w;
  }
  void expect_mate_before_next() {
    ok(e.apply(WorkloadUpsert{of_team("large", 4, 100)}));
    ok(e.apply(WorkloadUpsert{next}));
    ok(e.apply(WorkloadUpsert{mate}));
    std::vector<std::pair<std::string, DecisionKind>> told;
    for (const Decision& d : e.decide(3000)) told.emplace_back(d.workload, d.kind);
    EXPECT_EQ(told, (std::vector<std::pair<std::string, DecisionKind>>{{"sole", DecisionKind::kEvict},
                                                                       {"large", DecisionKind::kHold},
                                                                       {"mate", DecisionKind::kStart},
                                                                       {"next", DecisionKind::kStart}}));
    ok(e.audit());
  }

  Engine e;
  Workload next = gang_workload("next", 1, 0, 20, "q");
  Workload mate = of_team("mate", 0, 10);
};

TEST_F(StartOfAHold, StandsBehindTheStartThatItIsNearTo) {
  expect_mate_before_next();
}

// `mate` is near to a pod that ends, and near to `next` once that has gone.
TEST_F(StartOfAHold, AlsoWhereThatStartIsNearToIt) {
  Workload ending = gang_workload("ending", 1, 0, 0, "q");
  ending.root.pod_sets.front().pod.selected = next.root.pod_sets.front().pod.selected =
      std::vector<std::string>{"guide"};
  mate.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{{TermKind::kNear, "guide", "host"}};
  ok(e.apply(WorkloadUpsert{ending}));
  ASSERT_EQ(e.decide(1500).size(), 1U);
  ok(e.apply(Withdraw{"ending", "a member could not be bound"}));
  ending.active = false;
  ok(e.apply(WorkloadUpsert{ending}));
  ASSERT_EQ(e.decide(2000).size(), 1U);
  expect_mate_before_next();
}

// `x` and `y` are near to `guide`, and to each other. `late` must be near to `y`, and would take the room of `guide`. Without it
// neither `x` nor `y` would be the first to come, so that `late` has no pod to be near to.
TEST(NetDecisions, StartsDoNotStayThatAreNearToEachOtherAlone) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"default", {"host"}}}));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 8, {{"host", "n1"}})));
  ok(e.apply(gpu_queue("q", "", 32)));
  const auto add = [&](const std::string& uid, int gpus, int priority, std::vector<std::string> selected,
                       const std::string& near) {
    Workload w = gang_workload(uid, 1, gpus, priority, "q");
    auto& pod = w.root.pod_sets.front().pod;
    pod.selected = std::move(selected);
    if (!near.empty()) pod.terms = std::vector<CountedTerm>{{TermKind::kNear, near, "host"}};
    ok(e.apply(WorkloadUpsert{w}));
  };
  add("guide", 4, 10, {"red", "blue"}, "");
  add("x", 0, 5, {"red"}, "blue");
  add("y", 0, 0, {"blue", "team"}, "red");
  add("late", 8, 100, {}, "team");
  std::vector<std::string> told;
  for (const Decision& d : e.decide(1000)) told.push_back(d.workload);
  EXPECT_EQ(told, (std::vector<std::string>{"guide", "x", "y"}));
  ok(e.audit());
}

// The pods of `late` must be near to `mate`, and take the room of `borrower`. Where they are, `mate` is not spread among them any more. It
// came before them, and stays.
TEST(NetDecisions, AStartStaysWhoseSpreadIsBrokenByWhatComesBehindIt) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"default", {"host"}}}));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 10, {{"host", "n1"}})));
  ok(e.apply(gpu_node("n2", 1, {{"host", "n2"}})));
  for (const char* name : {"a", "b"}) ok(e.apply(gpu_queue(name, "roof", 4)));
  ok(e.apply(cohort("roof")));
  ok(e.apply(gpu_queue("c", "", 2)));
  Workload mate = gang_workload("mate", 1, 2, 0, "c");
  mate.root.pod_sets.front().pod.selected = std::vector<std::string>{"red"};
  CountedTerm spread{TermKind::kSpread, "blue", "host"};
  spread.max_skew = 1;
  mate.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{spread};
  Workload late = gang_workload("late", 2, 2, -1, "b");
  late.root.pod_sets.front().pod.selected = std::vector<std::string>{"blue"};
  late.root.pod_sets.front().pod.terms = std::vector<CountedTerm>{{TermKind::kNear, "red", "host"}};
  ok(e.apply(WorkloadUpsert{mate}));
  ok(e.apply(gang("borrower", 1, 6, 1, "a")));
  ok(e.apply(gang("first", 3, 3, 0, "b")));
  ok(e.apply(WorkloadUpsert{late}));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"mate", DecisionKind::kStart},
                                                                        {"late", DecisionKind::kStart}}));
  ok(e.audit());
}

// `first` of the strict queue "own" finds no node. "borrower" of "guest" makes it wait in the limit of firm work, so that `behind` may pass
// it. `last` finds no room then. Without the borrower it would, and would be barred by `first` again.
TEST(NetDecisions, NothingPassesWorkThatWaitedInALimitOfWhatIsTakenBack) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  for (const char* name : {"n1", "n2"}) ok(e.apply(gpu_node(name, 1)));
  ok(e.apply(gpu_node("full", 2)));
  Queue roof = std::get<QueueUpsert>(gpu_queue("roof", "", 0)).queue;
  roof.leaf = false;
  roof.quotas[1].firm_limit = 2000;
  ok(e.apply(QueueUpsert{roof}));
  const PreemptionPolicy none{WithinQueue::kNever, Reclaim::kNever};
  Queue own = std::get<QueueUpsert>(gpu_queue("own", "roof", 4, none)).queue;
  own.order = QueueOrder::kStrict;
  ok(e.apply(QueueUpsert{own}));
  ok(e.apply(gpu_queue("guest", "roof", 0, none)));
  ok(e.apply(gpu_queue("others", "", 2, none)));
  ok(e.apply(gang("fills", 1, 2, 0, "others")));
  EXPECT_EQ(kinds(e.decide(1000)), (std::map<std::string, DecisionKind>{{"fills", DecisionKind::kStart}}));
  for (const bool is_first : {true, false}) {
    Workload w =
        is_first ? gang_workload("first", 1, 2, 5, "own") : gang_workload("borrower", 1, 1, 0, "guest");
    w.preemptible = false;
    ok(e.apply(WorkloadUpsert{w}));
  }
  ok(e.apply(gang("behind", 1, 1, 1, "own")));
  ok(e.apply(gang("last", 1, 1, 0, "own")));
  EXPECT_EQ(kinds(e.decide(2000)), (std::map<std::string, DecisionKind>{{"borrower", DecisionKind::kStart},
                                                                        {"behind", DecisionKind::kStart}}));
  EXPECT_EQ(e.verdict("first")->reason.code, ReasonCode::kFirmLimit);
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
