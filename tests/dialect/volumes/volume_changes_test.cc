// Random changes of claims, volumes and classes. Each change names every claim for which something is another than before, and every
// node whose counts are. The book says the same, whichever way led to its objects.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "dialect/dialect_support.h"
#include "dialect/volumes/volume_book.h"
#include "dialect/volumes/volume_nodes.h"
#include "dialect/volumes/volumes_support.h"

namespace berth::dialect {
namespace {

constexpr int kClaims = 6, kVolumes = 8, kNodes = 3;

class Changes {
 public:
  explicit Changes(std::uint64_t seed) : random_(seed) {}

  // One change, and its name.
  std::string step() {
    const auto before = found();
    const auto counts = all_counts();
    const auto [name, keys] = change();
    const std::set<std::string> told(keys.begin(), keys.end());
    for (const auto& [claim, now] : found()) {
      EXPECT_TRUE(now == before.at(claim) || told.contains("default/" + claim))
          << name << " changes " << claim << ": " << before.at(claim) << " -> " << now;
    }
    const auto places = book_.take_changed_places();
    for (const auto& [node, now] : all_counts()) {
      const bool is_told =
          std::any_of(places.begin(), places.end(),
                      [&, &of = node](const std::string& place) { return place.ends_with(of); });
      EXPECT_TRUE(now == counts.at(node) || is_told) << name << " changes " << node;
    }
    return name;
  }
  // The same objects in another book say the same, but for choices.
  void compare() {
    std::set<std::string> chosen;
    for (int i = 0; i < kClaims; ++i) chosen.insert(fmt::format("default/c{}", i));
    (void)book_.release(chosen);
    VolumeBook fresh;
    for (const auto& [name, yaml] : objects_) testing::put(fresh, yaml);
    for (const std::string& claim : shared_) (void)fresh.set_shared(claim, true);
    EXPECT_EQ(found_in(fresh), found());
    EXPECT_EQ(counts_in(fresh), all_counts());
  }

 private:
  using Said = std::map<std::string, std::string>;

