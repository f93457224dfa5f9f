// Kinds of owners that are declared: how a declaration reads objects, gives slots to their pods, holds, releases and ends them. The
// built-in kinds are those of declared_kinds_test.cc.
#include "dialect/owners/declared/declared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dialect/dialect_support.h"
#include "dialect/objects/decode.h"
#include "dialect/owners/queue_support.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::queue_of_cpus;
using ::testing::SizeIs;
using testing::World;

// A kind of a user: boats with a cox and rowers, on a switch of its own.
constexpr const char* kBoats = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: row.example.com/v1
    kind: Boat
    resource: boats
    work: training
    suspend: spec.course.moored
    managedBy: {at: spec.steeredBy, own: [row.example.com/harbour]}
    minimum: spec.atLeast
    queue: spec.berth
    priorityClass: spec.rank
    completed: {at: status.phase, words: [Arrived]}
    failed: {conditions: [Sunk]}
    ready: {at: status.rowing, words: ['true']}
    pods:
      - name: cox
        at: spec.cox
        count: 1
        labels: {row.example.com/seat: cox}
      - each: spec.crews
        nameAt: .side
        count: {at: .rowers, otherwise: 2}
        times: [{at: .shifts}]
        labels: {row.example.com/seat: $name}
        index: row.example.com/number
      - name: cook
        count: 1
        laterWhen: {at: spec.meals, words: [Underway]}
        when: {at: spec.meals, words: [Underway, Ashore]}
        template: spec.galley
        defaultTemplate: {spec: {containers: [{name: cook, resources: {requests: {cpu: '1'}}}]}}
        labels: {}
)";

std::shared_ptr<const text::Document> document_of(const std::string& yaml) {
  auto document = text::parse_document(yaml, "kinds.yaml");
  if (!document) {
    ADD_FAILURE() << document.error().str();
    return std::make_shared<const text::Document>();
  }
  return std::make_shared<const text::Document>(std::move(*document));
}

// Its error, or "".
std::string error_of(const std::string& yaml) {
  const auto read = read_declarations(document_of(yaml));
  return read ? "" : read.error().str();
}

class Boats : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto read = read_declarations(document_of(kBoats));
    ASSERT_TRUE(read) << read.error().str();
    const auto declared = declare(std::move(*read));
    ASSERT_TRUE(declared) << declared.error().str();
  }
};

constexpr const char* kBoatTemplate =
    "template: {spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}";

std::string boat_yaml(const std::string& head, const std::string& spec, const std::string& status = "") {
  return std::string(
             "apiVersion: row.example.com/v1\nkind: Boat\nmetadata: {name: b, uid: b, generation: 3, ") +
         head + "}\nspec: {" + spec + "cox: {" + kBoatTemplate + "}, crews: [{side: port, rowers: 3, " +
         kBoatTemplate + "}, {side: starboard, shifts: 2, " + kBoatTemplate + "}]}\n" + status + "---\n";
}

constexpr const char* kBoatQueue = "labels: {kueue.x-k8s.io/queue-name: team}";
constexpr const char* kMoored = "course: {moored: true}, ";

std::string rower_yaml(const std::string& name, const std::string& seat, const std::string& labels = "",
                       const std::string& spec = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
         ", labels: {row.example.com/seat: " + seat + labels +
         "}, ownerReferences: [{apiVersion: row.example.com/v1, kind: Boat, name: b, uid: b, controller: "
         "true}]}\n"
         "spec: {" +
         spec + "containers: [{name: c, resources: {requests: {cpu: '1'}}}]}\n---\n";
}

Ask boat_asked(const std::string& yaml) {
  return ask_of(testing::objects_of(yaml).at(0));
}

using HeldBoats = testing::WorldThatHolds;

