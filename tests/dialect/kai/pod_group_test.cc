// KAI's PodGroup: what it asks for.
#include "dialect/kai/pod_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::objects_of_json;

std::string yaml_of(const std::string& spec, const std::string& annotations = "{}") {
  return "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: train, annotations: " +
         annotations + "}\nspec: " + spec + "\n";
}

KaiPodGroup group_of(const std::string& spec, const std::string& annotations = "{}") {
  auto objects = objects_of_json(yaml_of(spec, annotations));
  return std::get<KaiPodGroup>(objects.at(0));
}

TEST(KaiPodGroup, SaysHowManyPodsStartTogether) {
  const auto group = group_of(
      "{minMember: 3, queue: team-a, priorityClassName: train, topologyConstraint: {topology: t, "
      "requiredTopologyLevel: zone, preferredTopologyLevel: rack}}");
  EXPECT_EQ(group.least, 3);
  EXPECT_EQ(group.queue, "team-a");
  EXPECT_EQ(group.priority_class, "train");
  EXPECT_EQ(group.topology.required, "zone");
  EXPECT_EQ(group.topology.preferred, "rack");
  EXPECT_TRUE(group.parts.empty() && group.splits.empty());
}

TEST(KaiPodGroup, WithoutFieldsItIsAGangOfOneThatPriorityMayKeep) {
  const auto group = group_of("{}");
  EXPECT_EQ(group.least, 1);
  EXPECT_TRUE(group.preemptible);
  EXPECT_EQ(group.protected_from, kKaiNoVictim);
  EXPECT_EQ(group.broken_for, kKaiStalenessGrace);
  EXPECT_EQ(group.preempts_after, 0);
}

TEST(KaiPodGroup, MaySayWhetherItIsPreemptible) {
  const auto always = group_of("{preemptibility: preemptible}");
  EXPECT_TRUE(always.preemptible);
  EXPECT_GT(always.protected_from, std::int64_t{1} << 40) << "whatever its priority";
  EXPECT_FALSE(group_of("{preemptibility: non-preemptible}").preemptible);
}

TEST(KaiPodGroup, HasTimesInFieldsAndInMarks) {
  EXPECT_EQ(group_of("{stalenessGracePeriod: 5m}").broken_for, 5 * kMinute);
  EXPECT_EQ(group_of("{stalenessGracePeriod: -1s}").broken_for, std::nullopt) << "never";
  const auto marked =
      group_of("{}",
               "{kai.scheduler/staleness-grace-period: 0s, kai.scheduler/preemption-delay: 10m, "
               "kai.scheduler/stale-podgroup-timestamp: '2026-01-01T00:00:00Z'}");
  EXPECT_EQ(marked.broken_for, 0);
  EXPECT_EQ(marked.preempts_after, 10 * kMinute);
  EXPECT_EQ(marked.broken_since, 1767225600000);
  EXPECT_EQ(group_of("{preemptionDelay: 30s}").preempts_after, 30 * kSecond);
}

TEST(KaiPodGroup, LeavesOfTheTreeAreItsParts) {
  const auto group = group_of(
      "{subGroups: [{name: all}, {name: ps, parent: all, minMember: 1}, {name: worker, parent: all, "
      "minMember: "
      "4, topologyConstraint: {requiredTopologyLevel: rack}}, {name: spare, minMember: 0}]}");
  EXPECT_EQ(group.least, 5);
  ASSERT_THAT(group.parts,
              ElementsAre(GangPart{"ps", 1, {}, "all"}, GangPart{"worker", 4, {"rack", "", 0, ""}, "all"},
                          GangPart{"spare", 0}));
  EXPECT_EQ(group.topology_of("worker").required, "rack");
  EXPECT_TRUE(group.has_part("spare"));
  EXPECT_FALSE(group.has_part("all"));
  Meta pod;
  pod.annotations = {{"pod-group-name", "train"}};
  pod.labels = {{"kai.scheduler/subgroup-name", "ps"}};
  EXPECT_EQ(KaiPodGroup::kGang.name_in(pod), "train");
  EXPECT_EQ(KaiPodGroup::kGang.part_in(&group, pod), "ps");
}

