#include "scheduler/carry/evictions.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"

namespace berth::scheduler {

Eviction& Evictions::add(const dialect::PodView& pod, kube::PodCondition condition) {
  Eviction& eviction = places_.add_eviction(pod.uid);
  eviction.ns = pod.ns;
  eviction.name = pod.name;
  eviction.uid = pod.uid;
  eviction.workload = pod.workload;
  eviction.condition = std::move(condition);
  eviction.stage = Stage::kDone;
  return eviction;
}

void Evictions::begin(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary,
                      TimeMs now) {
  Eviction& eviction = add(pod, dialect::disruption_target(reason, beneficiary, now));
  await(eviction.workload, eviction.uid);
  listener_.on_evicting(pod, reason, beneficiary);
  send(eviction);
}

void Evictions::marked(const std::string& workload, const std::string& uid, bool is_marked) {
  const auto it = endings_.find(workload);
  if (it == endings_.end()) return;
  it->second.unmarked.erase(uid);
  if (is_marked) it->second.marked.push_back(uid);
  if (!it->second.unmarked.empty()) return;
  const std::vector<std::string> ready = std::move(it->second.marked);
  endings_.erase(it);
  for (const auto& pod : ready) {
    Eviction* eviction = places_.eviction(pod);
    if (eviction == nullptr) continue;
    eviction->deleting = true;
    send(*eviction);
  }
}

void Evictions::gone(std::string_view uid) {
  const auto eviction = places_.take_eviction(uid);
  if (eviction && !eviction->marked) marked(eviction->workload, eviction->uid, false);
}

bool Evictions::resume(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now,
                       std::vector<Event>& events) {
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
    Eviction& eviction = add(pod, condition);
    eviction.marked = !pod.eviction.empty();
    if (eviction.marked) {
      ending.marked.push_back(eviction.uid);
    } else {
      ending.unmarked.insert(eviction.uid);
      listener_.on_evicting(pod, reason, "");
      unmarked.push_back(eviction.uid);
    }
    events.push_back(
        SlotUpdate{std::string(workload), pod.pod_set, pod.index, SlotState::kReleasing, "", {}});
  }
  const auto info = intake_.workload(workload);
  spdlog::warn("{}: its eviction was interrupted: {} marked pods are deleted, {} others are evicted too",
               info ? info->name : workload, ending.marked.size(), unmarked.size());
  for (const auto& uid : unmarked) send(*places_.eviction(uid));
  marked(std::string(workload), "", false);
  return true;
}

void Evictions::send(Eviction& eviction) {
  places_.set_stage(eviction.stage, Stage::kFlying);
  if (!eviction.deleting) {
    kube::Write write =
        kube::patch_pod_status(eviction.ns, eviction.name, eviction.uid, {eviction.condition});
    write.write_class = kube::WriteClass::kBind;  // room is waiting for it
    return outbox_.write(std::move(write), Step::kMark, eviction.uid);
  }
  outbox_.write(kube::delete_pod(eviction.ns, eviction.name, eviction.uid), Step::kDelete, eviction.uid);
}

const Eviction* Evictions::answered(const Answer& answer, TimeMs now) {
  Eviction* eviction = places_.eviction(answer.uid);
  if (eviction == nullptr || eviction->stage != Stage::kFlying) return nullptr;
  switch (answer.result.outcome) {
    case kube::Outcome::kOk:
      places_.set_stage(eviction->stage, Stage::kDone);
      if (answer.step == Step::kDelete) return nullptr;  // the watch says when it is gone
      eviction->marked = true;
      eviction->failures = 0;
      marked(std::string(eviction->workload), std::string(eviction->uid), true);
      return nullptr;
    case kube::Outcome::kNotFound:
    case kube::Outcome::kConflict:  // another pod has its name by now
    case kube::Outcome::kGone:
      return eviction;
    case kube::Outcome::kFenced:
      places_.set_stage(eviction->stage, Stage::kDone);
      return nullptr;
    case kube::Outcome::kForbidden:
    case kube::Outcome::kInvalid:
      spdlog::error("{} {}/{} was refused: {} {}",
                    answer.step == Step::kMark ? "the condition DisruptionTarget of" : "deleting",
                    eviction->ns, eviction->name, answer.result.reason, answer.result.message);
      break;
    default:
      break;
  }
  ++eviction->failures;
  places_.set_stage(eviction->stage, Stage::kResting);
  timers_.emplace(now + doubled(first_rest_, eviction->failures, most_rest_), eviction->uid);
  return nullptr;
}

void Evictions::tick(TimeMs now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Eviction* eviction = places_.eviction(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (eviction != nullptr && eviction->stage == Stage::kResting) send(*eviction);
  }
}

}  // namespace berth::scheduler
