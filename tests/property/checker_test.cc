// The checker itself: each kind of wrong decision is found, and the right ones pass.
#include "property/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::property {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGpu = "nvidia.com/gpu";

Node node(const std::string& name, std::int64_t gpus) {
  Node n;
  n.name = name;
  n.labels = {{"rack", name == "n1" ? "r1" : "r2"}};
  n.allocatable = {{"cpu", 8000}};
  n.devices.push_back({std::string(kGpu), gpus, "", {}});
  return n;
}

Queue queue(const std::string& name, const std::string& parent, std::int64_t gpus) {
  Queue q;
  q.name = name;
  q.parent = parent;
  q.groups.push_back({{std::string(kGpu)}, {"f"}});
  q.quotas.push_back({"f", std::string(kGpu), gpus * 1000, {}, {}});
  q.preemption = {WithinQueue::kLowerPriority, Reclaim::kAny};
  return q;
}

Workload gang(const std::string& uid, const std::string& in, std::int64_t count, std::int64_t priority = 0,
              std::int64_t milli = 1000) {
  Workload w;
  w.uid = uid;
  w.queue = in;
  w.priority = priority;
  PodSet set;
  set.count = count;
  set.pod.claim.requests.push_back({std::string(kGpu), 1, milli});
  w.root.pod_sets.push_back(set);
  return w;
}

// Two nodes of two devices; queues a and b of two devices each below one parent.
class CheckerTest : public ::testing::Test {
 protected:
  CheckerTest() : checker_(engine::EngineConfig{}) {
    tell(TopologyUpsert{{"t", {"rack"}}});
    tell(FlavorUpsert{{"f", {}, {}, {}, ""}});
    tell(NodeUpsert{node("n1", 2)});
    tell(NodeUpsert{node("n2", 2)});
    Queue parent = queue("all", "", 0);
    parent.leaf = false;
    tell(QueueUpsert{parent});
    tell(QueueUpsert{queue("a", "all", 2)});
    tell(QueueUpsert{queue("b", "all", 2)});
  }

  void tell(const Event& event) { checker_.on_event(event); }
  std::string decide(const std::vector<Decision>& decisions) {
    return checker_.on_decisions(decisions, 1000, coverage_);
  }

  // Slot i of the workload on places[i]: node and device.
  static Decision decision(DecisionKind kind, const std::string& uid,
                           const std::vector<std::pair<std::string, std::int64_t>>& places,
                           std::int64_t first = 0) {
    Decision d;
    d.kind = kind;
    d.workload = uid;
    d.reason.code = kind == DecisionKind::kHold ? ReasonCode::kPreemptor : ReasonCode::kFits;
    for (const auto& [on, device] : places) d.slots.push_back({0, first++, on, {device}});
    d.flavors.push_back({0, std::string(kGpu), "f"});
    return d;
  }
  static Decision start(const std::string& uid,
                        const std::vector<std::pair<std::string, std::int64_t>>& places) {
    return decision(DecisionKind::kStart, uid, places);
  }
  static Decision hold(const std::string& uid,
                       const std::vector<std::pair<std::string, std::int64_t>>& places) {
    return decision(DecisionKind::kHold, uid, places);
  }
  static Decision evict(const std::string& uid, const std::string& to, ReasonCode cause,
                        const std::vector<std::pair<std::string, std::int64_t>>& places) {
    Decision d = decision(DecisionKind::kEvict, uid, places);
    d.beneficiary = to;
    d.reason.code = cause;
    d.reason.subject = to;
    return d;
  }

  Checker checker_;
  Coverage coverage_;
};

TEST_F(CheckerTest, TheSlowQuotaTreeIsKueues) {
  Queue lender = queue("a", "all", 4);
  lender.quotas[0].lending_limit = 1000;
  tell(QueueUpsert{lender});
  Queue borrower = queue("b", "all", 2);
  borrower.quotas[0].borrowing_limit = 500;
  tell(QueueUpsert{borrower});
  const FlavorResource pair{"f", kGpu};
  const Ledger& ledger = checker_.ledger();
  EXPECT_EQ(ledger.local_quota("a", pair), 3000);
  EXPECT_EQ(ledger.subtree_quota("all", pair), 3000);
  EXPECT_EQ(ledger.available("a", pair, When::kNow), 6000);  // its own four and b's two
  EXPECT_EQ(ledger.available("b", pair, When::kNow), 2500);  // its own two and at most half a borrowed one
  tell(WorkloadUpsert{gang("x", "b", 2)});
  EXPECT_EQ(decide({start("x", {{"n1", 0}, {"n1", 1}})}), "");
  EXPECT_EQ(ledger.usage("all", pair, When::kNow), 2000);
  EXPECT_EQ(ledger.available("b", pair, When::kNow), 500);
  EXPECT_EQ(ledger.available("a", pair, When::kNow), 4000);
}

