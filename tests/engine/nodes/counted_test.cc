// Counted terms: what they count, what they keep away, and how that becomes the fits of nodes (engine/nodes/counted.h).
#include "engine/nodes/counted.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr char kHost[] = "host";
constexpr char kZone[] = "zone";

CountedTerm apart(const std::string& selector, const std::string& level) {
  return {TermKind::kApart, selector, level};
}
CountedTerm near(const std::string& selector, const std::string& level) {
  return {TermKind::kNear, selector, level};
}

// Two zones of two nodes, and one node without a zone.
struct CountedWorld {
  CountedWorld() {
    for (const auto& [name, zone] : std::map<std::string, std::string>{
             {"a0", "a"}, {"a1", "a"}, {"b0", "b"}, {"b1", "b"}, {"lone", ""}}) {
      Labels labels{{kHost, name}};
      if (!zone.empty()) labels[kZone] = zone;
      ok(nodes.upsert(std::get<NodeUpsert>(gpu_node(name, 8, labels)).node));
    }
  }
  NodeId node(const std::string& name) { return *nodes.find(name); }
  // The nodes with a cap of more than none.
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

TEST(Counted, IsNothingWithoutTermsAndSelectors) {
  CountedWorld world;
  EXPECT_FALSE(world.counted.intern({}, {}).valid());
  EXPECT_FALSE(world.counted.any());
}

TEST(Counted, ATermBindsBothSides) {
  CountedWorld world;
  const CountedId lonely = world.counted.intern({apart("web", kZone)}, {});
  const CountedId web = world.counted.intern({}, {"web"});
  const CountedId other = world.counted.intern({}, {"db"});
  world.counted.add(world.node("a0"), lonely, kBothPlanes, +1);
  EXPECT_EQ(world.admitted(web), "b0 b1 lone ");
  EXPECT_EQ(world.admitted(other), "a0 a1 b0 b1 lone ");
  EXPECT_EQ(world.admitted(lonely), "a0 a1 b0 b1 lone ") << "its selector does not count it";
  world.counted.add(world.node("a0"), lonely, kBothPlanes, -1);
  world.counted.add(world.node("b1"), web, kBothPlanes, +1);
  EXPECT_EQ(world.admitted(lonely), "a0 a1 lone ");
  EXPECT_EQ(world.admitted(web), "a0 a1 b0 b1 lone ");
  const auto why = world.counted.hindrance(world.node("b0"), lonely, kBothPlanes);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->selector + " " + why->level, "web zone");
}

TEST(Counted, AStartSeesTheEndingOnesAndAPlanThoseThatAreHeld) {
  CountedWorld world;
  const CountedId self = world.counted.intern({apart("web", kHost)}, {"web"});
  world.counted.add(world.node("a0"), self, kNowBit, +1);    // ending
  world.counted.add(world.node("b0"), self, kAfterBit, +1);  // held
  EXPECT_EQ(world.admitted(self, Mode::kStart), "a1 b1 lone ");
  EXPECT_EQ(world.admitted(self, Mode::kPlan), "a0 a1 b1 lone ");
}

TEST(Counted, SlotsThatExcludeEachOtherAreOneInADomain) {
  CountedWorld world;
  const CountedId hosts = world.counted.intern({apart("web", kHost)}, {"web"});
  const CountedId zones = world.counted.intern({apart("web", kZone)}, {"web"});
  EXPECT_EQ(world.counted.cap(world.node("a0"), hosts, Mode::kStart), 1);
  EXPECT_FALSE(world.counted.limits_itself(hosts, Mode::kStart)) << "hosts are independent";
  EXPECT_TRUE(world.counted.limits_itself(zones, Mode::kStart));
  EXPECT_GT(world.counted.cap(world.node("lone"), zones, Mode::kStart), 1) << "it is in no zone";
  const auto all = std::vector{world.node("a0"), world.node("a1"), world.node("b0"), world.node("lone")};
  EXPECT_EQ(world.counted.at_most(zones, Mode::kStart, all, [](NodeId) { return std::int64_t{3}; }), 5);
}

