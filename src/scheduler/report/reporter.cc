#include "scheduler/report/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "dialect/base/message.h"
#include "dialect/write/writes.h"
#include "kube/clock.h"
#include "model/leading.h"

namespace berth::scheduler {

bool is_about_nodes(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
    case ReasonCode::kNodeUnschedulable:
    case ReasonCode::kNodeTaint:
    case ReasonCode::kNodeSelector:
    case ReasonCode::kNodeVolume:
    case ReasonCode::kNodeFlavor:
    case ReasonCode::kNodeResource:
    case ReasonCode::kNodeDevice:
    case ReasonCode::kNodePort:
    case ReasonCode::kNodeHeld:
    case ReasonCode::kNodeRoom:
    case ReasonCode::kNodeSize:
    case ReasonCode::kNodeApart:
    case ReasonCode::kNodeNear:
    case ReasonCode::kNodeSpread:
    case ReasonCode::kDomain:
    case ReasonCode::kTogether:
      return true;
    default:
      return false;
  }
}

bool same_words(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (true) {
    while (i < a.size() && digit(a[i])) ++i;
    while (j < b.size() && digit(b[j])) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i] != b[j]) return false;
    ++i;
    ++j;
  }
}

std::string_view condition_reason(const Reason& reason) {
  const ReasonCode code = leading_code(reason);
  if (is_about_nodes(code)) return "Unschedulable";
  if (code == ReasonCode::kNone) return "Pending";
  return enum_name(code);
}

Reporter::Reporter(const dialect::IntakeView& intake, const engine::Engine& engine, const Carrier& carrier,
                   Outbox& outbox, ReporterOptions options)
    : intake_(intake), engine_(engine), carrier_(carrier), outbox_(outbox), options_(std::move(options)) {}

void Reporter::schedule(const std::string& workload, TimeMs at) {
  due_.put(workload, at);
  next_due_ = std::min(next_due_, at);
}

void Reporter::changed(std::string_view workload, TimeMs now) {
  schedule(std::string(workload), now + options_.settle);
}

void Reporter::add_event(kube::EventNote event) {
  if (events_.size() >= options_.most_events) events_.pop_front();
  events_.push_back(std::move(event));
  next_due_ = 0;
}

void Reporter::forget(std::string_view pod_uid) {
  if (!told_.empty()) told_.erase(std::string(pod_uid));
  if (!freeing_.empty()) freeing_.erase(std::string(pod_uid));
}

void Reporter::failed(std::string_view pod_uid, TimeMs now) {
  forget(pod_uid);
  if (const auto pod = intake_.pod(pod_uid)) schedule(std::string(pod->workload), now + 5 * kSecond);
}

bool Reporter::is_news(const std::string& uid, const kube::PodCondition& condition, TimeMs now) const {
  const auto it = told_.find(uid);
  if (it == told_.end() || it->second.reason != condition.reason) return true;
  if (it->second.message == condition.message) return false;
  return now >= it->second.at +
                    (same_words(it->second.message, condition.message) ? options_.refresh : options_.settle);
}

bool Reporter::may_write(const std::string& uid, const kube::PodCondition& condition, Why why) {
  const auto it = told_.find(uid);
  const bool only_text = it != told_.end() && it->second.reason == condition.reason;
  if (why == Why::kRound && only_text && !refreshes_.has()) return false;
  if (!statuses_.take()) return false;
  if (why == Why::kRound && only_text) refreshes_.take();
  return true;
}

TimeMs Reporter::oldest_look() const {
  if (round_.empty()) return kEndOfTime;
  const auto it = looked_.find(round_.first());
  const bool fresh = it != looked_.end() && it->second == engine_.changes();
  return fresh ? kEndOfTime : round_.next();
}

std::optional<Verdict> Reporter::explain(const std::string& workload, TimeMs now, Why why, bool& starved) {
  const std::uint64_t changes = engine_.changes();
  const auto alike = engine_.alike(workload);
  const DurationMs age = why == Why::kNews ? options_.settle : options_.refresh;
  if (alike) {
    const auto it = explained_.find(*alike);
    if (it != explained_.end() && (it->second.changes == changes || it->second.at > now - age))
      return it->second.verdict;
  }
  if (why == Why::kRound && !explains_.take()) {
    starved = true;
    return std::nullopt;
  }
  auto verdict = engine_.explain(workload);
  if (!verdict) return std::nullopt;
  if (alike) explained_.insert_or_assign(*alike, Explained{*verdict, changes, now});
  return std::move(*verdict);
}

bool Reporter::starts_soon(const Verdict& verdict, const std::string& workload, const std::string& teller,
                           TimeMs now) {
  if (verdict.kind != VerdictKind::kHeld) {
    freeing_.erase(teller);
    return false;
  }
  if (told_.contains(teller)) return false;
  const TimeMs until = freeing_.try_emplace(teller, now + options_.room_is_freed).first->second;
  if (now >= until) return false;
  schedule(workload, until);
  return true;
}

