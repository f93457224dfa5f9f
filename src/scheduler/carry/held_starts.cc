#include "scheduler/carry/held_starts.h"

namespace berth::scheduler {

const HeldStarts::Held* HeldStarts::find(std::string_view workload) const {
  if (held_.empty()) return nullptr;
  const auto it = held_.find(std::string(workload));
  return it == held_.end() ? nullptr : &it->second;
}

void HeldStarts::add(const Decision& start, std::int64_t generation) {
  Held& held = held_[start.workload];
  held.start = start;
  held.start.slots.clear();
  held.generation = generation;
  for (const auto& slot : start.slots) held.slots.insert_or_assign({slot.pod_set, slot.index}, slot);
}

std::optional<Decision> HeldStarts::take(std::string_view workload) {
  const auto it = held_.find(std::string(workload));
  if (it == held_.end()) return std::nullopt;
  Decision out = std::move(it->second.start);
  for (auto& [slot, place] : it->second.slots) out.slots.push_back(std::move(place));
  held_.erase(it);
  return out;
}

std::optional<Decision> HeldStarts::take_placed(std::string_view workload) {
  const auto it = held_.find(std::string(workload));
  if (it == held_.end()) return std::nullopt;
  Decision out = it->second.start;
  std::erase_if(it->second.slots, [&](auto& slot) {
    if (slot.second.node.empty()) return false;
    out.slots.push_back(std::move(slot.second));
    return true;
  });
  if (it->second.slots.empty()) held_.erase(it);
  if (out.slots.empty()) return std::nullopt;
  return out;
}

void HeldStarts::forget(std::string_view workload) {
  if (!held_.empty()) held_.erase(std::string(workload));
}

std::optional<SlotPlacement> HeldStarts::take(std::string_view workload, std::int64_t pod_set,
                                              std::int64_t index) {
  const Held* held = find(workload);
  if (held == nullptr) return std::nullopt;
  const auto slot = held->slots.find({pod_set, index});
  if (slot == held->slots.end()) return std::nullopt;
  SlotPlacement out = slot->second;
  (void)drop(workload, pod_set, index);
  return out;
}

bool HeldStarts::drop(std::string_view workload, std::int64_t pod_set, std::int64_t index) {
  const auto it = held_.find(std::string(workload));
  if (it == held_.end() || it->second.slots.erase({pod_set, index}) == 0) return false;
  if (it->second.slots.empty()) held_.erase(it);
  return true;
}

std::size_t HeldStarts::places(std::string_view workload) const {
  const Held* held = find(workload);
  return held == nullptr ? 0 : held->slots.size();
}

bool HeldStarts::keeps(std::string_view workload, std::int64_t pod_set, std::int64_t index) const {
  const Held* held = find(workload);
  return held != nullptr && held->slots.contains({pod_set, index});
}

std::int64_t HeldStarts::generation(std::string_view workload) const {
  const Held* held = find(workload);
  return held == nullptr ? 0 : held->generation;
}

}  // namespace berth::scheduler