  std::int64_t some(std::int64_t most) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most)));
  }
  bool often(int percent) { return some(100) < percent; }
  static Labels labels_of(const std::string& node) {
    return {{"kubernetes.io/hostname", node}, {"zone", node == "n0" ? "a" : "b"}};
  }
  static std::vector<ClaimUse> mount(const std::string& claim) { return {{"v", claim, false}}; }
  static Meta pod() {
    Meta out;
    out.ns = "default";
    out.name = "p";
    out.uid = "Pod/default/p";
    return out;
  }
  static std::string text_of(const ClaimsFound& found) {
    std::string out = found.waits;
    for (const VolumeNodes& nodes : found.nodes) {
      out += "; " + nodes.words;
      for (int i = 0; i < kNodes; ++i) {
        const std::string node = fmt::format("n{}", i);
        out += any_matches(nodes.nodes, labels_of(node), node) ? " +" : " -";
      }
    }
    for (const std::string& count : found.counted) out += "; " + count;
    for (const std::string& claim : found.together) out += "; together " + claim;
    for (const auto& [volume, attached] : found.attached)
      out += "; " + volume + " " + attached.driver + (attached.shared ? " shared" : "");
    return out;
  }
  static Said found_in(const VolumeBook& book) {
    Said out;
    for (int i = 0; i < kClaims; ++i) {
      const std::string claim = fmt::format("c{}", i);
      out[claim] = text_of(book.look_up(mount(claim), pod()));
    }
    return out;
  }
  static Said counts_in(const VolumeBook& book) {
    Said out;
    for (int i = 0; i < kNodes; ++i) {
      const std::string node = fmt::format("n{}", i);
      out[node] = book.available().counts_at(places_of(node, labels_of(node))).str();
    }
    return out;
  }
  Said found() const { return found_in(book_); }
  Said all_counts() const { return counts_in(book_); }

  std::string class_yaml(const std::string& name) {
    return fmt::format(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {}{}}}\nprovisioner: {}\n"
        "volumeBindingMode: {}\n{}",
        name, often(20) ? ", annotations: {storageclass.kubernetes.io/is-default-class: 'true'}" : "",
        often(70) ? "kubernetes.io/no-provisioner" : "made.example.com",
        often(90) ? "WaitForFirstConsumer" : "Immediate",
        often(30) ? "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]\n" : "");
  }
  std::string klass() { return often(80) ? "x" : "y"; }
  std::string claim_yaml(const std::string& name) {
    std::string meta, spec = often(90) ? fmt::format(", storageClassName: {}", klass()) : "";
    if (often(20)) meta = fmt::format(", uid: u{}", some(2));
    if (often(15)) {
      spec += fmt::format(", volumeName: v{}", some(kVolumes));
      if (often(70)) meta += ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}";
    } else if (often(10)) {
      meta += ", annotations: {volume.kubernetes.io/selected-node: n1}";
    }
    if (often(5)) meta += ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    if (often(20)) spec += ", selector: {matchLabels: {grade: a}}";
    if (often(15)) spec += ", volumeMode: Block";
    return fmt::format(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {}{}}}\nspec: {{accessModes: [{}], "
        "resources: {{requests: {{storage: {}}}}}{}}}\n",
        name, meta, often(85) ? "ReadWriteOnce" : "ReadWriteMany", some(4), spec);
  }
  std::string volume_yaml(const std::string& name) {
    std::string spec, meta;
    const std::int64_t where = some(20);
    if (where < 14) {
      spec = fmt::format(
          ", nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: "
          "kubernetes.io/hostname, operator: In, values: [n{}]}}]}}]}}}}",
          some(kNodes));
    } else if (where < 17) {
      spec = fmt::format(
          ", nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: "
          "In, values: [n{}]}}]}}]}}}}",
          some(kNodes));
    } else if (where < 18) {
      spec =
          ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, "
          "values: [a]}]}]}}";
    }
    if (often(20)) spec += ", volumeMode: Block";
    if (often(15)) spec += ", csi: {driver: disks.example.com}";
    if (often(20)) {
      spec += fmt::format(", claimRef: {{namespace: default, name: c{}{}}}", some(kClaims),
                          often(50) ? fmt::format(", uid: u{}", some(2)) : "");
    }
    if (often(30)) meta = ", labels: {grade: a}";
    if (often(5)) meta += ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    return fmt::format(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {}{}}}\nspec: {{storageClassName: {}, "
        "accessModes: [ReadWriteOnce{}], capacity: {{storage: {}}}{}}}\nstatus: {{phase: {}}}\n",
        name, meta, klass(), often(80) ? "" : ", ReadWriteMany", 1 + some(3), spec,
        often(80) ? "Available" : "Bound");
  }

  std::pair<std::string, VolumeBook::Keys> change() {
    const std::int64_t which = some(100);
    const std::string claim = fmt::format("c{}", some(kClaims));
    const std::string volume = fmt::format("v{}", some(kVolumes));
    if (which < 25) return set("claim", claim, claim_yaml(claim));
    if (which < 55) return set("volume", volume, volume_yaml(volume));
    if (which < 60) {
      const std::string name = klass();
      return set("class", name, class_yaml(name));
    }
    if (which < 66) {
      objects_.erase("claim " + claim);
      return {"no claim " + claim, book_.remove(Kind::kPersistentVolumeClaim, "default", claim)};
    }
    if (which < 72) {
      objects_.erase("volume " + volume);
      return {"no volume " + volume, book_.remove(Kind::kPersistentVolume, "", volume)};
    }
    if (which < 73) {
      objects_.erase("class x");
      return {"no class x", book_.remove(Kind::kStorageClass, "", "x")};
    }
    if (which < 78) {
      const bool shared = often(50);
      shared ? (void)shared_.insert("default/" + claim) : (void)shared_.erase("default/" + claim);
      return {"shared " + claim, book_.set_shared("default/" + claim, shared)};
    }
    if (which < 84) return {"release " + claim, book_.release({"default/" + claim})};
    const std::string node = fmt::format("n{}", some(kNodes)), other = fmt::format("c{}", some(kClaims));
    const Labels labels = labels_of(node);
    const std::vector<ClaimUse> first = mount(claim), second = mount(other);
    const Meta of = pod();
    return {fmt::format("keep {} and {} on {}", claim, other, node),
            book_.keep({{&first, &of, node, &labels}, {&second, &of, node, &labels}})};
  }
  std::pair<std::string, VolumeBook::Keys> set(const std::string& kind, const std::string& name,
                                               const std::string& yaml) {
    objects_[kind + " " + name] = yaml;
    return {yaml, testing::put(book_, yaml)};
  }

  Random random_;
  VolumeBook book_;
  std::map<std::string, std::string> objects_;
  std::set<std::string> shared_;
};

TEST(VolumeChanges, NameAllThatTheyConcern) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Changes changes(seed);
    for (int i = 0; i < 150; ++i) {
      const std::string name = changes.step();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", change " << i << ": " << name;
    }
    changes.compare();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::dialect
