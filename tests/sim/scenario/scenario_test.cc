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

TEST(Scenario, CyclicQueuesAreRefusedWithTheCycle) {
  const auto error = [](const std::string& more) {
    return error_of(changed("  - {name: q, unlimited: true}\n", "  - {name: q, unlimited: true}\n" + more),
                    ".");
  };
  EXPECT_THAT(
      error("  - {name: a, parent: b, children: [{name: c, unlimited: true}]}\n"
            "  - {name: b, parent: a, children: [{name: d, unlimited: true}]}\n"),
      AllOf(HasSubstr("s.yaml:8:5: "), HasSubstr("the parents of queue 'a' form a cycle: a -> b -> a;")));
  // The cycle is named, whatever else is wrong with its queues.
  EXPECT_THAT(error("  - {name: a, parent: b}\n  - {name: b, parent: a}\n"),
              HasSubstr("a cycle: a -> b -> a;"));
  EXPECT_THAT(error("  - {name: a, parent: a, unlimited: true}\n"), HasSubstr("a cycle: a -> a;"));
  EXPECT_THAT(error("  - {name: a, children: [{name: b}]}\n"),
              AllOf(HasSubstr("s.yaml:8:26: "), HasSubstr("queue 'b' can start nothing")));
}

TEST(Scenario, PathsAreFoundBesideTheFileAndInVariables) {
  EXPECT_EQ(*expand_path("a.csv", "folder", 3), "folder/a.csv");
  EXPECT_EQ(*expand_path("/a.${SEED}.csv", "folder", 42), "/a.42.csv");
  setenv("BERTH_SIM_TEST_VARIABLE", "/somewhere", 1);
  EXPECT_EQ(*expand_path("${BERTH_SIM_TEST_VARIABLE}/b", "folder", 1), "/somewhere/b");
  unsetenv("BERTH_SIM_TEST_VARIABLE");
  EXPECT_FALSE(expand_path("${BERTH_SIM_TEST_VARIABLE}/b", "folder", 1));
}

TEST(Scenario, OrderKeysBecomePolicies) {
  const auto parse = [](const std::string& queues, const std::string& policy = "") {
    return parse_scenario(
        "name: s\ncluster: [{kind: shape, count: 1, gpus: 8}]\n"
        "trace: [{kind: generate, jobs: 1, queue: a}]\nqueues:\n" +
            queues + policy,
        "s.yaml", ".");
  };
  const auto read = parse(
      "  - name: all\n    sharing: guaranteed-share\n    half_life: 1h\n    children:\n"
      "      - {name: a, unlimited: true, weight: 2.5, order_by: attained-levels, priority: second, "
      "age_limit: 0s,\n"
      "         attained_first: 10m, attained_ratio: 3, attained_levels: 2, within: later-in-order}\n"
      "      - {name: b, unlimited: true, order_by: duration}\n",
      "policy: {tiers: by-kind}\n");
  ASSERT_TRUE(read) << read.error().str();
  EXPECT_EQ(read->queues[0].sharing, Sharing::kGuaranteedShare);
  EXPECT_EQ(read->queues[0].half_life, kHour);
  const Queue& a = read->queues[1];
  EXPECT_EQ(a.weight, (Rational{2500, 1000}));
  EXPECT_EQ(a.ordering.by, OrderBy::kAttainedLevels);
  EXPECT_FALSE(a.ordering.priority_first);
  EXPECT_EQ(a.ordering.limit(), 0);
  EXPECT_EQ(a.ordering.attained_first, 10 * kMinute);
  EXPECT_EQ(a.ordering.attained_ratio, 3);
  EXPECT_EQ(a.ordering.attained_levels, 2);
  EXPECT_EQ(a.preemption.within, WithinQueue::kLaterInOrder);
  EXPECT_EQ(read->queues[2].ordering.limit(), 3 * 24 * kHour);
  for (const Queue& queue : read->queues) EXPECT_EQ(queue.ordering.tiers, Tiers::kByKind);

  const auto wrong = parse("  - {name: a, unlimited: true, order_by: durations}\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().str(),
              AllOf(HasSubstr("s.yaml:5"), HasSubstr("order_by"), HasSubstr("attained-levels")));
}

TEST(Scenario, RestartOverheadsGrowWithTheJob) {
  const auto parse = [](const std::string& list) {
    return parse_scenario(
        "name: s\ncluster: [{kind: shape, count: 16, gpus: 8}]\n"
        "trace: [{kind: generate, jobs: 300, span: 1h, queue: a, restart_overheads: " +
            list + "}]\nqueues: [{name: a, unlimited: true}]\n",
        "s.yaml", ".");
  };
  const auto scenario =
      parse("[{up_to_gpus: 1, overhead: 7s}, {up_to_gpus: 8, overhead: 30s}, {overhead: 60s}]");
  ASSERT_TRUE(scenario) << scenario.error().str();
  const auto input = load(*scenario);
  ASSERT_TRUE(input) << input.error().str();
  std::set<DurationMs> seen;
  for (const Job& job : input->trace.jobs) {
    const std::int64_t gpus = input->trace.shapes[job.shape].gpu_milli / 1000;
    const DurationMs overhead = input->trace.restarts[job.restart].overhead;
    EXPECT_EQ(overhead, (gpus <= 1 ? 7 : gpus <= 8 ? 30 : 60) * kSecond);
    seen.insert(overhead);
  }
  EXPECT_EQ(seen.size(), 3u);
  const auto wrong = parse("[{overhead: 7s}, {up_to_gpus: 8, overhead: 30s}]");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().str(), HasSubstr("has no effect"));
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
  for (const char* name : {"every-key-replay.yaml", "every-key-inflation.yaml", "every-key-runtime.yaml",
                           "every-key-forms.yaml"}) {
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
