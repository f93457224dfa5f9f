// Terms of kSpread: which pods and domains they count, and what that leaves to others (engine/nodes/counted_spread.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/nodes/counted.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr char kByHost[] = "host";
constexpr char kByZone[] = "zone";

CountedTerm spread(const std::string& selector, const std::string& level, std::int64_t max_skew = 1) {
  CountedTerm term{TermKind::kSpread, selector, level};
  term.max_skew = max_skew;
  term.min_domains = 1;
  return term;
}

Node zone_node(const std::string& name, const std::string& zone, Labels labels = {}) {
  labels[kByHost] = name;
  if (!zone.empty()) labels[kByZone] = zone;
  return std::get<NodeUpsert>(gpu_node(name, 8, std::move(labels))).node;
}

// Two zones of two nodes, and one node without a zone.
struct SpreadWorld {
  SpreadWorld() {
    for (const auto& [name, zone] :
         std::map<std::string, std::string>{{"a0", "a"}, {"a1", "a"}, {"b0", "b"}, {"b1", "b"}, {"lone", ""}})
      put(zone_node(name, zone));
  }
  void put(const Node& node) {
    ok(nodes.upsert(node));
    counted.set_node(*nodes.find(node.name));
  }
  NodeId node(const std::string& name) { return *nodes.find(name); }
  void add(const std::string& name, CountedId id, PlaneMask planes = kBothPlanes, int sign = +1) {
    counted.add(node(name), id, planes, sign);
  }
  std::string admitted(CountedId id, Mode mode = Mode::kStart) {
    std::string out;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (counted.cap(NodeId(n), id, mode) > 0) out += nodes.record(NodeId(n)).spec.name + " ";
    }
    return out;
  }

  NodeTable nodes;
  Counted counted{nodes};
};

TEST(CountedSpread, ADomainHasAtMostMaxSkewMoreThanTheFewest) {
  SpreadWorld world;
  const CountedId one = world.counted.intern({spread("web", kByZone)}, {"web"});
  const CountedId two = world.counted.intern({spread("web", kByZone, 2)}, {"web"});
  EXPECT_EQ(world.admitted(one), "a0 a1 b0 b1 ") << "not where the label is missing";
  world.add("a0", one);
  EXPECT_EQ(world.admitted(one), "b0 b1 ");
  EXPECT_EQ(world.admitted(two), "a0 a1 b0 b1 ");
  EXPECT_EQ(world.counted.cap(world.node("a1"), two, Mode::kStart), 1);
  EXPECT_EQ(world.counted.cap(world.node("b1"), two, Mode::kStart), 2);
  world.add("b1", one);
  EXPECT_EQ(world.admitted(one), "a0 a1 b0 b1 ");
  const auto why = [&](const std::string& name) {
    const auto found = world.counted.hindrance(world.node(name), one, kBothPlanes);
    return found ? found->selector + " | " + found->level : "";
  };
  EXPECT_EQ(why("a0"), "");
  EXPECT_EQ(why("lone"), " | zone");
  world.add("a0", one);
  EXPECT_EQ(why("a0"), "web | maxSkew 1 per zone, fewest in b");
}

TEST(CountedSpread, AllPodsThatTheSelectorCountsMatterAndOnlyTheyDo) {
  SpreadWorld world;
  const CountedId guest = world.counted.intern({spread("web", kByZone)}, {});  // does not count itself
  const CountedId web = world.counted.intern({}, {"web"});
  world.add("a0", web);
  EXPECT_EQ(world.admitted(guest), "a0 a1 b0 b1 ");
  EXPECT_FALSE(world.counted.limits_itself(guest, Mode::kStart));
  world.add("a1", web);
  EXPECT_EQ(world.admitted(guest), "b0 b1 ");
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 lone ") << "a spread binds the pod that has it";
  world.add("b0", guest);
  EXPECT_EQ(world.admitted(guest), "b0 b1 ");
}

