// Kueue's own Configuration: what of it is carried out, and what is refused.
#include "dialect/intake/kueue_config.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::dialect {
namespace {

Result<KueueConfig> read(const std::string& text) {
  const auto document = text::parse_document(text, "config.yaml");
  if (!document) return tl::unexpected<Error>(document.error());
  return read_kueue_config(*document, document->root());
}
std::string with(const std::string& rest, const std::string& version = "v1beta2") {
  return "apiVersion: config.kueue.x-k8s.io/" + version + "\nkind: Configuration\n" + rest;
}

TEST(KueueConfig, WhatIsNotThereIsOff) {
  const auto config = read(with("leaderElection: {leaderElect: true}\n"));
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_FALSE(config->fair_sharing);
  EXPECT_FALSE(config->lanes);
  EXPECT_FALSE(config->ignore_uncovered);
  EXPECT_EQ(config->fair_strategy, engine::FairStrategy::kFinalThenInitialShare);
}

TEST(KueueConfig, FairSharingIsOnByItsPresenceOrByItsSwitch) {
  EXPECT_TRUE(read(with("fairSharing: {}\n"))->fair_sharing);
  EXPECT_FALSE(read(with("fairSharing: {}\n", "v1beta1"))->fair_sharing);
  EXPECT_TRUE(read(with("fairSharing: {enable: true}\n", "v1beta1"))->fair_sharing);
  EXPECT_EQ(read(with("fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n"))->fair_strategy,
            engine::FairStrategy::kInitialShare);
  EXPECT_EQ(read(with("fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n"))->fair_strategy,
            engine::FairStrategy::kFinalShare);
}

TEST(KueueConfig, UseOfLocalQueues) {
  const auto config = read(with(
      "admissionFairSharing: {usageHalfLifeTime: 24h, usageSamplingInterval: 5m, resourceWeights: {cpu: 2, "
      "memory: 0.5}}\n"));
  ASSERT_TRUE(config) << config.error().str();
  ASSERT_TRUE(config->lanes);
  EXPECT_EQ(config->lanes->half_life, 24 * kHour);
  ASSERT_EQ(config->lanes->resource_weights.size(), 2u);
  EXPECT_EQ(config->lanes->resource_weights[1].weight, (Rational{500'000, 1'000'000}));
}

TEST(KueueConfig, QuotaOfUndeclaredResources) {
  EXPECT_TRUE(read(with("resources: {quotaCheckStrategy: IgnoreUndeclared}\n"))->ignore_uncovered);
  EXPECT_FALSE(read(with("resources: {quotaCheckStrategy: BlockUndeclared}\n"))->ignore_uncovered);
}

TEST(KueueConfig, PodsThatMustGetReadyInTime) {
  EXPECT_FALSE(read(with("", "v1beta1"))->pods_ready);
  EXPECT_FALSE(read(with("waitForPodsReady: {timeout: 1m}\n", "v1beta1"))->pods_ready)
      << "it has a switch there";
  const auto older = read(with("waitForPodsReady: {enable: true, blockAdmission: false}\n", "v1beta1"));
  ASSERT_TRUE(older) << older.error().str();
  EXPECT_EQ(older->pods_ready->timeout, 5 * kMinute);
  EXPECT_FALSE(older->pods_ready->block_admission);
  EXPECT_TRUE(read(with("waitForPodsReady: {enable: true}\n", "v1beta1"))->pods_ready->block_admission);
  EXPECT_TRUE(read(with("waitForPodsReady: {blockAdmission: true}\n"))->pods_ready->block_admission);
  // Since 0.19 it is on where nothing is said.
  ASSERT_TRUE(read(with(""))->pods_ready);
  EXPECT_EQ(*read(with(""))->pods_ready, (PodsReady{.recovery = 30 * kMinute}));
  const auto all = read(
      with("waitForPodsReady: {timeout: 10m, recoveryTimeout: 0s, requeuingStrategy: {timestamp: Creation, "
           "backoffLimitCount: 5, backoffBaseSeconds: 10, backoffMaxSeconds: 100}}\n"));
  ASSERT_TRUE(all) << all.error().str();
  const PodsReady expected{.timeout = 10 * kMinute,
                           .recovery = std::nullopt,
                           .most_requeues = 5,
                           .first_rest = 10 * kSecond,
                           .most_rest = 100 * kSecond,
                           .from_eviction = false};
  EXPECT_EQ(*all->pods_ready, expected);
}

TEST(KueueConfig, TimesThatAWorkloadGivesItself) {
  const PodsReady configured{.timeout = kMinute, .recovery = std::nullopt, .most_requeues = 3};
  EXPECT_EQ(with_own_times(configured, ""), configured);
  EXPECT_EQ(with_own_times(std::nullopt, ""), std::nullopt);
  PodsReady own = configured;
  own.timeout = 30 * kSecond;
  own.recovery = 30 * kSecond;
  EXPECT_EQ(with_own_times(configured, R"({"timeoutSeconds": 30})"), own);
  own.recovery = 40 * kSecond;
  EXPECT_EQ(with_own_times(configured, R"({"timeoutSeconds": 30, "recoveryTimeoutSeconds": 40})"), own);
  own.recovery = std::nullopt;
  EXPECT_EQ(with_own_times(configured, R"({"timeoutSeconds": 30, "recoveryTimeoutSeconds": 0, "more": 1})"),
            own);
  EXPECT_EQ(with_own_times(configured, R"({"timeoutSeconds": 1000000})")->timeout, 2 * kHour) << "at most";
  EXPECT_EQ(with_own_times(std::nullopt, R"({"timeoutSeconds": 30})")->timeout, 30 * kSecond);
  for (const char* wrong : {"x", "30", "[]", "{}", R"({"timeoutSeconds": 0})", R"({"timeoutSeconds": "30"})",
                            R"({"timeoutSeconds": 30, "recoveryTimeoutSeconds": -1})",
                            R"({"recoveryTimeoutSeconds": 30})", R"({"timeoutSeconds": 99999999999})"}) {
    EXPECT_EQ(with_own_times(configured, wrong), configured) << wrong;
    EXPECT_EQ(with_own_times(std::nullopt, wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(with_own_times(configured, std::string(100'000, '[')), configured);
  const auto bounded = read(with("waitForPodsReady: {maxTimeoutOnWorkload: 10m}\n"));
  ASSERT_TRUE(bounded) << bounded.error().str();
  EXPECT_EQ(with_own_times(bounded->pods_ready, R"({"timeoutSeconds": 3600})")->timeout, 10 * kMinute);
}

TEST(KueueConfig, WhatQuotaCounts) {
  const auto config =
      read(with("resources:\n  excludeResourcePrefixes: [networking.example.com/, x]\n  transformations:\n"
                "  - {input: nvidia.com/gpumem, strategy: Replace, multiplyBy: nvidia.com/gpu, outputs: "
                "{credits: 500m, total: 2}}\n"
                "  - {input: cpu, outputs: {cpu_credits: 1}}\n"));
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_EQ(config->counts.excluded, (std::vector<std::string>{"networking.example.com/", "x"}));
  ASSERT_EQ(config->counts.transformations.size(), 2u);
  const Transformation& first = config->counts.transformations[0];
  EXPECT_FALSE(first.retain);
  EXPECT_EQ(first.multiply_by, "nvidia.com/gpu");
  EXPECT_EQ(first.outputs,
            (std::vector<Transformation::Output>{{"credits", 500'000'000}, {"total", 2'000'000'000}}));
  EXPECT_TRUE(config->counts.transformations[1].retain) << "as Kueue does where nothing is said";
  EXPECT_TRUE(read(with("resources: {}\n"))->counts.empty());
}

TEST(KueueConfig, WhatWouldAdmitOtherWorkIsRefused) {
  const auto refused = [](const std::string& text, const std::string& words) {
    const auto config = read(text);
    ASSERT_FALSE(config) << text;
    EXPECT_NE(config.error().str().find(words), std::string::npos) << config.error().str();
  };
  refused(with("resources: {transformations: [{input: a/b, strategy: Swap}]}\n"), "Retain, Replace");
  refused(with("resources: {transformations: [{input: a/b, outputs: {c: -1}}]}\n"), "the factor of c");
  refused(with("resources: {transformations: [{input: a/b}, {input: a/b}]}\n"), "transformed twice");
  refused(with("resources: {transformations: [{strategy: Replace}]}\n"), "input");
  refused(with("fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}\n"),
          "in this order");
  refused(with("admissionFairSharing: {resourceWeights: {cpu: -1}}\n"), "the weight of cpu");
  refused("apiVersion: v1\nkind: ConfigMap\n", "Configuration of config.kueue.x-k8s.io is expected");
}

}  // namespace
}  // namespace berth::dialect
