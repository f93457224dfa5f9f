// Pods and their slots: how a pod's life becomes slot updates.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
namespace {

template <class Map, class Key>
void count(Map& map, const Key& key, std::int64_t delta) {
  const auto it = map.try_emplace(key, 0).first;
  it->second += delta;
  if (it->second == 0) map.erase(it);
}

// The charge of a bound pod was decided with its bind. A user with the right to patch a pod can change its labels, annotations and
// owners at any time. Otherwise that would move its room to another queue, to a gang of another queue or to a share of its device.
// So these stay as they were when it was first seen bound; only what it says about its own cost is taken as it comes, and its
// requests, since a resize takes room of the node.
void keep_identity(Pod& pod, const Pod& was, const PodTemplate& shape) {
  static constexpr std::string_view kAboutCost[] = {kCheckpointEvery, kLastCheckpoint, kRestartOverhead,
                                                    kExpectedDuration, kKueueMaxSeconds};
  const auto keep = [](Labels& now, const Labels& then) {
    Labels kept = then;
    for (const auto key : kAboutCost) {
      if (const auto it = kept.find(key); it != kept.end()) kept.erase(it);
      if (const auto it = now.find(key); it != now.end()) kept.insert(*it);
    }
    now = std::move(kept);
  };
  keep(pod.meta.labels, was.meta.labels);
  keep(pod.meta.annotations, was.meta.annotations);
  pod.meta.controller = was.meta.controller;
  pod.devices = was.devices;
  pod.spec.selectors = was.spec.selectors;
  PodTemplate kept = shape;
  kept.requests = std::move(pod.spec.pod.requests);
  pod.spec.pod = std::move(kept);
}

// Spreads no longer count it.
bool begins_to_end(const PodRecord& record, const Pod& pod) {
  return record.pod.meta.deleting != pod.meta.deleting && !record.selected.empty();
}

// Where it stands it may stay, and no spread of it binds others.
void bind_nothing(PodSpec& spec) {
  clear_constraints(spec.pod);
  spec.drop_spreads();
}

}  // namespace

void clear_constraints(PodTemplate& pod) {
  pod.node_selector.clear();
  pod.required_affinity.clear();
  pod.preferred_affinity.clear();
  pod.tolerations.clear();
}

bool Intake::Impl::is_ours(const Pod& pod) const {
  // The API server allows no client to add or remove this mark. An owner of kind Node proves nothing: any user with the right to
  // patch a pod can write it.
  return !pod.meta.annotations.contains(kMirrorPod) && config.answers_to(pod.spec.scheduler_name);
}

bool IntakeConfig::answers_to(std::string_view scheduler) const {
  if (scheduler_names.empty()) return true;
  const std::string_view name = scheduler.empty() ? std::string_view("default-scheduler") : scheduler;
  return std::find(scheduler_names.begin(), scheduler_names.end(), name) != scheduler_names.end();
}

