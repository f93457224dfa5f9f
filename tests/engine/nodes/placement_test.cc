// Where slots go: constraints, topology, flavors, policies, groups.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/checked.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

std::set<std::string> nodes_of(const Decision& d) {
  std::set<std::string> out;
  for (const auto& slot : d.slots) out.insert(slot.node);
  return out;
}

Event with(Workload w, const std::function<void(Workload&)>& change) {
  change(w);
  return WorkloadUpsert{std::move(w)};
}

PodTemplate& pod(Workload& w) {
  return w.root.pod_sets[0].pod;
}

std::string placed_on(Engine& e, const Event& event) {
  ok(e.apply(event));
  const auto d = e.decide(1000);
  if (d.empty()) return "";
  EXPECT_EQ(d.size(), 1u);
  ok(e.audit());
  return d[0].slots[0].node;
}

TEST(Placement, PackFillsAndSpreadSpreads) {
  for (const Placement policy : {Placement::kPack, Placement::kSpread}) {
    EngineConfig config;
    config.placement = policy;
    Engine e(config);
    for (int i = 0; i < 4; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 4)));
    ok(e.apply(gang("a", 4, 1)));
    const auto d = e.decide(1000);
    ASSERT_EQ(d.size(), 1u);
    EXPECT_EQ(nodes_of(d[0]).size(), policy == Placement::kPack ? 1u : 4u);
  }
}

TEST(Placement, AWorkloadChoosesForItself) {
  Engine e;  // packs
  for (int i = 0; i < 4; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 4)));
  ok(e.apply(with(gang_workload("a", 4, 1), [](Workload& w) { pod(w).placement = Placement::kSpread; })));
  auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(nodes_of(d[0]).size(), 4u);
  ok(e.apply(gang("b", 3, 1)));
  d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(nodes_of(d[0]).size(), 1u);
}

TEST(Placement, WorkWithoutDevicesAvoidsFreeDevices) {
  Engine e;
  ok(e.apply(gpu_node("gpu", 8)));
  ok(e.apply(gpu_node("cpu", 0)));
  EXPECT_EQ(placed_on(e, gang("a", 1, 0)), "cpu");
}

TEST(Placement, SelectorsAndEveryOperator) {
  Engine e;
  ok(e.apply(gpu_node("a", 8, {{"zone", "x"}, {"gen", "3"}})));
  ok(e.apply(gpu_node("b", 8, {{"zone", "y"}, {"gen", "5"}})));
  ok(e.apply(gpu_node("c", 8)));
  int n = 0;
  const auto only = [&](Requirement r) {
    return placed_on(e, with(gang_workload("w" + std::to_string(n++), 1, 1), [&](Workload& w) {
                       pod(w).required_affinity = {{{std::move(r)}, {}}};
                     }));
  };
  EXPECT_EQ(only({"zone", SelectorOp::kIn, {"y", "z"}}), "b");
  EXPECT_EQ(only({"zone", SelectorOp::kDoesNotExist, {}}), "c");
  EXPECT_EQ(only({"gen", SelectorOp::kGt, {"3"}}), "b");
  EXPECT_EQ(only({"gen", SelectorOp::kLt, {"4"}}), "a");
  EXPECT_EQ(only({"zone", SelectorOp::kNotIn, {"x", "y"}}), "c");
  EXPECT_NE(only({"zone", SelectorOp::kExists, {}}), "c");
  EXPECT_EQ(only({"gen", SelectorOp::kGt, {"nine"}}), "");
  EXPECT_EQ(placed_on(e, with(gang_workload("name", 1, 1),
                              [&](Workload& w) {
                                pod(w).required_affinity = {{{}, {{"", SelectorOp::kIn, {"c"}}}}};
                              })),
            "c");
  EXPECT_EQ(placed_on(e, with(gang_workload("prefers", 1, 1),
                              [&](Workload& w) {
                                pod(w).preferred_affinity = {{50, {{{"zone", SelectorOp::kIn, {"y"}}}, {}}},
                                                             {40, {{{"zone", SelectorOp::kIn, {"x"}}}, {}}}};
                              })),
            "b");
}

