// A gang whose object cannot be read waits, and names the object and its field, in every system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/gang_systems.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using ::testing::Not;
using testing::pod_yaml;
using ::testing::SizeIs;
using testing::World;

struct GangCase {
  const char* what;
  Kind kind;
  const char* version;
  const char* least;  // its spec with %, the least number of pods
  const char* pod;    // of its only pod: metadata that names the gang
  const char* spec;   // the same, of its spec
  const char* uid;    // of the workload
  const char* field;  // the message names it
};

constexpr GangCase kGangCases[] = {
    {"coscheduling", Kind::kPodGroup, "scheduling.x-k8s.io/v1alpha1", "{minMember: %}",
     "  labels: {scheduling.x-k8s.io/pod-group: g}\n", "", "PodGroup/default/g", "spec.minMember"},
    {"the older group", Kind::kOlderPodGroup, "scheduling.sigs.k8s.io/v1alpha1", "{minMember: %}",
     "  labels: {pod-group.scheduling.sigs.k8s.io: g}\n", "", "PodGroup/default/g", "spec.minMember"},
    {"Volcano", Kind::kVolcanoPodGroup, "scheduling.volcano.sh/v1beta1", "{minMember: %}",
     "  annotations: {scheduling.k8s.io/group-name: g}\n", "", "VolcanoPodGroup/default/g", "spec.minMember"},
    {"tasks of Volcano", Kind::kVolcanoPodGroup, "scheduling.volcano.sh/v1beta1",
     "{minMember: 1, minTaskMember: {worker: %}}", "  annotations: {scheduling.k8s.io/group-name: g}\n", "",
     "VolcanoPodGroup/default/g", "spec.minTaskMember.worker"},
    {"KAI", Kind::kKaiPodGroup, "scheduling.run.ai/v2alpha2", "{minMember: %, queue: q}",
     "  annotations: {pod-group-name: g}\n", "", "KaiPodGroup/default/g", "spec.minMember"},
    {"subgroups of KAI", Kind::kKaiPodGroup, "scheduling.run.ai/v2alpha2",
     "{minMember: 1, subGroups: [{name: a, minMember: %}]}", "  annotations: {pod-group-name: g}\n", "",
     "KaiPodGroup/default/g", "spec.subGroups[0].minMember"},
    {"Kubernetes' PodGroup", Kind::kUpstreamPodGroup, "scheduling.k8s.io/v1alpha2",
     "{schedulingPolicy: {gang: {minCount: %}}}", "", "  schedulingGroup: {podGroupName: g}\n",
     "UpstreamPodGroup/default/g", "spec.schedulingPolicy.gang.minCount"},
    {"Kubernetes' Workload", Kind::kUpstreamWorkload, "scheduling.k8s.io/v1alpha1",
     "{podGroups: [{name: a, policy: {gang: {minCount: %}}}]}", "",
     "  workloadRef: {name: g, podGroup: a, podGroupReplicaKey: r1}\n", "UpstreamWorkload/default/g/a/r1",
     "spec.podGroups[0].policy.gang.minCount"},
};

std::string gang_json(const GangCase& c, const std::string& least) {
  std::string spec = c.least;
  spec.replace(spec.find('%'), 1, least);
  const auto documents = text::parse_documents("apiVersion: " + std::string(c.version) +
                                                   "\nkind: " + std::string(info_of(c.kind).word) +
                                                   "\nmetadata: {name: g}\nspec: " + spec,
                                               "test.yaml");
  return text::to_json(documents->front().root());
}

// As the live loop takes an object from a watch.
void see_gang(World& world, const GangCase& c, const std::string& least) {
  JsonDecoder decoder;
  auto object = decoder.decode(gang_json(c, least), c.kind);
  if (object) {
    world.intake.upsert(std::move(*object));
  } else {
    world.intake.unreadable(c.kind, "default", "g", object.error().message);
  }
  world.drain();
}

std::string waits_on(World& world, const char* uid) {
  const Reason* reason = world.intake.blocked(uid);
  return reason == nullptr ? "" : to_text(*reason);
}

class UnreadableGang : public ::testing::TestWithParam<GangCase> {};

TEST_P(UnreadableGang, SaysWhichFieldIsWrong) {
  const GangCase& c = GetParam();
  const std::string pod = pod_yaml("p", 1, c.pod, c.spec);
  const auto is_told = AllOf(HasSubstr("cannot be read"), HasSubstr(c.field), Not(HasSubstr("not exist")));
  for (const bool pod_first : {true, false}) {
    World world;
    world.apply(node_yaml("n0", 4));
    if (pod_first) {
      world.apply(pod);
      EXPECT_THAT(waits_on(world, c.uid), HasSubstr("does not exist"));
    }
    see_gang(world, c, "'many'");
    if (!pod_first) world.apply(pod);
    EXPECT_THAT(waits_on(world, c.uid), is_told);
    EXPECT_THAT(world.decide(), IsEmpty());
    see_gang(world, c, "'none'");
    EXPECT_THAT(waits_on(world, c.uid), is_told) << "it is changed, and no better";
    world.remove(c.kind, "g");
    EXPECT_THAT(waits_on(world, c.uid), HasSubstr("does not exist"));
    EXPECT_THAT(world.intake.unreadable(), IsEmpty());
    see_gang(world, c, "'many'");
    see_gang(world, c, "1");
    EXPECT_THAT(waits_on(world, c.uid), Not(HasSubstr("cannot be read")));
    EXPECT_THAT(world.intake.unreadable(), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, UnreadableGang, ::testing::ValuesIn(kGangCases), [](const auto& of) {
  std::string name = of.param.what;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST(UnreadableGangs, EverySystemIsTried) {
  std::set<Kind> tried;
  for (const GangCase& c : kGangCases) tried.insert(c.kind);
  EXPECT_THAT(tried, SizeIs(gang_systems().size() + 1)) << "coscheduling has two groups";
  for (const GangSystem* system : gang_systems()) EXPECT_TRUE(tried.contains(system->kind)) << system->name;
}

// Koordinator's groups: the gang that starts with another one says that this cannot be read.
TEST(UnreadableGangs, AGangThatStartsWithAnotherSaysThatThisIsWrong) {
  World world;
  world.apply(node_yaml("n0", 4) +
              "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata:\n  name: b\n"
              "  annotations: {gang.scheduling.koordinator.sh/groups: '[\"default/g\", \"default/b\"]'}\n"
              "spec: {minMember: 1}\n---\n" +
              pod_yaml("p", 1, "  labels: {pod-group.scheduling.sigs.k8s.io: b}\n"));
  EXPECT_THAT(waits_on(world, "PodGroup/default/b+g"), HasSubstr("g"));
  see_gang(world, kGangCases[1], "'many'");
  EXPECT_THAT(waits_on(world, "PodGroup/default/b+g"),
              HasSubstr("PodGroup default/g cannot be read: spec.minMember"));
  EXPECT_THAT(world.decide(), IsEmpty());
}

}  // namespace
}  // namespace berth::dialect
