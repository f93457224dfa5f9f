#include "dialect/intake/draft_rules.h"

#include <algorithm>
#include <string>

#include "dialect/base/names.h"

namespace berth::dialect {

// Pods of one of its sets that it is to have places for.
std::int64_t places_of(const Draft& draft, const Ask& ask, std::size_t set) {
  if (draft.too_many) return set == 0 ? 1 : 0;
  const std::int64_t size = ask.sets[set].size;
  return draft.granted > 0 ? std::min(draft.granted, size) : size;
}

bool DraftRules::is_ours(const Pod& pod) const {
  // The API server allows no client to add or remove this mark. An owner of kind Node proves nothing: any user with the right to
  // patch a pod can write it.
  return !pod.meta.annotations.contains(kMirrorPod) && books_.config.answers_to(pod.spec.scheduler_name);
}

bool DraftRules::may_hold(const Ask& ask) const {
  const bool queued = std::any_of(ask.sets.begin(), ask.sets.end(),
                                  [&](const AskedSet& set) { return names_a_queue(*ask.meta, *set.marks); });
  if (!books_.config.hold_owners || !ask.kind->can_be_held() || ask.finished || ask.meta->deleting ||
      !queued || ask.is_led)
    return false;
  Pod pod;
  pod.meta = *ask.sets.front().marks;
  pod.meta.controller = Owner{std::string(ask.kind->word()), ask.meta->name, ask.meta->uid};
  pod.spec.scheduler_name = ask.sets.front().spec->scheduler_name;
  return is_ours(pod) && membership_of(pod, gang_named_by(pod.meta), &ask).kind == GangKind::kOwner;
}

bool DraftRules::holds(const Draft& draft) const {
  const OwnerRecord* record = draft.released ? nullptr : books_.owner_of(draft);
  return record != nullptr && record->ask.suspended && record->ask.size() > 0 && may_hold(record->ask);
}

bool DraftRules::keeps(const Draft& draft) const {
  if (!draft.released) return holds(draft);
  const OwnerRecord* record = books_.owner_of(draft);
  return record != nullptr && may_hold(record->ask);
}

// If all pods of an owner have been replaced, only its status shows that it ran.
bool DraftRules::is_admitted(const Draft& draft) const {
  if (draft.object != nullptr) return false;
  const OwnerRecord* record = books_.owner_of(draft);
  if (record != nullptr && record->ask.suspended) return draft.released;
  // More than it was admitted with waits for its turn.
  if (may_grow(draft)) return draft.bound > 0 && draft.size <= draft.whole;
  return draft.bound > 0 || draft.released || (record != nullptr && record->ask.has_run);
}

bool DraftRules::may_grow(const Draft& draft) const {
  const OwnerRecord* record = books_.owner_of(draft);
  return record != nullptr && record->ask.elastic;
}

// If it has pods, some slots do not wait, because these pods are about to end: it would start smaller for that alone.
bool DraftRules::may_shrink(const Draft& draft, const Ask& ask) const {
  return holds(draft) && !draft.too_many && draft.pods == 0 && draft.roles.size() == 1 &&
         draft.granted == 0 && !draft.sized && !draft.reserved && ask.least() && *ask.least() < ask.size();
}

bool DraftRules::starts_with_fewer(const Draft& draft, const Ask& ask) const {
  if (books_.config.hold_owners) return may_shrink(draft, ask);
  // A plan makes the pods of a suspended owner at once.
  return ask.suspended && ask.least() && *ask.least() < draft.size && draft.bound == 0 &&
         draft.roles.size() == 1;
}

// A pod that has ended well is not made again. While the gang runs, its slot stays part of the gang, so that the others are no surplus
// that may be taken one by one. A gang that must start (again) is made of those that are left.
std::int64_t DraftRules::size_of_owner(Draft& draft, const Ask& ask) const {
  if (draft.bound == 0 || ask.suspended) draft.whole = 0;
  std::int64_t size = ask.makes_pods ? 0 : draft.pods;
  for (std::size_t s = 0; ask.makes_pods && s < ask.sets.size(); ++s) size += places_of(draft, ask, s);
  size = std::max<std::int64_t>(1, std::max(size, std::min(ask.most(), draft.whole)));
  if (draft.bound >= size) draft.whole = size;
  return size;
}

// Size = the members asked for minus the members that succeeded, as for an owner (size_of_owner). Exception: a gang that ran whole and
// lost no running pod keeps its full size. Otherwise its pods would become surplus, and could be preempted one by one. The
// exception does not hold while a replacement pod waits or is to come: the gang would wait for members that have ended.
std::int64_t DraftRules::size_of_group(Draft& draft, std::int64_t asked) const {
  if (draft.bound == 0) draft.whole = 0;
  const std::int64_t ended = books_.ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
  std::int64_t size = ended == 0 ? asked : std::min(asked, std::max(draft.pods, asked - ended));
  const bool waits =
      draft.bound < draft.pods || std::any_of(draft.roles.begin(), draft.roles.end(),
                                              [](const Role& role) { return !role.expected.empty(); });
  if (!waits) size = std::max(size, std::min(asked, draft.whole));
  if (draft.bound >= size) draft.whole = size;
  return size;
}

// The controllers that still prepare it (kKueueGatedBy), while it has nothing; "": none. Kueue reads it of an owner's own object, not
// of its template, and refuses to have it added to what is there.
std::string_view DraftRules::gates_of(const Draft& draft) const {
  if (draft.bound > 0 || draft.released) return {};
  if (draft.kind == GangKind::kOwner) {
    const OwnerRecord* owner = books_.owner_of(draft);
    return owner == nullptr ? std::string_view() : owner->ask.meta->annotation(kKueueGatedBy);
  }
  if (draft.gated == 0) return {};
  for (const auto& role : draft.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && books_.pods[ix].gated) return books_.pods[ix].pod.meta.annotation(kKueueGatedBy);
    }
  }
  return {};
}

SlotState DraftRules::state_without_node(const PodRecord& record) const {
  if (record.pod.spec.gated) return SlotState::kAbsent;
  if (record.draft != kNoIx && books_.drafts[record.draft].roles[record.role].turn == Turn::kLater)
    return SlotState::kAbsent;
  if (record.membership->kind != GangKind::kOwner) return SlotState::kWaiting;
  const auto ix = books_.drafts.find(record.membership->uid);
  // The pods of a suspended owner are about to be deleted.
  return ix != kNoIx && holds(books_.drafts[ix]) ? SlotState::kAbsent : SlotState::kWaiting;
}

bool has_object(const Draft& draft) {
  return draft.kind == GangKind::kKueueWorkload || draft.kind == GangKind::kOwner ||
         draft.kind == GangKind::kSingle ||
         (draft.kind == GangKind::kSized && draft.size_key == kKueuePodGroupSize);
}

}  // namespace berth::dialect
