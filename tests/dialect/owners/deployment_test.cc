// Deployments and ReplicaSets as owners of pods. The queue of a Deployment is that of its pods, which start one by one or as a gang.
#include "dialect/owners/deployment/deployment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using testing::World;

std::string replicas_yaml(const std::string& kind, const std::string& name, int replicas,
                          const std::string& head) {
  return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", uid: " + name + ", " +
         head + "}\nspec: {replicas: " + std::to_string(replicas) +
         ", template: {spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}}\n---\n";
}

std::string owned(const std::string& kind, const std::string& name) {
  return "ownerReferences: [{apiVersion: apps/v1, kind: " + kind + ", name: " + name + ", uid: " + name +
         ", controller: true}]";
}

std::string replica(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name + ", " +
         owned("ReplicaSet", "web-1") +
         "}\nspec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n---\n";
}

const std::string kQueued = "labels: {kueue.x-k8s.io/queue-name: team}";

TEST(Deployments, SayTheirSizeFromBothFeeds) {
  const std::string yaml = replicas_yaml("Deployment", "web", 3, kQueued);
  for (const auto& object : {testing::objects_of(yaml).at(0), testing::objects_of_json(yaml).at(0)}) {
    const Ask ask = ask_of(object);
    EXPECT_EQ(ask.size(), 3);
    EXPECT_EQ(ask.sets.at(0).pod->requests.get("cpu"), 1000);
    EXPECT_FALSE(ask.gang) << "a queue alone makes no gang";
    EXPECT_FALSE(ask.kind->can_be_held());
    EXPECT_EQ(ask.kind->api_version(), "apps/v1");
  }
}

// The label stands on the Deployment alone.
TEST(Deployments, TheirPodsAreWorkOfTheirQueueOneByOne) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(2) + replica("a") + replica("b") + replica("c"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "their owners have not been seen";
  world.apply(replicas_yaml("ReplicaSet", "web-1", 3, owned("Deployment", "web")));
  EXPECT_THAT(world.decide(), IsEmpty()) << "nor has the Deployment";
  world.apply(replicas_yaml("Deployment", "web", 3, kQueued));
  EXPECT_THAT(world.decide(), SizeIs(2)) << "as far as the quota goes";
  EXPECT_EQ(world.intake.workload("a")->queue, "cq");
  EXPECT_TRUE(world.engine.audit());
}

TEST(Deployments, AreAGangByTheirMark) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(3) +
              replicas_yaml("Deployment", "web", 3, "annotations: {berth.dev/gang: web}, " + kQueued) +
              replicas_yaml("ReplicaSet", "web-1", 3, owned("Deployment", "web")) + replica("a") +
              replica("b"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "two of three are there";
  world.apply(replica("c"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "web");
  EXPECT_THAT(started[0].slots, SizeIs(3));
}

// Its status follows each of its pods, and all of them depend on it.
TEST(ReplicaSets, SayTheSameWhateverIsReady) {
  const auto asked = [](int replicas, const std::string& head, const std::string& status) {
    std::string yaml = replicas_yaml("ReplicaSet", "web-1", replicas, head);
    yaml.insert(yaml.size() - 4, status);
    return ask_of(testing::objects_of(yaml).at(0));
  };
  const Ask before = asked(3, kQueued, "");
  const Ask ready = asked(3, kQueued, "status: {replicas: 3, readyReplicas: 3}\n");
  EXPECT_EQ(ready.ready, 3);
  EXPECT_TRUE(ready.says_as(before));
  EXPECT_FALSE(asked(4, kQueued, "").says_as(before));
  EXPECT_FALSE(asked(3, "labels: {kueue.x-k8s.io/queue-name: other}", "").says_as(before));
  EXPECT_FALSE(asked(0, kQueued, "").says_as(before)) << "its template counts no more";
}

TEST(ReplicaSets, MoveTheirPodsToAnotherQueueBesideTheirStatus) {
  World world;
  const auto set = [](const std::string& queue, const std::string& status) {
    std::string yaml =
        replicas_yaml("ReplicaSet", "web-1", 3, "labels: {kueue.x-k8s.io/queue-name: " + queue + "}");
    yaml.insert(yaml.size() - 4, status);
    return yaml;
  };
  world.apply(node_yaml("n0", 0) + queue_of_cpus(1) + set("nowhere", "") + replica("a") + replica("b"));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(set("team", "status: {replicas: 2}\n"));
  EXPECT_THAT(world.decide(), SizeIs(1)) << "as far as the quota goes";
  world.apply(set("team", "status: {replicas: 2, readyReplicas: 1}\n"));
  EXPECT_EQ(world.intake.workload("b")->queue, "cq");
  EXPECT_THAT(world.decide(2000), IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(ReplicaSets, OfFormerVersionsCostNoTemplate) {
  const Ask ask =
      ask_of(testing::objects_of(replicas_yaml("ReplicaSet", "old", 0, owned("Deployment", "web"))).at(0));
  EXPECT_TRUE(ask.sets.at(0).pod->requests.empty());
  EXPECT_FALSE(ask.makes_pods);
}

}  // namespace
}  // namespace berth::dialect
