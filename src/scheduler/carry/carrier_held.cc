// The part of Carrier (carrier.h) for starts that await admission, and for places of future pods.
#include <iterator>
#include <utility>

#include "scheduler/carry/carrier.h"

namespace berth::scheduler {

void Carrier::hold(const Decision& start) {
  const auto info = intake_.workload(start.workload);
  if (!info) return;
  held_.add(start, info->suspended ? info->owner->generation : 0);
  if (info->suspended || intake_.is_without_pods(start.workload)) intake_.set_reserved(start.workload, true);
}

void Carrier::join_held(Decision& start) {
  if (!held_.has(start.workload)) return;
  for (const SlotPlacement& slot : start.slots) (void)held_.drop(start.workload, slot.pod_set, slot.index);
  if (auto held = held_.take_placed(start.workload)) {
    start.slots.insert(start.slots.end(), std::make_move_iterator(held->slots.begin()),
                       std::make_move_iterator(held->slots.end()));
  }
  if (!held_.has(start.workload)) intake_.set_reserved(start.workload, false);
}

void Carrier::hand_over(const dialect::HandOver& what, TimeMs now) {
  auto held = held_.take(what.from);
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
  awaited_.forget(workload);
  if (!held_.has(workload)) return;
  held_.forget(workload);
  intake_.set_reserved(workload, false);
}

void Carrier::admit(std::string_view workload, std::vector<dialect::PodSetUpdate> updates, TimeMs now) {
  if (intake_.is_without_pods(workload)) return;  // its pod is still to come
  const std::string uid(workload);
  // Where its pods get a node selector, or a toleration, it is placed anew: the engine takes the places back (forget_held()).
  const bool anew = intake_.amend(uid, updates.empty() ? nullptr : &updates.front());
  if (updates.empty()) {
    updates_.erase(uid);
  } else {
    updates_.insert_or_assign(uid, std::move(updates));
  }
  if (anew) return;
  if (const auto decision = held_.take_placed(uid)) {
    start(*decision, now);
    if (!held_.has(uid)) intake_.set_reserved(uid, false);
  }
}

void Carrier::unadmit(std::string_view workload) {
  const std::string uid(workload);
  updates_.erase(uid);
  if (intake_.amend(uid, nullptr)) forget_held(uid);  // it is placed anew
}

void Carrier::owner_seen(std::string_view uid) {
  fit_places(uid);
  if (!held_.has(uid)) return;
  const auto info = intake_.workload(uid);
  const std::int64_t known = held_.generation(uid);
  if (known == 0 || (info && info->suspended && info->owner->generation == known)) return;
  // It is not what was decided about any more: nothing was written, so that its slots merely wait again.
  forget_held(uid);
  intake_.renew(uid);
}

bool Carrier::end_held(const Decision& eviction) {
  if (!held_.has(eviction.workload)) return false;
  const auto info = intake_.workload(eviction.workload);
  bool all = true;
  for (const SlotPlacement& slot : eviction.slots) {
    if (!held_.drop(eviction.workload, slot.pod_set, slot.index)) {
      all = false;
      continue;
    }
    const bool waits = (info && info->suspended) || intake_.is_without_pods(eviction.workload) ||
                       intake_.pod_at(eviction.workload, slot.pod_set, slot.index).has_value() ||
                       intake_.expects(eviction.workload, slot.pod_set, slot.index);
    events_.push_back(SlotUpdate{eviction.workload, slot.pod_set, slot.index,
                                 waits ? SlotState::kWaiting : SlotState::kGone, ""});
  }
  if (!held_.has(eviction.workload)) intake_.set_reserved(eviction.workload, false);
  return all;
}

bool Carrier::keeps_held(const SlotUpdate& update) {
  if (!held_.keeps(update.workload, update.pod_set, update.index)) return false;
  const auto info = intake_.workload(update.workload);
  if (info && info->suspended) return true;
  if (intake_.is_without_pods(update.workload)) return true;
  if (intake_.pod_at(update.workload, update.pod_set, update.index)) return true;
  if (intake_.expects(update.workload, update.pod_set, update.index)) return true;
  (void)held_.drop(update.workload, update.pod_set, update.index);  // its pod is gone
  return false;
}

bool Carrier::keeps_awaited(const SlotUpdate& update) {
  if (!awaited_.keeps(update.workload, update.pod_set, update.index)) return false;
  if (intake_.expects(update.workload, update.pod_set, update.index)) return true;
  (void)awaited_.drop(update.workload, update.pod_set, update.index);  // no pod is to come for it any more
  return false;
}

Labels Carrier::annotations_of(const dialect::PodView& pod) const {
  if (updates_.empty()) return {};
  const auto it = updates_.find(std::string(pod.workload));
  const dialect::OwnerKind* owner = dialect::owner_kind_of_word(pod.controller);
  if (it == updates_.end() || (owner != nullptr && owner->can_be_held())) return {};  // its template has them
  const auto sketch = intake_.sketch(pod.workload);
  if (!sketch || static_cast<std::size_t>(pod.pod_set) >= sketch->sets.size()) return {};
  const std::string& set = sketch->sets[static_cast<std::size_t>(pod.pod_set)].name;
  for (const auto& update : it->second) {
    if (update.name == set) return update.annotations;
  }
  return {};
}

}  // namespace berth::scheduler