void Intake::Impl::upsert_pod(Pod&& pod) {
  const std::string name = key_of(pod.meta.ns, pod.meta.name);
  std::uint32_t ix = pods.find_named(name);
  if (ix != kNoIx && pods[ix].pod.meta.uid != pod.meta.uid) {
    drop(ix);  // another pod of the same name: the former one is gone
    ix = kNoIx;
  }
  const bool finished = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
  const bool bound = !pod.spec.node_name.empty();
  const bool was_bound = ix != kNoIx && pods[ix].draft != kNoIx && !pods[ix].pod.spec.node_name.empty();
  if (bound && was_bound) keep_identity(pod, pods[ix].pod, *pods[ix].shape);
  const bool ours = is_ours(pod);
  if (finished || (!bound && (!ours || pod.meta.deleting))) {
    if (finished) note_ended(pod, ix != kNoIx ? &pods[ix] : nullptr);
    if (ix != kNoIx) drop(ix);
    return;
  }
  forget_ended(name);
  const auto note = [&, problem = pod.problem] { objects.note_problem(Kind::kPod, name, problem); };
  if (bound) {
    pod.spec.pod.unsupported.clear();  // they were checked when it was bound
    // A wrong field must not free the room of what runs.
    if (!pod.problem.empty() && ix != kNoIx && pods[ix].pod.problem.empty()) {
      pod.spec.pod = *pods[ix].shape;
      pod.spec.selectors = pods[ix].pod.spec.selectors;
    }
    pod.problem.clear();
    if (!ours) bind_nothing(pod.spec);
  } else if (!pod.problem.empty()) {
    clear_constraints(pod.spec.pod);  // it starts nowhere until it is another
    pod.spec.pod.terms.clear();
    pod.spec.selectors.clear();
  }
  const SlotState state = bound ? (pod.meta.deleting ? SlotState::kReleasing : SlotState::kRunning)
                                : (pod.spec.gated ? SlotState::kAbsent : SlotState::kWaiting);
  Membership membership;
  if (ours) membership = owners.membership_of(pod, ix == kNoIx || !pods[ix].own);
  // As with its own marks: an owner that no longer names a queue takes nothing out of it that is bound.
  if (ours && bound && was_bound && pods[ix].saw_owner) membership = pods[ix].membership;
  TopologyMarks topology = topology_of(pod.meta);
  if (ix != kNoIx) {
    PodRecord& record = pods[ix];
    const bool stays =
        (record.draft != kNoIx) == ours && *record.shape == pod.spec.pod && record.membership == membership &&
        record.topology == topology && priority_key(record.pod) == priority_key(pod) &&
        record.pod.spec.selectors == pod.spec.selectors && record.pod.problem == pod.problem &&
        (ours || (record.pod.spec.node_name == pod.spec.node_name && !begins_to_end(record, pod)));
    if (stays) {
      const bool marks_changed =
          record.pod.meta.labels != pod.meta.labels || record.pod.meta.annotations != pod.meta.annotations;
      const std::string node = pod.spec.node_name;
      pod.spec.node_name = record.pod.spec.node_name;  // set_state() compares
      pod.spec.pod = {};
      pods.replace(ix, std::move(pod));
      note();
      if (marks_changed) weigh(ix);
      if (!ours) return;
      if (marks_changed) refresh(record.draft);
      return set_state(ix, bound ? state : state_without_node(record), node);
    }
    drop(ix);
  }

  PodRecord fresh;
  fresh.membership = std::move(membership);
  fresh.topology = std::move(topology);
  fresh.state = state;
  fresh.own = fresh.saw_owner = owners.of(pod.meta) != nullptr && owners.missing_of(pod.meta) == nullptr;
  fresh.shape = shapes.share(std::move(pod.spec.pod));
  pod.spec.pod = {};
  if (pod.meta.created == 0) pod.meta.created = ++arrivals;
  fresh.pod = std::move(pod);
  ix = pods.add(std::move(fresh), name);
  note();
  use_selectors(pods[ix].pod.spec.selectors, +1);
  weigh(ix);
  ours ? attach(ix) : charge_foreign(pods[ix]);
}

void Intake::Impl::note_ended(const Pod& pod, const PodRecord* record) {
  const std::string name = key_of(pod.meta.ns, pod.meta.name);
  const bool last_try = pod.phase == PodPhase::kSucceeded || pod.meta.annotation(kKueueRetriable) == "false";
  if (!last_try || pod.spec.node_name.empty() || !is_ours(pod)) return forget_ended(name);
  const Membership membership = record != nullptr ? record->membership : owners.membership_of(pod, true);
  if (membership.kind != GangKind::kPodGroup && membership.kind != GangKind::kSized) return;
  ended_members.note(name, membership.uid, pod.ended);
  if (record != nullptr) return;  // its gang is looked at when it leaves it
  if (const auto draft = drafts.find(membership.uid); draft != kNoIx) refresh(draft);
}

void Intake::Impl::forget_ended(const std::string& name) {
  const auto gang = ended_members.forget(name);
  if (!gang) return;
  if (const auto draft = drafts.find(*gang); draft != kNoIx) refresh(draft);
}

// Terms with these selectors came (+1) or went (-1). The pods of a selector that is in use from now on, or no longer, are weighed again.
void Intake::Impl::use_selectors(const std::vector<PodSelector>& selectors, int delta) {
  const std::vector<PodSelector> all = selectors;  // of a pod, perhaps, that is weighed itself
  for (const PodSelector& selector : all) {
    const auto number = pods.selectors().use(selector, delta);
    if (!number) continue;
    for (const std::uint32_t ix : pods.candidates_of(*number)) weigh(ix);
  }
}

// Which selectors select a pod, whether a controller still prepares it, and whether it starts before the others of its group exist. The
// draft's settings follow at its next refresh; for selectors alone at the next drain().
void Intake::Impl::weigh(std::uint32_t ix) {
  PodRecord& record = pods[ix];
  const Meta& meta = record.pod.meta;
  auto selected =
      pods.selectors().selecting(meta.ns, meta.labels, [&] { return objects.labels_of_namespace(meta.ns); });
  if (selected != record.selected) {
    if (record.draft != kNoIx) {
      auto& of_role = drafts[record.draft].roles[record.role].selected;
      for (const auto number : record.selected) count(of_role, number, -1);
      for (const auto number : selected) count(of_role, number, +1);
      pods.selectors().note(record.draft);
    }
    record.selected = std::move(selected);
    if (record.charged_as_foreign) charge_foreign(record);
  }
  if (record.draft == kNoIx) return;
  const bool gated = !meta.annotation(kKueueGatedBy).empty();
  if (gated != record.gated) drafts[record.draft].gated += gated ? 1 : -1;
  record.gated = gated;
  const bool fast = meta.annotation(kKueueFastAdmission) == "true";
  if (fast != record.fast) drafts[record.draft].fast += fast ? 1 : -1;
  record.fast = fast;
}

