// Limits of volumes where several pods of a node have one volume: it counts once, whichever claims and objects name it. A pod that waits
// counts it as nothing new where a pod has it by the same claim.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using ::testing::SizeIs;
using testing::World;

std::string limit_of(const std::string& node, int most) {
  return fmt::format(
      "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {}}}\nspec: {{drivers: [{{name: disk, "
      "allocatable: {{count: {}}}}}]}}\n---\n",
      node, most);
}

std::string disk_with(const std::string& name, const std::string& handle) {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}}}\nspec: {{csi: {{driver: disk, "
      "volumeHandle: {}}}}}\n---\n",
      name, handle);
}

std::string claim_of_disk(const std::string& name, const std::string& volume, const std::string& more = "") {
  return fmt::format(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}{}}}\nspec: {{volumeName: {}}}\n"
      "status: {{phase: Bound}}\n---\n",
      name, more, volume);
}

// Claims c0 to c3 have volumes of their own. c4 names the volume of c0, and that of c5 has the handle of c1's.
std::string all_disks() {
  std::string out;
  for (int i = 0; i < 4; ++i)
    out += disk_with(fmt::format("pv{}", i), fmt::format("h{}", i)) +
           claim_of_disk(fmt::format("c{}", i), fmt::format("pv{}", i));
  return out + claim_of_disk("c4", "pv0") + disk_with("pv5", "h1") + claim_of_disk("c5", "pv5");
}

std::string mounting(const std::vector<std::string>& claims) {
  std::string out = "  volumes:\n";
  for (const std::string& claim : claims)
    out += fmt::format("  - {{name: v-{}, persistentVolumeClaim: {{claimName: {}}}}}\n", claim, claim);
  return out;
}

std::string on(const std::string& node, const std::vector<std::string>& claims,
               const std::string& more = "") {
  return fmt::format("  nodeName: {}\n{}", node, more) + mounting(claims);
}

constexpr char kOfOthers[] = "  schedulerName: other\n";

TEST(SharedVolumes, OneOfSeveralPodsCountsOnceForAll) {
  World world;
  world.apply(node_yaml("n0", 8) + limit_of("n0", 2) + all_disks() + pod_yaml("a", 0, "", on("n0", {"c0"})) +
              pod_yaml("b", 0, "", on("n0", {"c0"}, kOfOthers)) + pod_yaml("c", 0, "", on("n0", {"c4"})) +
              pod_yaml("p", 0, "", mounting({"c2"})));
  EXPECT_THAT(world.started(world.decide()), SizeIs(1)) << "a, b and c have one volume";
  world.apply(pod_yaml("p", 0, "", on("n0", {"c2"})) + pod_yaml("q", 0, "", mounting({"c3"})));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kPod, "a");
  world.remove(Kind::kPod, "b");
  EXPECT_THAT(world.started(world.decide()), IsEmpty()) << "c has it still";
  world.remove(Kind::kPod, "c");
  EXPECT_THAT(world.started(world.decide()), SizeIs(1));
  EXPECT_TRUE(world.engine.audit());
}

// The default scheduler places them one after the other; so do they start here, when the first of them has its node.
TEST(SharedVolumes, APodThatWaitsCountsNothingNewWhereItsVolumeIs) {
  World world;
  world.apply(node_yaml("n0", 8) + node_yaml("n1", 8) + limit_of("n0", 1) + limit_of("n1", 0) + all_disks() +
              pod_yaml("p0", 0, "", on("n0", {"c0"})) + pod_yaml("p1", 0, "", mounting({"c0"})) +
              pod_yaml("p2", 0, "", mounting({"c0"})) + pod_yaml("q", 0, "", mounting({"c1"})));
  EXPECT_THAT(world.started(world.decide()), SizeIs(2)) << "p1 and p2";
  world.remove(Kind::kPod, "p1");
  world.remove(Kind::kPod, "p2");
  EXPECT_THAT(world.started(world.decide()), IsEmpty()) << "p0 has the only place";
  EXPECT_TRUE(world.engine.audit());
}

