// Pods that need a feature of their node, and nodes that declare some (status.declaredFeatures, since Kubernetes 1.36).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::pod_yaml;
using ::testing::SizeIs;
using testing::World;

std::string node_with(const std::string& name, const std::string& features) {
  return fmt::format(
      "apiVersion: v1\nkind: Node\nmetadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}\nstatus: "
      "{{allocatable: {{cpu: \"64\", memory: 256Gi, pods: \"110\"}}, declaredFeatures: [{1}]}}\n---\n",
      name, features);
}

constexpr char kRestarts[] =
    "  initContainers: [{name: i, image: x, restartPolicy: Never, restartPolicyRules: [{action: "
    "RestartAllContainers, exitCodes: {operator: In, values: [1]}}]}]\n";
constexpr char kOwnUsers[] = "  hostNetwork: true\n  hostUsers: false\n";

TEST(DeclaredFeatures, APodGoesToANodeThatHasWhatItNeeds) {
  for (const auto& [spec, feature] : {std::pair{kRestarts, "RestartAllContainersOnContainerExits"},
                                      std::pair{kOwnUsers, "UserNamespacesHostNetworkSupport"}}) {
    World world;
    world.apply(node_with("n0", "") + node_with("n1", "SomethingElse") + pod_yaml("p", 0, "", spec) +
                pod_yaml("plain", 0, "", "  nodeSelector: {kubernetes.io/hostname: n0}\n"));
    EXPECT_THAT(world.started(world.decide()), SizeIs(1)) << "plain";
    EXPECT_THAT(to_text(world.engine.explain("Pod/default/p")->reason),
                HasSubstr(fmt::format("2 nodes are ruled out by the feature {}", feature)));
    world.apply(node_with("n1", fmt::format("SomethingElse, {}", feature)));  // its kubelet is a newer one
    EXPECT_THAT(world.started(world.decide()), ::testing::ElementsAre(HasSubstr("n1")));
    EXPECT_TRUE(world.engine.audit());
  }
}

TEST(DeclaredFeatures, OtherRulesAndTheUsersOfTheHostNeedNone) {
  World world;
  world.apply(node_with("n0", "") +
              pod_yaml("a", 0, "",
                       "  initContainers: [{name: i, image: x, restartPolicyRules: [{action: Restart}]}]\n") +
              pod_yaml("b", 0, "", "  hostNetwork: true\n") + pod_yaml("c", 0, "", "  hostUsers: false\n"));
  EXPECT_THAT(world.started(world.decide()), SizeIs(3));
}

// Its volumes are looked up again and again. The feature stays.
TEST(DeclaredFeatures, APodWithAClaimNeedsBoth) {
  World world;
  world.apply(
      node_with("n0", "RestartAllContainersOnContainerExits") + node_with("n1", "") +
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {csi: {driver: disk}}\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {volumeName: pv}\n"
      "status: {phase: Bound}\n---\n");
  const std::string mounts = "  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n";
  world.apply(pod_yaml("p", 0, "", kRestarts + mounts) + pod_yaml("q", 0, "", kRestarts + mounts));
  world.remove(Kind::kPersistentVolumeClaim, "data");
  EXPECT_THAT(world.started(world.decide()), IsEmpty());
  world.apply(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {volumeName: pv}\n"
      "status: {phase: Bound}\n---\n");
  EXPECT_THAT(world.started(world.decide()), ::testing::ElementsAre(HasSubstr("n0"), HasSubstr("n0")));
  EXPECT_TRUE(world.engine.audit());
}

}  // namespace
}  // namespace berth::dialect
