// `berth plan` itself: formats, wrong input, what it says about objects that it does not read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "plan_support.h"
#include "text/document.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kCluster = R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "10", nvidia.com/gpu: "2"}}
---
apiVersion: v1
kind: Pod
metadata: {name: low}
spec: {nodeName: n1, containers: [{name: c, resources: {limits: {nvidia.com/gpu: "2"}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: high}
spec: {priority: 10, schedulerName: berth, containers: [{name: c, resources: {limits: {nvidia.com/gpu: "1"}}}]}
)";

TEST_F(Plan, TableNamesVictimsAndPreemptors) {
  EXPECT_EQ(run(write("a.yaml", kCluster)), 0);
  EXPECT_THAT(out(), HasSubstr("Evictions"));
  EXPECT_THAT(out(), HasSubstr("preempted by default/high, which ranks higher"));
  EXPECT_THAT(out(), HasSubstr("0 start, 1 evicted, 1 held, 0 wait, 0 refused, 0 run on"));
  EXPECT_THAT(err(), IsEmpty());
}

TEST_F(Plan, RoundsCarryOutWhatWasDecided) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  options.rounds = 3;
  EXPECT_EQ(run(options), 0);
  EXPECT_THAT(out(), HasSubstr("Round 2\nStarts"));
  EXPECT_THAT(out(), HasSubstr("Round 3\n0 start, 0 evicted, 0 held, 0 wait, 0 refused, 1 run on"));
}

TEST_F(Plan, JsonIsJson) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  options.format = PlanFormat::kJson;
  EXPECT_EQ(run(options), 0);
  const auto document = text::parse_json(out(), "out");
  ASSERT_TRUE(document) << document.error().str();
  const auto& round = document->root().find("rounds")->items()[0];
  const auto& eviction = round.find("evictions")->items()[0];
  EXPECT_EQ(eviction.find("workload")->text(), "default/low");
  EXPECT_EQ(eviction.find("for")->text(), "default/high");
  EXPECT_EQ(eviction.at({"reason", "code"})->text(), "Preempted");
  EXPECT_EQ(round.find("holds")->items()[0].find("slots")->items()[0].find("node")->text(), "n1");
}

// An API server takes them, so a dump may have them: they are named with their places, and all else is planned.
TEST_F(Plan, QueuesInACycleAreWrongInputBesideAPlan) {
  const std::string file = write("a.yaml", std::string(kCluster) + R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: east}
spec: {parentName: west}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: west}
spec: {parentName: east}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: below}
spec: {parentName: east}
---
apiVersion: berth.dev/v1alpha1
kind: Queue
metadata: {name: ring}
spec: {parent: turn}
---
apiVersion: berth.dev/v1alpha1
kind: Queue
metadata: {name: turn}
spec: {parent: ring}
)");
  EXPECT_EQ(run(file), 2);
  EXPECT_THAT(err(),
              HasSubstr(file + ":17:1: Cohort east: its cohorts form a cycle: east -> west -> east\n"));
  EXPECT_THAT(err(), HasSubstr(file + ":22:1: Cohort west: "));
  EXPECT_THAT(err(), HasSubstr(file + ":32:1: Queue ring: its parents form a cycle: ring -> turn -> ring\n"));
  EXPECT_THAT(err(), HasSubstr(file + ":37:1: Queue turn: "));
  EXPECT_THAT(err(), Not(HasSubstr("below")));
  EXPECT_THAT(out(), HasSubstr("preempted by default/high, which ranks higher"));
  EXPECT_THAT(out(), HasSubstr("problem: Cohort below: its cohorts form a cycle: east -> west -> east"));
}

// An object that is left out is there: what names it says that it cannot be read.
TEST_F(Plan, PodsOfAnUnreadableGangNameTheField) {
  const std::string file = write("a.yaml", std::string(kCluster) + R"(---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: g}
spec: {minMember: many}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {pod-group.scheduling.sigs.k8s.io: g}}
spec: {containers: [{name: c}]}
)");
  EXPECT_EQ(run(file), 2);
  EXPECT_THAT(out(), HasSubstr("PodGroup default/g cannot be read: spec.minMember"));
  EXPECT_THAT(out(), Not(HasSubstr("does not exist")));
}

