// Volumes that exist: where a claim that waits for a pod finds one, what nodes have of them, and which one each claim gets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dialect/dialect_support.h"
#include "dialect/volumes/volume_book.h"
#include "dialect/volumes/volume_nodes.h"
#include "dialect/volumes/volumes_support.h"

namespace berth::dialect {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kNone[] = "kubernetes.io/no-provisioner";

std::string shelf_class(const std::string& provisioner = kNone, const std::string& more = "") {
  return fmt::format(
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: local}}\nprovisioner: {}\n"
      "volumeBindingMode: WaitForFirstConsumer\n{}",
      provisioner, more);
}

struct VolumeText {
  std::string name;
  std::string node = "n1";  // its host name; "": any node
  std::string size = "10Gi";
  std::string spec = {};  // ", key: value" further fields
  std::string phase = "Available";
  std::string labels = {};
  std::string modes = "ReadWriteOnce";
};

std::string shelf_volume(const VolumeText& v) {
  const std::string affinity =
      v.node.empty() ? ""
                     : fmt::format(
                           ", nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: "
                           "kubernetes.io/hostname, operator: In, values: [{}]}}]}}]}}}}",
                           v.node);
  return fmt::format(
      "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}, labels: {{{}}}}}\nspec: "
      "{{storageClassName: local, accessModes: [{}], capacity: {{storage: {}}}{}{}}}\nstatus: {{phase: "
      "{}}}\n",
      v.name, v.labels, v.modes, v.size, affinity, v.spec, v.phase);
}

std::string shelf_claim(const std::string& name, const std::string& size = "10Gi",
                        const std::string& spec = "", const std::string& meta = "") {
  return fmt::format(
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}{}}}\nspec: {{storageClassName: "
      "local, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {}}}}}{}}}\n",
      name, meta, size, spec);
}

std::string for_claim(const std::string& claim, const std::string& uid = "") {
  return fmt::format(", claimRef: {{namespace: default, name: {}{}}}", claim,
                     uid.empty() ? "" : ", uid: " + uid);
}

class Shelves {
 public:
  explicit Shelves(const std::string& yaml = "") { put(yaml); }

  VolumeBook::Keys put(const std::string& yaml) { return testing::put(book, yaml); }
  static std::vector<ClaimUse> uses(const std::vector<std::string>& claims) {
    std::vector<ClaimUse> out;
    for (const std::string& claim : claims) out.push_back({"v-" + claim, claim, false});
    return out;
  }
  static Labels labels(const std::string& node) { return {{"kubernetes.io/hostname", node}}; }
  ClaimsFound find(const std::vector<std::string>& claims) const { return book.look_up(uses(claims), pod()); }
  // The nodes among n1 to n4 to which a pod with these claims may go.
  std::vector<std::string> nodes(const std::vector<std::string>& claims) const {
    const ClaimsFound found = find(claims);
    std::vector<std::string> out;
    for (const std::string node : {"n1", "n2", "n3", "n4"}) {
      const ResourceList counts = book.available().counts_at(places_of(node, labels(node)));
      const bool matches = std::all_of(found.nodes.begin(), found.nodes.end(), [&](const VolumeNodes& of) {
        return any_matches(of.nodes, labels(node), node);
      });
      const bool has_all =
          std::all_of(found.counted.begin(), found.counted.end(), [&](const std::string& count) {
            return counts.get(count) >= std::count(found.counted.begin(), found.counted.end(), count);
          });
      if (matches && has_all) out.push_back(node);
    }
    return out;
  }
  std::vector<std::string> words(const std::string& claim) const {
    const ClaimsFound found = find({claim});
    std::vector<std::string> out;
    if (!found.waits.empty()) out.push_back("waits: " + found.waits);
    for (const VolumeNodes& of : found.nodes) out.push_back(of.words);
    return out;
  }
  std::string counts(const std::string& node) const {
    return book.available().counts_at(places_of(node, labels(node))).str();
  }
  // A pod with these claims is placed on the node.
  VolumeBook::Keys keep(const std::vector<std::string>& claims, const std::string& node) {
    return keep_all({{claims, node}});
  }
  VolumeBook::Keys keep_all(const std::vector<std::pair<std::vector<std::string>, std::string>>& pods) {
    std::vector<std::vector<ClaimUse>> all;
    std::vector<Labels> of_nodes;
    for (const auto& [claims, node] : pods) {
      all.push_back(uses(claims));
      of_nodes.push_back(labels(node));
    }
    const Meta of = pod();
    std::vector<VolumeBook::Placed> placed;
    for (std::size_t i = 0; i < pods.size(); ++i)
      placed.push_back({&all[i], &of, pods[i].second, &of_nodes[i]});
    return book.keep(placed);
  }
  std::string step(const std::string& claim, const std::string& node = "n1") const {
    const Labels of = labels(node);
    const auto steps = book.steps(uses({claim}), pod(), node, &of);
    if (steps.empty()) return "none";
    static constexpr const char* kWords[] = {"none", "node", "volume", "time", "place", "elsewhere"};
    return fmt::format("{}: {}", kWords[static_cast<int>(steps[0].need)], steps[0].why);
  }
  // The volume that is for the claim; "": none.
  std::string volume_of(const std::string& claim) const {
    const Labels of = labels("n1");
    const auto steps = book.steps(uses({claim}), pod(), "n1", &of);
    return steps.empty() ? std::string() : steps[0].volume;
  }

