// StatefulSets as owners of pods: what is read of them, which of them are gangs, and the slots of their pods.
#include "dialect/owners/stateful_set/stateful_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using testing::World;

constexpr const char* kInQueue = "labels: {kueue.x-k8s.io/queue-name: team}";
constexpr const char* kParallel = "podManagementPolicy: Parallel, ";

// `head` goes into its metadata, `spec` into its spec, `marks` into the metadata of its template.
std::string set_yaml(const std::string& head, const std::string& spec, const std::string& marks = "") {
  return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, uid: db, " + head + "}\nspec: {" +
         spec + "template: {metadata: {" + marks +
         "}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}}\n---\n";
}

std::string pod_of_set(int ordinal, const std::string& marks = "") {
  const std::string name = "db-" + std::to_string(ordinal);
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  uid: " + name + "\n  " + marks +
         "\n  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: "
         "true}]\n"
         "spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n---\n";
}

Ask ask_for(const std::string& yaml) {
  return ask_of(testing::objects_of(yaml).at(0));
}

TEST(StatefulSets, SayTheirSizeFromBothFeeds) {
  const std::string yaml = set_yaml(kInQueue, "replicas: 3, ordinals: {start: 5}, ");
  for (const auto& object : {testing::objects_of(yaml).at(0), testing::objects_of_json(yaml).at(0)}) {
    EXPECT_EQ(std::get<StatefulSet>(object).start, 5);
    const Ask ask = ask_of(object);
    EXPECT_EQ(ask.size(), 3);
    EXPECT_EQ(ask.asked(), 3);
    EXPECT_EQ(ask.sets.at(0).pod->requests.get("cpu"), 1000);
    EXPECT_TRUE(ask.makes_pods);
    EXPECT_FALSE(ask.is_ready);
    EXPECT_FALSE(ask.kind->can_be_held());
    EXPECT_EQ(ask.kind->api_version(), "apps/v1");
  }
  EXPECT_EQ(ask_for(set_yaml("", "")).size(), 1) << "the default";
  EXPECT_FALSE(ask_for(set_yaml("", "replicas: 0, ")).makes_pods);
  const std::string gone = "deletionTimestamp: 2026-05-01T00:00:00Z";
  EXPECT_EQ(ask_for(set_yaml(gone, "replicas: 2, ")).over, "it is being deleted");
}

TEST(StatefulSets, AWrongFieldIsNamed) {
  JsonDecoder decoder;
  const auto read = decoder.decode(
      R"({"metadata":{"name":"db"},"spec":{"replicas":"3","template":{"spec":{"containers":[]}}}})",
      Kind::kStatefulSet);
  ASSERT_TRUE(read);
  EXPECT_THAT(std::string(problem_of(*read)), HasSubstr("spec.replicas"));
}

TEST(StatefulSets, AreGangsWhereAllPodsComeAtOnceAndTheyNameAQueue) {
  EXPECT_TRUE(ask_for(set_yaml(kInQueue, kParallel)).gang);
  EXPECT_TRUE(ask_for(set_yaml("labels: {berth.dev/gang: g}", kParallel)).gang);
  EXPECT_FALSE(ask_for(set_yaml(kInQueue, "")).gang) << "it makes one pod after the other";
  EXPECT_FALSE(ask_for(set_yaml("annotations: {x: y}", kParallel)).gang);
  EXPECT_FALSE(ask_for(set_yaml("annotations: {x: y}", kParallel, kInQueue)).gang)
      << "its pods name their queue themselves";
  const std::string led = std::string(kInQueue) +
                          ", ownerReferences: [{apiVersion: leaderworkerset.x-k8s.io/v1, kind: "
                          "LeaderWorkerSet, name: l, uid: l, controller: true}]";
  EXPECT_FALSE(ask_for(set_yaml(led, kParallel)).gang);
}

TEST(StatefulSets, APodHasTheSlotOfItsOrdinal) {
  const Ask ask = ask_for(set_yaml(kInQueue, "replicas: 3, ordinals: {start: 2}, "));
  const auto index = [&](const std::string& name) {
    Pod pod;
    pod.meta.name = name;
    return ask.kind->place_of(ask, pod).index;
  };
  EXPECT_EQ(index("db-2"), 0);
  EXPECT_EQ(index("db-4"), 2);
  EXPECT_EQ(index("db-1"), std::nullopt) << "before the first";
  EXPECT_EQ(index("db-x"), std::nullopt);
  EXPECT_EQ(index("dbx-2"), std::nullopt);
}

