// Claims whose volumes are made when a pod has its node (WaitForFirstConsumer): for which nodes, and what they need then.
#include "dialect/volumes/class_book.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/volumes/volume_book.h"
#include "dialect/volumes/volumes_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::put;

std::string late_class_yaml(const std::string& more = "",
                            const std::string& provisioner = "disks.example.com") {
  return fmt::format(
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: late}}\nprovisioner: {}\n"
      "volumeBindingMode: WaitForFirstConsumer\n{}",
      provisioner, more);
}

std::string late_claim_yaml(const std::string& annotations = "", const std::string& size = "10Gi",
                            const std::string& spec = "") {
  return fmt::format(
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, annotations: "
      "{{{}}}}}\nspec: "
      "{{storageClassName: late{}, resources: {{requests: {{storage: {}}}}}}}\n",
      annotations, spec, size);
}

std::string driver_yaml(bool tells) {
  return fmt::format(
      "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {{name: disks.example.com}}\nspec: "
      "{{storageCapacity: {}}}\n",
      tells);
}

std::string capacity_yaml(const std::string& name, const std::string& topology, const std::string& amounts) {
  return fmt::format(
      "---\napiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {{name: {}, namespace: csi}}\n"
      "storageClassName: late\n{}{}",
      name, topology.empty() ? "" : fmt::format("nodeTopology: {}\n", topology), amounts);
}

constexpr char kZoneA[] = "{matchLabels: {zone: a}}";
constexpr char kZoneB[] = "{matchLabels: {zone: b}}";
constexpr char kSelected[] = "volume.kubernetes.io/selected-node: n1";

Meta mounting_pod() {
  Meta out;
  out.ns = "default";
  out.name = "p";
  out.uid = "Pod/default/p";
  return out;
}

const std::vector<ClaimUse> kMounted{{"v", "data", false}};

std::vector<std::string> words_in(const VolumeBook& book) {
  const ClaimsFound found = book.look_up(kMounted, mounting_pod());
  std::vector<std::string> out;
  if (!found.waits.empty()) out.push_back("waits: " + found.waits);
  for (const VolumeNodes& nodes : found.nodes) out.push_back(nodes.words);
  return out;
}

std::vector<std::string> words_of(const std::string& yaml) {
  VolumeBook book;
  put(book, yaml);
  return words_in(book);
}

TEST(ClassBook, AVolumeCanBeMadeForTheNodesOfItsClass) {
  EXPECT_THAT(words_of(late_class_yaml() + late_claim_yaml()), IsEmpty());
  const std::string zones =
      "allowedTopologies:\n- matchLabelExpressions: [{key: zone, values: [a, b]}, {key: disk, values: "
      "[ssd]}]\n"
      "- matchLabelExpressions: [{key: zone, values: [c]}]\n";
  EXPECT_THAT(words_of(late_class_yaml(zones) + late_claim_yaml()),
              ElementsAre("claim data (only on nodes with zone a or b, disk ssd; or zone c)"));
  VolumeBook book;
  put(book, late_class_yaml(zones) + late_claim_yaml());
  const ClaimsFound found = book.look_up(kMounted, mounting_pod());
  EXPECT_TRUE(any_matches(found.nodes[0].nodes, {{"zone", "c"}}, "n"));
  EXPECT_FALSE(any_matches(found.nodes[0].nodes, {{"zone", "a"}}, "n"));
  EXPECT_THAT(found.attached, ElementsAre(Pair("claim default/data", Attached{"disks.example.com"})));
  EXPECT_THAT(put(book, late_class_yaml()), ElementsAre("default/data"));
  EXPECT_THAT(words_in(book), IsEmpty());
  EXPECT_THAT(words_of(late_class_yaml("allowedTopologies: [{}]\n") + late_claim_yaml()),
              ElementsAre("claim data (on no node)"));
}

TEST(ClassBook, ADriverThatTellsItsCapacityRulesOutNodesWithoutEnough) {
  const std::string base = late_class_yaml() + late_claim_yaml();
  const std::string tells = base + driver_yaml(true);
  const std::string on_no_node = "claim data, by the free capacity of disks.example.com (on no node)";
  const std::string in_a =
      "claim data, by the free capacity of disks.example.com (only on nodes with zone a)";
  EXPECT_THAT(words_of(base + driver_yaml(false)), IsEmpty());
  EXPECT_THAT(words_of(base + capacity_yaml("c1", kZoneA, "capacity: 1Gi\n")), IsEmpty())
      << "the driver does not ask for it";
  EXPECT_THAT(words_of(tells), ElementsAre(on_no_node));
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", kZoneA, "capacity: 1Gi\n")), ElementsAre(on_no_node));
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", kZoneA, "")), ElementsAre(on_no_node));
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", "", "capacity: 99Gi\n")), ElementsAre(on_no_node));
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", "{}", "capacity: 99Gi\n")), IsEmpty()) << "all nodes";
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", kZoneA, "capacity: 10Gi\n") +
                       capacity_yaml("c2", kZoneB, "capacity: 9Gi\n")),
              ElementsAre(in_a));
  EXPECT_THAT(words_of(tells + capacity_yaml("c1", kZoneA, "capacity: 5Gi\nmaximumVolumeSize: 20Gi\n") +
                       capacity_yaml("c2", kZoneB, "capacity: 50Gi\nmaximumVolumeSize: 5Gi\n")),
              ElementsAre(in_a))
      << "the largest volume counts, where it is known";
  EXPECT_THAT(
      words_of(tells + capacity_yaml("c1", kZoneA, "capacity: 10Gi\n") +
               capacity_yaml("c2", kZoneB, "capacity: 10Gi\n")),
      ElementsAre("claim data, by the free capacity of disks.example.com (only on nodes with zone a or b)"));
  EXPECT_THAT(words_of(late_class_yaml() + late_claim_yaml("", "0") + driver_yaml(true)), IsEmpty());
}

