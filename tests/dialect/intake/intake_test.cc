// The intake: objects in any order, and the engine behind it knows the right workloads, slots and rooms.
#include "dialect/intake/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "dialect/base/names.h"
#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::objects_of;
using testing::pod_yaml;
using testing::World;

std::string group_yaml(const std::string& name, int size) {
  return "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
         "}\nspec: {minMember: " + std::to_string(size) + "}\n---\n";
}
std::string member_yaml(const std::string& group, int index, const std::string& spec = "", int gpus = 1) {
  return pod_yaml(group + "-" + std::to_string(index), gpus,
                  "  labels: {scheduling.x-k8s.io/pod-group: " + group + "}\n", spec);
}
std::string queue_yaml(const std::string& name, int gpus) {
  return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: " + name +
         "}\nspec:\n  namespaceSelector: {}\n  resourceGroups:\n  - coveredResources: [cpu, "
         "nvidia.com/gpu]\n    flavors:\n"
         "    - {name: gpu, resources: [{name: cpu, nominalQuota: 100}, {name: nvidia.com/gpu, "
         "nominalQuota: " +
         std::to_string(gpus) +
         "}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: " + name +
         "}\nspec: {clusterQueue: " + name + "}\n---\n";
}
constexpr const char* kFlavor =
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: gpu}\n---\n";

// One text per object, so that they can come in any order.
std::vector<std::string> gang_in_queue() {
  std::vector<std::string> out = {node_yaml("n0", 4), group_yaml("train", 4), queue_yaml("team", 4), kFlavor};
  for (int i = 0; i < 4; ++i) {
    out.push_back(
        pod_yaml("train-" + std::to_string(i), 1,
                 "  labels: {scheduling.x-k8s.io/pod-group: train, kueue.x-k8s.io/queue-name: team}\n"));
  }
  return out;
}

TEST(Intake, AnyOrderOfObjectsGivesTheSameStart) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    auto texts = gang_in_queue();
    random.shuffle(texts);
    World world;
    for (const auto& text : texts) {
      world.apply(text);
      if (text == texts.back()) break;
      EXPECT_THAT(world.started(world.decide(round)), IsEmpty());
    }
    const auto decisions = world.decide(1000);
    ASSERT_EQ(world.started(decisions).size(), 1u);
    EXPECT_EQ(decisions[0].slots.size(), 4u);
    EXPECT_THAT(world.refused, IsEmpty());
    const auto audit = world.engine.audit();
    EXPECT_TRUE(audit) << audit.error().message;
  }
}

TEST(Intake, SlotsAndPodsFindEachOther) {
  World world;
  world.apply(group_yaml("g", 3) + member_yaml("g", 0) + member_yaml("g", 1, "  nodeSelector: {a: b}\n") +
              member_yaml("g", 2));
  const auto uid = std::string(world.intake.pod("Pod/default/g-1")->workload);
  EXPECT_EQ(uid, "PodGroup/default/g");
  for (const char* name : {"g-0", "g-1", "g-2"}) {
    const auto view = world.intake.pod("Pod/default/" + std::string(name));
    ASSERT_TRUE(view);
    const auto back = world.intake.pod_at(uid, view->pod_set, view->index);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->name, name);
  }
  EXPECT_EQ(world.intake.pod("Pod/default/g-1")->pod_set, 1);  // another template: another role
  EXPECT_EQ(world.intake.pods_of(uid).size(), 3u);
  EXPECT_FALSE(world.intake.pod_at(uid, 0, 7));
  EXPECT_FALSE(world.intake.pod_at(uid, 5, 0));
  EXPECT_FALSE(world.intake.pod_at("nobody", 0, 0));
  EXPECT_FALSE(world.intake.pod("nobody"));
}

TEST(Intake, BoundPodsAreAdopted) {
  World world;
  std::string text = node_yaml("n0", 4) + group_yaml("g", 4);
  for (int i = 0; i < 3; ++i) text += member_yaml("g", i, "  nodeName: n0\n");
  text += member_yaml("g", 3);
  world.apply(text);
  const auto decisions = world.decide();
  ASSERT_EQ(decisions.size(), 1u);  // the gang is completed
  EXPECT_THAT(world.started(decisions), ElementsAre("default/g: g-3->n0"));
}

