#include "sim/trace/fleet.h"

#include <utility>

#include "sim/trace/trace.h"

namespace berth::sim {

Node make_node(std::string name, const NodeShape& shape) {
  Node node;
  node.name = std::move(name);
  node.labels = shape.labels;
  node.labels.emplace(kHostLabel, node.name);
  if (!shape.gpu_model.empty()) node.labels.emplace(kGpuModelLabel, shape.gpu_model);
  if (shape.cpu_milli > 0) node.allocatable.set("cpu", shape.cpu_milli);
  if (shape.memory_bytes > 0) node.allocatable.set("memory", shape.memory_bytes);
  if (shape.gpus > 0) {
    DevicePool pool;
    pool.count = shape.gpus;
    pool.model = shape.gpu_model;
    node.devices.push_back(std::move(pool));
  }
  return node;
}

std::vector<Node> make_nodes(const NodeShape& shape, std::int64_t count) {
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    nodes.push_back(make_node(fmt::format("{}-{:04}", shape.name_prefix, i), shape));
  }
  return nodes;
}

}  // namespace berth::sim
