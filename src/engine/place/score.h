// How good a node is for a slot: lower wins. One small function per policy (model/queue.h: Placement).
#pragma once

#include <cstdint>

#include "engine/place/nodes.h"
#include "engine/place/shape.h"

namespace berth::engine {

// The key by which nodes that can host the shape are ordered, ascending; ties by rank. Preferred affinity comes before
// the policy. Integers only. O(amounts of the shape + devices of the node).
std::int64_t placement_key(const NodeTable& nodes, NodeId node, const Shape& shape, std::int64_t preference,
                           Mode mode);

}  // namespace berth::engine
