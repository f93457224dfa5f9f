// Volume claims in the intake: pods and templates are kept to the nodes of their volumes, or wait, whichever object comes first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

constexpr char kMounts[] = "  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n";

std::string volume_in(const std::string& zone, const std::string& name = "pv") {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}}}\nspec: {{nodeAffinity: "
      "{{required: "
      "{{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, values: [{}]}}]}}]}}}}}}\n---\n",
      name, zone);
}

std::string claim(const std::string& name = "data", const std::string& volume = "pv") {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}}}\nspec: {{volumeName: {}}}\n"
      "status: {{phase: Bound}}\n---\n",
      name, volume);
}

std::string zones(int gpus = 8) {
  return node_yaml("n0", gpus, "    zone: a\n") + node_yaml("n1", gpus, "    zone: b\n");
}

std::string why(const World& world, const std::string& workload) {
  const Reason* blocked = world.intake.blocked(workload);
  return blocked == nullptr ? std::string() : to_text(*blocked);
}

TEST(IntakeClaims, APodGoesWhereItsVolumeIsWhicheverComesFirst) {
  const std::vector<std::string> parts{volume_in("b"), claim(), pod_yaml("p", 1, "", kMounts)};
  std::vector<std::size_t> order{0, 1, 2};
  do {
    World world;
    world.apply(zones());
    for (const auto part : order) world.apply(parts[part]);
    EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1"))) << order[0] << order[1];
    EXPECT_THAT(world.refused, IsEmpty());
    EXPECT_TRUE(world.engine.audit());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(IntakeClaims, APodWaitsForItsClaimAndSaysSo) {
  World world;
  world.apply(zones() + pod_yaml("p", 1, "", kMounts) + pod_yaml("q", 1));
  EXPECT_EQ(world.started(world.decide()).size(), 1u) << "a pod without claims does not wait";
  ASSERT_NE(world.intake.blocked("Pod/default/p"), nullptr);
  EXPECT_EQ(world.intake.blocked("Pod/default/p")->code, ReasonCode::kClaim);
  EXPECT_THAT(why(world, "Pod/default/p"), HasSubstr("claim data does not exist in namespace default"));
  world.apply(volume_in("a") + claim());
  EXPECT_EQ(world.intake.blocked("Pod/default/p"), nullptr);
  world.remove(Kind::kPersistentVolumeClaim, "data");
  EXPECT_THAT(why(world, "Pod/default/p"), HasSubstr("does not exist"));
  world.apply(claim());
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n0")));
  EXPECT_TRUE(world.engine.audit());
}

TEST(IntakeClaims, NodesThatAVolumeExcludesAreNamed) {
  World world;
  world.apply(zones() + volume_in("c") + claim() + pod_yaml("p", 1, "", kMounts));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_THAT(to_text(world.engine.explain("Pod/default/p")->reason),
              HasSubstr("2 nodes are ruled out by claim data (only on nodes with zone c)"));
  world.apply(volume_in("b"));  // the node affinity of a volume may change
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1")));
}

constexpr char kOfGang[] = "  labels: {berth.dev/gang: g, berth.dev/gang-size: '2'}\n";

TEST(IntakeClaims, AGangWithOneDataSetStaysOneRole) {
  World world;
  world.apply(zones(2) + pod_yaml("p0", 1, kOfGang, kMounts) + pod_yaml("p1", 1, kOfGang, kMounts));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(volume_in("b") + claim());
  ASSERT_EQ(world.told.size(), 1u);
  EXPECT_EQ(pod_sets_of(world.told.begin()->second.root).size(), 1u);
  const auto started = world.started(world.decide());
  EXPECT_THAT(started, ElementsAre(::testing::AllOf(HasSubstr("n1"), ::testing::Not(HasSubstr("n0")))));
  EXPECT_TRUE(world.engine.audit());
}

// Claims of single pods fall apart into roles by their nodes, not by their names.
TEST(IntakeClaims, AGangWithAVolumePerPodGoesToThoseNodesTogether) {
  const auto member = [](int i) {
    return pod_yaml(
        fmt::format("p{}", i), 1, kOfGang,
        fmt::format("  volumes: [{{name: v, persistentVolumeClaim: {{claimName: v-p{}}}}}]\n", i));
  };
  for (const bool first : {false, true}) {
    World world;
    const std::string claims = claim("v-p0", "pv0") + claim("v-p1", "pv1");
    const std::string pods = member(0) + member(1);
    world.apply(zones(2) + volume_in("a", "pv0") + volume_in("b", "pv1") +
                (first ? claims + pods : pods + claims));
    const auto started = world.started(world.decide());
    EXPECT_THAT(started, ElementsAre(::testing::AllOf(HasSubstr("n0"), HasSubstr("n1")))) << first;
    EXPECT_TRUE(world.engine.audit());
  }
}

TEST(IntakeClaims, AClaimThatEndsUnderARunningPodMovesNothing) {
  World world;
  world.apply(zones() + volume_in("a") + claim() +
              pod_yaml("p", 1, "", std::string("  nodeName: n0\n") + kMounts) + pod_yaml("late", 8));
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1"))) << "its room is taken";
  world.remove(Kind::kPersistentVolumeClaim, "data");
  world.apply(volume_in("b"));
  for (const auto& decision : world.decide()) EXPECT_NE(decision.kind, DecisionKind::kEvict);
  EXPECT_TRUE(world.engine.audit());
}

std::string late_class(const std::string& more = "provisioner: disks.example.com\n") {
  return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: late}\n" + more +
         "volumeBindingMode: WaitForFirstConsumer\n---\n";
}

std::string late_claim(const std::string& name = "data", const std::string& node = "") {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}{}}}\nspec: {{storageClassName: "
      "late}}\n---\n",
      name,
      node.empty() ? "" : fmt::format(", annotations: {{volume.kubernetes.io/selected-node: {}}}", node));
}