TEST(Intake, TheDevicesOfABoundPodAreTold) {
  const auto share = [](const std::string& name, const std::string& devices) {
    return pod_yaml(name, 0,
                    "  annotations: {berth.dev/gpu-milli: '300', berth.dev/devices: '" + devices + "'}\n",
                    "  nodeName: n0\n");
  };
  World world;
  world.apply(node_yaml("n0", 4) + share("a", "2") + share("b", "2") + share("c", "3,") +
              share("d", "first"));
  EXPECT_THAT(world.intake.pod("Pod/default/a")->devices, ElementsAre(2));
  EXPECT_THAT(world.intake.pod("Pod/default/d")->devices, IsEmpty());
  const auto nodes = world.engine.nodes();
  std::vector<std::int64_t> used;
  for (const auto& device : nodes.at(0).devices) used.push_back(device.used);
  EXPECT_THAT(used, ElementsAre(0, 0, 900, 300));  // d is put where it fits best
}

TEST(Intake, PodsBeforeTheirNode) {
  World world;
  world.apply(pod_yaml("a", 2, "", "  nodeName: n0\n") + pod_yaml("b", 1));
  world.apply(node_yaml("n0", 2));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());  // both GPUs are taken
  world.remove(Kind::kPod, "a");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/b: b->n0"));
}

TEST(Intake, HeartbeatsAndStatusChangesMakeNoEvents) {
  World world;
  const std::string text = node_yaml("n0", 4) + group_yaml("g", 2) + member_yaml("g", 0) +
                           member_yaml("g", 1) + queue_yaml("q", 4);
  world.apply(text);
  for (auto& object : objects_of(text)) world.intake.upsert(std::move(object));
  std::vector<Event> events;
  world.intake.drain(events);
  EXPECT_EQ(events.size(), 0u);
}

