// Pods that are to come when others run. They are future members of a group that starts before all of them are there (kKueueFastAdmission), or
// pods that their owner makes later (AskedSet::later). A future member is assumed to be like the first. Their slots wait as if they had
// a pod, and the carrier keeps their places (Intake::expects()).
#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
namespace {

// Makes slots of one role for so many pods that are to come. Adds the updates of those that the engine knows to `out`.
void expect(Draft& draft, std::size_t r, std::int64_t to_come, std::vector<SlotUpdate>& out) {
  Role& role = draft.roles[r];
  const auto tell = [&](std::int64_t slot, SlotState state) {
    const bool known = draft.emitted && !draft.given.invalid && r < draft.given.counts.size() &&
                       slot < draft.given.counts[r].count;
    if (known) out.push_back(SlotUpdate{draft.uid, static_cast<std::int64_t>(r), slot, state, "", {}, {}, 0});
  };
  while (static_cast<std::int64_t>(role.expected.size()) > to_come) {
    const auto last = std::prev(role.expected.end());
    tell(*last, SlotState::kGone);
    role.expected.erase(last);
  }
  std::int64_t lacks = to_come - static_cast<std::int64_t>(role.expected.size());
  if (role.holes.size() > role.expected.size()) {  // places of members that have left
    for (auto hole = role.holes.begin(); hole != role.holes.end() && lacks > 0; ++hole) {
      if (!role.expected.insert(*hole).second) continue;
      tell(*hole, SlotState::kWaiting);
      --lacks;
    }
  }
  for (; lacks > 0; --lacks) {
    const auto slot = static_cast<std::int64_t>(role.slots.size());
    role.slots.push_back(kNoIx);
    role.holes.insert(slot);
    role.expected.insert(slot);
    tell(slot, SlotState::kWaiting);
  }
}

// The owner of a group of pods that is a gang of its own; nullptr: the draft is none, or the owner is not known.
const OwnerRecord* grouper_of(const Draft& draft, const PodBook& pods, const OwnerBook& owners) {
  for (const Role& role : draft.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      const auto group = owners.group_of(pods[pod].pod.meta);
      return group ? group->record : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

void promise_roles(Draft& draft, const OwnerRecord& owner) {
  const std::size_t sets = owner.templates.size();
  while (draft.held_shapes.size() < sets && draft.roles.size() == draft.held_shapes.size()) {
    const std::size_t s = draft.roles.size();
    draft.roles.push_back(
        Role{owner.templates[s].shape, topology_of(*owner.ask.sets[s].marks), {}, true, {}, {}, {}});
    draft.held_shapes.push_back(owner.templates[s].shape);
  }
}

// While it waits suspended, all of its slots wait anyway.
void Intake::Impl::expect_later_sets(Draft& draft, std::vector<SlotUpdate>& out) {
  const OwnerRecord* owner = owner_record(draft);
  if (owner == nullptr || owner->ask.sets.size() != draft.roles.size()) return;
  const Ask& ask = owner->ask;
  const bool comes = ask.makes_pods && (!ask.suspended || draft.released);
  std::int64_t kept = 0;
  for (const AskedSet& set : ask.sets) kept += set.later ? set.size : 0;
  if (kept == 0) return;
  if (comes && !draft.released) draft.too_many = !place_budget.take(draft.ns, draft.uid, kept);
  for (std::size_t s = 0; s < ask.sets.size(); ++s) {
    if (!ask.sets[s].later) continue;
    const Role& role = draft.roles[s];
    const auto has = static_cast<std::int64_t>(role.slots.size() - role.holes.size());
    const bool wanted = comes && (draft.released || !draft.too_many);
    expect(draft, s, wanted ? std::max<std::int64_t>(0, ask.sets[s].size - has) : 0, out);
  }
}

void Intake::Impl::expect_later_sets(Draft& draft, const Ask& ask, std::vector<SlotUpdate>& out) {
  const auto is_later = [](const AskedSet& set) { return set.later; };
  if (ask.sets.size() != draft.roles.size() || std::none_of(ask.sets.begin(), ask.sets.end(), is_later))
    return;
  draft.too_many = !place_budget.take(draft.ns, draft.uid, ask.size());
  for (std::size_t s = 0; s < ask.sets.size(); ++s) {
    const Role& role = draft.roles[s];
    const auto has = static_cast<std::int64_t>(role.slots.size() - role.holes.size());
    const bool wanted = ask.sets[s].later && ask.makes_pods && !draft.too_many;
    expect(draft, s, wanted ? std::max<std::int64_t>(0, ask.sets[s].size - has) : 0, out);
  }
}

std::vector<SlotUpdate> Intake::Impl::expect_members(Draft& draft) {
  std::vector<SlotUpdate> out;
  if (draft.kind == GangKind::kOwner) expect_later_sets(draft, out);
  if (draft.kind != GangKind::kSized || draft.roles.empty()) return out;
  if (const OwnerRecord* owner = grouper_of(draft, pods, owners)) {
    expect_later_sets(draft, owner->ask, out);
    return out;
  }
  std::int64_t to_come = 0;
  const bool agreed = draft.sizes.size() == 1 && draft.sizes.begin()->first > 0;
  if (draft.fast > 0 && agreed && draft.size_key == kKueuePodGroupSize) {
    const std::int64_t ended = ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
    to_come = std::max<std::int64_t>(0, draft.sizes.begin()->first - ended - draft.pods);
    draft.too_many = !place_budget.take(draft.ns, draft.uid, draft.sizes.begin()->first);
    if (draft.too_many) to_come = 0;
  }
  expect(draft, 0, to_come, out);
  return out;
}

void Intake::Impl::tell_unexpected(const Draft& draft) {
  if (draft.given.invalid) return;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    const Role& role = draft.roles[r];
    if (role.expected.empty() || role.holes.size() == role.expected.size()) continue;
    for (const auto hole : role.holes) {
      if (!role.expected.contains(hole))
        work.push_back(
            SlotUpdate{draft.uid, static_cast<std::int64_t>(r), hole, SlotState::kGone, "", {}, {}, 0});
    }
  }
}

bool Intake::expects(std::string_view workload, std::int64_t pod_set, std::int64_t index) const {
  const Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx || pod_set < 0 || static_cast<std::size_t>(pod_set) >= s.drafts[ix].roles.size())
    return false;
  const Role& role = s.drafts[ix].roles[static_cast<std::size_t>(pod_set)];
  if (role.expected.contains(index)) return true;
  if (s.drafts[ix].fast == 0 || pod_set != 0) return false;
  if (index < 0 || static_cast<std::size_t>(index) >= role.slots.size()) return false;
  const auto pod = role.slots[static_cast<std::size_t>(index)];
  return pod != kNoIx && s.pods[pod].pod.spec.node_name.empty() && s.pods[pod].pod.spec.gated;
}

}  // namespace berth::dialect