TEST(Placement, TaintsAndCordons) {
  Engine e;
  Node tainted;
  tainted.name = "t";
  tainted.allocatable.set("cpu", 8000);
  tainted.taints = {{"pool", "infra", TaintEffect::kNoSchedule}};
  ok(e.apply(NodeUpsert{tainted}));
  EXPECT_EQ(placed_on(e, gang("plain", 1, 0)), "");
  EXPECT_NE(to_text(e.explain("plain")->reason).find("pool=infra"), std::string::npos);
  EXPECT_EQ(
      placed_on(e, with(gang_workload("tolerates", 1, 0),
                        [](Workload& w) {
                          pod(w).tolerations = {{"pool", false, "infra", TolerationEffect::kNoSchedule}};
                        })),
      "t");
  tainted.taints.clear();
  tainted.unschedulable = true;
  ok(e.apply(NodeUpsert{tainted}));
  EXPECT_TRUE(e.decide(2000).empty());
  tainted.unschedulable = false;
  ok(e.apply(NodeUpsert{tainted}));
  EXPECT_EQ(e.decide(3000).size(), 1u);  // the wake condition
}

Event racks() {
  return TopologyUpsert{{"net", {"block", "rack", "host"}}};
}

void add_racks(Engine& e, int per_rack) {
  ok(e.apply(racks()));
  for (int b = 0; b < 2; ++b) {
    for (int r = 0; r < 2; ++r) {
      for (int h = 0; h < per_rack; ++h) {
        const std::string rack = "b" + std::to_string(b) + "r" + std::to_string(r);
        const std::string host = rack + "h" + std::to_string(h);
        ok(e.apply(gpu_node(host, 8, {{"block", "b" + std::to_string(b)}, {"rack", rack}, {"host", host}})));
      }
    }
  }
}

TEST(Topology, RequiredTakesTheTightestDomain) {
  Engine e;
  add_racks(e, 3);
  ok(e.apply(
      with(gang_workload("pin", 1, 8), [](Workload& w) { pod(w).node_selector.edit()["rack"] = "b1r0"; })));
  e.decide(1000);
  ok(e.apply(with(gang_workload("two", 2, 8), [](Workload& w) { w.root.topology.required = "rack"; })));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  for (const auto& node : nodes_of(d[0]))
    EXPECT_EQ(node.substr(0, 4), "b1r0") << "the rack with exactly two free hosts";
  ok(e.apply(with(gang_workload("four", 4, 8), [](Workload& w) { w.root.topology.required = "rack"; })));
  EXPECT_TRUE(e.decide(3000).empty());
  EXPECT_NE(to_text(e.explain("four")->reason).find("must share one rack, the best has room for 3"),
            std::string::npos)
      << to_text(e.explain("four")->reason);
  ok(e.audit());
}

TEST(Topology, PreferredGoesOutwards) {
  Engine e;
  add_racks(e, 2);
  ok(e.apply(with(gang_workload("four", 4, 8), [](Workload& w) { w.root.topology.preferred = "rack"; })));
  auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  std::set<std::string> blocks;
  for (const auto& node : nodes_of(d[0])) blocks.insert(node.substr(0, 2));
  EXPECT_EQ(blocks.size(), 1u);
}

TEST(Topology, SegmentsStayTogether) {
  Engine e;
  add_racks(e, 3);
  ok(e.apply(with(gang_workload("six", 6, 8), [](Workload& w) {
    w.root.topology.segment = 2;
    w.root.topology.segment_level = "rack";
  })));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  for (std::size_t i = 0; i < 6; i += 2)
    EXPECT_EQ(d[0].slots[i].node.substr(0, 4), d[0].slots[i + 1].node.substr(0, 4));
}