TEST(Counted, TheFirstOfItsKindMayGoAnywhereAndTheOthersFollow) {
  CountedWorld world;
  const CountedId kin = world.counted.intern({near("kin", kZone)}, {"kin"});
  const CountedId guest = world.counted.intern({near("kin", kZone)}, {});
  EXPECT_EQ(world.admitted(kin), "a0 a1 b0 b1 ") << "not where the label is missing";
  EXPECT_EQ(world.admitted(guest), "") << "no such pod is anywhere";
  EXPECT_TRUE(world.counted.limits_itself(kin, Mode::kStart));
  world.counted.add(world.node("b0"), kin, kBothPlanes, +1);
  EXPECT_EQ(world.admitted(kin), "b0 b1 ");
  EXPECT_EQ(world.admitted(guest), "b0 b1 ");
  EXPECT_FALSE(world.counted.limits_itself(kin, Mode::kStart));
  world.counted.add(world.node("b0"), kin, kAfterBit, -1);  // it is ending
  EXPECT_EQ(world.admitted(guest), "");
  EXPECT_EQ(world.admitted(kin, Mode::kPlan), "a0 a1 b0 b1 ");
}

TEST(Counted, TheFirstOfItsKindComesBeforeItsKindWhereverItStandsInTheList) {
  CountedWorld world;
  const CountedId follower = world.counted.intern({near("web", kZone)}, {"web"});
  const CountedId plain = world.counted.intern({}, {"web"});
  const auto left = [&](const std::vector<std::pair<std::string, CountedId>>& all) {
    std::vector<Counted::Place> places;
    for (const auto& [node, id] : all) places.emplace_back(world.node(node), id);
    for (const auto& [node, id] : places) world.counted.add(node, id, kBothPlanes, +1);
    const std::size_t out = world.counted.never_come(places, kBothPlanes).size();
    for (const auto& [node, id] : places) world.counted.add(node, id, kBothPlanes, -1);
    return out;
  };
  EXPECT_EQ(left({{"a0", follower}, {"b0", plain}}), 0u);
  EXPECT_EQ(left({{"b0", plain}, {"a0", follower}}), 0u) << "the plain one may come last";
  EXPECT_EQ(left({{"a0", follower}, {"b0", follower}, {"b1", plain}}), 0u) << "the one in zone b follows b1";
  EXPECT_EQ(left({{"b0", plain}, {"b1", follower}, {"a0", follower}}), 0u);
  EXPECT_EQ(left({{"a0", follower}, {"b0", follower}}), 1u) << "one of them is the first";
  world.counted.add(world.node("b0"), plain, kBothPlanes, +1);
  EXPECT_EQ(left({{"a0", follower}, {"b1", follower}}), 1u) << "there is one of their kind";
}

TEST(Counted, ATermThatComesLaterCountsWhatStandsThere) {
  CountedWorld world;
  world.counted.add(world.node("a0"), world.counted.intern({}, {"web"}), kBothPlanes, +1);
  EXPECT_EQ(world.admitted(world.counted.intern({apart("web", kZone)}, {})), "b0 b1 lone ");
  EXPECT_EQ(world.admitted(world.counted.intern({apart("web", kHost)}, {})), "a1 b0 b1 lone ");
}

TEST(Counted, ANodeThatMovesTakesItsCountsAlong) {
  CountedWorld world;
  const CountedId self = world.counted.intern({apart("web", kZone)}, {"web"});
  world.counted.add(world.node("a0"), self, kBothPlanes, +1);
  ok(world.nodes.upsert(std::get<NodeUpsert>(gpu_node("a0", 8, {{kHost, "a0"}, {kZone, "b"}})).node));
  world.counted.set_node(world.node("a0"));
  EXPECT_EQ(world.admitted(self), "a1 lone ");
  ok(world.nodes.remove("a0"));
  world.counted.set_node(world.node("a0"));
  EXPECT_EQ(world.counted.to_text(), "");
  EXPECT_TRUE(world.counted.admits(world.node("b0"), self, kBothPlanes));
}

