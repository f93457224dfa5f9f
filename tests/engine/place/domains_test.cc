// Gangs lie in as few domains as possible, and all domains are looked at.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

struct Cluster {
  Engine e;
  std::map<std::string, std::string> group_of, leaf_of;
  TimeMs now = 1000;

  explicit Cluster(std::vector<std::string> levels = {"group", "leaf"}) {
    ok(e.apply(TopologyUpsert{{"net", std::move(levels)}}));
  }
  void host(const std::string& name, const std::string& group, const std::string& leaf, int gpus = 8) {
    group_of[name] = group;
    leaf_of[name] = group + "/" + leaf;
    ok(e.apply(gpu_node(name, gpus, {{"group", group}, {"leaf", leaf}})));
  }
  struct Spread {
    std::size_t slots = 0;
    std::set<std::string> groups, leaves;
  };
  Spread start(const Workload& w) {
    ok(e.apply(WorkloadUpsert{w}));
    Spread out;
    for (const Decision& d : e.decide(now += 1000)) {
      if (d.kind != DecisionKind::kStart || d.workload != w.uid) continue;
      for (const SlotPlacement& slot : d.slots) {
        ++out.slots;
        out.groups.insert(group_of[slot.node]);
        out.leaves.insert(leaf_of[slot.node]);
      }
    }
    ok(e.audit());
    return out;
  }
};

Workload of_two(const std::string& uid, int first, int first_gpus, int second, int second_gpus) {
  Workload w = gang_workload(uid, first, first_gpus);
  w.root.pod_sets.push_back(gang_workload("", second, second_gpus).root.pod_sets[0]);
  w.root.pod_sets[1].name = "second";
  return w;
}

// 200 leaves hold each pod set and not both; the last one holds both.
TEST(Domains, ARequiredOneIsFoundBehindManyThatHoldOnlyAPart) {
  for (const bool required : {true, false}) {
    Cluster c;
    for (int i = 0; i < 200; ++i) c.host("a" + std::to_string(i), "g", "a" + std::to_string(i));
    c.host("b0", "g", "b");
    c.host("b1", "g", "b");
    Workload w = of_two("w", 1, 8, 1, 4);
    (required ? w.root.topology.required : w.root.topology.preferred) = "leaf";
    const auto got = c.start(w);
    EXPECT_EQ(got.slots, 2u) << to_text(c.e.explain("w")->reason);
    EXPECT_EQ(got.leaves, std::set<std::string>{"g/b"});
  }
}

// Where the bound on steps ends the search, the verdict says so, and not that no domain has room.
TEST(Domains, OnlyTheStepsEndASearch) {
  EngineConfig config;
  config.search_steps = 40;
  Engine e(config);
  ok(e.apply(TopologyUpsert{{"net", {"leaf"}}}));
  // Each leaf passes the sums: two hosts of six GPUs for three pods of four.
  for (int i = 0; i < 60; ++i) {
    const std::string leaf = std::to_string(i);
    ok(e.apply(gpu_node("a" + leaf, 6, {{"leaf", leaf}})));
    ok(e.apply(gpu_node("b" + leaf, 6, {{"leaf", leaf}})));
  }
  Workload w = of_two("w", 2, 4, 1, 3);
  w.root.topology.required = "leaf";
  ok(e.apply(WorkloadUpsert{w}));
  EXPECT_TRUE(e.decide(1000).empty());
  EXPECT_NE(to_text(e.verdict("w")->reason).find("search"), std::string::npos)
      << to_text(e.verdict("w")->reason);
}

// Hosts of three groups in turn, two leaves a group; one pod a host.
TEST(Domains, AGangGoesToTheFewestWhateverItAskedFor) {
  for (const std::string asked : {"", "required", "preferred"}) {
    Cluster c;
    for (int h = 0; h < 4; ++h) {
      for (const std::string group : {"x", "y", "z"})
        c.host(group + std::to_string(h), group, h % 2 == 0 ? "l" : "m");
    }
    Workload w = gang_workload("w", 3, 8);
    if (asked == "required") w.root.topology.required = "group";
    if (asked == "preferred") w.root.topology.preferred = "leaf";
    auto got = c.start(w);
    EXPECT_EQ(got.slots, 3u) << asked;
    EXPECT_EQ(got.groups.size(), 1u) << asked;
    EXPECT_EQ(got.leaves.size(), 2u) << asked;
    got = c.start(gang_workload("two", 2, 8));
    EXPECT_EQ(got.leaves.size(), 1u) << asked;
    if (asked == "required") continue;
    w.uid = w.name = "wide";
    w.root.pod_sets[0].count = 6;
    got = c.start(w);
    EXPECT_EQ(got.groups.size(), 2u) << asked;
    EXPECT_EQ(got.leaves.size(), 3u) << asked;
  }
}

// A leaf of the workers' size, and one that has room for the head, too.
TEST(Domains, AHeadLiesWithItsWorkers) {
  for (const int head_gpus : {0, 2, 8}) {
    Cluster c;
    for (int h = 0; h < 4; ++h) c.host("a" + std::to_string(h), "g", "a");
    for (int h = 0; h < 5; ++h) c.host("b" + std::to_string(h), "g", "b");
    const auto got = c.start(of_two("w", 1, head_gpus, 4, 8));
    EXPECT_EQ(got.slots, 5u);
    EXPECT_EQ(got.leaves.size(), 1u) << head_gpus;
  }
}

