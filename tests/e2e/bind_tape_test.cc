// The tape judges in the order of the decisions, and finds a bind that Kubernetes refuses. Without a cluster: objects and a decision log
// by hand.
#include "e2e/bind_tape.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "e2e/files.h"
#include "e2e/fixture.h"
#include "e2e/tape_player.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

class BindTapeTest : public testing::Test {
 protected:
  // Fails where the oracle cannot be built though the control plane is there.
  void SetUp() override {
    if (!TestCluster::find_program("kube-scheduler") && !e2e_required())
      GTEST_SKIP() << "no control plane, and nothing that the oracle is made of";
    std::string name = (std::filesystem::temp_directory_path() / "berth-tape-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const auto oracle = built_oracle(folder_);
    ASSERT_OK(oracle);
    oracle_ = *oracle;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  // Three pods of two cores that were bound to one node of four.
  static TapeObjects objects() {
    TapeObjects out;
    out.nodes.push_back(
        json::parse(node_json({.name = "n", .allocatable = {{"cpu", "4"}, {"pods", "9"}}}, 0)));
    for (std::size_t i = 0; i < 3; ++i) {
      json pod = json::parse(pod_json(
          {.name = "p", .scheduler = "default-scheduler", .requests = {{"cpu", "2"}}, .node = "n-0"}, i));
      pod["metadata"]["uid"] = "u" + std::to_string(i);
      out.pods.push_back(pod);
    }
    return out;
  }
  TapeVerdict judge(const std::vector<std::string>& lines) {
    const std::string log = folder_ + "/decisions.jsonl";
    std::string text = R"({"format":"berth-decision-log","version":1,"engine":{}})";
    for (const std::string& line : lines) text += "\n" + line;
    EXPECT_TRUE(write_text(log, text + "\n").has_value());
    const auto verdict = TapePlayer(objects(), "default-scheduler").judge(log, folder_, oracle_);
    EXPECT_TRUE(verdict.has_value()) << verdict.error().str();
    return verdict.value_or(TapeVerdict());
  }
  static std::string starts(const std::string& pod) {
    return R"({"decide":1,"decisions":[{"workload":")" + pod + R"(","slots":[{"node":"n-0"}]}]})";
  }

  const std::string node_ = R"({"e":"node","node":{"name":"n-0"}})";
  const std::string runs_ = R"({"e":"slot","workload":"u0","state":"running","node":"n-0"})";
  const std::string ended_ = R"({"e":"slot","workload":"u0","state":"gone"})";
  std::string folder_, oracle_;
};

TEST_F(BindTapeTest, RoomOfAPodThatHasEndedIsFree) {
  const TapeVerdict verdict = judge({node_, starts("u0"), runs_, starts("u1"), ended_, starts("u2")});
  EXPECT_TRUE(verdict.clean()) << verdict.str();
  EXPECT_EQ(verdict.judged, 3U);
}

TEST_F(BindTapeTest, RoomOfAPodThatIsDecidedIsNotFree) {
  const TapeVerdict verdict = judge({node_, starts("u0"), runs_, starts("u1"), starts("u2"), ended_});
  ASSERT_EQ(verdict.wrong.size(), 1U) << verdict.str();
  EXPECT_NE(verdict.wrong[0].find("default/p-2 on n-0: NodeResourcesFit"), std::string::npos)
      << verdict.wrong[0];
}

TEST_F(BindTapeTest, ANodeIsTakenAsItWasKnown) {
  const std::string tainted = R"({"e":"node","node":{"name":"n-0","taints":[{"key":"dedicated"}]}})";
  const TapeVerdict verdict = judge({tainted, starts("u0"), node_, starts("u1")});
  ASSERT_EQ(verdict.wrong.size(), 1U) << verdict.str();
  EXPECT_NE(verdict.wrong[0].find("default/p-0 on n-0: TaintToleration"), std::string::npos)
      << verdict.wrong[0];
  ASSERT_EQ(verdict.untold.size(), 1U) << verdict.str();
  EXPECT_EQ(verdict.untold[0], "default/p-2 on n-0");
}

}  // namespace
}  // namespace berth::e2e
