// The task groups of YuniKorn's applications, as its own scheduler reads them.
#include "dialect/yunikorn/gang_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kTwo =
    R"([{"name":"driver","minMember":1},{"name":"executor","minMember":3,"minResource":{"cpu":"1"}}])";

Meta task(std::string_view groups = kTwo) {
  Meta out;
  out.ns = "default";
  out.name = "driver";
  out.uid = "7f3c";
  out.labels = {{std::string(kYuniKornApp), "spark"}};
  out.annotations = {{std::string(kYuniKornGroup), "driver"},
                     {std::string(kYuniKornGroups), std::string(groups)}};
  return out;
}

Meta task_with(std::string_view parameters) {
  Meta out = task();
  out.annotations.emplace(kYuniKornParameters, parameters);
  return out;
}

TEST(YuniKornGang, HasTheNameOfItsApplication) {
  Meta pod = task();
  EXPECT_EQ(yunikorn_gang(pod)->name, "spark");
  pod.annotations.emplace(kYuniKornApp, "annotated");
  pod.labels = {{std::string(kOlderYuniKornApp), "older"}, {std::string(kSparkApp), "spark-1"}};
  EXPECT_EQ(yunikorn_gang(pod)->name, "annotated")
      << "the name with a domain comes first, also as an annotation";
  pod.annotations.erase(std::string(kYuniKornApp));
  EXPECT_EQ(yunikorn_gang(pod)->name, "older");
  pod.labels = {{std::string(kSparkApp), "spark-1"}};
  EXPECT_EQ(yunikorn_gang(pod)->name, "spark-1") << "Spark itself labels its pods so";
  EXPECT_EQ(yunikorn_gang(pod)->wrong, "");
}

TEST(YuniKornGang, TheNamesWithoutItsDomainAreLabels) {
  for (const std::string_view key : {kOlderYuniKornApp, kSparkApp}) {
    Meta pod = task();
    pod.labels = {};
    pod.annotations.emplace(key, "elsewhere");
    EXPECT_THAT(yunikorn_gang(pod)->wrong, HasSubstr("yunikorn.apache.org/app-id is required")) << key;
  }
}

// Its admission controller writes this ending for one application per pod. The uid is not known then.
TEST(YuniKornGang, AnApplicationPerPodHasTheUidOfThePod) {
  Meta pod = task();
  pod.labels = {{std::string(kYuniKornApp), "default-uniqueautogen"}};
  EXPECT_EQ(yunikorn_gang(pod)->name, "default-7f3c");
  pod.uid = "9a21";
  EXPECT_EQ(yunikorn_gang(pod)->name, "default-9a21");
}

TEST(YuniKornGang, TheFieldsOfATaskGroupMayBeWrittenInAnyCase) {
  const auto gang = yunikorn_gang(
      task(R"([{"Name":"driver","MinMember":2,"MinResource":{"cpu":"1"},"nodeselector":{"pool":"big"}}])"));
  EXPECT_EQ(gang->wrong, "");
  EXPECT_THAT(gang->least, ElementsAre(Pair("driver", 2)));
  ASSERT_TRUE(gang->pods.contains("driver"));
  EXPECT_THAT(gang->pods.at("driver"), HasSubstr(R"("nodeSelector":{"pool":"big"})"));
  const auto exact = yunikorn_gang(task(R"([{"MinMember":2,"minMember":3,"name":"driver"}])"));
  EXPECT_THAT(exact->least, ElementsAre(Pair("driver", 3))) << "the exact name comes first";
}

TEST(YuniKornGang, AmountsMayBeNumbers) {
  const auto gang = yunikorn_gang(task(R"([{"name":"driver","minMember":1,"minResource":{"cpu":2}}])"));
  EXPECT_EQ(gang->wrong, "");
  EXPECT_THAT(gang->pods.at("driver"), HasSubstr(R"("requests":{"cpu":"2"})"));
}

TEST(YuniKornGang, AnEmptyListIsNoTaskGroups) {
  for (const char* groups : {"[]", " [ ] ", "null"}) {
    Meta pod = task(groups);
    pod.annotations.erase(std::string(kYuniKornGroup));
    EXPECT_FALSE(yunikorn_gang(pod)) << groups;
    EXPECT_EQ(yunikorn_gang(task(groups))->wrong, "") << "another pod may say them";
    EXPECT_TRUE(yunikorn_gang(task(groups))->least.empty());
  }
}

// Placeholders have the task groups of their application. They keep the room of members, and are none.
TEST(YuniKornGang, PlaceholdersAreNoMembers) {
  for (const std::string_view key : {kYuniKornPlaceholder, kOlderYuniKornPlaceholder}) {
    Meta pod = task();
    pod.annotations.emplace(key, "true");
    EXPECT_FALSE(yunikorn_gang(pod)) << key;
    pod.annotations[std::string(key)] = "false";
    EXPECT_TRUE(yunikorn_gang(pod)) << key;
  }
}

TEST(YuniKornGang, ATimeoutOfZeroIsTheDefault) {
  EXPECT_EQ(yunikorn_gang(task_with("placeholderTimeoutInSeconds=0"))->patience, std::nullopt);
  EXPECT_EQ(yunikorn_gang(task_with("placeholderTimeoutInSeconds=0"))->wrong, "");
  const Patience soft{900 * kSecond, true};
  EXPECT_EQ(yunikorn_gang(task_with("gangSchedulingStyle=Soft placeholderTimeoutInSeconds=0"))->patience,
            soft);
  EXPECT_THAT(yunikorn_gang(task_with("placeholderTimeoutInSeconds=-1"))->wrong, HasSubstr("\"-1\""));
}

}  // namespace
}  // namespace berth::dialect