// Two groups that fill a rack each, and a pod beside them: what one is bound to binds no other.
TEST(Topology, EachGroupHasItsOwnDomain) {
  Engine e;
  add_racks(e, 2);
  Workload w;
  w.uid = w.name = "w";
  w.root.topology.required = "block";
  for (int i = 0; i < 2; ++i) {
    Group group;
    group.topology.required = "rack";
    group.pod_sets = gang_workload("", 2, 8).root.pod_sets;
    w.root.groups.push_back(group);
  }
  ok(e.apply(WorkloadUpsert{w}));
  auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  std::set<std::string> racks;
  std::set<std::string> blocks;
  for (const auto& slot : d[0].slots) {
    racks.insert(std::to_string(slot.pod_set) + slot.node.substr(0, 4));
    blocks.insert(slot.node.substr(0, 2));
  }
  EXPECT_EQ(d[0].slots.size(), 4u);
  EXPECT_EQ(racks.size(), 2u);
  EXPECT_EQ(blocks.size(), 1u);
  w.uid = w.name = "with_leader";
  w.root.topology = {};
  w.root.groups.pop_back();
  w.root.pod_sets = gang_workload("", 2, 8).root.pod_sets;
  ok(e.apply(WorkloadUpsert{w}));
  d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].slots.size(), 4u) << "the leader has the other rack";
  ok(e.audit());
}

// One host is free in each of two racks: no whole segment finds a rack, and a set that may grow by one pod does.
TEST(Topology, AnElasticSetGrowsByLessThanASegment) {
  Engine e;
  add_racks(e, 1);
  ok(e.apply(with(gang_workload("elastic", 4, 8), [](Workload& w) {
    w.root.pod_sets[0].least = 1;
    w.root.topology.segment = 2;
    w.root.topology.segment_level = "rack";
  })));
  std::size_t slots = 0;
  for (const Decision& d : e.decide(1000)) slots += d.slots.size();
  EXPECT_EQ(slots, 4u);
  ok(e.audit());
}

// The first pod sets alone would take the small node, where the last one must go.
TEST(Groups, ThePodSetWithTheLeastRoomGoesFirstWhereTheWrittenOrderFails) {
  Engine e;
  ok(e.apply(gpu_node("n1", 4, {{"kind", "scarce"}})));
  ok(e.apply(gpu_node("n2", 8)));
  Workload w = gang_workload("w", 3, 2);
  w.root.pod_sets.push_back(gang_workload("", 1, 2).root.pod_sets[0]);
  w.root.pod_sets.push_back(gang_workload("", 1, 1).root.pod_sets[0]);
  w.root.pod_sets[2].pod.node_selector.edit()["kind"] = "scarce";
  ok(e.apply(WorkloadUpsert{w}));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].slots.size(), 5u);
  ok(e.audit());
}

TEST(Topology, ALevelOfNoTopologyIsNamed) {
  Engine e;
  add_racks(e, 1);
  ok(e.apply(with(gang_workload("w", 3, 8), [](Workload& w) { w.root.topology.required = "room"; })));
  EXPECT_TRUE(e.decide(1000).empty());
  EXPECT_NE(to_text(e.verdict("w")->reason)
                .find("3 pods must share one room: no topology has this level: ask for one of block, rack"),
            std::string::npos)
      << to_text(e.verdict("w")->reason);
  ok(e.apply(TopologyRemove{std::get<TopologyUpsert>(racks()).topology.name}));
  e.decide(2000);
  EXPECT_NE(to_text(e.verdict("w")->reason).find("there is no topology: remove the request"),
            std::string::npos)
      << to_text(e.verdict("w")->reason);
}

TEST(Topology, ManyLevelsMakeNoLongReason) {
  Engine e;
  add_racks(e, 1);
  ok(e.apply(TopologyUpsert{{"cloud",
                             {"topology.kubernetes.io/zone", "cloud.provider.com/topology-block",
                              "cloud.provider.com/topology-rack", "kubernetes.io/hostname"}}}));
  ok(e.apply(with(gang_workload("w", 16, 8),
                  [](Workload& w) { w.root.topology.required = "topology.example.com/rack"; })));
  EXPECT_TRUE(e.decide(1000).empty());
  const std::string text = to_text(e.verdict("w")->reason);
  EXPECT_NE(text.find("ask for one of"), std::string::npos) << text;
  const std::size_t end = text.find(", ..., or add it to a topology, preemption");
  ASSERT_NE(end, std::string::npos) << text;
  EXPECT_LT(end, 130u) << text;
}

