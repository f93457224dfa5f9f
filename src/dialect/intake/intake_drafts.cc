// Workloads in the making: their settings, the queue and priority that they resolve to, and the values that the engine gets.
#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/kueue_workload.h"
#include "model/bounds.h"

namespace berth::dialect {
namespace {

// The selectors of an owner's templates are in use while it waits for its places: its pods do not exist yet.
template <class Impl>
void use_template_selectors(Impl& impl, std::uint32_t ix) {
  std::vector<PodSelector> wanted;
  const OwnerRecord* owner = impl.owner_record(impl.drafts[ix]);
  if (owner != nullptr && impl.holds(impl.drafts[ix])) {
    for (const AskedSet& set : owner->ask.sets)
      wanted.insert(wanted.end(), set.spec->selectors.begin(), set.spec->selectors.end());
  }
  if (wanted == impl.drafts[ix].selectors) return;
  impl.use_selectors(wanted, +1);
  std::swap(wanted, impl.drafts[ix].selectors);
  impl.use_selectors(wanted, -1);
}

}  // namespace

std::uint32_t Intake::Impl::draft_for(const PodRecord& record) {
  const Membership& m = record.membership;
  if (const auto known = drafts.find(m.uid); known != kNoIx) return known;
  const std::uint32_t ix = drafts.add(m, record.pod.meta.ns);
  Draft& draft = drafts[ix];
  if (const OwnerRecord* owner = owner_record(draft)) {
    draft.size = size_of_owner(draft, owner->ask);
    if (owner->ask.sets.size() > 1) promise_roles(draft, *owner);
  }
  if (const auto group = owners.group_of(record.pod.meta); draft.kind == GangKind::kSized && group &&
                                                           group->record != nullptr &&
                                                           group->record->ask.sets.size() > 1)
    promise_roles(draft, *group->record);
  return ix;
}

void Intake::Impl::free_draft(std::uint32_t ix) {
  Draft& draft = drafts[ix];
  const std::string named = std::exchange(draft.prebuilt_key, {});
  if (draft.prebuilt != nullptr) {
    claimed.erase(named);
    unsettled_prebuilt.insert(named);
  }
  if (draft.emitted) work.push_back(WorkloadRemove{draft.uid});
  place_budget.give_back(draft.ns, draft.uid);
  promises.forget_workload(draft.uid);
  use_selectors(draft.selectors, -1);
  drafts.erase(ix);
}

// In the order of the slots. There is one.
std::uint32_t Intake::Impl::first_unreadable(const Draft& draft) const {
  for (const auto& role : draft.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && !pods[ix].pod.problem.empty()) return ix;
    }
  }
  return kNoIx;
}

// Size = the members asked for minus the members that succeeded, as for an owner (size_of_owner). Exception: a gang that ran whole and
// lost no running pod keeps its full size. Otherwise its pods would become surplus, and could be preempted one by one. The
// exception does not hold while a replacement pod waits or is to come: the gang would wait for members that have ended.
std::int64_t Intake::Impl::size_of_group(Draft& draft, std::int64_t asked) const {
  if (draft.bound == 0) draft.whole = 0;
  const std::int64_t ended = ended_members.count(draft.uid, draft.first_created, draft.bound > 0);
  std::int64_t size = ended == 0 ? asked : std::min(asked, std::max(draft.pods, asked - ended));
  const bool waits =
      draft.bound < draft.pods || (!draft.roles.empty() && !draft.roles.front().expected.empty());
  if (!waits) size = std::max(size, std::min(asked, draft.whole));
  if (draft.bound >= size) draft.whole = size;
  return size;
}

// The controllers that still prepare it (kKueueGatedBy), while it has nothing; "": none. Kueue reads it of an owner's own object, not
// of its template, and refuses to have it added to what is there.
std::string_view Intake::Impl::gates_of(const Draft& draft) const {
  if (draft.bound > 0 || draft.released) return {};
  if (draft.kind == GangKind::kOwner) {
    const OwnerRecord* owner = owner_record(draft);
    return owner == nullptr ? std::string_view() : owner->ask.meta->annotation(kKueueGatedBy);
  }
  if (draft.gated == 0) return {};
  for (const auto& role : draft.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && pods[ix].gated) return pods[ix].pod.meta.annotation(kKueueGatedBy);
    }
  }
  return {};
}

// The amounts that quota counts for its pods, if they differ from the requests.
void Intake::Impl::count_for_quota(Group& group) const {
  for (PodSet& set : group.pod_sets) config.counts.apply(set.pod);
  for (Group& child : group.groups) count_for_quota(child);
}

Workload Intake::Impl::build(const Draft& draft, const Settings& settings) const {
  Workload w = build_asked(draft, settings);
  if (!config.counts.empty()) count_for_quota(w.root);
  return w;
}

