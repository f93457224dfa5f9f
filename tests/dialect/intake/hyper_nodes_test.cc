// PodGroups whose pods are to be near to each other, by Volcano's HyperNodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

std::string hyper_node(const std::string& name, int tier, const std::string& type,
                       const std::vector<std::string>& members) {
  std::string out = "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: " + name +
                    "}\nspec:\n  tier: " + std::to_string(tier) + "\n  members:\n";
  for (const auto& member : members)
    out += "  - {type: " + type + ", selector: {exactMatch: {name: " + member + "}}}\n";
  return out + "---\n";
}

std::string group_near(const std::string& spec) {
  return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: train}\nspec: " + spec +
         "\n---\n";
}

std::string near_pod(const std::string& name, const std::string& labels = "", int gpus = 1,
                     const std::string& node = "") {
  return pod_yaml(name, gpus,
                  "  annotations: {scheduling.k8s.io/group-name: train}\n  labels: {" + labels + "}\n",
                  node.empty() ? "" : "  nodeName: " + node + "\n");
}

// Two racks below one spine, with two nodes of two GPUs each.
std::string two_racks() {
  std::string out =
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: default}\nspec: {weight: "
      "1}\n---\n";
  for (const char* name : {"a0", "a1", "b0", "b1"}) out += node_yaml(name, 2);
  return out + hyper_node("a", 1, "Node", {"a0", "a1"}) + hyper_node("b", 1, "Node", {"b0", "b1"}) +
         hyper_node("top", 2, "HyperNode", {"a", "b"});
}

std::vector<std::string> placed_near(World& world) {
  std::vector<std::string> out;
  for (const std::string& start : world.started(world.decide())) {
    std::istringstream pods(start.substr(start.find(' ') + 1));
    for (std::string pod; pods >> pod;) out.push_back(pod);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string why_not_near(World& world) {
  const Reason* reason = world.intake.blocked("VolcanoPodGroup/default/train");
  return reason == nullptr ? "" : to_text(*reason);
}

TEST(HyperNodes, AGangStaysBelowItsHighestTier) {
  World world;
  world.apply(two_racks() + near_pod("busy", "", 1, "a0") +
              group_near("{minMember: 4, networkTopology: {highestTierAllowed: 1}}"));
  world.remove(Kind::kPod, "busy");
  world.apply(pod_yaml("other", 1, "", "  nodeName: a0\n"));
  for (const char* name : {"p0", "p1", "p2", "p3"}) world.apply(near_pod(name));
  EXPECT_THAT(placed_near(world),
              ElementsAre(HasSubstr("->b"), HasSubstr("->b"), HasSubstr("->b"), HasSubstr("->b")));
}

TEST(HyperNodes, AGangThatIsTooLargeForTheTierWaits) {
  World world;
  world.apply(two_racks() + group_near("{minMember: 5, networkTopology: {highestTierAllowed: 1}}"));
  for (const char* name : {"p0", "p1", "p2", "p3", "p4"}) world.apply(near_pod(name));
  EXPECT_THAT(placed_near(world), IsEmpty());
  world.apply(group_near("{minMember: 5, networkTopology: {highestTierAllowed: 2}}"));
  EXPECT_EQ(placed_near(world).size(), 5u);
}

TEST(HyperNodes, ASoftTopologyIsAPreference) {
  World world;
  world.apply(two_racks() +
              group_near("{minMember: 5, networkTopology: {mode: soft, highestTierAllowed: 1}}"));
  for (const char* name : {"p0", "p1", "p2", "p3", "p4"}) world.apply(near_pod(name));
  EXPECT_EQ(placed_near(world).size(), 5u);
}

TEST(HyperNodes, WithoutThemAHardTopologyWaits) {
  World world;
  world.apply("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: default}\n---\n" +
              node_yaml("a0", 2) + group_near("{minMember: 1, networkTopology: {highestTierAllowed: 1}}"));
  const auto stopped = [&] {
    const auto view = world.intake.gang(Kind::kVolcanoPodGroup, "default/train");
    return view->stopped ? to_text(*view->stopped) : "";
  };
  EXPECT_THAT(stopped(), HasSubstr("networkTopology: there are no HyperNodes"));
  world.apply(near_pod("p0"));
  EXPECT_THAT(why_not_near(world), HasSubstr("networkTopology: there are no HyperNodes"));
  world.apply(hyper_node("a", 2, "Node", {"a0"}));
  EXPECT_THAT(why_not_near(world), HasSubstr("no HyperNode has a tier of 1 or below"));
  world.apply(hyper_node("a", 1, "Node", {"a0"}));
  EXPECT_EQ(stopped(), "");
  EXPECT_THAT(placed_near(world), ElementsAre("p0->a0"));
  world.remove(Kind::kHyperNode, "a");
  EXPECT_TRUE(world.refused.empty());
}

TEST(HyperNodes, EachSubgroupIsNearByItself) {
  World world;
  world.apply(
      two_racks() +
      group_near("{minMember: 6, networkTopology: {highestTierAllowed: 2}, subGroupPolicy: [{name: r, "
                 "subGroupSize: 3, minSubGroups: 2, matchLabelKeys: [replica], networkTopology: "
                 "{highestTierAllowed: 1}}]}"));
  for (const char* name : {"x", "y"}) {
    for (const char* number : {"0", "1", "2"})
      world.apply(near_pod(std::string(name) + number, std::string("replica: ") + name));
  }
  const auto placed = placed_near(world);
  ASSERT_EQ(placed.size(), 6u);
  for (std::size_t i : {1u, 2u, 4u, 5u})
    EXPECT_EQ(placed[i][4], placed[i - i % 3][4])
        << placed[i] << " is in another rack than " << placed[i - i % 3];
  EXPECT_NE(placed[0][4], placed[3][4]) << "three each: no rack has room for both";
}

TEST(HyperNodes, PodsOfASubgroupThatCameApartAreNamed) {
  World world;
  world.apply(two_racks() +
              group_near("{minMember: 4, subGroupPolicy: [{name: r, subGroupSize: 2, minSubGroups: 2, "
                         "matchLabelKeys: [replica], networkTopology: {highestTierAllowed: 1}}]}"));
  world.apply(near_pod("x0", "replica: x") + near_pod("y0", "replica: y") + near_pod("x1", "replica: x", 2) +
              near_pod("y1", "replica: y", 2));
  EXPECT_THAT(placed_near(world), IsEmpty());
  EXPECT_THAT(why_not_near(world), HasSubstr("came between those of other subgroups"));
}

}  // namespace
}  // namespace berth::dialect