TEST(Flavors, OneWhoseNodesAreFullIsNotChosen) {
  Engine e;
  ok(e.apply(gpu_node("small", 2, {{"kind", "f"}})));
  ok(e.apply(gpu_node("large", 8, {{"kind", "g"}})));
  ok(e.apply(FlavorUpsert{{"f", {{"kind", "f"}}, {}, {}, ""}}));
  ok(e.apply(FlavorUpsert{{"g", {{"kind", "g"}}, {}, {}, ""}}));
  Queue q;
  q.name = "q";
  q.groups = {{{"cpu", "nvidia.com/gpu"}, {"f", "g"}}};
  for (const char* flavor : {"f", "g"}) {
    q.quotas.push_back({flavor, "cpu", 100'000, {}, {}});
    q.quotas.push_back({flavor, "nvidia.com/gpu", 8000, {}, {}});
  }
  ok(e.apply(QueueUpsert{q}));
  ok(e.apply(gang("a", 4, 1, 0, "q")));
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(nodes_of(d[0]), std::set<std::string>{"large"});
  ASSERT_EQ(d[0].flavors.size(), 2u);
  EXPECT_EQ(d[0].flavors[0].flavor, "g");
  ok(e.audit());
}

TEST(Groups, AChildMayBeLeftOutWhereTheGroupCanDoWithoutIt) {
  Workload w;
  w.uid = w.name = "tree";
  w.root.least = 2;
  for (int i = 0; i < 3; ++i) {
    Group child;
    child.name = "replica" + std::to_string(i);
    PodSet set = gang_workload("x", 2, i == 1 ? 8 : 4).root.pod_sets[0];
    child.pod_sets = {set};
    w.root.groups.push_back(child);
  }
  Engine e;
  for (int i = 0; i < 3; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 8)));
  ok(e.apply(WorkloadUpsert{w}));
  auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  std::set<std::int64_t> sets;
  for (const auto& slot : d[0].slots) sets.insert(slot.pod_set);
  EXPECT_EQ(sets.size(), 2u);
  EXPECT_EQ(d[0].slots.size(), 4u);
  ok(e.audit());
  // One node less: not two children fit, so nothing starts.
  Engine f;
  ok(f.apply(gpu_node("n0", 8)));
  w.root.groups[0].pod_sets[0].pod.claim.requests[0].count = 8;
  ok(f.apply(WorkloadUpsert{w}));
  EXPECT_TRUE(f.decide(1000).empty());
  ok(f.audit());
}

TEST(Groups, LeastCountStartsAndTheRestFollows) {
  Engine e;
  ok(e.apply(gpu_node("n0", 4)));
  ok(e.apply(with(gang_workload("a", 6, 1), [](Workload& w) { w.root.pod_sets[0].least = 3; })));
  auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].slots.size(), 4u);
  ok(e.apply(gpu_node("n1", 4)));
  d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].slots.size(), 2u);
  ok(e.audit());
}

TEST(Gangs, WaitForAllTheirPods) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(with(gang_workload("a", 4, 1), [](Workload& w) { w.root.pod_sets[0].present = 0; })));
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(e.decide(1000 + i).empty());
    if (i > 0) {
      EXPECT_NE(to_text(e.verdict("a")->reason).find(std::to_string(i) + " of the gang's 4 exist"),
                std::string::npos);
    }
    ok(e.apply(SlotUpdate{"a", 0, i, SlotState::kWaiting, ""}));
  }
  EXPECT_EQ(e.decide(2000).size(), 1u);
}

TEST(Gangs, AHalfBoundGangIsCompletedAllOrNothing) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(with(gang_workload("a", 8, 1), [](Workload& w) { w.root.pod_sets[0].present = 0; })));
  for (int i = 0; i < 8; ++i) {
    ok(e.apply(SlotUpdate{"a", 0, i, i < 3 ? SlotState::kRunning : SlotState::kWaiting, i < 3 ? "n0" : ""}));
  }
  const auto d = e.decide(1000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].slots.size(), 5u);
  ok(e.audit());
}

TEST(Gangs, WithdrawalEndsWhatWasBound) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  ok(e.apply(gang("a", 4, 1)));
  e.decide(1000);
  ok(e.apply(Withdraw{"a", "2 of 4 pods could not be bound"}));
  const auto d = e.decide(2000);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].kind, DecisionKind::kEvict);
  EXPECT_EQ(d[0].reason.code, ReasonCode::kWithdrawn);
  EXPECT_EQ(d[0].slots.size(), 4u);
  ok(e.audit());
}

