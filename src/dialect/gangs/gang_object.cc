#include "dialect/gangs/gang_object.h"

#include <algorithm>

namespace berth::dialect {

std::string GangSplit::part_of(const Labels& labels) const {
  if (keys.empty() || !selector.matches(labels)) return {};
  std::string out = name + ":";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto it = labels.find(keys[i]);
    if (it == labels.end() || it->second.empty()) return {};
    if (i > 0) out += ",";
    out += it->second;
  }
  return out;
}

bool GangSplit::has(std::string_view part) const {
  return part.starts_with(name) && part.substr(name.size()).starts_with(':');
}

const GangSplit* GangObject::split_of(std::string_view part) const {
  for (const GangSplit& split : splits) {
    if (split.has(part)) return &split;
  }
  return nullptr;
}

const GangPart* GangObject::part_named(std::string_view name) const {
  const auto it = std::find_if(parts.begin(), parts.end(), [&](const GangPart& p) { return p.name == name; });
  return it == parts.end() ? nullptr : &*it;
}

bool GangObject::has_part(std::string_view part) const {
  return part_named(part) != nullptr || split_of(part) != nullptr;
}

bool GangObject::chooses() const {
  return needs || !splits.empty() ||
         std::any_of(rings.begin(), rings.end(), [](const GangRing& ring) { return ring.needs.has_value(); });
}

TopologyRequest GangObject::topology_of(std::string_view part) const {
  const GangPart* known = part_named(part);
  return known == nullptr ? TopologyRequest{} : known->topology;
}

std::vector<GangRing> GangObject::rings_of(std::string_view part) const {
  std::vector<GangRing> out;
  const GangPart* known = part_named(part);
  std::string_view inside = known == nullptr ? std::string_view() : known->inside;
  for (auto ring = rings.rbegin(); ring != rings.rend() && !inside.empty(); ++ring) {
    if (ring->name != inside) continue;
    if (!ring->topology.empty()) out.insert(out.begin(), *ring);
    inside = ring->inside;
  }
  return out;
}

bool GangObject::parts_ask_for_topology() const {
  const auto wants = [](const auto& part) { return !part.topology.empty(); };
  return std::any_of(rings.begin(), rings.end(), wants) || std::any_of(parts.begin(), parts.end(), wants);
}

std::int64_t GangObject::least_of(std::string_view part) const {
  if (const GangPart* known = part_named(part)) return known->least;
  const GangSplit* split = split_of(part);
  return split == nullptr ? 0 : split->least;
}

}  // namespace berth::dialect
