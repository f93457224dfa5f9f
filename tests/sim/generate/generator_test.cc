// Generators: what comes out against the published figures, over several seeds; arrivals; fleets.
#include "sim/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/checked.h"
#include "sim/generate/arrivals.h"
#include "sim/generate/generator_profiles.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

// The percentage, of all jobs and of their GPU-time, of jobs of at most `gpus`.
struct PublishedShare {
  std::int64_t gpus;
  double jobs;
  double gpu_time;
};
struct Published {
  Likeness like;
  double mean_s;
  double median_s;
  double mean_gpus;
  std::int64_t max_gpus;
  std::vector<PublishedShare> shares;
};

// Sources: sim/generate/generator_profiles.h. Seren's mean of GPUs per job is that of its published distribution (the
// published table says 5.68, of another selection of jobs).
const std::vector<Published>& published() {
  static const std::vector<Published> kPublished{
      {Likeness::kPhilly,
       18'006,
       874,
       1.928,
       128,
       {{1, 82.4, 16.4}, {4, 92.0, 38.2}, {8, 98.9, 88.0}, {16, 99.8, 97.2}}},
      {Likeness::kHelios,
       6'652,
       206,
       3.716,
       2048,
       {{1, 72.2, 5.4}, {4, 80.5, 12.1}, {8, 94.7, 41.3}, {16, 97.7, 61.5}, {64, 99.7, 94.4}}},
      {Likeness::kSeren,
       1'414,
       122,
       6.61,
       1024,
       {{1, 54.0, 1.3}, {8, 96.7, 11.9}, {32, 98.8, 19.1}, {128, 99.6, 41.7}, {512, 99.86, 69.7}}},
      {Likeness::kKalos,
       1'260,
       124,
       26.77,
       1024,
       {{1, 86.3, 0.1}, {8, 93.9, 0.6}, {128, 95.7, 3.7}, {256, 96.9, 24.9}, {512, 98.9, 64.1}}},
      {Likeness::kLingjun,
       12'765,
       420,
       40.06,
       744,
       {{8, 55.6, 7.1}, {31, 64.7, 13.8}, {63, 85.5, 32.6}, {127, 92.0, 74.8}}},
  };
  return kPublished;
}

struct Drawn {
  std::vector<std::int64_t> durations;
  std::map<std::int64_t, std::int64_t> jobs;  // by GPUs
  std::map<std::int64_t, Int128> gpu_ms;
  Int128 all_gpu_ms = 0;
  Int128 gpus = 0;
};

Drawn draw(Likeness like, std::int64_t jobs, std::int64_t seeds) {
  Drawn drawn;
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    const Trace* tables = nullptr;
    TraceBuilder builder([&](const Job& job) -> Status {
      const std::int64_t gpus = tables->shapes[job.shape].gpu_milli / 1000;
      drawn.durations.push_back(job.duration);
      ++drawn.jobs[gpus];
      drawn.gpu_ms[gpus] += static_cast<Int128>(gpus) * job.duration;
      drawn.all_gpu_ms += static_cast<Int128>(gpus) * job.duration;
      drawn.gpus += gpus;
      return {};
    });
    tables = &builder.tables();
    JobRules rules;
    rules.queue = "q";
    GeneratorOptions options;
    options.like = like;
    options.jobs = jobs;
    EXPECT_TRUE(generate_jobs(static_cast<std::uint64_t>(seed), options, rules, builder));
  }
  return drawn;
}