TEST_F(Boats, SayTheirSetsFromBothFeeds) {
  const std::string yaml = boat_yaml(kBoatQueue, kMoored);
  for (const auto& object : {testing::objects_of(yaml).at(0), testing::objects_of_json(yaml).at(0)}) {
    const Ask ask = ask_of(object);
    ASSERT_THAT(ask.sets, SizeIs(3));
    EXPECT_EQ(ask.sets[0].name, "cox");
    EXPECT_EQ(ask.sets[0].size, 1);
    EXPECT_EQ(ask.sets[1].name, "port");
    EXPECT_EQ(ask.sets[1].size, 3);
    EXPECT_EQ(ask.sets[2].name, "starboard");
    EXPECT_EQ(ask.sets[2].size, 4) << "two rowers by default, in two shifts";
    EXPECT_EQ(ask.sets[2].pod->requests.get("cpu"), 1000);
    EXPECT_TRUE(ask.gang);
    EXPECT_TRUE(ask.suspended);
    EXPECT_EQ(ask.generation, 3);
    EXPECT_EQ(ask.kind->api_version(), "row.example.com/v1");
    EXPECT_EQ(ask.kind->work, WorkloadKind::kTraining);
    EXPECT_EQ(enum_name(ask.kind->kind), "Boat");
  }
}

TEST_F(Boats, HaveASetOnlyWhereTheObjectSaysSo) {
  EXPECT_THAT(boat_asked(boat_yaml(kBoatQueue, "")).sets, SizeIs(3)) << "no cook";
  const Ask ashore = boat_asked(boat_yaml(kBoatQueue, "meals: Ashore, "));
  ASSERT_THAT(ashore.sets, SizeIs(4));
  EXPECT_FALSE(ashore.sets[3].later);
  EXPECT_EQ(ashore.sets[3].pod->requests.get("cpu"), 1000) << "of the controller's own template";
  const Ask own = boat_asked(boat_yaml(
      kBoatQueue,
      "meals: Underway, galley: {spec: {containers: [{name: c, resources: {requests: {cpu: '3'}}}]}}, "));
  EXPECT_TRUE(own.sets.at(3).later);
  EXPECT_EQ(own.sets.at(3).pod->requests.get("cpu"), 3000);
}

TEST_F(Boats, EndFailAndGetReadyByTheirState) {
  const auto with = [](const std::string& status) {
    return boat_asked(boat_yaml(kBoatQueue, "", "status: {" + status + "}\n"));
  };
  const Ask done = with("phase: Arrived");
  EXPECT_TRUE(done.finished);
  EXPECT_FALSE(done.failed);
  EXPECT_EQ(done.over, "it is complete");
  EXPECT_EQ(done.ending, "Arrived");
  EXPECT_EQ(done.size(), 0);
  const Ask sunk = with("conditions: [{type: Sunk, status: 'True', message: a rock}]");
  EXPECT_TRUE(sunk.failed);
  EXPECT_EQ(sunk.ending, "a rock");
  EXPECT_FALSE(with("conditions: [{type: Sunk, status: 'False'}], phase: Underway").finished);
  EXPECT_TRUE(with("rowing: true").is_ready);
  EXPECT_FALSE(with("rowing: false").is_ready);
}

TEST_F(Boats, AreLeftToAnotherController) {
  EXPECT_FALSE(boat_asked(boat_yaml(kBoatQueue, "steeredBy: row.example.com/harbour, ")).is_led);
  EXPECT_TRUE(boat_asked(boat_yaml(kBoatQueue, "steeredBy: kueue.x-k8s.io/multikueue, ")).is_led);
}

TEST_F(Boats, NameTheirQueueInAFieldToo) {
  EXPECT_TRUE(boat_asked(boat_yaml("labels: {}", "berth: team, ")).gang);
  EXPECT_FALSE(boat_asked(boat_yaml("labels: {}", "")).gang);
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(8) + boat_yaml("labels: {}", "berth: team, ") +
              rower_yaml("c", "cox"));
  EXPECT_EQ(world.intake.workload("b")->queue, "cq");
}

TEST_F(Boats, HaveThePriorityOfTheClassThatSpeaksForAll) {
  HeldBoats world;
  world.apply(
      node_yaml("n0", 0) + queue_of_cpus(8) +
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 700\n---\n" +
      boat_yaml(kBoatQueue, std::string(kMoored) + "rank: high, "));
  EXPECT_EQ(world.intake.workload("b")->priority, 700);
}

