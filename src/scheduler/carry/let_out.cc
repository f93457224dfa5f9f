#include "scheduler/carry/let_out.h"

#include <algorithm>

namespace berth::scheduler {

bool is_without_nodes(const Decision& start) {
  return std::any_of(start.slots.begin(), start.slots.end(),
                     [](const SlotPlacement& slot) { return slot.node.empty(); });
}

bool comes_later(const Decision& start, const SlotPlacement& slot, bool has_pod,
                 const dialect::WorkloadInfo* released, const dialect::IntakeView& intake) {
  if (released == nullptr) return intake.expects(start.workload, slot.pod_set, slot.index);
  return !has_pod && released->owner->sets.at(static_cast<std::size_t>(slot.pod_set)).comes_later(slot.index);
}

std::vector<SlotPlacement> let_out(const Decision& start, const dialect::WorkloadInfo& info,
                                   const dialect::IntakeView& intake, Places& places,
                                   std::vector<Event>& events) {
  places.set_out(start.workload);
  std::vector<SlotPlacement> to_come;
  for (const SlotPlacement& slot : start.slots) {
    const auto pod = intake.pod_at(start.workload, slot.pod_set, slot.index);
    if (comes_later(start, slot, pod.has_value(), info.suspended ? &info : nullptr, intake)) {
      places.promise(start.workload, Comes::kOfGroup, slot);
    } else if (info.suspended) {
      to_come.push_back(slot);
    } else if (pod) {
      places.await(start.workload, slot);
    } else {
      events.push_back(SlotUpdate{start.workload, slot.pod_set, slot.index, SlotState::kGone, ""});
    }
  }
  return to_come;
}

bool ends_owner(const Decision& eviction, const dialect::IntakeView& intake, const Places& places) {
  if (!places.is_out(eviction.workload) || eviction.slots.size() < places.size(eviction.workload))
    return false;
  const auto info = intake.workload(eviction.workload);
  return info && info->owner != nullptr;
}

}  // namespace berth::scheduler