TEST(CountedSpread, AStartCountsHeldPodsOnlyWhereTheyAreMany) {
  SpreadWorld world;
  const CountedId web = world.counted.intern({spread("web", kByZone)}, {"web"});
  world.add("a0", web, kNowBit);  // ending
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 ");
  world.add("a1", web, kAfterBit);  // held
  EXPECT_EQ(world.admitted(web), "b0 b1 ");
  world.add("b0", web, kAfterBit);
  EXPECT_EQ(world.admitted(web), "") << "none of them runs yet";
  EXPECT_EQ(world.admitted(web, Mode::kPlan), "a0 a1 b0 b1 ");
  world.add("a1", web, kNowBit | kPodBit);  // both start
  world.add("b0", web, kNowBit | kPodBit);
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 ");
  EXPECT_TRUE(world.counted.fit_in_turn({{world.node("b0"), web}, {world.node("a1"), web}}, Mode::kStart));
  world.add("b0", web, kAfterBit | kPodBit, -1);  // it is to end
  EXPECT_EQ(world.admitted(web), "b0 b1 ");
}

// Three of one zone and one of the other: the one that must be spread comes before those that only count.
TEST(CountedSpread, SlotsThatComeTogetherNeedOneOrderInWhichTheyFit) {
  SpreadWorld world;
  const CountedId strict = world.counted.intern({spread("web", kByZone)}, {"web"});
  const CountedId loose = world.counted.intern({}, {"web"});
  const std::vector<Counted::Place> places{{world.node("a0"), loose},
                                           {world.node("a0"), loose},
                                           {world.node("a1"), strict},
                                           {world.node("b0"), loose}};
  for (const auto& [node, id] : places) world.counted.add(node, id, kAfterBit, +1);
  const std::string before = world.counted.to_text();
  EXPECT_TRUE(world.counted.fit_in_turn(places, Mode::kPlan));
  EXPECT_EQ(world.counted.to_text(), before);
  world.add("a1", strict, kAfterBit);
  EXPECT_FALSE(world.counted.fit_in_turn({{world.node("a1"), strict}}, Mode::kPlan))
      << "the others were there";
}

// The zone of the narrow one is too full for it before the first of the others has come, and again after the second.
TEST(CountedSpread, ASlotComesBetweenTwoOfAnotherPart) {
  SpreadWorld world;
  const CountedId wide = world.counted.intern({spread("web", kByZone, 2)}, {"web"});
  const CountedId narrow = world.counted.intern({spread("web", kByZone)}, {"web"});
  const CountedId old = world.counted.intern({}, {"web"});
  for (const char* node : {"a0", "a0", "b0", "b0", "b0"})
    world.counted.add(world.node(node), old, kAfterBit, +1);
  const std::vector<Counted::Place> places{
      {world.node("b1"), wide}, {world.node("a1"), wide}, {world.node("b1"), narrow}};
  for (const auto& [node, id] : places) world.counted.add(node, id, kAfterBit, +1);
  const std::string before = world.counted.to_text();
  EXPECT_TRUE(world.counted.fit_in_turn(places, Mode::kPlan));
  EXPECT_EQ(world.counted.to_text(), before);
  world.counted.add(world.node("b0"), old, kAfterBit, +1);
  EXPECT_FALSE(world.counted.fit_in_turn(places, Mode::kPlan));
}

// The one that is spread by hosts must come before those that are spread by zones.
TEST(CountedSpread, PartsComeInTheOrderInWhichTheyFit) {
  SpreadWorld world;
  const CountedId by_zone = world.counted.intern({spread("web", kByZone, 3)}, {"web"});
  const CountedId by_host = world.counted.intern({spread("web", kByHost)}, {"web"});
  std::vector<Counted::Place> places{
      {world.node("a0"), by_zone}, {world.node("a0"), by_zone}, {world.node("a0"), by_host}};
  for (const auto& [node, id] : places) world.counted.add(node, id, kAfterBit, +1);
  EXPECT_TRUE(world.counted.fit_in_turn(places, Mode::kPlan));
  std::reverse(places.begin(), places.end());
  EXPECT_TRUE(world.counted.fit_in_turn(places, Mode::kPlan));
}

