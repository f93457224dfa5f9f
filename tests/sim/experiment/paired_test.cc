// The paired difference: against textbook numbers, and its laws on random ones.
#include "sim/experiment/paired.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace berth::sim {
namespace {

TEST(Paired, TextbookInterval) {
  // 1 to 5: mean 3, deviation 1.5811, t(4) = 2.776, half 1.9629. In thousandths.
  const PairedDifference off = paired_difference({1000, 2000, 3000, 4000, 5000});
  EXPECT_EQ(off.pairs, 5);
  EXPECT_EQ(off.mean, 3000);
  EXPECT_EQ(off.low, 3000 - 1963);
  EXPECT_EQ(off.high, 3000 + 1963);
  EXPECT_TRUE(off.clear);
}

TEST(Paired, AnIntervalWithZeroIsNotClear) {
  const PairedDifference off = paired_difference({-1000, 2000, 1000, -500, 900});
  EXPECT_FALSE(off.clear);
  EXPECT_LT(off.low, 0);
  EXPECT_GT(off.high, 0);
  // Two pairs say little: t(1) = 12.706.
  EXPECT_FALSE(paired_difference({1000, 1300}).clear);
  EXPECT_TRUE(paired_difference({1000, 1100}).clear);
}

TEST(Paired, EqualDifferencesHaveNoWidth) {
  const PairedDifference off = paired_difference({-7, -7, -7});
  EXPECT_EQ(off.low, -7);
  EXPECT_EQ(off.high, -7);
  EXPECT_TRUE(off.clear);
  EXPECT_FALSE(paired_difference({0, 0, 0}).clear);
}

TEST(Paired, OnePairKnowsNoInterval) {
  const PairedDifference one = paired_difference({42});
  EXPECT_FALSE(one.known());
  EXPECT_FALSE(one.clear);
  EXPECT_EQ(one.mean, 42);
  EXPECT_EQ(paired_difference({}).pairs, 0);
}

TEST(Paired, AmountsOfAnySizeFit) {
  const std::int64_t huge = std::int64_t{1} << 60;
  const PairedDifference off = paired_difference({huge, huge + (huge >> 8), huge - (huge >> 8), -huge});
  EXPECT_FALSE(off.clear);
  EXPECT_LE(off.low, off.mean);
  EXPECT_TRUE(paired_difference({huge, huge + 1000, huge - 1000}).clear);
  EXPECT_TRUE(paired_difference({INT64_MIN, INT64_MIN}).clear);
}

// The same as computed in floating point, but for rounding.
RC_GTEST_PROP(Paired, AgreesWithFloatingPoint, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(2, 31);
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(
      count, rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000));
  const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  double sum = 0, squares = 0;
  for (const auto value : values) sum += static_cast<double>(value);
  const double n = static_cast<double>(count), mean = sum / n;
  for (const auto value : values)
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  const double half = t[count - 2] * std::sqrt(squares / (n - 1) / n);
  const PairedDifference off = paired_difference(values);
  RC_ASSERT(std::abs(static_cast<double>(off.mean) - mean) <= 0.5);
  RC_ASSERT(std::abs(static_cast<double>(off.mean - off.low) - half) <= 1.01);
  RC_ASSERT(off.high - off.mean == off.mean - off.low);
  if (std::abs(std::abs(mean) - half) > 1) RC_ASSERT(off.clear == (std::abs(mean) > half));
  // The order of the seeds is of no account.
  auto turned = values;
  std::reverse(turned.begin(), turned.end());
  RC_ASSERT(paired_difference(turned).low == off.low);
}

}  // namespace
}  // namespace berth::sim