// Pods of one Job that wait for the same are one line, notes of one kind are one, no line is long, and totals end the table.
TEST_F(Plan, TwoHundredWorkloadsAreReadable) {
  std::string text = R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}}
)";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a-pod-with-quite-a-long-name-{}}}\n"
        "spec: {{containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: \"16\"}}}}}}]}}\n",
        i);
  }
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: notebooks-{}}}\n"
        "spec: {{parallelism: 170, completions: 170, template: {{spec: {{restartPolicy: Never, containers: "
        "[{{name: c, resources: {{limits: {{nvidia.com/gpu: \"1\"}}}}}}]}}}}}}\n",
        i);
  }
  const std::string file = write("a.yaml", text);
  EXPECT_EQ(run(file), 0) << err();
  std::istringstream lines(out());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LT(line.size(), 160u) << line;
  EXPECT_LT(count, 230) << out();
  EXPECT_THAT(out(), HasSubstr("Job default/notebooks-0 (8 pods)"));
  EXPECT_THAT(out(), HasSubstr("Job default/notebooks-0 (162 pods)"));
  EXPECT_THAT(out(), HasSubstr("Job default/notebooks-2 (170 pods)"));
  EXPECT_THAT(out(), HasSubstr("never: asks for 16 nvidia.com/gpu on one node, but the largest node has 8"));
  EXPECT_THAT(out(), HasSubstr("1 node, 8 of 8 nvidia.com/gpu taken"));
  EXPECT_THAT(out(), HasSubstr("planned with 170 pods made from its template (and 2 more such lines)"));
  PlanOptions wide;
  wide.files = {file};
  wide.format = PlanFormat::kWide;
  EXPECT_EQ(run(wide), 0);
  EXPECT_THAT(out(), HasSubstr("PRIORITY  AGE"));
}

TEST_F(Plan, ExplainsAWorkloadWhole) {
  PlanOptions options;
  options.files = {write("a.yaml", std::string(kCluster) + R"(---
apiVersion: v1
kind: Pod
metadata: {name: huge, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: "4"}}}]}
)")};
  options.now = 1'767'227'400'000;  // half past midnight
  options.explain = {"huge", "default/low"};
  EXPECT_EQ(run(options), 0) << err();
  EXPECT_THAT(out(), HasSubstr("default/huge waits\n  1 pod, queue -, priority 0, age 30m"));
  EXPECT_THAT(
      out(),
      HasSubstr("\n  1 pod needs a node, there is room for 0\n    asks for 4 nvidia.com/gpu on one node, "
                "but the largest node has 2\n"));
  EXPECT_THAT(out(), HasSubstr("default/low is evicted\n"));
  EXPECT_THAT(out(), Not(HasSubstr("run on")));
  options.explain = {"hugee"};
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(out(), IsEmpty());
  EXPECT_THAT(err(), HasSubstr("there is no workload default/hugee; did you mean default/huge?"));
}

TEST_F(Plan, OnlyTheNamedSchedulersPods) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  options.scheduler_names = {"berth"};
  EXPECT_EQ(run(options), 0);  // the low pod is another scheduler's: its room is taken, it is not ours to end
  EXPECT_THAT(out(), HasSubstr("0 start, 0 evicted, 0 held, 1 wait"));
}

