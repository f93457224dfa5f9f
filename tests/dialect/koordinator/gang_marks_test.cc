// The marks of Koordinator's gangs, as its own scheduler reads them.
#include "dialect/koordinator/gang_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"
#include "dialect/gangs/gangs.h"
#include "dialect/objects/gang_systems.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kBoth = R"(["default/a","default/b"])";

Meta member(std::string_view name, std::string_view least = {}) {
  Meta out;
  out.ns = "default";
  out.name = "pod";
  out.uid = "u";
  if (!name.empty()) out.annotations.emplace(kKoordinatorGang, name);
  if (!least.empty()) out.annotations.emplace(kKoordinatorLeast, least);
  return out;
}

// A pod with the oldest labels of coscheduling.
Meta labelled(std::string_view least) {
  Meta out = member("");
  out.labels.emplace(kOldestPodGroupName, "a");
  if (!least.empty()) out.labels.emplace(kOldestPodGroupSize, least);
  return out;
}

std::string workload_of(const Meta& meta) {
  Pod pod;
  pod.meta = meta;
  return membership_of(pod, gang_named_by(meta), nullptr).uid;
}

TEST(KoordinatorGang, AnEmptyLabelNamesNoOtherGang) {
  for (const std::string_view key : {kOlderPodGroupLabel, kOldestPodGroupName}) {
    Meta pod = member("a", "2");
    pod.labels.emplace(key, "");
    ASSERT_TRUE(koordinator_gang(pod)) << key;
    EXPECT_EQ(koordinator_gang(pod)->name, "a");
  }
}

TEST(KoordinatorGang, ALabelComesBeforeItsAnnotation) {
  Meta pod = member("a", "2");
  pod.labels.emplace(kOldestPodGroupName, "oldest");
  EXPECT_EQ(koordinator_gang(pod)->name, "oldest");
  pod.labels.emplace(kOlderPodGroupLabel, "group");
  EXPECT_FALSE(koordinator_gang(pod)) << "a PodGroup";
}

TEST(KoordinatorGang, OnePodMaySayTheNumberForAll) {
  SaidByPods said;
  said.count(*koordinator_gang(member("a")), +1);
  EXPECT_THAT(said.object(kKoordinatorLeast).wrong, HasSubstr("none of its pods has"));
  said.count(*koordinator_gang(member("a", "3")), +1);
  EXPECT_EQ(said.object(kKoordinatorLeast).wrong, "");
  EXPECT_EQ(said.object(kKoordinatorLeast).least, 3);
}

// A gang that others wait for must not be taken for one of a single pod.
TEST(KoordinatorGang, AmongSeveralEachPodSaysItsNumber) {
  Meta pod = member("a");
  pod.annotations.emplace(kKoordinatorGroups, kBoth);
  EXPECT_THAT(koordinator_gang(pod)->wrong, HasSubstr("min-available is required"));
}

TEST(KoordinatorGang, TheOldestLabelSaysTheNumberFirst) {
  Meta pod = member("a", "2");
  pod.labels.emplace(kOldestPodGroupSize, "3");
  EXPECT_THAT(koordinator_gang(pod)->least, ElementsAre(Pair("", 3)));
  EXPECT_EQ(koordinator_gang(pod)->key, kOldestPodGroupSize);
  pod.labels[std::string(kOldestPodGroupSize)] = "many";
  EXPECT_THAT(koordinator_gang(pod)->wrong,
              HasSubstr("pod-group.scheduling.sigs.k8s.io/min-available: \"many\""));
}

TEST(KoordinatorGang, TheOldestLabelsAloneAreThoseOfCoscheduling) {
  EXPECT_FALSE(koordinator_gang(labelled("2")));
  EXPECT_EQ(workload_of(labelled("2")), "Gang/coscheduling/default/a");
}

TEST(KoordinatorGang, TheOldestLabelWithItsNumberAsAnAnnotation) {
  Meta pod = labelled("");
  EXPECT_EQ(workload_of(pod), "Gang/coscheduling/default/a") << "which says that its number is required";
  pod.annotations.emplace(kKoordinatorLeast, "2");
  const auto gang = koordinator_gang(pod);
  ASSERT_TRUE(gang);
  EXPECT_EQ(gang->name, "a");
  EXPECT_THAT(gang->least, ElementsAre(Pair("", 2)));
  EXPECT_EQ(workload_of(pod), "Gang/Koordinator/default/a");
}

TEST(KoordinatorGang, TheOldestLabelsWithGangsThatStartTogether) {
  Meta pod = labelled("2");
  pod.annotations.emplace(kKoordinatorGroups, kBoth);
  const auto gang = koordinator_gang(pod);
  ASSERT_TRUE(gang);
  EXPECT_EQ(gang->name, "a+b");
  EXPECT_EQ(gang->part, "a");
  EXPECT_THAT(gang->least, ElementsAre(Pair("a", 2), Pair("b", 0)));
  EXPECT_EQ(workload_of(pod), "Gang/Koordinator/default/a+b");
}

}  // namespace
}  // namespace berth::dialect