TEST_F(Boats, APodHasTheSlotOfItsLabels) {
  const Ask ask = boat_asked(boat_yaml(kBoatQueue, "meals: Ashore, "));
  const auto place = [&](const std::string& seat, const std::string& labels) {
    return ask.kind->place_of(ask, std::get<Pod>(testing::objects_of(rower_yaml("p", seat, labels)).at(0)));
  };
  EXPECT_EQ(place("cox", "").set, 0U);
  EXPECT_EQ(place("port", ", row.example.com/number: '2'").set, 1U);
  EXPECT_EQ(place("port", ", row.example.com/number: '2'").index, 2);
  EXPECT_EQ(place("starboard", ", row.example.com/number: x").index, std::nullopt);
  EXPECT_EQ(place("starboard", "").set, 2U);
  EXPECT_EQ(place("else", "").set, 3U) << "the last set, without labels, has all others";
}

TEST_F(Boats, WaitSuspendedAndStartWhole) {
  HeldBoats world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(7) + boat_yaml(kBoatQueue, kMoored));
  const auto& sets = world.told.at("b").root.pod_sets;
  ASSERT_THAT(sets, SizeIs(3));
  EXPECT_EQ(sets[1].name, "port");
  EXPECT_EQ(sets[2].count, 4);
  EXPECT_THAT(world.decide(), IsEmpty()) << "it asks for 8 CPUs of 7";
  world.apply(queue_of_cpus(8));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(8));
  EXPECT_TRUE(world.engine.audit());
}

TEST_F(Boats, PodsComeInAnyOrderAndWaitForTheRest) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(8) + rower_yaml("c", "cox"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the boat has not been seen";
  const auto missing = world.intake.missing_owners();
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].kind->word(), "Boat");
  world.apply(boat_yaml(kBoatQueue, ""));
  std::string rest;
  for (int i = 0; i < 3; ++i) rest += rower_yaml("p" + std::to_string(i), "port");
  world.apply(rest);
  EXPECT_THAT(world.decide(), IsEmpty()) << "four pods of eight";
  rest = {};
  for (int i = 0; i < 4; ++i) rest += rower_yaml("s" + std::to_string(i), "starboard");
  world.apply(rest);
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(8));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST_F(Boats, StartWithTheirMinimumWhereTheirPodsAreThere) {
  World world;
  std::string pods = rower_yaml("c", "cox");
  for (int i = 0; i < 3; ++i) pods += rower_yaml("p" + std::to_string(i), "port");
  for (int i = 0; i < 4; ++i) pods += rower_yaml("s" + std::to_string(i), "starboard");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) + boat_yaml(kBoatQueue, "atLeast: 6, ") + pods);
  EXPECT_THAT(world.decide(), IsEmpty()) << "room for 5 of 6";
  world.apply(queue_of_cpus(6));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(6));
}

TEST_F(Boats, WithoutPodsThatComeLaterTheyStart) {
  World world;
  std::string pods = rower_yaml("c", "cox");
  for (int i = 0; i < 3; ++i) pods += rower_yaml("p" + std::to_string(i), "port");
  for (int i = 0; i < 4; ++i) pods += rower_yaml("s" + std::to_string(i), "starboard");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(9) + boat_yaml(kBoatQueue, "meals: Underway, ") + pods);
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(9)) << "and a place for the cook";
  EXPECT_TRUE(world.intake.expects("b", 3, 0));
}