TEST_F(CheckerTest, APartOfAGangDoesNotStart) {
  tell(WorkloadUpsert{gang("x", "a", 3)});
  EXPECT_THAT(decide({start("x", {{"n1", 0}, {"n1", 1}})}), HasSubstr("fewer than its least 3"));
}

TEST_F(CheckerTest, AWholeGangStarts) {
  tell(WorkloadUpsert{gang("x", "a", 3)});
  EXPECT_EQ(decide({start("x", {{"n1", 0}, {"n1", 1}, {"n2", 0}})}), "");
  EXPECT_EQ(coverage_["placed gangs"], 1);
}

TEST_F(CheckerTest, AGroupNeedsItsLeastChildren) {
  Workload w = gang("x", "a", 1);
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  tell(WorkloadUpsert{w});
  EXPECT_THAT(decide({start("x", {{"n1", 0}})}), HasSubstr("has 1 children started, fewer than its least 2"));
}

TEST_F(CheckerTest, NodesAndDevicesAreNotOversubscribed) {
  tell(WorkloadUpsert{gang("x", "a", 1)});
  tell(WorkloadUpsert{gang("y", "a", 1)});
  EXPECT_THAT(decide({start("x", {{"n1", 0}}), start("y", {{"n1", 0}})}),
              HasSubstr("device 0 of node n1 has 1000"));
}

TEST_F(CheckerTest, SharesOfADeviceAddUp) {
  for (const auto* uid : {"x", "y", "z"}) tell(WorkloadUpsert{gang(uid, "a", 1, 0, 400)});
  EXPECT_THAT(decide({start("x", {{"n1", 0}}), start("y", {{"n1", 0}}), start("z", {{"n1", 0}})}),
              HasSubstr("has 800 thousandths in use now, it takes 400"));
}

TEST_F(CheckerTest, CpuIsNotOversubscribed) {
  Workload w = gang("x", "", 2);
  w.root.pod_sets[0].pod.requests.set("cpu", 5000);
  tell(WorkloadUpsert{w});
  EXPECT_THAT(decide({start("x", {{"n1", 0}, {"n1", 1}})}), HasSubstr("node n1 has 3000 of cpu left"));
}

TEST_F(CheckerTest, DevicesMustExistAndBeHealthyAndDistinct) {
  tell(WorkloadUpsert{gang("x", "", 1)});
  Checker before = checker_;
  EXPECT_THAT(decide({start("x", {{"n1", 2}})}), HasSubstr("gets 0 devices"));
  checker_ = before;
  Decision none = start("x", {{"n1", 0}});
  none.slots[0].devices.clear();
  EXPECT_THAT(decide({none}), HasSubstr("gets 0 devices"));
  checker_ = before;
  Node sick = node("n1", 2);
  sick.devices[0].unhealthy = {1};
  tell(NodeUpsert{sick});
  EXPECT_THAT(decide({start("x", {{"n1", 1}})}), HasSubstr("is not healthy"));
}

TEST_F(CheckerTest, RoomUnderReleasingPodsIsNotFree) {
  tell(WorkloadUpsert{gang("x", "", 1)});
  ASSERT_EQ(decide({start("x", {{"n1", 0}})}), "");
  tell(SlotUpdate{"x", 0, 0, SlotState::kReleasing, ""});
  tell(WorkloadUpsert{gang("y", "", 1)});
  EXPECT_THAT(decide({start("y", {{"n1", 0}})}), HasSubstr("in use now"));
}

TEST_F(CheckerTest, QuotaIsNotExceeded) {
  Queue capped = queue("a", "all", 1);
  capped.quotas[0].borrowing_limit = 1000;
  tell(QueueUpsert{capped});
  tell(WorkloadUpsert{gang("x", "a", 3)});
  EXPECT_THAT(decide({start("x", {{"n1", 0}, {"n1", 1}, {"n2", 0}})}), HasSubstr("queue a has 2000 left"));
}

TEST_F(CheckerTest, FlavorsAreTheQueuesOwn) {
  tell(WorkloadUpsert{gang("x", "a", 1)});
  Checker before = checker_;
  Decision d = start("x", {{"n1", 0}});
  d.flavors[0].resource = "cpu";
  EXPECT_THAT(decide({d}), HasSubstr("no flavor is named for nvidia.com/gpu"));
  checker_ = before;
  tell(FlavorUpsert{{"g", {}, {}, {}, ""}});
  d = start("x", {{"n1", 0}});
  d.flavors[0].flavor = "g";
  EXPECT_THAT(decide({d}), HasSubstr("is not one of the queue's"));
}

