// Counts of a trace of any length: exact as long as it can be, within its bounds after that, and in memory that does not grow.
#include "sim/measure/trace_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "base/random.h"
#include "sim/measure/trace_stats.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Row {
  TimeMs submit = 0;
  DurationMs run = 0;
  std::int64_t gpu_milli = 0;
};

// Run times over many powers of two, submissions in order; about as many different times as jobs.
std::vector<Row> rows_of(std::uint64_t seed, std::size_t jobs) {
  Random random(seed);
  std::vector<Row> rows;
  TimeMs at = -5 * kHour;
  for (std::size_t i = 0; i < jobs; ++i) {
    at += random.between(0, 20'000);
    const std::int64_t most = std::int64_t{1} << random.between(1, 34);
    rows.push_back({at, random.between(0, most), random.between(0, 24) * 1000});
  }
  return rows;
}

std::vector<Row> shuffled(std::vector<Row> rows, std::uint64_t seed) {
  Random(seed).shuffle(rows);
  return rows;
}

Spread exact_spread(const std::vector<Row>& rows, std::optional<SizeClass> size = std::nullopt) {
  std::vector<std::int64_t> runs;
  for (const Row& row : rows) {
    if (!size || size_class(row.gpu_milli) == *size) runs.push_back(row.run);
  }
  return spread_of(std::move(runs));
}

RunTimeCounts run_times(const std::vector<Row>& rows, std::size_t most) {
  RunTimeCounts counts(most);
  for (const Row& row : rows) counts.add(size_class(row.gpu_milli), row.run);
  counts.settle();
  return counts;
}

void expect_same(const Spread& got, const Spread& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.mean, want.mean);
  EXPECT_EQ(got.median, want.median);
  EXPECT_EQ(got.p90, want.p90);
  EXPECT_EQ(got.p99, want.p99);
  EXPECT_EQ(got.max, want.max);
}

void expect_near(const Spread& got, const Spread& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.mean, want.mean);
  EXPECT_EQ(got.max, want.max);
  for (const auto& [a, b] :
       {std::pair{got.median, want.median}, std::pair{got.p90, want.p90}, std::pair{got.p99, want.p99}}) {
    EXPECT_LE(std::abs(a - b) * 100'000, b * kRunTimeErrorPctMilli) << a << " for " << b;
  }
}

// As it is defined: every job starts when it is submitted.
std::int64_t exact_peak(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.submit < b.submit; });
  using End = std::pair<TimeMs, std::int64_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const Row& row : rows) {
    while (!running.empty() && running.top().first <= row.submit) {
      now -= running.top().second;
      running.pop();
    }
    if (row.run == 0) continue;
    now += row.gpu_milli;
    running.emplace(row.submit + row.run, row.gpu_milli);
    peak = std::max(peak, now);
  }
  return peak;
}

DemandSteps demand(const std::vector<Row>& rows, std::size_t most) {
  DemandSteps steps(most);
  for (const Row& row : rows) steps.add(row.submit, row.run, row.gpu_milli);
  steps.settle();
  return steps;
}

TEST(RunTimeCounts, ExactWhileFewDifferAndWithinTheBoundAfter) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Row> rows = rows_of(seed, 20'000);
    const RunTimeCounts exact = run_times(rows, 20'000);
    ASSERT_TRUE(exact.exact());
    const RunTimeCounts near = run_times(rows, 3'000);
    ASSERT_FALSE(near.exact());
    expect_same(exact.all(), exact_spread(rows));
    expect_near(near.all(), exact_spread(rows));
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      const auto size = static_cast<SizeClass>(i);
      expect_same(exact.of(size), exact_spread(rows, size));
      expect_near(near.of(size), exact_spread(rows, size));
    }
  }
}

