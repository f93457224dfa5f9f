// Workloads in the making: their settings, the queue and priority that they resolve to, and the values that the engine gets.
#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/kueue_workload.h"
#include "model/bounds.h"

namespace berth::dialect {
std::uint32_t Intake::Impl::load_for(const PodRecord& record) {
  const Membership& m = record.membership;
  if (const auto known = find_load(m.uid); known != kNoIx) return known;
  const std::uint32_t ix = new_load(m, record.pod.meta.ns);
  Load& load = loads[ix];
  if (const OwnerRecord* owner = owner_record(load)) load.size = size_of_owner(load, owner->ask);
  return ix;
}

std::uint32_t Intake::Impl::new_load(const Membership& m, const std::string& ns) {
  std::uint32_t ix = 0;
  if (free_loads.empty()) {
    ix = static_cast<std::uint32_t>(loads.size());
    loads.emplace_back();
  } else {
    ix = free_loads.back();
    free_loads.pop_back();
    loads[ix] = Load{};
  }
  Load& load = loads[ix];
  load.used = true;
  load.kind = m.kind;
  load.uid = m.uid;
  load.ns = ns;
  load.name = key_of(load.ns, m.name);
  load.size_key = m.size_key;
  load.size = 1;
  if (m.kind == GangKind::kPodGroup) load.object_key = "pg:" + load.name;
  if (m.kind == GangKind::kOwner) load.object_key = owner_key(m.uid);
  load_by_uid.emplace(load.uid, ix);
  return ix;
}

void Intake::Impl::free_load(std::uint32_t ix) {
  Load& load = loads[ix];
  const std::string named = std::exchange(load.prebuilt_key, {});
  if (load.prebuilt != nullptr) {
    claimed.erase(named);
    unsettled_prebuilt.insert(named);
  }
  if (load.emitted) work.push_back(WorkloadRemove{load.uid});
  place_budget.give_back(load.ns, load.uid);
  supplied.erase(load.uid);
  set_depends(ix, {});
  load_by_uid.erase(load.uid);
  load = Load{};
  free_loads.push_back(ix);
}

void Intake::Impl::set_depends(std::uint32_t ix, std::vector<std::string> depends) {
  Load& load = loads[ix];
  if (load.depends == depends) return;
  for (const auto& key : load.depends) {
    const auto it = dependents.find(key);
    it->second.erase(ix);
    if (it->second.empty()) dependents.erase(it);
  }
  for (const auto& key : depends) dependents[key].insert(ix);
  load.depends = std::move(depends);
}

// In the order of the slots. There is one.
std::uint32_t Intake::Impl::first_unreadable(const Load& load) const {
  for (const auto& role : load.roles) {
    for (const auto ix : role.slots) {
      if (ix != kNoIx && !pods[ix].pod.problem.empty()) return ix;
    }
  }
  return kNoIx;
}

// Size = the members asked for minus the members that succeeded, as for an owner (size_of_owner). Exception: a gang that ran whole and
// lost no running pod keeps its full size. Otherwise its pods would become surplus, and could be preempted one by one. The
// exception does not hold while a replacement pod waits or is to come: the gang would wait for members that have ended.
std::int64_t Intake::Impl::size_of_group(Load& load, std::int64_t asked) const {
  if (load.bound == 0) load.whole = 0;
  const std::int64_t ended = ended_members.count(load.uid, load.first_created, load.bound > 0);
  std::int64_t size = ended == 0 ? asked : std::min(asked, std::max(load.pods, asked - ended));
  const bool waits = load.bound < load.pods || (!load.roles.empty() && !load.roles.front().expected.empty());
  if (!waits) size = std::max(size, std::min(asked, load.whole));
  if (load.bound >= size) load.whole = size;
  return size;
}

// The controllers that still prepare it (kKueueGatedBy), while it has nothing; "": none. Kueue reads it of an owner's own object, not
// of its template, and refuses to have it added to what is there.
std::string_view Intake::Impl::gates_of(const Load& load) const {
  if (load.bound > 0 || load.released) return {};
  if (load.kind == GangKind::kOwner) {
    const OwnerRecord* owner = owner_record(load);
    return owner == nullptr ? std::string_view() : owner->ask.meta->annotation(kKueueGatedBy);
  }
  if (load.gated == 0) return {};
  for (const auto& role : load.roles) {
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

Workload Intake::Impl::build(const Load& load, const Settings& settings) const {
  Workload w = build_asked(load, settings);
  if (!config.counts.empty()) count_for_quota(w.root);
  return w;
}

Workload Intake::Impl::build_asked(const Load& load, const Settings& settings) const {
  Workload w;
  w.uid = load.uid;
  w.name = load.name;
  w.queue = settings.queue;
  w.lane = settings.lane;
  w.kind = settings.kind;
  w.priority = settings.priority;
  w.may_preempt = settings.may_preempt;
  w.preemptible = settings.preemptible;
  w.active = !settings.blocked;
  w.admitted = settings.admitted;
  w.created = settings.created;
  if (may_grow(load) || load.former != nullptr)
    w.asks_more_since = std::max(settings.created, settings.asks_more_since);
  w.expected_duration = settings.expected;
  w.restart = settings.restart;
  w.root.topology = settings.topology;
  if (load.object) {
    w.root = root_of(*load.object);
    std::size_t at = 0;
    const auto finish = [&](PodSet& set) {
      if (settings.invalid) set.pod = {};
      if (settings.most_at_once && set.least_count() < set.count)
        set.bands.push_back({.count = set.count, .protected_from_reclaim = false});
      if (at < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[at];
      ++at;
    };
    for (PodSet& set : w.root.pod_sets) finish(set);
    for (Group& group : w.root.groups) {
      for (PodSet& set : group.pod_sets) finish(set);
    }
    return w;
  }
  bool grouped = false;  // some role has a topology request of its own
  for (const auto& role : load.roles) {
    grouped |= settings.topology.empty() && role.topology.per_pod_set && load.roles.size() > 1;
  }
  for (std::size_t i = 0; i < load.roles.size(); ++i) {
    const Role& role = load.roles[i];
    PodSet set;
    set.name = load.roles.size() == 1 ? "main" : fmt::format("role-{}", i);
    if (!settings.invalid) set.pod = *role.shape;
    if (i < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[i];
    set.count = settings.counts[i].count;
    set.least = settings.counts[i].least;
    if (settings.most_at_once) set.bands.push_back({.count = set.count, .protected_from_reclaim = false});
    // Slots are told one by one, but for those that have no pod and wait.
    set.present = load.waits || !role.expected.empty() ? set.count : 0;
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
  const std::vector<SlotUpdate> members = expect_members(loads[ix]);
  const auto tell_members = [&] { work.insert(work.end(), members.begin(), members.end()); };
  std::vector<std::string> depends;
  Settings settings = settings_of(loads[ix], depends);
  set_depends(ix, std::move(depends));
  Load& load = loads[ix];
  if (load.emitted && !load.remade && load.given == settings) return tell_members();
  const bool fresh = !load.emitted || load.remade || load.given.queue != settings.queue;
  if (fresh) load.waits = holds(load);
  Workload workload = build(load, settings);
  if (!settings.invalid) {
    if (const auto status = check(workload); !status) {
      settings.blocked = reason_of(ReasonCode::kInvalid, status.error().message);
      settings.invalid = true;
      if (load.emitted && !load.remade && load.given == settings) return tell_members();
      workload = build(load, settings);
    }
  }
  // A queue cannot change under slots that have places, and what the engine did not know it must be told again.
  const bool again = load.emitted && (load.remade || load.given.queue != settings.queue ||
                                      load.given.invalid != settings.invalid);
  load.remade = false;
  const bool drains = settings.drain && (!load.emitted || !load.given.drain);
  if (load.first_told_in == 0) load.first_told_in = batch;
  if (again) {
    retold = true;
    load.retold_in = batch;
    load.retold_at = work.size();
    work.push_back(WorkloadRemove{load.uid});
  }
  if (load.kind == GangKind::kSingle && settings.blocked) {
    const auto pod = load.roles.front().slots.front();
    const bool waits = config.wait_for_owners && pod != kNoIx && !pods[pod].own && !load.emitted;
    if (const Owner* missing = waits ? owners.missing_of(pods[pod].pod.meta) : nullptr)
      missing_owners.try_emplace(missing->uid,
                                 OwnerName{owner_kind(*missing), load.ns, missing->name, missing->uid});
  }
  load.emitted = true;
  load.given = std::move(settings);
  keep_bounds(workload);  // no annotation may make the engine refuse what runs
  work.push_back(WorkloadUpsert{std::move(workload)});
  if (!load.lost.empty()) work.push_back(Withdraw{load.uid, std::exchange(load.lost, {})});
  if (load.object) return again ? emit_admission(load) : void();
  if (!again) tell_members();
  tell_unexpected(load);
  bool running = false;
  for (const auto& role : load.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      running |= pods[pod].state == SlotState::kRunning;
      if (!again) continue;
      uncharge_foreign(pods[pod]);
      if (pods[pod].state == SlotState::kAbsent && load.waits) emit_slot(pods[pod], SlotState::kGone);
      adopt(pods[pod]);
    }
  }
  if (drains && running) {
    work.push_back(Withdraw{load.uid, fmt::format("its LocalQueue was stopped with HoldAndDrain ({})",
                                                  load.given.blocked ? load.given.blocked->subject : "")});
  }
}

}  // namespace berth::dialect