TEST(Counted, IdsThatNothingUsesAreForgotten) {
  CountedWorld world;
  const CountedId kept = world.counted.intern({apart("web", kZone)}, {"web"});
  const CountedId dropped = world.counted.intern({apart("db", kHost)}, {"db", "web"});
  world.counted.add(world.node("a0"), kept, kBothPlanes, +1);
  std::vector<bool> used(world.counted.size(), false);
  used[kept.index()] = true;
  const std::string before = world.counted.to_text();
  world.counted.keep_only(used);
  EXPECT_EQ(world.counted.to_text(), before);
  EXPECT_EQ(world.counted.intern({near("new", kZone)}, {}), dropped) << "its number is free again";
  EXPECT_EQ(world.admitted(kept), "b0 b1 lone ");
}

// ------------------------------------------------------------------------------------------------------ through the engine

std::vector<std::string> places(const Decision& d) {
  std::vector<std::string> out;
  for (const auto& slot : d.slots) out.push_back(slot.node);
  std::sort(out.begin(), out.end());
  return out;
}

struct TermsWorld {
  TermsWorld() {
    for (const auto& [name, zone] :
         std::map<std::string, std::string>{{"a0", "a"}, {"a1", "a"}, {"b0", "b"}, {"b1", "b"}})
      ok(e.apply(gpu_node(name, 8, {{kHost, name}, {kZone, zone}})));
  }
  void come(Workload w, std::vector<CountedTerm> terms, std::vector<std::string> selected) {
    w.root.pod_sets[0].pod.terms = std::move(terms);
    w.root.pod_sets[0].pod.selected = std::move(selected);
    ok(e.apply(WorkloadUpsert{std::move(w)}));
  }
  std::vector<Decision> decide() {
    auto out = e.decide(now += 1000);
    ok(e.audit());
    return out;
  }
  Engine e;
  TimeMs now = 0;
};

TEST(Terms, AForeignPodKeepsWorkOutOfItsDomainOnly) {
  TermsWorld world;
  ok(world.e.apply(ForeignPodUpsert{{"f", "a0", {}, {}, {}, {apart("web", kZone)}, {}}}));
  world.come(gang_workload("web", 3, 1), {}, {"web"});
  world.come(gang_workload("db", 4, 8), {}, {});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].workload, "web");
  for (const std::string& node : places(d[0])) EXPECT_EQ(node[0], 'b');
}

TEST(Terms, AForeignPodDrawsWorkThatItsPreferredTermSelects) {
  for (const TermKind kind : {TermKind::kNear, TermKind::kApart}) {
    TermsWorld world;
    ForeignPod pod{.uid = "f", .node = "b0"};
    pod.preferred_terms = std::vector<PreferredCountedTerm>{{10, {kind, "web", kZone}}};
    ok(world.e.apply(ForeignPodUpsert{pod}));
    world.come(gang_workload("web", 1, 1), {}, {"web"});
    const auto d = world.decide();
    ASSERT_EQ(d.size(), 1u);
    EXPECT_EQ(places(d[0])[0][0], kind == TermKind::kNear ? 'b' : 'a');
    ok(world.e.apply(ForeignPodRemove{"f"}));
    ok(world.e.audit());
  }
}

TEST(Terms, WorkStartsWhenTheLastPodThatKeepsItAwayIsGone) {
  TermsWorld world;
  ok(world.e.apply(ForeignPodUpsert{{"f", "a0", {}, {}, {}, {apart("web", kZone)}, {}}}));
  ok(world.e.apply(ForeignPodUpsert{{"g", "b0", {}, {}, {}, {apart("web", kZone)}, {}}}));
  world.come(gang_workload("web", 1, 1), {}, {"web"});
  EXPECT_TRUE(world.decide().empty());
  EXPECT_NE(to_text(world.e.explain("web")->reason)
                .find("4 nodes are ruled out by required anti-affinity (web, per zone)"),
            std::string::npos)
      << to_text(world.e.explain("web")->reason);
  ok(world.e.apply(ForeignPodRemove{"g"}));
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(places(d[0])[0][0], 'b');
}

