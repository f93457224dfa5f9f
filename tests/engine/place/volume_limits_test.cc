// The volumes that a node attaches: a driver's limit is never passed, whichever search places the pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/nodes/nodes.h"
#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeUpsert limited_node(const std::string& name, std::optional<std::int64_t> most) {
  auto out = std::get<NodeUpsert>(gpu_node(name, 0));
  if (most) out.node.attachable.set("disk", *most);
  return out;
}

// `count` pods with so many volumes each, all or none.
Workload with_volumes(const std::string& uid, int count, std::int64_t volumes, std::int64_t priority = 0) {
  Workload w = gang_workload(uid, count, 0, priority);
  w.root.pod_sets[0].pod.attaches.set("disk", volumes);
  return w;
}

std::map<std::string, int> nodes_of(const std::vector<Decision>& decisions) {
  std::map<std::string, int> out;
  for (const auto& d : decisions) {
    if (d.kind != DecisionKind::kStart) continue;
    for (const auto& slot : d.slots) ++out[slot.node];
  }
  return out;
}

TEST(VolumeLimits, AGangSpreadsOverTheNodesThatHaveRoomForItsVolumes) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 3)));
  ok(engine.apply(limited_node("n1", 2)));
  ok(engine.apply(WorkloadUpsert{with_volumes("gang", 3, 2)}));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  EXPECT_THAT(to_text(engine.explain("gang")->reason),
              HasSubstr("room for 1 and then lacks attachable volumes of disk (limit 3)"));
  ok(engine.apply(limited_node("n1", 4)));
  const auto decisions = engine.decide(2);
  EXPECT_THAT(nodes_of(decisions), ElementsAre(std::pair("n0", 1), std::pair("n1", 2)));
  ok(engine.audit());
}

TEST(VolumeLimits, ANodeThatNamesNoLimitHasNone) {
  for (const bool node_first : {false, true}) {
    Engine engine;
    if (node_first) ok(engine.apply(limited_node("n0", {})));
    ok(engine.apply(limited_node("full", 0)));  // the driver is known before it
    if (!node_first) ok(engine.apply(limited_node("n0", {})));
    ok(engine.apply(WorkloadUpsert{with_volumes("many", 50, 100)}));
    EXPECT_THAT(nodes_of(engine.decide(1)), ElementsAre(std::pair("n0", 50))) << node_first;
    for (const NodeView& node : engine.nodes()) {
      for (const auto& amount : node.amounts)
        EXPECT_FALSE(node.name == "n0" && amount.resource.starts_with(kVolumesOf));
    }
    ok(engine.audit());
  }
}

TEST(VolumeLimits, OneThatCanNeverHaveItsVolumesSaysSo) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 3)));
  ok(engine.apply(WorkloadUpsert{with_volumes("large", 1, 4)}));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  EXPECT_THAT(to_text(engine.explain("large")->reason), HasSubstr("4 attachable volumes of disk"));
}

TEST(VolumeLimits, PodsOfOthersTakeTheirs) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 2)));
  ForeignPod other{"other", "n0", {}, {}};
  other.attaches.set("disk", 2);
  ok(engine.apply(ForeignPodUpsert{other}));
  ok(engine.apply(WorkloadUpsert{with_volumes("a", 1, 1)}));
  EXPECT_THAT(engine.decide(1), IsEmpty());
  ok(engine.audit());
  other.attaches.set("disk", 1);
  ok(engine.apply(ForeignPodUpsert{other}));
  EXPECT_THAT(nodes_of(engine.decide(2)), ElementsAre(std::pair("n0", 1)));
  ok(engine.audit());
}

// The limits of quota are of other things.
TEST(VolumeLimits, NoQuotaHasVolumes) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 8)));
  ok(engine.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  Queue queue;
  queue.name = "q";
  queue.groups = {{{"cpu"}, {"f"}}};
  queue.quotas = {{"f", "cpu", 1'000'000, {}, {}}};
  ok(engine.apply(QueueUpsert{queue}));
  Workload w = with_volumes("w", 2, 3);
  w.queue = "q";
  ok(engine.apply(WorkloadUpsert{w}));
  EXPECT_THAT(nodes_of(engine.decide(1)), ElementsAre(std::pair("n0", 2)));
}

TEST(VolumeLimits, AWorkloadIsPreemptedForItsVolumes) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 2)));
  Queue queue;
  queue.name = "q";
  queue.unlimited = true;
  queue.preemption.within = WithinQueue::kLowerPriority;
  ok(engine.apply(QueueUpsert{queue}));
  for (const char* uid : {"low", "plain"}) {
    Workload w = with_volumes(uid, 1, uid == std::string("low") ? 2 : 0);
    w.queue = "q";
    ok(engine.apply(WorkloadUpsert{w}));
  }
  for (const auto& d : engine.decide(1)) {
    for (const auto& slot : d.slots)
      ok(engine.apply(SlotUpdate{d.workload, slot.pod_set, slot.index, SlotState::kRunning, slot.node, {}}));
  }
  Workload high = with_volumes("high", 1, 1, 10);
  high.queue = "q";
  ok(engine.apply(WorkloadUpsert{high}));
  std::vector<std::string> evicted;
  for (const auto& d : engine.decide(2)) {
    if (d.kind == DecisionKind::kEvict) evicted.push_back(d.workload);
  }
  EXPECT_THAT(evicted, ElementsAre("low")) << "the other would free no volume";
  ok(engine.audit());
}

// ---- Volumes that several pods mount

Workload sharing(const std::string& uid, int count, std::vector<std::string> volumes,
                 std::int64_t priority = 0) {
  Workload w = gang_workload(uid, count, 0, priority);
  for (const std::string& name : volumes) w.root.pod_sets[0].pod.mounts.push_back({"disk", name});
  return w;
}

