// Nodes and devices that fail and come back.
#include <algorithm>
#include <utility>

#include "sim/course/elastic.h"
#include "sim/replay/replay_run.h"

namespace berth::sim {

Status ReplayRun::prepare_faults() {
  BERTH_ASSIGN(faults_, Faults::make(input_.failures, input_.nodes, input_.seed));
  node_out_.resize(input_.nodes.size(), 0);
  device_out_.resize(input_.nodes.size());
  for (std::uint32_t rule = 0; rule < faults_.rules(); ++rule) {
    const TimeMs at = faults_.first(rule, out_.begin);
    if (at != kEndOfTime) events_.push(at, SimEventKind::kFail, rule, 0);
  }
  return {};
}

Status ReplayRun::strike(std::uint32_t rule) {
  const TimeMs next = faults_.next(rule, now_);
  // With no work ahead, failures rest: they would go on for ever.
  if (!events_.working()) {
    if (next != kEndOfTime) resting_rules_.push_back(rule);
    return {};
  }
  if (next != kEndOfTime) events_.push(next, SimEventKind::kFail, rule, 0);
  Fault fault = faults_.strike(rule);
  const auto is_out = [&](std::uint32_t node) {
    if (node_out_[node] > 0) return true;
    return fault.device >= 0 && !device_out_[node].empty() &&
           device_out_[node][static_cast<std::size_t>(fault.device)] > 0;
  };
  std::erase_if(fault.nodes, is_out);
  if (fault.nodes.empty()) return {};
  ++out_.failures;
  for (const std::uint32_t node : fault.nodes) BERTH_TRY(take_out(node, fault.device));
  std::uint32_t at = static_cast<std::uint32_t>(repairing_.size());
  if (free_repairs_.empty()) {
    repairing_.emplace_back();
  } else {
    at = free_repairs_.back();
    free_repairs_.pop_back();
  }
  events_.push(saturating_add(now_, fault.repair), SimEventKind::kRepair, at, 0);
  repairing_[at] = std::move(fault);
  return {};
}

Status ReplayRun::repair(std::uint32_t at) {
  const Fault fault = std::exchange(repairing_[at], {});
  free_repairs_.push_back(at);
  for (const std::uint32_t node : fault.nodes) BERTH_TRY(bring_back(node, fault.device));
  return {};
}

Status ReplayRun::take_out(std::uint32_t node, std::int64_t device) {
  std::int64_t gpus = 0;
  const std::int64_t before = out_gpu_milli(node);
  if (device < 0) {
    ++node_out_[node];
    ++out_.nodes_lost;
  } else {
    std::int64_t devices = 0;
    for (const DevicePool& pool : input_.nodes[node].devices) devices += pool.count;
    device_out_[node].resize(static_cast<std::size_t>(devices), 0);
    ++device_out_[node][static_cast<std::size_t>(device)];
  }
  gpus = out_gpu_milli(node) - before;
  std::vector<std::uint32_t> there = on_node_[node];
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  for (const std::uint32_t at : there) BERTH_TRY(lose_slots(pool_[at].index, node, device));
  out_.series.add(kTrackDown, gpus, now_);
  if (device >= 0) {
    books_.set_device_out(node, device, true);
    return node_out_[node] > 0 ? Status() : apply(NodeUpsert{node_now(node)});
  }
  books_.set_node_out(node, true);
  return apply(NodeRemove{input_.nodes[node].name});
}

Status ReplayRun::bring_back(std::uint32_t node, std::int64_t device) {
  const std::int64_t before = out_gpu_milli(node);
  if (device < 0) {
    if (--node_out_[node] > 0) return {};
    books_.set_node_out(node, false);
  } else {
    if (--device_out_[node][static_cast<std::size_t>(device)] > 0) return {};
    books_.set_device_out(node, device, false);
  }
  out_.series.add(kTrackDown, out_gpu_milli(node) - before, now_);
  return node_out_[node] > 0 ? Status() : apply(NodeUpsert{node_now(node)});
}

// GPUs of the node that take no work now.
std::int64_t ReplayRun::out_gpu_milli(std::uint32_t node) const {
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

Node ReplayRun::node_now(std::uint32_t node) const {
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

// The slots of the work on this node, or on this device of it, are lost; a gang that is disrupted as one loses all.
Status ReplayRun::lose_slots(std::uint32_t index, std::uint32_t node, std::int64_t device) {
  Live& at = live(index);
  const auto hit = [&](const PlacedSlot& slot) {
    const auto& devices = slot.placement.devices;
    return slot.node == node &&
           (device < 0 || std::find(devices.begin(), devices.end(), device) != devices.end());
  };
  const bool ending = std::any_of(at.ending.begin(), at.ending.end(), hit);
  const bool active = std::any_of(at.active.begin(), at.active.end(), hit);
  if (!ending && !active) return {};
  JobOutcome& result = outcome(index);
  std::vector<PlacedSlot> gone;
  const auto take = [&](std::vector<PlacedSlot>& from, auto&& lost) {
    const auto first =
        std::stable_partition(from.begin(), from.end(), [&](const PlacedSlot& slot) { return !lost(slot); });
    std::move(first, from.end(), std::back_inserter(gone));
    from.erase(first, from.end());
  };
  take(at.ending, hit);
  if (active) {
    if (is_service(index)) account_service(service_of(index));
    std::vector<bool> sets_hit(sets(index).size(), false);
    for (const PlacedSlot& slot : at.active) {
      if (hit(slot)) sets_hit[static_cast<std::size_t>(slot.placement.pod_set)] = true;
    }
    const std::vector<bool> down = whole_sets_lost(root(index), sets_hit);
    take(at.active, [&](const PlacedSlot& slot) {
      return hit(slot) || down[static_cast<std::size_t>(slot.placement.pod_set)];
    });
    ++result.failures;
    at.gpu_milli = 0;
    for (const PlacedSlot& slot : at.active) at.gpu_milli += slot.gpu_milli;
  }
  for (const PlacedSlot& slot : gone) leave(index, slot, true);
  BERTH_TRY(wait_again(index, gone));
  if (active && !at.active.empty()) {
    if (!is_service(index)) set_pace(index);
  } else if (active) {
    stop(index, true);
    result.state = JobState::kEnding;
    at.since = now_;
  }
  if (is_service(index)) show_ready(service_of(index));
  if (result.state != JobState::kEnding || !at.ending.empty()) return {};
  end_ending(index);
  set_waiting(index);
  return {};
}

}  // namespace berth::sim
