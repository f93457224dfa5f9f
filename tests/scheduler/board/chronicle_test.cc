#include "scheduler/board/chronicle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

Event upsert_of(const std::string& uid, const std::string& queue, std::int64_t priority = 0) {
  WorkloadUpsert out;
  out.workload.uid = uid;
  out.workload.name = "default/" + uid;
  out.workload.queue = queue;
  out.workload.priority = priority;
  out.workload.root.pod_sets.emplace_back();
  return out;
}

std::vector<StoryStep::Kind> kinds_of(const Chronicle& chronicle, std::string_view uid) {
  std::vector<StoryStep::Kind> out;
  for (const StoryStep& step : chronicle.steps(uid)) out.push_back(step.kind);
  return out;
}

using Step = StoryStep::Kind;

TEST(Chronicle, KnowsAWorkloadByItsLatestRevision) {
  Chronicle chronicle;
  chronicle.took(upsert_of("a-uid-that-is-too-long-for-the-string-itself", "first"));
  chronicle.took(upsert_of("other", "first"));
  const std::string uid = "a-uid-that-is-too-long-for-the-string-itself";
  const auto before = chronicle.facts(uid);
  ASSERT_NE(before, nullptr);
  chronicle.took(upsert_of(uid, "second"));
  chronicle.took(upsert_of(uid, "second"));
  ASSERT_NE(chronicle.facts(uid), nullptr);
  EXPECT_EQ(chronicle.facts(uid)->queue, "second");
  EXPECT_EQ(before->queue, "first") << "facts never change";
  EXPECT_EQ(chronicle.named("default/" + uid), chronicle.facts(uid));
  EXPECT_THAT(kinds_of(chronicle, uid), ::testing::ElementsAre(Step::kCreated, Step::kChanged));
  EXPECT_THAT(kinds_of(chronicle, "other"), ::testing::ElementsAre(Step::kCreated));
}

TEST(Chronicle, TellsOfAWorkloadThatHasEnded) {
  Chronicle chronicle;
  chronicle.took(upsert_of("a", "first"));
  chronicle.took(WorkloadRemove{"a"});
  ASSERT_NE(chronicle.facts("a"), nullptr);
  EXPECT_EQ(chronicle.named("default/a"), nullptr);
  EXPECT_THAT(kinds_of(chronicle, "a"), ::testing::ElementsAre(Step::kCreated, Step::kEnded));
  // One of the same uid comes, and ends.
  chronicle.took(upsert_of("a", "second"));
  EXPECT_EQ(chronicle.facts("a")->queue, "second");
  chronicle.took(WorkloadRemove{"a"});
  EXPECT_EQ(chronicle.facts("a")->queue, "second");
  EXPECT_THAT(kinds_of(chronicle, "a"), ::testing::ElementsAre(Step::kCreated, Step::kEnded));
}

TEST(Chronicle, ForgetsTheOldestThatHaveEnded) {
  Chronicle chronicle;
  for (std::size_t i = 0; i <= Chronicle::kMostEnded; ++i) {
    const std::string uid = "work-" + std::to_string(i);
    chronicle.took(upsert_of(uid, "first"));
    chronicle.took(WorkloadRemove{uid});
  }
  EXPECT_EQ(chronicle.facts("work-0"), nullptr);
  EXPECT_NE(chronicle.facts("work-1"), nullptr);
}

TEST(Chronicle, KeepsTheReasonOfADecision) {
  Chronicle chronicle;
  chronicle.took(upsert_of("a", "first"));
  Decision evict;
  evict.kind = DecisionKind::kEvict;
  evict.workload = "a";
  evict.beneficiary = "b";
  evict.reason.code = ReasonCode::kPreempted;
  chronicle.decided(1000, {evict});
  const auto steps = chronicle.steps("a");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].reason->code, ReasonCode::kNone);
  EXPECT_EQ(steps[1].reason->code, ReasonCode::kPreempted);
  EXPECT_EQ(steps[1].other, "b");
}

}  // namespace
}  // namespace berth::scheduler
