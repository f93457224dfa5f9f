// Placement policies (model/queue.h: Placement): how good a node is for a slot. Each policy is one function from a site (a
// slot on a node, as integers) to a key, lower wins; and to the way of taking devices where there is a choice.
//
// A slot with a share of one device has a way for each sufficient amount that is free on some device, least first. Otherwise there
// is one way.
//
// Nodes are ordered by preferred affinity first, then by the policy's key, then by rank. For `fragmentation`, where work ends by the
// mix, the start of the oldest slot with devices comes before the rank (nodes/ages.h). Cost: O(1), and for `fragmentation` a
// look at the usable room for each way (nodes/fragments.h).
#pragma once

#include <cstdint>
#include <span>

#include "engine/nodes/fragments.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

// The input of a policy.
struct Site {
  std::int64_t idle = 0;  // thousandths of devices free after placing
  std::int64_t cpu = 0;   // thousandths of cores free after placing, not negative
};

struct Score {
  std::int64_t key = 0;  // 0 to 2^48 - 1
  std::uint32_t way = 0;
};

Score score_first(const Site& site);
Score score_pack(const Site& site);
Score score_spread(const Site& site);
Score score_best_fit(const Site& site);
// `lost`: usable room that is taken away (nodes/fragments.h), of which the least wins; among equals the least CPU and devices
// left.
std::int64_t fragmentation_key(const Site& site, std::int64_t lost);

// The most that a preference can be; its middle is that of a node for which and against which nothing speaks (shape.h).
inline constexpr std::int64_t kMostPreference = 16383;
// A key with another preference; it is clamped.
std::int64_t with_preference(std::int64_t key, std::int64_t preference);

// Best of the policy on a node where the slot fits. The key orders nodes across preferences.
Score score(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
            DeviceRequestId request, std::int64_t preference, Mode mode);

// Whether its policy chooses among devices that are free in part. Else the first that suffice are as good as any.
bool has_ways(const Shape& shape);
// For such a slot: how much is free on the device of the policy's best way; -1: it fits on none.
std::int64_t free_of_best_way(const NodeTable& nodes, Fragments& fragments, NodeId node, const Shape& shape,
                              Mode mode);

}  // namespace berth::engine