TEST(ClassBook, ACapacityConcernsTheClaimsForWhichItChanges) {
  VolumeBook book;
  put(book, late_class_yaml() + late_claim_yaml());
  EXPECT_THAT(put(book, driver_yaml(true)), ElementsAre("default/data"));
  EXPECT_THAT(put(book, capacity_yaml("c1", kZoneA, "capacity: 5Gi\n")), IsEmpty());
  EXPECT_THAT(put(book, capacity_yaml("c1", kZoneA, "capacity: 9Gi\n")), IsEmpty());
  EXPECT_THAT(put(book, capacity_yaml("c1", kZoneA, "capacity: 10Gi\n")), ElementsAre("default/data"));
  EXPECT_THAT(put(book, capacity_yaml("c1", kZoneA, "capacity: 11Gi\n")), IsEmpty());
  EXPECT_THAT(put(book, capacity_yaml("c1", kZoneB, "capacity: 11Gi\n")), ElementsAre("default/data"));
  EXPECT_THAT(book.remove(Kind::kCsiStorageCapacity, "csi", "c1"), ElementsAre("default/data"));
  EXPECT_THAT(book.remove(Kind::kCsiStorageCapacity, "csi", "c1"), IsEmpty());
  EXPECT_THAT(book.remove(Kind::kCsiDriver, "", "disks.example.com"), ElementsAre("default/data"));
  EXPECT_THAT(words_in(book), IsEmpty());
}

TEST(ClassBook, TheNodeOnAClaimAndRefusedNodes) {
  VolumeBook book;
  put(book, late_class_yaml() + late_claim_yaml(kSelected));
  EXPECT_THAT(words_in(book), ElementsAre("claim data (being provisioned for node n1)"));
  EXPECT_TRUE(any_matches(book.look_up(kMounted, mounting_pod()).nodes[0].nodes, {}, "n1"));
  EXPECT_FALSE(any_matches(book.look_up(kMounted, mounting_pod()).nodes[0].nodes, {}, "n2"));
  put(book, late_claim_yaml());
  EXPECT_THAT(book.refuse("default/data", {"n1", "n3"}), ElementsAre("default/data"));
  EXPECT_THAT(book.refuse("default/data", {"n1", "n3"}), IsEmpty());
  EXPECT_THAT(words_in(book), ElementsAre("claim data (not made for n1, n3 lately)"));
  EXPECT_FALSE(any_matches(book.look_up(kMounted, mounting_pod()).nodes[0].nodes, {}, "n1"));
  EXPECT_TRUE(any_matches(book.look_up(kMounted, mounting_pod()).nodes[0].nodes, {}, "n2"));
  EXPECT_THAT(book.refuse("default/data", {}), ElementsAre("default/data"));
  EXPECT_THAT(words_in(book), IsEmpty());
}

std::string step_in(const std::string& yaml, const std::string& node = "n1", const Labels& labels = {},
                    const ClaimUse& use = kMounted[0]) {
  VolumeBook book;
  put(book, yaml);
  const auto steps = book.steps({use}, mounting_pod(), node, &labels);
  if (steps.empty()) return "none";
  static constexpr const char* kWords[] = {"none", "node", "volume", "time", "place", "elsewhere"};
  return fmt::format("{}: {}", kWords[static_cast<int>(steps[0].need)], steps[0].why);
}

const std::string kVolumeInA =
    "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {nodeAffinity: {required: "
    "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}\n";

