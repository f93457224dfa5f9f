// Rules that a queue sets for others: resources that it does not count, and the conditions of reclaim from it.
#include <gtest/gtest.h>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// One node of 8 GPUs; `owner` is guaranteed all of them, `guest` nothing.
class QueueRules : public ::testing::Test {
 protected:
  void SetUp() override {
    ok(e.apply(gpu_node("n0", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(e.apply(cohort("all")));
    ok(e.apply(gpu_queue("owner", "all", 8)));
    ok(e.apply(QueueUpsert{guest}));
  }
  void guest_runs() {
    ok(e.apply(QueueUpsert{guest}));
    ok(e.apply(gang("borrows", 8, 1, 100, "guest")));
    ASSERT_EQ(e.decide(1000).size(), 1u);
    ok(e.apply(gang("owns", 8, 1, 0, "owner")));
  }

  Engine e;
  Queue guest = std::get<QueueUpsert>(gpu_queue("guest", "all", 0)).queue;
};

TEST_F(QueueRules, WhatIsBorrowedIsTakenBack) {
  guest_runs();
  EXPECT_EQ(e.decide(2000).size(), 2u);
}

TEST_F(QueueRules, UnlessTheQueueIsNotReclaimable) {
  guest.preemption.reclaimable = false;
  guest_runs();
  EXPECT_TRUE(e.decide(2000).empty());
  guest.preemption.reclaimable = true;
  ok(e.apply(QueueUpsert{guest}));
  EXPECT_EQ(e.decide(3000).size(), 2u) << "the rule has changed";
  ok(e.audit());
}

TEST_F(QueueRules, AMinimumRuntimeAgainstOtherQueuesIsNoneWithinTheQueue) {
  guest.preemption.minimum_runtime_across = 60'000;
  guest_runs();
  EXPECT_TRUE(e.decide(2000).empty());
  EXPECT_EQ(e.next_time(), 61'000);
  ok(e.apply(WorkloadRemove{"owns"}));
  ok(e.apply(gang("urgent", 8, 1, 200, "guest")));
  const auto d = e.decide(3000);
  ASSERT_EQ(d.size(), 2u) << "its own queue may take its room at once";
  EXPECT_EQ(d[1].workload, "urgent");
  guest.preemption.minimum_runtime_across = -1;
  EXPECT_FALSE(e.apply(QueueUpsert{guest}));
}

TEST_F(QueueRules, AnOpenQueueDoesNotCountWhatItHasNoQuotaFor) {
  guest.groups = {{{"nvidia.com/gpu"}, {"f"}}};
  guest.quotas = {{"f", "nvidia.com/gpu", 0, {}, {}}};
  ok(e.apply(QueueUpsert{guest}));
  ok(e.apply(gang("asks-for-cpu", 8, 1, 0, "guest")));
  EXPECT_TRUE(e.decide(1000).empty());
  EXPECT_EQ(e.verdict("asks-for-cpu")->reason.code, ReasonCode::kQuotaUncovered);
  guest.open = true;
  ok(e.apply(QueueUpsert{guest}));
  EXPECT_EQ(e.decide(2000).size(), 1u);
  ok(e.audit());
}

}  // namespace
}  // namespace berth::engine
