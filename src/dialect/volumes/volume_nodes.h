// The nodes of a volume, by its node affinity and its older labels of zones and regions. Pure. Cost: O(its terms).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/volumes/objects.h"

namespace berth::dialect {

// One condition on the nodes of a volume.
struct NodesOfVolume {
  std::vector<SelectorTerm> terms;  // one of them must match
  SelectorTerm words;               // for messages, where `terms` has more than the words need; else empty
};

// All of these hold; none: any node can use it.
std::vector<NodesOfVolume> conditions_of(const PersistentVolume& volume);
// The same as one condition; none: any node can use it.
std::optional<std::vector<SelectorTerm>> nodes_of(const PersistentVolume& volume);
// The nodes of any of these volumes, in an order of their own. None: all nodes.
std::optional<std::vector<SelectorTerm>> nodes_of(const std::vector<const PersistentVolume*>& volumes);
// `name`: of the node.
bool can_use(const PersistentVolume& volume, const Labels& node, const std::string& name);

// For a volume that one node alone can use, by its host name or its own name: the word of that place. "": it is none.
std::string place_of(const PersistentVolume& volume);
// The places of a node, one by each.
std::vector<std::string> places_of(std::string_view node, const Labels& labels);
// The nodes of these places: one term for the host names, one for the names.
std::vector<SelectorTerm> nodes_of_places(const std::vector<std::string>& places);

}  // namespace berth::dialect