// Pods of subgroups whose turn has not come.
bool Reporter::look_at_later(const std::string& workload, const std::vector<dialect::PodView>& pods,
                             TimeMs now, Why why, bool& waits) {
  waits = false;
  for (const auto& pod : pods) {
    if (!pod.node.empty() || pod.state != SlotState::kAbsent || pod.later == nullptr) continue;
    waits = true;
    const Reason* blocked = intake_.blocked(workload);
    const Reason reason = dialect::readable(blocked != nullptr ? *blocked : *pod.later, intake_);
    kube::PodCondition condition = dialect::unschedulable(reason, now);
    condition.reason = condition_reason(reason);
    if (!tell(pod, reason, condition, now, why)) return false;
  }
  return true;
}

bool Reporter::look_at_volumes(const std::string& workload, const std::vector<dialect::PodView>& pods,
                               TimeMs now, Why why, bool& waits) {
  const auto reason = carrier_.volumes_waited_for(workload);
  if (!reason) return true;
  waits = true;
  kube::PodCondition condition = dialect::unschedulable(*reason, now);
  condition.reason = condition_reason(*reason);
  for (const auto& pod : pods) {
    const Bind* bind = carrier_.places().bind(pod.uid);
    const bool is_waiting = bind != nullptr && bind->stage == Stage::kWaits;
    if (is_waiting && !tell(pod, *reason, condition, now, why)) return false;
  }
  return true;
}

bool Reporter::look(const std::string& workload, TimeMs now, Why why, bool& waits) {
  const auto pods = intake_.pods_of(workload);
  if (!look_at_later(workload, pods, now, why, waits)) return false;
  if (!look_at_volumes(workload, pods, now, why, waits)) return false;
  const auto pod_waits = [&](const dialect::PodView& pod) {
    return pod.node.empty() && pod.state == SlotState::kWaiting && !carrier_.places().is_binding(pod.uid);
  };
  const auto info = intake_.workload(workload);
  const bool held = info && info->suspended;  // a Job without pods: it is told itself
  if (!held && std::none_of(pods.begin(), pods.end(), pod_waits)) return true;
  waits = true;
  if (carrier_.places().holds(workload) && !carrier_.places().is_out(workload))
    return look_at_held(held ? &*info : nullptr, pods, now, why);
  std::optional<Reason> reason;
  if (const Reason* blocked = intake_.blocked(workload)) {
    reason = *blocked;
  } else {
    bool starved = false;
    auto verdict = explain(workload, now, why, starved);
    if (starved) return false;
    if (!verdict || verdict->kind == VerdictKind::kPlaced) return true;
    const auto first = std::find_if(pods.begin(), pods.end(), pod_waits);
    if (starts_soon(*verdict, workload, held ? workload : std::string(first->uid), now)) return true;
    reason = std::move(verdict->reason);
  }
  reason = dialect::readable(std::move(*reason), intake_);
  kube::PodCondition condition = dialect::unschedulable(*reason, now);
  condition.reason = condition_reason(*reason);
  if (condition.message.empty()) condition.message = "not evaluated yet";
  if (const auto not_asked = why_not_ ? why_not_(workload, now) : std::nullopt) {
    if (condition.reason == "Unschedulable") condition.reason = "NodesNotAsked";
    condition.message = dialect::bounded(fmt::format("{}: {}", *not_asked, condition.message));
  }
  if (held) return tell(*info, condition, now, why);
  for (const auto& pod : pods) {
    if (pod_waits(pod) && !tell(pod, *reason, condition, now, why)) return false;
  }
  return true;
}

bool Reporter::look_in_round(TimeMs now, bool& starved) {
  const TimeMs oldest = oldest_look();
  if (oldest == kEndOfTime || oldest > now - options_.refresh) return false;
  if (!looks_.take()) {
    starved = true;
    return false;
  }
  const std::string workload = round_.take();
  bool waits = false;
  if (!look(workload, now, Why::kRound, waits)) {
    round_.put(workload, oldest);
    starved = true;
    return false;
  }
  if (waits) {
    round_.put(workload, now);
    looked_[workload] = engine_.changes();
  } else {
    looked_.erase(workload);
  }
  return true;
}

bool Reporter::look_at_held(const dialect::WorkloadInfo* job, const std::vector<dialect::PodView>& pods,
                            TimeMs now, Why why) {
  const Reason reason;
  kube::PodCondition condition = dialect::unschedulable(reason, now);
  condition.message =
      "its quota and nodes are reserved; it waits for its admission checks, or for pods that were admitted "
      "before (blockAdmission): see its Workload";
  condition.reason = "Reserved";
  if (job != nullptr) return tell(*job, condition, now, why);
  for (const auto& pod : pods) {
    const bool waits = pod.node.empty() && pod.state == SlotState::kWaiting;
    if (waits && !tell(pod, reason, condition, now, why)) return false;
  }
  return true;
}