TEST(StatefulSets, OnPaperTheLackingPodsAreMade) {
  const Ask ask = ask_for(set_yaml(kInQueue, "replicas: 3, "));
  Pod runs, failed;
  runs.meta.name = "db-1";
  failed.meta.name = "db-2";
  failed.phase = PodPhase::kFailed;
  const auto made = ask.kind->make_pods(ask, {&runs, &failed}, 10);
  EXPECT_EQ(made.missing, 2);
  ASSERT_EQ(made.pods.size(), 2U);
  EXPECT_EQ(made.pods[0].meta.name, "db-0");
  EXPECT_EQ(made.pods[1].meta.name, "db-2");
  EXPECT_EQ(made.pods[1].meta.controller->kind, "StatefulSet");
  EXPECT_THAT(ask.kind->make_pods(ask, {}, 2).pods, IsEmpty()) << "more than may be made";
  EXPECT_EQ(ask.kind->make_pods(ask, {}, 2).missing, 3);
  const Ask claims = ask_for(set_yaml("", "volumeClaimTemplates: [{metadata: {name: data}}], "));
  EXPECT_THAT(claims.sets.at(0).pod->unsupported, ::testing::IsEmpty());
  const MadePods mounted = claims.kind->make_pods(claims, {}, 10);
  ASSERT_FALSE(mounted.pods.empty());
  EXPECT_THAT(*mounted.pods.front().spec.claims,
              ElementsAre(ClaimUse{"data", "data-" + mounted.pods.front().meta.name, false}));
}

TEST(StatefulSets, AParallelOneStartsWholeOrNotAtAll) {
  World world;
  const std::string work = set_yaml(kInQueue, std::string(kParallel) + "replicas: 3, ") + pod_of_set(0) +
                           pod_of_set(1) + pod_of_set(2);
  world.apply(node_yaml("n0", 0) + queue_of_cpus(2) + work);
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_TRUE(world.intake.workload("db"));
  EXPECT_EQ(world.intake.workload("db")->pods, 3);
  EXPECT_EQ(world.intake.workload("db")->owner, nullptr) << "it cannot be held";
  EXPECT_EQ(world.intake.pod("db-2")->index, 2);
  world.apply(queue_of_cpus(3));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/db: db-0->n0 db-1->n0 db-2->n0"));
  const auto sketch = world.intake.sketch("db");
  ASSERT_TRUE(sketch);
  EXPECT_THAT(sketch->name, HasSubstr("statefulset-db-"));
  EXPECT_EQ(sketch->sets.at(0).count, 3);
  EXPECT_TRUE(world.engine.audit());
}

TEST(StatefulSets, AnOrderedOnePassesItsQueueToEachPod) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(1) + set_yaml(kInQueue, "replicas: 2, ") + pod_of_set(0) +
              pod_of_set(1));
  EXPECT_EQ(world.intake.workload("db-0")->queue, "cq");
  EXPECT_EQ(world.decide().size(), 1U) << "one has quota";
}

TEST(StatefulSets, TheirPodsWaitUntilTheyAreSeen) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + pod_of_set(0));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked("db-0")), HasSubstr("its StatefulSet db has not been seen yet"));
  const auto missing = world.intake.missing_owners();
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].kind->path().object(missing[0].ns, missing[0].name),
            "/apis/apps/v1/namespaces/default/statefulsets/db");
  world.apply(set_yaml(kInQueue, "replicas: 1, "));
  EXPECT_EQ(world.decide().size(), 1U);
  EXPECT_EQ(world.intake.workload("db-0")->queue, "cq");
}

TEST(StatefulSets, OfAChainTheTopmostCounts) {
  // No controller makes this chain; it stands for a Job of a JobSet.
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, labels: {kueue.x-k8s.io/queue-name: "
      "other}, "
      "ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]}\n"
      "spec: {parallelism: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "
      "'1'}}}]}}}\n"
      "---\n";
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p, ownerReferences: [{apiVersion: batch/v1, kind: "
      "Job, name: j, uid: j, controller: true}]}\n"
      "spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n---\n";
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + job + pod);
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_EQ(world.intake.missing_owners().size(), 1U);
  EXPECT_EQ(world.intake.missing_owners()[0].uid, "db");
  world.apply(set_yaml(kInQueue, std::string(kParallel) + "replicas: 1, "));
  EXPECT_EQ(world.intake.pod("p")->workload, "db");
  EXPECT_EQ(world.intake.workload("db")->queue, "cq");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/db: p->n0"));

  World late;
  late.apply(node_yaml("n0", 0) + queue_of_cpus(4) + pod);
  late.apply(job);
  EXPECT_THAT(to_text(*late.intake.blocked("p")), HasSubstr("its StatefulSet db has not been seen yet"));
  late.intake.release_orphans("db");
  late.drain();
  EXPECT_EQ(late.intake.pod("p")->workload, "j") << "there is none: its Job is the topmost";
}

TEST(StatefulSets, OneOfAnotherNamespaceIsNoOwner) {
  World world;
  std::string other = set_yaml("namespace: other, labels: {kueue.x-k8s.io/queue-name: team}",
                               std::string(kParallel) + "replicas: 1, ");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + other + pod_of_set(0));
  world.intake.release_orphans("db");
  world.drain();
  EXPECT_FALSE(world.intake.workload("db"));
  EXPECT_EQ(world.intake.pod("db-0")->workload, "db-0");
}

}  // namespace
}  // namespace berth::dialect