TEST(Domains, AHeadAndWorkersThatNoLeafHoldsTakeTheFewest) {
  Cluster c;
  for (int h = 0; h < 4; ++h) {
    for (const std::string leaf : {"a", "b", "c", "d"}) c.host(leaf + std::to_string(h), "g", leaf);
  }
  const auto got = c.start(of_two("w", 1, 8, 6, 8));
  EXPECT_EQ(got.slots, 7u);
  EXPECT_EQ(got.leaves.size(), 2u);
}

TEST(Domains, AReplacementComesNearTheOthers) {
  Cluster c;
  for (int h = 0; h < 3; ++h) c.host("a" + std::to_string(h), "g", "a");
  c.host("z0", "h", "z");
  ASSERT_EQ(c.start(gang_workload("w", 2, 8)).leaves.size(), 1u);
  const std::string gone(c.e.slot("w", 0, 0)->node);
  ok(c.e.apply(SlotUpdate{"w", 0, 0, SlotState::kWaiting, ""}));
  c.e.decide(c.now += 1000);
  EXPECT_EQ(c.leaf_of[std::string(c.e.slot("w", 0, 0)->node)], "g/a") << "it was on " << gone;
}

// One pod is the policy's to place: with `spread` on the emptiest node, whatever the domains.
TEST(Domains, ASinglePodIsLeftToThePolicy) {
  Cluster c;
  c.host("a0", "g", "a", 4);
  c.host("b0", "g", "b", 8);
  Workload w = gang_workload("w", 1, 1);
  w.root.pod_sets[0].pod.placement = Placement::kSpread;
  EXPECT_EQ(c.start(w).leaves, std::set<std::string>{"g/b"});
}

TEST(Domains, NodesWithoutALabelAreTheLastResort) {
  Cluster c;
  ok(c.e.apply(gpu_node("plain", 8)));
  for (const std::string leaf : {"a", "b"}) c.host(leaf + "0", "g", leaf);
  EXPECT_EQ(c.start(gang_workload("two", 2, 8)).groups, std::set<std::string>{"g"});
  ok(c.e.apply(WorkloadRemove{"two"}));
  EXPECT_EQ(c.start(gang_workload("three", 3, 8)).slots, 3u)
      << "what domains cannot hold starts all the same";
}

// Arrivals and departures of gangs; each lies in as few groups and then leaves as were possible when it came. The least is
// found by trying all sets of groups, and taking the largest leaves in them.
TEST(Domains, RandomGangsLieInTheFewest) {
  Random r(2027);
  Cluster c;
  std::map<std::string, int> free;  // GPUs by host
  for (int h = 0; h < 60; ++h) {
    const std::string name = "h" + std::to_string(h);
    const auto group = r.below(5);
    c.host(name, "g" + std::to_string(group), "l" + std::to_string(r.below(4)));
    free[name] = 8;
  }
  std::vector<std::string> running;
  std::map<std::string, std::vector<std::string>> places;
  for (int n = 0; n < 300; ++n) {
    while (running.size() > 12 || (!running.empty() && r.chance(1, 4))) {
      const std::size_t at = r.below(running.size());
      for (const std::string& host : places[running[at]]) free[host] = 8;
      ok(c.e.apply(WorkloadRemove{running[at]}));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const auto pods = static_cast<int>(r.between(2, 12));
    std::map<std::string, std::map<std::string, int>> rooms;
    for (const auto& [host, gpus] : free) rooms[c.group_of[host]][c.leaf_of[host]] += gpus / 8;
    std::vector<std::vector<int>> groups;
    for (const auto& [group, leaves] : rooms) {
      groups.emplace_back();
      for (const auto& [leaf, room] : leaves) groups.back().push_back(room);
    }
    std::pair<std::size_t, std::size_t> least{99, 99};
    for (std::uint32_t mask = 1; mask < 1u << groups.size(); ++mask) {
      std::vector<int> leaves;
      std::size_t count = 0;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if ((mask >> g & 1) == 0) continue;
        ++count;
        leaves.insert(leaves.end(), groups[g].begin(), groups[g].end());
      }
      std::sort(leaves.rbegin(), leaves.rend());
      int left = pods;
      std::size_t taken = 0;
      while (left > 0 && taken < leaves.size()) left -= leaves[taken++];
      if (left <= 0) least = std::min(least, {count, taken});
    }
    const std::string uid = "w" + std::to_string(n);
    const auto got = c.start(gang_workload(uid, pods, 8));
    if (least.first == 99) {
      EXPECT_EQ(got.slots, 0u);
      ok(c.e.apply(WorkloadRemove{uid}));
      continue;
    }
    EXPECT_EQ(std::make_pair(got.groups.size(), got.leaves.size()), least) << uid << " of " << pods;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(pods); ++i) {
      places[uid].emplace_back(c.e.slot(uid, 0, i)->node);
      free[places[uid].back()] = 0;
    }
    running.push_back(uid);
  }
}

}  // namespace
}  // namespace berth::engine::test