TEST_F(Boats, PodsOfAnotherSchedulerAreNoneOfTheGang) {
  IntakeConfig config;
  config.scheduler_names = {"berth"};
  World world(config);
  std::string boat = boat_yaml(kBoatQueue, "meals: Underway, ");
  for (auto at = boat.find("{spec: {containers"); at != std::string::npos;
       at = boat.find("{spec: {containers", at))
    boat.replace(at, 8, "{spec: {schedulerName: berth, ");
  std::string pods = rower_yaml("c", "cox", "", "schedulerName: berth, ");
  for (int i = 0; i < 3; ++i)
    pods += rower_yaml("p" + std::to_string(i), "port", "", "schedulerName: berth, ");
  for (int i = 0; i < 4; ++i)
    pods += rower_yaml("s" + std::to_string(i), "starboard", "", "schedulerName: berth, ");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(8) + boat + pods);
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(8)) << "the cook is the default scheduler's";
}

TEST_F(Boats, AreReleasedAndSuspendedByTheirOwnSwitch) {
  const std::string text =
      R"({"apiVersion":"row.example.com/v1","kind":"Boat","metadata":{"name":"b","namespace":"default","uid":"u",
      "generation":3},"spec":{"course":{"moored":true},"cox":{"template":{"spec":{"containers":[{"name":"c"}]}}},
      "crews":[{"side":"port","template":{"spec":{"nodeSelector":{"own":"1"},"containers":[{"name":"c"}]}}}]}})";
  JsonDecoder decoder;
  auto read = decoder.decode(text, *kind_of("row.example.com/v1", "Boat"));
  ASSERT_TRUE(read);
  const Ask ask = ask_of(std::move(*read));
  const PodSetUpdate update{.name = "port",
                            .labels = {},
                            .annotations = {{"example.com/x", "1"}},
                            .node_selector = {{"own", "1"}, {"pool", "p"}},
                            .tolerations = {}};
  const auto release = ask.kind->release(ask, {.generation = 3, .updates = {&update, 1}});
  EXPECT_TRUE(release.changes_template);
  const json after = json::parse(text).patch(json::parse(release.write.body));
  EXPECT_EQ(after["spec"]["course"]["moored"], false);
  EXPECT_FALSE(after["spec"]["cox"]["template"]["spec"].contains("nodeSelector"));
  const json& port = after["spec"]["crews"][0]["template"];
  EXPECT_EQ(port["spec"]["nodeSelector"].dump(), R"({"own":"1","pool":"p"})");
  EXPECT_EQ(port["metadata"]["annotations"]["example.com/x"], "1");
  EXPECT_THAT(release.write.path, HasSubstr("/apis/row.example.com/v1/namespaces/default/boats/b"));
  EXPECT_THROW((void)json::parse(text).patch(
                   json::parse(ask.kind->release(ask, {.generation = 4, .updates = {}}).write.body)),
               json::exception)
      << "its spec has changed since";
  const auto suspend = json::parse(ask.kind->suspend(ask, false).body);
  EXPECT_EQ(suspend.dump(), R"({"metadata":{"uid":"u"},"spec":{"course":{"moored":true}}})");
}

TEST_F(Boats, OnPaperAsTheirControllerWouldMakeThem) {
  const Ask ask = boat_asked(boat_yaml(kBoatQueue, ""));
  const Pod there =
      std::get<Pod>(testing::objects_of(rower_yaml("x", "port", ", row.example.com/number: '1'")).at(0));
  const MadePods made = ask.kind->make_pods(ask, {&there}, 100);
  EXPECT_EQ(made.missing, 7);
  ASSERT_THAT(made.pods, SizeIs(7));
  for (const Pod& pod : made.pods) {
    const OwnedPlace place = ask.kind->place_of(ask, pod);
    EXPECT_FALSE(place.set == 1 && place.index == 1) << "this one is there";
  }
  EXPECT_EQ(ask.kind->make_pods(ask, {}, 7).missing, 8);
  EXPECT_THAT(ask.kind->make_pods(ask, {}, 7).pods, IsEmpty()) << "more than may be made";
  const Ask suspended = ask.kind->suspended(ask);
  EXPECT_TRUE(suspended.suspended);
  EXPECT_EQ(suspended.sets[1].pod, ask.sets[1].pod);
  EXPECT_FALSE(ask.kind->released(suspended, 0).suspended);
}

