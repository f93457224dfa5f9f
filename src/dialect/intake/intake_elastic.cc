// Elastic Jobs (kKueueElastic). To the engine one is a gang of its size, like any Job. One that runs and whose parallelism is raised is a
// gang that is not complete: what it lacks is placed as a whole or not at all, in the flavor that it has and near its pods. The
// only difference is that it is never withdrawn for that: docs/contributors/elastic-jobs.md.
//
// A manager of Kueue's MultiKueue makes the slices itself: a Workload that says which one it replaces (kKueueSliceFor). While that one is
// the Workload of a Job that runs, the new one, which waits alone, asks for what is more; when the Job names it, and asks for as much, it
// gets the places for the pods that it lacks (HandOver).
#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {

bool Intake::Impl::may_grow(const Draft& draft) const {
  const OwnerRecord* record = owner_record(draft);
  return record != nullptr && record->ask.elastic;
}

bool Intake::Impl::is_elastic(const Draft& draft) const {
  return draft.prebuilt_key.empty() && may_grow(draft);
}

void Intake::accept_size(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix != kNoIx && s.may_grow(s.drafts[ix])) s.drafts[ix].whole = s.drafts[ix].bound;
}

std::shared_ptr<const KueueWorkload> Intake::Impl::slice_before(const KueueWorkload& object) const {
  const std::string key(object.meta.annotation(kKueueSliceFor));
  const auto owner = key.empty() ? claimed.end() : claimed.find(key);
  if (owner == claimed.end() || !key.starts_with(object.meta.ns + "/")) return nullptr;
  const Draft& draft = drafts[drafts.find(owner->second)];
  const OwnerRecord* record = owner_record(draft);
  const auto& former = draft.prebuilt;
  if (!may_grow(draft) || record->ask.suspended || former == nullptr || former->queue != object.queue)
    return nullptr;
  const bool grows = std::equal(
      former->pod_sets.begin(), former->pod_sets.end(), object.pod_sets.begin(), object.pod_sets.end(),
      [](const auto& has, const auto& wants) { return has.name == wants.name && has.count <= wants.count; });
  const auto sum = [](const KueueWorkload& of) {
    std::int64_t out = 0;
    for (const auto& set : of.pod_sets) out += set.count;
    return out;
  };
  return grows && sum(object) > sum(*former) ? former : nullptr;
}

void Intake::Impl::unsettle_slices(const std::string& key) {
  if (const auto slices = prebuilt_slices.find(key); slices != prebuilt_slices.end())
    unsettled_prebuilt.insert(slices->second.begin(), slices->second.end());
}

void Intake::Impl::expect_growth(Draft& draft, const HandOver& what) {
  for (std::size_t s = 0; s < what.first.size(); ++s) {
    Role& role = draft.roles[static_cast<std::size_t>(what.sets[s])];
    const auto count = draft.given.counts[static_cast<std::size_t>(what.sets[s])].count;
    while (static_cast<std::int64_t>(role.slots.size()) < count) {
      role.holes.insert(static_cast<std::int64_t>(role.slots.size()));
      role.slots.push_back(kNoIx);
    }
    for (const auto hole : role.holes) {
      if (hole >= what.first[s]) role.expected.insert(hole);
    }
  }
}

void Intake::Impl::end_growth(Draft& draft, std::int64_t size) {
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    Role& role = draft.roles[r];
    while (!role.expected.empty() && *role.expected.rbegin() >= size) {
      const std::int64_t last = *role.expected.rbegin();
      role.expected.erase(last);
      if (draft.emitted)
        work.push_back(
            SlotUpdate{draft.uid, static_cast<std::int64_t>(r), last, SlotState::kGone, "", {}, {}, 0});
      if (last + 1 != static_cast<std::int64_t>(role.slots.size())) continue;
      role.holes.erase(last);
      role.slots.pop_back();
    }
  }
}

}  // namespace berth::dialect
