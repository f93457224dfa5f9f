// Patching a pod cannot change its identity: its room stays charged as it was at the bind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

// Two queues of four GPUs, a and b, each with a LocalQueue of its name, and sixteen GPUs on one node.
std::string queues_yaml() {
  std::string out = node_yaml("n0", 16) +
                    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: gpu}\n---\n";
  for (const std::string name : {"a", "b"}) {
    out +=
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: " + name +
        "}\nspec:\n  namespaceSelector: {}\n  resourceGroups:\n  - coveredResources: [cpu, nvidia.com/gpu]\n"
        "    flavors:\n    - {name: gpu, resources: [{name: cpu, nominalQuota: 100}, {name: nvidia.com/gpu, "
        "nominalQuota: 4}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: " +
        name + "}\nspec: {clusterQueue: " + name + "}\n---\n";
  }
  return out;
}

std::int64_t gpus_of(const World& world, std::string_view queue) {
  for (const auto& view : world.engine.queues()) {
    if (view.name != queue) continue;
    for (const auto& quota : view.quotas) {
      if (quota.resource == "nvidia.com/gpu") return quota.usage / 1000;
    }
  }
  return -1;
}

constexpr const char* kInA = "  labels: {kueue.x-k8s.io/queue-name: a}\n";
constexpr const char* kBound = "  nodeName: n0\n";

struct Change {
  const char* what;
  std::string head;
};

TEST(IntakeIdentity, ABoundPodStaysChargedAsItWasBound) {
  const std::vector<Change> changes = {
      {"another queue", "  labels: {kueue.x-k8s.io/queue-name: b}\n"},
      {"no queue", "  labels: {}\n"},
      {"a queue that does not exist", "  labels: {kueue.x-k8s.io/queue-name: none}\n"},
      {"a stronger name of a queue", "  labels: {kueue.x-k8s.io/queue-name: a, berth.dev/queue: b}\n"},
      {"a gang in another queue",
       "  labels: {kueue.x-k8s.io/queue-name: b, berth.dev/gang: g, berth.dev/gang-size: '1'}\n"},
      {"a PodGroup that does not exist", "  labels: {scheduling.x-k8s.io/pod-group: g}\n"},
      {"an owner that is a node", std::string(kInA) +
                                      "  ownerReferences: [{apiVersion: v1, kind: Node, name: n0, uid: x, "
                                      "controller: true}]\n"},
      {"a thousandth of its device",
       std::string(kInA) + "  annotations: {berth.dev/gpu-milli: '1', berth.dev/devices: '3'}\n"},
      {"its topology", std::string(kInA) + "  annotations: {berth.dev/topology-required: rack}\n"},
  };
  for (const auto& change : changes) {
    World world;
    world.apply(queues_yaml());
    for (int i = 0; i < 4; ++i) world.apply(pod_yaml("p" + std::to_string(i), 1, kInA));
    EXPECT_EQ(world.started(world.decide()).size(), 4u);
    for (int i = 0; i < 4; ++i) world.apply(pod_yaml("p" + std::to_string(i), 1, kInA, kBound));
    world.apply(pod_yaml("next", 1, kInA));
    EXPECT_THAT(world.started(world.decide()), IsEmpty());
    for (int i = 0; i < 4; ++i) world.apply(pod_yaml("p" + std::to_string(i), 1, change.head, kBound));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << change.what;
    EXPECT_EQ(gpus_of(world, "a"), 4) << change.what;
    EXPECT_EQ(gpus_of(world, "b"), 0) << change.what;
    world.remove(Kind::kPod, "p0");
    EXPECT_THAT(world.started(world.decide()), ElementsAre("default/next: next->n0")) << change.what;
    EXPECT_TRUE(world.engine.audit());
  }
}

// After a restart, when owners and labels say something else by now.
TEST(IntakeIdentity, AfterARestartABoundPodStaysChargedAsItsBindSays) {
  const std::string charged = "  annotations: {berth.dev/charged-to: kueue.x-k8s.io/queue-name=a}\n";
  for (const std::string labels :
       {"", "  labels: {kueue.x-k8s.io/queue-name: ''}\n", "  labels: {kueue.x-k8s.io/queue-name: b}\n",
        "  labels: {berth.dev/gang: g, berth.dev/gang-size: '4'}\n"}) {
    World world;
    world.apply(queues_yaml());
    for (int i = 0; i < 4; ++i) world.apply(pod_yaml("p" + std::to_string(i), 1, labels + charged, kBound));
    world.apply(pod_yaml("next", 1, kInA));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << labels;
    EXPECT_EQ(gpus_of(world, "a"), 4) << labels;
    EXPECT_EQ(gpus_of(world, "b"), 0) << labels;
  }
}

