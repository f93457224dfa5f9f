// The scenario file: every key is documented, and wrong ones give a place, a key and a fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "sim/sim_support.h"
#include "text/document.h"

namespace berth::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kGood =
    "name: good\n"
    "cluster:\n"
    "  - {kind: shape, count: 2, gpus: 8}\n"
    "trace:\n"
    "  - {kind: generate, jobs: 10, span: 1h, queue: q}\n"
    "queues:\n"
    "  - {name: q, unlimited: true}\n";

std::string changed(const std::string& from, const std::string& to) {
  std::string yaml = kGood;
  const std::size_t at = yaml.find(from);
  EXPECT_NE(at, std::string::npos);
  return yaml.replace(at, from.size(), to);
}

TEST(Scenario, GoodOneRuns) {
  EXPECT_EQ(error_of(kGood, "."), "");
}

// Each wrong scenario, and what its message must say.
struct Wrong {
  std::string yaml;
  std::vector<std::string> says;
};

TEST(Scenario, WrongOnesNamePlaceKeyAndFix) {
  const std::vector<Wrong> cases{
      {changed("count: 2", "count: -2"), {"s.yaml:3:", "cluster[0].count", "1"}},
      {changed("gpus: 8", "gpus: 65"), {"s.yaml:3:", "cluster[0].gpus", "64"}},
      {changed("gpus: 8", "gpu: 8"), {"s.yaml:3:", "gpus"}},
      {changed("kind: shape", "kind: shapes"), {"s.yaml:3:", "cluster[0].kind", "shape"}},
      {changed("jobs: 10", "jobs: many"), {"s.yaml:5:", "trace[0].jobs", "many"}},
      {changed("span: 1h", "span: 1h, spam: 3"), {"s.yaml:5:", "spam", "span"}},
      {changed("span: 1h", "span: 1h, from: 2h, to: 1h"), {"s.yaml:5:", "trace[0].to", "later"}},
      {changed("queue: q", "queue: r"), {"s.yaml:", "'r'", "not defined"}},
      {changed(", queue: q", ""), {"s.yaml:5:", "no queue", "no_tenant_queue"}},
      {changed("unlimited: true", "order: strict"), {"s.yaml:7:", "quota", "unlimited: true"}},
      {changed("unlimited: true", "quota: [{resource: gpu, nominal: -1}]"), {"s.yaml:7:", "nominal"}},
      {changed("unlimited: true", "unlimited: true, quota: [{resource: gpu, nominal: 1}]"),
       {"s.yaml:7:", "not both"}},
      {changed("unlimited: true", "unlimited: true, order: fifo"), {"s.yaml:7:", "order", "strict"}},
      {changed("unlimited: true}", "unlimited: true}\n  - {name: q, unlimited: true}"), {"twice"}},
      {changed("unlimited: true}", "unlimited: true, parent: nobody}"), {"nobody", "not defined"}},
      {changed("unlimited: true}", "unlimited: true}\n  - {name: r, unlimited: true, parent: q}"),
       {"takes workloads itself"}},
      {changed("name: good", "name: good\nseed: -1"), {"s.yaml:2:", "seed"}},
      {changed("name: good\n", ""), {"name"}},
      {changed("name: good", "name: good\nname: bad"), {"s.yaml:2:", "name"}},
      {changed("name: good", "name: good\nmode: fast"), {"s.yaml:2:", "mode", "replay"}},
      {changed("name: good", "name: good\npolicy: {placement: default}"), {"s.yaml:2:", "placement", "pack"}},
      {changed("name: good", "name: good\nexpect: [{metric: jobs, value: 1, within: some}]"),
       {"s.yaml:2:", "within", "0.5%"}},
      {changed("name: good", "name: good\nexpect: [{metric: nothing, value: 1, within: 1}]"),
       {"s.yaml:2:", "nothing", "metrics.csv"}},
      {changed("name: good", "name: good\nexpect_curve: {path: x, list: a, policy: b}"),
       {"s.yaml:2:", "inflation"}},
      {changed("kind: shape, count: 2, gpus: 8", "kind: openb, path: nowhere.csv"), {"nowhere.csv"}},
      {changed("kind: shape, count: 2, gpus: 8", "kind: openb, path: \"${NOT_SET_ANYWHERE}/x\""),
       {"s.yaml:3:", "cluster[0].path", "NOT_SET_ANYWHERE", "set it"}},
      {changed("kind: shape, count: 2, gpus: 8", "kind: openb, path: \"${NOT\""), {"s.yaml:3:", "without }"}},
      {changed("unlimited: true", "quota: [{resource: gpu, nominal: 1, flavor: fast}]"), {"fast", "flavors"}},
      {"queues: {from: [1, 2}", {"s.yaml:1:"}},
      {"", {"s.yaml"}},
      {"- a\n- b\n", {"s.yaml:1:"}},
  };
  for (const Wrong& wrong : cases) {
    const std::string message = error_of(wrong.yaml, ".");
    EXPECT_NE(message, "") << wrong.yaml;
    for (const std::string& word : wrong.says) EXPECT_THAT(message, HasSubstr(word)) << wrong.yaml;
  }
}