std::string local_volume(const std::string& name, const std::string& node) {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}}}\nspec: {{storageClassName: late, "
      "capacity: {{storage: 1Gi}}, nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchFields: [{{key: "
      "metadata.name, operator: In, values: [{}]}}]}}]}}}}}}\n---\n",
      name, node);
}

std::string local_class() {
  return late_class("provisioner: kubernetes.io/no-provisioner\n");
}

TEST(IntakeClaims, APodGoesWhereAVolumeExistsForItsClaim) {
  World world;
  world.apply(zones() + local_class() + late_claim() + pod_yaml("p", 1, "", kMounts));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_THAT(to_text(world.engine.explain("Pod/default/p")->reason),
              HasSubstr("claim data, by the PersistentVolumes of late (on no node)"));
  world.apply(local_volume("pv", "n1"));
  EXPECT_EQ(world.intake.claim_steps("Pod/default/p", "n1")[0].need, ClaimNeed::kElsewhere);
  world.intake.keep_volumes({{"Pod/default/p", "n1"}, {"Pod/default/gone", "n1"}});
  EXPECT_EQ(world.intake.claim_steps("Pod/default/p", "n1")[0].need, ClaimNeed::kVolume);
  EXPECT_EQ(world.intake.claim_steps("Pod/default/p", "n1")[0].volume, "pv");
  world.intake.release_volumes({"default/data"});
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1")));
  EXPECT_TRUE(world.engine.audit());
}

// A node has no more pods than volumes, from the first decision on, and also while claims get their volumes.
TEST(IntakeClaims, AGangIsSpreadOverTheVolumesOfItsNodes) {
  World world;
  constexpr char of_three[] = "  labels: {berth.dev/gang: g, berth.dev/gang-size: '3'}\n";
  std::string pods;
  for (int i = 0; i < 3; ++i) {
    pods += late_claim(fmt::format("c{}", i)) +
            pod_yaml(fmt::format("p{}", i), 1, of_three,
                     fmt::format("  volumes: [{{name: v, persistentVolumeClaim: {{claimName: c{}}}}}]\n", i));
  }
  world.apply(zones() + local_class() + local_volume("a", "n0") + local_volume("b", "n1") + pods);
  EXPECT_THAT(world.started(world.decide()), IsEmpty()) << "three pods, two volumes";
  EXPECT_THAT(to_text(world.engine.explain(world.told.begin()->first)->reason),
              HasSubstr("attachable volumes of StorageClass late (limit 1)"));
  world.apply(local_volume("c", "n1"));
  std::map<std::string, int> on;
  for (const auto& decision : world.decide()) {
    for (const SlotPlacement& slot : decision.slots) ++on[slot.node];
  }
  EXPECT_THAT(on, ElementsAre(::testing::Pair("n0", 1), ::testing::Pair("n1", 2)));
  EXPECT_TRUE(world.engine.audit());
}

