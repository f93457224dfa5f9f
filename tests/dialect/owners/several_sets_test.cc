// An owner of several pod sets, of a kind that exists in this test alone: one driver and some workers, held until there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using testing::World;

struct Pair {
  Meta meta;
  std::array<Meta, 2> marks;
  std::array<PodSpec, 2> specs;
};

std::string pod_of_pair(const std::string& name, int cpus) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
         ", ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: pair, uid: pair, controller: "
         "true}]}\n"
         "spec: {containers: [{name: c, resources: {requests: {cpu: '" +
         std::to_string(cpus) + "'}}}]}\n---\n";
}

// "pair-driver-0", "pair-worker-2"
OwnedPlace place_in_pair(const Ask&, const Pod& pod) {
  const bool driver = pod.meta.name.starts_with("pair-driver-");
  return {driver ? 0U : 1U, pod.meta.name.back() - '0'};
}

const OwnerKind kPair{
    .kind = Kind::kStatefulSet,  // so that its pods find it
    .version = "v1",
    .work = WorkloadKind::kBatch,
    .ask = nullptr,
    .count = nullptr,
    .place_of = place_in_pair,
    .release = [](const Ask&, const Release&) { return ReleaseWrite{}; },
    .suspend = [](const Ask&, bool) { return kube::Write{}; },
    .make_changeable = nullptr,
    .make_pods = nullptr,
    .released = nullptr,
    .suspended = nullptr,
};

Ask pair_of(std::int64_t workers, bool suspended, std::int64_t generation) {
  const auto own = std::make_shared<Pair>();
  own->meta.ns = "default";
  own->meta.name = own->meta.uid = "pair";
  own->meta.created = 1;
  own->meta.labels.emplace("kueue.x-k8s.io/queue-name", "team");
  Ask out;
  out.kind = &kPair;
  out.own = own;
  out.meta = &own->meta;
  out.generation = generation;
  out.gang = out.makes_pods = true;
  out.suspended = suspended;
  for (std::size_t s = 0; s < 2; ++s) {
    const auto pod = testing::objects_of(pod_of_pair("template", s == 0 ? 2 : 1)).at(0);
    own->marks[s].ns = "default";
    AskedSet set;
    set.marks = &own->marks[s];
    set.spec = &own->specs[s];
    set.pod = std::make_shared<const PodTemplate>(*std::get<Pod>(pod).spec.pod);
    set.size = set.most = set.asked = s == 0 ? 1 : workers;
    out.sets.push_back(std::move(set));
  }
  return out;
}

struct Held : testing::WorldThatHolds {
  void take(Ask ask) {
    intake.upsert(std::move(ask));
    drain();
  }
};

TEST(SeveralSets, AreHeldAndStartedAsOneGang) {
  Held world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4));
  world.take(pair_of(3, true, 1));
  const auto& sets = world.told.at("pair").root.pod_sets;
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(sets[0].count, 1);
  EXPECT_EQ(sets[1].count, 3);
  EXPECT_EQ(sets[0].pod.requests.get("cpu"), 2000);
  EXPECT_THAT(world.decide(), IsEmpty()) << "it asks for 5 CPUs of 4";
  world.take(pair_of(2, true, 2));
  EXPECT_EQ(world.told.at("pair").root.pod_sets.at(1).count, 2);
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_TRUE(world.engine.audit());
}

TEST(SeveralSets, APodHasTheSlotThatItsKindSays) {
  Held world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(10));
  world.take(pair_of(3, true, 1));
  ASSERT_THAT(world.decide(), SizeIs(1));
  world.intake.set_released("pair", true);
  world.take(pair_of(3, false, 2));
  // The workers come first.
  world.apply(pod_of_pair("pair-worker-2", 1) + pod_of_pair("pair-worker-0", 1) +
              pod_of_pair("pair-driver-0", 2));
  EXPECT_EQ(world.intake.pod("pair-worker-2")->pod_set, 1);
  EXPECT_EQ(world.intake.pod("pair-worker-2")->index, 2);
  EXPECT_EQ(world.intake.pod("pair-driver-0")->pod_set, 0);
  EXPECT_EQ(world.intake.workload("pair")->pods, 3);
  EXPECT_EQ(world.intake.workload("pair")->revision, 0U) << "they are as their templates say";
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(SeveralSets, AWorkloadHasAPodSetForEach) {
  Held world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(10));
  world.take(pair_of(3, true, 1));
  const auto sketch = world.intake.sketch("pair");
  ASSERT_TRUE(sketch);
  ASSERT_THAT(sketch->sets, SizeIs(2));
  EXPECT_EQ(sketch->sets[0].count, 1);
  EXPECT_EQ(sketch->sets[1].count, 3);
}

}  // namespace
}  // namespace berth::dialect