Workload Intake::Impl::build_asked(const Draft& draft, const Settings& settings) const {
  Workload w;
  w.uid = draft.uid;
  w.name = draft.name;
  w.queue = settings.queue;
  w.lane = settings.lane;
  w.kind = settings.kind;
  w.priority = settings.priority;
  w.may_preempt = settings.may_preempt;
  w.preemptible = settings.preemptible;
  w.active = !settings.blocked;
  w.whole_first = settings.whole_first;
  w.admitted = settings.admitted;
  w.created = settings.created;
  if (may_grow(draft) || draft.former != nullptr)
    w.asks_more_since = std::max(settings.created, settings.asks_more_since);
  w.expected_duration = settings.expected;
  w.restart = settings.restart;
  w.root.topology = settings.topology;
  if (draft.object) {
    w.root = root_of(*draft.object);
    std::size_t at = 0;
    const auto finish = [&](PodSet& set) {
      if (settings.invalid) set.pod = {};
      // It has no pods that a selector could select.
      if (!set.pod.terms.empty() && !config.quota_only)
        set.pod.unsupported.emplace_back("required terms about other pods, of a Workload that waits alone");
      if (at < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[at];
      ++at;
    };
    for (PodSet& set : w.root.pod_sets) finish(set);
    for (Group& group : w.root.groups) {
      for (PodSet& set : group.pod_sets) finish(set);
    }
    return w;
  }
  const OwnerRecord* owner = owner_record(draft);
  bool grouped = false;  // some role has a topology request of its own
  for (const auto& role : draft.roles) {
    grouped |= settings.topology.empty() && role.topology.per_pod_set && draft.roles.size() > 1;
  }
  for (std::size_t i = 0; i < draft.roles.size(); ++i) {
    const Role& role = draft.roles[i];
    PodSet set;
    set.name = role_name(draft, owner, i);
    if (!settings.invalid) set.pod = *role.shape;
    if (i < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[i];
    if (i < settings.selected.size()) set.pod.selected = settings.selected[i];
    set.count = settings.counts[i].count;
    set.least = settings.counts[i].least;
    // Slots are told one by one, but for those that have no pod and wait.
    set.present = draft.waits || !role.expected.empty() ? set.count : 0;
    if (!grouped) {
      w.root.pod_sets.push_back(std::move(set));
      continue;
    }
    Group group;
    group.name = set.name;
    group.topology = role.topology.request;
    group.pod_sets.push_back(std::move(set));
    w.root.groups.push_back(std::move(group));
  }
  return w;
}

void Intake::Impl::refresh(std::uint32_t ix) {
  use_template_selectors(*this, ix);
  const std::vector<SlotUpdate> members = expect_members(drafts[ix]);
  const auto tell_members = [&] { work.insert(work.end(), members.begin(), members.end()); };
  std::vector<std::string> depends;
  Settings settings = settings_of(drafts[ix], depends);
  drafts.set_depends(ix, std::move(depends));
  Draft& draft = drafts[ix];
  if (draft.emitted && !draft.remade && draft.given == settings) return tell_members();
  const bool fresh = !draft.emitted || draft.remade || draft.given.queue != settings.queue;
  if (fresh) draft.waits = holds(draft);
  Workload workload = build(draft, settings);
  if (!settings.invalid) {
    if (const auto status = check(workload); !status) {
      settings.blocked = reason_of(ReasonCode::kInvalid, status.error().message);
      settings.invalid = true;
      if (draft.emitted && !draft.remade && draft.given == settings) return tell_members();
      workload = build(draft, settings);
    }
  }
  // A queue cannot change under slots that have places, and what the engine did not know it must be told again.
  const bool again = draft.emitted && (draft.remade || draft.given.queue != settings.queue ||
                                       draft.given.invalid != settings.invalid);
  draft.remade = false;
  const bool drains = settings.drain && (!draft.emitted || !draft.given.drain);
  if (draft.first_told_in == 0) draft.first_told_in = batch;
  if (again) {
    retold = true;
    draft.retold_in = batch;
    draft.retold_at = work.size();
    work.push_back(WorkloadRemove{draft.uid});
  }
  if (draft.kind == GangKind::kSingle && settings.blocked) {
    const auto pod = draft.roles.front().slots.front();
    const bool waits = config.wait_for_owners && pod != kNoIx && !pods[pod].own;
    if (const Owner* missing = waits ? owners.missing_of(pods[pod].pod.meta) : nullptr)
      missing_owners.try_emplace(
          missing->uid, OwnerName{owner_kind(*missing), draft.ns, missing->name, missing->uid, {}, {}});
  }
  if (draft.kind == GangKind::kSingle && draft.pods > 0 && draft.bound == 0)
    owners.note_stranger(pods[draft.roles.front().slots.front()].pod.meta);
  draft.emitted = true;
  draft.given = std::move(settings);
  keep_bounds(workload);  // no annotation may make the engine refuse what runs
  work.push_back(WorkloadUpsert{std::move(workload)});
  if (!draft.lost.empty()) work.push_back(Withdraw{draft.uid, std::exchange(draft.lost, {})});
  if (draft.object) return again ? emit_admission(draft) : void();
  if (!again) tell_members();
  tell_unexpected(draft);
  bool running = false;
  for (const auto& role : draft.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      running |= pods[pod].state == SlotState::kRunning;
      if (!again) continue;
      uncharge_foreign(pods[pod]);
      if (pods[pod].state == SlotState::kAbsent && draft.waits) emit_slot(pods[pod], SlotState::kGone);
      adopt(pods[pod]);
    }
  }
  if (drains && running) {
    work.push_back(Withdraw{draft.uid, fmt::format("its LocalQueue was stopped with HoldAndDrain ({})",
                                                   draft.given.blocked ? draft.given.blocked->subject : "")});
  }
}

}  // namespace berth::dialect