TEST_F(Plan, FoldersAndListsAndJson) {
  write("b.json", R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8","pods":"9"}}},
    {"apiVersion":"v1","kind":"PodList","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[]}}]},
    {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d"}}]})");
  write("notes.txt", "not a manifest");
  EXPECT_EQ(run(folder_.string()), 0);
  EXPECT_THAT(out(), HasSubstr("default/p"));
  EXPECT_THAT(out(), HasSubstr("note: 1 DaemonSet (apps/v1) not read"));
}

TEST_F(Plan, WrongInputNamesThePlaceAndWritesNothing) {
  const auto expect_error = [&](const std::string& text, const std::string& words) {
    const std::string file = write("bad.yaml", text);
    EXPECT_EQ(run(file), 2) << text;
    EXPECT_THAT(out(), IsEmpty()) << text;
    EXPECT_THAT(err(), HasSubstr(file)) << text;
    EXPECT_THAT(err(), HasSubstr(words)) << text;
  };
  expect_error(
      "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus:\n  allocatable: {nvidia.com/gpu: \"-2\"}\n",
      "bad.yaml:5:");
  expect_error(
      "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus:\n  allocatable: {nvidia.com/gpu: \"-2\"}\n",
      "status.allocatable[\"nvidia.com/gpu\"]: is -2, but an amount must not be negative");
  expect_error("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: [1]\n", "spec: must be a mapping");
  expect_error("kind: Pod\n", "apiVersion: is required");
  expect_error("apiVersion: v1\n", "kind: is required");
  expect_error("- 1\n- 2\n", "must be a mapping with apiVersion and kind");
  expect_error("apiVersion: v1\nkind: Pod\nmetadata: {name: p\n", "bad.yaml:");
  expect_error("{\"apiVersion\": \"v1\", \"kind\": ", "bad.yaml:");
  expect_error("apiVersion: v1\nkind: Pod\nkind: Node\n", "kind");
  expect_error("apiVersion: v1\nkind: List\nitems: 3\n", "items: must be a list");
  EXPECT_EQ(run((folder_ / "no-such-file.yaml").string()), 2);
  EXPECT_THAT(err(), HasSubstr("no-such-file.yaml"));
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(run((folder_ / "empty").string()), 2);
  EXPECT_THAT(err(), HasSubstr("no *.yaml, *.yml or *.json file"));
}

TEST_F(Plan, WrongExpectationsNameThePlace) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  const auto expect_error = [&](const std::string& text, const std::string& words) {
    options.expect = write("expect.yaml", text);
    EXPECT_EQ(run(options), 2) << text;
    EXPECT_THAT(out(), IsEmpty());
    EXPECT_THAT(err(), HasSubstr("expect.yaml")) << text;
    EXPECT_THAT(err(), HasSubstr(words)) << text;
  };
  expect_error("strats: []\n", "starts");  // the nearest known key
  expect_error("waiting:\n- {workload: a, reason: Becauses}\n", "is no reason; one of");
  expect_error("starts:\n- {pods: 3}\n", "workload");
  expect_error("steps: []\n", "at least one step");
  expect_error("delete: [a]\n", "Kind/name");
  expect_error("steps:\n- {finish: nobody}\n", "there is no workload default/nobody");
  expect_error("steps:\n- {delete: [Pod/nobody]}\n", "there is no Pod nobody");
  options.expect = write("expect.yaml", "apply: nothing.yaml\n");
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(err(), HasSubstr("nothing.yaml"));
}

TEST_F(Plan, DifferencesReadLikeSentences) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  options.expect =
      write("expect.yaml", "starts:\n- {workload: high}\nevictions:\n- {workload: low, for: nobody}\n");
  EXPECT_EQ(run(options), 1);
  EXPECT_THAT(err(), HasSubstr("line 2: default/high starts is expected, but does not happen"));
  EXPECT_THAT(err(), HasSubstr("line 4: default/low is evicted: for default/high, not for default/nobody"));
  EXPECT_THAT(err(), HasSubstr("default/high holds room (1 pods on n1 x1"));
  EXPECT_THAT(out(), HasSubstr("Evictions"));  // the plan itself is shown all the same
}

// One bad object, or document, costs the plan of no other.
TEST_F(Plan, WhatCannotBeReadIsLeftOut) {
  const std::string pod =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c}]}\n";
  const auto named = [&](const std::string& name) {
    return std::string(pod).replace(pod.find("NAME"), 4, name);
  };
  const std::string node =
      "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 8, pods: 10}}\n";
  const std::string bad[] = {
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec:\n\tcontainers: []\n",
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad\n",
      "---\napiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: bad}\n",
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {priority: high}\n",
      "---\n- 1\n",
      "---\nkind: Pod\n",
      "---\napiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: []}\n"};
  for (const std::string& text : bad) {
    EXPECT_EQ(run(write("a.yaml", node + named("first") + text + named("second"))), 2) << text;
    EXPECT_THAT(out(), HasSubstr("default/first ")) << text;
    EXPECT_THAT(out(), HasSubstr("default/second")) << text;
    EXPECT_THAT(out(), HasSubstr("problem: ")) << text;
    EXPECT_THAT(err(), HasSubstr("a.yaml:")) << text;
  }
  EXPECT_EQ(run(write("a.yaml", node + bad[0])), 2);
  EXPECT_THAT(err(), HasSubstr("a.yaml:10:1: a tab indents this line"));
  EXPECT_EQ(run(write("a.json",
                      R"({"apiVersion": "v1", "kind": "Pod", "kind": 1} {"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "second"}, "spec": {"containers": []}})")),
            2);
  EXPECT_THAT(out(), HasSubstr("default/second"));
  EXPECT_EQ(run(write("a.yaml", "apiVersion: v1\nkind: List\nitems:\n- 3\n- " +
                                    std::string(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "second"}, "spec": {"containers": []}})") +
                                    "\n")),
            2);
  EXPECT_THAT(out(), HasSubstr("default/second"));
}

TEST_F(Plan, ObjectsWithAGenerateNameGetAName) {
  const std::string job =
      "---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: sample-}\n"
      "spec: {template: {spec: {containers: [{name: c}]}}}\n";
  const std::string pod =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c}]}\n"
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p-1}\nspec: {containers: [{name: c}]}\n";
  EXPECT_EQ(run(write("a.yaml", kCluster + job + job + pod)), 0) << err();
  for (const char* name : {"default/sample-1-0 ", "default/sample-2-0 ", "default/p-1 ", "default/p-2 "})
    EXPECT_THAT(out(), HasSubstr(name));
}

