// Free devices as values, the demand mix, what of a node's room expected demand can use.
#include "engine/nodes/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "engine/nodes/choose.h"
#include "engine/nodes/room.h"
#include "engine/nodes/score.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

const ResourceId kCpu = NodeTable::cpu();

struct Bench {
  NodeTable nodes;
  ResourceId gpu;
  Bench() {
    nodes.resource("cpu");
    gpu = nodes.resource("nvidia.com/gpu");
  }
  NodeId node(const std::string& name, int gpus, std::int64_t cpu, Labels labels = {}) {
    ok(nodes.upsert(std::get<NodeUpsert>(gpu_node(name, gpus, std::move(labels), cpu)).node));
    return *nodes.find(name);
  }
  Shape shape(std::int64_t cpu, std::int64_t count, std::int64_t milli, Labels selector = {}) const {
    Shape s;
    if (cpu > 0) s.amounts.push_back({kCpu, cpu});
    if (count > 0) {
      s.amounts.push_back({gpu, count * milli});
      s.devices.push_back({gpu, count, milli});
    }
    s.selector = std::move(selector);
    s.placement = Placement::kFragmentation;
    return s;
  }
  static Kind kind(const Shape& shape) {
    const Shape* const one = &shape;
    return make_kind({&one, 1}, kCpu);
  }
};

Mix mix_of(const std::vector<std::pair<Shape, std::int64_t>>& kinds) {
  std::vector<FrozenKind> list;
  for (const auto& [shape, weight] : kinds) list.push_back({Bench::kind(shape), weight});
  Demand demand;
  demand.give(list);
  EXPECT_TRUE(demand.look());
  return demand.mix();
}

TEST(DeviceStates, WholeDevicesOfOneKindAreTheSameStateByNumbersAlone) {
  DeviceStates states;
  for (int round = 0; round < 2; ++round) {
    for (const ResourceId resource : {ResourceId(0u), ResourceId(5u)}) {
      for (std::size_t taken = 0; taken <= DeviceStates::kMostWhole; ++taken) {
        for (std::size_t free = taken == 0 ? 1 : 0; taken + free <= DeviceStates::kMostWhole; ++free) {
          std::vector<DeviceStates::Free> devices(free, {resource, kWholeDevice, false});
          devices.resize(free + taken, {resource, 0, false});
          const DeviceStateId whole = states.whole(resource, taken, free);
          EXPECT_EQ(whole, states.intern(devices)) << taken << " of " << taken + free;
          EXPECT_EQ(whole, states.whole(resource, taken, free));
        }
      }
    }
    states.clear();
  }
}

TEST(DeviceStates, OrderDoesNotMatterAndEveryWayIsListed) {
  DeviceStates states;
  const ResourceId gpu(1u);
  std::vector<DeviceStates::Free> a{{gpu, 1000}, {gpu, 400}, {gpu, 700}, {gpu, 400}};
  std::vector<DeviceStates::Free> b{{gpu, 400}, {gpu, 700}, {gpu, 400}, {gpu, 1000}};
  const DeviceStateId state = states.intern(a);
  EXPECT_EQ(state, states.intern(b));
  EXPECT_EQ(states.idle(state), 2500);
  const ShapeDevices share{gpu, 1, 300};
  const DeviceRequestId request = states.request({&share, 1});
  EXPECT_EQ(states.fit(state, request), 3 + 1 + 2 + 1);
  const auto ways = states.after(state, request);
  ASSERT_EQ(ways.size(), 3u);  // from 400, from 700, from 1000: the least first
  const auto least = [&](DeviceStateId id) { return states.devices(id).front().milli; };
  EXPECT_EQ(least(ways[0]), 100);
  EXPECT_EQ(states.idle(ways[1]), 2200);
  const ShapeDevices whole{gpu, 1, 1000};
  EXPECT_EQ(states.after(state, states.request({&whole, 1})).size(), 1u);
  const ShapeDevices two{gpu, 2, 1000};
  EXPECT_EQ(states.fit(state, states.request({&two, 1})), 0);
  EXPECT_TRUE(states.after(state, states.request({&two, 1})).empty());
  states.clear();
  EXPECT_EQ(states.size(), 0u);
  const DeviceStateId again = states.intern(a);
  EXPECT_EQ(states.fit(again, request), 7);
}

