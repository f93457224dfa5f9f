// Decoders of metadata and of selectors. Templates over the feed (value.h); included by decoders only.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/base/fields.h"
#include "dialect/base/foreign_marks.h"
#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "dialect/base/names.h"

namespace berth::dialect {

// Keys of pods, PodGroups and owners of pods that Berth reads.
inline bool is_read_key(std::string_view key) {
  return find_foreign(MarkPlace::kKey, key) != nullptr || key.starts_with(kBerthPrefix) ||
         key.starts_with("kueue.x-k8s.io/") || key.starts_with("scheduling.x-k8s.io/") ||
         key.starts_with(kOlderPodGroupLabel) || key == kVolcanoQueueName || key == kKaiQueueName ||
         key == kOlderKaiQueueName || key == kVolcanoGroupName || key == kVolcanoPreemptable ||
         key == kKaiGroupName || key == kKaiSubgroup || key == kKaiStalenessGraceMark ||
         key == kKaiStaleSince || key == kKaiPreemptionDelay || key == kJobIndex || key == kMirrorPod ||
         key == kKoordinatorGang || key == kKoordinatorLeast || key == kKoordinatorTotal ||
         key == kKoordinatorGroups || key == kKoordinatorQuota || key == kYuniKornApp ||
         key == kOlderYuniKornApp || key == kSparkApp || key == kYuniKornQueue ||
         key == kOlderYuniKornQueue || key == kYuniKornGroup || key == kYuniKornGroups ||
         key == kYuniKornParameters || key.starts_with(kProvisioningParameter);
}

// For a bound pod these name its queue, its devices and its owner. They are few, so no bound hides them: a tenant could push them
// out of it with others.
inline bool is_of_charge(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      kChargedTo,        kDevices,           kGpuMilli,           kGpuResource,        kBerthQueue,
      kKueueQueue,       kVolcanoQueueName,  kKaiQueueName,       kOlderKaiQueueName,  kGang,
      kGangSize,         kPodGroupLabel,     kOlderPodGroupLabel, kOldestPodGroupName, kOldestPodGroupSize,
      kKueuePodGroup,    kKueuePodGroupSize, kKueuePrebuilt,      kJobIndex,           kMirrorPod,
      kVolcanoGroupName, kVolcanoTask,       kVolcanoPreemptable, kKaiGroupName,       kKaiSubgroup,
      kKoordinatorGang,  kKoordinatorLeast,  kKoordinatorGroups,  kKoordinatorQuota,   kYuniKornApp,
      kOlderYuniKornApp, kSparkApp,          kYuniKornQueue,      kOlderYuniKornQueue, kYuniKornGroup,
      kYuniKornGroups,   kYuniKornParameters};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys) ||
         key == kYuniKornPlaceholder || key == kOlderYuniKornPlaceholder;
}

template <class V>
Labels read_marks(FieldReader<V>& f, const V& meta, std::string_view key) {
  Labels out;
  f.map(meta, key).each_entry([&](std::string_view name, const V& value) {
    if (!is_read_key(name) || (!is_of_charge(name) && !f.takes(Entry::kMark, meta, key))) return;
    const std::string_view text = f.string_of(value, name);
    if (text.size() <= bound_of(Entry::kMarkText).most) {
      out.emplace(name, text);
    } else {
      f.error(value, name,
              fmt::format("Berth reads no more than {} {}", bound_of(Entry::kMarkText).most,
                          bound_of(Entry::kMarkText).what));
    }
  });
  return out;
}

// The controller of a pod. A kind that Berth reads of another group only is another kind: a Job of Volcano is no Job of Kubernetes.
template <class V>
Owner read_owner(FieldReader<V>& f, const V& owner) {
  Owner out{std::string(f.string(owner, "kind")), std::string(f.string(owner, "name")),
            std::string(f.string(owner, "uid"))};
  const std::string_view version = f.string(owner, "apiVersion");
  const auto slash = version.find('/');
  if (slash == std::string_view::npos) return out;
  const std::string_view group = version.substr(0, slash);
  if (group == "batch" || group == "apps")
    return out;  // no other group of Kubernetes' own has controllers of pods
  out.group = group;
  const auto has_word = [&](const KindInfo& row) { return row.word == out.kind; };
  const auto is_row = [&](const KindInfo& row) { return has_word(row) && row.group == group; };
  if (std::any_of(kinds().begin(), kinds().end(), has_word) &&
      std::none_of(kinds().begin(), kinds().end(), is_row))
    out.kind = fmt::format("{}.{}", out.kind, group);
  return out;
}

template <class V>
Meta read_meta(FieldReader<V>& f, const V& object, Kind kind, bool whole_labels) {
  Meta m;
  const V meta = f.map(object, "metadata");
  m.name = f.string(meta, "name");
  if (m.name.empty()) {
    m.generate_name = std::string(f.string(meta, "generateName"));
    if (m.generate_name.empty()) {
      f.error(meta.present() ? meta : object, meta.present() ? "name" : "metadata",
              meta.present() ? "is required (or generateName)" : "name is required (or generateName)");
    }
  }
  if (is_namespaced(kind)) {
    m.ns = f.string(meta, "namespace");
    if (m.ns.empty()) m.ns = f.home();
  }
  m.uid = f.string(meta, "uid");
  if (m.uid.empty() && !m.name.empty()) m.uid = manifest_uid(kind, m.ns, m.name);
  m.created = f.time(meta, "creationTimestamp");
  m.deleting = meta.find("deletionTimestamp").present();
  f.list(meta, "ownerReferences", [&](const V& owner) {
    if (f.boolean(owner, "controller", false)) m.controller = read_owner(f, owner);
  });
  if (whole_labels) {
    m.labels = f.labels(meta, "labels");
  } else {
    m.labels = read_marks(f, meta, "labels");
    m.annotations = read_marks(f, meta, "annotations");
  }
  return m;
}

template <class V>
LabelSelector read_label_selector(FieldReader<V>& f, const V& object, std::string_view key) {
  LabelSelector out;
  const V selector = f.map(object, key);
  out.nothing = !selector.present();
  if (out.nothing) return out;
  out.requirements = read_requirements(f, selector, "matchExpressions");
  f.map(selector, "matchLabels").each_entry([&](std::string_view name, const V& value) {
    const std::string_view text = f.string_of(value, name);
    if (f.takes(Entry::kRequirement, selector, "matchLabels") &&
        f.takes(Entry::kText, selector, "matchLabels", name.size() + text.size()))
      out.requirements.push_back(Requirement{std::string(name), SelectorOp::kIn, {std::string(text)}});
  });
  return out;
}

}  // namespace berth::dialect