// A number of a few digits is no reason to take gigabytes of memory.
TEST_F(Plan, JobsOfMorePodsThanAPlanMakesSaySo) {
  const auto job = [](std::string_view name, int pods) {
    return fmt::format(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {0}}}\nspec: {{parallelism: {1}, "
        "completions: {1},"
        " template: {{spec: {{containers: [{{name: c}}]}}}}}}\n",
        name, pods);
  };
  EXPECT_EQ(run(write("a.yaml", kCluster + job("huge", 1'000'000))), 2);
  EXPECT_THAT(
      err(),
      HasSubstr("Job default/huge: 1000000 pods at once; berth plan makes at most 100000 from one Job"));
  EXPECT_EQ(run(write("a.yaml", kCluster + job("one", 3000) + job("two", 98'000))), 0) << err();
  EXPECT_THAT(out(), HasSubstr("Job default/two lacks 98000 pods: a plan makes at most 100000 pods"));
}

// A whole document, or file, that cannot be read is named, and the others are planned.
TEST_F(Plan, AWholeFileThatCannotBeReadIsLeftOut) {
  write("cluster.yaml", kCluster);
  for (const std::string& text :
       {std::string("\xff\xfe not text"), std::string("{\"apiVersion\": "), std::string("just words\n"),
        std::string("apiVersion: v1\nkind: Pod\nmetadata:\n\tname: p\n"), std::string("- a\n- b\n")}) {
    const std::string bad = write("bad.yaml", text);
    EXPECT_EQ(run(folder_.string()), 2) << text;
    EXPECT_THAT(out(), HasSubstr("default/high")) << text;
    EXPECT_THAT(err(), HasSubstr(bad)) << text;
  }
}

TEST_F(Plan, ATabIsNamedWithItsLine) {
  for (const std::string& text :
       {std::string("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n\tcontainers: []\n"),
        std::string("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  \t- name: c\n"),
        std::string(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  nodeSelector:\n    a: b\n\t    c: d\n"),
        std::string("apiVersion: v1\nkind: Pod\n\tmetadata: {name: p}\n")}) {
    EXPECT_EQ(run(write("tab.yaml", text)), 2) << text;
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find('\t')), '\n');
    EXPECT_THAT(err(), HasSubstr("tab.yaml:" + std::to_string(line) + ":")) << text;
    EXPECT_THAT(err(), HasSubstr("a tab indents this line: tabs are not allowed for indentation")) << text;
  }
}

TEST_F(Plan, MisspeltNamesAreWarningsByDefault) {
  PlanOptions options;
  options.files = {BERTH_SOURCE_DIR "/tests/scenarios/kube/misspelt-names/work.yaml"};
  EXPECT_EQ(run(options), 0);
  for (const char* words :
       {"work.yaml:5:3: Job default/typo: spec.paralelism: unknown field; did you mean parallelism?",
        "spec.template.spec.nodeselector: unknown field; did you mean nodeSelector?",
        "spec.template.spec.containers[0].resources.request: unknown field; did you mean requests?",
        "metadata.labels[\"kueue.x-k8s.io/queuename\"]: unknown name; did you mean "
        "kueue.x-k8s.io/queue-name?",
        "Job default/later: apiVersion: batch has no such version of Job; did you mean batch/v1?",
        "pod not-read: kind: v1 has no kind pod; did you mean Pod?"}) {
    EXPECT_THAT(err(), HasSubstr(std::string("warning: ")));
    EXPECT_THAT(err(), HasSubstr(words));
    EXPECT_THAT(out(), Not(HasSubstr(words)));
  }
  options.format = PlanFormat::kJson;
  EXPECT_EQ(run(options), 0);
  EXPECT_THAT(out(), HasSubstr("\"warnings\": ["));
  EXPECT_THAT(out(), HasSubstr("unknown field; did you mean parallelism?"));
  options.validation = Validation::kStrict;
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(out(), HasSubstr("default/typo-0"));
  EXPECT_THAT(err(), HasSubstr("did you mean parallelism?"));
  options.validation = Validation::kOff;
  EXPECT_EQ(run(options), 0);
  EXPECT_THAT(err(), IsEmpty());
  EXPECT_THAT(out(), Not(HasSubstr("did you mean")));
}

// The blocks of YAML in a page.
std::vector<std::string> yaml_blocks_of(const std::string& page) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + page);
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```yaml";
      if (inside) out.emplace_back();
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

// docs/kinds.md: an object of a kind that Berth does not know, and the file that declares the kind.
TEST_F(Plan, TheExampleOfTheDocsForAKindOfAUser) {
  const auto blocks = yaml_blocks_of("/docs/kinds.md");
  ASSERT_GE(blocks.size(), 2U);
  const std::string cluster = R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "10", nvidia.com/gpu: "4"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 8}, {name: nvidia.com/gpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team-a}
spec: {clusterQueue: cq}
---
)";
  PlanOptions options;
  options.files = {write("all.yaml", cluster + blocks[0])};
  EXPECT_EQ(run(options), 0) << err();
  EXPECT_THAT(out(), HasSubstr("FlowRun (flow.example.com/v1)")) << "it is not read yet";
  options.kinds = {write("kinds.txt", blocks[1])};
  EXPECT_EQ(run(options), 0) << err();
  EXPECT_THAT(out(), HasSubstr("default/wing"));
  EXPECT_THAT(out(), HasSubstr("planned with 4 pods made from its template"));
  EXPECT_THAT(out(), Not(HasSubstr("FlowRun (")));
}

TEST_F(Plan, AFileOfKindsThatIsWrongIsNamed) {
  PlanOptions options;
  options.files = {write("a.yaml", kCluster)};
  options.kinds = {
      write("kinds.txt",
            "apiVersion: berth.dev/v1alpha1\nkind: OwnerKinds\nkinds:\n- apiVersion: a.io/v1\n  kind: Wrong\n"
            "  resource: wrongs\n  pods:\n  - name: main\n    count: .replicas..x\n")};
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(err(), HasSubstr("kinds.txt:9:12: kinds[0].pods[0].count: \".replicas..x\" is no path"));
  EXPECT_THAT(out(), IsEmpty());
  options.kinds = {(folder_ / "none.yaml").string()};
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(err(), HasSubstr("none.yaml"));
}

TEST_F(Plan, AKeyThatIsAlmostTheOneThatIsMissing) {
  EXPECT_EQ(run(write("a.yaml", "apiversion: v1\nkind: Pod\nmetadata: {name: p}\n")), 2);
  EXPECT_THAT(err(), HasSubstr("apiVersion: is required, for example \"v1\" (not apiversion)"));
  EXPECT_EQ(run(write("a.yaml", "apiVersion: v1\nKind: Pod\nmetadata: {name: p}\n")), 2);
  EXPECT_THAT(err(), HasSubstr("kind: is required, for example \"Pod\" (not Kind)"));
}

// A note names facts that are unknown without nodes.
TEST_F(Plan, NodesThatAreNotGivenAreNoted) {
  const std::string pod =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n";
  EXPECT_EQ(run(write("a.yaml", pod)), 0);
  EXPECT_THAT(out(), HasSubstr("note: No nodes are given: nothing can start"));
  const std::string bound =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: r}\nspec: {nodeName: gone, containers: [{name: c}]}\n"
      "status: {phase: Running}\n";
  EXPECT_EQ(run(write("a.yaml", kCluster + bound)), 0);
  EXPECT_THAT(
      out(),
      HasSubstr(
          "note: 1 pod is bound to nodes that are not given (gone): what room these have is not known"));
  std::string queues;
  for (const char* flavor : {"a", "b"})
    queues += fmt::format(
        "---\n{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {{name: {}}}}}\n",
        flavor);
  queues += R"(---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: a, resources: [{name: cpu, nominalQuota: 4}]}
    - {name: b, resources: [{name: cpu, nominalQuota: 4}]}
)";
  EXPECT_EQ(run(write("a.yaml", queues + bound)), 0);
  EXPECT_THAT(out(), HasSubstr("note: No nodes are given: quota alone decides"));
  EXPECT_THAT(
      out(),
      HasSubstr(
          "the flavors of their quota are not known, and each counts in the first that its queue allows"));
}

// A pod that asks for more than the engine takes at all is refused with a message, and blocks no other work.
TEST_F(Plan, AbsurdRequestsAreRefusedAlone) {
  std::string text = kCluster;
  text += R"(---
apiVersion: v1
kind: Pod
metadata: {name: absurd}
spec: {containers: [{name: c, resources: {requests: {memory: 4Ei}, limits: {nvidia.com/gpu: "65"}}}]}
)";
  EXPECT_EQ(run(write("a.yaml", text)), 0);
  EXPECT_THAT(out(), HasSubstr("default/absurd"));
  EXPECT_THAT(out(), HasSubstr("1 evicted, 1 held"));
}

}  // namespace
}  // namespace berth::cli
