// The lazy index (engine/nodes/index.h) against a plain look at all nodes.
#include "engine/nodes/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "engine/nodes/choose.h"
#include "engine/nodes/counted.h"
#include "engine/nodes/demand.h"
#include "engine/nodes/room.h"
#include "engine/nodes/score.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

// The lazy index against a plain look at all nodes, through random use, changed mixes, changed nodes and counted terms.
TEST(Fragmentation, TheIndexAnswersAsAPlainSearch) {
  NodeTable nodes;
  Counted counted(nodes);
  nodes.resource("cpu");
  const ResourceId gpu = nodes.resource("nvidia.com/gpu");
  Random random(5);
  const auto upsert = [&](std::size_t i) {
    Labels labels{{"host", std::to_string(i)}};
    labels["zone"] = std::string(1, static_cast<char>('a' + random.below(6)));
    if (random.below(3) == 0) labels["model"] = "x";
    auto node = std::get<NodeUpsert>(gpu_node("n" + std::to_string(i), static_cast<int>(random.below(5)),
                                              labels, 16 + static_cast<std::int64_t>(random.below(2)) * 16))
                    .node;
    node.rank = static_cast<std::int64_t>(random.below(50));
    ok(nodes.upsert(node));
    counted.set_node(*nodes.find(node.name));
  };
  for (std::size_t i = 0; i < 60; ++i) upsert(i);
  std::vector<Shape> shapes;
  for (int s = 0; s < 12; ++s) {
    Shape shape;
    shape.amounts.push_back({NodeTable::cpu(), 1000 * (1 + s % 5)});
    if (s % 4 != 3) {
      const std::int64_t milli = s % 2 == 0 ? 1000 : 150 + 100 * s;
      shape.devices.push_back({gpu, s % 4 == 2 ? 2 : 1, std::min<std::int64_t>(milli, 1000)});
      shape.amounts.push_back({gpu, shape.devices[0].count * shape.devices[0].milli});
    }
    if (s % 5 == 4) shape.selector = {{"model", "x"}};
    if (s == 1) shape.counted = counted.intern({}, {"red"});
    if (s == 2) shape.counted = counted.intern({{TermKind::kApart, "blue", "zone"}}, {"blue"});
    if (s == 5) shape.counted = counted.intern({{TermKind::kNear, "red", "zone"}}, {});
    if (s == 6) shape.counted = counted.intern({{TermKind::kNear, "kin", "zone"}}, {"kin"});
    if (s == 9) shape.counted = counted.intern({{TermKind::kApart, "red", "host"}}, {"red", "blue"});
    if (s == 3) shape.counted = counted.intern({{TermKind::kSpread, "red", "zone", 2, 1}}, {"red"});
    if (s == 4) shape.counted = counted.intern({{TermKind::kSpread, "blue", "zone", 1, 1}}, {"red"}, shape);
    if (s == 10) shape.counted = counted.intern({{TermKind::kSpread, "red", "host", 3, 1}}, {"red", "blue"});
    if (s == 0) {
      shape.counted =
          counted.intern({}, {"red"}, shape,
                         {{10, {TermKind::kSpread, "red", "zone"}}, {3, {TermKind::kApart, "blue", "host"}}});
    }
    if (s == 7) {
      shape.counted = counted.intern({{TermKind::kSpread, "blue", "zone", 5, 1}}, {"blue"}, shape,
                                     {{50, {TermKind::kNear, "red", "zone"}}});
    }
    shape.placement = s < 8 ? Placement::kFragmentation : static_cast<Placement>(1 + s % 4);
    shapes.push_back(shape);
  }
  Fragments fragments;
  Demand demand;
  std::vector<ShapeIndex> indices;
  for (const Shape& shape : shapes) {
    indices.emplace_back(shape, Mode::kStart);
    indices.emplace_back(shape, Mode::kPlan);
  }
  struct Placed {
    NodeId node;
    std::size_t shape;
    Grant grant;
    PlaneMask planes;
    SlotKey slot;
  };
  std::vector<Placed> placed;
  const auto slot = [](std::uint32_t i) { return SlotKey{WorkloadId(i), 0, 0}; };
  std::uint32_t slots = 0;
  int found = 0;
  int by_age = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::size_t s = random.below(shapes.size());
    const Mode mode = random.below(4) == 0 ? Mode::kPlan : Mode::kStart;
    const Shape* const one = &shapes[s];
    demand.saw(make_kind({&one, 1}, NodeTable::cpu()), 1);
    if (demand.look()) fragments.use(demand.mix(), nodes);
    if (random.below(200) == 0) {  // an idle node changes
      const std::size_t i = random.below(60);
      const NodeId id(i);
      if (std::none_of(placed.begin(), placed.end(), [&](const Placed& p) { return p.node == id; }))
        upsert(i);
    }
    ShapeIndex& index = indices[2 * s + static_cast<std::size_t>(mode)];
    index.refresh(nodes, fragments, counted);
    const DeviceRequestId request = nodes.device_states().request(shapes[s].devices);
    const bool ages = shapes[s].placement == Placement::kFragmentation && fragments.work_ends();
    NodeId best;
    std::tuple<std::int64_t, TimeMs, std::uint64_t> best_key;
    std::int64_t total = 0;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const NodeId id(n);
      if (static_mismatch(shapes[s], nodes.record(id).spec).code != ReasonCode::kNone) continue;
      std::int64_t fit = fit_by_room(nodes, id, shapes[s], mode);
      if (shapes[s].counted.valid()) fit = std::min(fit, counted.cap(id, shapes[s].counted, mode));
      total += fit;
      if (fit == 0) continue;
      std::int64_t wanted = preference(shapes[s], nodes.record(id).spec);
      if (shapes[s].counted.valid()) wanted += counted.lean(id, shapes[s].counted);
      const std::tuple key(score(nodes, fragments, id, shapes[s], request, wanted, mode).key,
                           ages ? nodes.held().ages.oldest(id) : 0, nodes.tie(id));
      if (best.valid() && std::get<0>(key) == std::get<0>(best_key) &&
          std::get<1>(key) != std::get<1>(best_key))
        ++by_age;
      if (best.valid() && key > best_key) continue;
      best = id;
      best_key = key;
    }
    if (shapes[s].counted.valid() && counted.limits_itself(shapes[s].counted, mode)) {
      // Slots that spread themselves make room for each other.
      if (!counted.has_spread(shapes[s].counted)) {
        ASSERT_LE(index.total(), total) << round;
      }
      ASSERT_EQ(index.total() > 0, total > 0) << round;
    } else {
      ASSERT_EQ(index.total(), total) << round;
    }
    ASSERT_EQ(index.best(), best) << round;
    if (best.valid() && random.below(5) > 0) {
      ++found;
      Grant grant;
      choose(nodes, fragments, best, shapes[s], mode, grant);
      std::int64_t wanted = 0;
      for (const auto& d : shapes[s].devices) wanted += d.count;
      ASSERT_EQ(static_cast<std::int64_t>(grant.pieces.size()), wanted) << round;
      placed.push_back({best, s, grant, planes_of(mode), slot(slots++)});
      nodes.charge(best, shapes[s], grant, placed.back().planes, +1);
      if (shapes[s].counted.valid()) counted.add(best, shapes[s].counted, placed.back().planes, +1);
      const auto start = static_cast<TimeMs>(random.below(50));
      if (wanted > 0) nodes.held().ages.came(best, placed.back().slot, start < 10 ? kEndOfTime : start);
      if (wanted > 0 && start == 10) nodes.held().ages.began(best, placed.back().slot, 5);
    } else if (!placed.empty()) {
      const std::size_t at = random.below(placed.size());
      const Shape& gone = shapes[placed[at].shape];
      nodes.charge(placed[at].node, gone, placed[at].grant, placed[at].planes, -1);
      if (gone.counted.valid()) counted.add(placed[at].node, gone.counted, placed[at].planes, -1);
      if (!gone.devices.empty()) nodes.held().ages.went(placed[at].node, placed[at].slot);
      if (round > 1000) demand.ended(1);
      placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (random.below(1000) == 0) nodes.device_states().clear();
  }
  EXPECT_GT(found, 500);
  EXPECT_GT(by_age, 50);
}

