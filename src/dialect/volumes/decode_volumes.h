// Decoders of PersistentVolumeClaim, PersistentVolume (v1), and of StorageClass, CSINode, CSIDriver, CSIStorageCapacity and VolumeAttachment
// (storage.k8s.io/v1). Included by decode.cc only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dialect/upstream/decode_core.h"
#include "dialect/volumes/objects.h"
#include "dialect/volumes/zones.h"

namespace berth::dialect {

// The older way to name the class of a claim or a volume; Kubernetes reads it first.
inline constexpr std::string_view kOlderClass = "volume.beta.kubernetes.io/storage-class";

template <class V>
PersistentVolumeClaim read_claim(FieldReader<V>& f, const V& object) {
  PersistentVolumeClaim out;
  out.meta = read_meta(f, object, Kind::kPersistentVolumeClaim, false);
  const V annotations = f.map(f.map(object, "metadata"), "annotations");
  const V spec = f.map(object, "spec");
  const V status = f.map(object, "status");
  out.volume = f.string(spec, "volumeName");
  if (spec.find("storageClassName").present()) out.storage_class = f.string(spec, "storageClassName");
  if (annotations.find(kOlderClass).present()) out.storage_class = f.string(annotations, kOlderClass);
  const std::string_view phase = f.string(status, "phase");
  // A manifest may say no more than its phase.
  out.bound = !out.volume.empty() &&
              (annotations.find("pv.kubernetes.io/bind-completed").present() || phase == "Bound");
  out.lost = phase == "Lost";
  out.selected_node = f.string(annotations, "volume.kubernetes.io/selected-node");
  out.version = f.string(f.map(object, "metadata"), "resourceVersion");
  const V requests = f.map(f.map(spec, "resources"), "requests");
  if (const V size = requests.find("storage"); size.present()) out.size = f.amount_of(size, "storage", 1);
  out.needs = read_volume_needs(f, spec);
  return out;
}

// The driver of CSI that serves a volume: its own, or the one that took its older kind over.
template <class V>
std::string read_driver(FieldReader<V>& f, const V& spec) {
  static constexpr std::pair<std::string_view, std::string_view> kTakenOver[] = {
      {"awsElasticBlockStore", "ebs.csi.aws.com"},
      {"azureDisk", "disk.csi.azure.com"},
      {"azureFile", "file.csi.azure.com"},
      {"cinder", "cinder.csi.openstack.org"},
      {"gcePersistentDisk", "pd.csi.storage.gke.io"},
      {"portworxVolume", "pxd.portworx.com"},
      {"vsphereVolume", "csi.vsphere.vmware.com"},
  };
  for (const auto& [kind, driver] : kTakenOver) {
    if (spec.find(kind).present()) return std::string(driver);
  }
  return std::string(f.string(f.map(spec, "csi"), "driver"));
}

// Whether a claim may still have it, and which claim it is for.
template <class V>
void read_availability(FieldReader<V>& f, const V& object, PersistentVolume& out) {
  const V metadata = f.map(object, "metadata");
  const V spec = f.map(object, "spec");
  const V annotations = f.map(metadata, "annotations");
  const bool has_older = annotations.find(kOlderClass).present();
  out.storage_class = has_older ? f.string(annotations, kOlderClass) : f.string(spec, "storageClassName");
  if (const V size = f.map(spec, "capacity").find("storage"); size.present())
    out.size = f.amount_of(size, "storage", 1);
  out.modes = read_access_modes(f, spec);
  out.block = f.string(spec, "volumeMode") == "Block";
  out.attributes = f.string(spec, "volumeAttributesClassName");
  out.version = f.string(metadata, "resourceVersion");
  const std::string_view phase = f.string(f.map(object, "status"), "phase");
  out.available = phase.empty() || phase == "Available";
  if (out.available) out.labels = f.labels(metadata, "labels", Entry::kLabel);
  const V claim = f.map(spec, "claimRef");
  if (const std::string_view name = f.string(claim, "name"); !name.empty()) {
    out.claim = fmt::format("{}/{}", f.string(claim, "namespace"), name);
    out.claim_uid = f.string(claim, "uid");
  }
}

template <class V>
PersistentVolume read_volume(FieldReader<V>& f, const V& object) {
  PersistentVolume out;
  out.meta = read_meta(f, object, Kind::kPersistentVolume, false);
  out.meta.labels.clear();
  const V labels = f.map(f.map(object, "metadata"), "labels");
  for (const std::string_view key : kZoneLabels) {
    if (labels.find(key).present()) out.meta.labels.emplace(key, f.string(labels, key));
  }
  const V spec = f.map(object, "spec");
  out.driver = read_driver(f, spec);
  out.handle = f.string(f.map(spec, "csi"), "volumeHandle");
  read_availability(f, object, out);
  const V required = f.map(f.map(spec, "nodeAffinity"), "required");
  if (!required.present()) return out;
  auto& terms = out.nodes.emplace();
  f.list(required, "nodeSelectorTerms", [&](const V& term) {
    if (f.takes(Entry::kTerm, required, "nodeSelectorTerms")) terms.push_back(read_node_term(f, term));
  });
  return out;
}

template <class V>
StorageClass read_storage_class(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, bool> kModes[] = {{"Immediate", false},
                                                                 {"WaitForFirstConsumer", true}};
  StorageClass out;
  out.meta = read_meta(f, object, Kind::kStorageClass, false);
  out.waits = f.choice(object, "volumeBindingMode", kModes, false);
  const V annotations = f.map(f.map(object, "metadata"), "annotations");
  for (const std::string_view key :
       {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"})
    out.is_default = out.is_default || f.string(annotations, key) == "true";
  out.provisioner = f.string(object, "provisioner");
  f.list(object, "allowedTopologies", [&](const V& term) {
    if (!f.takes(Entry::kTerm, object, "allowedTopologies")) return;
    if (!out.topologies) out.topologies.emplace();
    SelectorTerm& nodes = out.topologies->emplace_back();
    f.list(term, "matchLabelExpressions", [&](const V& one) {
      if (!f.takes(Entry::kRequirement, term, "matchLabelExpressions")) return;
      nodes.labels.push_back({std::string(f.string(one, "key")), SelectorOp::kIn, f.values(one, "values")});
    });
  });
  return out;
}

template <class V>
CsiDriver read_csi_driver(FieldReader<V>& f, const V& object) {
  CsiDriver out;
  out.meta = read_meta(f, object, Kind::kCsiDriver, false);
  const V spec = f.map(object, "spec");
  out.tells_capacity = f.boolean(spec, "storageCapacity", false);
  out.must_be_there = f.boolean(spec, "preventPodSchedulingIfMissing", false);
  return out;
}

template <class V>
CsiStorageCapacity read_storage_capacity(FieldReader<V>& f, const V& object) {
  CsiStorageCapacity out;
  out.meta = read_meta(f, object, Kind::kCsiStorageCapacity, false);
  out.storage_class = f.string(object, "storageClassName");
  out.nodes = read_label_selector(f, object, "nodeTopology");
  for (const std::string_view key : {"capacity", "maximumVolumeSize"}) {
    if (const V size = object.find(key); size.present()) out.most = f.amount_of(size, key, 1);
  }
  return out;
}

template <class V>
CsiNode read_csi_node(FieldReader<V>& f, const V& object) {
  constexpr std::int64_t kMost = 2147483647;
  CsiNode out;
  out.meta = read_meta(f, object, Kind::kCsiNode, false);
  const V spec = f.map(object, "spec");
  f.list(spec, "drivers", [&](const V& driver) {
    if (!f.takes(Entry::kResource, spec, "drivers")) return;
    const V allocatable = f.map(driver, "allocatable");
    const std::string name(f.string(driver, "name"));
    if (allocatable.find("count").present())
      out.limits.set(name, f.integer(allocatable, "count", 0, 0, kMost));
    out.drivers.insert(name);
  });
  return out;
}

template <class V>
VolumeAttachment read_attachment(FieldReader<V>& f, const V& object) {
  VolumeAttachment out;
  out.meta = read_meta(f, object, Kind::kVolumeAttachment, false);
  const V spec = f.map(object, "spec");
  out.driver = f.string(spec, "attacher");
  out.node = f.string(spec, "nodeName");
  out.volume = f.string(f.map(spec, "source"), "persistentVolumeName");
  return out;
}

}  // namespace berth::dialect
