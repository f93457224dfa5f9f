// Owners of pods, and those that are held suspended (IntakeConfig::hold_owners): workloads whose slots are made from their templates.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {

std::size_t hash_of(const PodTemplate& shape) {
  std::size_t hash = shape.node_selector.size() * 31 + shape.tolerations.size();
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& [resource, amount] : shape.requests) {
    mix(std::hash<std::string>{}(resource));
    mix(static_cast<std::size_t>(amount));
  }
  for (const auto& request : shape.claim.requests) {
    mix(static_cast<std::size_t>(request.count));
    mix(static_cast<std::size_t>(request.milli));
  }
  for (const HostPort& port : shape.ports) mix(static_cast<std::size_t>(port.port));
  for (const auto& [key, value] : shape.node_selector) mix(std::hash<std::string>{}(value));
  return hash;
}

std::size_t hash_of(const PodNeeds& needs) {
  std::size_t hash = std::hash<std::string>{}(needs.runtime_class);
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  for (const auto& c : needs.containers) {
    mix(std::hash<std::string>{}(c.name));
    for (const auto& [resource, amount] : c.requests) mix(static_cast<std::size_t>(amount));
  }
  return hash;
}

bool suits(const PodTemplate& pod, const PodTemplate& promised) {
  if (pod == promised) return true;
  if (!(pod.claim == promised.claim) || !(pod.ports == promised.ports) ||
      pod.node_selector != promised.node_selector || !(pod.required_affinity == promised.required_affinity) ||
      pod.placement != promised.placement || !(pod.terms == promised.terms) ||
      pod.unsupported != promised.unsupported) {
    return false;
  }
  for (const auto& [resource, amount] : pod.requests) {
    if (amount > promised.requests.get(resource)) return false;
  }
  return std::all_of(promised.tolerations.begin(), promised.tolerations.end(), [&](const Toleration& t) {
    return std::find(pod.tolerations.begin(), pod.tolerations.end(), t) != pod.tolerations.end();
  });
}

namespace {

// A template without what former updates of it have left, and with this one.
PodTemplate amended(const PodTemplate& taken, std::string_view left, const PodSetUpdate* update) {
  PodTemplate out = taken;
  for (const auto& key : split_marks(left)) out.node_selector.edit().erase(key);
  if (update == nullptr) return out;
  for (const auto& [key, value] : update->node_selector)
    out.node_selector.edit().insert_or_assign(key, value);
  for (const auto& written : update->tolerations) {
    const Toleration toleration = to_model(written);
    if (std::find(out.tolerations.begin(), out.tolerations.end(), toleration) == out.tolerations.end())
      out.tolerations.edit().push_back(toleration);
  }
  return out;
}

// Pods of one of its sets that it is to have places for.
std::int64_t places_of(const Draft& draft, const Ask& ask, std::size_t set) {
  if (draft.too_many) return set == 0 ? 1 : 0;
  const std::int64_t size = ask.sets[set].size;
  return draft.granted > 0 ? std::min(draft.granted, size) : size;
}

// Pods that another scheduler places are none of the gang's.
void leave_out_others(Ask& ask, const IntakeConfig& config) {
  const auto is_ours = [&](const AskedSet& set) { return config.answers_to(set.spec->scheduler_name); };
  if (ask.sets.size() < 2 || ask.kind->count != nullptr ||
      std::none_of(ask.sets.begin(), ask.sets.end(), is_ours))
    return;
  for (AskedSet& set : ask.sets) {
    if (!is_ours(set)) set.size = set.most = set.asked = 0;
  }
}

}  // namespace