TEST(IntakeClaims, APodOfAClassThatWaitsForItGoesWhereItsVolumeCanBeMade) {
  World world;
  world.apply(zones() +
              late_class("provisioner: disks.example.com\nallowedTopologies: [{matchLabelExpressions: [{key: "
                         "zone, values: [b]}]}]\n") +
              late_claim() + pod_yaml("p", 1, "", kMounts));
  const auto steps = world.intake.claim_steps("Pod/default/p", "n1");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].need, ClaimNeed::kNode);
  EXPECT_EQ(steps[0].name, "data");
  EXPECT_EQ(world.intake.claim_steps("Pod/default/p", "n0")[0].need, ClaimNeed::kPlace);
  EXPECT_THAT(world.intake.claim_steps("Pod/default/q", "n0"), IsEmpty());
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1")));
  EXPECT_TRUE(world.engine.audit());
}

TEST(IntakeClaims, TheNodeOnAClaimAndRefusedNodesCount) {
  World world;
  world.apply(zones() + late_class() + late_claim("data", "n7") + pod_yaml("p", 1, "", kMounts));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_THAT(to_text(world.engine.explain("Pod/default/p")->reason),
              HasSubstr("claim data (being provisioned for node n7)"));
  (void)world.intake.take_changed_claims();
  world.apply(late_claim("data"));
  EXPECT_THAT(world.intake.take_changed_claims(), ElementsAre("default/data"));
  world.intake.refuse_claim("default/data", {"n0"});
  world.drain();
  EXPECT_THAT(world.intake.take_changed_claims(), ElementsAre("default/data"));
  EXPECT_THAT(world.started(world.decide()), ElementsAre(HasSubstr("n1")));
  EXPECT_TRUE(world.engine.audit());
}

std::string claim_of_one_pod() {
  std::string out = claim();
  out.insert(out.find("volumeName"), "accessModes: [ReadWriteOncePod], ");
  return out;
}

TEST(IntakeClaims, AClaimOfOnePodKeepsOthersWaiting) {
  for (const std::string& scheduler : {std::string(), std::string("  schedulerName: other\n")}) {
    for (const bool first : {false, true}) {
      IntakeConfig config;
      config.scheduler_names = {"default-scheduler"};
      World world(config);
      const std::string user = pod_yaml("user", 0, "", scheduler + "  nodeName: n0\n" + kMounts);
      const std::string pod = pod_yaml("p", 1, "", kMounts);
      const std::string claims = volume_in("a, b") + claim_of_one_pod();
      world.apply(zones() + (first ? claims + user + pod : user + pod + claims));
      EXPECT_THAT(world.started(world.decide()), IsEmpty()) << scheduler << first;
      EXPECT_THAT(to_text(world.engine.explain("Pod/default/p")->reason),
                  HasSubstr("claim default/data is in use by another pod"));
      EXPECT_TRUE(world.engine.audit());
      world.remove(Kind::kPod, "user");
      EXPECT_EQ(world.started(world.decide()).size(), 1u) << scheduler << first;
      EXPECT_TRUE(world.engine.audit());
    }
  }
}

TEST(IntakeClaims, OfTwoPodsWithAClaimOfOnePodOneStarts) {
  World world;
  world.apply(zones() + volume_in("a, b") + claim_of_one_pod() + pod_yaml("p", 1, "", kMounts) +
              pod_yaml("q", 1, "", kMounts) + pod_yaml("free", 1));
  EXPECT_EQ(world.started(world.decide()).size(), 2u);
  EXPECT_TRUE(world.engine.audit());
}

TEST(IntakeClaims, MembersOfAGangCannotShareAClaimOfOnePod) {
  World world;
  world.apply(zones() + volume_in("a, b") + claim_of_one_pod() + pod_yaml("p0", 1, kOfGang, kMounts) +
              pod_yaml("p1", 1, kOfGang, kMounts));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  ASSERT_EQ(world.told.size(), 1u);
  EXPECT_THAT(why(world, world.told.begin()->first), HasSubstr("2 of its pods mount claim default/data"));
}

// The same claim, and pods of higher priority: the user yields, wherever it runs.
TEST(IntakeClaims, APodThatHasTheClaimIsPreemptedForIt) {
  World world;
  world.apply(zones() + volume_in("a, b") + claim_of_one_pod() +
              pod_yaml("user", 1, "", std::string("  nodeName: n0\n  priority: 1\n") + kMounts) +
              pod_yaml("bystander", 1, "", "  nodeName: n1\n  priority: 1\n") +
              pod_yaml("p", 1, "", std::string("  priority: 5\n") + kMounts));
  std::vector<std::string> evicted;
  for (const auto& decision : world.decide()) {
    if (decision.kind == DecisionKind::kEvict) evicted.push_back(decision.workload);
  }
  EXPECT_THAT(evicted, ElementsAre("Pod/default/user"));
  world.remove(Kind::kPod, "user");
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_TRUE(world.engine.audit());
}