bool Reporter::tell(const dialect::WorkloadInfo& job, const kube::PodCondition& condition, TimeMs now,
                    Why why) {
  const std::string workload(job.uid);
  const auto it = told_.find(workload);
  // It is told by an event, and each is one more object: only where there is another reason, or other words.
  if (it != told_.end() && it->second.reason == condition.reason &&
      same_words(it->second.message, condition.message) && now < it->second.at + options_.owner_refresh)
    return true;
  if (!is_news(workload, condition, now)) return true;
  if (!may_write(workload, condition, why)) return false;
  add_event(
      dialect::owner_event(*job.owner, "Waiting", condition.message, options_.instance, kube::wall_us()));
  told_[workload] = Told{condition.reason, condition.message, now, {}};
  return true;
}

bool Reporter::tell(const dialect::PodView& pod, const Reason& reason, const kube::PodCondition& condition,
                    TimeMs now, Why why) {
  const std::string uid(pod.uid);
  const auto it = told_.find(uid);
  const bool fresh = it == told_.end();
  const std::string node = nominated(pod);
  const bool other_node = node != (fresh ? pod.nominated : it->second.nominated);
  if (!other_node && !is_news(uid, condition, now)) return true;
  const bool large = pod.bytes > options_.large_pod;
  if (large && !large_bytes_.has()) {
    schedule(std::string(pod.workload), now + large_bytes_.wait(options_.large_bytes_per_second));
    return true;
  }
  if (!may_write(uid, condition, why)) return false;
  if (large) large_bytes_.spend(pod.bytes);
  kube::PodCondition written = condition;
  if (!fresh) written.last_transition_ms = 0;  // it was False before
  kube::Write write = kube::patch_pod_status(pod.ns, pod.name, pod.uid, {std::move(written)},
                                             other_node ? std::optional(node) : std::nullopt);
  write.replace_key = "status/" + uid;
  outbox_.write(std::move(write), Step::kStatus, uid);
  if (fresh || it->second.reason != condition.reason) {
    kube::EventNote event = dialect::failed_event(pod, reason, options_.instance, kube::wall_us());
    event.note = condition.message;
    add_event(std::move(event));
  }
  told_[uid] = Told{condition.reason, condition.message, now, node};
  return true;
}

std::string Reporter::nominated(const dialect::PodView& pod) const {
  const auto slot = engine_.slot(pod.workload, pod.pod_set, pod.index);
  return slot && slot->state == SlotState::kHeld ? std::string(slot->node) : std::string();
}

bool Reporter::work(TimeMs now, Load load, int most) {
  // People wait for reasons, also in a burst.
  const Load told = load == Load::kBurst ? Load::kBinds : load;
  const auto rate = [&](std::int64_t trickle, std::int64_t most_per_second, std::size_t waiting) {
    return giving_way(told, trickle, most_per_second, waiting, options_.within);
  };
  statuses_.refill(now, rate(options_.busy_statuses_per_second, options_.statuses_per_second, due_.size()),
                   options_.statuses_per_second / 10 + 1);
  large_bytes_.refill(now, options_.large_bytes_per_second, 1);
  refreshes_.refill(now,
                    rate(options_.busy_refreshes_per_second, options_.refreshes_per_second, looked_.size()),
                    options_.refreshes_per_second / 2 + 1);
  looks_.refill(now, options_.looks_per_second, options_.looks_per_second / 10 + 1);
  explains_.refill(now,
                   rate(options_.busy_explains_per_second, options_.explains_per_second, explained_.size()),
                   options_.explains_per_second / 10 + 1);
  if (now >= swept_ + kMinute) {
    swept_ = now;
    std::erase_if(explained_, [&](const auto& entry) { return entry.second.at <= now - options_.refresh; });
  }
  event_allowance_.refill(now,
                          giving_way(load, options_.busy_events_per_second, options_.events_per_second,
                                     events_.size(), options_.within),
                          options_.events_per_second / 10 + 1);
  bool any = false;
  bool starved = false;
  for (; most > 0 && due_.next() <= now; --most) {
    if (!statuses_.has()) {
      starved = true;
      break;
    }
    const std::string workload = due_.take();
    any = true;
    bool waits = false;
    if (!look(workload, now, Why::kNews, waits)) {
      schedule(workload, now);
      starved = true;
      break;
    }
    if (!waits) continue;
    round_.set(workload, now);
    looked_[workload] = engine_.changes();
  }
  for (; most > 0 && !starved && look_in_round(now, starved); --most) any = true;
  for (; most > 0 && !events_.empty(); --most) {
    if (!event_allowance_.take()) {
      starved = true;
      break;
    }
    const kube::EventNote event = std::move(events_.front());
    events_.pop_front();
    const std::string name = kube::event_name(event, ++event_number_);
    outbox_.write(kube::create_event(event, name), Step::kEvent, event.regarding.uid);
    any = true;
  }
  constexpr DurationMs kStarved = 20;
  if (starved) {
    next_due_ = now + kStarved;
  } else {
    const TimeMs oldest = oldest_look();
    const TimeMs round = oldest == kEndOfTime ? kEndOfTime : oldest + options_.refresh;
    next_due_ = !events_.empty() ? now : std::min(due_.next(), round);
  }
  return any && !starved;
}

}  // namespace berth::scheduler
