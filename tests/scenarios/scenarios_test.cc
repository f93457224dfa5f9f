// Runs every scenario of this folder through `berth plan`, and Kueue's quota-tree cases where the conformance data is present.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/plan.h"
#include "scenario_folders.h"
#include "schema_support.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using namespace scenario_test;
using ::testing::HasSubstr;

PlanOptions options_of(const std::string& name) {
  PlanOptions options;
  options.files = {(scenarios() / name).string()};
  options.expect = (scenarios() / name / "expect.yaml").string();
  return options;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, IsAsExpected) {
  std::ostringstream out, err;
  EXPECT_EQ(run_plan(options_of(GetParam()), out, err), 0) << err.str() << out.str();
}

// The same input gives the same bytes.
TEST_P(Scenario, Repeats) {
  PlanOptions options = options_of(GetParam());
  options.format = PlanFormat::kJson;
  std::ostringstream first, second, err;
  run_plan(options, first, err);
  run_plan(options, second, err);
  EXPECT_EQ(first.str(), second.str());
  std::ifstream file(fs::path(BERTH_SOURCE_DIR) / "docs" / "plan.schema.json");
  const testing::Schema schema(testing::Json::parse(file));
  EXPECT_EQ(schema.check(testing::Json::parse(first.str())), "");
}

// Lines of the table are short, whatever the scenario.
TEST_P(Scenario, TableIsBelow160Columns) {
  std::ostringstream out, err;
  run_plan(options_of(GetParam()), out, err);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const bool of_table = !line.starts_with("note: ") && !line.starts_with("problem: ");
    EXPECT_TRUE(!of_table || line.size() < 160) << line;
  }
}

// The test can fail: an expectation that is turned into its opposite is not met.
TEST_P(Scenario, FailsWhenSomethingElseIsExpected) {
  const fs::path copy =
      fs::path(::testing::TempDir()) / ("berth-scenario-" + fs::path(GetParam()).filename().string());
  fs::remove_all(copy);
  fs::copy(scenarios() / GetParam(), copy, fs::copy_options::recursive);
  {
    std::ofstream empty(copy / "expect.yaml", std::ios::trunc);
    empty << "unchanged: there-is-no-such-workload\n";
  }
  PlanOptions options;
  options.files = {(copy / "cluster.yaml").string(), (copy / "work.yaml").string()};
  options.expect = (copy / "expect.yaml").string();
  std::ostringstream out, err;
  EXPECT_EQ(run_plan(options, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("there-is-no-such-workload should run on as before"));
  EXPECT_THAT(err.str(), HasSubstr("which is not expected"));
  fs::remove_all(copy);
}

INSTANTIATE_TEST_SUITE_P(All, Scenario, ::testing::ValuesIn(scenario_names()), scenario_test_name);

// The validator can fail.
TEST(Scenarios, SchemaRefusesWhatIsWrong) {
  std::ifstream file(fs::path(BERTH_SOURCE_DIR) / "docs" / "plan.schema.json");
  const testing::Schema schema(testing::Json::parse(file));
  const testing::Json good = {{"format", "berth-plan"},           {"version", 1},
                              {"rounds", testing::Json::array()}, {"problems", testing::Json::array()},
                              {"notes", testing::Json::array()},  {"notRead", testing::Json::object()}};
  EXPECT_EQ(schema.check(good), "");
  testing::Json bad = good;
  bad["version"] = 2;
  EXPECT_THAT(schema.check(bad), HasSubstr("$.version: 2 is not allowed"));
  bad = good;
  bad["notes"] = {1};
  EXPECT_THAT(schema.check(bad), HasSubstr("$.notes[0]: is no string"));
  bad = good;
  bad["more"] = 1;
  EXPECT_THAT(schema.check(bad), HasSubstr("more is not in the schema"));
  bad = good;
  bad.erase("rounds");
  EXPECT_THAT(schema.check(bad), HasSubstr("lacks rounds"));
}

TEST(Scenarios, AreMany) {
  EXPECT_GE(scenario_names().size(), 40u);
}

}  // namespace
}  // namespace berth::cli
