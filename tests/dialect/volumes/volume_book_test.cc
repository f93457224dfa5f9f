// The claims of a pod: the nodes of their volumes, or why the pod waits.
#include "dialect/volumes/volume_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Meta pod_named(const std::string& name) {
  Meta out;
  out.ns = "default";
  out.name = name;
  out.uid = "Pod/default/" + name;
  return out;
}

VolumeBook book_of(const std::string& yaml) {
  VolumeBook out;
  for (Object& object : testing::objects_of(yaml)) {
    if (auto* claim = std::get_if<PersistentVolumeClaim>(&object)) out.put(std::move(*claim));
    if (auto* volume = std::get_if<PersistentVolume>(&object)) out.put(std::move(*volume));
    if (auto* klass = std::get_if<StorageClass>(&object)) out.put(std::move(*klass));
    if (auto* driver = std::get_if<CsiDriver>(&object)) out.put(std::move(*driver));
    if (auto* capacity = std::get_if<CsiStorageCapacity>(&object)) out.put(std::move(*capacity));
  }
  return out;
}

const std::vector<ClaimUse> kData{{"v", "data", false}};

std::string claim_yaml(const std::string& name, const std::string& spec, const std::string& status = "",
                       const std::string& meta = "") {
  return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + meta + "}\nspec: {" +
         spec + "}\nstatus: {" + status + "}\n";
}

const std::string kBound = claim_yaml("data", "volumeName: pv", "phase: Bound");

std::string waits_with(const std::string& yaml, const std::vector<ClaimUse>& uses = kData) {
  return book_of(yaml).look_up(uses, pod_named("p")).waits;
}

TEST(VolumeBook, SaysWhyAClaimCannotBeUsed) {
  const std::string fast =
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n"
      "provisioner: x\n";
  EXPECT_EQ(waits_with(""), "claim data does not exist in namespace default: create it, or correct the name");
  EXPECT_EQ(waits_with(kBound),
            "PersistentVolume pv of claim data does not exist: create it again, or the claim");
  EXPECT_EQ(waits_with(claim_yaml("data", "volumeName: pv", "phase: Lost")),
            "claim data has lost its PersistentVolume pv: delete the claim, and create it again");
  EXPECT_EQ(waits_with(claim_yaml("data", "volumeName: pv", "phase: Bound",
                                  ", deletionTimestamp: 2026-01-01T00:00:00Z")),
            "claim data is being deleted: create it again when it is gone");
  EXPECT_EQ(waits_with(claim_yaml("data", "volumeName: pv", "phase: Pending")),
            "claim data is not bound to its PersistentVolume pv yet: see the events of the claim");
  EXPECT_EQ(waits_with(fast + claim_yaml("data", "storageClassName: fast")),
            "claim data is not bound yet: StorageClass fast makes a volume for it, or see the events of the "
            "claim");
  EXPECT_EQ(waits_with(claim_yaml("data", "storageClassName: fast")),
            "claim data is not bound, and its StorageClass fast does not exist: create the class, or a "
            "PersistentVolume for the claim");
  EXPECT_EQ(waits_with(fast + claim_yaml("data", "storageClassName: ''")),
            "claim data is not bound, and has no StorageClass: create a PersistentVolume for it");
}

TEST(VolumeBook, AClassOfTheClusterIsThatOfClaimsWithoutOne) {
  const std::string later =
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: late\n  annotations: "
      "{storageclass.kubernetes.io/is-default-class: 'true'}\nvolumeBindingMode: WaitForFirstConsumer\n";
  const ClaimsFound found = book_of(later + claim_yaml("data", "")).look_up(kData, pod_named("p"));
  EXPECT_EQ(found.waits, "") << "its volume is made when the pod has its place";
}