  VolumeBook book;

 private:
  static Meta pod() {
    Meta out;
    out.ns = "default";
    out.name = "p";
    out.uid = "Pod/default/p";
    return out;
  }
};

TEST(VolumeChoice, APodGoesWhereAVolumeSuitsItsClaim) {
  Shelves s(shelf_class() + shelf_claim("a"));
  EXPECT_THAT(s.words("a"), ElementsAre("claim a, by the PersistentVolumes of local (on no node)"));
  EXPECT_THAT(s.put(shelf_volume({"v1", "n1"})), UnorderedElementsAre("*", "default/a"));
  s.put(shelf_volume({"v2", "n3"}));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n1", "n3"));
  EXPECT_THAT(s.words("a"), ElementsAre("claim a, by the PersistentVolumes of local (only on nodes with "
                                        "kubernetes.io/hostname n1 or n3)"));
  EXPECT_THAT(s.find({"a"}).attached, IsEmpty());
  s.book.remove(Kind::kPersistentVolume, "", "v1");
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n3"));
}

TEST(VolumeChoice, EachOfTheseVolumesSuitsNoClaim) {
  const std::string base = shelf_class() + shelf_claim("a");
  EXPECT_THAT(Shelves(base + shelf_volume({"v"})).nodes({"a"}), ElementsAre("n1"));
  EXPECT_THAT(Shelves(base + shelf_volume({"v", "n1", "9Gi"})).nodes({"a"}), IsEmpty()) << "too small";
  const std::string other_mode = shelf_volume({"v", "n1", "10Gi", "", "Available", "", "ReadOnlyMany"});
  EXPECT_THAT(Shelves(base + other_mode).nodes({"a"}), IsEmpty());
  EXPECT_THAT(Shelves(base + shelf_volume({"v", "n1", "10Gi", ", volumeMode: Block"})).nodes({"a"}),
              IsEmpty());
  EXPECT_THAT(
      Shelves(base + shelf_volume({"v", "n1", "10Gi", ", volumeAttributesClassName: fast"})).nodes({"a"}),
      IsEmpty());
  std::string of_another = shelf_volume({"v"});
  of_another.replace(of_another.find("local"), 5, "other");
  EXPECT_THAT(Shelves(base + of_another).nodes({"a"}), IsEmpty());
  for (const char* phase : {"Pending", "Bound", "Released", "Failed"})
    EXPECT_THAT(Shelves(base + shelf_volume({"v", "n1", "10Gi", "", phase})).nodes({"a"}), IsEmpty())
        << phase;
  EXPECT_THAT(Shelves(base + shelf_volume({"v", "n1", "10Gi", "", "''"})).nodes({"a"}), ElementsAre("n1"))
      << "a manifest need not say its phase";
  EXPECT_THAT(Shelves(base + shelf_volume({"v", "n1", "10Gi", for_claim("other")})).nodes({"a"}), IsEmpty());
  const std::string selecting =
      shelf_class() + shelf_claim("a", "10Gi", ", selector: {matchLabels: {disk: nvme}}");
  EXPECT_THAT(Shelves(selecting + shelf_volume({"v"})).nodes({"a"}), IsEmpty());
  EXPECT_THAT(
      Shelves(selecting + shelf_volume({"v", "n1", "10Gi", "", "Available", "disk: nvme"})).nodes({"a"}),
      ElementsAre("n1"));
  EXPECT_THAT(Shelves(shelf_class() + shelf_claim("a", "10Gi", ", volumeMode: Block") +
                      shelf_volume({"v", "n1", "10Gi", ", volumeMode: Block"}))
                  .nodes({"a"}),
              ElementsAre("n1"));
}

