// The invariants of the design on random histories.
//
//   test_property                              the default number of histories, from seed 1
//   test_property --histories N --seed S       N histories from seed S (or BERTH_PROPERTY_HISTORIES, BERTH_PROPERTY_SEED)
//   test_property --all                        goes on after a failure: one small history for each kind of failure
//   test_property --check FILE...              the events of decision logs against the present engine
//
// A failing history is made small and written as a decision log; the message has the command that shows what happened in it
// (berth plan -f FILE) and the one that checks it again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "property/runner.h"

namespace berth::property {
namespace {

struct Settings {
  std::uint64_t histories = 2000;
  std::uint64_t seed = 1;
  bool all = false;
  std::vector<std::string> logs;
};
Settings settings;

// What every default run must have met. A run of few histories need not have.
constexpr std::string_view kMustMeet[] = {
    "start",
    "start (growth)",
    "start of a hold",
    "hold Preemptor",
    "hold ReleasingRoom",
    "evict Preempted",
    "evict Reclaimed",
    "evict (a part)",
    "evict after a minimum runtime",
    "evict for the growth of a band",
    "evict from a band",
    "evict within a bound",
    "quiet until a time that the engine named",
    "woken by time alone",
    "evict Withdrawn",
    "evict Drained",
    "release-hold HoldOvertaken",
    "release-hold HoldBroken",
    "release-hold Withdrawn",
    "placed gangs",
    "placed gangs of several pod sets",
    "placed trees of groups",
    "placed shares of devices",
    "placed in a required domain",
    "placed with a preferred domain",
    "placed with fewer than all pods",
    "placed with a flavor",
    "verdict placed",
    "verdict held",
    "verdict blocked",
    "verdict refused",
    "reason BehindHead",
    "reason IncompleteGang",
    "reason Inactive",
    "reason NoVictims",
    "reason Nodes",
    "reason Quota",
    "reason QuotaMax",
    "reason QueueMissing",
    "reason QueueDisabled",
    "reason QueueStopped",
    "reason SearchBudget",
    "reason Topology",
    "reason Unsupported",
    "reason WaitingForRoom",
};

std::string write_log(const std::string& log, std::uint64_t seed) {
  const char* folder = std::getenv("BERTH_PROPERTY_DIR");
  const auto path =
      (folder != nullptr ? std::filesystem::path(folder) : std::filesystem::temp_directory_path()) /
      fmt::format("berth-property-{}.jsonl", seed);
  std::ofstream(path) << log;
  return path.string();
}

void report(const History& history, const Outcome& outcome) {
  const History small = shrink(history);
  Coverage ignored;
  const Outcome again = run_history(small, ignored);
  const std::string file = write_log(again.log, history.seed);
  ADD_FAILURE() << "history of seed " << history.seed << ": " << outcome.failure << "\nmade small ("
                << history.steps.size() << " steps to " << small.steps.size() << "): " << again.failure
                << "\nlook at it:      berth plan -f " << file << "\ncheck it again:  test_property --check "
                << file;
}

TEST(Property, InvariantsHoldOnRandomHistories) {
  std::map<std::string, std::int64_t> failures;
  Coverage coverage;
  Coverage histories_with;
  std::int64_t decide_calls = 0;
  std::int64_t decisions = 0;
  for (std::uint64_t i = 0; i < settings.histories; ++i) {
    const History history = make_history(settings.seed + i);
    Coverage met;
    const Outcome outcome = run_history(history, met);
    decide_calls += outcome.decide_calls;
    decisions += outcome.decisions;
    for (const auto& [what, count] : met) {
      coverage[what] += count;
      ++histories_with[what];
    }
    if (outcome.failure.empty()) continue;
    if (++failures[kind_of(outcome.failure)] == 1) report(history, outcome);
    if (!settings.all) return;
  }
  for (const auto& [kind, count] : failures)
    std::cout << fmt::format("{} histories failed: {}\n", count, kind);
  std::cout << fmt::format("{} histories, {} decide calls, {} decisions\n", settings.histories, decide_calls,
                           decisions);
  std::cout << fmt::format("{:<40}{:>12}{:>24}\n", "met", "times", "in % of histories");
  for (const auto& [what, count] : coverage) {
    std::cout << fmt::format("{:<40}{:>12}{:>24}\n", what, count,
                             histories_with[what] * 100 / static_cast<std::int64_t>(settings.histories));
  }
  if (settings.histories < 500) return;
  for (const auto what : kMustMeet) {
    EXPECT_GT(coverage[std::string(what)], 0)
        << "no history met \"" << what << "\": the generator is too tame";
  }
}

// Histories that once failed.
TEST(Property, PastFailuresStayMended) {
  std::vector<std::string> logs = settings.logs;
  if (logs.empty()) {
    const std::filesystem::path folder = std::string(BERTH_SOURCE_DIR) + "/tests/property/histories";
    if (std::filesystem::exists(folder)) {
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        logs.push_back(entry.path().string());
    }
  }
  for (const std::string& log : logs) {
    Coverage coverage;
    const Outcome outcome = run_log(log, coverage);
    EXPECT_EQ(outcome.failure, "") << log;
  }
}

std::optional<std::uint64_t> number(const char* text) {
  std::uint64_t value = 0;
  const std::string_view view = text;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size()) return std::nullopt;
  return value;
}

bool read_settings(int argc, char** argv) {
  const auto set = [](std::uint64_t& into, const char* text) {
    const auto value = text == nullptr ? std::nullopt : number(text);
    if (value) into = *value;
    return value.has_value();
  };
  if (const char* text = std::getenv("BERTH_PROPERTY_HISTORIES");
      text != nullptr && !set(settings.histories, text))
    return false;
  if (const char* text = std::getenv("BERTH_PROPERTY_SEED"); text != nullptr && !set(settings.seed, text))
    return false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--histories") {
      if (!set(settings.histories, argv[++i])) return false;
    } else if (word == "--seed") {
      if (!set(settings.seed, argv[++i])) return false;
    } else if (word == "--all") {
      settings.all = true;
    } else if (word == "--check") {
      settings.histories = 0;
      while (++i < argc) settings.logs.emplace_back(argv[i]);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace berth::property

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!berth::property::read_settings(argc, argv)) {
    std::cerr << "usage: test_property [--histories N] [--seed S] [--all] [--check FILE...]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
