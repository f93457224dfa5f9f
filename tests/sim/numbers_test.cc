// Series, spreads, books and generators: exact numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/books.h"
#include "sim/generator.h"
#include "sim/series.h"
#include "sim/sim_support.h"

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

// The published figures: 86.7 % one GPU, 1.93 GPUs on average, median 874 s, mean 18,006 s, 32.5 GPU-hours per job.
TEST(Generator, PhillyHasThePublishedFigures) {
  TraceBuilder builder;
  JobRules rules;
  rules.queue = "q";
  GeneratorOptions options;
  options.jobs = 300'000;
  options.span = 120 * 24 * kHour;
  ASSERT_TRUE(generate_jobs(11, options, rules, builder));
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.jobs.size(), 300'000u);
  std::vector<std::int64_t> durations;
  Int128 gpus = 0;
  Int128 gpu_ms = 0;
  std::int64_t ones = 0;
  for (const Job& job : trace.jobs) {
    durations.push_back(job.duration);
    const std::int64_t size = trace.shapes[job.shape].gpu_milli / 1000;
    gpus += size;
    gpu_ms += static_cast<Int128>(size) * job.duration;
    if (size == 1) ++ones;
    ASSERT_GE(job.submit, 0);
    ASSERT_LT(job.submit, options.span);
  }
  const Spread spread = spread_of(durations);
  const auto near = [](double got, double want, double percent) {
    EXPECT_NEAR(got, want, want * percent / 100);
  };
  near(static_cast<double>(spread.median), 874e3, 4);
  near(static_cast<double>(spread.mean), 18'006e3, 4);
  near(static_cast<double>(ones) / 300'000, 0.867, 1);
  near(static_cast<double>(gpus) / 300'000, 1.93, 6);
  near(static_cast<double>(gpu_ms) / 300'000 / static_cast<double>(kHour), 32.5, 12);
}

TEST(Generator, SeedDecides) {
  const auto names = [](std::uint64_t seed) {
    std::string out;
    for (const Node& node : generate_openb_nodes(seed, 50, "n")) out += node.devices.at(0).model + " ";
    return out;
  };
  EXPECT_EQ(names(1), names(1));
  EXPECT_NE(names(1), names(2));
}

// openb's fleet: 71 % of the GPUs are G2; its pods: 38 % shared, 48 % one GPU, 13 % none.
TEST(Generator, OpenbHasThePublishedShares) {
  std::int64_t gpus = 0;
  std::int64_t g2 = 0;
  for (const Node& node : generate_openb_nodes(5, 20'000, "n")) {
    gpus += node.devices.at(0).count;
    if (node.devices.at(0).model == "G2") g2 += node.devices.at(0).count;
  }
  EXPECT_NEAR(static_cast<double>(g2) / static_cast<double>(gpus), 4392.0 / 6212, 0.02);
  EXPECT_NEAR(static_cast<double>(gpus) / 20'000, 6212.0 / 1213, 0.1);

  TraceBuilder builder;
  JobRules rules;
  rules.queue = "q";
  GeneratorOptions options;
  options.like = Likeness::kOpenb;
  options.jobs = 100'000;
  ASSERT_TRUE(generate_jobs(3, options, rules, builder));
  const Trace trace = builder.finish();
  std::array<std::int64_t, kSizeClasses> counts{};
  for (const Job& job : trace.jobs)
    ++counts[static_cast<std::size_t>(size_class(trace.shapes[job.shape].gpu_milli))];
  EXPECT_NEAR(static_cast<double>(counts[0]) / 1000, 13.3, 1);
  EXPECT_NEAR(static_cast<double>(counts[1]) / 1000, 37.8, 1);
  EXPECT_NEAR(static_cast<double>(counts[2]) / 1000, 48.0, 1);
}

}  // namespace
}  // namespace berth::sim