TEST(VolumeChoice, VolumesThatManyNodesHaveCountEverywhere) {
  const std::string base = shelf_class() + shelf_claim("a");
  EXPECT_THAT(Shelves(base + shelf_volume({"v", ""})).words("a"), IsEmpty()) << "on any node";
  const std::string in_zone =
      ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: "
      "[a]}]}]}}";
  Shelves s(base + shelf_volume({"v", "", "10Gi", in_zone}) + shelf_volume({"w", "n2"}));
  EXPECT_THAT(s.words("a"), ElementsAre(HasSubstr("kubernetes.io/hostname n2; or zone a")));
  EXPECT_TRUE(any_matches(s.find({"a"}).nodes[0].nodes, {{"zone", "a"}}, "n9"));
  EXPECT_THAT(s.find({"a"}).counted, IsEmpty()) << "not all are local";
  EXPECT_EQ(s.counts("n2"), "");
  // The labels of a volume count beside its node affinity.
  Shelves zoned(base + shelf_volume({"v", "n1", "10Gi", "", "Available", "topology.kubernetes.io/zone: a"}));
  EXPECT_FALSE(any_matches(zoned.find({"a"}).nodes[0].nodes,
                           {{"kubernetes.io/hostname", "n1"}, {"topology.kubernetes.io/zone", "b"}}, "n1"));
  EXPECT_TRUE(any_matches(zoned.find({"a"}).nodes[0].nodes,
                          {{"kubernetes.io/hostname", "n1"}, {"topology.kubernetes.io/zone", "a"}}, "n1"));
}

TEST(VolumeChoice, LocalVolumesAreCountedByNode) {
  Shelves s(shelf_class() + shelf_claim("a") + shelf_claim("large", "50Gi") + shelf_volume({"v1", "n1"}) +
            shelf_volume({"v2", "n1", "100Gi"}) + shelf_volume({"v3", "n2"}));
  EXPECT_EQ(s.counts("n1"), "StorageClass local 2, StorageClass local, of 100Gi or more 1");
  EXPECT_EQ(s.counts("n2"), "StorageClass local 1, StorageClass local, of 100Gi or more 0");
  EXPECT_EQ(s.counts("n3"), "");
  EXPECT_THAT(s.find({"a"}).counted, ElementsAre("StorageClass local"));
  EXPECT_THAT(s.find({"large"}).counted,
              ElementsAre("StorageClass local", "StorageClass local, of 100Gi or more"));
  EXPECT_THAT(s.nodes({"large"}), ElementsAre("n1"));
  (void)s.book.take_changed_places();
  EXPECT_THAT(s.keep({"large"}, "n1"), Contains("default/large"));
  EXPECT_EQ(s.book.take_changed_places().size(), 1u);
  EXPECT_EQ(s.counts("n1"), "StorageClass local 1, StorageClass local, of 100Gi or more 0");
  EXPECT_THAT(s.find({"large"}).counted, IsEmpty()) << "it has its own";
  EXPECT_THAT(s.book.set_shared("default/a", true), ElementsAre("default/a"));
  EXPECT_THAT(s.find({"a"}).counted, IsEmpty()) << "its pods need one volume together";
  EXPECT_THAT(s.find({"a"}).together, ElementsAre("default/a"));
  EXPECT_THAT(s.book.set_shared("default/a", true), IsEmpty());
  EXPECT_THAT(s.book.set_shared("default/a", false), ElementsAre("default/a"));
  s.put(shelf_class("disks.example.com"));
  EXPECT_EQ(s.counts("n1"), "");
  EXPECT_FALSE(s.book.take_changed_places().empty());
}

