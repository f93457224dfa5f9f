// Pod sets that must lie in one domain by terms about pods: the first of them goes where all have room.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

class NearSets : public ::testing::Test {
 protected:
  // Racks r0, r1 and so on, with so many nodes of `gpus` GPUs.
  void racks(int count, int nodes, int gpus) {
    for (int r = 0; r < count; ++r) {
      for (int n = 0; n < nodes; ++n) node(r, n, gpus);
    }
  }
  void node(int rack, int number, int gpus) {
    const std::string name = "r" + std::to_string(rack);
    ok(e.apply(gpu_node(name + "-" + std::to_string(number), gpus, {{"rack", name}})));
  }
  // Pods of so many GPUs, each set near to the others.
  void group(int leader, int workers, int gpus) {
    Workload w = gang_workload("group", 1, leader);
    w.root.pod_sets.push_back(gang_workload("group", workers, gpus).root.pod_sets[0]);
    w.root.pod_sets[0].name = "leader";
    for (PodSet& set : w.root.pod_sets) {
      set.pod.selected = {"of the group"};
      set.pod.terms = {{.kind = TermKind::kNear, .selector = "of the group", .level = "rack"}};
    }
    ok(e.apply(WorkloadUpsert{w}));
  }
  // The racks of the group; a node is named by its rack.
  std::set<std::string> start() {
    std::set<std::string> out;
    for (const Decision& d : e.decide(1000)) {
      for (const SlotPlacement& slot : d.slots) out.insert(slot.node.substr(0, slot.node.find('-')));
    }
    ok(e.audit());
    return out;
  }

  Engine e;
};

TEST_F(NearSets, LieInTheOneRackWithRoomForAll) {
  racks(60, 4, 1);
  node(50, 4, 1);
  group(1, 4, 1);
  EXPECT_EQ(start(), (std::set<std::string>{"r50"}));
}

// Each set has room in every rack, and both together in one.
TEST_F(NearSets, OfTwoSizesLieInTheOneRackWithRoomForAll) {
  for (const int leader : {1, 8}) {
    e = Engine();
    racks(60, 4, 8);
    node(50, 4, leader);
    group(leader, 4, 8);
    EXPECT_EQ(start(), (std::set<std::string>{"r50"})) << leader;
  }
}

// The tightest of those with room.
TEST_F(NearSets, LeaveTheLargerRackFree) {
  racks(1, 7, 1);
  for (int n = 0; n < 5; ++n) node(1, n, 1);
  for (int n = 0; n < 4; ++n) node(2, n, 1);
  group(1, 4, 1);
  EXPECT_EQ(start(), (std::set<std::string>{"r1"}));
}

TEST_F(NearSets, WaitWhereNoRackHasRoomForAll) {
  racks(40, 4, 1);
  group(1, 4, 1);
  EXPECT_TRUE(start().empty());
}

}  // namespace
}  // namespace berth::engine