// A new mix looks again at blocks in which something fits. Room that came into a full block at the same time is found, too.
TEST(Fragmentation, TheIndexFindsRoomThatComesWithANewMix) {
  NodeTable nodes;
  const Counted counted(nodes);
  const ResourceId gpu = nodes.resource("nvidia.com/gpu");
  Shape shape;
  shape.devices.push_back({gpu, 1, kWholeDevice});
  shape.amounts.push_back({gpu, kWholeDevice});
  shape.placement = Placement::kFragmentation;
  for (int i = 0; i < 100; ++i)
    ok(nodes.upsert(std::get<NodeUpsert>(gpu_node("n" + std::to_string(i), 1)).node));
  Fragments fragments;
  Demand demand;
  const Shape* const one = &shape;
  demand.saw(make_kind({&one, 1}, NodeTable::cpu()), 1000);
  EXPECT_TRUE(demand.look());
  fragments.use(demand.mix(), nodes);
  std::vector<Grant> grants(100);
  for (std::size_t i = 0; i < 100; ++i) {
    choose(nodes, fragments, NodeId(i), shape, Mode::kStart, grants[i]);
    nodes.charge(NodeId(i), shape, grants[i], kBothPlanes, +1);
  }
  ShapeIndex index(shape, Mode::kStart);
  index.refresh(nodes, fragments, counted);
  EXPECT_FALSE(index.best().valid());
  for (const std::size_t freed : {70, 3, 99}) {
    nodes.charge(NodeId(freed), shape, grants[freed], kBothPlanes, -1);
    fragments.weigh(nodes);
    index.refresh(nodes, fragments, counted);
    EXPECT_EQ(index.best(), NodeId(freed));
    nodes.charge(NodeId(freed), shape, grants[freed], kBothPlanes, +1);
    fragments.weigh(nodes);
    index.refresh(nodes, fragments, counted);
    EXPECT_FALSE(index.best().valid());
  }
}

}  // namespace
}  // namespace berth::engine
