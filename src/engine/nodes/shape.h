// Shapes: classes of slots that are alike for placement (same requests, same constraints, same policy). Everything that is
// found out about a node is found out once per shape, not once per pod.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shared.h"
#include "engine/nodes/grant.h"
#include "model/decision.h"
#include "model/labels.h"
#include "model/node.h"
#include "model/queue.h"
#include "model/workload.h"

namespace berth::engine {

struct ShapeAmount {
  ResourceId resource;
  std::int64_t amount = 0;
};

struct ShapeDevices {
  ResourceId resource;
  std::int64_t count = 0;
  std::int64_t milli = kWholeDevice;
  bool operator==(const ShapeDevices&) const = default;
};

using CountedId = Id<struct CountedTag>;
using VolumeId = Id<struct VolumeTag>;

struct Shape {
  std::vector<ShapeAmount> amounts;  // all that is asked for, devices (in thousandths) included; no zeros
  std::vector<ShapeDevices> devices;
  std::vector<TokenId> tokens;  // ascending: at most one slot fits on a node
  std::vector<VolumeId>
      mounts;  // ascending: volumes that other pods may mount too (nodes/mounted.h); not among the amounts
  // From the pod: shared with its template.
  Shared<Labels> selector;
  Shared<std::vector<SelectorTerm>> required;
  Shared<std::vector<PreferredTerm>> preferred;
  Shared<std::vector<Toleration>> tolerations;
  // The nodes of its volumes: one term of each list matches. Without words: pods whose claims lie on the same nodes are alike.
  std::vector<std::vector<SelectorTerm>> volumes;
  std::vector<Toleration> flavor_tolerations;
  std::vector<std::string> flavors;  // names, for messages
  Labels flavor_labels;
  Placement placement = Placement::kPack;
  CountedId counted;    // its part in counted terms (nodes/counted.h); none for most
  bool opaque = false;  // charged to a flavor whose nodes are not known
};

// The text that two shapes share exactly when they are alike. At most kShortKey long (base/digest.h), whatever the shape's size.
std::string shape_key(const Shape& shape);

// Why a node can never take the shape whatever is free on it; kNone when it can. The node without a name stands for all
// capacity whose nodes are not known: opaque shapes go there, and nowhere else.
struct StaticMismatch {
  ReasonCode code = ReasonCode::kNone;
  std::string subject;     // for kNodeVolume none: the template has the words
  std::size_t volume = 0;  // for kNodeVolume: which of the shape's
};
StaticMismatch static_mismatch(const Shape& shape, const Node& node);
// Whether a spread of this shape counts the node, with its pods. A cordon alone does not matter to Kubernetes here; the taint that follows it does.
bool counts_in_spread(const Shape& shape, const Node& node);

// Sum of the weights of matching preferred terms, less 10 for each PreferNoSchedule taint that is not tolerated; clamped
// to [0, 16383] around 8192.
std::int64_t preference(const Shape& shape, const Node& node);

}  // namespace berth::engine
