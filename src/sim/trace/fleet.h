// Nodes of a shape, and fleets: nodes with the topology that their labels make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"

namespace berth::sim {

// The resources of all nodes of a list without shapes, besides their GPUs.
struct NodeShape {
  std::string name_prefix = "node";
  std::int64_t gpus = 8;
  std::string gpu_model;
  std::int64_t cpu_milli = 0;     // 0 = not counted
  std::int64_t memory_bytes = 0;  // 0 = not counted
  Labels labels;
};
Node make_node(std::string name, const NodeShape& shape);
// `count` nodes NAME-0000, ...
std::vector<Node> make_nodes(const NodeShape& shape, std::int64_t count);

struct Fleet {
  std::vector<Node> nodes;
  std::optional<Topology> topology;
};

// Levels of a network, widest first; the last level is the host itself.
inline constexpr std::string_view kNetworkTopology = "network";
inline constexpr std::string_view kCoreLabel = "berth.dev/core";
inline constexpr std::string_view kAggregationLabel = "berth.dev/aggregation";
inline constexpr std::string_view kLeafLabel = "berth.dev/leaf";

}  // namespace berth::sim
