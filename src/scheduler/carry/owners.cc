#include "scheduler/carry/owners.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "dialect/write/writes.h"

namespace berth::scheduler {
namespace {

// Thousands of owners may be released at once; to wait in the writer's queue is no failure.
constexpr DurationMs kWriteTime = 5 * kMinute;
constexpr DurationMs kMostWaits = 20;  // times pods_within

// "Job default/train"
std::string name_of(const dialect::Ask& ask) {
  return fmt::format("{} {}/{}", ask.kind->word(), ask.meta->ns, ask.meta->name);
}

}  // namespace

const dialect::Ask& Owners::ask_of(const std::string& workload, const Entry& entry) const {
  const dialect::Ask* now = intake_.owner(workload);
  return now != nullptr ? *now : entry.ask;
}

kube::Write Owners::release_of(const std::string& workload, Entry& entry) const {
  const dialect::Ask& ask = ask_of(workload, entry);
  auto release = ask.kind->release(ask, {entry.ask.generation, intake_.granted(workload), entry.updates});
  entry.reduced = entry.reduced || release.reduces;
  entry.changes_template = release.changes_template;
  return std::move(release.write);
}

void Owners::send(const std::string& workload, Entry& entry) {
  entry.settled = entry.unread = false;
  entry.flying = true;
  ++flying_;
  entry.wrote_suspend = entry.suspend;
  const dialect::Ask& ask = ask_of(workload, entry);
  kube::Write write = entry.suspend ? ask.kind->suspend(ask, entry.reduced) : release_of(workload, entry);
  write.deadline = kWriteTime;
  outbox_.write(std::move(write), Step::kOwner, workload);
}

void Owners::make_changeable(const std::string& workload, Entry& entry) {
  entry.flying = true;
  ++flying_;
  entry.made_changeable = entry.making = true;
  const dialect::Ask& ask = ask_of(workload, entry);
  kube::Write write = ask.kind->make_changeable(ask);
  write.deadline = kWriteTime;
  outbox_.write(std::move(write), Step::kOwner, workload);
}

void Owners::read_back(const std::string& workload, Entry& entry) {
  entry.flying = entry.reading = true;
  entry.unread = false;
  ++flying_;
  outbox_.read(entry.ask.kind->path().object(entry.ask.meta->ns, entry.ask.meta->name), workload,
               Step::kOwner);
}

void Owners::settle(const std::string& workload) {
  const auto it = entries_.find(workload);
  if (it == entries_.end() || !it->second.settled || expects_pods_of(workload)) return;
  if (it->second.suspend || it->second.deadline != 0)
    return;  // its pods are still there, or are being decided anew
  entries_.erase(it);
  misses_.erase(workload);
  intake_.set_released(workload, false);
}

void Owners::all_taken(const std::string& workload) {
  const auto it = entries_.find(workload);
  if (it == entries_.end()) return;
  it->second.deadline = 0;
  settle(workload);
}

void Owners::release(const std::string& workload, std::vector<SlotPlacement> places, TimeMs now,
                     std::vector<dialect::PodSetUpdate> updates) {
  const auto info = intake_.workload(workload);
  if (!info || info->owner == nullptr || places.empty()) return;
  Entry& entry = entries_[workload];
  places_.forget_promised(workload, Comes::kOfRelease);
  entry.ask = *info->owner;
  entry.revision = info->revision;
  entry.updates = std::move(updates);
  entry.made_changeable = false;
  entry.suspend = false;
  entry.ending.reset();
  entry.released = now;
  entry.deadline = 0;
  for (auto& place : places) places_.promise(workload, Comes::kOfRelease, std::move(place));
  intake_.set_released(workload, true);
  if (!entry.flying) send(workload, entry);
}

std::optional<SlotPlacement> Owners::take(const dialect::PodView& pod, TimeMs now) {
  if (!expects_pods_of(pod.workload)) return std::nullopt;
  const std::string workload(pod.workload);
  Entry& entry = entries_.at(workload);
  last_arrival_ = now;
  const auto info = intake_.workload(pod.workload);
  if (info && info->revision != entry.revision) {
    spdlog::info("{}: its pods differ from its template; Berth places them again", name_of(entry.ask));
    places_.forget_promised(workload, Comes::kOfRelease);
    entry.deadline = now + pods_within(entry);
    timers_.emplace(entry.deadline, workload);
    return std::nullopt;
  }
  auto out = places_.take(workload, Comes::kOfRelease, pod.pod_set, pod.index);
  if (out && !expects_pods_of(workload)) all_taken(workload);
  return out;
}

void Owners::give_up(std::string_view workload, std::int64_t pod_set, std::int64_t index) {
  const bool was = places_.take(workload, Comes::kOfRelease, pod_set, index).has_value();
  if (was && !expects_pods_of(workload)) all_taken(std::string(workload));
}

std::optional<SlotPlacement> Owners::give_up_last(std::string_view workload) {
  auto last = places_.take_last(workload, Comes::kOfRelease);
  if (last && !expects_pods_of(workload)) all_taken(std::string(workload));
  return last;
}

const dialect::OwnerKind* Owners::kind_of(std::string_view workload) const {
  const auto it = entries_.find(std::string(workload));
  if (it != entries_.end()) return it->second.ask.kind;
  const dialect::Ask* ask = intake_.owner(workload);
  return ask == nullptr ? nullptr : ask->kind;
}

std::optional<Decision> Owners::ending(std::string_view workload) const {
  const auto it = entries_.find(std::string(workload));
  return it == entries_.end() ? std::nullopt : it->second.ending;
}

void Owners::suspend(const Decision& decision, Rest how, TimeMs now) {
  const std::string& workload = decision.workload;
  const dialect::Ask* ask = intake_.owner(workload);  // also of one that has finished meanwhile
  if (ask == nullptr) return;
  Entry& entry = entries_[workload];
  places_.forget_promised(workload, Comes::kOfRelease);
  entry.ask = *ask;
  entry.suspend = true;
  entry.settled = false;
  entry.ending = decision;
  intake_.set_released(workload, false);
  intake_.renew(workload);
  if (decision.reason.code == ReasonCode::kWithdrawn && !intake_.is_stopped(workload)) {
    const DurationMs time = how == Rest::kShort
                                ? options_.first_rest
                                : doubled(options_.first_rest, misses_[workload]++, options_.most_rest);
    rest(workload, decision.reason.detail, time, now);
  }
  if (!entry.flying) send(workload, entry);
}

void Owners::rest(const std::string& workload, std::string why, DurationMs time, TimeMs now) {
  Reason reason;
  reason.code = ReasonCode::kWithdrawn;
  reason.detail = fmt::format("{}; it is tried again in {}", why,
                              time < kSecond ? "a moment" : fmt::format("{} s", time / kSecond));
  rests_[workload] = now + time;
  timers_.emplace(now + time, workload);
  intake_.set_rest(workload, std::move(reason));
}

// Its places are given back, and the owner is decided again after a pause.
void Owners::take_back(const std::string& workload, std::string why, TimeMs now) {
  places_.forget_promised(workload, Comes::kOfRelease);
  entries_.erase(workload);
  intake_.set_released(workload, false);
  intake_.renew(workload);
  const DurationMs time = doubled(options_.first_pause, failures_[workload]++, options_.most_pause);
  rest(workload, std::move(why), time, now);
}

std::optional<Decision> Owners::answered(const Answer& answer, TimeMs now) {
  owned_.answered(answer);
  const auto it = entries_.find(answer.uid);
  if (it == entries_.end() || !it->second.flying) return std::nullopt;
  Entry& entry = it->second;
  entry.flying = false;
  --flying_;
  const bool made = std::exchange(entry.making, false);
  const bool read = std::exchange(entry.reading, false);
  auto outcome = answer.result.outcome;
  if (read && outcome == kube::Outcome::kOk) {
    const dialect::Ask* ask = intake_.owner(answer.uid);  // taken in from this answer
    outcome = ask == nullptr    ? kube::Outcome::kGone
              : !ask->suspended ? kube::Outcome::kOk
                                : kube::Outcome::kConflict;
  }
  if (outcome == kube::Outcome::kFenced) return std::nullopt;  // another replica leads
  if (outcome != kube::Outcome::kOk) {
    spdlog::info("{} {}: {} {} {}", entry.wrote_suspend ? "suspending" : "releasing", name_of(entry.ask),
                 enum_name(outcome), answer.result.reason, answer.result.message);
  }
  if (outcome == kube::Outcome::kNotFound || outcome == kube::Outcome::kGone) {
    take_back(answer.uid, fmt::format("its {} is gone", entry.ask.kind->word()),
              now);  // the watch will say the same
    return std::nullopt;
  }
  const bool otherwise = entry.suspend != entry.wrote_suspend;  // decided meanwhile
  if (otherwise || (made && outcome == kube::Outcome::kOk)) {
    send(answer.uid, entry);
    return std::nullopt;
  }
  if (outcome == kube::Outcome::kOk) {
    failures_.erase(answer.uid);
    entry.settled = true;
    if (!entry.suspend && expects_pods_of(answer.uid)) {
      entry.deadline = now + pods_within(entry);
      timers_.emplace(entry.deadline, answer.uid);
    }
    if (entry.suspend) timers_.emplace(now + options_.most_pause, answer.uid);
    settle(answer.uid);
    return std::nullopt;
  }
  if (entry.suspend) return suspension_failed(answer, entry, now);
  release_failed(answer, entry, {outcome, read, made}, now);
  return std::nullopt;
}

std::optional<Decision> Owners::suspension_failed(const Answer& answer, Entry& entry, TimeMs now) {
  const auto outcome = answer.result.outcome;
  const bool refused = outcome == kube::Outcome::kForbidden || outcome == kube::Outcome::kInvalid;
  if (refused && entry.ending) {
    spdlog::warn("{} cannot be suspended ({}): its pods are deleted", name_of(entry.ask),
                 answer.result.message);
    Decision by_pod = std::move(*entry.ending);
    entries_.erase(answer.uid);
    return by_pod;
  }
  ++failures_[answer.uid];
  timers_.emplace(now + doubled(options_.first_pause, failures_[answer.uid], options_.most_pause),
                  answer.uid);
  return std::nullopt;
}

void Owners::release_failed(const Answer& answer, Entry& entry, const Released& released, TimeMs now) {
  const auto [outcome, read, made] = released;
  if (read && outcome != kube::Outcome::kConflict) {
    entry.unread = true;
    timers_.emplace(now + doubled(options_.first_pause, failures_[answer.uid]++, options_.most_pause),
                    answer.uid);
    return;
  }
  const bool lost = outcome == kube::Outcome::kUnknown || answer.result.maybe_done;
  if (lost && !read && !made && outcome != kube::Outcome::kForbidden) return read_back(answer.uid, entry);
  if (outcome == kube::Outcome::kInvalid && entry.changes_template && !entry.made_changeable &&
      entry.ask.kind->make_changeable != nullptr)
    return make_changeable(answer.uid, entry);
  std::string why = "the API server did not accept its release";
  if (outcome == kube::Outcome::kForbidden)
    why = fmt::format("Berth may not {} its {} ({})", made ? "write the status of" : "unsuspend",
                      entry.ask.kind->word(), answer.result.message);
  if (outcome == kube::Outcome::kInvalid || outcome == kube::Outcome::kConflict)
    why = "it changed while it was released";
  take_back(answer.uid, std::move(why), now);
}

void Owners::forget(std::string_view workload) {
  const std::string uid(workload);
  failures_.erase(uid);
  misses_.erase(uid);
  if (rests_.erase(uid) > 0) intake_.set_rest(uid, std::nullopt);
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return;
  if (it->second.flying) --flying_;
  places_.forget_promised(uid, Comes::kOfRelease);
  entries_.erase(it);
  intake_.set_released(uid, false);
}

void Owners::late(const std::string& workload, Entry& entry, TimeMs now) {
  const DurationMs within = pods_within(entry);
  const TimeMs heard = std::max(entry.deadline, last_arrival_ + within);
  const TimeMs most = entry.released + kMostWaits * within;
  const std::size_t open = places_.promised(workload, Comes::kOfRelease);
  if (open > 0 && heard > now && now < most) {
    entry.deadline = std::min(heard, most);
    timers_.emplace(entry.deadline, workload);
    return;
  }
  const auto waiting = intake_.pods_of(workload);
  const bool all_bound = open == 0 && !waiting.empty() &&
                         std::all_of(waiting.begin(), waiting.end(), [&](const dialect::PodView& pod) {
                           return !pod.node.empty() || places_.holds(workload, pod.pod_set, pod.index);
                         });
  entry.deadline = 0;
  if (all_bound) return settle(workload);
  const std::string why =
      open == 0
          ? fmt::format("its pods differ from its template, and did not fit within {} s", within / kSecond)
          : fmt::format("{} of its pods were not created within {} s of its release", open,
                        (now - entry.released) / kSecond);
  spdlog::warn("{}: {}; it is suspended again", name_of(entry.ask), why);
  // The engine evicts slots with a place, which leads to suspend(). If there are none, there is no such decision.
  events_.push_back(Withdraw{workload, why});
  if (open > 0) return;
  Decision end;
  end.kind = DecisionKind::kEvict;
  end.workload = workload;
  end.reason.code = ReasonCode::kWithdrawn;
  end.reason.detail = why;
  suspend(end, Rest::kGrows, now);
}

void Owners::tick(TimeMs now) {
  owned_.tick(now);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::string workload = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (const auto it = rests_.find(workload); it != rests_.end() && it->second <= now) {
      rests_.erase(it);
      intake_.set_rest(workload, std::nullopt);
    }
    const auto it = entries_.find(workload);
    if (it == entries_.end()) continue;
    Entry& entry = it->second;
    if (entry.suspend && !entry.flying) {
      const auto info = intake_.workload(workload);
      if (entry.settled && (!info || info->pods == 0)) {
        entries_.erase(it);
      } else if (!entry.settled || (info && !info->suspended)) {
        send(workload, entry);  // again, if another client released it before its pods were gone
      } else {
        timers_.emplace(now + options_.most_pause, workload);
      }
    } else if (!entry.suspend && entry.unread && !entry.flying) {
      read_back(workload, entry);
    } else if (!entry.suspend && entry.deadline != 0 && entry.deadline <= now) {
      late(workload, entry, now);
    }
  }
}

}  // namespace berth::scheduler