void Intake::Impl::upsert_owner(Ask&& ask) {
  const Kind kind = ask.kind->kind;
  const Meta& meta = *ask.meta;
  const std::string uid = meta.uid;
  const std::string key = owner_key(uid);
  const std::string name = key_of(meta.ns, meta.name);
  OwnerRecord* known = owners.find(uid);
  refresh_dependents(objects.note_problem(kind, name, ask.problem));
  if (!ask.problem.empty()) {
    // As it was known before, so that what it runs stays what it is; but nothing more of it starts.
    if (known != nullptr) {
      known->ask.problem = std::move(ask.problem);
      return refresh_dependents(key);
    }
    for (AskedSet& set : ask.sets) {
      PodTemplate bare = *set.pod;
      clear_constraints(bare);
      set.pod = shapes.share(std::move(bare));
    }
  }
  if (const auto other = owners.uid_of(kind, meta.ns, meta.name); !other.empty() && other != uid)
    remove_owner(kind, meta.ns, meta.name);
  if (ask.kind->adopt != nullptr && known != nullptr) (void)ask.kind->adopt(ask, owners.below(*known));
  leave_out_others(ask, config);
  const bool routes_change =
      known == nullptr || known->ask.gang != ask.gang || known->ask.meta->controller != meta.controller;
  missing_owners.erase(uid);
  const Owner above = meta.controller;
  const std::string by_name = owner_key(kind, meta.ns, meta.name);
  owners.put(owner_record_of(std::move(ask)));
  const Declaration* declared = declaration_of(kind);
  if (declared != nullptr && declared->groups.any()) reroute_dependents(by_name, false);
  if (routes_change) {
    reroute_dependents(key, false);
  } else {
    refresh_dependents(key);
  }
  sync_owner(uid);
  if (known == nullptr) recount(uid);
  recount(above.uid);
}

void Intake::Impl::recount(const std::string& uid) {
  if (const OwnerRecord* owner = owners.find(uid); owner != nullptr && owner->ask.kind->adopt != nullptr) {
    Ask ask = owner->ask;
    if (ask.kind->adopt(ask, owners.below(*owner))) upsert_owner(std::move(ask));
    return;
  }
  if (!owners.recount(uid)) return;
  refresh_dependents(owner_key(uid));
  sync_owner(uid);
  recount(owners.find(uid)->ask.meta->controller.uid);
}

void Intake::Impl::remove_owner(Kind kind, std::string_view ns, std::string_view name) {
  const auto known = owners.find(owners.uid_of(kind, ns, name));
  const std::string above = known == nullptr ? std::string() : known->ask.meta->controller.uid;
  const auto uid = owners.erase(kind, ns, name);
  if (!uid) return;
  promises.forget_owner(*uid);
  sync_owner(*uid);
  refresh_dependents(owner_key(*uid));
  recount(above);
}

const OwnerRecord* Intake::Impl::owner_record(const Draft& draft) const {
  return draft.kind == GangKind::kOwner ? owners.find(draft.uid) : nullptr;
}

OwnerRecord Intake::Impl::owner_record_of(Ask&& ask) {
  OwnerRecord out;
  out.ask = std::move(ask);
  const std::string& uid = out.ask.meta->uid;
  bool is_same = true;
  const OwnerRecord* before = owners.find(uid);
  for (std::size_t s = 0; s < out.ask.sets.size(); ++s) {
    AskedSet& set = out.ask.sets[s];
    set.pod = shapes.share(PodTemplate(*set.pod));
    if (set.needs != nullptr) set.needs = needs.share(PodNeeds(*set.needs));
    is_same = is_same && before != nullptr && s < before->ask.sets.size() &&
              before->ask.sets[s].pod == set.pod && before->ask.sets[s].needs == set.needs;
  }
  const auto draft = drafts.find(uid);
  if (is_same && draft != kNoIx && drafts[draft].reserved) {
    // It has quota and places for what it was: nothing but its user changes that.
    out.templates = before->templates;
  } else {
    take(out);
  }
  for (OwnedTemplate& one : out.templates) one.shape = one.taken;
  // Changes by checks of its last run are not its own wishes.
  const std::string_view left = out.ask.suspended ? amended_keys(*out.ask.meta) : std::string_view();
  const auto amendments = promises.amendments(uid);
  if (left.empty() && amendments.empty()) return out;
  for (std::size_t s = 0; s < out.templates.size(); ++s)
    out.templates[s].shape =
        shapes.share(amended(*out.templates[s].taken, left, update_of(out.ask, s, amendments)));
  return out;
}