TEST(Demand, EpochsComeOnlyWithNewsAndLargePodsStandFirst) {
  Bench bench;
  const Kind common = Bench::kind(bench.shape(1000, 1, 1000));
  const Kind other = Bench::kind(bench.shape(2000, 1, 500));
  const Kind rare = Bench::kind(bench.shape(3000, 8, 1000));
  Demand demand;
  EXPECT_FALSE(demand.look());
  EXPECT_EQ(demand.mix().version, 0u);
  EXPECT_EQ(demand.mix().unseen, Mix::kTotal) << "all is still to come";
  demand.saw(common, 7);
  EXPECT_FALSE(demand.look()) << "too little was seen";
  demand.saw(common, 24);
  demand.saw(other, 8);
  demand.saw(rare, 1);
  EXPECT_TRUE(demand.look());
  ASSERT_EQ(demand.mix().kinds.size(), 3u);
  EXPECT_EQ(demand.mix().kinds[0].kind.key, common.key);
  EXPECT_EQ(demand.mix().kinds[0].weight, (31 * Mix::kTotal + 20) / 40);
  EXPECT_EQ(demand.mix().unseen, 64 * Mix::kTotal / 40);
  demand.saw(common, 31);
  demand.saw(other, 8);
  demand.saw(rare, 1);
  EXPECT_TRUE(demand.look()) << "less is still to come";
  EXPECT_EQ(demand.mix().unseen, 64 * Mix::kTotal / 80);
  demand.saw(other, 160);
  EXPECT_TRUE(demand.look());
  EXPECT_EQ(demand.mix().version, 3u);
  EXPECT_EQ(demand.mix().kinds[0].kind.key, other.key);
}

TEST(Demand, TheSameMixAgainIsNoNews) {
  Bench bench;
  const Kind one = Bench::kind(bench.shape(1000, 1, 1000));
  const Kind other = Bench::kind(bench.shape(2000, 1, 500));
  Demand demand;
  demand.saw(one, 9000);
  demand.saw(other, 3000);
  EXPECT_TRUE(demand.look());
  demand.saw(one, 9000);
  demand.saw(other, 3000);
  EXPECT_FALSE(demand.look());
  EXPECT_EQ(demand.mix().version, 1u);
}