void run(Engine& engine, const std::vector<Decision>& decisions) {
  for (const auto& d : decisions) {
    if (d.kind != DecisionKind::kStart) continue;
    for (const auto& slot : d.slots)
      ok(engine.apply(SlotUpdate{d.workload, slot.pod_set, slot.index, SlotState::kRunning, slot.node, {}}));
  }
}

TEST(SharedVolumes, AGangThatSharesAVolumeTakesOnePlaceOfItsNode) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 1)));
  ok(engine.apply(WorkloadUpsert{sharing("gang", 5, {"data"})}));
  EXPECT_THAT(nodes_of(engine.decide(1)), ElementsAre(std::pair("n0", 5)));
  ok(engine.audit());
}

TEST(SharedVolumes, AVolumeThatIsThereTakesNothingAndAnotherHasNoPlace) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 1)));
  ok(engine.apply(limited_node("n1", 0)));
  ok(engine.apply(WorkloadUpsert{sharing("first", 1, {"data"})}));
  run(engine, engine.decide(1));
  ok(engine.apply(WorkloadUpsert{sharing("other", 1, {"more"})}));
  ok(engine.apply(WorkloadUpsert{sharing("both", 1, {"data", "more"})}));
  ok(engine.apply(WorkloadUpsert{sharing("same", 2, {"data"})}));
  EXPECT_THAT(nodes_of(engine.decide(2)), ElementsAre(std::pair("n0", 2)));
  EXPECT_THAT(to_text(engine.explain("other")->reason),
              HasSubstr("1 node lacks attachable volumes of disk (limit 1)"));
  EXPECT_THAT(to_text(engine.explain("both")->reason), HasSubstr("2 attachable volumes of disk"));
  ok(engine.audit());
}

TEST(SharedVolumes, ThePlaceIsFreeOnceTheLastPodOfTheVolumeIsGone) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 1)));
  ok(engine.apply(WorkloadUpsert{sharing("a", 1, {"data"})}));
  ok(engine.apply(WorkloadUpsert{sharing("b", 1, {"data"})}));
  run(engine, engine.decide(1));
  ok(engine.apply(WorkloadUpsert{sharing("next", 1, {"more"})}));
  ok(engine.apply(SlotUpdate{"a", 0, 0, SlotState::kReleasing, "n0", {}}));
  EXPECT_THAT(engine.decide(2), IsEmpty());
  ok(engine.audit());
  ok(engine.apply(SlotUpdate{"a", 0, 0, SlotState::kGone, "n0", {}}));
  EXPECT_THAT(engine.decide(3), IsEmpty()) << "b mounts it still";
  ok(engine.audit());
  ok(engine.apply(SlotUpdate{"b", 0, 0, SlotState::kGone, "n0", {}}));
  EXPECT_THAT(nodes_of(engine.decide(4)), ElementsAre(std::pair("n0", 1)));
  ok(engine.audit());
}

TEST(SharedVolumes, PodsOfOthersShareThemToo) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 1)));
  ForeignPod other{"other", "n0", {}, {}};
  other.mounts = {{"disk", "data"}};
  ok(engine.apply(ForeignPodUpsert{other}));
  ok(engine.apply(WorkloadUpsert{sharing("same", 2, {"data"})}));
  ok(engine.apply(WorkloadUpsert{sharing("new", 1, {"more"})}));
  run(engine, engine.decide(1));
  ok(engine.audit());
  ok(engine.apply(ForeignPodRemove{"other"}));
  EXPECT_THAT(engine.decide(2), IsEmpty()) << "the gang mounts it still";
  ok(engine.audit());
}

TEST(SharedVolumes, OwnVolumesOfPodsCountBesideThem) {
  Engine engine;
  ok(engine.apply(limited_node("n0", 3)));
  Workload w = sharing("w", 2, {"data"});
  w.root.pod_sets[0].pod.attaches.set("disk", 1);
  ok(engine.apply(WorkloadUpsert{w}));
  Workload three = w;
  three.uid = "three";
  three.name = "three";
  three.root.pod_sets[0].count = 3;
  ok(engine.apply(WorkloadUpsert{three}));
  EXPECT_THAT(nodes_of(engine.decide(1)), ElementsAre(std::pair("n0", 2)));
  ok(engine.audit());
}

// For a volume of its own, and for one that others may mount. The pod with a higher priority keeps its volume.
TEST(SharedVolumes, APlaceIsPreemptedWithAllPodsOfItsVolume) {
  for (const bool own : {false, true}) {
    Engine engine;
    ok(engine.apply(limited_node("n0", 2)));
    Queue queue;
    queue.name = "q";
    queue.unlimited = true;
    queue.preemption.within = WithinQueue::kLowerPriority;
    ok(engine.apply(QueueUpsert{queue}));
    const auto upsert = [&](Workload w) {
      w.queue = "q";
      ok(engine.apply(WorkloadUpsert{w}));
    };
    upsert(sharing("a", 1, {"data"}));
    upsert(sharing("b", 1, {"data"}));
    upsert(with_volumes("dear", 1, 1, 1));
    run(engine, engine.decide(1));
    upsert(own ? with_volumes("high", 1, 1, 10) : sharing("high", 1, {"more"}, 10));
    std::vector<std::string> evicted;
    for (const auto& d : engine.decide(2)) {
      if (d.kind == DecisionKind::kEvict) evicted.push_back(d.workload);
    }
    EXPECT_THAT(evicted, testing::UnorderedElementsAre("a", "b"));
    ok(engine.audit());
  }
}

}  // namespace
}  // namespace berth::engine::test
