// PodDisruptionBudgets in the intake: which pods have them, whichever comes first, and how many may go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::node_yaml;
using ::testing::Pair;
using testing::pod_yaml;
using ::testing::SizeIs;
using testing::World;

std::string budget(const std::string& name, std::int64_t allowed, const std::string& selector,
                   const std::string& ns = "default") {
  return fmt::format(
      "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {}, namespace: {}}}\n"
      "spec: {{minAvailable: 1{}}}\nstatus: {{disruptionsAllowed: {}}}\n---\n",
      name, ns, selector, allowed);
}

constexpr const char* kWeb = ", selector: {matchLabels: {app: web}}";

// The events of this, beyond those that the engine was told.
std::vector<Event> events_after(World& world, const std::string& yaml) {
  for (auto& object : testing::objects_of(yaml)) world.intake.upsert(std::move(object));
  std::vector<Event> out;
  world.intake.drain(out);
  return out;
}

// The budgets that the engine was last told of a workload's pods.
std::vector<std::string> budgets_of(const std::vector<Event>& events, const std::string& uid) {
  std::vector<std::string> out{"not told"};
  for (const Event& event : events) {
    const auto* upsert = std::get_if<WorkloadUpsert>(&event);
    if (upsert != nullptr && upsert->workload.uid == uid)
      out = *upsert->workload.root.pod_sets[0].pod.budgets;
  }
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> told(const std::vector<Event>& events) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const Event& event : events) {
    if (const auto* update = std::get_if<DisruptionBudgetUpdate>(&event))
      out.emplace_back(update->name, update->allowed);
    if (const auto* removed = std::get_if<DisruptionBudgetRemove>(&event))
      out.emplace_back(removed->name, -1);
  }
  return out;
}

TEST(DisruptionBudgets, CoverThePodsThatTheySelectInWhicheverOrderTheseCome) {
  for (const bool first : {false, true}) {
    World world;
    const std::string pod = pod_yaml("p", 1, "  labels: {app: web}\n");
    const auto events = events_after(
        world, node_yaml("n0", 4) + (first ? budget("b", 2, kWeb) + pod : pod + budget("b", 2, kWeb)));
    EXPECT_THAT(budgets_of(events, "Pod/default/p"), ElementsAre("PodDisruptionBudget default/b")) << first;
    EXPECT_THAT(told(events), ElementsAre(Pair("PodDisruptionBudget default/b", 2))) << first;
  }
}

TEST(DisruptionBudgets, FollowLabelsSelectorsAndStatus) {
  World world;
  events_after(world, node_yaml("n0", 4) + pod_yaml("p", 1, "  labels: {app: web}\n") + budget("b", 2, kWeb));
  auto events = events_after(world, budget("b", 1, kWeb));
  EXPECT_THAT(told(events), SizeIs(1));
  EXPECT_THAT(budgets_of(events, "Pod/default/p"), ElementsAre("not told"));
  EXPECT_THAT(budgets_of(events_after(world, pod_yaml("p", 1, "  labels: {app: db}\n")), "Pod/default/p"),
              IsEmpty());
  events = events_after(world, budget("b", 1, ", selector: {matchLabels: {app: db}}"));
  EXPECT_THAT(budgets_of(events, "Pod/default/p"), SizeIs(1));
  world.intake.remove(Kind::kDisruptionBudget, "default", "b");
  events = events_after(world, "");
  EXPECT_THAT(budgets_of(events, "Pod/default/p"), IsEmpty());
  EXPECT_THAT(told(events), ElementsAre(Pair("PodDisruptionBudget default/b", -1)));
}

// As the default scheduler reads them.
TEST(DisruptionBudgets, OfAnotherNamespaceOrWithoutARequirementCoverNothing) {
  World world;
  const auto events = events_after(world, node_yaml("n0", 4) + pod_yaml("p", 1, "  labels: {app: web}\n") +
                                              budget("other", 0, kWeb, "other") + budget("none", 0, "") +
                                              budget("empty", 0, ", selector: {}"));
  EXPECT_THAT(budgets_of(events, "Pod/default/p"), IsEmpty());
}

// Their count is bounded: pods times budgets must not grow without a bound.
TEST(DisruptionBudgets, OfOnePodAreBounded) {
  World world;
  std::string all = node_yaml("n0", 4) + pod_yaml("p", 1, "  labels: {app: web}\n");
  for (int i = 0; i < 20; ++i) all += budget(fmt::format("b{}", i), 0, kWeb);
  EXPECT_THAT(budgets_of(events_after(world, all), "Pod/default/p"), SizeIs(8));
}

// Nothing that a term counts, and no reason to keep pods together: a budget for some pods of a gang changes nothing of it.
TEST(DisruptionBudgets, OfSomePodsOfAGangAreNoTerms) {
  World world;
  world.apply(node_yaml("n0", 4) + budget("b", 0, ", selector: {matchLabels: {role: leader}}"));
  const std::string gang =
      "  annotations: {pod-group.scheduling.sigs.k8s.io/min-available: '2'}\n  labels: {"
      "pod-group.scheduling.sigs.k8s.io/name: g, role: ";
  world.apply(pod_yaml("a", 1, gang + "leader}\n") + pod_yaml("b", 1, gang + "worker}\n"));
  EXPECT_THAT(world.started(world.decide()), SizeIs(1));
}

}  // namespace
}  // namespace berth::dialect