bool Intake::Impl::may_hold(const Ask& ask) const {
  const bool queued = std::any_of(ask.sets.begin(), ask.sets.end(),
                                  [&](const AskedSet& set) { return names_a_queue(*ask.meta, *set.marks); });
  if (!config.hold_owners || !ask.kind->can_be_held() || ask.finished || ask.meta->deleting || !queued ||
      ask.is_led)
    return false;
  Pod pod;
  pod.meta = *ask.sets.front().marks;
  pod.meta.controller = {std::string(ask.kind->word()), ask.meta->name, ask.meta->uid};
  pod.spec.scheduler_name = ask.sets.front().spec->scheduler_name;
  return is_ours(pod) && membership_of(pod, &ask).kind == GangKind::kOwner;
}

// A pod that has ended well is not made again. While the gang runs, its slot stays part of the gang, so that the others are no surplus
// that may be taken one by one; a gang that must start (again) is made of those that are left.
std::int64_t Intake::Impl::size_of_owner(Draft& draft, const Ask& ask) const {
  if (draft.bound == 0 || ask.suspended) draft.whole = 0;
  std::int64_t size = ask.makes_pods ? 0 : draft.pods;
  for (std::size_t s = 0; ask.makes_pods && s < ask.sets.size(); ++s) size += places_of(draft, ask, s);
  size = std::max<std::int64_t>(1, std::max(size, std::min(ask.most(), draft.whole)));
  if (draft.bound >= size) draft.whole = size;
  return size;
}

// If it has pods, some slots do not wait, because these pods are about to end: it would start smaller for that alone.
bool Intake::Impl::may_shrink(const Draft& draft, const Ask& ask) const {
  return holds(draft) && !draft.too_many && draft.pods == 0 && draft.roles.size() == 1 &&
         draft.granted == 0 && !draft.sized && !draft.reserved && ask.least() && *ask.least() < ask.size();
}

bool Intake::Impl::starts_with_fewer(const Draft& draft, const Ask& ask) const {
  if (config.hold_owners) return may_shrink(draft, ask);
  // A plan makes the pods of a suspended owner at once.
  return ask.suspended && ask.least() && *ask.least() < draft.size && draft.bound == 0 &&
         draft.roles.size() == 1;
}

bool Intake::Impl::holds(const Draft& draft) const {
  const OwnerRecord* record = draft.released ? nullptr : owner_record(draft);
  return record != nullptr && record->ask.suspended && record->ask.size() > 0 && may_hold(record->ask);
}

bool Intake::Impl::keeps(const Draft& draft) const {
  if (!draft.released) return holds(draft);
  const OwnerRecord* record = owner_record(draft);
  return record != nullptr && may_hold(record->ask);
}

// If all pods of an owner have been replaced, only its status shows that it ran.
bool Intake::Impl::is_admitted(const Draft& draft) const {
  if (draft.object != nullptr) return false;
  const OwnerRecord* record = owner_record(draft);
  if (record != nullptr && record->ask.suspended) return draft.released;
  // More than it was admitted with waits for its turn.
  if (may_grow(draft)) return draft.bound > 0 && draft.size <= draft.whole;
  return draft.bound > 0 || draft.released || (record != nullptr && record->ask.has_run);
}

void Intake::Impl::wait_for_end(const Draft& draft, const Ask& ask, Settings& settings) const {
  if (ask.over.empty() || draft.bound == draft.pods || settings.blocked) return;
  settings.blocked = Reason{};
  settings.blocked->code = ReasonCode::kInactive;
  settings.blocked->detail =
      fmt::format("its {} {} starts no more pods: {}", ask.kind->word(), ask.meta->name, ask.over);
}

// The owner changed, or what was decided about it.
void Intake::Impl::sync_owner(const std::string& uid) {
  if (!config.hold_owners) return;
  const OwnerRecord* record = owners.find(uid);
  std::uint32_t ix = drafts.find(uid);
  if (ix == kNoIx) {
    if (record == nullptr || !record->ask.suspended || record->ask.size() < 1 || !may_hold(record->ask))
      return;
    const Meta& meta = *record->ask.meta;
    ix = drafts.add({GangKind::kOwner, uid, meta.name, std::nullopt, {}}, meta.ns);
    drafts[ix].first_created = meta.created != 0 ? meta.created : ++arrivals;
  }
  if (drafts[ix].pods == 0 && !keeps(drafts[ix])) return free_draft(ix);
  if (holds(drafts[ix])) {
    sync_slots(drafts[ix], *record);
  } else {
    drafts[ix].sized = drafts[ix].sized && drafts[ix].released;
    drafts[ix].too_many = false;
  }
  refresh(ix);
  tell_slots(ix);
}