TEST(Demand, WhereThereIsNoRoomForAllKindsTheLargeOnesStay) {
  Bench bench;
  Demand demand;
  for (std::int64_t i = 0; i < 300; ++i) demand.saw(Bench::kind(bench.shape(1000 + i, 1, 100)), 4);
  const Kind large = Bench::kind(bench.shape(90'000, 8, 1000));
  demand.saw(large, 1);
  EXPECT_TRUE(demand.look());
  ASSERT_EQ(demand.mix().kinds.size(), 256u);
  const auto& kinds = demand.mix().kinds;
  EXPECT_TRUE(
      std::any_of(kinds.begin(), kinds.end(), [&](const auto& k) { return k.kind.key == large.key; }));
}

TEST(Demand, OldArrivalsAreForgottenByHalves) {
  Bench bench;
  const Kind before = Bench::kind(bench.shape(1000, 1, 1000));
  const Kind since = Bench::kind(bench.shape(2000, 1, 1000));
  Demand demand;
  for (int i = 0; i < 30'000; ++i) demand.saw(before, 1);
  EXPECT_TRUE(demand.look());
  for (int i = 0; i < 300'000; ++i) {
    demand.saw(since, 1);
    demand.look();
  }
  EXPECT_GE(demand.mix().kinds[0].weight, Mix::kTotal * 63 / 64);
  EXPECT_EQ(demand.mix().kinds[0].kind.key, since.key);
}

TEST(Demand, AGivenMixStandsUntilItIsTakenBack) {
  Bench bench;
  const Kind seen = Bench::kind(bench.shape(1000, 1, 1000));
  const FrozenKind given{Bench::kind(bench.shape(4000, 2, 1000)), 3};
  Demand demand;
  demand.give({&given, 1});
  EXPECT_TRUE(demand.look());
  EXPECT_TRUE(demand.mix().given);
  demand.saw(seen, 1000);
  EXPECT_FALSE(demand.look());
  EXPECT_EQ(demand.mix().kinds[0].kind.key, given.kind.key);
  demand.give({});
  EXPECT_TRUE(demand.look());
  EXPECT_FALSE(demand.mix().given);
  EXPECT_EQ(demand.mix().kinds[0].kind.key, seen.key);
}

TEST(Demand, TurnoverIsTheShareOfTheSlotsThatHaveEnded) {
  Bench bench;
  const Kind one = Bench::kind(bench.shape(1000, 1, 1000));
  Demand demand;
  demand.saw(one, 100);
  ASSERT_TRUE(demand.look());
  EXPECT_EQ(demand.mix().turnover, 0);
  demand.ended(50);
  EXPECT_FALSE(demand.look()) << "nothing has arrived since";
  demand.saw(one, 100);
  ASSERT_TRUE(demand.look());
  EXPECT_EQ(demand.mix().turnover, 2);
  for (int i = 0; i < 40'000; ++i) {
    demand.ended(1);
    demand.saw(one, 1);
    demand.look();
  }
  EXPECT_EQ(demand.mix().turnover, Mix::kMostTurnover) << "old arrivals are forgotten";
  for (int i = 0; i < 40'000; ++i) {
    demand.saw(one, 1);
    demand.look();
  }
  EXPECT_LT(demand.mix().turnover, Mix::kMostTurnover / 2) << "old departures are, too";
}

TEST(Demand, AGivenMixFollowsTheTurnover) {
  Bench bench;
  const FrozenKind given{Bench::kind(bench.shape(4000, 2, 1000)), 3};
  Demand demand;
  demand.give({&given, 1});
  ASSERT_TRUE(demand.look());
  demand.saw(given.kind, 100);
  demand.ended(100);
  ASSERT_TRUE(demand.look());
  EXPECT_TRUE(demand.mix().given);
  EXPECT_EQ(demand.mix().turnover, Mix::kMostTurnover);
  EXPECT_EQ(demand.mix().unseen, 0);
  ASSERT_EQ(demand.mix().kinds.size(), 1u);
}

// The definition in the header, written plainly.
struct Plain {
  std::int64_t cpu, count, milli, scarce;
  bool suits;
};
std::int64_t plain_usable(std::int64_t cpu, const std::vector<std::int64_t>& free,
                          const std::vector<Plain>& kinds, std::int64_t turnover) {
  std::int64_t sum = 0;
  for (const Plain& k : kinds) {
    if (!k.suits) continue;
    std::int64_t slots = 0;
    std::int64_t once = 0;
    for (const std::int64_t f : free) {
      slots += f / k.milli;
      if (f >= k.milli) once += f;
    }
    const auto all = static_cast<std::int64_t>(free.size());
    if (k.milli == 1000 && k.count > 1 && k.count <= all) {
      const std::int64_t missing = std::max<std::int64_t>(0, k.count - slots);
      const std::int64_t busy = all - k.count + missing;
      sum +=
          k.scarce * 8 * 1000 * k.count * turnover * (busy - missing + 1) / (busy + 1) / Mix::kMostTurnover;
    }
    slots /= k.count;
    if (k.cpu > 0) slots = std::min(slots, cpu / k.cpu);
    if (slots > 0) sum += k.scarce * (7 * once + slots * k.milli * k.count);
  }
  return sum;
}

TEST(Fragments, UsableRoomIsWhatTheDefinitionSays) {
  Bench bench;
  const NodeId node = bench.node("n", 4, 64);
  bench.node("elsewhere", 4, 64, {{"model", "x"}});
  const std::vector<std::pair<Shape, std::int64_t>> kinds{
      {bench.shape(4000, 1, 1000), 5},   {bench.shape(1500, 1, 300), 3},
      {bench.shape(16'000, 2, 1000), 2}, {bench.shape(0, 1, 500), 1},
      {bench.shape(9000, 0, 0), 4},      {bench.shape(1000, 1, 1000, {{"model", "x"}}), 2},
      {bench.shape(250, 1, 10), 40},     {bench.shape(400, 1, 10), 20}};
  Mix mix = mix_of(kinds);
  Fragments fragments;
  fragments.use(mix, bench.nodes);
  // Two nodes of 4 devices. For each kind: weight x root of its devices, over the room left in both nodes and one slot.
  const std::vector<double> pressure{
      5 * std::sqrt(1.0) / (8000 + 1000), 3 * std::sqrt(0.3) / (2 * 12 * 300 + 300),
      2 * std::sqrt(2.0) / (8000 + 2000), 1 * std::sqrt(0.5) / (8000 + 500),
      2 * std::sqrt(1.0) / (4000 + 1000), 40 * std::sqrt(0.01) / (5120 + 10),
      20 * std::sqrt(0.01) / (3200 + 10)};
  const double whole = std::accumulate(pressure.begin(), pressure.end(), 0.0);
  const auto share = [&](std::size_t kind) {
    return static_cast<std::int64_t>(std::lround(pressure[kind] * Fragments::kWeights / whole));
  };
  Random random(3);
  for (int round = 0; round < 4000; ++round) {
    if (round % 1000 == 999) {
      mix.turnover += 2;
      fragments.use(mix, bench.nodes);
    }
    std::vector<std::int64_t> free;
    std::vector<DeviceStates::Free> devices;
    for (int i = 0; i < 4; ++i) {
      free.push_back(random.below(3) == 0 ? 1000 : 100 * static_cast<std::int64_t>(random.below(11)));
      devices.push_back({bench.gpu, free.back()});
    }
    const DeviceStateId state = bench.nodes.device_states().intern(devices);
    const auto cpu = static_cast<std::int64_t>(random.below(40'000));
    const std::vector<Plain> plain{
        {4000, 1, 1000, share(0), true},   {1500, 1, 300, share(1), true},
        {16'000, 2, 1000, share(2), true}, {0, 1, 500, share(3), true},
        {1000, 1, 1000, share(4), false},  {250, 1, 10, share(5), true},  // up to 256 in a node
        {400, 1, 10, share(6), true}};
    const std::int64_t got = fragments.usable(bench.nodes, fragments.pattern(bench.nodes, node), state, cpu);
    const std::int64_t want = plain_usable(cpu, free, plain, mix.turnover);
    // Shares are rounded to 2^-16, and weights to 2^-20.
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(want), 3 * 7.0 * 8 * 4000) << round;
    // A table gives what the direct evaluation gives.
    for (int again = 0; again < 30; ++again) {
      ASSERT_EQ(fragments.usable(bench.nodes, fragments.pattern(bench.nodes, node), state, cpu), got);
    }
  }
}

// Two of the three examples by which the published definition is explained: work that fits uses all devices with enough
// free; where CPU is missing everything idle is a fragment.
TEST(Fragments, ThePublishedAmount) {
  Bench bench;
  const NodeId node = bench.node("n", 2, 8);
  Fragments fragments;
  fragments.use(mix_of({{bench.shape(4000, 1, 600), 1}, {bench.shape(16'000, 1, 1000), 1}}), bench.nodes);
  // Kind 1 can use both devices; kind 2 lacks CPU: 2,000 for half of the weight.
  EXPECT_EQ(fragments.fragments(bench.nodes, node, Mode::kStart), 1000 * Mix::kTotal);
  bench.nodes.charge(node, bench.shape(1000, 1, 500), Grant{{{0, 0, 500}}, {}}, kBothPlanes, +1);
  // 500 + 1000 idle: kind 1 leaves the 500, kind 2 all.
  EXPECT_EQ(fragments.fragments(bench.nodes, node, Mode::kStart), (500 + 1500) * Mix::kTotal / 2);
}

TEST(Fragments, ManyWhereaboutsAndNewOnesKeepTheMeaningOfBits) {
  Bench bench;
  std::vector<NodeId> nodes;
  for (int i = 0; i < 80; ++i) {
    nodes.push_back(bench.node("n" + std::to_string(i), 1, 8, {{"pool", std::to_string(i)}}));
  }
  Fragments fragments;
  const auto only = [&](int from, int to) {
    std::vector<std::pair<Shape, std::int64_t>> kinds;
    for (int i = from; i < to; ++i)
      kinds.push_back({bench.shape(1000, 1, 1000, {{"pool", std::to_string(i)}}), 1});
    fragments.use(mix_of(kinds), bench.nodes);
  };
  const auto useful = [&](int i) {
    return fragments.usable_now(bench.nodes, nodes[static_cast<std::size_t>(i)], Mode::kStart) > 0;
  };
  only(0, 40);
  EXPECT_TRUE(useful(5));
  EXPECT_FALSE(useful(50));
  only(38, 78);
  EXPECT_FALSE(useful(5));
  EXPECT_TRUE(useful(39));
  EXPECT_TRUE(useful(50));
  only(0, 10);
  EXPECT_TRUE(useful(5));
  EXPECT_FALSE(useful(50));
  // A node that changes its labels is looked at again.
  bench.node("n50", 1, 8, {{"pool", "5"}});
  EXPECT_TRUE(useful(50));
}

// Many nodes of 2 devices, one of 8: which of them takes the next pod?
struct FewLarge : Bench {
  std::vector<NodeId> small;
  NodeId large;
  Fragments fragments;
  Shape one = shape(12'000, 1, 1000);
  FewLarge() {
    for (int i = 0; i < 16; ++i) small.push_back(node("s" + std::to_string(i), 2, 104));
    large = node("z", 8, 128);
  }
  std::int64_t key(NodeId id, const Shape& shape) {
    return score(nodes, fragments, id, shape, nodes.device_states().request(shape.devices), 0, Mode::kStart)
        .key;
  }
};

TEST(Fragments, RoomThatFewNodesHaveIsNotSpentWherePlentyOthersDo) {
  FewLarge c;
  c.fragments.use(mix_of({{c.one, 20}, {c.shape(19'000, 1, 1000), 20}, {c.shape(120'000, 8, 1000), 1}}),
                  c.nodes);
  EXPECT_LT(c.key(c.small[0], c.one), c.key(c.large, c.one));
  // Work without devices burns CPU that the large pods need.
  const Shape cpu = c.shape(16'000, 0, 0);
  EXPECT_LT(c.key(c.small[0], cpu), c.key(c.large, cpu));
}

TEST(Fragments, WholeNodesAreExpectedBeforeTheFirstRequest) {
  FewLarge c;
  Demand demand;
  demand.saw(Bench::kind(c.one), 20);
  demand.saw(Bench::kind(c.shape(19'000, 1, 1000)), 20);
  ASSERT_TRUE(demand.look());
  c.fragments.use(demand.mix(), c.nodes);
  EXPECT_LT(c.key(c.small[0], c.one), c.key(c.large, c.one));
}

// Work that ends may make the room of a node whole, the sooner the less of it is missing.
TEST(Fragments, ANodeThatIsNearlyFreeStaysSoWhereWorkEnds) {
  Bench c;
  const NodeId nearly = c.node("nearly", 8, 128);
  const NodeId half = c.node("half", 8, 128);
  const auto use = [&](NodeId node, std::uint16_t devices) {
    Grant grant;
    for (std::uint16_t device = 0; device < devices; ++device) grant.pieces.push_back({device});
    c.nodes.charge(node, c.shape(1000, devices, 1000), grant, kBothPlanes, +1);
  };
  use(nearly, 1);
  use(half, 4);
  const Shape one = c.shape(1000, 1, 1000);
  Mix mix = mix_of({{one, 4}, {c.shape(4000, 4, 1000), 1}, {c.shape(8000, 8, 1000), 4}});
  Fragments fragments;
  const auto key = [&](NodeId id) {
    return score(c.nodes, fragments, id, one, c.nodes.device_states().request(one.devices), 0, Mode::kStart)
        .key;
  };
  fragments.use(mix, c.nodes);
  EXPECT_LT(key(nearly), key(half)) << "where nothing ends, 4 devices are worth more than 7";
  mix.turnover = Mix::kMostTurnover;
  fragments.use(mix, c.nodes);
  EXPECT_GT(key(nearly), key(half));
}

TEST(Fragments, RoomIsDearerTheLessIsLeft) {
  FewLarge c;
  const std::vector<NodeId> others{c.node("x", 8, 128), c.node("y", 8, 128)};
  const Shape eight = c.shape(100'000, 8, 1000);
  c.fragments.use(mix_of({{c.one, 40}, {eight, 1}}), c.nodes);
  const auto worth = [&] {
    const std::int64_t whole = c.fragments.usable_now(c.nodes, c.large, Mode::kStart);
    return whole -
           c.fragments.usable_now(c.nodes, c.small[0], Mode::kStart) * 4;  // what only large pods can use
  };
  const std::int64_t before = worth();
  EXPECT_GT(before, 0);
  EXPECT_FALSE(c.fragments.drifted(c.nodes));
  Grant all;
  for (std::uint16_t device = 0; device < 8; ++device) all.pieces.push_back({device});
  for (const NodeId other : others) c.nodes.charge(other, eight, all, kBothPlanes, +1);
  ASSERT_TRUE(c.fragments.drifted(c.nodes));
  c.fragments.weigh(c.nodes);
  EXPECT_FALSE(c.fragments.drifted(c.nodes));
  EXPECT_GT(worth(), before);
  for (const NodeId other : others) c.nodes.charge(other, eight, all, kBothPlanes, -1);
  ASSERT_TRUE(c.fragments.drifted(c.nodes));
  c.fragments.weigh(c.nodes);
  EXPECT_EQ(worth(), before);
}

TEST(FragmentMeter, FollowsEveryChange) {
  Bench bench;
  std::vector<NodeId> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back(bench.node("n" + std::to_string(i), 4, 32));
  Fragments fragments;
  FragmentMeter meter;
  const Shape share = bench.shape(3000, 1, 300);
  fragments.use(mix_of({{share, 2}, {bench.shape(8000, 2, 1000), 1}}), bench.nodes);
  Random random(11);
  std::vector<std::pair<NodeId, Grant>> placed;
  for (int round = 0; round < 400; ++round) {
    const NodeId node = nodes[random.below(nodes.size())];
    if (random.below(3) > 0 && has_room(bench.nodes, node, share, Mode::kStart)) {
      choose_first(bench.nodes, node, share, Mode::kStart, placed.emplace_back(node, Grant()).second);
      bench.nodes.charge(node, share, placed.back().second, kBothPlanes, +1);
    } else if (!placed.empty()) {
      bench.nodes.charge(placed.back().first, share, placed.back().second, kBothPlanes, -1);
      placed.pop_back();
    }
    if (round == 200) ok(bench.nodes.remove("n3"));
    std::int64_t idle = 0;
    Int128 sum = 0;
    for (const NodeId n : nodes) {
      if (!bench.nodes.record(n).alive) continue;
      idle += bench.nodes.device_states().idle(bench.nodes.device_state(n, Mode::kStart));
      sum += fragments.fragments(bench.nodes, n, Mode::kStart);
    }
    const auto& sums = meter.read(bench.nodes, fragments);
    ASSERT_EQ(sums.idle, idle);
    ASSERT_TRUE(sums.fragments == sum);
  }
}

}  // namespace
}  // namespace berth::engine