TEST(Scenario, CyclicQueuesAreRefused) {
  const std::string message =
      error_of(changed("  - {name: q, unlimited: true}\n",
                       "  - {name: q, unlimited: true}\n"
                       "  - {name: a, parent: b, children: [{name: c, unlimited: true}]}\n"
                       "  - {name: b, parent: a, children: [{name: d, unlimited: true}]}\n"),
               ".");
  EXPECT_THAT(message, AllOf(HasSubstr("s.yaml:7:"), HasSubstr("own ancestor")));
}

TEST(Scenario, PathsAreFoundBesideTheFileAndInVariables) {
  EXPECT_EQ(*expand_path("a.csv", "folder", 3), "folder/a.csv");
  EXPECT_EQ(*expand_path("/a.${SEED}.csv", "folder", 42), "/a.42.csv");
  setenv("BERTH_SIM_TEST_VARIABLE", "/somewhere", 1);
  EXPECT_EQ(*expand_path("${BERTH_SIM_TEST_VARIABLE}/b", "folder", 1), "/somewhere/b");
  unsetenv("BERTH_SIM_TEST_VARIABLE");
  EXPECT_FALSE(expand_path("${BERTH_SIM_TEST_VARIABLE}/b", "folder", 1));
}

// Walks a mapping and collects the paths of its keys in the form of the reference.
void collect(const text::Node& node, const std::string& path, std::set<std::string>& out) {
  for (const text::Entry& entry : node.entries()) {
    const std::string here =
        path.empty() ? std::string(entry.name()) : path + "." + std::string(entry.name());
    out.insert(here);
    // Names of labels are the user's.
    if (here.ends_with("labels") || here.ends_with("node_selector")) continue;
    collect(entry.value, here, out);
    for (const text::Node& item : entry.value.items()) collect(item, here + "[]", out);
  }
}

// A key of a queue's child is a key of a queue.
std::string normal(std::string path) {
  for (std::size_t at; (at = path.find(".children[]")) != std::string::npos;) path.erase(at, 11);
  return path;
}

// The files in tests/sim/data use every key, and the reader refuses unknown ones: so the reference names exactly the keys
// that exist.
TEST(Scenario, ReferenceNamesEveryKey) {
  std::set<std::string> used;
  for (const char* name : {"every-key-replay.yaml", "every-key-inflation.yaml", "every-key-runtime.yaml"}) {
    const std::string path = source_path(std::string("tests/sim/data/") + name);
    const auto scenario = read_scenario(path);
    ASSERT_TRUE(scenario) << scenario.error().str();
    const auto document = text::read_document(path);
    ASSERT_TRUE(document);
    std::set<std::string> keys;
    collect(document->root(), "", keys);
    for (const std::string& key : keys) used.insert(normal(key));
  }
  used.insert("queues.from");  // the other form of queues: examples/small.yaml
  std::set<std::string> documented;
  for (const ScenarioKey& key : scenario_keys()) documented.emplace(key.path);
  EXPECT_EQ(documented.size(), scenario_keys().size()) << "a key is documented twice";
  EXPECT_THAT(used, testing::ContainerEq(documented));
}

TEST(Scenario, ManualHasTheReference) {
  EXPECT_THAT(read_text(source_path("docs/simulator.md")), HasSubstr(scenario_reference_markdown()));
}

}  // namespace
}  // namespace berth::sim