TEST(VolumeBook, AVolumeGivesItsNodes) {
  const ClaimsFound found =
      book_of(kBound +
              "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: pv\n  labels: "
              "{topology.kubernetes.io/region: r__s, topology.kubernetes.io/zone: a__, kept: no}\nspec:\n"
              "  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: "
              "Exists}]}, {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}\n")
          .look_up(kData, pod_named("p"));
  EXPECT_EQ(found.waits, "");
  ASSERT_EQ(found.nodes.size(), 2u) << "a label with an empty part does not count";
  EXPECT_EQ(found.nodes[0].words, "claim data (only on nodes with disk; or name n1)");
  EXPECT_TRUE(any_matches(found.nodes[0].nodes, {{"disk", ""}}, "n0"));
  EXPECT_TRUE(any_matches(found.nodes[0].nodes, {}, "n1"));
  EXPECT_FALSE(any_matches(found.nodes[0].nodes, {}, "n0"));
  EXPECT_EQ(found.nodes[1].words, "claim data (only on nodes with topology.kubernetes.io/region r or s)");
  EXPECT_TRUE(any_matches(found.nodes[1].nodes, {{"topology.kubernetes.io/region", "s"}}, "n0"));
  EXPECT_TRUE(any_matches(found.nodes[1].nodes, {}, "n0")) << "a node without zones and regions may have all";
  EXPECT_FALSE(any_matches(found.nodes[1].nodes, {{"topology.kubernetes.io/zone", "s"}}, "n0"));
}

TEST(VolumeBook, AnOlderLabelStandsForTodaysName) {
  const ClaimsFound found =
      book_of(kBound +
              "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: pv\n  labels: "
              "{failure-domain.beta.kubernetes.io/zone: a}\nspec: {}\n")
          .look_up(kData, pod_named("p"));
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_TRUE(any_matches(found.nodes[0].nodes, {{"topology.kubernetes.io/zone", "a"}}, "n0"));
  EXPECT_TRUE(any_matches(found.nodes[0].nodes, {{"failure-domain.beta.kubernetes.io/zone", "a"}}, "n0"));
  EXPECT_FALSE(any_matches(found.nodes[0].nodes, {{"topology.kubernetes.io/zone", "b"}}, "n0"));
}

// A volume that no node satisfies is on no node; one without a node affinity is on all.
TEST(VolumeBook, TermsThatAreEmptyMatchNoNode) {
  const std::string pv = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: ";
  const ClaimsFound none = book_of(kBound + pv + "{nodeAffinity: {required: {nodeSelectorTerms: []}}}\n")
                               .look_up(kData, pod_named("p"));
  ASSERT_EQ(none.nodes.size(), 1u);
  EXPECT_FALSE(any_matches(none.nodes[0].nodes, {{"a", "b"}}, "n0"));
  EXPECT_EQ(none.nodes[0].words, "claim data (on no node)");
  EXPECT_THAT(book_of(kBound + pv + "{}\n").look_up(kData, pod_named("p")).nodes, IsEmpty());
}

TEST(VolumeBook, AnEphemeralVolumeNeedsTheClaimOfItsPod) {
  const std::vector<ClaimUse> uses{{"scratch", "", true}};
  EXPECT_EQ(waits_with("", uses),
            "claim p-scratch does not exist yet: Kubernetes makes it for the volume scratch");
  EXPECT_EQ(waits_with(claim_yaml("p-scratch", "volumeName: pv", "phase: Bound"), uses),
            "claim p-scratch is not this pod's, and its volume scratch needs that name: delete the claim");
  const std::string own = claim_yaml("p-scratch", "volumeName: pv", "phase: Bound",
                                     ", ownerReferences: [{kind: Pod, name: p, controller: true}]");
  const std::string pv =
      "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {nodeAffinity: {required: "
      "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]}}}\n";
  const ClaimsFound found = book_of(own + pv).look_up(uses, pod_named("p"));
  EXPECT_EQ(found.waits, "");
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_EQ(found.nodes[0].words, "volume scratch (only on nodes with zone a or b)");
  EXPECT_THAT(book_of(own + pv).look_up(uses, Meta{}).nodes, IsEmpty()) << "a template has no claim yet";
}

