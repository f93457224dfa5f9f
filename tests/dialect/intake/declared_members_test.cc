// Gangs that their pods declare before all of them are there: YuniKorn's task groups with minResource.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

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

constexpr const char* kSpark = "Gang/YuniKorn/default/spark";
constexpr const char* kGroups =
    R"([{"name":"driver","minMember":1,"minResource":{"cpu":"1"}},)"
    R"({"name":"executor","minMember":3,"minResource":{"cpu":"1","nvidia.com/gpu":"2"},"nodeSelector":{"pool":"big"}}])";

std::string task_of(const std::string& name, const std::string& group, int gpus,
                    const std::string& groups = "", const std::string& node = "") {
  std::string marks = "  annotations: {yunikorn.apache.org/task-group-name: " + group;
  if (!groups.empty()) marks += ", yunikorn.apache.org/task-groups: '" + groups + "'";
  std::string spec = "  nodeSelector: {pool: big}\n";
  if (!node.empty()) spec += "  nodeName: " + node + "\n";
  return pod_yaml(name, gpus, marks + "}\n  labels: {applicationId: spark}\n", spec);
}

std::string spark_driver(const std::string& groups = kGroups, const std::string& node = "") {
  return task_of("driver", "driver", 0, groups, node);
}

std::string big_node(const std::string& name, int gpus) {
  return node_yaml(name, gpus, "    pool: big\n");
}

// The places that the gang gets, "SET@NODE " each.
std::string spark_places(World& world) {
  std::string out;
  for (const Decision& decision : world.decide()) {
    if (decision.workload != kSpark) continue;
    for (const SlotPlacement& slot : decision.slots)
      out += world.told.at(kSpark).root.pod_sets.at(static_cast<std::size_t>(slot.pod_set)).name + "@" +
             slot.node + " ";
  }
  return out;
}

TEST(DeclaredMembers, TheGangStartsWhenAllThatItDeclaresHaveRoom) {
  World world;
  world.apply(big_node("n0", 4) + spark_driver());
  EXPECT_EQ(spark_places(world), "") << "two of three executors have room";
  world.apply(node_yaml("n1", 8));
  EXPECT_EQ(spark_places(world), "") << "a node that no executor may use";
  world.apply(big_node("n2", 2));
  EXPECT_EQ(spark_places(world).substr(0, 8), "driver@n");
  const auto& sets = world.told.at(kSpark).root.pod_sets;
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[1].name, "executor");
  EXPECT_EQ(sets[1].count, 3);
  EXPECT_EQ(sets[1].least, 3);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_TRUE(world.intake.expects(kSpark, 1, i)) << i;
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(DeclaredMembers, PodsThatAskForNoMoreTakeThePlaces) {
  World world;
  world.apply(big_node("n0", 6) + spark_driver());
  EXPECT_NE(spark_places(world), "");
  world.apply(spark_driver(kGroups, "n0") + task_of("e0", "executor", 2) + task_of("e1", "executor", 2));
  EXPECT_FALSE(world.intake.expects(kSpark, 1, 0));
  EXPECT_EQ(world.intake.pod_at(kSpark, 1, 0)->name, "e0");
  EXPECT_EQ(world.intake.pod_at(kSpark, 1, 1)->name, "e1");
  EXPECT_TRUE(world.intake.expects(kSpark, 1, 2));
  EXPECT_EQ(world.told.at(kSpark).root.pod_sets.size(), 2u);
  world.remove(Kind::kPod, "e1");
  EXPECT_TRUE(world.intake.expects(kSpark, 1, 1)) << "its place waits for another";
}

TEST(DeclaredMembers, APodThatAsksForMoreIsPlacedByItsOwnRequest) {
  World world;
  world.apply(big_node("n0", 8) + spark_driver());
  EXPECT_NE(spark_places(world), "");
  world.apply(spark_driver(kGroups, "n0") + task_of("e0", "executor", 4));
  const auto& sets = world.told.at(kSpark).root.pod_sets;
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[2].count, 1);
  EXPECT_TRUE(world.intake.expects(kSpark, 1, 0));
  EXPECT_TRUE(world.intake.expects(kSpark, 1, 1));
  EXPECT_FALSE(world.intake.expects(kSpark, 1, 2)) << "it stands for one of them";
  EXPECT_THAT(world.refused, IsEmpty());
}

