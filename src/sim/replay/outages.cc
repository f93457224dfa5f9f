#include "sim/replay/outages.h"

#include <algorithm>

namespace berth::sim {

Status Outages::prepare() {
  BERTH_ASSIGN(faults_, Faults::make(input_.failures, input_.nodes, input_.seed));
  node_out_.resize(input_.nodes.size(), 0);
  device_out_.resize(input_.nodes.size());
  return {};
}

Fault Outages::strike(std::uint32_t rule) {
  Fault fault = faults_.strike(rule);
  std::erase_if(fault.nodes, [&](std::uint32_t node) {
    if (is_out(node)) return true;
    return fault.device >= 0 && !device_out_[node].empty() &&
           device_out_[node][static_cast<std::size_t>(fault.device)] > 0;
  });
  return fault;
}

std::uint32_t Outages::begin_repair(Fault fault) {
  std::uint32_t at = static_cast<std::uint32_t>(repairing_.size());
  if (free_repairs_.empty()) {
    repairing_.emplace_back();
  } else {
    at = free_repairs_.back();
    free_repairs_.pop_back();
  }
  repairing_[at] = std::move(fault);
  return at;
}

Fault Outages::end_repair(std::uint32_t at) {
  free_repairs_.push_back(at);
  return std::exchange(repairing_[at], {});
}

void Outages::take_out(std::uint32_t node, std::int64_t device) {
  if (device < 0) {
    ++node_out_[node];
    return;
  }
  std::int64_t devices = 0;
  for (const DevicePool& pool : input_.nodes[node].devices) devices += pool.count;
  device_out_[node].resize(static_cast<std::size_t>(devices), 0);
  ++device_out_[node][static_cast<std::size_t>(device)];
}

bool Outages::bring_back(std::uint32_t node, std::int64_t device) {
  std::int32_t& failures = device < 0 ? node_out_[node] : device_out_[node][static_cast<std::size_t>(device)];
  return --failures <= 0;
}

std::int64_t Outages::gpu_milli(std::uint32_t node) const {
  std::int64_t sum = 0;
  std::size_t at = 0;
  for (const DevicePool& pool : input_.nodes[node].devices) {
    for (std::int64_t d = 0; d < pool.count; ++d, ++at) {
      const bool out = node_out_[node] > 0 || (!device_out_[node].empty() && device_out_[node][at] > 0);
      if (out && pool.resource == kGpu) sum += kWholeDevice;
    }
  }
  return sum;
}

Node Outages::node_now(std::uint32_t node) const {
  Node out = input_.nodes[node];
  std::size_t at = 0;
  for (DevicePool& pool : out.devices) {
    for (std::int64_t d = 0; d < pool.count; ++d, ++at) {
      if (device_out_[node].empty() || device_out_[node][at] == 0) continue;
      if (std::find(pool.unhealthy.begin(), pool.unhealthy.end(), d) == pool.unhealthy.end()) {
        pool.unhealthy.push_back(d);
      }
    }
    std::sort(pool.unhealthy.begin(), pool.unhealthy.end());
  }
  return out;
}

}  // namespace berth::sim