// The last different run time that is remembered, and the first that is too many.
TEST(RunTimeCounts, BecomeRangesAtTheLimit) {
  RunTimeCounts counts(1'000);
  for (std::int64_t i = 0; i < 1'000'000; ++i) counts.add(SizeClass::k1, 1'000'000 + i % 1'000);
  counts.settle();
  EXPECT_TRUE(counts.exact()) << "a million jobs, but no more than a thousand different run times";
  EXPECT_EQ(counts.all().median, 1'000'499);
  counts.add(SizeClass::k1, 1'000'000);
  counts.settle();
  EXPECT_TRUE(counts.exact());
  counts.add(SizeClass::k1, 5'000'000);
  counts.settle();
  EXPECT_FALSE(counts.exact());
  EXPECT_NE(counts.all().median, 1'000'499);
  EXPECT_NEAR(static_cast<double>(counts.all().median), 1'000'499, 1'000);
  EXPECT_EQ(counts.all().max, 5'000'000);
}

TEST(RunTimeCounts, ShortRunTimesAndTheLongestStayExactInRanges) {
  RunTimeCounts counts(2);
  for (const DurationMs run : {0, 1, 1'023}) counts.add(SizeClass::k1, run);
  for (int i = 0; i < 10; ++i) counts.add(SizeClass::k64Up, kInt64Max / 2);
  counts.settle();
  EXPECT_FALSE(counts.exact());
  EXPECT_EQ(counts.of(SizeClass::k1).median, 1);
  EXPECT_EQ(counts.of(SizeClass::k1).p99, 1'023);
  EXPECT_EQ(counts.of(SizeClass::k64Up).max, kInt64Max / 2);
  EXPECT_EQ(counts.of(SizeClass::k64Up).mean, kInt64Max / 2);
  EXPECT_LE(counts.of(SizeClass::k64Up).p99, kInt64Max / 2);
  EXPECT_EQ(counts.of(SizeClass::k2To4).count, 0);
}

TEST(DemandSteps, ExactWhileFewTimesDifferAndBoundsAfter) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Row> rows = rows_of(seed, 5'000);
    const std::int64_t want = exact_peak(rows);
    const auto exact = demand(rows, 10'000);
    EXPECT_EQ(exact.step(), 1);
    EXPECT_EQ(exact.peak().at_least, want);
    EXPECT_EQ(exact.peak().at_most, want);
    const auto bounds = demand(rows, 2'000);
    EXPECT_GT(bounds.step(), 1);
    EXPECT_LE(bounds.peak().at_least, want);
    EXPECT_GE(bounds.peak().at_most, want);
    EXPECT_LE((bounds.peak().at_most - bounds.peak().at_least) * 100, want * 10) << "as wide as 10 %";
  }
}

TEST(DemandSteps, AnEndMakesRoomForABeginningAtTheSameTime) {
  DemandSteps steps(100);
  steps.add(0, 10, 3'000);
  steps.add(10, 10, 4'000);
  steps.add(10, 0, 9'000);  // never runs
  steps.settle();
  EXPECT_EQ(steps.peak().at_most, 4'000);
  EXPECT_EQ(steps.peak().at_least, 4'000);
}

TEST(DemandSteps, TimeFromEndToEnd) {
  DemandSteps steps(1);
  for (std::int64_t i = 0; i < 100; ++i) {
    steps.add(-kMostTime + i, 2 * kMostTime, 1'000);
    steps.add(kMostTime - i, 1, 1'000);
  }
  steps.settle();
  EXPECT_LE(steps.peak().at_least, 101'000);
  EXPECT_GE(steps.peak().at_most, 101'000);
  const auto parts = steps.over_time(-kMostTime, kMostTime, 4);
  EXPECT_EQ(parts[0] + parts[1] + parts[2] + parts[3], 200);
}

TEST(BusiestHour, IsOfTheClockAndForgetsTheFurthest) {
  BusiestHour hours(3);
  for (const TimeMs at : {TimeMs{-1}, -kHour, kHour - 1, kHour, kHour + 1, 2 * kHour}) hours.add(at);
  EXPECT_EQ(hours.jobs(), 2);
  for (const std::int64_t hour : {10, 11, 12, 13, 12, 12}) hours.add(hour * kHour);
  EXPECT_EQ(hours.jobs(), 3);
  const std::size_t full = hours.memory_bytes();
  for (std::int64_t hour = 0; hour < 1'000; ++hour) hours.add(-hour * kHour);
  for (int i = 0; i < 3; ++i) hours.add(-999 * kHour);
  EXPECT_EQ(hours.jobs(), 4) << "backwards, too, the hour that comes is remembered";
  EXPECT_EQ(hours.memory_bytes(), full);
}

Trace tables_of(const std::vector<Row>& rows) {
  Trace tables;
  tables.queues.intern("q");
  tables.shapes.resize(25);
  for (const Row& row : rows)
    tables.shapes[static_cast<std::size_t>(row.gpu_milli / 1000)].gpu_milli = row.gpu_milli;
  return tables;
}

void feed(TraceStats& stats, const std::vector<Row>& rows, const Trace& tables, TimeMs later = 0) {
  for (const Row& row : rows) {
    Job job;
    job.submit = row.submit + later;
    job.duration = row.run;
    job.shape = static_cast<std::uint32_t>(row.gpu_milli / 1000);
    stats.add(job, tables);
  }
}

std::string printed(TraceStats& stats, bool json) {
  const TraceFile file;
  const TraceSummary summary = stats.summarize();
  return json ? stats_json(file, stats, summary) : stats_table(file, stats, summary);
}

// Five times as many jobs as the limits, all different, and five times as many again.
TEST(TraceStats, MemoryDoesNotGrowWithTheJobs) {
  TraceStats stats({4'000, 4'000, 100});
  const std::vector<Row> rows = rows_of(1, 20'000);
  const Trace tables = tables_of(rows);
  TimeMs later = 0;
  std::size_t bytes = 0;
  for (int i = 0; i < 6; ++i) {
    feed(stats, rows, tables, later);
    later += 20'000 * 20'001;
    EXPECT_LT(stats.memory_bytes(), 1'000'000u) << "after " << i;
    if (i > 1) {
      EXPECT_EQ(stats.memory_bytes(), bytes) << "after " << i;
    }
    bytes = stats.memory_bytes();
  }
  EXPECT_EQ(stats.summarize().jobs, 120'000);
}

TEST(TraceStats, SayWhatIsNotExact) {
  const std::vector<Row> rows = rows_of(2, 20'000);
  const Trace tables = tables_of(rows);
  TraceStats exact;
  feed(exact, rows, tables);
  EXPECT_THAT(printed(exact, false), Not(HasSubstr("within")));
  EXPECT_THAT(printed(exact, true), HasSubstr("\"run_time_percentiles_within_pct\": 0,"));
  TraceStats near({3'000, 3'000, 100});
  feed(near, rows, tables);
  EXPECT_THAT(printed(near, false),
              AllOf(HasSubstr("within 0.1 %"), HasSubstr(" to "), HasSubstr("at once")));
  EXPECT_THAT(printed(near, true), HasSubstr("\"run_time_percentiles_within_pct\": 0.1,"));
  const TraceSummary a = exact.summarize();
  const TraceSummary b = near.summarize();
  EXPECT_EQ(a.run_time.mean, b.run_time.mean);
  EXPECT_EQ(a.gpu_ms_milli, b.gpu_ms_milli);
  EXPECT_EQ(a.busiest_hour, b.busiest_hour);
  EXPECT_EQ(a.peak_demand.at_least, a.peak_demand.at_most);
  EXPECT_LT(b.peak_demand.at_least, b.peak_demand.at_most);
}

// Values beyond the limits do not depend on the time when the limits were passed.
TEST(TraceStats, TheSameForAnyOrderOfTheJobs) {
  const std::vector<Row> rows = rows_of(3, 20'000);
  const Trace tables = tables_of(rows);
  const auto text = [&](const std::vector<Row>& order) {
    TraceStats stats({3'000, 3'000, 1'000});
    feed(stats, order, tables);
    stats.out_of_order = 0;
    (void)stats.summarize();  // asking in between changes nothing
    return printed(stats, true);
  };
  const std::string want = text(rows);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) EXPECT_EQ(text(shuffled(rows, seed)), want);
}

}  // namespace
}  // namespace berth::sim
