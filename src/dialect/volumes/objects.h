// Claims for volumes, volumes, their classes and drivers, as values: what placement needs of them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "dialect/upstream/objects.h"
#include "model/labels.h"
#include "model/resources.h"

namespace berth::dialect {

struct PersistentVolumeClaim {
  static constexpr Kind kKind = Kind::kPersistentVolumeClaim;
  Meta meta;                                 // the controller of an ephemeral one is its pod
  std::string volume;                        // that it is, or is to be, bound to; "" = none
  std::optional<std::string> storage_class;  // none: that of the cluster; "": without a class
  bool bound = false;                        // Kubernetes has completed that
  bool lost = false;                         // its volume is gone
  std::string selected_node;                 // for which its volume is to be made; "": it waits for a pod
  std::int64_t size = 0;                     // bytes that it asks for; 0: it does not say
  VolumeNeeds needs;
  std::string version;  // resourceVersion; "": of a manifest

  // One pod at a time may use it.
  bool is_for_one_pod() const { return (needs.modes & kReadWriteOncePod) != 0; }
};

struct PersistentVolume {
  static constexpr Kind kKind = Kind::kPersistentVolume;
  Meta meta;                                       // with the labels of its zones and regions alone
  std::optional<std::vector<SelectorTerm>> nodes;  // on which it can be used; none: on all
  std::string driver;                              // of CSI; "": it is of another kind
  std::string handle;                              // its name for that driver; "": it is of another kind
  std::string storage_class;
  std::int64_t size = 0;   // bytes
  std::uint8_t modes = 0;  // AccessMode
  bool block = false;      // volumeMode Block
  std::string attributes;  // volumeAttributesClassName
  bool available = false;  // its phase is, or a manifest does not say
  Labels labels;           // all that it has, while it is available
  std::string claim;       // namespace/name of the claim that it is for (claimRef); "": none
  std::string claim_uid;   // "": any claim of that name
  std::string version;     // as of a claim
};

struct StorageClass {
  static constexpr Kind kKind = Kind::kStorageClass;
  Meta meta;
  bool waits = false;       // WaitForFirstConsumer: a volume is chosen when a pod has its node
  bool is_default = false;  // of claims that name no class
  std::string provisioner;  // makes its volumes
  std::optional<std::vector<SelectorTerm>>
      topologies;  // where it may make them (allowedTopologies); none: everywhere
};

// A driver of CSI, as its vendor declares it.
struct CsiDriver {
  static constexpr Kind kKind = Kind::kCsiDriver;
  Meta meta;                    // with the name of the provisioner
  bool tells_capacity = false;  // in CsiStorageCapacity objects: without one it makes no volume
  bool must_be_there =
      false;  // a node that does not list it takes no pod with its volumes (since Kubernetes 1.37)
};

// How large a volume of a class can be, on some nodes.
struct CsiStorageCapacity {
  static constexpr Kind kKind = Kind::kCsiStorageCapacity;
  Meta meta;
  std::string storage_class;
  LabelSelector nodes;
  std::int64_t most = 0;  // bytes of one volume; 0: nothing is known
  bool operator==(const CsiStorageCapacity&) const = default;
};

// The drivers on a node, as they told its kubelet.
struct CsiNode {
  static constexpr Kind kKind = Kind::kCsiNode;
  Meta meta;            // with the name of the node
  ResourceList limits;  // the most volumes that it attaches, by driver; one without a limit is not here
  std::set<std::string> drivers;  // all of them
};

// A volume that is attached to a node, or is to be, or is being detached.
struct VolumeAttachment {
  static constexpr Kind kKind = Kind::kVolumeAttachment;
  Meta meta;
  std::string driver;
  std::string node;
  std::string volume;  // PersistentVolume; "": it stands in a pod
};

}  // namespace berth::dialect
