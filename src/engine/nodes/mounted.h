// Volumes that several pods may mount (model/labels.h, SharedVolume), by node. Such a volume takes one place of its driver on a node, however
// many pods there mount it. So a pod asks for places only for those of its volumes that no other pod there has.
//
// The pods that mount each volume are counted per node, on both planes. The places themselves stand in the account of the driver's volumes
// (nodes/nodes.h): it has one place for each volume with a pod on that plane. Pods come and go in any order; the places are a function of
// the pods that are there.
//
// One pod never makes room for another: if the second fits behind the first, it fits without it. The volumes of both are within the limit
// then. On a node above its limit nothing fits that has volumes of the driver.
//
// Work without such volumes costs nothing here. Each function: O(volumes of the node x volumes that are asked for), but keep_only():
// O(volumes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/base/keyed.h"
#include "engine/base/plane.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

class Mounted {
 public:
  struct Held {
    VolumeId volume;
    std::array<std::int32_t, 2> pods{};  // by plane
  };

  // Equal names of one driver are one volume, until keep_only() drops it. `places`: the resource of the driver's volumes.
  VolumeId intern(ResourceId places, const std::string& name);
  ResourceId places_of(VolumeId volume) const { return places_[volume]; }

  // One more pod on the node mounts the volume (sign +1), or one less (-1). How the places change on each plane: 1, 0 or -1.
  std::array<std::int64_t, 2> charge(NodeId node, VolumeId volume, PlaneMask planes, int sign);

  // How many pods on the node mount it.
  std::int64_t pods(NodeId node, VolumeId volume, Plane plane) const;
  // How many of these volumes take a place of this resource, and no pod on the node mounts them.
  std::int64_t missing(NodeId node, std::span<const VolumeId> volumes, ResourceId places, Plane plane) const;
  // By number; none with zero pods on both planes.
  std::span<const Held> on(NodeId node) const;

  // Drops the volumes that are not marked, by number, and have no pods. A dropped number is given again.
  void keep_only(std::vector<bool> marked);
  std::size_t size() const { return places_.size(); }

 private:
  Keyed<ResourceId, VolumeId> places_;                  // by driver and name
  std::unordered_map<NodeId, std::vector<Held>> held_;  // looked up, never iterated but to mark
  std::vector<std::string> keys_;                       // by number; "": it is dropped
};

// Calls f(places, volumes) for each driver of these volumes: its resource, and how many of them are its.
template <class F>
void each_driver(const Mounted& mounted, std::span<const VolumeId> volumes, F&& f) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const ResourceId places = mounted.places_of(volumes[i]);
    std::int64_t of_it = 0;
    bool is_first = true;
    for (std::size_t k = 0; k < volumes.size(); ++k) {
      if (mounted.places_of(volumes[k]) != places) continue;
      is_first = is_first && k >= i;
      ++of_it;
    }
    if (is_first) f(places, of_it);
  }
}

}  // namespace berth::engine
