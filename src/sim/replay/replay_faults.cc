// Nodes and devices that fail and come back.
#include <algorithm>
#include <utility>

#include "sim/course/elastic.h"
#include "sim/replay/replay_run.h"

namespace berth::sim {

Status ReplayRun::prepare_faults() {
  BERTH_TRY(outages_.prepare());
  for (std::uint32_t rule = 0; rule < outages_.rules(); ++rule) {
    const TimeMs at = outages_.first(rule, out_.begin);
    if (at != kEndOfTime) events_.push(at, SimEventKind::kFail, rule, 0);
  }
  return {};
}

Status ReplayRun::strike(std::uint32_t rule) {
  const TimeMs next = outages_.next(rule, now_);
  // With no work ahead, failures rest: they would go on for ever.
  if (!events_.working()) {
    if (next != kEndOfTime) outages_.rest(rule);
    return {};
  }
  if (next != kEndOfTime) events_.push(next, SimEventKind::kFail, rule, 0);
  Fault fault = outages_.strike(rule);
  if (fault.nodes.empty()) return {};
  ++out_.failures;
  for (const std::uint32_t node : fault.nodes) BERTH_TRY(take_out(node, fault.device));
  const TimeMs end = saturating_add(now_, fault.repair);
  events_.push(end, SimEventKind::kRepair, outages_.begin_repair(std::move(fault)), 0);
  return {};
}

Status ReplayRun::repair(std::uint32_t at) {
  const Fault fault = outages_.end_repair(at);
  for (const std::uint32_t node : fault.nodes) BERTH_TRY(bring_back(node, fault.device));
  return {};
}

Status ReplayRun::take_out(std::uint32_t node, std::int64_t device) {
  const std::int64_t before = outages_.gpu_milli(node);
  outages_.take_out(node, device);
  if (device < 0) ++out_.nodes_lost;
  const std::int64_t gpus = outages_.gpu_milli(node) - before;
  for (const std::uint32_t index : work_.on_node(node)) BERTH_TRY(lose_slots(index, node, device));
  out_.series.add(kTrackDown, gpus, now_);
  if (device >= 0) {
    books_.set_device_out(node, device, true);
    return outages_.is_out(node) ? Status() : apply(NodeUpsert{outages_.node_now(node)});
  }
  books_.set_node_out(node, true);
  return apply(NodeRemove{input_.nodes[node].name});
}

Status ReplayRun::bring_back(std::uint32_t node, std::int64_t device) {
  const std::int64_t before = outages_.gpu_milli(node);
  if (!outages_.bring_back(node, device)) return {};
  if (device < 0) {
    books_.set_node_out(node, false);
  } else {
    books_.set_device_out(node, device, false);
  }
  out_.series.add(kTrackDown, outages_.gpu_milli(node) - before, now_);
  return outages_.is_out(node) ? Status() : apply(NodeUpsert{outages_.node_now(node)});
}

// The slots of the work on this node, or on this device of it, are lost; a gang that is disrupted as one loses all.
Status ReplayRun::lose_slots(std::uint32_t index, std::uint32_t node, std::int64_t device) {
  Live& at = work_.live(index);
  const auto hit = [&](const PlacedSlot& slot) {
    const auto& devices = slot.placement.devices;
    return slot.node == node &&
           (device < 0 || std::find(devices.begin(), devices.end(), device) != devices.end());
  };
  const bool ending = std::any_of(at.ending.begin(), at.ending.end(), hit);
  const bool active = std::any_of(at.active.begin(), at.active.end(), hit);
  if (!ending && !active) return {};
  JobOutcome& result = book_.of(index);
  std::vector<PlacedSlot> gone;
  const auto take = [&](std::vector<PlacedSlot>& from, auto&& lost) {
    const auto first =
        std::stable_partition(from.begin(), from.end(), [&](const PlacedSlot& slot) { return !lost(slot); });
    std::move(first, from.end(), std::back_inserter(gone));
    from.erase(first, from.end());
  };
  take(at.ending, hit);
  if (active) {
    if (work_.is_service(index)) account_service(work_.service_of(index));
    std::vector<bool> sets_hit(work_.sets(index).size(), false);
    for (const PlacedSlot& slot : at.active) {
      if (hit(slot)) sets_hit[static_cast<std::size_t>(slot.placement.pod_set)] = true;
    }
    const std::vector<bool> down = whole_sets_lost(work_.root(index), sets_hit);
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
    if (!work_.is_service(index)) set_pace(index);
  } else if (active) {
    stop(index, true);
    result.state = JobState::kEnding;
    at.since = now_;
  }
  if (work_.is_service(index)) show_ready(work_.service_of(index));
  if (result.state != JobState::kEnding || !at.ending.empty()) return {};
  book_.end_ending(index, now_);
  set_waiting(index);
  return {};
}

}  // namespace berth::sim