TEST(SharedVolumes, PodsThatWaitFollowTheFirst) {
  World world;
  world.apply(node_yaml("n0", 8) + limit_of("n0", 1) + all_disks() + pod_yaml("p0", 0, "", mounting({"c0"})));
  ASSERT_THAT(world.started(world.decide()), SizeIs(1));
  world.apply(pod_yaml("p0", 0, "", on("n0", {"c0"})) + pod_yaml("p1", 0, "", mounting({"c0"})));
  ASSERT_THAT(world.started(world.decide()), SizeIs(1));
  world.apply(pod_yaml("p1", 0, "", on("n0", {"c0"})) + pod_yaml("p2", 0, "", mounting({"c0"})));
  ASSERT_THAT(world.started(world.decide()), SizeIs(1)) << "the limit counts one volume";
  EXPECT_TRUE(world.engine.audit());
}

// Two PersistentVolumes, and their attachments, can be one volume of the driver.
TEST(SharedVolumes, AVolumeGoesByItsHandle) {
  const auto attached = [](const std::string& name, const std::string& volume) {
    return fmt::format(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {{name: {}}}\nspec: {{attacher: "
        "disk, nodeName: n0, source: {{persistentVolumeName: {}}}}}\n---\n",
        name, volume);
  };
  for (const bool first : {false, true}) {
    World world;
    const std::string both = attached("a1", "pv1") + attached("a5", "pv5");
    world.apply(node_yaml("n0", 8) + limit_of("n0", 2) + (first ? both + all_disks() : all_disks() + both) +
                pod_yaml("p", 0, "", mounting({"c2"})) + pod_yaml("q", 0, "", mounting({"c3"})));
    EXPECT_THAT(world.started(world.decide()), SizeIs(1)) << first << ": a1 and a5 are one";
    world.remove(Kind::kVolumeAttachment, "a1");
    EXPECT_THAT(world.started(world.decide()), IsEmpty()) << first;
    world.remove(Kind::kVolumeAttachment, "a5");
    EXPECT_THAT(world.started(world.decide()), SizeIs(1)) << first;
  }
  World world;
  world.apply(node_yaml("n0", 8) + limit_of("n0", 1) + all_disks() +
              pod_yaml("p", 0, "", mounting({"c1", "c5"})));
  EXPECT_THAT(world.started(world.decide()), SizeIs(1)) << "one pod with both";
}

// It counts by the driver of its class, as with the default scheduler.
TEST(SharedVolumes, APodWhoseVolumeIsUnknownCounts) {
  World world;
  world.apply(
      node_yaml("n0", 8) + limit_of("n0", 1) + all_disks() +
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: disks}\nprovisioner: disk\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: lost}\nspec: {volumeName: none, "
      "storageClassName: disks}\nstatus: {phase: Bound}\n---\n" +
      pod_yaml("a", 0, "", on("n0", {"lost"})) + pod_yaml("p", 0, "", mounting({"c2"})));
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.remove(Kind::kPod, "a");
  EXPECT_THAT(world.started(world.decide()), SizeIs(1));
}

// A volume that Kubernetes makes for a pod, and that another pod mounts by the name of its claim.
TEST(SharedVolumes, AnEphemeralVolumeThatAnotherPodMounts) {
  World world;
  world.apply(node_yaml("n0", 8) + limit_of("n0", 2) + all_disks() + disk_with("pv9", "h9") +
              pod_yaml("a", 0, "",
                       "  nodeName: n0\n  volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: "
                       "{resources: {requests: {storage: 1Gi}}}}}}]\n") +
              claim_of_disk("a-v", "pv9",
                            ", ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: Pod/default/a, "
                            "controller: true}]") +
              pod_yaml("b", 0, "", on("n0", {"a-v"})) + pod_yaml("p", 0, "", mounting({"c2"})));
  EXPECT_THAT(world.started(world.decide()), SizeIs(1));
  EXPECT_TRUE(world.engine.audit());
}

// Pods that come, are bound, begin to end and go, at random, beside a count of distinct volumes.
class Course {
 public:
  explicit Course(std::uint32_t seed) : random_(seed) {
    world_.apply(node_yaml("n0", 8) + node_yaml("n1", 8) + limit_of("n0", limits_["n0"] = pick(3)) +
                 limit_of("n1", limits_["n1"] = 1 + pick(2)) + all_disks());
  }

  void step() {
    const int choice = pick(10);
    if (choice < 4) add("", false);
    if (choice == 4) add(fmt::format("n{}", pick(2)), true);
    if (choice == 5 && !pods_.empty()) end(some());
    if (choice >= 6 && !pods_.empty()) go(some());
    settle();
  }

  int starts = 0;

 private:
  struct One {
    std::vector<std::string> claims;
    std::string node;
    bool foreign = false;
    bool ending = false;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }
  std::string some() { return std::next(pods_.begin(), pick(static_cast<int>(pods_.size())))->first; }

  void put(const std::string& name) {
    const One& one = pods_.at(name);
    const std::string spec =
        one.node.empty() ? mounting(one.claims) : on(one.node, one.claims, one.foreign ? kOfOthers : "");
    world_.apply(pod_yaml(name, 0, one.ending ? "  deletionTimestamp: '2026-11-27T00:00:00Z'\n" : "", spec));
  }

  void add(const std::string& node, bool foreign) {
    const std::string name = fmt::format("p{}", made_++);
    One one{{fmt::format("c{}", pick(6))}, node, foreign, false};
    if (const std::string more = fmt::format("c{}", pick(6)); pick(3) == 0 && more != one.claims.front())
      one.claims.push_back(more);
    pods_[name] = one;
    put(name);
  }

  void end(const std::string& name) {
    if (pods_.at(name).node.empty()) return go(name);
    pods_.at(name).ending = true;
    put(name);
  }

  void go(const std::string& name) {
    world_.remove(Kind::kPod, name);
    pods_.erase(name);
  }

  static std::set<std::string> volumes_of(const One& one) {
    std::set<std::string> out;
    for (const std::string& claim : one.claims)
      out.insert(claim == "c4" ? "c0" : claim == "c5" ? "c1" : claim);
    return out;
  }

  std::set<std::string> volumes_on(const std::string& node) const {
    std::set<std::string> out;
    for (const auto& [name, one] : pods_) {
      if (one.node == node) out.merge(volumes_of(one));
    }
    return out;
  }

  // Its volumes that no pod on the node has by the same claim.
  std::size_t not_there(const One& pod, const std::string& node) const {
    One left = pod;
    for (const auto& [name, other] : pods_) {
      if (other.node != node) continue;
      for (const std::string& claim : other.claims) std::erase(left.claims, claim);
    }
    return volumes_of(left).size();
  }

  bool has_ending() const {
    return std::any_of(pods_.begin(), pods_.end(), [](const auto& pod) { return pod.second.ending; });
  }

  // Decides until nothing starts.
  void settle() {
    for (bool more = true; more;) {
      more = false;
      for (const Decision& decision : world_.decide(++now_)) {
        ASSERT_NE(decision.kind, DecisionKind::kEvict);
        for (const auto& slot : decision.slots) {
          if (decision.kind != DecisionKind::kStart) continue;
          const std::string name = decision.workload.substr(decision.workload.rfind('/') + 1);
          pods_.at(name).node = slot.node;
          EXPECT_LE(volumes_on(slot.node).size(), static_cast<std::size_t>(limits_[slot.node])) << name;
          put(name);
          ++starts;
          more = true;
        }
      }
    }
    ASSERT_TRUE(world_.engine.audit());
    if (has_ending()) return;  // one may have its place where a pod ends
    for (const auto& [name, one] : pods_) {
      if (!one.node.empty()) continue;
      for (const auto& [node, most] : limits_) {
        const std::size_t then = volumes_on(node).size() + not_there(one, node);
        EXPECT_GT(then, static_cast<std::size_t>(most))
            << name << " has room on " << node << ": "
            << to_text(world_.engine.explain("Pod/default/" + name)->reason);
      }
    }
  }

  World world_;
  std::mt19937 random_;
  std::map<std::string, int> limits_;
  std::map<std::string, One> pods_;
  int made_ = 0;
  TimeMs now_ = 1000;
};

TEST(SharedVolumes, NeverMoreThanTheLimitAndNeverFewer) {
  int starts = 0;
  for (std::uint32_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Course course(seed);
    for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) course.step();
    starts += course.starts;
  }
  EXPECT_GT(starts, 200);
}

}  // namespace
}  // namespace berth::dialect