TEST(Intake, ALifeOfAPod) {
  World world;
  const auto events_of = [&](const std::string& yaml) {
    for (auto& object : objects_of(yaml)) world.intake.upsert(std::move(object));
    std::vector<Event> events;
    world.intake.drain(events);
    std::vector<std::string> out;
    for (const auto& event : events) {
      if (const auto* slot = std::get_if<SlotUpdate>(&event)) {
        out.push_back(std::string(enum_name(slot->state)) + (slot->node.empty() ? "" : " " + slot->node));
      } else {
        out.push_back(
            std::visit([](const auto& e) { return std::string(std::decay_t<decltype(e)>::kName); }, event));
      }
    }
    return out;
  };
  EXPECT_THAT(events_of(pod_yaml("p", 1)), ElementsAre("workload", "waiting"));
  EXPECT_THAT(events_of(pod_yaml("p", 1, "", "  nodeName: n0\n")), ElementsAre("running n0"));
  EXPECT_THAT(
      events_of(pod_yaml("p", 1, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n", "  nodeName: n0\n")),
      ElementsAre("releasing n0"));
  world.intake.remove(Kind::kPod, "default", "p", "another-uid");  // not this one
  EXPECT_EQ(world.intake.pod_count(), 1u);
  world.intake.remove(Kind::kPod, "default", "p");
  EXPECT_THAT(events_of(""), ElementsAre("workload-remove"));
  EXPECT_EQ(world.intake.pod_count(), 0u);
  // Deleted before it was bound: gone at once. Seen ending for the first time: it still takes its room.
  EXPECT_THAT(events_of(pod_yaml("q", 1)), ElementsAre("workload", "waiting"));
  EXPECT_THAT(events_of(pod_yaml("q", 1, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n")),
              ElementsAre("workload-remove"));
  EXPECT_THAT(
      events_of(pod_yaml("r", 1, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n", "  nodeName: n0\n")),
      ElementsAre("workload", "running n0", "releasing n0"));
}

TEST(Intake, APodOfTheSameNameButAnotherUidIsAnotherPod) {
  World world;
  world.apply(node_yaml("n0", 1) + pod_yaml("p", 1, "  uid: one\n", "  nodeName: n0\n"));
  world.apply(pod_yaml("p", 1, "  uid: two\n"));
  EXPECT_FALSE(world.intake.pod("one"));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/p: p->n0"));
  world.intake.remove(Kind::kPod, "default", "p", "one");  // a late delete of the former
  EXPECT_TRUE(world.intake.pod("two"));
}

TEST(Intake, OtherSchedulersPodsOnlyTakeRoom) {
  IntakeConfig config;
  config.scheduler_names = {"berth"};
  World world(std::move(config));
  world.apply(node_yaml("n0", 2) + pod_yaml("other", 1, "", "  nodeName: n0\n") +
              pod_yaml("waits-elsewhere", 1) +
              pod_yaml("ours", 2, "", "  schedulerName: berth\n  priority: 100\n"));
  EXPECT_FALSE(world.intake.pod("Pod/default/other"));
  EXPECT_FALSE(world.intake.pod("Pod/default/waits-elsewhere"));
  EXPECT_THAT(world.decide(), IsEmpty());  // it is not ours to end
  world.remove(Kind::kPod, "other");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/ours: ours->n0"));
}

TEST(Intake, ANodeThatAnotherSchedulerNominatesIsSpokenFor) {
  IntakeConfig config;
  config.scheduler_names = {"berth"};
  World world(std::move(config));
  const auto other = [](const std::string& status) {
    std::string text = pod_yaml("other", 1);
    return text.insert(text.rfind("---"), "status: {" + status + "}\n");
  };
  world.apply(node_yaml("n0", 2) + other("phase: Pending, nominatedNodeName: n0") +
              pod_yaml("ours", 2, "", "  schedulerName: berth\n  priority: 100\n"));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(other("phase: Pending"));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/ours: ours->n0"));
}

TEST(Intake, JobPodsWaitForTheirJob) {
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: job-1, labels: {kueue.x-k8s.io/queue-name: "
      "team}}\n"
      "spec:\n  parallelism: 2\n  completions: 2\n  template: {spec: {containers: []}}\n---\n";
  const auto job_pod = [](int index) {
    return pod_yaml("j-" + std::to_string(index), 1,
                    "  annotations: {batch.kubernetes.io/job-completion-index: '" + std::to_string(index) +
                        "'}\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: job-1, "
                        "controller: true}]\n");
  };
  World world;
  world.apply(node_yaml("n0", 4) + kFlavor + queue_yaml("team", 4) + job_pod(1) + job_pod(0));
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_NE(world.intake.blocked("Pod/default/j-0"), nullptr);
  EXPECT_THAT(to_text(*world.intake.blocked("Pod/default/j-0")),
              HasSubstr("its Job j has not been seen yet"));
  world.apply(job);
  EXPECT_EQ(world.intake.pod("Pod/default/j-0")->workload, "job-1");
  EXPECT_EQ(world.intake.pod("Pod/default/j-0")->index, 0);  // by completion index, not by arrival
  EXPECT_EQ(world.intake.pod("Pod/default/j-1")->index, 1);
  EXPECT_TRUE(world.intake.pod("Pod/default/j-1")->recreated);
  const auto decisions = world.decide();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].slots.size(), 2u);

  EXPECT_THAT(world.intake.missing_owners(), IsEmpty());

  // There is no such Job: its pods are pods of their own, once that is known.
  World lonely;
  lonely.apply(node_yaml("n0", 4) + job_pod(0));
  lonely.drain();
  EXPECT_THAT(lonely.decide(), IsEmpty());
  const auto missing = lonely.intake.missing_owners();
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].ns, "default");
  EXPECT_EQ(missing[0].name, "j");
  EXPECT_EQ(missing[0].uid, "job-1");
  lonely.intake.release_orphans("another");
  lonely.drain();
  EXPECT_THAT(lonely.decide(), IsEmpty());
  lonely.intake.release_orphans("job-1");
  lonely.drain();
  EXPECT_THAT(lonely.intake.missing_owners(), IsEmpty());
  EXPECT_THAT(lonely.started(lonely.decide()), ElementsAre("default/j-0: j-0->n0"));
}

Pod read_pod(const std::string& yaml) {
  return std::get<Pod>(objects_of(yaml).at(0));
}

TEST(Intake, APodThatCannotBeReadWaitsAndSaysWhichField) {
  World world;
  world.apply(node_yaml("n0", 4));
  Pod pod = read_pod(pod_yaml("p", 1));
  pod.problem = "spec.containers[0].resources.requests.cpu: quantity '9E' is too large";
  world.intake.upsert(pod);
  world.drain();
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_NE(world.intake.blocked("Pod/default/p"), nullptr);
  EXPECT_EQ(world.intake.blocked("Pod/default/p")->code, ReasonCode::kInvalid);
  EXPECT_EQ(world.intake.blocked("Pod/default/p")->detail, pod.problem);
  ASSERT_EQ(world.intake.unreadable().size(), 1u);
  EXPECT_EQ(world.intake.unreadable().begin()->second, pod.problem);
  pod.problem.clear();  // it was changed
  world.intake.upsert(pod);
  world.drain();
  EXPECT_THAT(world.intake.unreadable(), IsEmpty());
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/p: p->n0"));
}

TEST(Intake, AGangWaitsForItsMemberThatCannotBeRead) {
  World world;
  world.apply(node_yaml("n0", 4) + group_yaml("g", 2) + member_yaml("g", 0));
  Pod bad = read_pod(member_yaml("g", 1));
  bad.problem = "spec.x: is wrong";
  world.intake.upsert(bad);
  world.drain();
  EXPECT_THAT(world.decide(), IsEmpty());
  ASSERT_NE(world.intake.blocked("PodGroup/default/g"), nullptr);
  EXPECT_EQ(world.intake.blocked("PodGroup/default/g")->detail, "pod g-1: spec.x: is wrong");
  world.remove(Kind::kPod, "g-1");
  EXPECT_THAT(world.intake.unreadable(), IsEmpty());
  world.apply(member_yaml("g", 2));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-0->n0 g-2->n0"));
}

TEST(Intake, AWrongFieldDoesNotFreeTheRoomOfARunningPod) {
  World world;
  world.apply(node_yaml("n0", 2) + pod_yaml("old", 2, "", "  nodeName: n0\n"));
  Pod broken = read_pod(pod_yaml("old", 0, "", "  nodeName: n0\n"));
  broken.problem = "spec.containers[0].resources.requests.nvidia.com/gpu: is wrong";
  world.intake.upsert(broken);
  world.drain();
  EXPECT_EQ(world.intake.unreadable().size(), 1u);
  world.apply(pod_yaml("new", 1));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.remove(Kind::kPod, "old");
  EXPECT_THAT(world.intake.unreadable(), IsEmpty());
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/new: new->n0"));
}

TEST(Intake, WorkThatWaitsForAnUnreadableObjectSaysSo) {
  World world;
  world.apply(node_yaml("n0", 4) + member_yaml("g", 0));
  world.intake.unreadable(Kind::kPodGroup, "default", "g", "spec.minMember: is wrong");
  world.drain();
  EXPECT_THAT(to_text(*world.intake.blocked("PodGroup/default/g")),
              HasSubstr("PodGroup default/g cannot be read: spec.minMember: is wrong"));
  world.apply(group_yaml("g", 1));
  EXPECT_THAT(world.intake.unreadable(), IsEmpty());
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-0->n0"));

  world.apply(pod_yaml(
      "j-0", 1,
      "  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u, controller: true}]\n"));
  world.intake.unreadable(Kind::kJob, "default", "j", "spec.parallelism: is wrong");
  world.drain();
  EXPECT_THAT(to_text(*world.intake.blocked("Pod/default/j-0")),
              HasSubstr("its Job j cannot be read: spec.parallelism"));
  world.remove(Kind::kJob, "j");
  EXPECT_THAT(to_text(*world.intake.blocked("Pod/default/j-0")),
              HasSubstr("its Job j has not been seen yet"));
}

TEST(Intake, AReplacementTakesTheFreeSlot) {
  World world;
  std::string text = node_yaml("n0", 4) + group_yaml("g", 3);
  for (int i = 0; i < 3; ++i) text += member_yaml("g", i, "  nodeName: n0\n");
  world.apply(text);
  world.remove(Kind::kPod, "g-1");
  world.apply(member_yaml("g", 7));
  EXPECT_EQ(world.intake.pod("Pod/default/g-7")->index, 1);
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/g: g-7->n0"));
}

TEST(Intake, MoreMembersThanNeededAreElastic) {
  World world;
  world.apply(node_yaml("n0", 3) + group_yaml("g", 2) + member_yaml("g", 0) + member_yaml("g", 1) +
              member_yaml("g", 2) + member_yaml("g", 3));
  const auto decisions = world.decide();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].slots.size(), 3u);
}

// Room that is taken is charged, whatever is wrong with the queue of the pod that takes it.
TEST(Intake, RunningPodsInBrokenQueuesStillTakeRoom) {
  World world;
  world.apply(node_yaml("n0", 2) +
              pod_yaml("old", 2, "  labels: {kueue.x-k8s.io/queue-name: gone}\n", "  nodeName: n0\n") +
              pod_yaml("new", 1));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kPod, "old");
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/new: new->n0"));
  const auto audit = world.engine.audit();
  EXPECT_TRUE(audit) << audit.error().message;
}

