// The part of Carrier (carrier.h) that is about evictions: marks first, then deletes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"
#include "scheduler/carry/carrier.h"

namespace berth::scheduler {

void Carrier::evict_pods(const Decision& decision, TimeMs now) {
  flights_.erase(decision.workload);
  const bool withdrawn = decision.reason.code == ReasonCode::kWithdrawn;
  std::string beneficiary;
  if (const auto info = intake_.workload(decision.beneficiary)) beneficiary = info->name;
  const Reason reason = dialect::readable(decision.reason, intake_);
  for (const SlotPlacement& slot : decision.slots) {
    const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
    // A later pod has no right to the place, even if a pod has come that does not take it.
    owners_.give_up(decision.workload, slot.pod_set, slot.index);
    (void)awaited_.drop(decision.workload, slot.pod_set, slot.index);
    if (!pod) {
      const bool waits = intake_.expects(decision.workload, slot.pod_set, slot.index);
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index,
                                   waits ? SlotState::kWaiting : SlotState::kGone, ""});
      continue;
    }
    const std::string uid(pod->uid);
    if (evictions_.contains(uid)) continue;
    // A pod that must not run is evicted, whatever made it.
    const bool stays = withdrawn && !pod->recreated && !intake_.is_stopped(decision.workload);
    const auto it = binds_.find(uid);
    if (it != binds_.end() && it->second.stage != Stage::kDone && pod->node.empty()) {
      Bind& bind = it->second;
      if (bind.stage == Stage::kResting && !bind.read_next && bind.unknowns == 0) {
        forget_bind(uid);  // nothing is on its way
        events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kWaiting, ""});
      } else if (stays) {
        events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kBinding,
                                     bind.node, bind.devices});
      } else {
        bind.evict = true;
        endings_[bind.workload].unmarked.insert(uid);
        bind.reason = reason;
        bind.beneficiary = beneficiary;
      }
      continue;
    }
    const std::string node =
        !pod->node.empty() ? std::string(pod->node) : (it != binds_.end() ? it->second.node : std::string());
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
    if (it != binds_.end()) forget_bind(uid);
    begin_eviction(*pod, reason, beneficiary, now);
  }
}

Carrier::Eviction& Carrier::add_eviction(const dialect::PodView& pod, kube::PodCondition condition) {
  const std::string uid(pod.uid);
  Eviction& eviction = evictions_[uid];
  eviction.ns = pod.ns;
  eviction.name = pod.name;
  eviction.uid = uid;
  eviction.workload = pod.workload;
  eviction.condition = std::move(condition);
  eviction.stage = Stage::kDone;
  return eviction;
}

void Carrier::begin_eviction(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary,
                             TimeMs now) {
  Eviction& eviction = add_eviction(pod, dialect::disruption_target(reason, beneficiary, now));
  endings_[eviction.workload].unmarked.insert(eviction.uid);
  listener_.on_evicting(pod, reason, beneficiary);
  send(eviction);
}

void Carrier::marked(const std::string& workload, const std::string& uid, bool is_marked) {
  const auto it = endings_.find(workload);
  if (it == endings_.end()) return;
  it->second.unmarked.erase(uid);
  if (is_marked) it->second.marked.push_back(uid);
  if (!it->second.unmarked.empty()) return;
  const std::vector<std::string> ready = std::move(it->second.marked);
  endings_.erase(it);
  for (const auto& pod : ready) {
    const auto eviction = evictions_.find(pod);
    if (eviction == evictions_.end()) continue;
    eviction->second.deleting = true;
    send(eviction->second);
  }
}