TEST(Bounds, MonstrousAmountsAreRefusedAndNeverWrap) {
  Engine e;
  ok(e.apply(gpu_node("n0", 8)));
  EXPECT_FALSE(e.apply(with(gang_workload("huge", 1, 1), [](Workload& w) {
                  pod(w).requests.set("cpu", kInt64Max);
                })).has_value());
  EXPECT_FALSE(e.apply(with(gang_workload("less", 1, 1), [](Workload& w) {
                  pod(w).requests.set("cpu", -1);
                })).has_value());
  for (int i = 0; i < 20; ++i) {
    ForeignPod pod_there{"f" + std::to_string(i), "n0", {{"cpu", kInt64Max}}, {}};
    ok(e.apply(ForeignPodUpsert{pod_there}));
  }
  ok(e.apply(gang("a", 1, 1)));
  EXPECT_TRUE(e.decide(1000).empty());
  for (int i = 0; i < 20; ++i) ok(e.apply(ForeignPodRemove{"f" + std::to_string(i)}));
  EXPECT_EQ(e.decide(2000).size(), 1u);
  ok(e.audit());
}

// Only the quota of an opaque flavor is known: its work has no place, and takes no node's room.
TEST(Placement, OpaqueFlavorsGiveQuotaAndNoPlace) {
  Engine engine;
  ok(engine.apply(gpu_node("n", 8)));
  Flavor flavor;
  flavor.name = "f";
  flavor.node_labels = {{"pool", "a"}};
  flavor.opaque = true;
  ok(engine.apply(FlavorUpsert{flavor}));
  ok(engine.apply(gpu_queue("q", "", 4)));
  ok(engine.apply(gang("fits", 3, 1, 0, "q")));
  ok(engine.apply(gang("too-much", 2, 1, 0, "q")));
  Workload elsewhere = gang_workload("elsewhere", 1, 1, 0, "q");
  elsewhere.root.pod_sets[0].pod.node_selector = {{"pool", "b"}, {"zone", "any"}};
  ok(engine.apply(WorkloadUpsert{elsewhere}));
  Workload inside = gang_workload("inside", 1, 1, 0, "q");
  inside.root.pod_sets[0].pod.node_selector = {{"pool", "a"},
                                               {"zone", "any"}};  // the zone is the nodes' affair
  ok(engine.apply(WorkloadUpsert{inside}));
  const auto decisions = engine.decide(1000);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].workload, "fits");
  EXPECT_EQ(decisions[1].workload, "inside");
  EXPECT_EQ(decisions[0].slots[0].node, "");
  EXPECT_EQ(engine.verdict("fits")->kind, VerdictKind::kQuotaOnly);
  EXPECT_EQ(engine.verdict("elsewhere")->reason.code, ReasonCode::kNodeFlavor);
  EXPECT_EQ(engine.verdict("too-much")->kind, VerdictKind::kBlocked);
  EXPECT_EQ(engine.nodes().size(), 1u);
  EXPECT_EQ(engine.nodes()[0].amounts[0].promised, 0);
  ok(engine.audit());
  ok(engine.apply(SlotUpdate{"fits", 0, 0, SlotState::kGone, ""}));
  ok(engine.audit());
}

TEST(Placement, ASlotSeenRunningIsChargedToTheFlavorThatIsWrittenDown) {
  Engine engine;
  Flavor first{"first", {}, {}, {}, "", true};
  Flavor second{"second", {}, {}, {}, "", true};
  ok(engine.apply(FlavorUpsert{first}));
  ok(engine.apply(FlavorUpsert{second}));
  Queue q;
  q.name = "q";
  q.groups = {{{"cpu"}, {"first", "second"}}};
  q.quotas = {{"first", "cpu", 4000, {}, {}}, {"second", "cpu", 4000, {}, {}}};
  ok(engine.apply(QueueUpsert{q}));
  ok(engine.apply(gang("w", 2, 0, 0, "q")));
  SlotUpdate seen{"w", 0, 0, SlotState::kRunning, ""};
  EXPECT_FALSE(engine.apply(seen));  // neither a node nor a flavor
  seen.flavors = {{"cpu", "second"}};
  ok(engine.apply(seen));
  for (const auto& view : engine.queues()) {
    if (view.name != "q") continue;
    EXPECT_EQ(view.quotas[0].usage, 0);
    EXPECT_EQ(view.quotas[1].usage, 1000);
  }
  ok(engine.audit());
}

