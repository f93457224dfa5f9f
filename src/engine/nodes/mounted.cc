#include "engine/nodes/mounted.h"

#include <algorithm>

#include "base/digest.h"

namespace berth::engine {

VolumeId Mounted::intern(ResourceId places, const std::string& name) {
  std::string key;
  put_all(key, places.value, '/', name);
  if (const auto known = places_.find(key)) return *known;
  const VolumeId id = places_.add(key);
  places_[id] = places;
  if (id.index() >= keys_.size()) keys_.resize(id.index() + 1);
  keys_[id.index()] = std::move(key);
  return id;
}

std::array<std::int64_t, 2> Mounted::charge(NodeId node, VolumeId volume, PlaneMask planes, int sign) {
  auto& held = held_[node];
  auto at = std::lower_bound(held.begin(), held.end(), volume,
                             [](const Held& h, VolumeId wanted) { return h.volume < wanted; });
  if (at == held.end() || at->volume != volume) at = held.insert(at, Held{volume, {}});
  std::array<std::int64_t, 2> out{};
  for (const Plane plane : {kNow, kAfter}) {
    if ((planes & (1u << plane)) == 0) continue;
    const bool had = at->pods[plane] > 0;
    at->pods[plane] += sign;
    out[plane] = (at->pods[plane] > 0 ? 1 : 0) - (had ? 1 : 0);
  }
  if (at->pods == std::array<std::int32_t, 2>{}) held.erase(at);
  if (held.empty()) held_.erase(node);
  return out;
}

std::span<const Mounted::Held> Mounted::on(NodeId node) const {
  const auto found = held_.find(node);
  if (found == held_.end()) return {};
  return found->second;
}

std::int64_t Mounted::pods(NodeId node, VolumeId volume, Plane plane) const {
  for (const Held& held : on(node)) {
    if (held.volume == volume) return held.pods[plane];
  }
  return 0;
}

std::int64_t Mounted::missing(NodeId node, std::span<const VolumeId> volumes, ResourceId places,
                              Plane plane) const {
  return std::count_if(volumes.begin(), volumes.end(), [&](VolumeId volume) {
    return places_[volume] == places && pods(node, volume, plane) == 0;
  });
}

void Mounted::keep_only(std::vector<bool> marked) {
  marked.resize(places_.size(), false);
  for (const auto& [node, all] : held_) {
    for (const Held& held : all) marked[held.volume.index()] = true;
  }
  for (std::size_t i = places_.size(); i-- > 0;) {
    if (marked[i] || keys_[i].empty()) continue;
    places_.erase(keys_[i], VolumeId(i));
    keys_[i].clear();
  }
}

}  // namespace berth::engine