TEST_F(CheckerTest, PlacesMustSuitThePod) {
  Workload w = gang("x", "", 1);
  w.root.pod_sets[0].pod.node_selector.edit()["rack"] = "r2";
  tell(WorkloadUpsert{w});
  tell(WorkloadUpsert{gang("y", "", 1)});
  Checker before = checker_;
  EXPECT_THAT(decide({start("x", {{"n1", 0}})}), HasSubstr("node selector does not match"));
  checker_ = before;
  Node bad = node("n1", 2);
  bad.taints.push_back({"k", "v", TaintEffect::kNoExecute});
  tell(NodeUpsert{bad});
  EXPECT_THAT(decide({start("y", {{"n1", 0}})}), HasSubstr("taint k is not tolerated"));
  checker_ = before;
  bad.taints.clear();
  bad.unschedulable = true;
  tell(NodeUpsert{bad});
  EXPECT_THAT(decide({start("y", {{"n1", 0}})}), HasSubstr("cordoned"));
}

TEST_F(CheckerTest, ARequiredDomainIsOne) {
  Workload w = gang("x", "", 2);
  w.root.topology.required = "rack";
  tell(WorkloadUpsert{w});
  Checker before = checker_;
  EXPECT_THAT(decide({start("x", {{"n1", 0}, {"n2", 0}})}), HasSubstr("must share one rack"));
  checker_ = before;
  EXPECT_EQ(decide({start("x", {{"n2", 1}, {"n2", 0}})}), "");
}

TEST_F(CheckerTest, AGangIsSpread) {
  Workload w = gang("x", "", 2);
  CountedTerm term{TermKind::kSpread, "red", "rack"};
  term.max_skew = 1;
  w.root.pod_sets[0].pod.terms.edit().push_back(term);
  w.root.pod_sets[0].pod.selected = {"red"};
  tell(WorkloadUpsert{w});
  Checker before = checker_;
  EXPECT_THAT(decide({start("x", {{"n1", 0}, {"n1", 1}})}),
              HasSubstr("too many pods are in a domain of rack"));
  checker_ = before;
  EXPECT_EQ(decide({start("x", {{"n1", 0}, {"n2", 0}})}), "");
}

// A red pod stands in r1. The pod that must be spread comes there between two others of its gang: one in r2, then one in r1.
TEST_F(CheckerTest, AGangIsSpreadInOneOrderAlone) {
  Workload other = gang("other", "", 1, 0, 100);
  other.root.pod_sets[0].pod.selected = {"red"};
  tell(WorkloadUpsert{other});
  ASSERT_EQ(decide({start("other", {{"n1", 0}})}), "");
  Workload w = gang("x", "", 1);
  w.root.pod_sets[0].pod.selected = {"red"};
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  w.root.pod_sets[2].pod.claim.requests[0].milli = 100;
  CountedTerm term{TermKind::kSpread, "red", "rack"};
  term.max_skew = 1;
  w.root.pod_sets[0].pod.terms.edit().push_back(term);
  tell(WorkloadUpsert{w});
  Decision d = start("x", {{"n1", 1}});
  d.flavors = {};
  d.slots.push_back({1, 0, "n2", {0}});
  d.slots.push_back({2, 0, "n1", {0}});
  EXPECT_EQ(decide({d}), "");
}

TEST_F(CheckerTest, QueuesThatAreStoppedStartNothing) {
  Queue stopped = queue("a", "all", 2);
  stopped.stop = StopPolicy::kHold;
  tell(QueueUpsert{stopped});
  tell(WorkloadUpsert{gang("x", "a", 1)});
  EXPECT_THAT(decide({start("x", {{"n1", 0}})}), HasSubstr("queue a is stopped"));
}

// low runs on both devices of n1 in queue a; high waits there too.
class YieldTest : public CheckerTest {
 protected:
  YieldTest() {
    tell(NodeRemove{"n2"});
    tell(WorkloadUpsert{gang("low", "a", 2)});
    EXPECT_EQ(decide({start("low", {{"n1", 0}, {"n1", 1}})}), "");
    tell(WorkloadUpsert{gang("high", "a", 1, 1)});
  }
  Decision evict_low(ReasonCode cause = ReasonCode::kPreempted, const std::string& to = "high") {
    return evict("low", to, cause, {{"n1", 0}, {"n1", 1}});
  }
};

