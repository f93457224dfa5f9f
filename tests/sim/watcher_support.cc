#include "sim/watcher_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace berth::sim {

void Watcher::wrong(std::string what) {
  if (wrongs_.size() < 10) wrongs_.push_back(std::move(what));
}

void Watcher::check_node(const Node& node) {
  std::set<std::int64_t> out;
  std::int64_t first = 0;
  for (const DevicePool& pool : node.devices) {
    for (const std::int64_t device : pool.unhealthy) out.insert(first + device);
    first += pool.count;
  }
  devices_out_ += static_cast<std::int64_t>(out.size());
  for (const auto& [slot, place] : places_) {
    if (place.node != node.name) continue;
    for (const std::int64_t device : place.devices) {
      if (out.contains(device))
        wrong(fmt::format("{} stays on device {} of {}", std::get<0>(slot), device, node.name));
    }
  }
  nodes_[node.name] = std::move(out);
}

Status Watcher::apply(const Event& event) {
  if (const auto* node = std::get_if<NodeUpsert>(&event)) check_node(node->node);
  if (const auto* gone = std::get_if<NodeRemove>(&event)) {
    ++nodes_out_;
    if (nodes_.erase(gone->name) == 0) wrong(gone->name + " fails twice");
    for (const auto& [slot, place] : places_) {
      if (place.node == gone->name)
        wrong(fmt::format("{} stays on {}, which fails", std::get<0>(slot), gone->name));
    }
  }
  if (const auto* removed = std::get_if<WorkloadRemove>(&event)) {
    std::erase_if(places_, [&](const auto& entry) { return std::get<0>(entry.first) == removed->uid; });
  }
  if (const auto* seen = std::get_if<SlotUpdate>(&event)) {
    const Slot slot{seen->workload, seen->pod_set, seen->index};
    const auto at = places_.find(slot);
    if (seen->state == SlotState::kRunning && (at == places_.end() || at->second.node != seen->node)) {
      wrong(fmt::format("{} is seen on {}, where nobody put it", seen->workload, seen->node));
    }
    if (seen->state == SlotState::kGone) {
      if (at == places_.end()) wrong(seen->workload + " loses a slot that it did not have");
      if (at != places_.end() && !at->second.ending) ++slots_lost_;
      forget(slot);
    }
  }
  return inner_.apply(event);
}

Result<std::vector<Decision>> Watcher::decide(TimeMs now) {
  auto decisions = inner_.decide(now);
  if (!decisions) return decisions;
  for (const Decision& decision : *decisions) {
    if (decision.kind == DecisionKind::kStart) {
      for (const SlotPlacement& slot : decision.slots) {
        const auto node = nodes_.find(slot.node);
        if (node == nodes_.end()) {
          wrong(fmt::format("{} starts on {}, which is out", decision.workload, slot.node));
          continue;
        }
        for (const std::int64_t device : slot.devices) {
          if (node->second.contains(device))
            wrong(fmt::format("{} starts on device {} of {}, which is out", decision.workload, device,
                              slot.node));
        }
        const bool fresh = places_
                               .try_emplace({decision.workload, slot.pod_set, slot.index},
                                            Place{slot.node, slot.devices, false})
                               .second;
        if (!fresh) wrong(decision.workload + " starts a slot that has a place");
      }
    }
    if (decision.kind == DecisionKind::kEvict) {
      for (const SlotPlacement& slot : decision.slots) {
        const auto at = places_.find({decision.workload, slot.pod_set, slot.index});
        if (at == places_.end() || at->second.ending) {
          wrong(decision.workload + " is evicted from a place that it does not have");
        } else {
          at->second.ending = true;
        }
      }
      const bool stays = std::any_of(places_.begin(), places_.end(), [&](const auto& entry) {
        return std::get<0>(entry.first) == decision.workload && !entry.second.ending;
      });
      if (stays) ++partial_evictions_;
    }
  }
  return decisions;
}

}  // namespace berth::sim