TEST(VolumeChoice, OfManySizesSomeAreCounted) {
  std::string yaml = shelf_class() + shelf_claim("a", "15Gi");
  for (int i = 1; i <= 20; ++i) yaml += shelf_volume({fmt::format("v{}", i), "n1", fmt::format("{}Gi", i)});
  const Shelves s(yaml);
  EXPECT_EQ(s.find({"a"}).counted.size(), 5u) << "1, 4, 7, 10 and 13 Gi";
  EXPECT_THAT(s.find({"a"}).counted, Contains("StorageClass local, of 13Gi or more"));
  EXPECT_THAT(s.counts("n1"), HasSubstr("of 13Gi or more 8"));
}

TEST(VolumeChoice, TheSmallestVolumeIsKeptForAClaimAndIsNoOthers) {
  Shelves s(shelf_class() + shelf_claim("a", "5Gi") + shelf_claim("b", "5Gi") +
            shelf_volume({"v1", "n1", "20Gi"}) + shelf_volume({"v2", "n1"}) + shelf_volume({"v3", "n2"}));
  EXPECT_EQ(s.step("a"),
            "elsewhere: no free PersistentVolume of StorageClass local on node n1 suits claim a");
  s.keep({"a"}, "n1");
  EXPECT_EQ(s.step("a"), "volume: claim a is to be bound to PersistentVolume v2");
  EXPECT_THAT(s.keep({"a"}, "n1"), IsEmpty()) << "it has one";
  EXPECT_THAT(s.words("a"), ElementsAre("claim a (only on nodes with kubernetes.io/hostname n1)"));
  EXPECT_EQ(s.step("a", "n2"),
            "place: node n2 is ruled out by claim a (only on nodes with kubernetes.io/hostname n1)");
  s.keep({"b"}, "n1");
  EXPECT_EQ(s.volume_of("b"), "v1");
  EXPECT_THAT(s.book.release({"default/a"}), Contains("default/a"));
  EXPECT_EQ(s.volume_of("a"), "");
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n1", "n2"));
  s.keep({"a"}, "n3");
  EXPECT_EQ(s.volume_of("a"), "") << "n3 has none";
}

TEST(VolumeChoice, WhereNoVolumeIsLeftTheClaimSaysSo) {
  Shelves s(shelf_class() + shelf_claim("a") + shelf_claim("b") + shelf_claim("small", "1Gi") +
            shelf_volume({"v1", "n1"}) + shelf_volume({"tiny", "n2", "1Gi"}));
  EXPECT_THAT(s.keep({"a"}, "n1"),
              AllOf(Contains("default/a"), Contains("default/b"), Not(Contains("default/small"))))
      << "the count of the node tells the others";
  EXPECT_THAT(s.words("b"), ElementsAre("claim b, by the PersistentVolumes of local (on no node)"));
  EXPECT_THAT(s.book.release({"default/a"}), Contains("default/b"));
  EXPECT_THAT(s.nodes({"b"}), ElementsAre("n1"));
}

TEST(VolumeChoice, ClaimsOfOneNodeGetVolumesOfTheirOwn) {
  const std::string selecting = ", selector: {matchLabels: {disk: nvme}}";
  Shelves s(shelf_class() + shelf_claim("any", "1Gi") + shelf_claim("fast", "5Gi", selecting) +
            shelf_claim("large", "50Gi") + shelf_volume({"v1", "n1", "10Gi", "", "Available", "disk: nvme"}) +
            shelf_volume({"v2", "n1", "20Gi"}) + shelf_volume({"v3", "n1", "100Gi"}));
  s.keep({"large", "any", "fast"}, "n1");
  EXPECT_EQ(s.volume_of("fast"), "v1") << "any gave it up";
  EXPECT_EQ(s.volume_of("any"), "v2");
  EXPECT_EQ(s.volume_of("large"), "v3");

  Shelves few(shelf_class() + shelf_claim("a") + shelf_claim("b") + shelf_claim("c") + shelf_volume({"v1"}) +
              shelf_volume({"v2"}));
  few.keep_all({{{"a"}, "n1"}, {{"b", "c"}, "n1"}});
  EXPECT_EQ(few.volume_of("a"), "v1");
  EXPECT_EQ(few.volume_of("b"), "v2");
  EXPECT_EQ(few.volume_of("c"), "");
}