// docs/traces.md states these tolerances.
TEST(Generator, HasThePublishedFiguresOverSeveralSeeds) {
  for (const Published& want : published()) {
    SCOPED_TRACE(enum_name(want.like));
    Drawn drawn = draw(want.like, 200'000, 5);
    const auto count = static_cast<double>(drawn.durations.size());
    std::sort(drawn.durations.begin(), drawn.durations.end());
    Int128 sum = 0;
    for (const std::int64_t duration : drawn.durations) sum += duration;
    const auto near = [](double got, double wanted, double percent, const char* what) {
      EXPECT_NEAR(got, wanted, wanted * percent / 100) << what;
    };
    near(static_cast<double>(sum) / count / 1000, want.mean_s, 5, "mean run time");
    near(static_cast<double>(drawn.durations[drawn.durations.size() / 2]) / 1000, want.median_s, 6,
         "median run time");
    near(static_cast<double>(drawn.gpus) / count, want.mean_gpus, 5, "mean of GPUs");
    EXPECT_EQ(drawn.jobs.rbegin()->first, want.max_gpus);
    EXPECT_LE(drawn.durations.back(), profile_of(want.like).longest_s * kSecond);
    for (const PublishedShare& share : want.shares) {
      double jobs = 0;
      Int128 gpu_ms = 0;
      for (const auto& [gpus, n] : drawn.jobs) {
        if (gpus > share.gpus) break;
        jobs += static_cast<double>(n);
        gpu_ms += drawn.gpu_ms[gpus];
      }
      EXPECT_NEAR(jobs / count * 100, share.jobs, 1) << "jobs of at most " << share.gpus << " GPUs";
      EXPECT_NEAR(static_cast<double>(gpu_ms) / static_cast<double>(drawn.all_gpu_ms) * 100, share.gpu_time,
                  3)
          << "GPU-time of jobs of at most " << share.gpus << " GPUs";
    }
  }
}

TEST(Generator, SeedDecides) {
  const auto trace = [](std::uint64_t seed, Likeness like) {
    TraceBuilder builder;
    JobRules rules;
    GeneratorOptions options;
    options.like = like;
    options.jobs = 500;
    options.tenants = {{"a", 3}, {"b", 1}};
    EXPECT_TRUE(generate_jobs(seed, options, rules, builder));
    const Trace made = builder.finish();
    std::string out;
    for (const Job& job : made.jobs) {
      out += fmt::format("{} {} {} {}\n", job.submit, job.duration, made.shapes[job.shape].gpu_milli,
                         made.queues.name(job.queue));
    }
    return out;
  };
  for (const Likeness like : {Likeness::kPhilly, Likeness::kOpenb, Likeness::kLingjun}) {
    EXPECT_EQ(trace(1, like), trace(1, like));
    EXPECT_NE(trace(1, like), trace(2, like));
  }
}

TEST(Generator, LargeJobsAreNotDrawnAboveTheBound) {
  TraceBuilder builder;
  JobRules rules;
  rules.queue = "q";
  GeneratorOptions options;
  options.like = Likeness::kKalos;
  options.jobs = 20'000;
  options.max_gpus = 128;
  ASSERT_TRUE(generate_jobs(1, options, rules, builder));
  const Trace trace = builder.finish();
  std::int64_t most = 0;
  for (const Job& job : trace.jobs) most = std::max(most, trace.shapes[job.shape].gpu_milli);
  EXPECT_EQ(most, 128'000);
}

// openb's fleet: 71 % of the GPUs are G2; its pods: 38 % shared, 48 % one GPU, 13 % none.
TEST(Generator, OpenbHasThePublishedShares) {
  std::int64_t gpus = 0;
  std::int64_t g2 = 0;
  for (const Node& node : generate_fleet(Likeness::kOpenb, 5, 20'000, "n").nodes) {
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

TEST(Generator, LingjunHostsLieInLeavesAndGroups) {
  const Fleet fleet = generate_fleet(Likeness::kLingjun, 1, 847, "h");
  ASSERT_TRUE(fleet.topology);
  EXPECT_EQ(fleet.topology->levels.size(), 4u);
  std::map<std::string, std::int64_t> leaves;
  std::map<std::string, std::int64_t> groups;
  for (const Node& node : fleet.nodes) {
    for (const std::string& level : fleet.topology->levels) ASSERT_TRUE(node.labels.contains(level)) << level;
    ++leaves[node.labels.at(std::string(kLeafLabel))];
    ++groups[node.labels.at(std::string(kAggregationLabel))];
  }
  EXPECT_EQ(leaves.size(), 106u);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_NEAR(static_cast<double>(groups.begin()->second), 362, 8);
  EXPECT_NEAR(static_cast<double>(groups.rbegin()->second), 179, 8);
}

TEST(Arrivals, FollowTheHoursAndTheDays) {
  constexpr std::int64_t kManyJobs = 400'000;
  constexpr DurationMs kWeek = 7 * 24 * kHour;
  Arrivals arrivals(7, kManyJobs, 4 * kWeek);
  std::array<std::int64_t, 24> hours{};
  std::array<std::int64_t, 7> days{};
  TimeMs last = 0;
  for (std::int64_t i = 0; i < kManyJobs; ++i) {
    const TimeMs at = arrivals.next();
    ASSERT_GE(at, last);
    ASSERT_LT(at, 4 * kWeek);
    last = at;
    ++hours[static_cast<std::size_t>(at / kHour % 24)];
    ++days[static_cast<std::size_t>(at / kHour / 24 % 7)];
  }
  const auto expect_shares = [&](const auto& got, const auto& weights) {
    double sum = 0;
    for (const std::uint64_t weight : weights) sum += static_cast<double>(weight);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(got[i]) / kManyJobs, static_cast<double>(weights[i]) / sum, 0.003) << i;
    }
  };
  expect_shares(hours, hour_weights());
  expect_shares(days, day_weights());
}

RC_GTEST_PROP(Arrivals, AreInOrderAndWithinTheSpan, ()) {
  const auto jobs = *rc::gen::inRange<std::int64_t>(0, 300);
  const DurationMs span = kHour + *rc::gen::inRange<DurationMs>(0, 100 * kHour);
  Arrivals arrivals(*rc::gen::arbitrary<std::uint64_t>(), jobs, span);
  TimeMs last = 0;
  for (std::int64_t i = 0; i < jobs; ++i) {
    const TimeMs at = arrivals.next();
    RC_ASSERT(at >= last);
    RC_ASSERT(at < span);
    last = at;
  }
}

}  // namespace
}  // namespace berth::sim
