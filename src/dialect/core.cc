#include "dialect/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/names.h"

namespace berth::dialect {

Node to_node(const NodeObject& object, const DeviceNames& devices, std::string_view cluster,
             std::string& problem) {
  constexpr std::int64_t kMostDevices = 64;
  Node node;
  node.cluster = cluster;
  node.name = object.meta.name;
  node.labels = object.meta.labels;
  node.taints = object.taints;
  node.unschedulable = object.unschedulable;
  std::int64_t count = 0;
  for (const auto& [resource, amount] : object.allocatable) {
    if (!devices.is_device(resource)) {
      node.allocatable.set(resource, amount);
      continue;
    }
    DevicePool pool;
    pool.resource = resource;
    pool.count = std::min(amount / 1000, kMostDevices - count);
    if (pool.count < amount / 1000) {
      problem = fmt::format("{} {} on one node: Berth uses {} devices of a node at most", amount / 1000,
                            resource, kMostDevices);
    }
    count += pool.count;
    if (const auto it = node.labels.find(kGpuProduct); it != node.labels.end()) pool.model = it->second;
    node.devices.push_back(std::move(pool));
  }
  return node;
}

ForeignPod to_foreign(const PodSpec& spec, std::string_view uid) {
  return {std::string(uid), spec.node_name, spec.pod.requests, spec.pod.claim.requests};
}

bool is_recreated(const Meta& pod) {
  // A mirror pod's Node does not recreate it on our behalf.
  return !pod.controller.kind.empty() && pod.controller.kind != "Node";
}

}  // namespace berth::dialect
