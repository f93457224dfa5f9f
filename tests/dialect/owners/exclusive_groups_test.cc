// Exclusive topology of LeaderWorkerSets: each group lies in one domain, where no other group lies; leaders start first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dialect/owners/declared_support.h"
#include "dialect/owners/exclusive.h"

namespace berth::dialect::exclusive_groups {
namespace {

using testing::asked;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_by;
using testing::node_yaml;
using ::testing::Not;
using testing::object_of;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using testing::World;

const std::string kPrefix = "leaderworkerset.sigs.k8s.io/";
const std::string kMark = kPrefix + "exclusive-topology: rack";
// printf 'default/lws-0' | sha1sum
constexpr const char* kFirstKey = "9f7c49a9534189e737848b962d712086e1d5dfd8";

// A node has 64 CPUs: two pods of 40 need two nodes.
std::string containers(int cpus) {
  return "containers: [{name: c, resources: {requests: {cpu: '" + std::to_string(cpus) + "'}}}]";
}

struct Text {
  std::string name = "lws";
  std::string annotations = kMark;
  std::string spec;
  int groups = 1;
  int size = 3;
  int leader = 40;        // CPUs
  std::string of_leader;  // goes into its spec
  std::string ns = "default";
};

std::string lws_yaml(const Text& text = {}) {
  return object_of(
      "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", text.name,
      std::string(testing::kTeam) + ", namespace: " + text.ns + ", annotations: {" + text.annotations + "}",
      text.spec + "replicas: " + std::to_string(text.groups) +
          ", leaderWorkerTemplate: {size: " + std::to_string(text.size) + ", leaderTemplate: {spec: {" +
          text.of_leader + containers(text.leader) + "}}, workerTemplate: {spec: {" + containers(40) + "}}}");
}

std::string key_of(const std::string& leader, const std::string& ns = "default") {
  Meta owner;
  owner.ns = ns;
  const auto dash = leader.rfind('-');
  owner.name = leader.substr(0, dash);
  return group_key(owner, leader.substr(dash + 1));
}

std::string pod_yaml(const std::string& name, const std::string& leader, int worker, const std::string& spec,
                     int cpus, const std::string& ns = "default") {
  const auto dash = leader.rfind('-');
  const std::string set = worker == 0 ? leader.substr(0, dash) : leader;
  std::string owner = made_by("apps/v1", "StatefulSet", set);
  owner.replace(owner.find("uid: "), 5, "uid: set-");
  return object_of("v1", "Pod", name,
                   "namespace: " + ns + ", labels: {" + kPrefix + "name: " + leader.substr(0, dash) + ", " +
                       kPrefix + "group-index: '" + leader.substr(dash + 1) + "', " + kPrefix +
                       "worker-index: '" + std::to_string(worker) + "', " + kPrefix + "group-key: '" +
                       key_of(leader, ns) + "'}, " + owner,
                   spec + containers(cpus));
}

// As LeaderWorkerSet's webhook makes it. Its terms count pods of its own namespace.
std::string leader(const std::string& name, const std::string& spec = "", int cpus = 40) {
  const auto term = [](const std::string& conditions) {
    return "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, "
           "labelSelector: {matchExpressions: [" +
           conditions + "]}}]}";
  };
  const std::string label = "key: " + kPrefix + "group-key, operator: ";
  const std::string near = term("{" + label + "In, values: ['" + key_of(name) + "']}");
  const std::string apart =
      term("{" + label + "Exists}, {" + label + "NotIn, values: ['" + key_of(name) + "']}");
  return pod_yaml(name, name, 0,
                  "affinity: {podAffinity: " + near + ", podAntiAffinity: " + apart + "}, " + spec, cpus);
}

std::string worker(const std::string& leader, int index, const std::string& rack,
                   const std::string& spec = "") {
  return pod_yaml(leader + "-" + std::to_string(index), leader, index,
                  (rack.empty() ? "" : "nodeSelector: {rack: '" + rack + "'}, ") + spec, 40);
}

// The StatefulSets of a LeaderWorkerSet: of its leaders, and of the workers of each.
std::string sets_of(const std::string& name, int groups) {
  const auto set = [](const std::string& own, const std::string& owner) {
    std::string out =
        object_of("apps/v1", "StatefulSet", own, owner,
                  std::string("replicas: 2, podManagementPolicy: Parallel, ") + testing::kOneCpu);
    return out.replace(out.find("uid: "), 5, "uid: set-");
  };
  std::string out = set(name, made_by("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name));
  for (int g = 0; g < groups; ++g) {
    const std::string leads = name + "-" + std::to_string(g);
    out += set(leads, made_by("v1", "Pod", leads));
  }
  return out;
}

std::string gang(const std::string& group) {
  return "Gang/LeaderWorkerSet/default/" + group;
}

// Racks with so many nodes each: r0, r1 and so on, with nodes r0-0, r0-1 and so on.
std::string racks(const std::vector<int>& nodes) {
  std::string out;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const std::string rack = "r" + std::to_string(r);
    for (int n = 0; n < nodes[r]; ++n)
      out += node_yaml(rack + "-" + std::to_string(n), 0, "    rack: " + rack + "\n");
  }
  return out;
}

// The racks of its slots; a node is named by its rack.
std::set<std::string> racks_of(const Decision& start) {
  std::set<std::string> out;
  for (const SlotPlacement& slot : start.slots) out.insert(slot.node.substr(0, 2));
  return out;
}

std::string node_of_leader(const Decision& start) {
  for (const SlotPlacement& slot : start.slots) {
    if (slot.pod_set == 0) return slot.node;
  }
  return {};
}

// The node of the leader of lws-0, which runs. The places of its workers are kept.
std::string start_leader(World& world) {
  world.apply(racks({3, 3}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  const auto started = world.decide();
  EXPECT_THAT(started, SizeIs(1));
  if (started.empty()) return {};
  const std::string node = node_of_leader(started[0]);
  world.apply(leader("lws-0", "nodeName: " + node + ", "));
  return node;
}

const PodTemplate& told_of_workers(const World& world) {
  return world.told.at(gang("lws-0")).root.pod_sets.at(1).pod;
}

TEST(ExclusiveGroups, HaveTermsOfTheirOwn) {
  for (const auto& object :
       {testing::objects_of(lws_yaml()).at(0), testing::objects_of_json(lws_yaml()).at(0)}) {
    const Ask all = ask_of(object);
    EXPECT_THAT(*all.sets[0].pod->terms, IsEmpty());
    ASSERT_NE(all.kind->of_group, nullptr);
    const auto first = all.kind->of_group(all, "0");
    const auto second = all.kind->of_group(all, "1");
    ASSERT_TRUE(first && second);
    ASSERT_THAT(first->sets, SizeIs(2));
    EXPECT_EQ(testing::sets_of(*first), "leader 1, worker 2 later");
    for (const AskedSet& set : first->sets) {
      EXPECT_EQ(set.marks->labels.at(kPrefix + "group-key"), key_of("lws-0"));
      ASSERT_THAT(*set.pod->terms, SizeIs(2));
      EXPECT_EQ(set.pod->terms[0].kind, TermKind::kApart);
      EXPECT_EQ(set.pod->terms[0].level, "rack");
      EXPECT_EQ(set.pod->terms[1].kind, TermKind::kNear);
      EXPECT_THAT(set.pod->terms[1].selector, HasSubstr(key_of("lws-0")));
      EXPECT_THAT(set.pod->unsupported, IsEmpty());
    }
    EXPECT_NE(second->sets[0].pod->terms[1].selector, first->sets[0].pod->terms[1].selector);
  }
}

// The webhook's value: the SHA-1 of the leader's namespace and name.
TEST(ExclusiveGroups, HaveTheKeyOfTheirLeader) {
  EXPECT_EQ(key_of("lws-0"), kFirstKey);
}

TEST(ExclusiveGroups, ThatSayNothingAreAsTheirObjectSays) {
  const Ask plain = asked(lws_yaml({.annotations = ""}));
  EXPECT_FALSE(plain.kind->of_group(plain, "0"));
  const Ask later = asked(lws_yaml({.annotations = "", .spec = "startupPolicy: LeaderReady, "}));
  const auto group = later.kind->of_group(later, "0");
  ASSERT_TRUE(group) << "others keep apart from the places of its workers";
  EXPECT_EQ(group->sets[1].marks->labels.at(kPrefix + "group-key"), key_of("lws-0"));
  EXPECT_THAT(*group->sets[1].pod->terms, IsEmpty());
}

TEST(ExclusiveGroups, WaitWholeAndStartInOneRack) {
  World world;
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "no rack has three nodes";
  const auto why = world.engine.explain(gang("lws-0"));
  ASSERT_TRUE(why);
  EXPECT_THAT(to_text(why->reason), HasSubstr("rack"));
  world.apply(node_yaml("r1-2", 0, "    rack: r1\n"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_EQ(racks_of(started[0]), std::set<std::string>{"r1"});
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Its places fit in the first rack without it, and nowhere else with it.
TEST(ExclusiveGroups, WithASmallerLeaderLieInOneRack) {
  for (const int cpus : {1, 30, 64}) {
    World world;
    world.apply(racks({2, 1, 3, 2}) + queue_of_cpus(1000) + lws_yaml({.leader = cpus}) + sets_of("lws", 1) +
                leader("lws-0", "", cpus));
    const auto started = world.decide();
    ASSERT_THAT(started, SizeIs(1)) << cpus;
    EXPECT_THAT(started[0].slots, SizeIs(3));
    EXPECT_THAT(racks_of(started[0]), SizeIs(1)) << cpus;
  }
}

// Many racks are full but for one node each.
TEST(ExclusiveGroups, FindTheOneRackOfManyThatHasRoom) {
  for (const int cpus : {1, 40, 64}) {
    World world;
    std::vector<int> nodes(60, cpus == 1 ? 4 : 8);
    nodes[50] = 9;
    world.apply(racks(nodes) + queue_of_cpus(10'000) + lws_yaml({.size = cpus == 1 ? 6 : 9, .leader = cpus}) +
                sets_of("lws", 1) + leader("lws-0", "", cpus));
    const auto started = world.decide();
    ASSERT_THAT(started, SizeIs(1)) << cpus;
    EXPECT_EQ(racks_of(started[0]), std::set<std::string>{"r5"}) << "r50";
  }
}

TEST(ExclusiveGroups, ShareNoRack) {
  World world;
  world.apply(racks({6, 6}) + queue_of_cpus(1000) + lws_yaml({.groups = 2}) + sets_of("lws", 2) +
              lws_yaml({.name = "other"}) + sets_of("other", 1) + leader("lws-0") + leader("lws-1"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(2));
  EXPECT_NE(racks_of(started[0]), racks_of(started[1]));
  world.apply(leader("other-0"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "each rack has three nodes left, and is another group's";
  world.apply(racks({6, 6, 3}));
  const auto third = world.decide();
  ASSERT_THAT(third, SizeIs(1));
  EXPECT_EQ(racks_of(third[0]), std::set<std::string>{"r2"});
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// The pods of every LeaderWorkerSet have a key. The leader of an exclusive group keeps all of them away, as its terms say.
TEST(ExclusiveGroups, KeepGroupsThatAreNotApart) {
  World world;
  const auto plain = [](int index) { return worker("plain-0", index, ""); };
  world.apply(racks({6}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  ASSERT_THAT(world.decide(), SizeIs(1));
  world.apply(lws_yaml({.name = "plain", .annotations = ""}) + sets_of("plain", 1) + plain(1) + plain(2) +
              pod_yaml("plain-0", "plain-0", 0, "", 40));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(node_yaml("n", 0) + node_yaml("m", 0) + node_yaml("k", 0));
  EXPECT_THAT(world.decide(), SizeIs(1));
}

// Places of workers that are still to come count, also of a group that is not exclusive itself.
TEST(ExclusiveGroups, KeepAwayFromPlacesOfWorkersThatComeLater) {
  World world;
  world.apply(racks({6}) + queue_of_cpus(1000) +
              lws_yaml({.name = "plain", .annotations = "", .spec = "startupPolicy: LeaderReady, "}) +
              sets_of("plain", 1) + node_yaml("a", 0) +
              pod_yaml("plain-0", "plain-0", 0, "nodeName: a, ", 40));
  const auto kept = world.decide();
  ASSERT_THAT(kept, SizeIs(1)) << "the places of two workers";
  EXPECT_EQ(racks_of(kept[0]), std::set<std::string>{"r0"});
  world.apply(lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  EXPECT_THAT(world.decide(), IsEmpty());
}

// The leader's terms say nothing of other namespaces.
TEST(ExclusiveGroups, MayLieWithThoseOfAnotherNamespace) {
  World world;
  world.apply(racks({6}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  ASSERT_THAT(world.decide(), SizeIs(1));
  const std::string bound = pod_yaml("far-0", "far-0", 0, "schedulerName: other, nodeName: r0-0, ", 1, "far");
  world.apply(bound);
  EXPECT_THAT(*world.told.at(gang("lws-0")).root.pod_sets[0].pod.terms, SizeIs(2));
  EXPECT_THAT(world.told.at(gang("lws-0")).root.pod_sets[0].pod.terms[0].selector, HasSubstr("in default"));
}

TEST(ExclusiveGroups, WorkersTakeTheKeptPlaces) {
  World world;
  const std::string node = start_leader(world);
  const auto revision = world.intake.workload(gang("lws-0"))->revision;
  EXPECT_FALSE(world.intake.expects(gang("lws-0"), 0, 0)) << "the leader is there";
  EXPECT_TRUE(world.intake.expects(gang("lws-0"), 1, 0));
  EXPECT_TRUE(world.intake.expects(gang("lws-0"), 1, 1));
  world.apply(worker("lws-0", 1, node.substr(0, 2)) + worker("lws-0", 2, node.substr(0, 2)));
  EXPECT_FALSE(world.intake.expects(gang("lws-0"), 1, 0));
  EXPECT_EQ(world.intake.pod("lws-0-2")->pod_set, 1);
  EXPECT_EQ(world.intake.workload(gang("lws-0"))->revision, revision) << "their places are not void";
  EXPECT_THAT(*told_of_workers(world).node_selector, IsEmpty());
  for (const Decision& again : world.decide()) EXPECT_EQ(racks_of(again), std::set{node.substr(0, 2)});
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Each pod of the group is selected by what keeps it together, and by what keeps another group away, whether or not it is there.
TEST(ExclusiveGroups, CountBeforeTheirPodsAreThere) {
  World world;
  (void)start_leader(world);
  world.apply(lws_yaml({.name = "other"}) + sets_of("other", 1) + leader("other-0"));
  const auto& sets = world.told.at(gang("lws-0")).root.pod_sets;
  const auto& others = world.told.at(gang("other-0")).root.pod_sets;
  for (const PodSet& set : sets) {
    EXPECT_THAT(*set.pod.selected, Contains(set.pod.terms[1].selector));
    EXPECT_THAT(*set.pod.selected, Not(Contains(set.pod.terms[0].selector)));
    EXPECT_THAT(*set.pod.selected, Contains(others[0].pod.terms[0].selector));
  }
}

// Berth starts while a leader runs, and its workers are still to come: these get places where it is.
TEST(ExclusiveGroups, AfterARestartWorkersGetPlacesBesideTheirLeader) {
  World world;
  world.apply(racks({4, 3, 4}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) +
              leader("lws-0", "nodeName: r1-0, "));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(racks_of(started[0]), std::set<std::string>{"r1"});
  world.apply(worker("lws-0", 1, "r1", "nodeName: r1-1, ") + worker("lws-0", 2, "r1"));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Workers of a leader that is gone wait where it was. As long as they are there the group goes there, and then anywhere.
TEST(ExclusiveGroups, AreBoundToARackByWorkersThatNameItAndNoLonger) {
  World world;
  const std::string rack = start_leader(world).substr(0, 2);
  world.apply(worker("lws-0", 1, rack));
  world.remove(Kind::kPod, "lws-0");
  world.apply(leader("lws-0"));
  const auto named = [&] {
    const auto& selector = world.told.at(gang("lws-0")).root.pod_sets.at(0).pod.node_selector;
    return selector->contains("rack") ? selector->at("rack") : "";
  };
  EXPECT_EQ(named(), rack);
  world.remove(Kind::kPod, "lws-0-1");
  EXPECT_EQ(named(), "");
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Its StatefulSet belongs to the leader that is gone, and goes too. Until then it makes workers for the rack of that one.
TEST(ExclusiveGroups, AreNotBoundByWorkersOfAFormerLeader) {
  World world;
  const std::string rack = start_leader(world).substr(0, 2);
  world.apply(worker("lws-0", 1, rack));
  std::string next = leader("lws-0", "nodeName: " + std::string(rack == "r0" ? "r1-0" : "r0-0") + ", ");
  next.replace(next.find("uid: lws-0"), 10, "uid: next-0");
  world.apply(next);
  EXPECT_FALSE(world.intake.pod("lws-0-1")) << "it is of the former leader";
  world.apply(worker("lws-0", 2, rack));
  EXPECT_FALSE(world.intake.pod("lws-0-2"));
  EXPECT_EQ(world.intake.workload(gang("lws-0"))->pods, 1);
  EXPECT_THAT(*told_of_workers(world).node_selector, IsEmpty());
  EXPECT_TRUE(world.intake.expects(gang("lws-0"), 1, 0));
  EXPECT_TRUE(world.intake.expects(gang("lws-0"), 1, 1));
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(ExclusiveGroups, OfWhatIsNotHonouredWaitAndNameIt) {
  const auto why = [](const Text& text) {
    World world;
    world.apply(racks({3}) + queue_of_cpus(1000) + lws_yaml(text) + sets_of("lws", 1) + leader("lws-0"));
    EXPECT_THAT(world.decide(), IsEmpty());
    const Reason* blocked = world.intake.blocked(gang("lws-0"));
    return blocked != nullptr && blocked->code == ReasonCode::kUnsupported ? blocked->detail : "";
  };
  const std::string sub = kPrefix + "subgroup-exclusive-topology";
  EXPECT_EQ(why({.annotations = sub + ": rack"}), sub);
  EXPECT_EQ(why({.annotations = kMark + ", " + sub + ": rack"}), sub);
  EXPECT_THAT(why({.annotations = kPrefix + "exclusive-topology: ''"}), HasSubstr("no node label"));
  const std::string near =
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: rack, "
      "labelSelector: {}}]}}, ";
  EXPECT_THAT(why({.of_leader = near}), HasSubstr("required podAffinity"));
}

TEST(ExclusiveGroups, ThatRunAreLeftAloneWhereTheyAreNotHonoured) {
  World world;
  const std::string sub = kPrefix + "subgroup-exclusive-topology: rack";
  world.apply(racks({3}) + queue_of_cpus(1000) + lws_yaml({.annotations = sub}) + sets_of("lws", 1) +
              leader("lws-0", "nodeName: r0-0, ") + worker("lws-0", 1, "", "nodeName: r0-1, ") +
              worker("lws-0", 2, "", "nodeName: r0-2, "));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_EQ(world.intake.workload(gang("lws-0"))->pods, 3);
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// Its user adds the mark, or takes it away, while the leader waits.
TEST(ExclusiveGroups, FollowTheMarkOfTheirObject) {
  World world;
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + lws_yaml() + sets_of("lws", 1) + leader("lws-0"));
  EXPECT_THAT(world.decide(), IsEmpty());
  world.apply(lws_yaml({.annotations = "", .spec = "startupPolicy: LeaderReady, "}));
  world.remove(Kind::kPod, "lws-0");
  world.apply(pod_yaml("lws-0", "lws-0", 0, "", 40));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_THAT(world.refused, IsEmpty());
}

// The group is there already. Its leader and its workers are made anew for the mark.
TEST(ExclusiveGroups, OfAnObjectThatGetsTheMarkHaveTermsFromThenOn) {
  World world;
  world.apply(racks({2, 2}) + queue_of_cpus(1000) + lws_yaml({.annotations = ""}) + sets_of("lws", 1) +
              pod_yaml("lws-0", "lws-0", 0, "", 40) + worker("lws-0", 1, ""));
  EXPECT_THAT(world.decide(), IsEmpty()) << "a worker is not there";
  world.apply(lws_yaml() + leader("lws-0"));
  world.remove(Kind::kPod, "lws-0-1");
  EXPECT_THAT(*told_of_workers(world).terms, SizeIs(2));
  EXPECT_THAT(world.decide(), IsEmpty()) << "no rack has three nodes";
  world.apply(node_yaml("r1-2", 0, "    rack: r1\n"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(racks_of(started[0]), std::set<std::string>{"r1"});
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(ExclusiveGroups, MakeTheirPodsOnPaper) {
  const Ask ask = asked(lws_yaml({.groups = 2}));
  const MadePods made = ask.kind->make_pods(ask, {}, 100);
  ASSERT_THAT(made.pods, SizeIs(6));
  std::map<std::string, int> pods;
  for (const Pod& pod : made.pods) ++pods[pod.meta.labels.at(kPrefix + "group-key")];
  EXPECT_EQ(pods, (std::map<std::string, int>{{key_of("lws-0"), 3}, {key_of("lws-1"), 3}}));
}

TEST(ExclusiveGroups, AreDeclaredWithMarkAndKey) {
  auto document = text::parse_document(
      "apiVersion: berth.dev/v1alpha1\nkind: OwnerKinds\nkinds:\n- apiVersion: a.b/v1\n  kind: Herd\n  "
      "resource: "
      "herds\n  groups: {owner: a, group: b, exclusive: {annotation: c}}\n  pods: [{name: p, template: "
      "spec.t}]\n",
      "kinds.yaml");
  ASSERT_TRUE(document);
  const auto read = read_declarations(std::make_shared<const text::Document>(std::move(*document)));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().str(), HasSubstr("key"));
}

}  // namespace
}  // namespace berth::dialect::exclusive_groups
