// Nodes and devices that are out (sim/replay/outages.h).
#include "sim/replay/outages.h"

#include <gtest/gtest.h>

#include "sim/trace/fleet.h"

namespace berth::sim {
namespace {

Input two_nodes() {
  Input input;
  for (const char* name : {"a", "b"}) {
    NodeShape shape;
    shape.gpus = 4;
    input.nodes.push_back(make_node(name, shape));
  }
  return input;
}

TEST(Outages, ANodeIsBackWhenTheLastFailureIsRepaired) {
  const Input input = two_nodes();
  Outages outages(input);
  ASSERT_TRUE(outages.prepare());
  outages.take_out(0, -1);
  outages.take_out(0, -1);
  EXPECT_TRUE(outages.is_out(0));
  EXPECT_FALSE(outages.is_out(1));
  EXPECT_EQ(outages.gpu_milli(0), 4000);
  EXPECT_FALSE(outages.bring_back(0, -1));
  EXPECT_TRUE(outages.bring_back(0, -1));
  EXPECT_EQ(outages.gpu_milli(0), 0);
}

TEST(Outages, ADeviceIsUnhealthyWhileItIsOut) {
  const Input input = two_nodes();
  Outages outages(input);
  ASSERT_TRUE(outages.prepare());
  outages.take_out(1, 2);
  EXPECT_FALSE(outages.is_out(1));
  EXPECT_EQ(outages.gpu_milli(1), 1000);
  EXPECT_EQ(outages.node_now(1).devices.front().unhealthy, std::vector<std::int64_t>{2});
  outages.take_out(1, -1);
  EXPECT_EQ(outages.gpu_milli(1), 4000) << "no device counts twice";
  EXPECT_TRUE(outages.bring_back(1, -1));
  EXPECT_TRUE(outages.bring_back(1, 2));
  EXPECT_TRUE(outages.node_now(1).devices.front().unhealthy.empty());
}

TEST(Outages, NumbersOfRepairsAreUsedAgain) {
  const Input input = two_nodes();
  Outages outages(input);
  ASSERT_TRUE(outages.prepare());
  const auto first = outages.begin_repair({{0}, -1, 5});
  const auto second = outages.begin_repair({{1}, 3, 6});
  EXPECT_NE(first, second);
  EXPECT_EQ(outages.end_repair(first).nodes, std::vector<std::uint32_t>{0});
  EXPECT_EQ(outages.begin_repair({{1}, -1, 7}), first);
  EXPECT_EQ(outages.end_repair(second).device, 3);
}

TEST(Outages, RestingRulesAreTakenOnce) {
  const Input input = two_nodes();
  Outages outages(input);
  outages.rest(3);
  EXPECT_EQ(outages.take_resting(), std::vector<std::uint32_t>{3});
  EXPECT_TRUE(outages.take_resting().empty());
}

}  // namespace
}  // namespace berth::sim