// ------------------------------------------------------------------------------------------- fragmentation

Workload pod_of(const std::string& uid, std::int64_t cpu, std::int64_t gpus, std::int64_t milli,
                Labels selector = {}) {
  Workload w = gang_workload(uid, 1, static_cast<int>(gpus));
  PodTemplate& p = pod(w);
  p.requests.set("cpu", cpu);
  if (gpus > 0) p.claim.requests[0].milli = milli;
  p.node_selector = std::move(selector);
  return w;
}

Event mix(const std::vector<std::pair<Workload, std::int64_t>>& kinds) {
  DemandMixUpdate update;
  for (const auto& [workload, weight] : kinds) {
    update.mix.kinds.push_back({workload.root.pod_sets[0].pod, weight});
  }
  return update;
}

EngineConfig with_fragmentation() {
  EngineConfig config;
  config.placement = Placement::kFragmentation;
  return config;
}

TEST(Fragmentation, AModelThatOthersMustHaveIsLeftToThem) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("scarce", 8, {{"model", "rare"}})));
  for (int i = 0; i < 4; ++i) ok(e.apply(gpu_node("plain" + std::to_string(i), 8, {{"model", "common"}})));
  // A third of the demand must have the rare model, of which there is a fifth.
  ok(e.apply(mix({{pod_of("", 1000, 1, 1000), 2}, {pod_of("", 1000, 1, 1000, {{"model", "rare"}}), 1}})));
  for (int i = 0; i < 32; ++i) {
    EXPECT_NE(placed_on(e, WorkloadUpsert{pod_of("any" + std::to_string(i), 1000, 1, 1000)}), "scarce") << i;
  }
  EXPECT_EQ(placed_on(e, WorkloadUpsert{pod_of("must", 1000, 1, 1000, {{"model", "rare"}})}), "scarce");
  EXPECT_EQ(placed_on(e, WorkloadUpsert{pod_of("last", 1000, 1, 1000)}), "scarce") << "better than to wait";
}

TEST(Fragmentation, LargeFreeBlocksStayWhole) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("whole", 8)));
  ok(e.apply(gpu_node("broken", 8)));
  ok(e.apply(mix({{pod_of("", 1000, 8, 1000), 1}, {pod_of("", 1000, 1, 1000), 1}})));
  const std::string first = placed_on(e, WorkloadUpsert{pod_of("a", 1000, 1, 1000)});
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(placed_on(e, WorkloadUpsert{pod_of("b" + std::to_string(i), 1000, 1, 1000)}), first);
  }
  EXPECT_NE(placed_on(e, WorkloadUpsert{pod_of("big", 1000, 8, 1000)}), first);
}