TEST(KaiPodGroup, SomeOfSeveralSubgroupsAreEnough) {
  const auto group = group_of(
      "{minSubGroup: 2, subGroups: [{name: a, minMember: 4}, {name: b, minMember: 1}, {name: c, minMember: "
      "2, topologyConstraint: {requiredTopologyLevel: rack}}]}");
  EXPECT_EQ(group.unsupported, "");
  EXPECT_TRUE(group.chooses());
  EXPECT_EQ(group.needs, 2);
  EXPECT_EQ(group.least, 3) << "the two smallest";
  EXPECT_EQ(group.least_of("a"), 4);
  EXPECT_EQ(group.topology_of("a").required, "");
  EXPECT_EQ(group.topology_of("c").required, "rack");
  EXPECT_TRUE(group.parts_ask_for_topology());
  EXPECT_FALSE(group.has_part("other"));
  EXPECT_FALSE(group_of("{minSubGroup: 2, subGroups: [{name: a}, {name: b}]}").chooses()) << "all of them";
}

TEST(KaiPodGroup, SomeOfSeveralMayHaveSubgroupsThemselves) {
  const auto group = group_of(
      "{minSubGroup: 1, subGroups: [{name: p}, {name: p-head, parent: p, minMember: 1}, {name: p-work, "
      "parent: p, minMember: 4}, {name: d, minSubGroup: 2}, {name: d1, parent: d, minMember: 3}, {name: d2, "
      "parent: d, minMember: 3}, {name: d3, parent: d, minMember: 3}]}");
  EXPECT_EQ(group.unsupported + group.wrong, "");
  EXPECT_EQ(group.needs, 1);
  EXPECT_THAT(group.rings, ElementsAre(GangRing{"p", "", {}, {}}, GangRing{"d", "", {}, 2}));
  EXPECT_EQ(group.part_named("d3")->inside, "d");
  EXPECT_EQ(group.least, 5) << "p with its head and workers is smaller than two of d";
  EXPECT_THAT(group.rings_of("d1"), ElementsAre()) << "none asks for a topology";
}

TEST(KaiPodGroup, SubgroupsOfSubgroupsAskForLevels) {
  const auto group = group_of(
      "{subGroups: [{name: g, topologyConstraint: {requiredTopologyLevel: zone}}, {name: h, parent: g, "
      "topologyConstraint: {preferredTopologyLevel: rack}}, {name: a, parent: h}, {name: b, parent: h}, "
      "{name: c, parent: g}, {name: d}]}");
  EXPECT_EQ(group.unsupported, "");
  const GangRing g{"g", "", {"zone", "", 0, ""}};
  const GangRing h{"h", "g", {"", "rack", 0, ""}};
  EXPECT_THAT(group.rings_of("a"), ElementsAre(g, h));
  EXPECT_THAT(group.rings_of("c"), ElementsAre(g));
  EXPECT_THAT(group.rings_of("d"), ElementsAre());
  EXPECT_TRUE(group.parts_ask_for_topology());
}

TEST(KaiPodGroup, SubgroupsThatAreChosenKeepTheirLevels) {
  const auto group = group_of(
      "{subGroups: [{name: g, topologyConstraint: {requiredTopologyLevel: rack}}, {name: a, "
      "parent: g}, {name: b, parent: g}, {name: some, minSubGroup: 1}, {name: c, parent: some}, "
      "{name: d, parent: some}]}");
  EXPECT_EQ(group.unsupported, "");
  EXPECT_TRUE(group.chooses());
  EXPECT_THAT(group.rings_of("a"), ElementsAre(GangRing{"g", "", {"rack", "", 0, ""}}));
}

TEST(KaiPodGroup, NamesWhatItCannotCarryOut) {
  EXPECT_THAT(group_of("{minSubGroup: 3, subGroups: [{name: a}, {name: b}]}").wrong,
              HasSubstr("needs 3 subgroups"));
  EXPECT_THAT(group_of("{subGroups: [{name: a, parent: x}]}").wrong, HasSubstr("no subgroup x"));
}

}  // namespace
}  // namespace berth::dialect
