// Quota reserved for the blocked head of a strict queue that may not reclaim (decide/strict_heads.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// Queues "lender" (strict, 3 GPUs), "own" (2) and "guest" (none) of one cohort, and more nodes than quota. From lender's quota
// guest has borrowed 2 GPUs ("borrower"), and 3 are left in the cohort.
struct StrictHeads {
  Engine e;
  TimeMs now = 0;

  explicit StrictHeads(Reclaim reclaim = Reclaim::kNever, QueueOrder order = QueueOrder::kStrict) {
    Flavor f;
    f.name = "f";
    put(FlavorUpsert{f});
    for (const char* node : {"n1", "n2"}) put(gpu_node(node, 8));
    put(cohort("all"));
    Event lender = gpu_queue("lender", "all", 3, {WithinQueue::kNever, reclaim});
    std::get<QueueUpsert>(lender).queue.order = order;
    put(lender);
    put(gpu_queue("own", "all", 2, {WithinQueue::kNever, Reclaim::kNever}));
    put(gpu_queue("guest", "all", 0, {WithinQueue::kNever, Reclaim::kNever}));
    put(gang("borrower", 2, 1, 0, "guest"));
    EXPECT_EQ(starts(), "borrower");
  }
  void put(const Event& event) { ok(e.apply(event)); }
  // The names of those that started.
  std::string starts() {
    std::string out;
    for (const Decision& d : e.decide(now += 1000)) {
      if (d.kind != DecisionKind::kStart) continue;
      out += (out.empty() ? "" : " ") + d.workload;
    }
    ok(e.audit());
    return out;
  }
  std::string why(const std::string& uid) { return to_text(e.verdict(uid)->reason); }
};

TEST(StrictHeads, KeepWhatTheirQueueHasNotLent) {
  StrictHeads w;
  w.put(gang("uses", 1, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "uses");
  w.put(gang("head", 3, 1, 0, "lender"));
  w.put(gang("more", 1, 1, 0, "guest"));
  EXPECT_EQ(w.starts(), "")
      << "of two GPUs that are left one is lender's, and one own's that more would borrow: head needs both";
  EXPECT_EQ(w.why("more"),
            "needs 1 nvidia.com/gpu in flavor f, quota left for it: 0, quota is reserved for head, which "
            "waits first in the strict queue lender");
  w.put(WorkloadRemove{"borrower"});
  EXPECT_EQ(w.starts(), "head more");
}

TEST(StrictHeads, KeepNothingWhereTheyMayTakeItBackOrLetOthersPass) {
  for (const auto& [reclaim, order] :
       {std::pair(Reclaim::kAny, QueueOrder::kStrict), std::pair(Reclaim::kNever, QueueOrder::kBestEffort)}) {
    StrictHeads w(reclaim, order);
    w.put(gang("uses", 1, 1, 0, "own"));
    w.put(gang("head", 3, 1, 0, "lender"));
    w.put(gang("more", 1, 1, 0, "guest"));
    EXPECT_EQ(w.starts(), "uses more");
    EXPECT_EQ(w.e.verdict("head")->kind,
              reclaim == Reclaim::kAny ? VerdictKind::kHeld : VerdictKind::kBlocked);
  }
}

TEST(StrictHeads, KeepNothingFromThoseInFrontOfThem) {
  StrictHeads w;
  w.put(gang("uses", 1, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "uses");
  w.put(gang("head", 3, 1, 0, "lender"));
  EXPECT_EQ(w.starts(), "");
  w.put(gang("behind", 1, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "") << "it came later, and lender's GPUs are lent already";
  w.put(gang("in-front", 1, 1, 10, "own"));
  EXPECT_EQ(w.starts(), "in-front");
}

TEST(StrictHeads, OthersGoOnWhenTheHeadIsGone) {
  for (const bool replaced : {false, true}) {
    StrictHeads w;
    w.put(gang("uses", 1, 1, 0, "own"));
    EXPECT_EQ(w.starts(), "uses");
    w.put(gang("head", 3, 1, 0, "lender"));
    w.put(gang("more", 1, 1, 0, "guest"));
    if (replaced) w.put(gang("next", 1, 1, 0, "lender"));
    EXPECT_EQ(w.starts(), "");
    w.put(WorkloadRemove{"head"});
    EXPECT_EQ(w.starts(), replaced ? "next more" : "more");
  }
}

// It runs, and would have a part more that its queue can never have. Awake or not, it is no head.
TEST(StrictHeads, GrowthThatNeverComesIsNoHead) {
  StrictHeads w;
  Workload parts = gang_workload("parts", 1, 1, 10, "lender");
  parts.root.pod_sets.push_back(parts.root.pod_sets.front());
  parts.root.pod_sets.back().pod.claim.requests[0].count = 100;
  parts.root.least = 1;
  parts.asks_more_since = 500;
  w.put(WorkloadUpsert{parts});
  w.put(gang("uses", 1, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "uses parts");
  w.put(gang("head", 2, 1, 0, "lender"));
  w.put(gang("more", 1, 1, 20, "guest"));
  EXPECT_EQ(w.starts(), "");
  EXPECT_TRUE(
      w.why("more").ends_with("quota is reserved for head, which waits first in the strict queue lender"))
      << w.why("more");
  EXPECT_EQ(w.e.verdict("parts")->kind, VerdictKind::kRefused);
  w.put(FlavorUpsert{{"unused", {}, {}, {}, ""}});
  EXPECT_EQ(w.starts(), "") << "all work has been looked at again, and nothing is free";
}

TEST(StrictHeads, KeepNothingWhenNodesAreAllTheyLack) {
  StrictHeads w;
  w.put(gang("uses", 1, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "uses");
  Workload wide = gang_workload("wide", 1, 2, 0, "lender");
  wide.root.pod_sets[0].pod.requests.set("cpu", 1'000'000);
  w.put(WorkloadUpsert{wide});
  w.put(gang("more", 1, 1, 0, "guest"));
  EXPECT_EQ(w.starts(), "more") << "no node has so many CPUs";
}

TEST(StrictHeads, APreemptorGetsTheRoomOfItsVictims) {
  StrictHeads w;
  w.put(gpu_queue("own", "all", 2, {WithinQueue::kLowerPriority, Reclaim::kNever}));
  w.put(gang("low", 2, 1, 0, "own"));
  EXPECT_EQ(w.starts(), "low");
  w.put(gang("head", 3, 1, 5, "lender"));
  w.put(gang("more", 3, 1, 4, "own"));
  EXPECT_EQ(w.starts(), "");
  EXPECT_EQ(w.e.verdict("low")->kind, VerdictKind::kPlaced)
      << "with the one that head keeps there would be three";
  w.put(gang("high", 2, 1, 2, "own"));
  const std::vector<Decision> decisions = w.e.decide(w.now += 1000);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(decisions[0].workload, "low");
  EXPECT_EQ(decisions[1].workload, "high");
}

}  // namespace
}  // namespace berth::engine
