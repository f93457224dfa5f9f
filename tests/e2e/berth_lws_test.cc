// LeaderWorkerSets with their own controller. They cannot be suspended: their pods wait, and a group that is displaced is made anew.
//   scripts/controllers build lws && build/release/tests/e2e/test_e2e --gtest_filter='Berth*Lws.*'
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
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

// Groups of four pods with exclusive topology: each fills a rack.
class BerthExclusiveLws : public BerthLws {
 protected:
  const JudgedKind kind_ = leader_worker(4);

  void make(const std::string& name, const std::string& priority_class, int groups,
            bool leader_ready = false) {
    json body = leader_worker(4, leader_ready).body(name, priority_class);
    body["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/exclusive-topology"] = kRack;
    body["spec"]["replicas"] = groups;
    create(kind_.path, body);
  }
  void remove(const std::string& name) {
    EXPECT_TRUE(cluster_->client().del(kind_.path + "/" + name).ok());
    EXPECT_TRUE(eventually([&] { return pods(name) == 0; })) << name;
  }
  // So many groups of it have nodes, each all of its pods, and in a rack where no other group is.
  bool runs(const std::string& name, std::size_t groups) const {
    std::map<std::string, std::size_t> of_group;
    std::map<std::string, std::set<std::string>> racks;
    for (const auto& [key, pod] : observer_->pods()) {
      if (!pod.occupies()) continue;
      const std::size_t number = key.find('-') + 1;
      const std::string group = key.substr(0, key.find('-', number));
      const bool in_rack = pod.node.starts_with("rack-");
      racks[!in_rack ? "none" : pod.node.back() < '2' ? "r0" : "r1"].insert(group);
      if (key.starts_with("default/" + name + "-")) ++of_group[group];
    }
    const auto holds_one = [](const auto& rack) { return rack.first != "none" && rack.second.size() == 1; };
    const auto is_whole = [](const auto& group) { return group.second == 4; };
    return of_group.size() == groups && std::all_of(of_group.begin(), of_group.end(), is_whole) &&
           std::all_of(racks.begin(), racks.end(), holds_one);
  }
  void expect_runs(const std::string& name, std::size_t groups) {
    EXPECT_TRUE(eventually([&] { return runs(name, groups); })) << name << ": " << said(kind_, name);
  }
};

// The workers are made when their leader has a node, and are sent to its rack.
TEST_F(BerthExclusiveLws, GroupsWaitStartWholeAreDisplacedWholeAndStartAgain) {
  ASSERT_NO_FATAL_FAILURE(start_with_racks());
  make("low", "low", 2);
  expect_runs("low", 2);
  make("next", "low", 1);
  EXPECT_TRUE(eventually([&] { return pods("next") == 1; })) << said(kind_, "next");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(pods("next"), 1U) << "its leader alone";
  EXPECT_EQ(occupying("next"), 0U) << "twelve GPUs are free, and no rack is";
  make("high", "high", 1);
  expect_runs("high", 1);
  expect_runs("low", 1);
  remove("high");
  // The leader that was made anew is younger than the one that waits.
  expect_runs("next", 1);
  remove("next");
  expect_runs("low", 2);
  expect_clean();
}

TEST_F(BerthExclusiveLws, WorkersBehindALeaderThatIsReadyHaveTheirRackKept) {
  ASSERT_NO_FATAL_FAILURE(start_with_racks());
  make("ready", "low", 2, true);
  expect_runs("ready", 2);
  make("high", "high", 2, true);
  expect_runs("high", 2);
  EXPECT_EQ(occupying("ready"), 0U);
  remove("high");
  expect_runs("ready", 2);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e