void Intake::Impl::sync_slots(Draft& draft, const OwnerRecord& record) {
  draft.too_many = !place_budget.take(draft.ns, draft.uid, record.ask.size());
  const std::size_t sets = record.templates.size();
  promise_roles(draft, record);
  draft.held_shapes.resize(sets);
  for (std::size_t s = 0; s < std::min(sets, draft.roles.size()); ++s) {
    Role& role = draft.roles[s];
    const auto& shape = record.templates[s].shape;
    role.promised = draft.roles.size() == sets;
    if (role.promised && draft.pods == 0 && draft.held_shapes[s] != nullptr &&
        draft.held_shapes[s] != shape) {
      draft.remade = draft.emitted;
      ++draft.revision;
      role.shape = shape;
      role.topology = topology_of(*record.ask.sets[s].marks);
      draft.refused.clear();
      draft.held_shapes[s] = shape;
    }
    if (draft.held_shapes[s] == nullptr) draft.held_shapes[s] = shape;
    const auto size = static_cast<std::size_t>(places_of(draft, record.ask, s));
    while (role.slots.size() > size && role.slots.back() == kNoIx) {
      role.slots.pop_back();
      const auto index = static_cast<std::int64_t>(role.slots.size());
      role.holes.erase(index);
      // A place that was kept for it would otherwise stay the engine's for ever.
      if (draft.emitted)
        work.push_back(
            SlotUpdate{draft.uid, static_cast<std::int64_t>(s), index, SlotState::kGone, "", {}, {}, 0});
    }
    while (role.slots.size() < size) {
      role.holes.insert(static_cast<std::int64_t>(role.slots.size()));
      role.slots.push_back(kNoIx);
    }
  }
}

void Intake::Impl::tell_slots(std::uint32_t ix) {
  const bool waits = holds(drafts[ix]);
  const bool flips = std::exchange(drafts[ix].waits, waits) != waits;
  for (std::size_t r = 0; r < drafts[ix].roles.size(); ++r) {
    if (flips) {
      for (const auto hole : drafts[ix].roles[r].holes) {
        work.push_back(SlotUpdate{drafts[ix].uid,
                                  static_cast<std::int64_t>(r),
                                  hole,
                                  waits ? SlotState::kWaiting : SlotState::kGone,
                                  "",
                                  {},
                                  {},
                                  0});
      }
    }
    const std::vector<std::uint32_t> slots = drafts[ix].roles[r].slots;
    for (const auto pod : slots) {
      if (pod == kNoIx || !pods[pod].pod.spec.node_name.empty()) continue;
      set_state(pod, state_without_node(pods[pod]), "");
    }
  }
}

SlotState Intake::Impl::state_without_node(const PodRecord& record) const {
  if (record.pod.spec.gated) return SlotState::kAbsent;
  if (record.membership.kind != GangKind::kOwner) return SlotState::kWaiting;
  const auto ix = drafts.find(record.membership.uid);
  // The pods of a suspended owner are about to be deleted.
  return ix != kNoIx && holds(drafts[ix]) ? SlotState::kAbsent : SlotState::kWaiting;
}

std::optional<std::size_t> Intake::Impl::join_promised(Draft& draft, const PodRecord& record,
                                                       const OwnedPlace& place) {
  const bool held = (draft.kind == GangKind::kOwner || draft.kind == GangKind::kSized) &&
                    !draft.roles.empty() && draft.roles.front().promised;
  if (!held || draft.roles.size() != draft.held_shapes.size() || place.set >= draft.roles.size())
    return std::nullopt;
  Role& role = draft.roles[place.set];
  if (suits(*record.shape, *role.shape)) return place.set;
  // Its pods are others than the template says (admission changed them): it is decided anew for what they are.
  role.shape = record.shape;
  draft.remade = true;
  ++draft.revision;
  return place.set;
}