constexpr char kSuspended[] = R"(apiVersion: batch/v1
kind: Job
metadata: {name: j, uid: u, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      containers: [{name: c, resources: {requests: {cpu: "1"}}}]
      volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
)";

// A Job that waits without pods is placed by its template; its pods then take these places.
TEST(IntakeClaims, ASuspendedJobGoesWhereItsDataIs) {
  IntakeConfig config;
  config.hold_owners = true;
  World world(config);
  world.apply(zones() + testing::queue_of_cpus(8) + kSuspended);
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_THAT(why(world, "u"), HasSubstr("claim data does not exist"));
  world.apply(volume_in("b") + claim());
  EXPECT_EQ(why(world, "u"), "");
  EXPECT_THAT(world.started(world.decide()),
              ElementsAre(::testing::AllOf(HasSubstr("n1"), ::testing::Not(HasSubstr("n0")))));
  const auto revision = world.intake.workload("u")->revision;
  world.intake.set_released("u", true);
  world.apply(pod_yaml(
      "j-0", 0, "  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u, controller: true}]\n",
      kMounts));
  EXPECT_EQ(world.intake.workload("u")->revision, revision) << "the pod is as its template promised";
  EXPECT_TRUE(world.engine.audit());
}

// The volumes of its pods follow what their driver tells, before there are pods and claims.
TEST(IntakeClaims, ASuspendedJobStartsWhereThereIsRoomForItsVolumes) {
  IntakeConfig config;
  config.hold_owners = true;
  World world(config);
  std::string job = kSuspended;
  const std::string mounts = "persistentVolumeClaim: {claimName: data}";
  job.replace(
      job.find(mounts), mounts.size(),
      "ephemeral: {volumeClaimTemplate: {spec: {storageClassName: late, resources: {requests: {storage: "
      "1Gi}}}}}");
  world.apply(zones() + testing::queue_of_cpus(8) + late_class() +
              "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disks.example.com}\nspec: "
              "{storageCapacity: true}\n---\n" +
              job);
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  EXPECT_TRUE(world.intake.has_open_claims("u"));
  world.apply(
      "apiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {name: c, namespace: csi}\n"
      "storageClassName: late\nnodeTopology: {matchLabels: {zone: b}}\ncapacity: 5Gi\n---\n");
  EXPECT_THAT(world.started(world.decide()),
              ElementsAre(::testing::AllOf(HasSubstr("n1"), ::testing::Not(HasSubstr("n0")))));
  const auto revision = world.intake.workload("u")->revision;
  world.intake.set_released("u", true);
  const std::string pod = pod_yaml(
      "j-0", 0, "  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u, controller: true}]\n",
      "  volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: late, resources: "
      "{requests: {storage: 1Gi}}}}}}]\n");
  world.apply(pod);
  EXPECT_EQ(world.intake.workload("u")->revision, revision) << "its claim is still to be made";
  world.apply(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: j-0-v, ownerReferences: [{apiVersion: "
      "v1, "
      "kind: Pod, name: j-0, uid: Pod/default/j-0, controller: true}]}\nspec: {storageClassName: late, "
      "resources: {requests: {storage: 1Gi}}}\n---\n");
  EXPECT_EQ(world.intake.workload("u")->revision, revision) << "it is as its template says";
  EXPECT_TRUE(world.engine.audit());
}

// ---------------------------------------------------------------------------------------------- the limits of nodes

std::string disk(const std::string& name) {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}}}\nspec: {{csi: {{driver: "
      "disk}}}}\n---\n",
      name);
}

std::string limit(const std::string& node, int most) {
  return fmt::format(
      "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {}}}\nspec: {{drivers: [{{name: disk, "
      "allocatable: {{count: {}}}}}, {{name: files}}]}}\n---\n",
      node, most);
}

std::string attached(const std::string& name, const std::string& node, const std::string& volume) {
  return fmt::format(
      "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: {}}}\nspec: {{attacher: "
      "disk, "
      "nodeName: {}, source: {{persistentVolumeName: {}}}}}\n---\n",
      name, node, volume);
}

std::string mounts(const std::string& claim_name) {
  return fmt::format("  volumes: [{{name: v, persistentVolumeClaim: {{claimName: {}}}}}]\n", claim_name);
}

std::string disks() {
  return disk("pv0") + disk("pv1") + disk("pv2") + claim("c0", "pv0") + claim("c1", "pv1") +
         claim("c2", "pv2");
}

TEST(IntakeVolumeLimits, ANodeTakesNoMoreVolumesThanItsDriverSays) {
  World world;
  world.apply(node_yaml("n0", 8) + limit("n0", 2) + disks() + pod_yaml("p0", 1, "", mounts("c0")) +
              pod_yaml("p1", 1, "", mounts("c1")) + pod_yaml("p2", 1, "", mounts("c2")));
  EXPECT_EQ(world.started(world.decide()).size(), 2u);
  EXPECT_THAT(to_text(world.engine.explain("Pod/default/p2")->reason),
              HasSubstr("1 node lacks attachable volumes of disk (limit 2)"));
  world.apply(limit("n0", 3));  // an administrator or the driver raises it
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_TRUE(world.engine.audit());
}

TEST(IntakeVolumeLimits, ANodeWithoutALimitTakesAll) {
  for (const bool gone : {false, true}) {
    World world;
    world.apply(node_yaml("n0", 8) + (gone ? limit("n0", 0) : std::string()) + disks() +
                pod_yaml("p0", 1, "", mounts("c0")) + pod_yaml("p1", 1, "", mounts("c1")) +
                pod_yaml("p2", 1, "", mounts("c2")));
    if (gone) {
      EXPECT_THAT(world.started(world.decide()), IsEmpty());
      world.remove(Kind::kCsiNode, "n0");
    }
    EXPECT_EQ(world.started(world.decide()).size(), 3u) << gone;
  }
}

TEST(IntakeVolumeLimits, ThePodsOfOthersHaveTheirs) {
  for (const bool claims_first : {false, true}) {
    World world;
    const std::string other =
        pod_yaml("other", 0, "", "  schedulerName: other\n  nodeName: n0\n" + mounts("c0"));
    world.apply(node_yaml("n0", 8) + limit("n0", 1) + (claims_first ? disks() + other : other + disks()) +
                pod_yaml("p1", 1, "", mounts("c1")));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << claims_first;
    world.remove(Kind::kPod, "other");
    EXPECT_EQ(world.started(world.decide()).size(), 1u) << claims_first;
    EXPECT_TRUE(world.engine.audit());
  }
}

TEST(IntakeVolumeLimits, ADriverCanKeepPodsFromNodesThatLackIt) {
  const std::string driver = "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disk}\nspec: ";
  for (const bool driver_first : {false, true}) {
    World world;
    const std::string guarded = driver + "{preventPodSchedulingIfMissing: true}\n---\n";
    world.apply((driver_first ? guarded : std::string()) + node_yaml("n0", 8) + disks() +
                (driver_first ? std::string() : guarded) + pod_yaml("p0", 1, "", mounts("c0")));
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << "a new node has no CSINode yet";
    EXPECT_THAT(to_text(world.engine.explain("Pod/default/p0")->reason),
                HasSubstr("attachable volumes of disk"));
    world.apply(limit("n0", 5));
    EXPECT_EQ(world.started(world.decide()).size(), 1u);
    world.remove(Kind::kCsiNode, "n0");
    world.apply(pod_yaml("p1", 1, "", mounts("c1")));
    EXPECT_THAT(world.started(world.decide()), IsEmpty());
    world.apply(driver + "{}\n---\n");
    EXPECT_EQ(world.started(world.decide()).size(), 1u);
    EXPECT_TRUE(world.engine.audit());
  }
}

// A volume stays attached for a while after its pod.
TEST(IntakeVolumeLimits, AVolumeCountsUntilItIsDetached) {
  World world;
  world.apply(node_yaml("n0", 8) + limit("n0", 2) + disks() +
              pod_yaml("runs", 1, "", "  nodeName: n0\n" + mounts("c0")) + attached("a0", "n0", "pv0") +
              pod_yaml("p1", 1, "", mounts("c1")));
  EXPECT_EQ(world.started(world.decide()).size(), 1u) << "a volume and its attachment are one";
  world.remove(Kind::kPod, "runs");
  world.apply(pod_yaml("p2", 1, "", mounts("c2")));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kVolumeAttachment, "a0");
  EXPECT_EQ(world.started(world.decide()).size(), 1u);
  EXPECT_TRUE(world.engine.audit());
}

}  // namespace
}  // namespace berth::dialect