// After a restart the pods come in any order.
TEST(DeclaredMembers, TheDeclarationMayComeBehindOtherPods) {
  World world;
  world.apply(big_node("n0", 6) + task_of("e0", "executor", 2));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked(kSpark)), HasSubstr("task-groups"));
  world.apply(spark_driver());
  EXPECT_NE(spark_places(world), "") << "one is there, and two are to come";
  EXPECT_EQ(world.intake.blocked(kSpark), nullptr);
}

TEST(DeclaredMembers, PodsThatEndedWellAreNotExpectedAgain) {
  World world;
  world.apply(big_node("n0", 6) + spark_driver(kGroups, "n0") + task_of("e0", "executor", 2, "", "n0"));
  EXPECT_TRUE(world.intake.expects(kSpark, 1, 1) && world.intake.expects(kSpark, 1, 2));
  std::string ended = task_of("e0", "executor", 2, "", "n0");
  ended.erase(ended.find("---"));
  world.apply(ended + "status: {phase: Succeeded, containerStatuses: []}\n");
  int expected = 0;
  for (std::int64_t set = 0; set < 3; ++set) {
    for (std::int64_t i = 0; i < 3; ++i) expected += world.intake.expects(kSpark, set, i) ? 1 : 0;
  }
  EXPECT_EQ(expected, 2) << "one of three has ended";
}

TEST(DeclaredMembers, WithoutWhatTheyAskForTheGangWaitsForItsPods) {
  World world;
  const char* groups = R"([{"name":"driver","minMember":1},{"name":"executor","minMember":1}])";
  world.apply(big_node("n0", 6) + spark_driver(groups));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked(kSpark)), HasSubstr("executor"));
  world.apply(task_of("e0", "executor", 2));
  EXPECT_NE(spark_places(world), "");
}

TEST(DeclaredMembers, AnAmountThatCannotBeReadKeepsTheGangWaiting) {
  World world;
  world.apply(big_node("n0", 6) +
              spark_driver(R"([{"name":"driver","minMember":1,"minResource":{"cpu":"many"}}])"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked(kSpark)), HasSubstr("minResource of driver"));
}

TEST(DeclaredMembers, TheirPlacesAreBounded) {
  World world;
  world.apply(big_node("n0", 6) +
              spark_driver(R"([{"name":"driver","minMember":1},{"name":"executor","minMember":1000000,)"
                           R"("minResource":{"cpu":"1"}}])"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked(kSpark)), HasSubstr("300000 slots"));
}

// The driver of such an application, with YuniKorn's parameters. `started`: seconds from the beginning.
std::string driver_with(const std::string& parameters, const std::string& node = "", int started = 0) {
  std::string out = spark_driver(kGroups, node);
  const std::string mark = "annotations: {";
  out.insert(out.find(mark) + mark.size(),
             "yunikorn.apache.org/schedulingPolicyParameters: '" + parameters + "', ");
  if (started == 0) return out;
  const std::string status = "status: {phase: Running, startTime: '1970-01-01T00:0" +
                             std::to_string(started / 60) + ":" + (started % 60 < 10 ? "0" : "") +
                             std::to_string(started % 60) + "Z'}\n";
  return out.insert(out.find("---\n"), status);
}

std::string two_executors(const std::string& node = "") {
  return task_of("e0", "executor", 2, "", node) + task_of("e1", "executor", 2, "", node);
}

