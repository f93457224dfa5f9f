// Gangs that pods say by their marks alone: what several pods say together.
#include "dialect/gangs/said_gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"
#include "dialect/koordinator/gang_marks.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Meta pod_of(std::string_view gang, std::string_view least, std::string_view groups = {}) {
  Meta out;
  out.ns = "default";
  out.annotations = {{std::string(kKoordinatorGang), std::string(gang)},
                     {std::string(kKoordinatorLeast), std::string(least)}};
  if (!groups.empty()) out.annotations.emplace(kKoordinatorGroups, groups);
  return out;
}

TEST(SaidGang, PodsThatAgreeAreAGang) {
  SaidByPods said;
  EXPECT_FALSE(said.any());
  for (int i = 0; i < 2; ++i) said.count(*koordinator_gang(pod_of("a", "3")), +1);
  EXPECT_TRUE(said.any());
  const GangObject gang = said.object(kKoordinatorLeast);
  EXPECT_EQ(gang.wrong, "");
  EXPECT_EQ(gang.least, 3);
  EXPECT_THAT(gang.parts, ElementsAre());
}

TEST(SaidGang, AContradictionLastsAsLongAsItsPod) {
  SaidByPods said;
  said.count(*koordinator_gang(pod_of("a", "3")), +1);
  const auto other = *koordinator_gang(pod_of("a", "4"));
  said.count(other, +1);
  EXPECT_THAT(said.object(kKoordinatorLeast).wrong, HasSubstr("members disagree"));
  said.count(other, -1);
  EXPECT_EQ(said.object(kKoordinatorLeast).wrong, "");
  const auto wrong = *koordinator_gang(pod_of("a", "-1"));
  said.count(wrong, +1);
  EXPECT_THAT(said.object(kKoordinatorLeast).wrong, HasSubstr("\"-1\" is not an integer"));
  said.count(wrong, -1);
  EXPECT_EQ(said.object(kKoordinatorLeast).least, 3);
}

TEST(SaidGang, GangsThatStartTogetherAreItsParts) {
  const char* groups = R"(["default/a","default/b"])";
  SaidByPods said;
  const auto a = koordinator_gang(pod_of("a", "3", groups));
  EXPECT_EQ(a->name, "a+b");
  EXPECT_EQ(a->part, "a");
  said.count(*a, +1);
  EXPECT_THAT(said.object(kKoordinatorLeast).parts, ElementsAre(GangPart{"a", 3}, GangPart{"b", 1}))
      << "how many of b is not said yet";
  const auto b = koordinator_gang(pod_of("b", "2", groups));
  EXPECT_EQ(b->name, "a+b");
  said.count(*b, +1);
  const GangObject gang = said.object(kKoordinatorLeast);
  EXPECT_THAT(gang.parts, ElementsAre(GangPart{"a", 3}, GangPart{"b", 2}));
  EXPECT_EQ(gang.least, 5);
  EXPECT_EQ(gang.wrong, "");
}

TEST(SaidGang, LabelsDoNotCount) {
  Meta pod;
  pod.labels = {{std::string(kKoordinatorGang), "a"}};
  EXPECT_FALSE(koordinator_gang(pod));
}

}  // namespace
}  // namespace berth::dialect
