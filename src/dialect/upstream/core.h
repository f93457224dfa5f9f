// Upstream's nodes and pods -> the model's.
#pragma once

#include "dialect/base/fields.h"
#include "dialect/upstream/objects.h"
#include "model/node.h"

namespace berth::dialect {

// Devices (DeviceNames) become pools, everything else amounts. A node that is not ready has the taint that says so
// (decode_core.h). `problem` says where there are more devices than Berth counts.
Node to_node(const NodeObject& object, const DeviceNames& devices, std::string& problem);

// The room that a pod of another scheduler takes.
ForeignPod to_foreign(const PodSpec& spec, std::string_view uid);

// berth.dev/gpu-milli of `meta`: the pod asks for a share of one device.
void apply_share(const Meta& meta, PodTemplate& pod);

// Whether the owner of the pod makes a new one when it is deleted.
bool is_recreated(const Meta& pod);

}  // namespace berth::dialect