TEST_F(YieldTest, PreemptionWithAHoldIsRight) {
  EXPECT_EQ(decide({evict_low(), hold("high", {{"n1", 1}})}), "");
  // The room is kept: no other work gets it, and its holder starts when it is free.
  tell(WorkloadRemove{"low"});
  tell(WorkloadUpsert{gang("thief", "b", 1)});
  Checker before = checker_;
  EXPECT_THAT(decide({start("thief", {{"n1", 1}})}), HasSubstr("once releasing pods are gone"));
  checker_ = before;
  EXPECT_THAT(checker_.at_rest(), HasSubstr("high still holds room"));
  EXPECT_EQ(decide({start("high", {{"n1", 1}})}), "");
  EXPECT_EQ(checker_.at_rest(), "");
}

TEST_F(YieldTest, AnEvictionNeedsAHolder) {
  EXPECT_THAT(decide({evict_low()}), HasSubstr("gave way to high, which does not hold the room"));
}

TEST_F(YieldTest, AGangIsEvictedWhole) {
  EXPECT_THAT(decide({evict("low", "high", ReasonCode::kPreempted, {{"n1", 0}})}),
              HasSubstr("it leaves a part"));
}

TEST_F(YieldTest, PolicyDecidesAboutVictims) {
  Checker before = checker_;
  tell(WorkloadUpsert{gang("equal", "a", 1, 0)});
  EXPECT_THAT(decide({evict_low(ReasonCode::kPreempted, "equal")}), HasSubstr("does not let equal"));
  checker_ = before;
  Workload meek = gang("high", "a", 1, 1);
  meek.may_preempt = false;
  tell(WorkloadUpsert{meek});
  EXPECT_THAT(decide({evict_low()}), HasSubstr("never preempts"));
  checker_ = before;
  Workload firm = gang("low", "a", 2);
  firm.preemptible = false;
  tell(WorkloadUpsert{firm});
  EXPECT_THAT(decide({evict_low()}), HasSubstr("may not be preempted"));
}

TEST_F(YieldTest, ProtectedWorkIsNotReclaimed) {
  tell(WorkloadUpsert{gang("other", "b", 1, 9)});
  EXPECT_THAT(decide({evict_low(ReasonCode::kReclaimed, "other")}), HasSubstr("it is protected"));
}

TEST_F(YieldTest, BorrowedQuotaIsReclaimedByWorkWithinItsOwn) {
  tell(QueueUpsert{queue("a", "all", 1)});
  tell(WorkloadUpsert{gang("other", "b", 1)});
  Checker before = checker_;
  EXPECT_EQ(decide({evict_low(ReasonCode::kReclaimed, "other"), hold("other", {{"n1", 0}})}), "");
  checker_ = before;
  tell(QueueUpsert{queue("b", "all", 0)});
  EXPECT_THAT(decide({evict_low(ReasonCode::kReclaimed, "other"), hold("other", {{"n1", 0}})}),
              HasSubstr("but then b uses 1000 of its own 0"));
}

TEST_F(YieldTest, AVictimThatCouldStayIsFound) {
  tell(NodeUpsert{node("n2", 2)});
  EXPECT_THAT(decide({evict_low(), hold("high", {{"n2", 0}})}), HasSubstr("low gave way to it for nothing"));
}

TEST_F(YieldTest, AHoldEndsWithAReason) {
  ASSERT_EQ(decide({evict_low(), hold("high", {{"n1", 1}})}), "");
  Decision end = decision(DecisionKind::kReleaseHold, "high", {{"n1", 1}});
  Checker before = checker_;
  EXPECT_THAT(decide({end}), HasSubstr("is no cause for the end of a hold"));
  checker_ = before;
  end.reason.code = ReasonCode::kHoldBroken;
  EXPECT_EQ(decide({end}), "");
}

TEST_F(YieldTest, DrainAndWithdrawalNeedTheirCause) {
  Checker before = checker_;
  EXPECT_THAT(decide({evict_low(ReasonCode::kWithdrawn, "")}), HasSubstr("nobody asked to withdraw it"));
  checker_ = before;
  EXPECT_THAT(decide({evict_low(ReasonCode::kDrained, "")}), HasSubstr("its queue is not drained"));
  checker_ = before;
  tell(Withdraw{"low", "why"});
  EXPECT_EQ(decide({evict_low(ReasonCode::kWithdrawn, "")}), "");
}

TEST_F(YieldTest, AHoldThatHasEndedIsNotWithdrawn) {
  ASSERT_EQ(decide({evict_low(), hold("high", {{"n1", 1}})}), "");
  tell(Withdraw{"high", "why"});
  Workload high = gang("high", "a", 1, 1);
  high.active = false;
  tell(WorkloadUpsert{high});
  high.active = true;
  tell(WorkloadUpsert{high});
  tell(WorkloadRemove{"low"});
  EXPECT_EQ(decide({start("high", {{"n1", 1}})}), "");
}

}  // namespace
}  // namespace berth::property
