// Claims for volumes, volumes and their classes, as values: what placement needs of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
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
  bool single_pod = false;                   // ReadWriteOncePod: one pod at a time may use it
};

struct PersistentVolume {
  static constexpr Kind kKind = Kind::kPersistentVolume;
  Meta meta;                                       // with the labels of its zones and regions alone
  std::optional<std::vector<SelectorTerm>> nodes;  // on which it can be used; none: on all
  std::string driver;                              // of CSI; "": it is of another kind
};

struct StorageClass {
  static constexpr Kind kKind = Kind::kStorageClass;
  Meta meta;
  bool waits = false;       // WaitForFirstConsumer: a volume is chosen when a pod has its node
  bool is_default = false;  // of claims that name no class
};

// The drivers on a node, as they told its kubelet.
struct CsiNode {
  static constexpr Kind kKind = Kind::kCsiNode;
  Meta meta;            // with the name of the node
  ResourceList limits;  // the most volumes that it attaches, by driver; one without a limit is not here
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