// Pods that are alike but for their own claims ask for the same.
TEST(VolumeBook, NamesTheVolumeOfAClaimThatHasThePodsName) {
  const ClaimsFound found =
      book_of(claim_yaml("data-p", "volumeName: pv", "phase: Bound") +
              "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {nodeAffinity: "
              "{required: "
              "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}\n")
          .look_up({{"data", "data-p", false}}, pod_named("p"));
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_EQ(found.nodes[0].words, "volume data (only on nodes with zone a)");
}

TEST(VolumeBook, AChangeGivesTheClaimsForWhichItMatters) {
  VolumeBook book;
  const auto put = [&](const std::string& yaml) {
    Object object = testing::objects_of(yaml).at(0);
    if (auto* claim = std::get_if<PersistentVolumeClaim>(&object)) return book.put(std::move(*claim));
    if (auto* volume = std::get_if<PersistentVolume>(&object)) return book.put(std::move(*volume));
    return book.put(std::move(std::get<StorageClass>(object)));
  };
  const std::string pv = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {}\n";
  const std::string klass = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\n";
  EXPECT_THAT(put(pv), IsEmpty());
  EXPECT_THAT(put(kBound), ElementsAre("default/data"));
  EXPECT_THAT(put(kBound), IsEmpty()) << "nothing has changed";
  EXPECT_THAT(put(claim_yaml("more", "storageClassName: c")), ElementsAre("default/more"));
  EXPECT_THAT(put(pv), IsEmpty()) << "nothing has changed";
  EXPECT_THAT(book.remove(Kind::kPersistentVolume, "", "pv"), ElementsAre("default/data"));
  EXPECT_THAT(put(klass), ElementsAre("default/data", "default/more")) << "the volume of data is gone";
  EXPECT_THAT(book.remove(Kind::kStorageClass, "", "c"), ElementsAre("default/data", "default/more"));
  EXPECT_THAT(put(claim_yaml("data", "volumeName: other", "phase: Bound")), ElementsAre("default/data"));
  EXPECT_THAT(put(pv), IsEmpty()) << "no claim names it any more";
  EXPECT_THAT(book.remove(Kind::kPersistentVolumeClaim, "default", "data"), ElementsAre("default/data"));
  EXPECT_THAT(book.remove(Kind::kPersistentVolumeClaim, "default", "data"), IsEmpty());
}

using ::testing::Pair;

TEST(VolumeBook, KnowsTheDriversThatAttachItsVolumes) {
  const auto volume = [](const std::string& name, const std::string& spec) {
    return "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name + "}\nspec: {" + spec +
           "}\n";
  };
  const std::vector<ClaimUse> uses{
      {"v", "data", false}, {"w", "data", false}, {"x", "old", false}, {"y", "shared", false}};
  const VolumeBook book = book_of(kBound + claim_yaml("old", "volumeName: ebs", "phase: Bound") +
                                  claim_yaml("shared", "volumeName: nfs", "phase: Bound") +
                                  volume("pv", "csi: {driver: disk.example.com, volumeHandle: h}") +
                                  volume("ebs", "awsElasticBlockStore: {volumeID: v}") +
                                  volume("nfs", "nfs: {server: s, path: /}"));
  EXPECT_THAT(book.look_up(uses, pod_named("p")).attached,
              ElementsAre(Pair("disk.example.com/h", Attached{"disk.example.com"}),
                          Pair("ebs", Attached{"ebs.csi.aws.com"})))
      << "a volume that is mounted twice is attached once";
}

// Kubernetes counts a volume as soon as its claim names it.
TEST(VolumeBook, CountsAVolumeWhoseClaimIsNotBoundYet) {
  const VolumeBook book = book_of(
      claim_yaml("data", "volumeName: pv", "phase: Pending") +
      "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {csi: {driver: d}}\n");
  EXPECT_THAT(book.look_up(kData, pod_named("p")).attached, ElementsAre(Pair("pv", Attached{"d"})));
}

}  // namespace
}  // namespace berth::dialect
