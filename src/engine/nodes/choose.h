// The devices and tokens that a slot or a pod gets on a node, or has there. Only these functions make grants (nodes/grant.h).
//
// Each function fills `out`, whatever it was before. It charges nothing. O(devices of the node) for each request.
#pragma once

#include <cstdint>
#include <span>

#include "engine/nodes/fragments.h"
#include "engine/nodes/grant.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

// Without a policy. For a share: the device with the least room that suffices. Else: the first wholly free ones. Ties by number.
// Where the slot does not fit, what there is.
void choose_first(const NodeTable& nodes, NodeId node, const Shape& shape, Mode mode, Grant& out);

// As the shape's policy has it: those of its best way (nodes/score.h). Among equal devices the first.
void choose(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape, Mode mode,
            Grant& out);

// The devices that a slot was reported to have, by number. False if that cannot be: a missing device, one device twice, or a wrong
// number of a kind. Whether they are free does not matter.
bool take_reported(const NodeTable& nodes, NodeId node, const Shape& shape,
                   std::span<const std::int64_t> numbers, Grant& out);

// For a pod that is not ours: its ports, and the first devices with room, since it does not say which it has. Where they do not
// suffice, what there is.
void choose_foreign(NodeTable& nodes, NodeId node, const ForeignPod& pod, Grant& out);

}  // namespace berth::engine
