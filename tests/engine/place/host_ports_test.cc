// Host ports: no two pods on one node have the same, whichever search places them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr HostPort port_of(std::int64_t number) {
  return {number, PortProtocol::kTcp, ""};
}

// `count` pods with this port, all or none.
Workload with_port(const std::string& uid, int count, HostPort port = port_of(8080),
                   std::int64_t priority = 0) {
  Workload w = gang_workload(uid, count, 0, priority);
  w.root.pod_sets[0].pod.ports = std::vector{std::move(port)};
  return w;
}

Engine cluster(int nodes) {
  Engine engine;
  for (int i = 0; i < nodes; ++i) ok(engine.apply(gpu_node("n" + std::to_string(i), 0)));
  return engine;
}

std::vector<std::string> evicted_in(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const auto& d : decisions) {
    if (d.kind == DecisionKind::kEvict) out.push_back(d.workload);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> started_in(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const auto& d : decisions) {
    if (d.kind == DecisionKind::kStart) out.push_back(d.workload);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void runs(Engine& engine, const std::vector<Decision>& decisions) {
  for (const auto& d : decisions) {
    if (d.kind != DecisionKind::kStart) continue;
    for (const auto& slot : d.slots)
      ok(engine.apply(
          SlotUpdate{d.workload, slot.pod_set, slot.index, SlotState::kRunning, slot.node, slot.devices}));
  }
}

TEST(HostPorts, PodsOfOnePortShareNoNode) {
  Engine engine = cluster(2);
  for (const char* uid : {"a", "b", "c"}) ok(engine.apply(WorkloadUpsert{with_port(uid, 1)}));
  ok(engine.apply(WorkloadUpsert{with_port("other", 1, port_of(8081))}));
  const auto decisions = engine.decide(1);
  EXPECT_THAT(started_in(decisions), ElementsAre("a", "b", "other"));
  std::set<std::string> nodes;
  for (const auto& d : decisions) {
    if (d.workload != "other") nodes.insert(d.slots[0].node);
  }
  EXPECT_EQ(nodes.size(), 2u);
  EXPECT_THAT(to_text(engine.explain("c")->reason), HasSubstr("2 nodes have no free host port 8080/TCP"));
  ok(engine.audit());
  ok(engine.apply(WorkloadRemove{"a"}));
  EXPECT_THAT(started_in(engine.decide(2)), ElementsAre("c")) << "the end of a pod with its port wakes it";
}

TEST(HostPorts, AnAddressCollidesWithItselfAndWithAll) {
  Engine engine = cluster(1);
  ok(engine.apply(WorkloadUpsert{with_port("one", 1, {53, PortProtocol::kUdp, "10.0.0.1"})}));
  ok(engine.apply(WorkloadUpsert{with_port("two", 1, {53, PortProtocol::kUdp, "10.0.0.2"})}));
  ok(engine.apply(WorkloadUpsert{with_port("all", 1, {53, PortProtocol::kUdp, ""})}));
  ok(engine.apply(WorkloadUpsert{with_port("again", 1, {53, PortProtocol::kUdp, "10.0.0.1"})}));
  ok(engine.apply(WorkloadUpsert{with_port("tcp", 1, {53, PortProtocol::kTcp, ""})}));
  EXPECT_THAT(started_in(engine.decide(1)), ElementsAre("one", "tcp", "two"));
}

TEST(HostPorts, PodsOfOthersHaveTheirs) {
  Engine engine = cluster(1);
  ok(engine.apply(ForeignPodUpsert{{"exporter", "n0", {}, {}, {port_of(9100), port_of(8080)}}}));
  ok(engine.apply(WorkloadUpsert{with_port("a", 1)}));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  EXPECT_THAT(to_text(engine.explain("a")->reason), HasSubstr("1 node has no free host port 8080/TCP"));
  ok(engine.apply(ForeignPodUpsert{{"exporter", "n0", {}, {}, {port_of(9100)}}}));
  EXPECT_THAT(started_in(engine.decide(2)), ElementsAre("a"));
  ok(engine.audit());
}

TEST(HostPorts, MembersOfAGangAreOnNodesOfTheirOwn) {
  Engine engine = cluster(2);
  ok(engine.apply(WorkloadUpsert{with_port("three", 3)}));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  EXPECT_THAT(
      to_text(engine.explain("three")->reason),
      HasSubstr("3 pods need nodes, there is room for 2: 2 nodes have room for 2 and then lack host port "
                "8080/TCP"));
  ok(engine.apply(gpu_node("n2", 0)));
  const auto decisions = engine.decide(2);
  ASSERT_EQ(decisions.size(), 1u);
  std::set<std::string> nodes;
  for (const auto& slot : decisions[0].slots) nodes.insert(slot.node);
  EXPECT_EQ(nodes.size(), 3u);
}

// Pod sets that differ in their requests and share a port.
TEST(HostPorts, PodSetsOfOneGangShareNoNodeEither) {
  Engine engine = cluster(2);
  Workload w = with_port("gang", 1);
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  w.root.pod_sets[1].name = "worker";
  w.root.pod_sets[1].pod.requests.set("cpu", 2000);
  ok(engine.apply(WorkloadUpsert{w}));
  const auto decisions = engine.decide(1);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_NE(decisions[0].slots[0].node, decisions[0].slots[1].node);
}

TEST(HostPorts, TheVictimIsTheOneThatHasThePort) {
  Engine engine = cluster(1);
  ok(engine.apply(WorkloadUpsert{with_port("low", 1)}));
  ok(engine.apply(WorkloadUpsert{with_port("harmless", 1, port_of(8081))}));
  for (int i = 0; i < 5; ++i) ok(engine.apply(gang("plain" + std::to_string(i), 1, 0)));
  runs(engine, engine.decide(1));
  ok(engine.apply(WorkloadUpsert{with_port("high", 1, port_of(8080), 10)}));
  const auto decisions = engine.decide(2);
  EXPECT_THAT(evicted_in(decisions), ElementsAre("low"));
  EXPECT_THAT(started_in(decisions), IsEmpty());
  // The port is held for it: no other pod gets it, and it starts when the victim is gone.
  ok(engine.apply(WorkloadUpsert{with_port("late", 1)}));
  EXPECT_THAT(engine.decide(3), IsEmpty());
  ok(engine.apply(SlotUpdate{"low", 0, 0, SlotState::kGone, ""}));
  EXPECT_THAT(started_in(engine.decide(4)), ElementsAre("high"));
  ok(engine.audit());
}

// One node must lose one pod, the other two: the cheaper place is found by the ports alone.
TEST(HostPorts, FewestVictimsByPort) {
  Engine engine;
  for (const char* name : {"n0", "n1"}) ok(engine.apply(gpu_node(name, 0)));
  const auto on = [](Workload w, const std::string& node) {
    w.root.pod_sets[0].pod.required_affinity = {{{}, {{"", SelectorOp::kIn, {node}}}}};
    return WorkloadUpsert{w};
  };
  for (int i = 0; i < 20; ++i) ok(engine.apply(on(gang_workload("filler" + std::to_string(i), 1, 0), "n0")));
  ok(engine.apply(on(with_port("first", 1, {80, PortProtocol::kTcp, "10.0.0.1"}), "n0")));
  ok(engine.apply(on(with_port("second", 1, {80, PortProtocol::kTcp, "10.0.0.2"}), "n0")));
  ok(engine.apply(on(with_port("single", 1, {80, PortProtocol::kTcp, "10.0.0.3"}), "n1")));
  runs(engine, engine.decide(1));
  ok(engine.apply(WorkloadUpsert{with_port("high", 1, port_of(80), 10)}));
  EXPECT_THAT(evicted_in(engine.decide(2)), ElementsAre("single"));
  ok(engine.audit());
}

// A foreign pod stays where it runs. The hold that loses its room by that ends, and says why.
TEST(HostPorts, AHoldEndsWhenAnotherPodGetsItsPort) {
  Engine engine = cluster(1);
  ok(engine.apply(WorkloadUpsert{with_port("low", 1)}));
  runs(engine, engine.decide(1));
  ok(engine.apply(WorkloadUpsert{with_port("high", 1, port_of(8080), 10)}));
  EXPECT_EQ(evicted_in(engine.decide(2)).size(), 1u);
  ok(engine.apply(ForeignPodUpsert{{"daemon", "n0", {}, {}, {port_of(8080)}}}));
  const auto decisions = engine.decide(3);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].kind, DecisionKind::kReleaseHold);
  EXPECT_THAT(to_text(decisions[0].reason), HasSubstr("another pod has host port 8080/TCP of node n0"));
  ok(engine.audit());
}

}  // namespace
}  // namespace berth::engine::test