TEST(CountedSpread, PodsOfOthersThatAreEndingStillKeepOthersAway) {
  SpreadWorld world;
  const CountedId web = world.counted.intern({spread("web", kByZone)}, {"web"});
  const CountedId shy = world.counted.intern({{TermKind::kApart, "web", kByZone}}, {});
  world.add("a0", web, kBothPlanes | kEndingBit);
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 ");
  EXPECT_EQ(world.admitted(shy, Mode::kPlan), "b0 b1 lone ");
}

TEST(CountedSpread, WithFewerDomainsThanAskedForTheFewestAreNone) {
  SpreadWorld world;
  CountedTerm term = spread("web", kByZone);
  term.min_domains = 3;
  const CountedId web = world.counted.intern({term}, {"web"});
  world.add("a0", web);
  world.add("b0", web);
  EXPECT_EQ(world.admitted(web), "");
  EXPECT_EQ(world.counted.hindrance(world.node("a0"), web, kBothPlanes)->level,
            "maxSkew 1 per zone, 2 of minDomains 3");
  world.put(zone_node("c0", "c"));
  EXPECT_EQ(world.admitted(web), "c0 ");
  world.add("c0", web);
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 c0 ");
}

TEST(CountedSpread, OnlyNodesThatThePodMayRunOnMakeDomains) {
  SpreadWorld world;
  world.put(zone_node("a0", "a", {{"pool", "x"}}));
  world.put(zone_node("b0", "b", {{"pool", "x"}}));
  Node c0 = zone_node("c0", "c");
  world.put(c0);
  Shape pod;
  pod.selector = Labels{{"pool", "x"}};
  CountedTerm term = spread("web", kByZone);
  const CountedId web = world.counted.intern({term}, {"web"}, pod);
  term.all_nodes = true;
  const CountedId of_all = world.counted.intern({term}, {"web"}, pod);
  const CountedId plain = world.counted.intern({}, {"web"});
  world.add("a0", web);
  world.add("b0", web);
  EXPECT_EQ(world.admitted(web), "a0 b0 ") << "zone c has no node for it";
  EXPECT_EQ(world.admitted(of_all), "c0 ");
  world.add("a1", plain);
  EXPECT_EQ(world.admitted(web), "a0 b0 ") << "pods on nodes that it may not run on do not count";
  c0.labels["pool"] = "x";
  world.put(c0);
  EXPECT_EQ(world.admitted(web), "c0 ") << "a domain without pods has come";
}

TEST(CountedSpread, NodesWithTaintsMakeNoDomainsWhereTaintsCount) {
  SpreadWorld world;
  Node c0 = zone_node("c0", "c");
  c0.taints = {{"dedicated", "", TaintEffect::kNoSchedule}};
  world.put(c0);
  CountedTerm term = spread("web", kByZone);
  const CountedId any = world.counted.intern({term}, {"web"});
  term.tolerated = true;
  const CountedId honors = world.counted.intern({term}, {"web"});
  Shape tolerant;
  tolerant.tolerations = std::vector<Toleration>{{"dedicated", true, "", TolerationEffect::kAll}};
  const CountedId tolerates = world.counted.intern({term}, {"web"}, tolerant);
  world.add("a0", any);
  world.add("b0", any);
  EXPECT_EQ(world.admitted(any), "c0 ");
  EXPECT_EQ(world.admitted(honors), "a0 a1 b0 b1 ");
  EXPECT_EQ(world.admitted(tolerates), "c0 ");
}

// As in Kubernetes' plugin. The node lifecycle controller adds the taint a moment after the cordon.
TEST(CountedSpread, ACordonMattersByItsTaint) {
  SpreadWorld world;
  Node a1 = zone_node("a1", "a");
  a1.unschedulable = true;
  world.put(a1);
  CountedTerm term = spread("web", kByZone);
  term.tolerated = true;
  const CountedId web = world.counted.intern({term}, {"web"});
  world.add("a1", web);
  EXPECT_EQ(world.admitted(web), "b0 b1 ") << "the pod on the cordoned node counts";
  a1.taints = {{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule}};
  world.put(a1);
  EXPECT_EQ(world.admitted(web), "a0 b0 b1 ");
}

