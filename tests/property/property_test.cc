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
#include <thread>

#include "property/campaign.h"
#include "property/coverage.h"
#include "property/runner.h"

namespace berth::property {
namespace {

struct Settings {
  std::uint64_t histories = 10'000;
  std::uint64_t seed = 1;
  std::uint64_t jobs = 0;  // 0 = as many as there are cores
  bool all = false;
  std::vector<std::string> logs;
};
Settings settings;

std::string write_log(const std::string& log, std::string_view name) {
  const char* folder = std::getenv("BERTH_PROPERTY_DIR");
  const auto path =
      (folder != nullptr ? std::filesystem::path(folder) : std::filesystem::temp_directory_path()) /
      fmt::format("berth-property-{}.jsonl", name);
  std::ofstream(path) << log;
  return path.string();
}

void report(const History& history) {
  const History small = shrink(history);
  Coverage ignored;
  const Outcome again = run_history(small, ignored);
  const std::string name = std::to_string(history.seed);
  const std::string file = write_log(again.log, name);
  // A failure in a trial is not in the log of the history itself.
  const std::string shown = again.trial.empty() ? file : write_log(again.trial, name + "-trial");
  ADD_FAILURE() << "history of seed " << history.seed << "\nmade small (" << history.steps.size()
                << " steps to " << small.steps.size() << "): " << again.failure
                << "\nlook at it:      berth plan -f " << shown << "\ncheck it again:  test_property --check "
                << file;
}

TEST(Property, InvariantsHoldOnRandomHistories) {
  if (settings.histories == 0) return;
  CampaignPlan plan;
  plan.histories = settings.histories;
  plan.seed = settings.seed;
  plan.all = settings.all;
  plan.jobs = settings.jobs > 0 ? static_cast<unsigned>(settings.jobs) : std::thread::hardware_concurrency();
  plan.progress = settings.histories > 20'000;
  const CampaignResults results = run_campaign(plan);
  std::cout << to_text(results);
  for (const auto& [kind, failed] : results.failures) report(make_history(failed.seed));
  if (!results.failures.empty() || settings.histories < 2000) return;
  for (const std::string& what : must_meet()) {
    EXPECT_GT(results.met.count(what), 0u) << "no history met \"" << what << "\": the generator is too tame";
  }
  EXPECT_GE(results.loads.front(), 120) << "some history has too little work for its cluster";
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
    // A failure in a trial is not in the log.
    if (!outcome.trial.empty()) {
      std::cout << "look at it:      berth plan -f "
                << write_log(outcome.trial, std::filesystem::path(log).stem().string() + "-trial") << "\n";
    }
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
    } else if (word == "--jobs") {
      if (!set(settings.jobs, argv[++i]) || settings.jobs > 1000) return false;
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
    std::cerr << "usage: test_property [--histories N] [--seed S] [--jobs N] [--all] [--check FILE...]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