void Intake::set_released(std::string_view workload, bool released) {
  Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx || s.drafts[ix].kind != GangKind::kOwner || s.drafts[ix].released == released) return;
  s.drafts[ix].released = released;
  s.drafts[ix].waits = false;  // the releasing caller knows its slots
  if (!released && !s.drafts[ix].reserved) s.drafts[ix].unsize();
  s.sync_owner(std::string(workload));
}

bool Intake::may_start_smaller(std::string_view workload) const {
  const Impl& s = *impl_;
  if (!s.owners.any_may_shrink() && s.workload_by_name.empty()) return false;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx) return false;
  if (s.drafts[ix].object != nullptr) return s.may_shrink(s.drafts[ix]);
  const OwnerRecord* record = s.owner_record(s.drafts[ix]);
  return record != nullptr && s.may_shrink(s.drafts[ix], record->ask);
}

void Intake::grant(std::string_view workload, std::int64_t pods) {
  Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx) return;
  Draft& draft = s.drafts[ix];
  if (draft.object != nullptr && (!s.is_live() || s.may_shrink(draft))) {
    s.grant_object(draft, pods);
    return s.refresh(ix);
  }
  if (draft.object != nullptr || !may_start_smaller(workload)) return;
  draft.sized = true;
  draft.granted = pods < s.owner_record(draft)->ask.size() ? pods : 0;
  s.sync_owner(std::string(workload));
}

bool Intake::starts_once(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx) return false;
  const Draft& draft = s.drafts[ix];
  if (draft.object != nullptr) return draft.former == nullptr && s.shrinks(draft);
  const OwnerRecord* record = s.owner_record(draft);
  return record != nullptr && record->ask.suspended && record->ask.least() && draft.roles.size() == 1;
}

std::int64_t Intake::granted(std::string_view workload) const {
  const auto ix = impl_->drafts.find(workload);
  return ix == kNoIx ? 0 : impl_->drafts[ix].granted;
}

bool Intake::amend(std::string_view workload, std::span<const PodSetUpdate> updates) {
  Impl& s = *impl_;
  const std::string uid(workload);
  if (!updates.empty() && s.owners.find(uid) == nullptr) return false;
  if (!s.promises.amend(uid, updates)) return false;
  OwnerRecord* record = s.owners.find(uid);
  if (record == nullptr) return false;
  OwnerRecord now = s.owner_record_of(Ask(record->ask));
  std::swap(*record, now);
  if (record->makes_the_same(now)) return false;
  s.sync_owner(uid);
  const auto ix = s.drafts.find(uid);
  return ix != kNoIx && s.holds(s.drafts[ix]) && s.drafts[ix].roles.size() == record->templates.size() &&
         s.drafts[ix].pods == 0;
}

bool Intake::is_released(std::string_view workload) const {
  const auto ix = impl_->drafts.find(workload);
  return ix != kNoIx && impl_->drafts[ix].released;
}

void Intake::renew(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.drafts.find(workload);
  if (ix == kNoIx) return;
  const Draft& draft = s.drafts[ix];
  const SlotState without_pod = s.holds(draft) ? SlotState::kWaiting : SlotState::kGone;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    for (std::size_t i = 0; i < draft.roles[r].slots.size(); ++i) {
      const auto pod = draft.roles[r].slots[i];
      if (pod == kNoIx) {
        s.work.push_back(SlotUpdate{draft.uid,
                                    static_cast<std::int64_t>(r),
                                    static_cast<std::int64_t>(i),
                                    without_pod,
                                    "",
                                    {},
                                    {},
                                    0});
      } else if (s.pods[pod].pod.spec.node_name.empty()) {
        const SlotState state = s.pods[pod].state;
        s.emit_slot(s.pods[pod], state == SlotState::kAbsent ? SlotState::kGone : state);
      }
    }
  }
}

void Intake::set_rest(std::string_view workload, std::optional<Reason> why) {
  const std::string uid(workload);
  if (!impl_->promises.set_rest(uid, std::move(why))) return;
  if (const auto ix = impl_->drafts.find(uid); ix != kNoIx) impl_->refresh(ix);
}

}  // namespace berth::dialect