TEST(CountedSpread, NodesWithoutALabelOfAnotherSpreadDoNotCount) {
  SpreadWorld world;
  world.put(zone_node("a0", "a", {{"rack", "r"}}));
  world.put(zone_node("b0", "b", {{"rack", "s"}}));
  const CountedId web = world.counted.intern({spread("web", kByZone), spread("web", "rack", 2)}, {"web"});
  const CountedId plain = world.counted.intern({}, {"web"});
  world.add("a1", plain);
  EXPECT_EQ(world.admitted(web), "a0 b0 ") << "the pod on a1 has no rack";
  world.add("a0", web);
  EXPECT_EQ(world.admitted(web), "b0 ");
}

TEST(CountedSpread, WhatEndsIsForgotten) {
  SpreadWorld world;
  Shape pod;
  pod.selector = Labels{{"pool", "x"}};
  world.put(zone_node("a0", "a", {{"pool", "x"}}));
  const CountedId web = world.counted.intern({spread("web", kByZone)}, {"web"}, pod);
  world.counted.keep_only(std::vector<bool>(world.counted.size(), false));
  EXPECT_FALSE(world.counted.any());
  const CountedId again = world.counted.intern({spread("web", kByHost)}, {"web"});
  EXPECT_EQ(again, web) << "its number is free again";
  world.add("a0", again);
  EXPECT_EQ(world.admitted(again), "a1 b0 b1 lone ");
}

// Slot after slot on any node that admits one is all that there is room for.
TEST(CountedSpread, TheBoundIsWhatFitsSlotAfterSlot) {
  Random r(7);
  for (int round = 0; round < 400; ++round) {
    NodeTable nodes;
    Counted counted(nodes);
    std::vector<NodeId> all;
    for (int n = 0; n < 8; ++n) {
      const std::string zone(1, static_cast<char>('a' + r.below(4)));
      ok(nodes.upsert(zone_node(fmt::format("n{}", n), r.below(6) == 0 ? "" : zone)));
      all.push_back(*nodes.find(fmt::format("n{}", n)));
    }
    CountedTerm term =
        spread("web", r.below(3) == 0 ? kByHost : kByZone, 1 + static_cast<std::int64_t>(r.below(3)));
    term.min_domains = 1 + static_cast<std::int64_t>(r.below(5));
    const CountedId web = counted.intern({term}, {"web"});
    for (auto k = r.below(8); k > 0; --k) {
      static constexpr PlaneMask kPlanes[] = {kBothPlanes, kAfterBit, kNowBit, kBothPlanes | kReservedBit};
      counted.add(all[r.below(8)], web, kPlanes[r.below(4)], +1);
    }
    std::vector<std::int64_t> room;
    for (int n = 0; n < 8; ++n) room.push_back(static_cast<std::int64_t>(r.below(4)));
    const Mode mode = r.below(2) == 0 ? Mode::kStart : Mode::kPlan;
    const std::vector<NodeId> some(all.begin(), all.begin() + 4 + static_cast<std::ptrdiff_t>(r.below(5)));
    const auto left = [&](NodeId node) { return room[node.index()]; };
    const std::int64_t most = counted.at_most(web, mode, some, left);
    std::int64_t got = 0;
    for (bool more = true; more;) {
      more = false;
      for (const NodeId node : some) {
        if (room[node.index()] == 0 || counted.cap(node, web, mode) <= 0) continue;
        counted.add(node, web, planes_of(mode), +1);
        --room[node.index()];
        ++got;
        more = true;
      }
    }
    ASSERT_EQ(most, got) << round;
  }
}

// ------------------------------------------------------------------------------------------------------ through the engine

std::map<std::string, int> zones(const Decision& d) {
  std::map<std::string, int> out;
  for (const auto& slot : d.slots) ++out[slot.node.substr(0, 1)];
  return out;
}