TEST(ClaimStep, FollowsTheClaimToItsVolume) {
  const std::string bound =
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: "
      "{storageClassName: late, volumeName: pv}\nstatus: {phase: Bound}\n";
  const std::string in_a =
      late_class_yaml("allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]\n");
  EXPECT_EQ(step_in(late_class_yaml() + late_claim_yaml()),
            "node: claim data is to be provisioned for node n1");
  EXPECT_EQ(step_in(in_a + late_claim_yaml(), "n1", {{"zone", "a"}}),
            "node: claim data is to be provisioned for node n1");
  EXPECT_EQ(step_in(in_a + late_claim_yaml(), "n1", {{"zone", "b"}}),
            "place: node n1 is ruled out by claim data (only on nodes with zone a)");
  EXPECT_EQ(step_in(late_class_yaml() + late_claim_yaml(kSelected)),
            "time: claim data is being provisioned for node n1");
  EXPECT_EQ(step_in(late_class_yaml() + late_claim_yaml(kSelected), "n2"),
            "time: claim data is being provisioned for node n1")
      << "when its volume is there, it shows whether it can be used";
  EXPECT_EQ(step_in(late_class_yaml() + late_claim_yaml("", "1Gi", ", volumeName: pv")),
            "time: claim data is not bound to its PersistentVolume pv yet: see the events of the claim");
  EXPECT_EQ(step_in(bound),
            "time: PersistentVolume pv of claim data does not exist: create it again, or the claim");
  EXPECT_EQ(step_in(bound + kVolumeInA, "n1", {{"zone", "a"}}), "none");
  EXPECT_EQ(step_in(bound + kVolumeInA, "n1", {{"zone", "b"}}),
            "place: node n1 is ruled out by claim data (only on nodes with zone a)");
}

TEST(ClaimStep, ClaimsThatCannotBeUsedGiveThePlaceBack) {
  const std::string deleted =
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, deletionTimestamp: "
      "2026-01-01T00:00:00Z}\nspec: {storageClassName: late}\n";
  EXPECT_EQ(step_in(""),
            "place: claim data does not exist in namespace default: create it, or correct the name");
  EXPECT_EQ(step_in("", "n1", {}, {"v", "", true}),
            "time: claim p-v does not exist yet: Kubernetes makes it for the volume v");
  EXPECT_EQ(step_in(late_class_yaml() + deleted),
            "place: claim data is being deleted: create it again when it is gone");
}

TEST(ClaimStep, AnOlderStateOfAClaimIsNotTakenIn) {
  const auto claim = [](const std::string& version, const std::string& annotations) {
    std::string out = late_claim_yaml(annotations);
    out.insert(out.find("name: data"), fmt::format("uid: u, resourceVersion: '{}', ", version));
    return out;
  };
  VolumeBook book;
  put(book, late_class_yaml() + claim("7", kSelected));
  EXPECT_THAT(put(book, claim("6", "")), IsEmpty());
  EXPECT_THAT(words_in(book), ElementsAre("claim data (being provisioned for node n1)"));
  EXPECT_THAT(put(book, claim("8", kSelected)), ElementsAre("default/data"))
      << "a write on it names its version";
  EXPECT_THAT(put(book, claim("10", "")), ElementsAre("default/data"));
  EXPECT_THAT(words_in(book), IsEmpty());
}

TEST(ClassBook, TheDriverOfAnOlderProvisionerCounts) {
  VolumeBook book;
  put(book, late_class_yaml("", "kubernetes.io/aws-ebs") + late_claim_yaml());
  EXPECT_THAT(book.look_up(kMounted, mounting_pod()).attached,
              ElementsAre(Pair("claim default/data", Attached{"ebs.csi.aws.com"})));
}

// A template, a pod whose claim is still to be made, and one with its claim ask for the same.
TEST(ClassBook, AnEphemeralVolumeOfATemplateFollowsItsClass) {
  VolumeBook book;
  put(book, late_class_yaml("allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]\n"));
  const std::vector<ClaimUse> uses{{"v", "", true, "late", 1}};
  Meta unnamed;
  unnamed.ns = "default";
  for (const Meta& of : {unnamed, mounting_pod()}) {
    const ClaimsFound found = book.look_up(uses, of);
    ASSERT_EQ(found.nodes.size(), 1u);
    EXPECT_EQ(found.nodes[0].words, "volume v (only on nodes with zone a)");
    ASSERT_EQ(found.attached.size(), 1u);
    EXPECT_EQ(found.attached.begin()->second.driver, "disks.example.com");
    EXPECT_EQ(found.waits.empty(), of.name.empty());
  }
}

TEST(ClassBook, ClaimsOfATemplateAreOpenUntilTheyAreBound) {
  VolumeBook book;
  put(book, late_class_yaml() + late_claim_yaml());
  EXPECT_TRUE(book.are_open("default", kMounted));
  EXPECT_TRUE(book.are_open("default", {{"v", "", true}})) << "made for each pod";
  EXPECT_FALSE(book.are_open("default", {}));
  put(book, late_claim_yaml("pv.kubernetes.io/bind-completed: 'yes'", "1Gi", ", volumeName: pv"));
  EXPECT_FALSE(book.are_open("default", kMounted));
}

}  // namespace
}  // namespace berth::dialect