TEST(Fragmentation, WorkThatEatsTheCpuGoesWhereNoDeviceIsLeftWithoutIt) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("starved", 8, {}, 64)));
  ok(e.apply(gpu_node("rich", 8, {}, 256)));
  ok(e.apply(mix({{pod_of("", 8000, 1, 1000), 1}})));
  // Four of eight GPUs of "starved" could no longer be used.
  EXPECT_EQ(placed_on(e, WorkloadUpsert{pod_of("cpu", 32'000, 0, 0)}), "rich");
}

TEST(Fragmentation, AShareGoesToTheDeviceThatLosesLeast) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("n", 2)));
  ok(e.apply(mix({{pod_of("", 1000, 1, 500), 1}})));
  const auto device = [&](const std::string& uid, std::int64_t milli) {
    ok(e.apply(shared(uid, milli)));
    const auto d = e.decide(1000);
    EXPECT_EQ(d.size(), 1u);
    return d[0].slots[0].devices;
  };
  EXPECT_EQ(device("a", 300), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(device("b", 400), (std::vector<std::int64_t>{1}))
      << "best fit would leave 300 that nobody can use";
  EXPECT_EQ(device("c", 500), (std::vector<std::int64_t>{1})) << "100 are lost; on the other it were 200";
  EXPECT_EQ(device("d", 200), (std::vector<std::int64_t>{0})) << "a half stays";
}

TEST(Fragmentation, TheEngineLearnsTheMixFromWhatArrives) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("scarce", 8, {{"model", "rare"}})));
  for (int i = 0; i < 20; ++i) ok(e.apply(gpu_node("plain" + std::to_string(i), 8, {{"model", "common"}})));
  EXPECT_EQ(e.fragmentation().mix_epoch, 0);
  EXPECT_EQ(e.fragmentation().idle, 168'000);
  // Half of what comes must have the rare model; a few of them come and go.
  for (int i = 0; i < 40; ++i) {
    const std::string uid = "w" + std::to_string(i);
    const bool rare = i % 2 == 0;
    ok(e.apply(WorkloadUpsert{pod_of(uid, 1000, 1, 1000, rare ? Labels{{"model", "rare"}} : Labels{})}));
    e.decide(1000);
    ok(e.apply(WorkloadRemove{uid}));
  }
  EXPECT_GT(e.fragmentation().mix_epoch, 0);
  EXPECT_FALSE(e.fragmentation().mix_given);
  // All idle room suits half of the demand at least; what is not of the rare model is of no use to the other half.
  EXPECT_GT(e.fragmentation().fragments, 70'000);
  EXPECT_LT(e.fragmentation().fragments, 90'000);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(placed_on(e, WorkloadUpsert{pod_of("any" + std::to_string(i), 1000, 1, 1000)}), "scarce") << i;
  }
}

// Before anything has come, work on devices of every size is expected, with CPU for each.
TEST(Fragmentation, TheFirstPodLeavesCpuToDevices) {
  Engine e(with_fragmentation());
  ok(e.apply(gpu_node("starved", 8, {}, 64)));
  ok(e.apply(gpu_node("rich", 8, {}, 256)));
  EXPECT_EQ(placed_on(e, WorkloadUpsert{pod_of("cpu", 32'000, 0, 0)}), "rich");
}

// Old work stays longest, as a rule: the room beside it is the least likely to become a whole node.
TEST(Fragmentation, WhereWorkEndsAPodGoesBesideTheOldest) {
  for (const bool ends : {false, true}) {
    Engine e(with_fragmentation());
    for (const char* name : {"young", "old", "free"}) ok(e.apply(gpu_node(name, 2, {{"host", name}})));
    TimeMs now = 1'000'000;
    const auto runs = [&](const std::string& uid, const std::string& node, TimeMs since) {
      ok(e.apply(WorkloadUpsert{pod_of(uid, 1000, 1, 1000, {{"host", node}})}));
      ok(e.apply(SlotUpdate{.workload = uid, .state = SlotState::kRunning, .node = node, .since = since}));
      EXPECT_TRUE(e.decide(now += 1000).empty());
    };
    // The second is older than the process knows at first.
    runs("a", "young", 0);
    runs("b", "old", 500'000);
    for (int i = 0; ends && i < 64; ++i) {
      const std::string uid = "short" + std::to_string(i);
      runs(uid, "free", 0);
      ok(e.apply(WorkloadRemove{uid}));
    }
    EXPECT_EQ(placed_on(e, gang("next", 1, 1)), ends ? "old" : "young");
  }
}

TEST(Fragmentation, ABadMixIsRefusedWithTheKind) {
  Engine e(with_fragmentation());
  const auto refused = [&](const Event& event) {
    const Status status = e.apply(event);
    return status ? std::string() : status.error().message;
  };
  EXPECT_NE(refused(mix({{pod_of("", 1000, 1, 1000), 1}, {pod_of("", 1000, 1, 1000), 0}})).find("kind 1"),
            std::string::npos);
  DemandMixUpdate update;
  update.mix.kinds.push_back({pod_of("", 1000, 1, 1000).root.pod_sets[0].pod, 1});
  update.mix.kinds[0].pod.claim.requests[0].milli = 1001;
  EXPECT_NE(refused(update), "");
}

}  // namespace
}  // namespace berth::engine
