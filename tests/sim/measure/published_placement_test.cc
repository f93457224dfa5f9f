// Fragmentation placement on the published openb experiment: four lists, ten orders of arrival each, at every load, against the
// published policies FGD and BestFit on the same orders. Prints the table of docs/placement.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "sim/measure/metrics.h"
#include "sim/sim_support.h"

namespace berth::sim {
namespace {

constexpr std::array<const char*, 4> kLists{"default", "gpuspec33", "multigpu50", "gpushare100"};
constexpr std::uint64_t kFirst = 42;
constexpr std::uint64_t kLast = 51;
constexpr std::array<std::int64_t, 9> kPoints{50, 70, 80, 90, 95, 100, 110, 120, 130};
constexpr std::size_t kFull = 5;  // from here on more has arrived than there is

std::string published_scenario(const std::string& list, const std::string& mix) {
  const std::string traces = "${BERTH_TRACES}/openb_2023/";
  const std::string order = traces + "orders/" + list + ".${SEED}.txt.gz";
  return "name: " + list +
         "\nmode: inflation\n"
         "cluster:\n  - {kind: openb, path: \"" +
         traces + "openb_node_list_gpu_node.csv\", order: \"" + order +
         "\"}\n"
         "trace:\n  - {kind: openb, path: \"" +
         traces + "openb_pod_list_" + list + ".csv\", order: \"" + order +
         "\", queue: pods}\n"
         "queues:\n  - {name: pods, unlimited: true}\n"
         "policy: {placement: fragmentation, demand_mix: " +
         mix + "}\n";
}

// Sums over the ten orders.
struct Sums {
  std::array<std::int64_t, kPoints.size()> allocated{};  // thousandths of a percent
  std::int64_t dropped_milli = 0;                        // pods of 5 to 8 GPUs until 130 %
};

Sums run_published(const std::string& list, const std::string& mix) {
  Sums sums;
  for (std::uint64_t seed = kFirst; seed <= kLast; ++seed) {
    const auto scenario =
        parse_scenario(published_scenario(list, mix), "table.yaml", source_path("examples"), {.seed = seed});
    if (!scenario) {
      ADD_FAILURE() << scenario.error().str();
      return sums;
    }
    const auto result = simulate(*scenario);
    if (!result) {
      ADD_FAILURE() << result.error().str();
      return sums;
    }
    for (std::size_t i = 0; i < kPoints.size(); ++i) {
      sums.allocated[i] += metric_of(*result, "allocated_pct_at." + std::to_string(kPoints[i]));
    }
    for (const Metric& metric : result->metrics) {
      if (metric.name == "dropped.5-8-gpus") sums.dropped_milli += metric.milli;
    }
  }
  return sums;
}

Sums published(const std::string& list, const std::string& policy) {
  Sums sums;
  const std::string folder = "${BERTH_TRACES}/openb_2023/orders/";
  CurveExpectation curve;
  curve.path = expand_path(folder + "expected.csv", source_path("examples"), 0).value();
  curve.list = list;
  curve.policy = policy;
  for (std::uint64_t seed = kFirst; seed <= kLast; ++seed) {
    Scenario scenario;
    scenario.seed = seed;
    scenario.expect_curve = curve;
    const auto points = published_curve(scenario);
    if (!points) {
      ADD_FAILURE() << points.error().str();
      return sums;
    }
    for (const CurvePoint& point : *points) {
      const auto at = std::find(kPoints.begin(), kPoints.end(), point.arrived_pct);
      if (at != kPoints.end())
        sums.allocated[static_cast<std::size_t>(at - kPoints.begin())] += point.allocated_pct_milli;
    }
  }
  std::ifstream file(expand_path(folder + "dropped.csv", source_path("examples"), 0).value());
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(list + "," + policy + ",")) continue;
    sums.dropped_milli = static_cast<std::int64_t>(std::stod(line.substr(line.rfind(',') + 1)) * 10'000);
  }
  return sums;
}

void print(const char* list, const std::string& policy, const Sums& sums) {
  std::printf("| %-11s | %-10s |", list, policy.c_str());
  for (const std::int64_t value : sums.allocated) std::printf(" %5.2f |", static_cast<double>(value) / 1e4);
  std::printf(" %5.1f |\n", static_cast<double>(sums.dropped_milli) / 1e4);
}

// By how much a list may be below the better of both before everything is full, in thousandths of a percent.
constexpr std::int64_t kSlack = 100;

// Where more has come than there is: above FGD on each list, or on the mean of the lists.
enum class WhenFull { kEach, kMean };

void compare(const std::string& mix, WhenFull when_full) {
  Sums ours;
  Sums theirs;
  for (const char* list : kLists) {
    const Sums fgd = published(list, "fgd");
    const Sums fit = published(list, "bestfit");
    const Sums got = run_published(list, mix);
    ASSERT_GT(fgd.allocated[0], 0) << list;
    print(list, "FGD", fgd);
    print(list, "BestFit", fit);
    print(list, mix == "trace" ? "given mix" : "live mix", got);
    for (std::size_t i = 0; i < kPoints.size(); ++i) {
      ours.allocated[i] += got.allocated[i];
      theirs.allocated[i] += fgd.allocated[i];
      if (i < kFull) {
        EXPECT_GE(got.allocated[i], std::max(fgd.allocated[i], fit.allocated[i]) - 10 * kSlack)
            << list << " at " << kPoints[i] << " %";
      } else if (when_full == WhenFull::kEach) {
        EXPECT_GT(got.allocated[i], fgd.allocated[i]) << list << " at " << kPoints[i] << " %";
      }
    }
    EXPECT_LE(got.dropped_milli, fgd.dropped_milli) << list << ": large pods dropped";
  }
  for (std::size_t i = kFull; i < kPoints.size(); ++i) {
    EXPECT_GT(ours.allocated[i], theirs.allocated[i]) << "mean of the lists at " << kPoints[i] << " %";
  }
}

TEST(PublishedPlacement, GivenMixAtEveryLoad) {
  BERTH_NEEDS_TRACES();
  compare("trace", WhenFull::kEach);
}

// It is learnt on the way.
TEST(PublishedPlacement, LiveMixAtEveryLoad) {
  BERTH_NEEDS_TRACES();
  compare("live", WhenFull::kMean);
}

}  // namespace
}  // namespace berth::sim
