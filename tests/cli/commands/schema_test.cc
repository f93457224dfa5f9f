// The JSON of the commands keeps to docs/commands.schema.json.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/commands/check.h"
#include "cli/commands/explain.h"
#include "cli/commands/get.h"
#include "cli/commands/log.h"
#include "cli/commands/top.h"
#include "cli/fake_cluster_support.h"
#include "scenarios/schema_support.h"

namespace berth::cli {
namespace {

using testing::FakeCluster;
using testing::Json;

// The error of a text against the definition of this name; "": none.
std::string against(const std::string& definition, const std::string& text) {
  static const Json file = Json::parse(std::ifstream(BERTH_SOURCE_DIR "/docs/commands.schema.json"));
  Json schema = {{"$ref", "#/$defs/" + definition}, {"$defs", file.at("$defs")}};
  const Json read = Json::parse(text, nullptr, false);
  if (read.is_discarded()) return "no JSON: " + text;
  return testing::Schema(std::move(schema)).check(read);
}

TEST(CommandsSchema, HoldsForEveryCommand) {
  FakeCluster cluster;
  cluster.add_node("n1", 8, {{"topology.kubernetes.io/zone", "z1"}});
  cluster.add_queue("research", {{"guaranteed", {{"nvidia.com/gpu", "8"}}}, {"stopPolicy", "Hold"}},
                    {{"pending", 1}, {"running", 1}});
  cluster.add_queue("vision", {{"parent", "research"}, {"limit", {{"nvidia.com/gpu", "8"}}}});
  cluster.add_pod("runs", 2, "n1", {}, {}, {{"berth.dev/queue", "vision"}});
  const Json waits = cluster.add_pod("waits", 12, "", "Quota", "needs 12 nvidia.com/gpu");
  cluster.add_job("train", 2, 8, "vision");
  cluster.add_event("FailedScheduling", waits, "needs 12 nvidia.com/gpu", "2026-01-01T00:05:00.000000Z");
  std::ostringstream out, err;
  const auto take = [&] {
    std::string text = out.str();
    out.str("");
    return text;
  };
  GetOptions get;
  get.cluster = cluster.flags("*");
  get.format = ListFormat::kJson;
  EXPECT_EQ(run_get(get, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-workloads", take()), "");
  get.what = GetOptions::What::kQueues;
  EXPECT_EQ(run_get(get, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-queues", take()), "");
  get.what = GetOptions::What::kNodes;
  EXPECT_EQ(run_get(get, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-nodes", take()), "");
  TopOptions top;
  top.cluster = cluster.flags("*");
  top.format = ListFormat::kJson;
  EXPECT_EQ(run_top(top, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-top", take()), "");
  ExplainOptions explain;
  explain.cluster = cluster.flags();
  explain.name = "waits";
  explain.json = true;
  EXPECT_EQ(run_explain(explain, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-explanation", take()), "");
  CheckOptions check;
  check.cluster = cluster.flags("*");
  check.json = true;
  EXPECT_EQ(run_check(check, out, err), 0) << err.str();
  EXPECT_EQ(against("berth-check", take()), "");
  LogOptions log;
  log.cluster = cluster.flags("*");
  log.follow = false;
  log.json = true;
  log.since = 100LL * 365 * 24 * kHour;
  EXPECT_EQ(run_log(log, out, err), 0) << err.str();
  EXPECT_EQ(against("log-line", take()), "");
  // The validator sees a difference.
  EXPECT_NE(against("log-line", R"({"time":"x"})"), "");
}

}  // namespace
}  // namespace berth::cli
