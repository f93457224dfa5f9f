// How many volumes the drivers of a node attach, and the volumes that stay attached without a pod there that is known to mount them. They
// count against the limits still, and the engine sees each as a foreign pod. Private to the intake.
//
// Kubernetes attaches a volume after the bind of its pod, and detaches it after the pod is gone. A volume that stands in a pod has no
// name here: its attachment counts as long as it is there.
// Cost: O(log n) for each volume of a pod, and for each attachment.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/volumes/objects.h"
#include "model/event.h"

namespace berth::dialect {

class AttachBook {
 public:
  // By driver; none: it has no limits.
  ResourceList limits(std::string_view node) const;
  void set_limits(const std::string& node, const ResourceList& limits);
  void put(VolumeAttachment&& attachment);
  void remove(std::string_view name);
  // The PersistentVolumes that a pod, by its index, has on its node. None: it has none there, or is gone.
  void set_pod(std::uint32_t ix, const std::string& node, const std::vector<std::string>& volumes);
  // Appends what has changed since the last call.
  void drain(std::vector<Event>& out);

 private:
  using Place = std::pair<std::string, std::string>;  // node and volume
  struct Use {
    std::int64_t pods = 0;
    std::set<std::string> attachments;
  };

  static Place place_of(const VolumeAttachment& attachment) { return {attachment.node, attachment.volume}; }
  void count_pods(const Place& place, std::int64_t delta);
  void forget_empty(const Place& place);

  std::map<std::string, ResourceList, std::less<>> limits_;  // by node
  std::map<std::string, VolumeAttachment, std::less<>> attachments_;
  std::map<Place, Use> uses_;
  std::map<std::uint32_t, std::vector<Place>> by_pod_;
  std::set<std::string> changed_;  // attachments
  std::set<std::string> told_;     // those that the engine sees
};

}  // namespace berth::dialect