struct ZonesWorld {
  // The number of nodes of eight GPUs in each zone.
  explicit ZonesWorld(const std::map<std::string, int>& of_zones) {
    for (const auto& [zone, count] : of_zones) {
      for (int i = 0; i < count; ++i) ok(e.apply(NodeUpsert{zone_node(fmt::format("{}{}", zone, i), zone)}));
    }
  }
  void come(Workload w, std::vector<CountedTerm> terms, std::vector<std::string> selected = {"web"}) {
    w.root.pod_sets[0].pod.terms = std::move(terms);
    w.root.pod_sets[0].pod.selected = std::move(selected);
    ok(e.apply(WorkloadUpsert{std::move(w)}));
  }
  void see(const std::string& uid, std::int64_t slot, SlotState state, const std::string& node = "") {
    ok(e.apply(SlotUpdate{uid, 0, slot, state, node, {}, {}, 0}));
  }
  std::vector<Decision> decide() {
    auto out = e.decide(now += 1000);
    ok(e.audit());
    return out;
  }
  std::string why(const std::string& uid) { return to_text(e.explain(uid)->reason); }
  Engine e;
  TimeMs now = 0;
};

using Zones = std::map<std::string, int>;

TEST(Spread, MembersOfAGangAreSpreadAmongThemselves) {
  ZonesWorld world({{"a", 3}, {"b", 2}, {"c", 2}});
  world.come(gang_workload("web", 8, 1), {spread("web", kByZone)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  for (const auto& [zone, pods] : zones(d[0])) EXPECT_TRUE(pods == 2 || pods == 3) << zone;
  EXPECT_EQ(zones(d[0]).size(), 3u);
}

TEST(Spread, AGangThatCannotBeSpreadWaitsAsAWhole) {
  ZonesWorld world({{"a", 3}, {"b", 1}});
  world.come(gang_workload("web", 4, 8), {spread("web", kByZone)});
  EXPECT_TRUE(world.decide().empty());
  EXPECT_NE(world.why("web").find("4 pods need nodes, there is room for 3"), std::string::npos)
      << world.why("web");
  world.come(gang_workload("fits", 3, 8), {spread("web", kByZone)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(zones(d[0]), (Zones{{"a", 2}, {"b", 1}}));
}

TEST(Spread, TwoSpreadsHoldTogether) {
  ZonesWorld world({{"a", 2}, {"b", 2}});
  world.come(gang_workload("web", 4, 1), {spread("web", kByZone), spread("web", kByHost)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  std::map<std::string, int> nodes;
  for (const auto& slot : d[0].slots) ++nodes[slot.node];
  EXPECT_EQ(nodes, (Zones{{"a0", 1}, {"a1", 1}, {"b0", 1}, {"b1", 1}}));
}

TEST(Spread, PodsThatEndMakeAWaitingOneStart) {
  ZonesWorld world({{"a", 1}, {"b", 1}});
  ok(world.e.apply(ForeignPodUpsert{{"f", "a0", {}, {}, {}, {}, {"web"}, false}}));
  ok(world.e.apply(ForeignPodUpsert{{"full", "b0", {}, {{"nvidia.com/gpu", 8, 1000}}, {}, {}, {}, false}}));
  world.come(gang_workload("web", 1, 1), {spread("web", kByZone)});
  EXPECT_TRUE(world.decide().empty());
  EXPECT_NE(
      world.why("web").find("1 node is ruled out by topology spread (web, maxSkew 1 per zone, fewest in b)"),
      std::string::npos)
      << world.why("web");
  ok(world.e.apply(ForeignPodUpsert{{"f", "a0", {}, {}, {}, {}, {"web"}, true}}));  // it is ending
  ASSERT_EQ(world.decide().size(), 1u);
}

TEST(Spread, VictimsAreFoundWithTheSpreadInForce) {
  ZonesWorld world({{"a", 1}, {"b", 1}});
  world.come(gang_workload("web-a", 1, 1), {spread("web", kByZone)});
  world.come(gang_workload("web-b", 1, 1), {spread("web", kByZone)});
  ASSERT_EQ(world.decide().size(), 2u);
  world.come(gang_workload("cheap", 1, 7), {}, {});
  world.come(gang_workload("dear", 1, 7, 5), {}, {});
  ASSERT_EQ(world.decide().size(), 2u);
  world.come(gang_workload("high", 2, 4, 10), {spread("web", kByZone)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 3u) << "one node each, although one of them would be enough for the room";
  EXPECT_EQ(d[2].kind, DecisionKind::kHold);
  EXPECT_EQ(zones(d[2]), (Zones{{"a", 1}, {"b", 1}}));
}

TEST(Spread, AGangThatWasHeldStartsInWhateverOrderItsMembersStand) {
  ZonesWorld world({{"a", 1}, {"b", 1}});
  world.come(gang_workload("low", 2, 8), {}, {});
  ASSERT_EQ(world.decide().size(), 1u);
  world.come(gang_workload("high", 8, 2, 10), {spread("web", kByZone)});
  ASSERT_EQ(world.decide().size(), 2u);
  for (const int slot : {0, 1}) world.see("low", slot, SlotState::kGone);
  const auto d = world.decide();
  ASSERT_FALSE(d.empty());
  EXPECT_EQ(d[0].kind, DecisionKind::kStart);
  EXPECT_EQ(d[0].workload, "high");
  EXPECT_EQ(zones(d[0]), (Zones{{"a", 4}, {"b", 4}}));
}

TEST(Spread, AVictimStaysWhereTheSpreadNeedsItAndAnotherGoes) {
  ZonesWorld world({{"a", 1}, {"b", 1}});
  // Both zones have one; both nodes are full. The end of the pod in zone b gives room there, but zone a must not have two more than b.
  world.come(gang_workload("base", 2, 1), {spread("web", kByZone)});
  ASSERT_EQ(world.decide().size(), 1u);
  world.come(gang_workload("fill", 2, 7), {}, {});
  ASSERT_EQ(world.decide().size(), 1u);
  world.come(gang_workload("high", 1, 1, 10), {spread("web", kByZone)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[1].kind, DecisionKind::kHold);
}

// Both pods of `high` can only go to b0. `first` counts in zone a, so that `second` may stay in zone b. That counts on b1, so that `third`
// may stay on b0.
TEST(Spread, APodThatComesBackLetsOthersComeBack) {
  ZonesWorld world({{"b", 1}});
  for (const auto& [name, zone] : std::map<std::string, std::string>{{"a0", "a"}, {"b1", "b"}})
    ok(world.e.apply(gpu_node(name, 0, {{kByZone, zone}, {kByHost, name}})));
  Queue q;
  q.name = "q";
  q.unlimited = true;
  q.preemption = {WithinQueue::kLowerPriority, Reclaim::kNever};
  q.preemption.victims = VictimOrder::kYoungestFirst;
  ok(world.e.apply(QueueUpsert{q}));
  const auto start = [&](const std::string& uid, int gpus, const std::string& node, std::int64_t priority,
                         std::vector<std::string> selected) {
    Workload w = gang_workload(uid, 1, gpus, priority, "q");
    w.root.pod_sets[0].pod.node_selector = {{kByHost, node}};
    world.come(std::move(w), {}, std::move(selected));
    EXPECT_EQ(world.decide().size(), 1u) << uid;
  };
  start("stays-on-a0", 0, "a0", 9, {"red", "blue"});
  start("stays-on-b0", 0, "b0", 9, {"blue"});
  start("full", 6, "b0", 0, {});
  start("third", 0, "b0", 0, {"blue"});
  start("second", 0, "b1", 0, {"red", "blue"});
  start("first", 0, "a0", 0, {"red"});
  world.come(gang_workload("high", 2, 4, 5, "q"), {spread("red", kByZone), spread("blue", kByHost)}, {"red"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].workload, "full");
  EXPECT_EQ(d[1].slots.size(), 2u);
}

TEST(Spread, ANewZoneIsFilledFirst) {
  ZonesWorld world({{"a", 1}, {"b", 1}});
  world.come(gang_workload("one", 2, 1), {spread("web", kByZone)});
  ASSERT_EQ(world.decide().size(), 1u);
  ok(world.e.apply(NodeUpsert{zone_node("c0", "c")}));
  world.come(gang_workload("two", 1, 1), {spread("web", kByZone)});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(zones(d[0]), (Zones{{"c", 1}}));
}

}  // namespace
}  // namespace berth::engine
