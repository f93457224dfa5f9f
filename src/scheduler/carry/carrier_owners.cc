// The part of Carrier (carrier.h) that is about owners which Berth holds suspended.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"
#include "scheduler/carry/carrier.h"

namespace berth::scheduler {

void Carrier::end_the_rest(const Decision& start, TimeMs now) {
  auto ending = owners_.ending(start.workload);
  if (!ending) return;
  std::erase_if(ending->slots, [&](const SlotPlacement& slot) {
    const auto again = [&](const SlotPlacement& s) {
      return s.pod_set == slot.pod_set && s.index == slot.index;
    };
    if (std::any_of(start.slots.begin(), start.slots.end(), again)) return true;
    const auto pod = intake_.pod_at(start.workload, slot.pod_set, slot.index);
    return !pod || pod->state == SlotState::kReleasing ||
           (pod->node.empty() && !places_.is_binding(pod->uid));
  });
  if (ending->slots.empty()) return;
  evict_pods(*ending, now);
  flights_.lose(start.workload, now);  // of those that end, and those that come, a whole gang must become
}

void Carrier::release(const dialect::WorkloadInfo& info, const Decision& start,
                      std::vector<SlotPlacement> places, TimeMs now) {
  end_the_rest(start, now);
  if (places.front().node.empty()) {
    listener_.on_owner(
        *info.owner, "Released",
        fmt::format("unsuspended: it has quota, and its {} pods wait for nodes", places.size()));
    return owners_.release(start.workload, std::move(places), now, bind_data_.updates(start.workload));
  }
  const dialect::Ask* fewer = intake_.granted(start.workload) > 0 ? intake_.owner(start.workload) : nullptr;
  listener_.on_owner(*info.owner, "Released",
                     fewer == nullptr
                         ? fmt::format("unsuspended: nodes are reserved for its {} pods", places.size())
                         : fmt::format("unsuspended with {} of its {} pods: nodes are reserved for these",
                                       places.size(), fewer->asked()));
  owners_.release(start.workload, std::move(places), now, bind_data_.updates(start.workload));
}

void Carrier::owner_gone(std::string_view uid) {
  owners_.forget(uid);
  forget_held(uid);
  bind_data_.forget(std::string(uid));
  floors_.erase(std::string(uid));
}

bool Carrier::suspend(const Decision& decision, TimeMs now) {
  const auto info = intake_.workload(decision.workload);
  if (!info || info->owner == nullptr) return false;
  const auto pods = intake_.pods_of(decision.workload);
  const auto placed = static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& pod) {
    return pod.state != SlotState::kReleasing && (!pod.node.empty() || places_.is_binding(pod.uid));
  }));
  const std::size_t has = placed + places_.promised(decision.workload, Comes::kOfRelease);
  const bool was_out = places_.is_out(decision.workload);
  if (!was_out && has >= decision.slots.size() + static_cast<std::size_t>(info->least))
    return false;  // surplus: the gang stays
  places_.forget_out(decision.workload);
  flights_.forget(decision.workload);
  for (const SlotPlacement& slot : decision.slots)
    (void)places_.take(decision.workload, Comes::kOfGroup, slot.pod_set, slot.index);
  std::string beneficiary;
  if (const auto whom = intake_.workload(decision.beneficiary)) beneficiary = whom->name;
  Decision readable = decision;
  readable.reason = dialect::readable(decision.reason, intake_);
  listener_.on_owner(*info->owner, decision.reason.code == ReasonCode::kWithdrawn ? "Withdrawn" : "Preempted",
                     beneficiary.empty() ? to_text(readable.reason)
                                         : fmt::format("{} (for {})", to_text(readable.reason), beneficiary));
  for (const auto& pod : pods) {  // a bind that only waits is not tried
    const Bind* bind = places_.bind(pod.uid);
    const bool rests = bind != nullptr && bind->stage == Stage::kResting && !bind->read_next;
    if (!rests && (bind == nullptr || bind->stage != Stage::kWaits)) continue;
    forget_bind(std::string(pod.uid));
  }
  owners_.suspend(readable, was_out ? Owners::Rest::kShort : Owners::Rest::kGrows, now);
  return true;
}

}  // namespace berth::scheduler