bool Carrier::resume_eviction(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now) {
  const auto pods = intake_.pods_of(workload);
  const auto announced =
      std::find_if(pods.begin(), pods.end(), [](const auto& pod) { return !pod.eviction.empty(); });
  if (announced == pods.end()) return false;
  std::vector<std::int64_t> staying(least.size(), 0);
  std::int64_t all_staying = 0;
  for (const auto& pod : pods) {
    if (pod.state != SlotState::kRunning || !pod.eviction.empty()) continue;
    ++all_staying;
    if (static_cast<std::size_t>(pod.pod_set) < staying.size())
      ++staying[static_cast<std::size_t>(pod.pod_set)];
  }
  bool broken = false;
  for (std::size_t i = 0; i < least.size(); ++i) broken |= all_staying > 0 && staying[i] < least[i];
  kube::PodCondition condition = dialect::disruption_target(Reason{}, "", now);
  condition.message = announced->eviction;
  Reason reason;
  reason.code = ReasonCode::kWithdrawn;
  reason.detail = fmt::format("its interrupted eviction is completed ({})", announced->eviction);
  Ending& ending = endings_[std::string(workload)];
  std::vector<std::string> unmarked;
  for (const auto& pod : pods) {
    if (pod.state != SlotState::kRunning || (pod.eviction.empty() && !broken)) continue;
    Eviction& eviction = add_eviction(pod, condition);
    eviction.marked = !pod.eviction.empty();
    if (eviction.marked) {
      ending.marked.push_back(eviction.uid);
    } else {
      ending.unmarked.insert(eviction.uid);
      listener_.on_evicting(pod, reason, "");
      unmarked.push_back(eviction.uid);
    }
    events_.push_back(
        SlotUpdate{std::string(workload), pod.pod_set, pod.index, SlotState::kReleasing, "", {}});
  }
  spdlog::warn("{}: its eviction was interrupted: {} marked pods are deleted, {} others are evicted too",
               workload_name(workload), ending.marked.size(), unmarked.size());
  for (const auto& uid : unmarked) send(evictions_.at(uid));
  marked(std::string(workload), "", false);
  return true;
}

void Carrier::send(Eviction& eviction) {
  set_stage(eviction.stage, Stage::kFlying);
  if (!eviction.deleting) {
    kube::Write write =
        kube::patch_pod_status(eviction.ns, eviction.name, eviction.uid, {eviction.condition});
    write.write_class = kube::WriteClass::kBind;  // room is waiting for it
    return outbox_.write(std::move(write), Step::kMark, eviction.uid);
  }
  outbox_.write(kube::delete_pod(eviction.ns, eviction.name, eviction.uid), Step::kDelete, eviction.uid);
}

void Carrier::eviction_answered(Answer&& answer, TimeMs now) {
  const auto it = evictions_.find(answer.uid);
  if (it == evictions_.end() || it->second.stage != Stage::kFlying) return;
  Eviction& eviction = it->second;
  const auto outcome = answer.result.outcome;
  switch (outcome) {
    case kube::Outcome::kOk:
      if (answer.step == Step::kDelete)
        return set_stage(eviction.stage, Stage::kDone);  // the watch says when it is gone
      eviction.marked = true;
      eviction.failures = 0;
      set_stage(eviction.stage, Stage::kDone);
      return marked(std::string(eviction.workload), std::string(eviction.uid), true);
    case kube::Outcome::kNotFound:
    case kube::Outcome::kConflict:  // another pod has its name by now
    case kube::Outcome::kGone:
      return vanished(std::string(answer.uid), std::string(eviction.ns), std::string(eviction.name));
    case kube::Outcome::kFenced:
      return set_stage(eviction.stage, Stage::kDone);
    case kube::Outcome::kForbidden:
    case kube::Outcome::kInvalid:
      spdlog::error("{} {}/{} was refused: {} {}",
                    answer.step == Step::kMark ? "the condition DisruptionTarget of" : "deleting",
                    eviction.ns, eviction.name, answer.result.reason, answer.result.message);
      break;
    default:
      break;
  }
  ++eviction.failures;
  set_stage(eviction.stage, Stage::kResting);
  timers_.emplace(now + pause(eviction.failures), Timer{TimerKind::kEviction, eviction.uid});
}

}  // namespace berth::scheduler
