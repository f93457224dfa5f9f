// LeaderWorkerSets with their own controller. They cannot be suspended: their pods wait, and a group that is displaced is made anew.
//   scripts/controllers build lws && build/release/tests/e2e/test_e2e --gtest_filter='BerthLws.*'
#include <string>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

class BerthLws : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"lws"}; }
};

TEST_F(BerthLws, AGroupWaitsStartsWholeIsDisplacedWholeAndStartsAgain) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(4));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(leader_worker(3));
}

TEST_F(BerthLws, AGroupOfProductionWithALeaderOfItsOwnDoesTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(6));
  create_claim("data");
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(leader_worker(4, false, "data"));
}

// The workers are made when the leader is ready, and their places are kept until then. A group that has no room for all of them has no
// leader.
TEST_F(BerthLws, AGroupWhoseWorkersComeLaterDoesTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(6));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(leader_worker(4, true));
}

// Each group is a gang of its own: as many run as have room, each whole.
TEST_F(BerthLws, GroupsStartEachOnItsOwn) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(5));
  ASSERT_NE(start_berth(), nullptr);
  JudgedKind kind = leader_worker(2);
  json body = kind.body("many", "low");
  body["spec"]["replicas"] = 3;
  create(kind.path, body);
  EXPECT_TRUE(eventually([&] { return occupying("many") == 4; })) << said(kind, "many");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(occupying("many"), 4U) << "one GPU is free, and the third group needs two: "
                                   << said(kind, "many");
  grant(6);
  EXPECT_TRUE(eventually([&] { return occupying("many") == 6; })) << said(kind, "many");
  // The group with the highest number goes first.
  patch(kind.path + "/many", {{"spec", {{"replicas", 2}}}});
  EXPECT_TRUE(eventually([&] { return pods("many") == 4 && occupying("many") == 4; })) << said(kind, "many");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