TEST(VolumeChoice, PodsThatShareAClaimNeedAVolumeThatAllCanUse) {
  Shelves s(shelf_class() + shelf_claim("a") + shelf_volume({"v1", "n1"}) + shelf_volume({"v2", "", "20Gi"}));
  s.keep_all({{{"a"}, "n1"}, {{"a"}, "n2"}});
  EXPECT_EQ(s.volume_of("a"), "v2");
}

TEST(VolumeChoice, AVolumeThatNamesTheClaimIsItsOwn) {
  Shelves s(shelf_class() + shelf_claim("a", "10Gi", "", ", uid: u1") + shelf_volume({"v1", "n1"}) +
            shelf_volume({"v2", "n2", "50Gi", for_claim("a", "u1")}));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n2"));
  EXPECT_EQ(s.step("a", "n2"), "time: claim a is being bound to PersistentVolume v2");
  EXPECT_THAT(s.keep({"a"}, "n2"), IsEmpty());
  EXPECT_THAT(s.put(shelf_volume({"v2", "n2", "50Gi", for_claim("a", "u1"), "Bound"})), Contains("default/a"))
      << "the volume is bound before its claim";
  EXPECT_EQ(s.step("a", "n2"), "time: claim a is being bound to PersistentVolume v2");
  s.put(shelf_volume({"v2", "n2", "50Gi", for_claim("a", "another"), "Bound"}));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n1")) << "it was for a former claim of that name";
  s.put(shelf_volume({"v2", "n2", "50Gi", for_claim("a")}));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n2")) << "an administrator gave it to the claim";
  s.put(shelf_volume({"v2", "n2", "5Gi", for_claim("a")}));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n1")) << "it is too small";
}

TEST(VolumeChoice, WhatWasChosenIsGivenUp) {
  const std::string base =
      shelf_class() + shelf_claim("a") + shelf_volume({"v1", "n1"}) + shelf_volume({"v2", "n2"});
  const auto kept = [&] {
    Shelves s(base);
    s.keep({"a"}, "n1");
    EXPECT_EQ(s.volume_of("a"), "v1");
    return s;
  };
  for (const VolumeText& now : std::vector<VolumeText>{
           {"v1", "n1", "10Gi", for_claim("b")}, {"v1", "n1", "10Gi", "", "Released"}, {"v1", "n3"}}) {
    Shelves s = kept();
    EXPECT_THAT(s.put(shelf_volume(now)), Contains("default/a"));
    EXPECT_EQ(s.volume_of("a"), "");
  }
  Shelves removed = kept();
  EXPECT_THAT(removed.book.remove(Kind::kPersistentVolume, "", "v1"), Contains("default/a"));
  EXPECT_EQ(removed.volume_of("a"), "");
  EXPECT_THAT(removed.nodes({"a"}), ElementsAre("n2"));
  Shelves written = kept();
  written.put(shelf_volume({"v1", "n1", "10Gi", for_claim("a")}));
  EXPECT_EQ(written.step("a"), "time: claim a is being bound to PersistentVolume v1");
  Shelves deleted = kept();
  deleted.book.remove(Kind::kPersistentVolumeClaim, "default", "a");
  EXPECT_EQ(deleted.counts("n1"), "StorageClass local 1");
  Shelves another = kept();
  another.put(shelf_claim("a", "10Gi", "", ", uid: new"));
  EXPECT_EQ(another.volume_of("a"), "") << "another claim of that name";
}

