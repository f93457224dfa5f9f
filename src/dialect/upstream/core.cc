#include "dialect/upstream/core.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "engine/nodes/nodes.h"

namespace berth::dialect {

Node to_node(const NodeObject& object, const DeviceNames& devices, std::string& problem) {
  Node node;
  node.name = object.meta.name;
  node.labels = object.meta.labels;
  node.taints = object.taints;
  node.unschedulable = object.unschedulable;
  for (const auto& [resource, amount] : object.allocatable) {
    if (!devices.is_device(resource)) {
      node.allocatable.set(resource, std::min(amount, engine::kMostAmount));  // as good as without end
      continue;
    }
    DevicePool pool;
    pool.resource = resource;
    pool.count = std::min(amount / 1000, engine::kMostCountedDevices);
    if (pool.count < amount / 1000) {
      problem = fmt::format("{} {} on one node: Berth counts {} devices of a kind on a node at most",
                            amount / 1000, resource, engine::kMostCountedDevices);
    }
    if (const auto it = node.labels.find(kGpuProduct); it != node.labels.end()) pool.model = it->second;
    node.devices.push_back(std::move(pool));
  }
  return node;
}

ForeignPod to_foreign(const PodSpec& spec, std::string_view uid) {
  return {std::string(uid),
          spec.node_name,
          spec.pod->requests,
          spec.pod->claim.requests,
          spec.pod->ports,
          {},
          {}};
}

bool is_recreated(const Meta& pod) {
  // A mirror pod's Node does not recreate it on our behalf.
  return !pod.controller->kind.empty() && pod.controller->kind != "Node";
}

void apply_share(const Meta& meta, PodTemplate& pod) {
  const std::string_view milli = meta.mark(kGpuMilli);
  if (milli.empty()) return;
  std::int64_t share = 0;
  for (const char c : milli) share = c >= '0' && c <= '9' && share < 10'000 ? share * 10 + (c - '0') : 10'000;
  if (share < 1 || share > 1000) {
    pod.unsupported.push_back(fmt::format("{}: \"{}\" is not a number from 1 to 1000", kGpuMilli, milli));
    return;
  }
  if (pod.claim.requests.empty()) {
    const std::string_view resource = meta.mark(kGpuResource);
    pod.claim.requests.push_back(
        DeviceRequest{std::string(resource.empty() ? "nvidia.com/gpu" : resource), 1, share});
  } else {
    // A pod that requests the device gets all of it from the kubelet. A share beside the request would be a way to use a thousand
    // devices and be charged for one.
    pod.unsupported.push_back(fmt::format("{}: it also requests {}, of which the kubelet gives whole devices",
                                          kGpuMilli, pod.claim.requests.front().resource));
  }
}

}  // namespace berth::dialect
