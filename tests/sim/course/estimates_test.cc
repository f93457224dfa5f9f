// The run times that the engine gets.
#include "sim/course/estimates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::HasSubstr;

EstimateRules rules(Knowledge knowledge, EstimateModel model, std::int64_t factor_milli) {
  EstimateRules out;
  out.knowledge = knowledge;
  out.model = model;
  out.factor_milli = factor_milli;
  out.seed = 9;
  return out;
}

TEST(Estimates, NothingTheTruthOrWhatTheTraceSays) {
  const auto unknown = rules(Knowledge::kUnknown, EstimateModel::kFactor, 3000);
  EXPECT_EQ(expected_duration(unknown, "a", 5000, 7000), std::nullopt);
  const auto known = rules(Knowledge::kKnown, EstimateModel::kFactor, 3000);
  EXPECT_EQ(expected_duration(known, "a", 5000, 7000), 5000);
  EXPECT_EQ(expected_duration(known, "a", 0, std::nullopt), 1);
  const auto given = rules(Knowledge::kEstimated, EstimateModel::kGiven, 3000);
  EXPECT_EQ(expected_duration(given, "a", 5000, 7000), 7000);
  EXPECT_EQ(expected_duration(given, "a", 5000, std::nullopt), std::nullopt);
}

TEST(Estimates, FactorIsTooShortAsOftenAsTooLong) {
  const auto model = rules(Knowledge::kEstimated, EstimateModel::kFactor, 4000);
  int shorter = 0;
  int within_two = 0;
  constexpr int kJobs = 20'000;
  for (int i = 0; i < kJobs; ++i) {
    const DurationMs told = *expected_duration(model, std::to_string(i), kHour, std::nullopt);
    ASSERT_GE(told, kHour / 4 - 1);
    ASSERT_LE(told, kHour * 4 + 1);
    shorter += told < kHour ? 1 : 0;
    within_two += told >= kHour / 2 && told <= 2 * kHour ? 1 : 0;
  }
  EXPECT_NEAR(shorter, kJobs / 2, 300);
  EXPECT_NEAR(within_two, kJobs / 2, 300);  // two of the four doublings from 1/4 to 4
  EXPECT_EQ(expected_duration(model, "x", kHour, std::nullopt),
            expected_duration(model, "x", kHour, std::nullopt));
}

TEST(Estimates, UsersAskForMoreAndForRoundTimes) {
  const auto model = rules(Knowledge::kEstimated, EstimateModel::kOver, 5000);
  for (int i = 0; i < 2000; ++i) {
    const DurationMs duration = 1000 + 7919LL * i;
    const DurationMs told = *expected_duration(model, std::to_string(i), duration, std::nullopt);
    ASSERT_GE(told, duration);
    ASSERT_EQ(told, round_time(told));
    ASSERT_LE(told, round_time(5 * duration));
  }
  EXPECT_EQ(round_time(0), kMinute);
  EXPECT_EQ(round_time(kHour), kHour);
  EXPECT_EQ(round_time(kHour + 1), 2 * kHour);
  EXPECT_EQ(round_time(13 * kHour), 24 * kHour);
  EXPECT_EQ(round_time(49 * kHour), 72 * kHour);
}

TEST(Estimates, ReachTheEngine) {
  const TempFolder folder;
  folder.file(
      "t.jsonl",
      "{\"kind\":\"berth-trace\",\"version\":1}\n"
      "{\"kind\":\"node\",\"name\":\"n\",\"gpus\":8}\n"
      "{\"kind\":\"job\",\"id\":\"a\",\"queue\":\"q\",\"submit_ms\":0,\"duration_ms\":10000,\"gpus\":8,"
      "\"expected_ms\":3000}\n");
  const auto told = [&](const std::string& rule) -> std::optional<DurationMs> {
    const auto scenario = parse_scenario(
        "name: t\ncluster: [{kind: berth, path: t.jsonl}]\ntrace: [{kind: berth, path: t.jsonl" + rule +
            "}]\nqueues: [{name: q, unlimited: true}]\n",
        "s.yaml", folder.path());
    if (!scenario) ADD_FAILURE() << scenario.error().str();
    const auto input = load(*scenario);
    if (!input) ADD_FAILURE() << input.error().str();
    return make_workload(*input, 0, 0).expected_duration;
  };
  EXPECT_EQ(told(""), std::nullopt);
  EXPECT_EQ(told(", durations: known"), 10'000);
  EXPECT_EQ(told(", durations: estimated, estimate: given"), 3000);
  EXPECT_EQ(told(", durations: estimated, estimate_factor: 1"), 10'000);
  EXPECT_EQ(told(", durations: estimated, estimate: over, estimate_factor: 1"), kMinute);
}

TEST(Estimates, WrongKeysSayWhatIsMeant) {
  const std::string head = "name: t\ncluster: [{kind: shape, count: 1, gpus: 8}]\nqueues: [{name: q}]\n";
  const auto error = [&](const std::string& rule) {
    return error_of(head + "trace: [{kind: generate, jobs: 1, " + rule + "}]\n", ".");
  };
  EXPECT_THAT(error("durations: none"), HasSubstr("durations"));
  EXPECT_THAT(error("estimate: over"), HasSubstr("needs durations: estimated"));
  EXPECT_THAT(error("durations: estimated, estimate_factor: 0.5"), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(error("durations: estimated, estimate: given, estimate_factor: 2"),
              HasSubstr("has no meaning"));
}

}  // namespace
}  // namespace berth::sim
