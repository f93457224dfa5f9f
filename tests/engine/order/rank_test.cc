// Where a workload stands in the line of its queue: the pure functions.
#include "engine/order/rank.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

TEST(Rank, TiersComeBeforePriorities) {
  const auto rank = [](WorkloadKind kind, std::int64_t priority) {
    return ranked_priority(Tiers::kByKind, kind, priority);
  };
  EXPECT_GT(rank(WorkloadKind::kService, -2'000'000'000), rank(WorkloadKind::kTraining, 2'000'000'000));
  EXPECT_GT(rank(WorkloadKind::kTraining, -2'000'000'000), rank(WorkloadKind::kBatch, 2'000'000'000));
  EXPECT_GT(rank(WorkloadKind::kBatch, 1), rank(WorkloadKind::kBatch, 0));
  EXPECT_EQ(rank(WorkloadKind::kService, 7), rank(WorkloadKind::kInteractive, 7));
  EXPECT_GT(rank(WorkloadKind::kTraining, kInt64Min), rank(WorkloadKind::kBatch, kInt64Max));
  EXPECT_EQ(ranked_priority(Tiers::kNone, WorkloadKind::kService, 7), 7);
}

TEST(Rank, WorkIsKeptUpToTheLastCheckpoint) {
  Progress first;
  Restart restart;
  EXPECT_EQ(kept_work(first, restart, 1'000, 91'000), 0) << "no checkpoints, nothing kept";
  restart.checkpoint_every = 40'000;
  EXPECT_EQ(kept_work(first, restart, 1'000, 91'000), 80'000);
  Progress again;
  again.runs = 1;
  restart.overhead = 20'000;
  EXPECT_EQ(kept_work(again, restart, 1'000, 91'000), 40'000) << "20 s of the 90 s went into the restart";
  EXPECT_EQ(kept_work(again, restart, 1'000, 11'000), 0);
  restart.last_checkpoint = 71'000;
  EXPECT_EQ(kept_work(again, restart, 1'000, 91'000), 50'000) << "as reported";
}

TEST(Rank, RemainingWorkIsNeverNegative) {
  Progress p;
  p.done = 30'000;
  Restart restart;
  EXPECT_EQ(remaining_work(p, restart, 100'000, 0, 500'000), 70'000);
  EXPECT_EQ(remaining_work(p, restart, 100'000, 490'000, 500'000), 60'000);
  EXPECT_EQ(remaining_work(p, restart, 100'000, 1'000, 500'000), 0);
  EXPECT_EQ(remaining_work(p, restart, std::nullopt, 0, 500'000), std::nullopt);
}

TEST(Rank, AttainedServiceCountsDevicesTimesTime) {
  Progress p;
  p.attained = 1'000;
  p.devices = 2'500;
  p.since = 10'000;
  EXPECT_EQ(attained_service(p, 14'000), 11'000);
  EXPECT_EQ(attained_service(p, 9'000), 1'000) << "time does not go back";
  p.devices = kInt64Max;
  EXPECT_EQ(attained_service(p, kInt64Max), kInt64Max);
}

TEST(Rank, LevelsGrowGeometrically) {
  Ordering o;
  o.by = OrderBy::kAttainedLevels;
  o.attained_first = 100;
  o.attained_ratio = 10;
  o.attained_levels = 4;
  const std::pair<std::int64_t, std::int64_t> cases[] = {{0, 0},     {99, 0},    {100, 1},    {999, 1},
                                                         {1'000, 2}, {9'999, 2}, {10'000, 3}, {kInt64Max, 3}};
  for (const auto& [attained, level] : cases) EXPECT_EQ(attained_level(o, attained), level) << attained;
  o.by = OrderBy::kAttained;
  EXPECT_EQ(attained_level(o, 99), 0);
  EXPECT_EQ(attained_level(o, 12'345), 123);
}

TEST(Rank, UnknownRunTimesStandBehindKnownOnes) {
  Ordering o;
  o.by = OrderBy::kDuration;
  EXPECT_LT(order_key(o, {}, {}, kInt64Max - 1, 0, 0), order_key(o, {}, {}, std::nullopt, 0, 0));
  o.by = OrderBy::kRemaining;
  EXPECT_LT(order_key(o, {}, {}, 5, 0, 0), order_key(o, {}, {}, std::nullopt, 0, 0));
  EXPECT_EQ(order_key({}, {}, {}, 5, 0, 0), 0) << "by creation, nothing else counts";
}

TEST(Rank, AnAgeLimitIsTheDefaultWhereWorkCouldStarve) {
  Ordering o;
  EXPECT_EQ(o.limit(), 0);
  o.by = OrderBy::kDuration;
  EXPECT_EQ(o.limit(), 3 * 24 * kHour);
  o.age_limit = 0;
  EXPECT_EQ(o.limit(), 0);
}

TEST(Rank, LongWorkAgesAfterTwiceItsRunTime) {
  Ordering o;
  o.age_limit = 10 * kHour;
  EXPECT_EQ(age_limit(o, std::nullopt), 10 * kHour) << "the run time is not known";
  EXPECT_EQ(age_limit(o, kHour), 10 * kHour) << "the limit is longer";
  EXPECT_EQ(age_limit(o, 9 * kHour), 18 * kHour);
  EXPECT_EQ(age_limit(o, kInt64Max), kInt64Max);
  o.age_limit = 0;
  EXPECT_EQ(age_limit(o, 9 * kHour), 0) << "never";
}

}  // namespace
}  // namespace berth::engine
