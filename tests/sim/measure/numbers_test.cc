// Series, spreads and books: exact numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/course/series.h"
#include "sim/measure/metrics.h"
#include "sim/sim_support.h"
#include "sim/trace/books.h"

namespace berth::sim {
namespace {

TEST(Series, MergesBinsAndKeepsIntegrals) {
  BinnedSeries series(2, 100, 4);
  series.add(0, 10, 100);
  series.add(1, 3, 600);
  series.add(0, -4, 1600);        // within four bins of 1 s
  series.add(0, -6, 100 + 7500);  // needs bins of 2 s
  series.finish(100 + 8000);
  EXPECT_EQ(series.width(), 2000);
  ASSERT_EQ(series.bins(), 4u);
  EXPECT_EQ(static_cast<std::int64_t>(series.integral(0, 8100)), 10 * 1500 + 6 * 6000);
  EXPECT_EQ(series.mean(0, 0), (10 * 1500 + 6 * 500) / 2000);
  EXPECT_EQ(series.mean(0, 1), 6);
  EXPECT_EQ(series.mean(0, 3), 6 * 1500 / 2000);
  EXPECT_EQ(series.mean(1, 0), 3 * 1500 / 2000);
}

RC_GTEST_PROP(Series, MeansAddUpToTheIntegral, ()) {
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(-1000, 1000), rc::gen::inRange(0, 100'000)));
  BinnedSeries series(1, -500, 8);
  TimeMs at = -500;
  Int128 expected = 0;
  std::int64_t value = 0;
  for (const auto& [change, pause] : steps) {
    expected += static_cast<Int128>(value) * pause;
    at += pause;
    value += change;
    series.add(0, change, at);
  }
  series.finish(at);
  RC_ASSERT(series.integral(0, at) == expected);
  RC_ASSERT(series.bins() <= 8u);
  // Means are rounded towards zero: each bin is off by less than its length.
  Int128 sum = 0;
  for (std::size_t i = 0; i < series.bins(); ++i) {
    sum += static_cast<Int128>(series.mean(0, i)) * std::min(series.width(), at - series.bin_begin(i));
  }
  const Int128 off = sum > expected ? sum - expected : expected - sum;
  RC_ASSERT(off <= static_cast<Int128>(at + 500));
}

TEST(Spread, NearestRank) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 100; i > 0; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_EQ(spread.median, 50);
  EXPECT_EQ(spread.p90, 90);
  EXPECT_EQ(spread.p99, 99);
  EXPECT_EQ(spread.max, 100);
  EXPECT_EQ(spread.mean, 51);  // 50.5 to nearest
  EXPECT_EQ(spread_of({7}).p99, 7);
  EXPECT_EQ(spread_of({}).count, 0);
}

TEST(Decimals, ThousandthsWithoutTrailingZeros) {
  EXPECT_EQ(format_milli(0), "0");
  EXPECT_EQ(format_milli(1500), "1.5");
  EXPECT_EQ(format_milli(-1), "-0.001");
  EXPECT_EQ(format_milli(12'345'678), "12345.678");
}

TEST(Books, NoticeOversubscription) {
  NodeShape shape;
  shape.gpus = 2;
  shape.cpu_milli = 4000;
  const std::vector<Node> nodes{make_node("n", shape)};
  Books books(nodes);
  PodTemplate pod;
  pod.requests.set("cpu", 3000);
  pod.claim.requests.push_back({std::string(kGpu), 1, 600});
  ASSERT_TRUE(books.charge(0, pod, {0, 0, "n", {1}}));
  EXPECT_THAT(books.charge(0, pod, {0, 1, "n", {0}}).error().message, testing::HasSubstr("cpu"));
  PodTemplate share;
  share.claim.requests.push_back({std::string(kGpu), 1, 500});
  EXPECT_THAT(books.charge(0, share, {0, 2, "n", {1}}).error().message, testing::HasSubstr("device 1"));
  EXPECT_FALSE(books.charge(0, share, {0, 2, "n", {2}}));
  EXPECT_FALSE(books.charge(0, share, {0, 2, "n", {}}));
  EXPECT_FALSE(books.node("m"));
  EXPECT_FALSE(books.all_free());
  books.release(0, pod, {0, 0, "n", {1}});
}

TEST(Books, SayWhatIdleGpusAreGoodFor) {
  NodeShape shape;
  shape.gpus = 4;
  const std::vector<Node> nodes{make_node("n", shape), make_node("m", shape)};
  Books books(nodes);
  EXPECT_EQ(books.idle(), (IdleGpus{8000, 0, 0}));
  PodTemplate whole;
  whole.claim.requests.push_back({std::string(kGpu), 2, 1000});
  PodTemplate share;
  share.claim.requests.push_back({std::string(kGpu), 1, 300});
  ASSERT_TRUE(books.charge(0, whole, {0, 0, "n", {0, 1}}));
  EXPECT_EQ(books.idle(), (IdleGpus{4000, 2000, 0}));
  ASSERT_TRUE(books.charge(0, share, {0, 1, "n", {2}}));
  EXPECT_EQ(books.idle(), (IdleGpus{4000, 1000, 700}));
  ASSERT_TRUE(books.charge(0, share, {0, 2, "n", {2}}));
  EXPECT_EQ(books.idle(), (IdleGpus{4000, 1000, 400}));
  books.release(0, whole, {0, 0, "n", {0, 1}});
  EXPECT_EQ(books.idle(), (IdleGpus{4000, 3000, 400}));
  books.release(0, share, {0, 1, "n", {2}});
  books.release(0, share, {0, 2, "n", {2}});
  EXPECT_EQ(books.idle(), (IdleGpus{8000, 0, 0}));
  EXPECT_TRUE(books.all_free());
}

TEST(Slowdown, IsBoundedBelow) {
  EXPECT_EQ(slowdown_milli(100 * kSecond, 100 * kSecond), 1000);
  EXPECT_EQ(slowdown_milli(250 * kSecond, 100 * kSecond), 2500);
  EXPECT_EQ(slowdown_milli(20 * kSecond, 1), 2000);  // as if it ran for 10 s
  EXPECT_EQ(slowdown_milli(5 * kSecond, 5 * kSecond), 1000);
}

}  // namespace
}  // namespace berth::sim