TEST(Intake, RetryMakesTheSlotWaitAgain) {
  World world;
  world.apply(node_yaml("n0", 1) + pod_yaml("p", 1));
  ASSERT_EQ(world.decide().size(), 1u);
  EXPECT_THAT(world.decide(), IsEmpty());
  world.intake.retry("Pod/default/p");
  world.drain();
  EXPECT_EQ(world.decide().size(), 1u);
}

TEST(Intake, PriorityClassesArriveLate) {
  World world;
  world.apply(node_yaml("n0", 1) + pod_yaml("low", 1, "", "  nodeName: n0\n") +
              pod_yaml("high", 1, "", "  priorityClassName: high\n"));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n");
  const auto decisions = world.decide();
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].kind, DecisionKind::kEvict);
}

TEST(Intake, QueueChangesFollow) {
  World world;
  world.apply(node_yaml("n0", 8) + kFlavor + queue_yaml("a", 1) + queue_yaml("b", 8) +
              pod_yaml("p", 2, "  labels: {kueue.x-k8s.io/queue-name: a}\n"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_EQ(world.intake.workload("Pod/default/p")->queue, "a");
  world.apply(
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: a}\nspec: {clusterQueue: b}\n");
  EXPECT_EQ(world.intake.workload("Pod/default/p")->queue, "b");
  EXPECT_EQ(world.decide().size(), 1u);
  EXPECT_THAT(world.refused, IsEmpty());
}

// Random lives of pods, gangs and queues: the engine never refuses an event it should take, its accounts stay right, and slots and
// pods agree.
TEST(Intake, RandomHistoriesKeepTheBooksRight) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    World world;
    const auto pick = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
    for (int step = 0; step < 120; ++step) {
      const int id = pick(6);
      const std::string gang = "g" + std::to_string(pick(3));
      const std::string head = "  labels: {scheduling.x-k8s.io/pod-group: " + gang +
                               (pick(3) == 0 ? ", kueue.x-k8s.io/queue-name: q" : "") + "}\n";
      const std::string bound = pick(3) == 0 ? "  nodeName: n" + std::to_string(pick(3)) + "\n" : "";
      switch (pick(10)) {
        case 0:
          world.apply(node_yaml("n" + std::to_string(pick(3)), pick(9)));
          break;
        case 1:
          world.remove(Kind::kNode, "n" + std::to_string(pick(3)));
          break;
        case 2:
          world.apply(group_yaml(gang, 1 + pick(4)));
          break;
        case 3:
          world.remove(Kind::kPodGroup, gang);
          break;
        case 4:
          world.apply(kFlavor + queue_yaml("q", pick(9)));
          break;
        case 5:
          world.remove(pick(2) == 0 ? Kind::kClusterQueue : Kind::kLocalQueue, "q");
          break;
        case 6:
          world.remove(Kind::kPod, gang + "-" + std::to_string(id));
          break;
        case 7:
          world.apply(pod_yaml("single-" + std::to_string(id), pick(3), "", bound));
          break;
        case 8:
          world.apply(pod_yaml(gang + "-" + std::to_string(id), 1 + pick(2),
                               head + "  deletionTimestamp: '2026-01-01T00:00:00Z'\n", bound));
          break;
        default:
          world.apply(pod_yaml(gang + "-" + std::to_string(id), 1 + pick(2), head, bound));
          break;
      }
      if (pick(4) == 0) (void)world.decide(step * 1000);
      const auto audit = world.engine.audit();
      ASSERT_TRUE(audit) << "seed " << seed << " step " << step << ": " << audit.error().message;
      for (const auto& info : world.intake.workloads()) {
        for (const auto& view : world.intake.pods_of(info.uid)) {
          ASSERT_EQ(world.intake.pod_at(info.uid, view.pod_set, view.index)->uid, view.uid);
          if (view.state != SlotState::kRunning || world.intake.blocked(info.uid) != nullptr) continue;
          const auto slot = world.engine.slot(info.uid, view.pod_set, view.index);
          ASSERT_TRUE(slot) << "seed " << seed << " step " << step << ": " << slot.error().message;
        }
      }
    }
    for (const auto& message : world.refused) {
      // A running pod in a queue that is missing or does not cover it is charged as a foreign pod instead.
      EXPECT_THAT(message, HasSubstr("nothing says how to charge it")) << "seed " << seed;
    }
  }
}