std::vector<std::string> starts_at(World& world, TimeMs now) {
  world.intake.pass(now);
  world.drain();
  std::vector<std::string> out;
  for (const Decision& decision : world.decide(now)) {
    for (const SlotPlacement& slot : decision.slots) {
      const auto pod = world.intake.pod_at(decision.workload, slot.pod_set, slot.index);
      out.push_back(pod ? std::string(pod->name) : "nobody");
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(DeclaredMembers, OfASoftGangStartOneByOneWhenItsTimeHasPassed) {
  World world;
  world.apply(big_node("n0", 4) + driver_with("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Soft") +
              two_executors());
  EXPECT_THAT(starts_at(world, 59 * kSecond), IsEmpty()) << "two of three executors have room";
  EXPECT_GT(world.intake.next_time(), 60 * kSecond);
  EXPECT_LT(world.intake.next_time(), 61 * kSecond);
  EXPECT_THAT(starts_at(world, 61 * kSecond), ElementsAre("driver", "e0", "e1"));
  world.apply(driver_with("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Soft", "n0", 62) +
              two_executors("n0") + task_of("e2", "executor", 2));
  EXPECT_THAT(starts_at(world, 70 * kSecond), IsEmpty()) << "there is no room";
  world.apply(big_node("n1", 2));
  EXPECT_THAT(starts_at(world, 80 * kSecond), ElementsAre("e2"));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(DeclaredMembers, OfAGangThatIsNotSoftWaitForAllOfThem) {
  for (const char* parameters : {"gangSchedulingStyle=Hard", "placeholderTimeoutInSeconds=60",
                                 "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard"}) {
    World world;
    world.apply(big_node("n0", 4) + driver_with(parameters) + two_executors());
    EXPECT_THAT(starts_at(world, 10'000 * kSecond), IsEmpty()) << parameters;
  }
  World world;
  world.apply(big_node("n0", 4) + driver_with("gangSchedulingStyle=Soft") + two_executors());
  EXPECT_THAT(starts_at(world, 899 * kSecond), IsEmpty());
  EXPECT_THAT(starts_at(world, 901 * kSecond), ElementsAre("driver", "e0", "e1")) << "YuniKorn's default";
}

// After a restart, too: what the pods say of their start is enough.
TEST(DeclaredMembers, GiveTheirPlacesBackSoLongAfterTheStart) {
  for (const char* style : {"", " gangSchedulingStyle=Soft", " gangSchedulingStyle=Hard"}) {
    const std::string parameters = std::string("placeholderTimeoutInSeconds=60") + style;
    World world;
    world.apply(big_node("n0", 6) + driver_with(parameters));
    EXPECT_THAT(starts_at(world, 10 * kSecond), ElementsAre("driver", "nobody", "nobody", "nobody"));
    world.apply(driver_with(parameters, "n0", 10) + task_of("e0", "executor", 2, "", "n0") +
                pod_yaml("other", 2));
    EXPECT_THAT(starts_at(world, 69 * kSecond), IsEmpty()) << "two places are kept";
    EXPECT_THAT(starts_at(world, 71 * kSecond), ElementsAre("other")) << parameters;
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_FALSE(world.intake.expects(kSpark, 1, i)) << i;
    world.apply(task_of("e1", "executor", 2));
    EXPECT_THAT(starts_at(world, 72 * kSecond), ElementsAre("e1")) << "it needs none of the others";
    EXPECT_THAT(world.refused, IsEmpty());
    EXPECT_TRUE(world.engine.audit());
  }
}

TEST(DeclaredMembers, WaitWhereTheirParametersCannotBeRead) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"placeholderTimeoutInSeconds=soon", "placeholderTimeoutInSeconds \"soon\" is not an integer"},
      {"placeholderTimeoutInSeconds=-1", "placeholderTimeoutInSeconds \"-1\""},
      {"gangSchedulingStyle=soft", "gangSchedulingStyle \"soft\" is not Soft or Hard"}};
  for (const auto& [parameters, why] : kWrong) {
    World world;
    world.apply(big_node("n0", 8) + driver_with(parameters));
    EXPECT_THAT(starts_at(world, kSecond), IsEmpty());
    ASSERT_NE(world.intake.blocked(kSpark), nullptr);
    EXPECT_THAT(world.intake.blocked(kSpark)->detail, HasSubstr(why));
  }
}

}  // namespace
}  // namespace berth::dialect