TEST_F(Boats, AWrongFieldIsNamedAndHoldsThePods) {
  JsonDecoder decoder;
  const Kind kind = *kind_of("row.example.com/v1", "Boat");
  const auto wrong = [&](const std::string& spec) {
    const auto read = decoder.decode(R"({"metadata":{"name":"b"},"spec":)" + spec + "}", kind);
    return read ? std::string(problem_of(*read)) : read.error().str();
  };
  EXPECT_THAT(wrong(R"({"crews":[]})"), HasSubstr("spec.cox: is required"));
  EXPECT_THAT(wrong(R"({"cox":{},"crews":[]})"), HasSubstr("spec.cox.template: is required"));
  EXPECT_THAT(wrong(R"({"cox":{"template":{"spec":{}}},"crews":[{"side":"a","rowers":"3"}]})"),
              HasSubstr("spec.crews[0].rowers: must be an integer"));
  EXPECT_THAT(wrong(R"({"cox":{"template":{"spec":{}}},"crews":[{"side":"a","rowers":1000000,"shifts":9,)"
                    R"("template":{"spec":{}}}]})"),
              HasSubstr("more than 1000000"));
  EXPECT_THAT(wrong(R"({"course":{"moored":"yes"},"cox":{"template":{"spec":{}}}})"),
              HasSubstr("spec.course.moored"));
}

TEST_F(Boats, AreDeclaredOnce) {
  const std::size_t before = kinds().size();
  auto again = read_declarations(document_of(kBoats));
  ASSERT_TRUE(again);
  EXPECT_TRUE(declare(std::move(*again))) << "the same adds nothing";
  EXPECT_EQ(kinds().size(), before);
  std::string other = kBoats;
  other.replace(other.find("resource: boats"), 15, "resource: ships");
  auto changed = read_declarations(document_of(other));
  ASSERT_TRUE(changed);
  const auto refused = declare(std::move(*changed));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().str(),
              HasSubstr("Berth reads Boat of row.example.com already: take it out of the file"));
  EXPECT_EQ(kinds().size(), before);
}