TEST(VolumeChoice, ABoundClaimHasItsVolumeBeforeTheVolumeSaysSo) {
  Shelves s(shelf_class() + shelf_claim("a") + shelf_claim("b") + shelf_volume({"v1", "n1"}));
  s.keep({"a"}, "n1");
  s.put(shelf_claim("a", "10Gi", ", volumeName: v1",
                    ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}"));
  EXPECT_EQ(s.step("a"), "none");
  EXPECT_EQ(s.counts("n1"), "StorageClass local 0");
  EXPECT_THAT(s.nodes({"b"}), IsEmpty());
  s.put(shelf_volume({"v1", "n1", "10Gi", for_claim("a"), "Bound"}));
  EXPECT_THAT(s.nodes({"b"}), IsEmpty());
  s.book.remove(Kind::kPersistentVolumeClaim, "default", "a");
  EXPECT_THAT(s.nodes({"b"}), IsEmpty()) << "it is to be released";
}

TEST(VolumeChoice, AClassWithAProvisionerTakesAFreeVolumeFirst) {
  const std::string in_b =
      "allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [n2]}]}]\n";
  Shelves s(shelf_class("disks.example.com", in_b) + shelf_claim("a"));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n2"));
  EXPECT_THAT(s.put(shelf_volume({"v1", "n1"})), Contains("default/a"));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n1", "n2"));
  EXPECT_THAT(s.words("a"),
              ElementsAre("claim a (only on nodes with kubernetes.io/hostname n2), or with a free "
                          "PersistentVolume of local"));
  EXPECT_THAT(s.find({"a"}).attached, ElementsAre(Pair("claim default/a", Attached{"disks.example.com"})));
  s.keep({"a"}, "n1");
  EXPECT_EQ(s.step("a", "n1"), "volume: claim a is to be bound to PersistentVolume v1");
  s.book.release({"default/a"});
  s.keep({"a"}, "n2");
  EXPECT_EQ(s.step("a", "n2"), "node: claim a is to be provisioned for node n2");
  EXPECT_THAT(s.put(shelf_volume({"pv-other", "n3", "10Gi", for_claim("other"), "Bound"})),
              ElementsAre("default/other"))
      << "a volume that is made for another claim concerns no one else";
  s.put(shelf_claim("a", "10Gi", "", ", annotations: {volume.kubernetes.io/selected-node: n2}"));
  EXPECT_THAT(s.nodes({"a"}), ElementsAre("n2")) << "it is being made";
}

// The nodes where it may go stay the same, whichever volume comes or goes: nothing is read again.
TEST(VolumeChoice, AVolumeThatOpensNoNodeConcernsNoClaim) {
  Shelves local(shelf_class() + shelf_claim("a") + shelf_volume({"v1", "n1"}));
  EXPECT_THAT(local.put(shelf_volume({"v2", "n1"})), ElementsAre("*")) << "n1 has one already";
  EXPECT_THAT(local.put(shelf_volume({"v3", "n2"})), Contains("default/a"));
  EXPECT_THAT(local.nodes({"a"}), ElementsAre("n1", "n2"));
  EXPECT_THAT(local.put(shelf_volume({"v4", "n2", "1Gi"})), Contains("default/a")) << "one count more";
  EXPECT_THAT(local.book.remove(Kind::kPersistentVolume, "", "v1"), ElementsAre("*"));
  EXPECT_THAT(local.book.remove(Kind::kPersistentVolume, "", "v2"), Contains("default/a"));
  Shelves anywhere(shelf_class() + shelf_claim("a") + shelf_volume({"v1", ""}));
  EXPECT_THAT(anywhere.put(shelf_volume({"v2", ""})), ElementsAre("*"));
  EXPECT_THAT(anywhere.book.remove(Kind::kPersistentVolume, "", "v1"), ElementsAre("*"));
  EXPECT_THAT(anywhere.book.remove(Kind::kPersistentVolume, "", "v2"), Contains("default/a"));
}

TEST(VolumeChoice, ANodeOnAClaimOfAnAdministratorsClassIsSaid) {
  Shelves s(shelf_class() + shelf_volume({"v1"}) +
            shelf_claim("a", "10Gi", "", ", annotations: {volume.kubernetes.io/selected-node: n1}"));
  EXPECT_THAT(s.words("a"), ElementsAre("waits: claim a names a node for its volume, but its StorageClass "
                                        "local makes none (no provisioner): take "
                                        "the annotation volume.kubernetes.io/selected-node off"));
}

TEST(VolumeChoice, AnEphemeralVolumeOfATemplateIsFoundToo) {
  Shelves s(shelf_class() + shelf_volume({"v1", "n2"}));
  Meta unnamed;
  unnamed.ns = "default";
  const std::vector<ClaimUse> uses{{"v", "", true, "local", 1}};
  const ClaimsFound found = s.book.look_up(uses, unnamed);
  ASSERT_EQ(found.nodes.size(), 1u);
  EXPECT_EQ(found.nodes[0].words,
            "volume v, by the PersistentVolumes of local (only on nodes with kubernetes.io/hostname n2)");
  EXPECT_THAT(found.counted, ElementsAre("StorageClass local"));
}

}  // namespace
}  // namespace berth::dialect