TEST(IntakeIdentity, BeforeItIsBoundAPodIsNotChargedAsItSays) {
  World world;
  world.apply(
      queues_yaml() +
      pod_yaml("p", 1,
               std::string(kInA) + "  annotations: {berth.dev/charged-to: kueue.x-k8s.io/queue-name=b}\n"));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_EQ(gpus_of(world, "a"), 1);
  EXPECT_EQ(gpus_of(world, "b"), 0);
  EXPECT_EQ(world.intake.charged_to(world.intake.workloads()[0].uid), "kueue.x-k8s.io/queue-name=a");
}

// kubectl delete pod --cascade=orphan takes the owner off the Workload that Berth had made for the pod.
TEST(IntakeIdentity, AWorkloadOfBerthsOwnThatLostItsOwnerHoldsNothing) {
  for (const bool own : {false, true}) {
    World world;
    world.intake.set_check_mode(CheckMode::kLive);
    world.apply(
        queues_yaml() + "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: pod-p\n" +
        (own ? "  annotations: {berth.dev/workload: uid-p}\n" : "") +
        "spec:\n  queueName: a\n  podSets:\n  - name: main\n    count: 4\n    template: {spec: {containers: "
        "[{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n---\n");
    world.decide();
    EXPECT_EQ(gpus_of(world, "a"), own ? 0 : 4);
  }
}

TEST(IntakeIdentity, NoLieAboutItsCourseTakesAPodOutOfItsQueue) {
  for (const std::string lie :
       {"berth.dev/expected-duration: 99999999999h", "berth.dev/checkpoint-every: 99999999999h",
        "berth.dev/last-checkpoint: '9999-12-31T23:59:59Z'", "berth.dev/restart-overhead: 99999999h"}) {
    World world;
    world.apply(queues_yaml());
    for (int i = 0; i < 4; ++i) world.apply(pod_yaml("p" + std::to_string(i), 1, kInA, kBound));
    for (int i = 0; i < 4; ++i) {
      world.apply(
          pod_yaml("p" + std::to_string(i), 1, std::string(kInA) + "  annotations: {" + lie + "}\n", kBound));
    }
    world.apply(pod_yaml("next", 1, kInA));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << lie;
    EXPECT_EQ(gpus_of(world, "a"), 4) << lie;
  }
}

TEST(IntakeIdentity, InATenantsNamespaceWorkWithoutAQueueWaits) {
  for (const bool tenant : {false, true}) {
    World world;
    world.apply(queues_yaml() + "apiVersion: v1\nkind: Namespace\nmetadata: {name: default" +
                (tenant ? ", labels: {berth.dev/tenant: ''}" : "") + "}\n---\n");
    world.apply(pod_yaml("none", 1));
    world.apply(pod_yaml("empty", 1, "  labels: {kueue.x-k8s.io/queue-name: '', berth.dev/queue: ''}\n"));
    world.apply(pod_yaml("runs", 1, "", kBound));
    EXPECT_EQ(world.started(world.decide()).size(), tenant ? 0u : 2u);
    if (!tenant) continue;
    for (const auto& work : world.intake.workloads()) {
      if (work.name == "default/runs") continue;
      const Reason* why = world.intake.blocked(work.uid);
      ASSERT_NE(why, nullptr) << work.name;
      EXPECT_THAT(why->detail, HasSubstr("names no queue")) << work.name;
    }
  }
}

TEST(IntakeIdentity, ItsCostMayBeToldAnew) {
  World world;
  world.apply(queues_yaml() + pod_yaml("p", 1, kInA, kBound));
  for (auto& object : testing::objects_of(
           pod_yaml("p", 1,
                    "  labels: {kueue.x-k8s.io/queue-name: b}\n  annotations: {berth.dev/last-checkpoint: "
                    "'2026-05-01T12:00:00Z'}\n",
                    kBound))) {
    world.intake.upsert(std::move(object));
  }
  std::vector<Event> events;
  world.intake.drain(events);
  ASSERT_EQ(events.size(), 1u);
  const auto* upsert = std::get_if<WorkloadUpsert>(&events[0]);
  ASSERT_NE(upsert, nullptr);
  EXPECT_EQ(upsert->workload.queue, "a");
  EXPECT_EQ(upsert->workload.restart.last_checkpoint, 1'777'636'800'000);
}

std::string job_yaml(const std::string& queue) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: job-1, labels: {" +
         (queue.empty() ? "" : "kueue.x-k8s.io/queue-name: " + queue) +
         "}}\nspec:\n  parallelism: 4\n  completions: 4\n  template: {spec: {containers: [{name: main, "
         "resources: "
         "{requests: {cpu: '1'}, limits: {nvidia.com/gpu: '1'}}}]}}\n---\n";
}
std::string other_job_pod(int index, const std::string& spec = "", const std::string& ns = "default") {
  return pod_yaml("j-" + std::to_string(index), 1,
                  "  namespace: " + ns +
                      "\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: job-1, "
                      "controller: true}]\n",
                  spec);
}