void Intake::Impl::drop(std::uint32_t ix) {
  use_selectors(pods[ix].pod.spec.selectors, -1);
  if (pods[ix].draft != kNoIx) detach(ix);
  PodRecord& record = pods[ix];
  uncharge_foreign(record);
  objects.note_problem(Kind::kPod, key_of(record.pod.meta.ns, record.pod.meta.name), {});
  pods.erase(ix);
}

void Intake::Impl::attach(std::uint32_t ix) {
  const std::uint32_t draft_ix = draft_for(pods[ix]);
  PodRecord& record = pods[ix];
  Draft& draft = drafts[draft_ix];
  if (record.pod.spec.node_name.empty()) record.state = state_without_node(record);
  const OwnedPlace place = owners.place_of(record.membership, record.pod);
  auto role = draft.roles.begin();
  if (const auto promised = join_promised(draft, record, place)) {
    role += static_cast<std::ptrdiff_t>(*promised);
  } else {
    role = std::find_if(draft.roles.begin(), draft.roles.end(), [&](const Role& r) {
      return r.topology == record.topology && *r.shape == *record.shape;
    });
  }
  if (role == draft.roles.end()) {
    draft.roles.push_back(Role{record.shape, record.topology, {}, false, {}, {}, {}});
    role = std::prev(draft.roles.end());
  }
  record.draft = draft_ix;
  record.role = static_cast<std::uint32_t>(role - draft.roles.begin());

  const auto wanted = place.index;
  const auto have = static_cast<std::int64_t>(role->slots.size());
  if (wanted && *wanted >= have && *wanted < std::max(draft.size, record.membership.size.value_or(0))) {
    role->slots.resize(static_cast<std::size_t>(*wanted) + 1, kNoIx);
    for (std::int64_t at = have; at <= *wanted; ++at) role->holes.insert(at);
  }
  if (wanted && role->holes.contains(*wanted)) {
    record.index = *wanted;
    role->holes.erase(*wanted);
  } else if (!role->expected.empty()) {  // it is one of those that were to come
    record.index = *role->expected.begin();
    role->holes.erase(record.index);
  } else if (!role->holes.empty()) {
    record.index = *role->holes.begin();
    role->holes.erase(role->holes.begin());
  } else {
    record.index = static_cast<std::int64_t>(role->slots.size());
    role->slots.push_back(kNoIx);
  }
  role->expected.erase(record.index);
  role->slots[static_cast<std::size_t>(record.index)] = ix;
  ++draft.pods;
  if (!record.pod.spec.node_name.empty()) ++draft.bound;
  note_charged_queue(draft, record.pod);
  if (!record.pod.problem.empty()) ++draft.unreadable;
  draft.refused.clear();
  count(draft.priorities, priority_key(record.pod), +1);
  if (record.membership.kind == GangKind::kSized) count(draft.sizes, record.membership.size.value_or(0), +1);
  for (const auto number : record.selected) count(role->selected, number, +1);
  weigh(ix);
  draft.first_created =
      draft.pods == 1 ? record.pod.meta.created : std::min(draft.first_created, record.pod.meta.created);
  refresh(draft_ix);
  adopt(record);
}

void Intake::Impl::detach(std::uint32_t ix) {
  PodRecord& record = pods[ix];
  const std::uint32_t draft_ix = record.draft;
  Draft& draft = drafts[draft_ix];
  Role& role = draft.roles[record.role];
  role.slots[static_cast<std::size_t>(record.index)] = kNoIx;
  role.holes.insert(record.index);
  --draft.pods;
  if (!record.pod.spec.node_name.empty()) --draft.bound;
  if (!record.pod.problem.empty()) --draft.unreadable;
  for (const auto number : record.selected) count(role.selected, number, -1);
  if (std::exchange(record.gated, false)) --draft.gated;
  if (std::exchange(record.fast, false)) --draft.fast;
  count(draft.priorities, priority_key(record.pod), -1);
  if (record.membership.kind == GangKind::kSized) count(draft.sizes, record.membership.size.value_or(0), -1);
  if (draft.pods == 0 && !keeps(draft)) {
    record.draft = kNoIx;
    return free_draft(draft_ix);
  }
  // An owner that is suspended or being released may get another pod: if it is suspended, the slot waits.
  if (!draft.given.invalid) emit_slot(record, draft.waits ? SlotState::kWaiting : SlotState::kGone);
  record.draft = kNoIx;
  if (draft.pods == 0) return sync_owner(std::string(draft.uid));
  refresh(draft_ix);
}

