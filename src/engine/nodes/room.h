// The room of one node for slots of a shape: how many fit, and what ends first. Questions that change nothing; constraints (labels,
// taints) are left out. Cost: O(amounts + devices of the node).
#pragma once

#include <cstdint>
#include <optional>

#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

inline constexpr std::int64_t kMostFit = 1'000'000;  // slots on one node, for sums that cannot overflow

// The number of further slots of the shape that the node could take.
std::int64_t fit_by_room(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode);
// The same by amounts and volumes alone, ignoring single devices and tokens; `most` at most.
std::int64_t fit_by_amounts(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode,
                            std::int64_t most = kMostFit);
// Volumes that other pods may mount: the resource of a driver that has no place for those of the shape that no pod there mounts.
std::optional<ResourceId> lacks_places(const NodeTable& nodes, NodeId id, const Shape& shape,
                                       PlaneMask planes);
bool has_room(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode);

// A token that another pod has, or a resource, and whether that is a device.
struct Shortage {
  ResourceId resource;
  bool device = false;
  TokenId token;
};
// For one slot; none: it fits.
std::optional<Shortage> shortage_of(const NodeTable& nodes, NodeId id, const Shape& shape, Mode mode);
// The first shortage if slot after slot of the shape came (tokens before devices before amounts where equal).
Shortage tightest_of(const NodeTable& nodes, NodeId id, const Shape& shape);

}  // namespace berth::engine
