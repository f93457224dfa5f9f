// Objects come in any order: watches of different kinds run apart, and a text has the order of its author. Every scenario's objects
// are shuffled, and the plan must be the same.
//
// Two things may depend on the order, and are stable. Objects without a creation time are created in the order of the text. Among
// nodes that are equally good, and of work of the same creation time, the first goes first. So objects of these kinds keep their
// places among themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "cli/plan_expect.h"
#include "cli/plan_input.h"
#include "cli/plan_print.h"
#include "cli/plan_world.h"
#include "scenario_folders.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using namespace scenario_test;
using dialect::Kind;
using dialect::Object;

constexpr int kShuffles = 12;

// Kinds whose objects keep their places among themselves: nodes, pods and what pods are made of (the first of a gang's is its first
// role), and other kinds of work of which two were created at the same time.
std::set<Kind> kept_kinds(const std::vector<Object>& objects) {
  std::set<Kind> out{Kind::kNode, Kind::kPod, Kind::kJob, Kind::kStatefulSet};
  std::set<std::pair<Kind, TimeMs>> seen;
  for (const Object& object : objects) {
    const Kind kind = dialect::kind_of(object);
    const bool is_work = kind == Kind::kWorkload || kind == Kind::kPodGroup;
    if (is_work && !seen.emplace(kind, dialect::meta_of(object).created).second) out.insert(kind);
  }
  return out;
}

std::vector<Object> shuffled(const std::vector<Object>& objects, std::uint64_t seed) {
  std::vector<std::size_t> order(objects.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  Random(seed).shuffle(order);
  // Those of kinds that keep their places: in the places that they have got together, as before.
  const std::set<Kind> keep = kept_kinds(objects);
  std::vector<std::size_t> places, kept;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (!keep.contains(dialect::kind_of(objects[order[at]]))) continue;
    places.push_back(at);
    kept.push_back(order[at]);
  }
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = kept[i];
  std::vector<Object> out;
  for (const std::size_t i : order) out.push_back(objects[i]);
  return out;
}

// Whether its objects may also come one at a time, each seen by the engine before the next: pods are made for an owner when it comes, and
// by the rules of the moment.
bool may_come_alone(const std::vector<Object>& objects) {
  return std::none_of(objects.begin(), objects.end(), [](const Object& object) {
    const Kind kind = dialect::kind_of(object);
    return dialect::owner_kind(kind) != nullptr || kind == Kind::kLimitRange || kind == Kind::kRuntimeClass;
  });
}

// The plan of these objects, applied together or one by one.
std::string plan_of(const PlanInput& input, const std::vector<Object>& objects, bool one_by_one) {
  const auto has = [&](Kind kind) {
    return std::any_of(objects.begin(), objects.end(),
                       [&](const Object& object) { return dialect::kind_of(object) == kind; });
  };
  dialect::IntakeConfig intake;
  intake.quota_only = has(Kind::kClusterQueue) && !has(Kind::kNode);
  intake.checks = dialect::CheckMode::kAssumed;
  engine::EngineConfig config;
  config.placement = engine::kDefaultPlacement;
  if (input.kueue) apply(*input.kueue, intake, config);
  PlanWorld world(std::move(intake), config);
  if (one_by_one) {
    for (const Object& object : objects) EXPECT_TRUE(world.apply({object}).has_value());
  } else {
    EXPECT_TRUE(world.apply(objects).has_value());
  }
  PlanReport report;
  report.rounds.push_back(world.decide(4'000'000'000'000));  // after everything that a scenario says
  report.problems = world.problems();
  // The number of a pod set is an id: its first pod gives it. Pods that are alike take its slots as they come.
  static const std::regex kPodSet(R"("podSet": \d+)");
  static const std::regex kPod(R"("pod": "[^"]*",)");
  return std::regex_replace(std::regex_replace(to_json(report), kPodSet, R"("podSet": *)"), kPod,
                            R"("pod": *,)");
}

class Order : public ::testing::TestWithParam<std::string> {};

TEST_P(Order, DoesNotMatter) {
  const fs::path scenario = scenarios() / GetParam();
  const auto expected_of = read_expectations((scenario / "expect.yaml").string());
  ASSERT_TRUE(expected_of.has_value());
  std::vector<std::string> later;  // what comes in steps
  for (const auto& step : expected_of->steps) {
    for (const auto& file : step.apply) later.push_back(fs::weakly_canonical(scenario / file).string());
  }
  PlanInput input;
  ASSERT_TRUE(read_manifests(scenario.string(), later, std::uint64_t{1} << 28, nullptr, input).has_value());
  TimeMs created = 0;
  for (Object& object : input.objects) {
    std::visit(
        [&](auto& value) {
          if (value.meta.created == 0) value.meta.created = ++created;
        },
        object);
  }
  const std::string expected = plan_of(input, input.objects, false);
  for (int seed = 1; seed <= kShuffles; ++seed) {
    const auto objects = shuffled(input.objects, static_cast<std::uint64_t>(seed));
    ASSERT_EQ(plan_of(input, objects, false), expected) << "shuffle " << seed;
    if (may_come_alone(objects)) {
      ASSERT_EQ(plan_of(input, objects, true), expected) << "shuffle " << seed << ", one by one";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Order, ::testing::ValuesIn(scenario_names()), scenario_test_name);

}  // namespace
}  // namespace berth::cli
