// The part of Carrier (carrier.h) that says which pods an eviction ends.
#include <string>
#include <utility>

#include "dialect/write/writes.h"
#include "scheduler/carry/carrier.h"

namespace berth::scheduler {

void Carrier::evict_pods(const Decision& decision, TimeMs now) {
  flights_.forget(decision.workload);
  const bool withdrawn = decision.reason.code == ReasonCode::kWithdrawn;
  std::string beneficiary;
  if (const auto info = intake_.workload(decision.beneficiary)) beneficiary = info->name;
  const Reason reason = dialect::readable(decision.reason, intake_);
  for (const SlotPlacement& slot : decision.slots) {
    const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
    // A later pod has no right to the place, even if a pod has come that does not take it.
    owners_.give_up(decision.workload, slot.pod_set, slot.index);
    (void)places_.take(decision.workload, Comes::kOfGroup, slot.pod_set, slot.index);
    if (!pod) {
      const bool waits = intake_.expects(decision.workload, slot.pod_set, slot.index);
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index,
                                   waits ? SlotState::kWaiting : SlotState::kGone, ""});
      continue;
    }
    const std::string uid(pod->uid);
    if (places_.eviction(uid) != nullptr) continue;
    // A pod that must not run is evicted, whatever made it.
    const bool stays = withdrawn && !pod->recreated && !intake_.is_stopped(decision.workload);
    Bind* const of = places_.bind(uid);
    if (of != nullptr && of->stage != Stage::kDone && pod->node.empty()) {
      Bind& bind = *of;
      const bool rests = bind.stage == Stage::kResting && !bind.read_next && bind.unknowns == 0;
      if (rests || bind.stage == Stage::kWaits) {
        forget_bind(uid);  // nothing is on its way
        events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kWaiting, ""});
      } else if (stays) {
        events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kBinding,
                                     bind.node, bind.devices});
      } else {
        bind.evict = true;
        evictions_.await(bind.workload, uid);
        bind.reason = reason;
        bind.beneficiary = beneficiary;
      }
      continue;
    }
    const std::string node =
        !pod->node.empty() ? std::string(pod->node) : (of != nullptr ? of->node : std::string());
    if (node.empty()) {  // never bound: there is nothing to end
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kWaiting, ""});
      continue;
    }
    if (stays) {
      events_.push_back(SlotUpdate{decision.workload,
                                   slot.pod_set,
                                   slot.index,
                                   SlotState::kRunning,
                                   node,
                                   {pod->devices.begin(), pod->devices.end()}});
      continue;
    }
    if (of != nullptr) forget_bind(uid);
    evictions_.begin(*pod, reason, beneficiary, now);
  }
}

bool Carrier::resume_eviction(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now) {
  return evictions_.resume(workload, least, now, events_);
}

}  // namespace berth::scheduler