// An error names the place, the field and the fix.
TEST(Declarations, SayWhatIsWrongWithThem) {
  const std::string head =
      "apiVersion: berth.dev/v1alpha1\nkind: OwnerKinds\nkinds:\n- {apiVersion: a.io/v1, kind: A, resource: "
      "as, ";
  const std::string pods = "pods: [{name: p, at: spec.p}]}\n";
  EXPECT_EQ(error_of(head + pods), "");
  EXPECT_THAT(error_of("apiVersion: berth.dev/v1\nkind: OwnerKinds\nkinds: []\n"),
              HasSubstr("kinds.yaml:1:13: apiVersion: a file of kinds has apiVersion: berth.dev/v1alpha1"));
  EXPECT_THAT(error_of("apiVersion: berth.dev/v1alpha1\nkind: OwnerKinds\nkinds: []\n"),
              HasSubstr("kinds: is required"));
  EXPECT_THAT(
      error_of(head + "suspend: spec..x, " + pods),
      HasSubstr("kinds[0].suspend: \"spec..x\" is no path: write names of fields with dots between them"));
  EXPECT_THAT(error_of(head + "suspend: .x, " + pods), HasSubstr("starts at the object: write x"));
  EXPECT_THAT(error_of(head + "suspended: spec.x, " + pods), HasSubstr("did you mean suspend?"));
  EXPECT_THAT(error_of(head + "work: train, " + pods), HasSubstr("kinds[0].work"));
  EXPECT_THAT(error_of(head + "completed: {at: status.x}, " + pods),
              HasSubstr("kinds[0].completed.words: is required"));
  EXPECT_THAT(error_of(head + "failed: {}, " + pods), HasSubstr("kinds[0].failed.at: is required"));
  EXPECT_THAT(error_of(head + "failed: {at: status.x, words: [a], present: true}, " + pods),
              HasSubstr("kinds[0].failed.present: says that anything may stand there"));
  EXPECT_THAT(error_of(head + "failed: {at: status.x, annotation: a.b/c, present: true}, " + pods),
              HasSubstr("kinds[0].failed.annotation: at says where"));
  EXPECT_EQ(
      error_of(head +
               "suspend: spec.x, suspendWhen: [{at: spec.a, absent: true}, {annotation: a.b/c, present: "
               "true}], " +
               pods),
      "");
  EXPECT_THAT(error_of(head + "managedBy: {own: [x]}, " + pods),
              HasSubstr("kinds[0].managedBy.at: is required"));
  EXPECT_THAT(error_of(head + "}\n"), HasSubstr("kinds[0].pods: is required"));
  EXPECT_THAT(error_of(head + "podsOfOwned: true, " + pods), HasSubstr("leave out pods"));
  EXPECT_THAT(error_of(head + "pods: [{at: spec.p}]}\n"), HasSubstr("kinds[0].pods[0].name: is required"));
  EXPECT_THAT(error_of(head + "pods: [{each: spec.p}]}\n"), HasSubstr("pods[0].nameAt: is required"));
  EXPECT_THAT(error_of(head + "pods: [{name: p, count: -1}]}\n"), HasSubstr("pods[0].count"));
  EXPECT_THAT(error_of(head + "pods: [{name: p}, {name: q}]}\n"), HasSubstr("[0].labels: is required"));
  EXPECT_THAT(error_of(head + "pods: [{name: p, minimumWhen: {at: a, words: [b]}}]}\n"),
              HasSubstr("there is no minimum"));
  EXPECT_THAT(error_of(head + "suspendWhen: {at: a, words: [b]}, " + pods), HasSubstr("there is no suspend"));
  EXPECT_THAT(error_of(head + "podsWithin: 5m, " + pods), HasSubstr("podsWithin: is the time after"));
  EXPECT_THAT(error_of(head + "suspendOwned: true, " + pods),
              HasSubstr("suspendOwned: says that what it makes"));
  EXPECT_THAT(error_of(head + "suspend: spec.s, podsWithin: 2h, " + pods), HasSubstr("kinds[0].podsWithin"));
  EXPECT_THAT(error_of(head + "suspend: spec.s, groups: {owner: o, group: g}, " + pods),
              HasSubstr("a kind with groups cannot have suspend"));
  std::string large = head + pods;
  large.replace(large.find("resource: as"), 12, "resource: As");
  EXPECT_THAT(error_of(large), HasSubstr("kinds[0].resource: \"As\": write its plural in small letters"));
  std::string core = head + pods;
  core.replace(core.find("a.io/v1"), 7, "v1");
  EXPECT_THAT(error_of(core),
              HasSubstr("kinds[0].apiVersion: \"v1\": write group and version, such as ray.io/v1"));
}

TEST(Declarations, OfAFileAreCheckedWithTheirTemplates) {
  const auto declared = [](const std::string& text) {
    const std::string path = ::testing::TempDir() + "kinds-of-a-file.yaml";
    std::ofstream(path) << text;
    const auto status = declare_kinds(path);
    return status ? std::string() : status.error().str();
  };
  const std::string head =
      "apiVersion: berth.dev/v1alpha1\nkind: OwnerKinds\nkinds:\n- {apiVersion: a.io/v1, resource: as, ";
  EXPECT_THAT(declared(head + "kind: Job, pods: [{name: p}]}\n"),
              HasSubstr("kind Job of a.io: Berth reads Job of batch already"));
  EXPECT_THAT(
      declared(head + "kind: OfAFile, pods: [{name: p, defaultTemplate: {spec: {containers: 3}}}]}\n"),
      HasSubstr("containers: must be a list"));
  EXPECT_THAT(declared(""), HasSubstr("names no kinds"));
  EXPECT_EQ(declared(head + "kind: OfAFile, pods: [{name: p}]}\n"), "");
  EXPECT_TRUE(kind_of("a.io/v1", "OfAFile"));
  EXPECT_TRUE(kind_named("OfAFile"));
  EXPECT_FALSE(kind_of("b.io/v1", "OfAFile"));
}

}  // namespace
}  // namespace berth::dialect
