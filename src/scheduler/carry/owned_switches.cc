#include "scheduler/carry/owned_switches.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace berth::scheduler {
namespace {

constexpr DurationMs kPatience = kSecond;  // with the controller
constexpr DurationMs kFirstPause = 5 * kSecond;
constexpr DurationMs kMostPause = kMinute;

}  // namespace

void OwnedSwitches::tick(TimeMs now) {
  std::map<std::string, Due> next;
  for (const dialect::SwitchToFollow& one : intake_.switches_to_follow()) {
    const auto known = due_.find(one.uid);
    const bool same = known != due_.end() && known->second.suspended == one.suspended;
    Due due = same ? known->second : Due{one.suspended, now + kPatience, kFirstPause};
    if (due.at <= now) {
      const dialect::Ask& ask = *intake_.owner(one.uid);
      outbox_.write(ask.kind->set_switch(ask, one.suspended), Step::kOwner, one.uid);
      due.at = now + due.pause;
      due.pause = std::min(2 * due.pause, kMostPause);
    }
    next.emplace(one.uid, due);
  }
  due_ = std::move(next);
}

TimeMs OwnedSwitches::next_due() const {
  TimeMs out = kEndOfTime;
  for (const auto& [uid, due] : due_) out = std::min(out, due.at);
  return out;
}

void OwnedSwitches::answered(const Answer& answer) const {
  const dialect::Ask* ask = intake_.owner(answer.uid);
  if (!due_.contains(answer.uid) || ask == nullptr || answer.result.outcome == kube::Outcome::kOk) return;
  spdlog::warn("{} {}/{} cannot be suspended or resumed with what has made it: {} {}", ask->kind->word(),
               ask->meta->ns, ask->meta->name, enum_name(answer.result.outcome), answer.result.message);
}

}  // namespace berth::scheduler