TEST(Terms, MembersThatExcludeEachOtherTakeOneDomainEach) {
  TermsWorld world;
  world.come(gang_workload("hosts", 4, 1), {apart("h", kHost)}, {"h"});
  world.come(gang_workload("zones", 2, 1), {apart("z", kZone)}, {"z"});
  world.come(gang_workload("too-many", 3, 1), {apart("t", kZone)}, {"t"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(places(d[0]), (std::vector<std::string>{"a0", "a1", "b0", "b1"}));
  EXPECT_NE(places(d[1])[0][0], places(d[1])[1][0]);
  const Reason why = world.e.explain("too-many")->reason;
  EXPECT_NE(to_text(why).find("3 pods need nodes, there is room for 2"), std::string::npos) << to_text(why);
}

TEST(Terms, AGangThatMustBeTogetherChoosesADomainWithRoomForAll) {
  TermsWorld world;
  ok(world.e.apply(ForeignPodUpsert{{"f", "a0", {}, {{"nvidia.com/gpu", 4, 1000}}, {}, {}}}));
  // Greedily the first pod would go to the tightest node, a0, and zone a has room for three of these only.
  world.come(gang_workload("kin", 4, 4), {near("kin", kZone)}, {"kin"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(places(d[0]), (std::vector<std::string>{"b0", "b0", "b1", "b1"}));
}

TEST(Terms, WorkWaitsForThePodThatItMustBeNear) {
  TermsWorld world;
  world.come(gang_workload("guest", 2, 1), {near("host", kHost)}, {});
  EXPECT_TRUE(world.decide().empty());
  EXPECT_NE(to_text(world.e.explain("guest")->reason).find("ruled out by required affinity (host, per host)"),
            std::string::npos);
  world.come(gang_workload("host", 1, 1), {}, {"host"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u) << "its start wakes the other in the same round";
  EXPECT_EQ(places(d[1]), std::vector<std::string>(2, places(d[0])[0]));
}

TEST(Terms, EvictionOfThePodThatIsInTheWayHelps) {
  TermsWorld world;
  for (const char* name : {"low-a", "low-b"})
    world.come(gang_workload(name, 1, 1), {apart("web", kZone)}, {"web"});
  ASSERT_EQ(world.decide().size(), 2u);
  world.come(gang_workload("high", 1, 1, 10), {}, {"web"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[1].kind, DecisionKind::kHold);
}

TEST(Terms, SelectorsThatComeAliveCountWhatRuns) {
  TermsWorld world;
  world.come(gang_workload("web", 1, 1), {}, {});
  const std::string node = places(world.decide().at(0))[0];
  world.come(gang_workload("web", 1, 1), {}, {"web"});
  world.come(gang_workload("shy", 1, 1), {apart("web", kHost)}, {});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 1u);
  EXPECT_NE(places(d[0])[0], node);
}

TEST(Terms, AHoldEndsWhenAForeignPodStandsInItsWay) {
  TermsWorld world;
  world.come(gang_workload("low", 4, 8), {}, {});
  ASSERT_EQ(world.decide().size(), 1u);
  world.come(gang_workload("high", 1, 8, 10), {}, {"web"});
  const auto d = world.decide();
  ASSERT_EQ(d.size(), 2u);
  const std::string held = places(d[1])[0];
  ok(world.e.apply(ForeignPodUpsert{{"f", held, {}, {}, {}, {apart("web", kHost)}, {}}}));
  const auto after = world.decide();
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after[0].kind, DecisionKind::kReleaseHold);
}

}  // namespace
}  // namespace berth::engine
