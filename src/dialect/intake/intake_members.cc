// Groups of pods that start before all of their members are there (kKueueFastAdmission): future members are assumed to be like the
// first. Their slots wait as if they had a pod, and the carrier keeps their places (Intake::expects()).
#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {

std::vector<SlotUpdate> Intake::Impl::expect_members(Draft& draft) {
  std::vector<SlotUpdate> out;
  if (draft.kind != GangKind::kSized || draft.roles.empty()) return out;
  Role& role = draft.roles.front();
  std::int64_t to_come = 0;
  const bool agreed = draft.sizes.size() == 1 && draft.sizes.begin()->first > 0;
  if (draft.fast > 0 && agreed && draft.size_key == kKueuePodGroupSize) {
    const std::int64_t ended = ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
    to_come = std::max<std::int64_t>(0, draft.sizes.begin()->first - ended - draft.pods);
    draft.too_many = !place_budget.take(draft.ns, draft.uid, draft.sizes.begin()->first);
    if (draft.too_many) to_come = 0;
  }
  const auto tell = [&](std::int64_t slot, SlotState state) {
    const bool known = draft.emitted && !draft.given.invalid && !draft.given.counts.empty() &&
                       slot < draft.given.counts.front().count;
    if (known) out.push_back(SlotUpdate{draft.uid, 0, slot, state, "", {}, {}, 0});
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
  return out;
}

void Intake::Impl::tell_unexpected(const Draft& draft) {
  if (draft.roles.empty() || draft.roles.front().expected.empty() || draft.given.invalid) return;
  const Role& role = draft.roles.front();
  if (role.holes.size() == role.expected.size()) return;
  for (const auto hole : role.holes) {
    if (!role.expected.contains(hole))
      work.push_back(SlotUpdate{draft.uid, 0, hole, SlotState::kGone, "", {}, {}, 0});
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