// Two slots of three run on, one was reclaimed; the other workload waits.
constexpr const char* kWorkloads = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: old, namespace: default, uid: old}
spec:
  queueName: team
  priority: 7
  podSets:
  - name: main
    count: 3
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1", nvidia.com/gpu: "1"}}}]}}
status:
  admission:
    clusterQueue: team
    podSetAssignments: [{name: main, count: 3, flavors: {cpu: gpu, nvidia.com/gpu: gpu}}]
  reclaimablePods: [{name: main, count: 1}]
  conditions: [{type: QuotaReserved, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata: {name: new, namespace: default, uid: new}
spec:
  queueName: team
  podSets:
  - name: main
    count: 2
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1", nvidia.com/gpu: "1"}}}]}}
)";

TEST(Intake, WithoutNodesKueueWorkloadsAreWork) {
  World world({.quota_only = true});
  world.apply(kFlavor);
  world.apply(queue_yaml("team", 4));
  world.apply(kWorkloads);
  EXPECT_THAT(world.refused, IsEmpty());
  const auto decisions = world.decide();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].workload, "new");
  ASSERT_EQ(decisions[0].slots.size(), 2u);
  EXPECT_EQ(decisions[0].slots[0].node, "");
  EXPECT_EQ(world.engine.verdict("new")->kind, VerdictKind::kQuotaOnly);
  for (const auto& queue : world.engine.queues()) {
    if (queue.name != "team") continue;
    for (const auto& q : queue.quotas) {
      if (q.resource == "nvidia.com/gpu") {
        EXPECT_EQ(q.usage, 4000);
      }
    }
  }
  EXPECT_TRUE(world.engine.audit());
  world.remove(Kind::kWorkload, "old");
  EXPECT_TRUE(world.engine.audit());
  EXPECT_FALSE(world.engine.verdict("old"));
}

TEST(Intake, WithNodesKueueWorkloadsAreLeftToTheirPods) {
  World world;
  world.apply(kFlavor);
  world.apply(queue_yaml("team", 4));
  world.apply(kWorkloads);
  EXPECT_THAT(world.intake.workloads(), IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
