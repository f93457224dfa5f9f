#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/page/report.h"
#include "sim/page/report_reduce.h"

namespace berth::sim {
namespace {

using ::testing::ElementsAre;

TimeChart chart_of(std::vector<Series> series, TimeMs end, SeriesStyle style = SeriesStyle::kStacked) {
  TimeChart chart;
  chart.series = std::move(series);
  chart.style = style;
  chart.end_ms = end;
  return chart;
}

TEST(ReduceTime, FewPointsStayExact) {
  TimeChart chart = chart_of({{"a", {{-5, 9}, {-1, 2}, {4, 5}, {4, 6}, {90, 1}}}, {"b", {{2, 1}}}}, 10);
  chart.capacity = Series{"all", {{0, 8}}};
  const ReducedTimeChart out = reduce(chart);
  EXPECT_TRUE(out.exact);
  EXPECT_THAT(out.edges, ElementsAre(0, 2, 4, 10));
  ASSERT_EQ(out.series.size(), 2u);
  EXPECT_THAT(out.series[0].value,
              ElementsAre(2, 2, 6));  // the value before the span counts, the later of one time wins
  EXPECT_THAT(out.series[1].value, ElementsAre(0, 1, 1));
  EXPECT_THAT(out.total.at(0).value, ElementsAre(2, 3, 7));
  EXPECT_THAT(out.capacity.at(0).value, ElementsAre(8, 8, 8));
  EXPECT_EQ(out.series[0].mean_milli, (2 * 4 + 6 * 6) * 100);
  EXPECT_EQ(out.series[0].peak, 6);
}

TEST(ReduceTime, ManyPointsBecomeSlicesThatKeepMeanAndPeak) {
  Series series{"a", {}};
  for (int i = 0; i < 100'000; ++i) series.points.push_back({i, i == 77'777 ? 1'000'000 : i % 10});
  const ReducedTimeChart out = reduce(chart_of({series}, 100'000, SeriesStyle::kLines));
  EXPECT_FALSE(out.exact);
  EXPECT_LE(out.edges.size(), kMaxPoints + 1);
  EXPECT_EQ(out.edges.front(), 0);
  EXPECT_EQ(out.edges.back(), 100'000);
  EXPECT_EQ(out.series[0].peak, 1'000'000);
  EXPECT_EQ(*std::max_element(out.series[0].high.begin(), out.series[0].high.end()), 1'000'000);
  EXPECT_EQ(out.series[0].low.front(), 0);
  EXPECT_EQ(out.series[0].mean_milli, 14'500);  // 0 to 9 have the mean 4.5, and one 7 became a million
}

TEST(ReduceTime, SmallSeriesOfAStackBecomeOneAndTheSumStays) {
  std::vector<Series> series;
  for (int i = 0; i < 40; ++i) series.push_back({"q" + std::to_string(i), {{0, 1 + i}, {i, 2 + i}}});
  const ReducedTimeChart out = reduce(chart_of(series, 100));
  ASSERT_EQ(out.series.size(), kMaxSeries);
  EXPECT_EQ(out.folded, 40 - kMaxSeries + 1);
  EXPECT_TRUE(out.series.back().other);
  EXPECT_EQ(out.series.front().name, "q29");  // the greatest, in their own order
  for (std::size_t step = 0; step + 1 < out.edges.size(); ++step) {
    std::int64_t sum = 0;
    for (const ReducedSeries& one : out.series) sum += one.value[step];
    std::int64_t all = 0;
    for (int i = 0; i < 40; ++i) all += out.edges[step] >= i ? 2 + i : 1 + i;
    EXPECT_EQ(sum, all) << out.edges[step];
  }
  const ReducedTimeChart lines = reduce(chart_of(series, 100, SeriesStyle::kLines));
  EXPECT_EQ(lines.series.size(), kMaxSeries);
  EXPECT_FALSE(lines.series.back().other);
}

TEST(ReduceTime, ExtremesDoNotWrap) {
  const ReducedTimeChart out =
      reduce(chart_of({{"a", {{0, INT64_MAX}}}, {"b", {{0, INT64_MAX}}}}, 1'000'000'000));
  EXPECT_EQ(out.total.at(0).value.at(0), INT64_MAX);
  EXPECT_EQ(out.series[0].value.at(0), INT64_MAX);
}

TEST(ReduceSamples, QuantilesAreNearestRank) {
  Distribution distribution;
  distribution.groups = {{"a", {}}, {"empty", {}}};
  for (int i = 100; i >= 1; --i) distribution.groups[0].samples.push_back(i);
  const ReducedDistribution out = reduce(distribution);
  const ReducedGroup& a = out.groups.at(0);
  EXPECT_EQ(a.p10, 10);
  EXPECT_EQ(a.p25, 25);
  EXPECT_EQ(a.p50, 50);
  EXPECT_EQ(a.p99, 99);
  EXPECT_EQ(a.max, 100);
  EXPECT_EQ(a.mean, 51);  // 50.5
  EXPECT_EQ(out.groups.at(1).count, 0);
  EXPECT_EQ(out.overall.at(0).count, 100);
}

TEST(ReduceSamples, CurvesAreBoundedAndEndAtTheGreatest) {
  for (const int n : {1, 3, 199, 200, 201, 5000, 123'457}) {
    Distribution distribution;
    distribution.groups = {{"a", {}}};
    for (int i = 0; i < n; ++i)
      distribution.groups[0].samples.push_back(i < n / 3 ? 0 : (std::int64_t{i} * 7919) % 1'000'003);
    const ReducedGroup group = reduce(distribution).groups.at(0);
    ASSERT_LE(group.curve_value.size(), kMaxCurvePoints) << n;
    // Each tenth of the tail has points of its own, down to the last sample but one.
    for (std::int64_t above = 1; above <= group.count / 10 && n == 123'457; above *= 10) {
      EXPECT_TRUE(std::any_of(group.curve_rank.begin(), group.curve_rank.end(), [&](std::int64_t rank) {
        return group.count - rank >= above && group.count - rank < 10 * above;
      })) << above;
    }
    EXPECT_EQ(group.curve_value.back(), group.max);
    EXPECT_EQ(group.curve_rank.back(), n);
    EXPECT_TRUE(std::is_sorted(group.curve_value.begin(), group.curve_value.end()));
    EXPECT_TRUE(std::is_sorted(group.curve_rank.begin(), group.curve_rank.end()));
    auto sorted = distribution.groups[0].samples;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < group.curve_value.size(); ++i) {
      EXPECT_EQ(std::upper_bound(sorted.begin(), sorted.end(), group.curve_value[i]) - sorted.begin(),
                group.curve_rank[i]);
    }
  }
}

TEST(ReduceSamples, SmallGroupsBecomeOne) {
  Distribution distribution;
  for (std::size_t i = 0; i < 100; ++i)
    distribution.groups.push_back({"g" + std::to_string(i), std::vector<std::int64_t>(i, 5)});
  const ReducedDistribution out = reduce(distribution);
  ASSERT_EQ(out.groups.size(), kMaxGroups);
  EXPECT_TRUE(out.groups.back().other);
  std::int64_t count = 0;
  for (const ReducedGroup& group : out.groups) count += group.count;
  EXPECT_EQ(count, 99 * 100 / 2);
  EXPECT_EQ(out.overall.at(0).count, count);
}

Gantt one_lane(int devices, std::vector<GanttBar> bars) {
  return {"", "", {{"node", "", devices, std::move(bars)}}, 0, 1'000'000};
}

TEST(ReduceGantt, BarsDoNotOverlap) {
  std::vector<GanttBar> bars;
  std::uint64_t random = 7;
  const auto below = [&](std::uint64_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((random >> 33) % n);
  };
  for (int i = 0; i < 500; ++i) {
    const TimeMs start = below(100'000);
    bars.push_back({"w" + std::to_string(i),
                    "q",
                    start,
                    start + 1 + below(9'000),
                    250 * (1 + below(16)),
                    BarEnd::kCompleted,
                    {}});
  }
  const Gantt gantt = one_lane(8, bars);
  const ReducedGantt out = reduce(gantt);
  ASSERT_GT(out.boxes.size(), 100u);
  for (std::size_t i = 0; i < out.boxes.size(); ++i) {
    const GanttBox& a = out.boxes[i];
    EXPECT_LE(a.row_milli + a.height_milli, out.lanes[0].rows * 1000);
    for (std::size_t j = 0; j < i; ++j) {
      const GanttBox& b = out.boxes[j];
      const bool apart = a.end_ms <= b.start_ms || b.end_ms <= a.start_ms ||
                         a.row_milli + a.height_milli <= b.row_milli ||
                         b.row_milli + b.height_milli <= a.row_milli;
      EXPECT_TRUE(apart) << a.bar->workload << " and " << b.bar->workload;
    }
  }
}

TEST(ReduceGantt, WholeDevicesSharesAndKnownOnes) {
  const Gantt gantt = one_lane(4, {{"gang", "q", 0, 10, 3000, BarEnd::kCompleted, {}},
                                   {"half", "q", 1, 10, 500, BarEnd::kCompleted, {}},
                                   {"other half", "q", 2, 10, 500, BarEnd::kCompleted, {}},
                                   {"after", "q", 10, 20, 1000, BarEnd::kEvicted, {2}},
                                   {"no GPU", "q", 0, 5, 0, BarEnd::kCompleted, {}},
                                   {"outside", "q", 2'000'000, 3'000'000, 1000, BarEnd::kCompleted, {}}});
  const ReducedGantt out = reduce(gantt);
  ASSERT_EQ(out.boxes.size(), 4u);
  EXPECT_EQ(out.lanes[0].rows, 4);
  EXPECT_EQ(out.boxes[0].height_milli, 3000);
  EXPECT_EQ(out.boxes[1].row_milli, 3000);
  EXPECT_EQ(out.boxes[2].row_milli, 3500);
  EXPECT_EQ(out.boxes[3].row_milli, 2000);
  EXPECT_EQ(out.without_gpu, 1u);
  EXPECT_EQ(out.left_out_bars, 0u);
}

TEST(ReduceGantt, MoreThanTheDevicesHoldIsShown) {
  const Gantt gantt = one_lane(
      1, {{"a", "q", 0, 10, 1000, BarEnd::kCompleted, {}}, {"b", "q", 5, 10, 1000, BarEnd::kCompleted, {}}});
  const ReducedGantt out = reduce(gantt);
  EXPECT_EQ(out.lanes[0].rows, 2);
  EXPECT_EQ(out.boxes.size(), 2u);
}

TEST(ReduceGantt, KeepsTheLongestBars) {
  std::vector<GanttBar> bars;
  for (int i = 0; i < 10'000; ++i) {
    bars.push_back({"w" + std::to_string(i),
                    "q",
                    i * 100,
                    i * 100 + (i % 2 == 0 ? 90 : 10),
                    1000,
                    BarEnd::kCompleted,
                    {}});
  }
  const Gantt gantt = one_lane(1, bars);
  const ReducedGantt out = reduce(gantt);
  ASSERT_EQ(out.boxes.size(), kMaxGanttBars);
  EXPECT_EQ(out.left_out_bars, 10'000 - kMaxGanttBars);
  for (const GanttBox& box : out.boxes) EXPECT_EQ(box.end_ms - box.start_ms, 90);
}

}  // namespace
}  // namespace berth::sim