// The pod's place may have changed although the pod has not (its owner was seen).
void Intake::Impl::reroute(std::uint32_t ix, bool as_orphan) {
  PodRecord& record = pods[ix];
  const bool is_whole = owners.missing_of(record.pod.meta) == nullptr;  // its chain of owners
  const bool sees_owner = is_whole && owners.of(record.pod.meta) != nullptr;
  record.own = record.own || as_orphan || is_whole;
  Membership membership = owners.membership_of(record.pod, !record.own);
  const bool stays = record.saw_owner && !record.pod.spec.node_name.empty();
  record.saw_owner = record.saw_owner || sees_owner;
  if (stays || membership == record.membership) return refresh(record.draft);
  uncharge_foreign(record);
  detach(ix);
  record.membership = std::move(membership);
  attach(ix);
}

void Intake::Impl::set_state(std::uint32_t ix, SlotState state, const std::string& node) {
  PodRecord& record = pods[ix];
  if (record.state == state && record.pod.spec.node_name == node) return;
  const SlotState before = record.state;
  const bool now_bound = record.pod.spec.node_name.empty() && !node.empty();
  record.state = state;
  record.pod.spec.node_name = node;
  if (now_bound) {
    Draft& draft = drafts[record.draft];
    if (++draft.bound >= draft.size) draft.whole = draft.size;
    note_charged_queue(draft, record.pod);
  }
  uncharge_foreign(record);
  if (drafts[record.draft].kind == GangKind::kSingle && before == SlotState::kAbsent)
    refresh(record.draft);  // ungated
  if (state == SlotState::kReleasing && before != SlotState::kRunning) {
    adopt(record);
  } else {
    emit_slot(record, state == SlotState::kAbsent ? SlotState::kGone : state);
  }
}

// Tells the engine of a slot that it knows nothing of yet. One that is ending must have been running first.
void Intake::Impl::adopt(const PodRecord& record) {
  if (record.state == SlotState::kAbsent) return;
  if (record.state == SlotState::kReleasing) emit_slot(record, SlotState::kRunning);
  emit_slot(record, record.state);
}

void Intake::Impl::emit_slot(const PodRecord& record, SlotState state) {
  const Draft& draft = drafts[record.draft];
  const bool takes_room = state == SlotState::kRunning || state == SlotState::kReleasing;
  if (draft.given.invalid) {  // the engine does not know what it asks for
    PodRecord& pod = pods[draft.roles[record.role].slots[static_cast<std::size_t>(record.index)]];
    if (takes_room && !pod.charged_as_foreign) charge_foreign(pod);
    return;
  }
  work.push_back(SlotUpdate{draft.uid,
                            static_cast<std::int64_t>(record.role),
                            record.index,
                            state,
                            takes_room ? record.pod.spec.node_name : std::string(),
                            takes_room ? record.pod.devices : std::vector<std::int64_t>(),
                            {},
                            takes_room ? start_of(record) : 0});
}

// Its owner's is the start of the run that it belongs to.
TimeMs Intake::Impl::start_of(const PodRecord& record) const {
  if (record.pod.started > 0) return record.pod.started;
  const OwnerRecord* owner = owners.top_of(record.pod.meta);
  return owner != nullptr ? owner->ask.started : 0;
}

void Intake::Impl::charge_foreign(PodRecord& record) {
  ForeignPod foreign = to_foreign(record.pod.spec, record.pod.meta.uid);
  foreign.requests = record.shape->requests;
  foreign.devices = record.shape->claim.requests;
  foreign.ports = record.shape->ports;
  foreign.terms = *record.shape->terms;
  for (const auto number : record.selected) foreign.selected.push_back(pods.selectors().name(number));
  foreign.ending = record.pod.meta.deleting && !foreign.selected.empty();
  record.charged_as_foreign = true;
  work.push_back(ForeignPodUpsert{std::move(foreign)});
}

void Intake::Impl::uncharge_foreign(PodRecord& record) {
  if (!record.charged_as_foreign) return;
  record.charged_as_foreign = false;
  work.push_back(ForeignPodRemove{record.pod.meta.uid});
}

PodView Intake::Impl::view(const PodRecord& record) const {
  return {record.pod.meta.ns,
          record.pod.meta.name,
          record.pod.meta.uid,
          record.pod.spec.node_name,
          record.pod.spec.scheduler_name,
          drafts[record.draft].uid,
          static_cast<std::int64_t>(record.role),
          record.index,
          record.state,
          is_recreated(record.pod.meta),
          record.pod.meta.controller.kind,
          record.pod.eviction,
          record.pod.devices,
          drafts[record.draft].roles[record.role].shape.get()};
}

}  // namespace berth::dialect
