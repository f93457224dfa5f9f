// Terms about other pods in the intake: selectors that count pods, whichever comes first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

constexpr char kLonely[] =
    "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
    "kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}\n";

// A pod of another scheduler with anti-affinity keeps matching pods from its domain while it runs, and from nowhere else.
TEST(Intake, AntiAffinityOfRunningPodsIsRespected) {
  const std::string lonely =
      pod_yaml("lonely", 0, "  labels: {app: db}\n", std::string("  nodeName: n0\n") + kLonely);
  World world;
  world.apply(node_yaml("n0", 4) + pod_yaml("early", 1, "  labels: {app: db}\n") +
              pod_yaml("other", 1, "  labels: {app: web}\n") + lonely +
              pod_yaml("late", 1, "  labels: {app: db}\n"));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_EQ(world.intake.blocked("Pod/default/early"), nullptr);
  EXPECT_THAT(
      to_text(world.engine.explain("Pod/default/early")->reason),
      HasSubstr(
          "1 node is ruled out by required anti-affinity (app=db in default, per kubernetes.io/hostname)"));
  world.apply(pod_yaml("late", 1, "  labels: {app: cache}\n"));  // a label changes
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  world.remove(Kind::kPod, "lonely");
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_TRUE(world.engine.audit());
}

// The selectors that count a pod follow the pods with terms and its own labels, in whichever order these come.
TEST(Intake, SelectorsCountPodsInWhicheverOrderTheyCome) {
  for (const bool first : {false, true}) {
    IntakeConfig config;
    config.scheduler_names = {"default-scheduler"};
    World world(config);
    const std::string waiting = pod_yaml("shy", 1, "  labels: {app: db}\n", kLonely);
    const std::string running =
        pod_yaml("foreign", 0, "  labels: {app: db}\n", "  nodeName: n0\n  schedulerName: other\n");
    world.apply(node_yaml("n0", 4) + (first ? waiting + running : running + waiting));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << first;
    world.apply(pod_yaml("foreign", 0, "  labels: {app: web}\n", "  nodeName: n0\n  schedulerName: other\n"));
    EXPECT_EQ(world.started(world.decide()).size(), 1u) << first;
    EXPECT_TRUE(world.engine.audit());
  }
}

constexpr const char* kSpreadByHost =
    "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: "
    "DoNotSchedule, labelSelector: {matchLabels: {app: db}}}]\n";

TEST(Intake, APodOfAnotherSchedulerThatIsEndingDoesNotCountForASpread) {
  IntakeConfig config;
  config.scheduler_names = {"default-scheduler"};
  World world(config);
  const std::string elsewhere = "  nodeName: n0\n  schedulerName: other\n";
  world.apply(node_yaml("n0", 4) + node_yaml("n1", 0) +
              pod_yaml("foreign", 0, "  labels: {app: db}\n", elsewhere) +
              pod_yaml("db", 1, "  labels: {app: db}\n", kSpreadByHost));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(
      pod_yaml("foreign", 0, "  labels: {app: db}\n  deletionTimestamp: 2026-01-01T00:00:00Z\n", elsewhere));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_TRUE(world.engine.audit());
}

TEST(Intake, SpreadsOfPodsOfOtherSchedulersBindNothing) {
  IntakeConfig config;
  config.scheduler_names = {"default-scheduler"};
  World world(config);
  world.apply(node_yaml("n0", 4) +
              pod_yaml("foreign", 0, "  labels: {app: db}\n",
                       std::string("  nodeName: n0\n  schedulerName: other\n") + kSpreadByHost) +
              pod_yaml("db", 1, "  labels: {app: db}\n"));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_EQ(world.engine.audit().has_value(), true);
}

TEST(Intake, LabelsOfNamespacesDecideWhatATermCounts) {
  World world;
  const auto ns = [](const std::string& team) {
    return "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {team: " + team +
           "}}\n---\n";
  };
  const std::string by_team =
      "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
      "kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: "
      "{team: a}}}]}}\n";
  world.apply(node_yaml("n0", 4) + ns("a") + pod_yaml("db", 0, "  labels: {app: db}\n", "  nodeName: n0\n") +
              pod_yaml("shy", 1, "", by_team));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(ns("b"));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
}

// One pod set is counted as a whole, so its pods must be alike for every term.
TEST(Intake, AGangOfPodsThatATermSelectsInPartWaits) {
  World world;
  const std::string gang = "scheduling.x-k8s.io/pod-group: g";
  const std::string group =
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: "
      "2}\n---\n";
  world.apply(node_yaml("n0", 8) + group + pod_yaml("a", 1, "  labels: {app: db, " + gang + "}\n") +
              pod_yaml("b", 1, "  labels: {app: web, " + gang + "}\n") +
              pod_yaml("lonely", 0, "", std::string("  nodeName: n0\n") + kLonely));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kPod, "lonely");
  EXPECT_EQ(world.started(world.decide()).size(), 1u) << "no term selects any of them now";
}

}  // namespace
}  // namespace berth::dialect
