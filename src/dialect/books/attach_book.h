// How many volumes the drivers of a node attach, and the volumes that stay attached without a pod there that is known to mount them. They
// count against the limits still, and the engine sees each as a foreign pod. Private to the intake.
//
// A volume counts once on its node, however many pods there mount it. The engine knows that of claims that several pods mount
// (PodTemplate::mounts). A volume that pods have by claims of their own it charges to each of them. So the limit that it is told is higher
// by what it charges too often. For each such volume these are the pods that stay there; less one, if no pod there has it by a shared
// claim. Pods that are ending do not raise it. The engine charges them until they are gone, and expects their room then.
//
// A volume goes by its name (VolumeBook::name_of). Kubernetes attaches it after the bind of its pod, and detaches it after the pod is gone. A
// volume that stands in a pod has no name here: its attachment counts as long as it is there.
// Cost: O(log n) for each volume of a pod, and for each attachment.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/volumes/claim_step.h"
#include "dialect/volumes/objects.h"
#include "model/event.h"

namespace berth::dialect {

class AttachBook {
 public:
  // The volumes that a pod has on its node.
  struct Mounts {
    std::string node;
    std::map<std::string, Attached> volumes;  // by their names
    bool ending = false;
    bool operator==(const Mounts&) const = default;
  };

  // The most that the engine may charge, by driver; none: it has no limits. 0 for a driver that must be there and is not.
  ResourceList limits(std::string_view node) const;
  // The drivers of a node, and the limits of those that have one.
  void set_limits(const std::string& node, const ResourceList& limits, std::set<std::string> drivers);
  // Whether a node must list the driver before it takes a pod with its volumes. True: that was not so before.
  bool set_must_be_there(const std::string& driver, bool must);
  // `volume`: the name of its volume.
  void put(VolumeAttachment&& attachment, const std::string& volume);
  void remove(std::string_view name);
  // A PersistentVolume has this name from now on.
  void rename(std::string_view persistent_volume, const std::string& volume);
  // A pod by its index. Without volumes: it has none on a node, or is gone.
  void set_pod(std::uint32_t ix, Mounts mounts);
  // Appends what has changed since the last call.
  void drain(std::vector<Event>& out);
  // Nodes whose limits may be others than at the last call.
  std::set<std::string> take_changed_nodes() { return std::exchange(changed_nodes_, {}); }

 private:
  using Place = std::pair<std::string, std::string>;  // node and volume
  struct Use {
    std::int64_t pods = 0;
    std::int64_t staying = 0;  // of them, by a claim of its own
    std::int64_t sharing = 0;  // of them, by a shared claim; they stay
    std::set<std::string> attachments;
  };
  using Told = std::pair<std::string, std::string>;  // node and driver
  struct Known {
    VolumeAttachment attachment;
    Place place;
  };

  static std::int64_t too_many(const Use& use);
  void place(const std::string& name, bool in);
  void count_pod(const Mounts& mounts, std::int64_t delta);
  void forget_empty(const Place& place);

  std::map<std::string, ResourceList, std::less<>> limits_;            // by node
  std::map<std::string, std::set<std::string>, std::less<>> drivers_;  // by node
  std::set<std::string> must_be_there_;                                // drivers
  std::map<std::string, ResourceList, std::less<>> too_many_;          // charges, by node and driver
  std::map<std::string, Known, std::less<>> attachments_;
  std::map<std::string, std::set<std::string>, std::less<>> attachments_of_;  // by PersistentVolume
  std::map<Place, Use> uses_;
  std::map<std::uint32_t, Mounts> by_pod_;
  std::set<std::string> changed_;  // attachments
  std::set<std::string> changed_nodes_;
  std::map<std::string, Told> told_;  // attachments that the engine sees
};

}  // namespace berth::dialect
