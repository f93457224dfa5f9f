// The part of Carrier (carrier.h) for starts that await admission, and for places of future pods.
#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/carry/carrier.h"

namespace berth::scheduler {
namespace {

// An elastic owner is smaller than it was when it was released: places of pods that will not come go back.
void fit_places(std::string_view uid, const dialect::IntakeView& intake, const Places& places, Owners& owners,
                std::vector<Event>& events) {
  const std::size_t open = places.promised(uid, Comes::kOfRelease);
  if (open == 0) return;
  const auto info = intake.workload(uid);
  if (!info || !info->elastic) return;
  const auto pods = intake.pods_of(uid);
  const auto stays = std::count_if(pods.begin(), pods.end(),
                                   [](const auto& pod) { return pod.state != SlotState::kReleasing; });
  for (std::int64_t excess = stays + static_cast<std::int64_t>(open) - info->least; excess > 0; --excess) {
    const auto place = owners.give_up_last(uid);
    if (!place) return;
    events.push_back(SlotUpdate{std::string(uid), place->pod_set, place->index, SlotState::kGone, ""});
  }
}

}  // namespace

void Carrier::hold(const Decision& start) {
  const auto info = intake_.workload(start.workload);
  if (!info) return;
  places_.hold(start, info->suspended ? info->owner->generation : 0,
               info->suspended || intake_.is_without_pods(start.workload));
}

void Carrier::join_held(Decision& start) {
  if (!places_.holds(start.workload)) return;
  for (const SlotPlacement& slot : start.slots) {
    if (places_.holds(start.workload, slot.pod_set, slot.index))
      (void)places_.drop(start.workload, slot.pod_set, slot.index);
  }
  if (auto held = places_.take_placed(start.workload)) {
    start.slots.insert(start.slots.end(), std::make_move_iterator(held->slots.begin()),
                       std::make_move_iterator(held->slots.end()));
  }
  places_.end_reservation(start.workload);
}

void Carrier::hand_over(const dialect::HandOver& what, TimeMs now) {
  auto held = places_.take_held(what.from);
  if (!held || what.sets.empty()) return;
  held->workload = what.to;
  for (SlotPlacement& slot : held->slots) {
    const auto set = static_cast<std::size_t>(slot.pod_set);
    SlotUpdate update{what.to, what.sets[set], slot.index, SlotState::kBinding, slot.node, slot.devices};
    for (const FlavorChoice& choice : held->flavors) {
      if (choice.pod_set == slot.pod_set) update.flavors.push_back({choice.resource, choice.flavor});
    }
    if (!what.first.empty()) update.index += what.first[set];
    slot.pod_set = update.pod_set;
    slot.index = update.index;
    events_.push_back(std::move(update));
  }
  for (FlavorChoice& choice : held->flavors)
    choice.pod_set = what.sets[static_cast<std::size_t>(choice.pod_set)];
  if (what.first.empty()) return hold(*held);
  start(*held, now);  // its owner runs, and makes the pods that it lacks
}

void Carrier::forget_held(std::string_view workload) {
  places_.forget_promised(workload, Comes::kOfGroup);
  places_.forget_held(workload);
  places_.forget_out(workload);
}

void Carrier::admit(std::string_view workload, std::vector<dialect::PodSetUpdate> updates, TimeMs now) {
  if (intake_.is_without_pods(workload)) return;  // its pod is still to come
  const std::string uid(workload);
  // Where its pods get a node selector, or a toleration, it is placed anew: the engine takes the places back (forget_held()).
  const bool anew = intake_.amend(uid, updates);
  bind_data_.set_updates(uid, std::move(updates));
  if (anew) return;
  if (const auto decision = places_.take_placed(uid)) {
    start(*decision, now);
    places_.end_reservation(uid);
  }
}

void Carrier::unadmit(std::string_view workload) {
  const std::string uid(workload);
  bind_data_.forget(uid);
  if (intake_.amend(uid, {})) forget_held(uid);  // it is placed anew
}

void Carrier::owner_seen(std::string_view uid) {
  fit_places(uid, intake_, places_, owners_, events_);
  if (places_.is_out(uid)) {
    const auto info = intake_.workload(uid);
    if (!info || !info->suspended) return;
    places_.forget_out(uid);  // another client has suspended it
    return intake_.renew(uid);
  }
  if (!places_.holds(uid)) return;
  const auto info = intake_.workload(uid);
  const std::int64_t known = places_.generation(uid);
  if (known == 0 || (info && info->suspended && info->owner->generation == known)) return;
  // It is not what was decided about any more: nothing was written, so that its slots merely wait again.
  forget_held(uid);
  intake_.renew(uid);
}

bool Carrier::end_held(const Decision& eviction) {
  const bool out = places_.is_out(eviction.workload);
  if (!out && !places_.holds(eviction.workload)) return false;
  const auto info = intake_.workload(eviction.workload);
  bool all = true;
  for (const SlotPlacement& slot : eviction.slots) {
    if (!out && !places_.holds(eviction.workload, slot.pod_set, slot.index)) {
      all = false;
      continue;
    }
    (void)places_.drop(eviction.workload, slot.pod_set, slot.index);
    const bool waits = (info && info->suspended) || intake_.is_without_pods(eviction.workload) ||
                       intake_.pod_at(eviction.workload, slot.pod_set, slot.index).has_value() ||
                       intake_.expects(eviction.workload, slot.pod_set, slot.index);
    events_.push_back(SlotUpdate{eviction.workload, slot.pod_set, slot.index,
                                 waits ? SlotState::kWaiting : SlotState::kGone, ""});
  }
  places_.end_reservation(eviction.workload);
  if (out && places_.size(eviction.workload) == 0) places_.forget_out(eviction.workload);
  return all;
}

}  // namespace berth::scheduler
