// `berth simulate` as a command: exit codes, what is written, and what is not.
#include "cli/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Simulate : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/berth-cli-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  int run(SimulateArguments arguments) {
    out_.str("");
    err_.str("");
    return run_simulate(arguments, out_, err_, false);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
  std::ostringstream out_;
  std::ostringstream err_;
  const std::string small_ = std::string(BERTH_SOURCE_DIR) + "/examples/small.yaml";
};

TEST_F(Simulate, WritesTheSameFilesTwice) {
  SimulateArguments arguments{{small_}};
  arguments.out = folder_ + "/deep/one";
  arguments.log = folder_ + "/one.log";
  ASSERT_EQ(run(arguments), 0) << err_.str();
  const std::string table = out_.str();
  EXPECT_THAT(table, HasSubstr("two nodes, two queues: 4 jobs"));
  EXPECT_THAT(err_.str(),
              testing::ContainsRegex("4 jobs and [0-9]+ decisions in .* s, peak memory [0-9]+ MiB"));
  arguments.out = folder_ + "/two";
  arguments.log = folder_ + "/two.log";
  arguments.audit = 1;  // looks on only
  ASSERT_EQ(run(arguments), 0) << err_.str();
  EXPECT_EQ(out_.str(), table);
  EXPECT_EQ(text(folder_ + "/one.log"), text(folder_ + "/two.log"));
  for (const char* name : {"summary.json", "metrics.csv", "series.csv", "jobs.csv", "report.html"}) {
    const std::string one = text(folder_ + "/deep/one/" + name);
    EXPECT_FALSE(one.empty()) << name;
    EXPECT_EQ(one, text(folder_ + "/two/" + name)) << name;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/two"), {}), 5);
}

TEST_F(Simulate, AKeyThatLacksItsOwnSetIsNoScenario) {
  SimulateArguments arguments{{small_, "engine.seed=2"}};
  arguments.log = folder_ + "/log";
  EXPECT_EQ(run(arguments), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--set engine.seed=2"));
  EXPECT_FALSE(fs::exists(arguments.log));
}

TEST_F(Simulate, WrongInputWritesNothing) {
  SimulateArguments arguments{
      {write("bad.yaml", "name: bad\ncluster: [{kind: shape, count: 0, gpus: 8}]\n")}};
  arguments.out = folder_ + "/out";
  arguments.log = folder_ + "/log";
  EXPECT_EQ(run(arguments), 2);
  EXPECT_THAT(err_.str(), HasSubstr("bad.yaml:2:"));
  EXPECT_EQ(out_.str(), "");
  EXPECT_FALSE(fs::exists(arguments.out));
  EXPECT_FALSE(fs::exists(arguments.log));
  EXPECT_FALSE(fs::exists(arguments.log + ".part"));
}

TEST_F(Simulate, MissingFilesAndUnwritableFolders) {
  EXPECT_EQ(run({{folder_ + "/nothing.yaml"}}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("nothing.yaml"));
  EXPECT_EQ(run({}), 2);
  SimulateArguments arguments{{small_}};
  arguments.out = write("file", "") + "/below";
  EXPECT_EQ(run(arguments), 2);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(Simulate, ExpectationsDecideTheExitCode) {
  const std::string yaml =
      "name: e\ncluster: [{kind: shape, count: 1, gpus: 8}]\n"
      "trace: [{kind: generate, jobs: 3, span: 1h, max_gpus: 8, queue: q}]\nqueues: [{name: q, unlimited: "
      "true}]\n";
  SimulateArguments arguments{
      {write("met.yaml", yaml + "expect: [{metric: completed, value: 3, within: 0}]\n")}};
  arguments.quiet = true;
  EXPECT_EQ(run(arguments), 0) << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "");
  arguments.scenarios = {
      write("missed.yaml", yaml + "expect: [{metric: completed, value: 4, within: 10%}]\n")};
  EXPECT_EQ(run(arguments), 1);
  EXPECT_THAT(err_.str(), HasSubstr("expectation"));
}

// An error found only during or after the run leaves no folder behind either.
TEST_F(Simulate, ARunThatFailsLeavesNoFolder) {
  const std::string yaml =
      "name: e\ncluster: [{kind: shape, count: 1, gpus: 8}]\n"
      "trace: [{kind: generate, jobs: 3, span: 1h, max_gpus: 8, queue: q}]\nqueues: [{name: q, unlimited: "
      "true}]\n";
  SimulateArguments arguments{{write(
      "curve.yaml", yaml + "mode: inflation\nexpect_curve: {path: nowhere.csv, list: a, policy: b}\n")}};
  arguments.out = folder_ + "/deep/out";
  EXPECT_EQ(run(arguments), 2);
  EXPECT_THAT(err_.str(), HasSubstr("nowhere.csv"));
  EXPECT_FALSE(fs::exists(folder_ + "/deep"));
  arguments.scenarios = {write("metric.yaml", yaml + "expect: [{metric: nothing, value: 3, within: 0}]\n")};
  EXPECT_EQ(run(arguments), 2);
  EXPECT_FALSE(fs::exists(folder_ + "/deep"));
  // A folder that was there stays.
  fs::create_directories(arguments.out);
  EXPECT_EQ(run(arguments), 2);
  EXPECT_TRUE(fs::exists(arguments.out));
}

TEST_F(Simulate, ComparesVariantsAndSeeds) {
  SimulateArguments arguments{{small_}};
  arguments.vary = {"policy.placement=pack,spread"};
  arguments.seeds = "2";
  arguments.out = folder_ + "/out";
  arguments.each = true;
  arguments.log = "decisions.jsonl";
  arguments.jobs = 3;
  ASSERT_EQ(run(arguments), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("policy.placement=spread"));
  EXPECT_THAT(out_.str(), HasSubstr("deviation"));
  for (const char* name :
       {"comparison.json", "comparison.csv", "runs.csv", "report.html",
        "policy.placement-pack-seed-1/report.html", "policy.placement-spread-seed-2/summary.json",
        "policy.placement-pack-seed-2/decisions.jsonl", "policy.placement-spread-seed-1/decisions.jsonl"}) {
    EXPECT_FALSE(text(folder_ + "/out/" + name).empty()) << name;
  }
  EXPECT_THAT(text(folder_ + "/out/comparison.csv"), HasSubstr("policy.placement=pack,jobs,2,4,0,4,4\n"));
}

TEST_F(Simulate, ArgumentsOfExperimentsAreChecked) {
  const auto error = [&](SimulateArguments arguments) {
    EXPECT_EQ(run(std::move(arguments)), 2);
    return err_.str();
  };
  SimulateArguments each{{small_}};
  each.each = true;
  EXPECT_THAT(error(each), HasSubstr("--each"));
  each.compare = true;
  EXPECT_THAT(error(each), HasSubstr("--out"));
  SimulateArguments log{{small_, small_}};
  log.log = "x";
  EXPECT_THAT(error(log), HasSubstr("--each"));
  log.each = true;
  log.out = folder_ + "/logs";
  log.log = folder_ + "/x";
  EXPECT_THAT(error(log), HasSubstr("without a folder"));
  EXPECT_FALSE(fs::exists(log.out));
  SimulateArguments metric{{small_}};
  metric.compare = true;
  metric.metrics = {"nothing"};
  metric.out = folder_ + "/out";
  EXPECT_THAT(error(metric), HasSubstr("no metric 'nothing'"));
  EXPECT_TRUE(fs::exists(folder_ + "/out/runs.csv"));  // what was run is not lost
  SimulateArguments set{{small_}};
  set.set = {"policy.placement=best"};
  EXPECT_THAT(error(set), HasSubstr("policy.placement"));
  SimulateArguments curve{{small_}};
  curve.fill = true;
  EXPECT_EQ(run(curve), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("GPU demand arrived"));
}

TEST_F(Simulate, ExplainsTheScenarioFile) {
  SimulateArguments arguments;
  arguments.explain_scenario = true;
  EXPECT_EQ(run(arguments), 0);
  EXPECT_THAT(out_.str(), HasSubstr("trace[].checkpoint_every: duration  (default: 0)"));
}

}  // namespace
}  // namespace berth::cli
