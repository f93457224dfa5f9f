// The samplers' figures, against the mathematics.
#include "base/samplers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace berth {
namespace {

TEST(FixedPoint, LogarithmAndPowerAgreeWithTheLibraryWithinTheirError) {
  for (const std::uint64_t v : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1000},
                                std::uint64_t{123'456'789'012}, ~std::uint64_t{0}}) {
    const double want = std::log2(static_cast<double>(v));
    EXPECT_NEAR(static_cast<double>(log2_fixed(v)) / kFixedOne, want, 1.0 / (1 << 28)) << v;
  }
  EXPECT_EQ(log2_fixed(1), 0);
  EXPECT_EQ(log2_fixed(1024), 10 * kFixedOne);
  EXPECT_EQ(times_exp2(1, 0), 1);
  EXPECT_EQ(times_exp2(5, 3 * kFixedOne), 40);
  EXPECT_EQ(times_exp2(1, 200 * kFixedOne), kInt64Max);
  EXPECT_EQ(times_exp2(0, 200 * kFixedOne), 0);
  EXPECT_EQ(times_exp2(kInt64Max, kFixedOne), kInt64Max);
  for (std::int64_t x = 0; x < 4 * kFixedOne; x += kFixedOne / 7) {
    const double want = 1e12 * std::exp2(static_cast<double>(x) / kFixedOne);
    EXPECT_NEAR(static_cast<double>(times_exp2(1'000'000'000'000, x)), want, want / (1 << 28)) << x;
  }
}

TEST(Samplers, ExponentialHasItsMeanAndItsMedian) {
  Random random(5);
  constexpr int kCount = 100'000;
  std::vector<std::int64_t> values;
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    values.push_back(sample_exponential(random, 1'000'000));
    ASSERT_GE(values.back(), 0);
    ASSERT_LE(values.back(), 44'000'000);
    sum += static_cast<double>(values.back());
  }
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(sum / kCount, 1e6, 1.5e4);
  EXPECT_NEAR(static_cast<double>(values[kCount / 2]), 1e6 * std::log(2.0), 1.5e4);
  EXPECT_EQ(sample_exponential(random, 0), 0);
}

TEST(Samplers, LogUniformGivesEveryDoublingTheSameShare) {
  Random random(6);
  std::vector<int> doublings(10);
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const std::int64_t v = sample_log_uniform(random, 1000, 1'024'000);
    ASSERT_GE(v, 1000);
    ASSERT_LE(v, 1'024'000);
    ++doublings[static_cast<std::size_t>(std::min(9.0, std::log2(static_cast<double>(v) / 1000)))];
  }
  for (const int n : doublings) EXPECT_NEAR(n, kCount / 10, 500);
  EXPECT_EQ(sample_log_uniform(random, 7, 7), 7);
}

TEST(Samplers, SeedsOfStreamsDifferAndStay) {
  EXPECT_EQ(derived_seed(1, "a", 2), derived_seed(1, "a", 2));
  EXPECT_NE(derived_seed(1, "a", 2), derived_seed(2, "a", 2));
  EXPECT_NE(derived_seed(1, "a", 2), derived_seed(1, "b", 2));
  EXPECT_NE(derived_seed(1, "a", 2), derived_seed(1, "a", 3));
}

}  // namespace
}  // namespace berth