TEST(IntakeIdentity, AJobKeepsItsQueueWhileItHasBoundPods) {
  World world;
  world.apply(queues_yaml() + job_yaml("a"));
  for (int i = 0; i < 4; ++i) world.apply(other_job_pod(i));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  for (int i = 0; i < 4; ++i) world.apply(other_job_pod(i, kBound));
  world.apply(pod_yaml("next", 1, kInA));
  for (const char* queue : {"", "b"}) {
    world.apply(job_yaml(queue));
    for (int i = 0; i < 4; ++i) world.apply(other_job_pod(i, kBound));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << queue;
    EXPECT_EQ(gpus_of(world, "a"), 4) << queue;
    EXPECT_EQ(gpus_of(world, "b"), 0) << queue;
  }
  // Its pods are gone: now it may move.
  for (int i = 0; i < 4; ++i) world.remove(Kind::kPod, "j-" + std::to_string(i));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/next: next->n0"));
  for (int i = 4; i < 8; ++i) world.apply(other_job_pod(i));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_EQ(gpus_of(world, "b"), 4);
}

TEST(IntakeIdentity, NoPodIsOfAJobOfAnotherNamespace) {
  World world;
  world.apply(queues_yaml() + job_yaml("a"));
  for (int i = 0; i < 3; ++i) world.apply(other_job_pod(i));
  world.apply(other_job_pod(3, "", "elsewhere"));
  EXPECT_THAT(world.started(world.decide()), IsEmpty()) << "three of four are there";
  EXPECT_NE(world.intake.pod("Pod/elsewhere/j-3")->workload, "job-1");
  world.apply(other_job_pod(3));
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
}

// After a restart the lists come in any order. Pods that run before their LocalQueue is known are charged once: not as a foreign
// pod too, which would be two GPUs of the node for each.
TEST(IntakeIdentity, BoundPodsThatAreSeenBeforeTheirLocalQueueAreChargedOnce) {
  for (const bool objects_first : {true, false}) {
    World world;
    std::vector<Object> objects;
    const auto add = [&](const std::string& yaml) {
      for (auto& object : testing::objects_of(yaml)) objects.push_back(std::move(object));
    };
    if (objects_first) add(queues_yaml());
    for (int i = 0; i < 3; ++i) {
      add(pod_yaml("g" + std::to_string(i), 1,
                   "  labels: {kueue.x-k8s.io/queue-name: a, berth.dev/gang: g, berth.dev/gang-size: '3'}\n",
                   kBound));
    }
    add(pod_yaml("p", 1, kInA, kBound));
    if (!objects_first) add(queues_yaml());
    for (auto& object : objects) world.intake.upsert(std::move(object));
    world.drain();
    EXPECT_THAT(world.refused, IsEmpty());
    EXPECT_EQ(gpus_of(world, "a"), 4);
    std::int64_t used = 0;
    for (const auto& device : world.engine.nodes().at(0).devices) used += device.used;
    EXPECT_EQ(used, 4000);
    world.remove(Kind::kPod, "p");
    EXPECT_EQ(gpus_of(world, "a"), 3);
    EXPECT_TRUE(world.engine.audit());
  }
}

// The owner is anyone's word; the mark of mirror pods is the API server's.
TEST(IntakeIdentity, AnOwnerOfKindNodeMakesNoMirrorPod) {
  World world;
  world.apply(queues_yaml());
  const std::string owner =
      "  ownerReferences: [{apiVersion: v1, kind: Node, name: n0, uid: x, controller: true}]\n";
  world.apply(pod_yaml("p", 1, kInA + owner, kBound));
  EXPECT_EQ(gpus_of(world, "a"), 1);
  world.apply(pod_yaml("m", 1, kInA + owner + "  annotations: {kubernetes.io/config.mirror: x}\n", kBound));
  EXPECT_EQ(gpus_of(world, "a"), 1);
}

TEST(IntakeIdentity, ATenantReachesAClusterQueueByItsLocalQueuesOnly) {
  const std::string space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {";
  const std::string pod = pod_yaml("p", 1, "  namespace: team\n  labels: {berth.dev/queue: a}\n");
  World world;
  world.apply(queues_yaml() + space + "berth.dev/tenant: ''}}\n---\n" + pod);
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked("Pod/team/p")), HasSubstr("it can use LocalQueues only"));
  world.apply(space + "}}\n---\n");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("team/p: p->n0"));
  // With a LocalQueue of that name it names that.
  world.apply(space + "berth.dev/tenant: ''}}\n---\n");
  world.apply(pod_yaml("q", 1, "  namespace: team\n  labels: {berth.dev/queue: a}\n"));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: a, namespace: team}\n"
      "spec: {clusterQueue: a}\n");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("team/q: q->n0"));
}

}  // namespace
}  // namespace berth::dialect
