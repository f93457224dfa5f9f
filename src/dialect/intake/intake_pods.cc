// Pods and their slots: how a pod's life becomes slot updates.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/intake/owner_groups.h"
#include "dialect/intake/queue_choice.h"

namespace berth::dialect {
namespace {

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
  kept.requests = pod.spec.pod->requests;
  pod.spec.pod = std::move(kept);
}

// Spreads no longer count it.
bool begins_to_end(const PodRecord& record, const Pod& pod) {
  return record.pod.meta.deleting != pod.meta.deleting && !record.selected.empty();
}

// Where it stands it may stay, and no spread of it binds others.
void bind_nothing(PodSpec& spec) {
  clear_constraints(spec.pod.edit());
  spec.drop_spreads();
}

// Drops what no longer matters of a pod, or cannot be relied on. `known`: its former state, or nullptr.
void drop_unused(Pod& pod, const PodRecord* known, bool ours) {
  if (!pod.spec.node_name.empty()) {
    if (!pod.spec.pod->unsupported.empty())
      pod.spec.pod.edit().unsupported.clear();  // they were checked when it was bound
    // A wrong field must not free the room of what runs.
    if (!pod.problem.empty() && known != nullptr && known->pod.problem.empty()) {
      pod.spec.pod = *known->shape;
      pod.spec.selectors = known->pod.spec.selectors;
    }
    pod.problem.clear();
    if (!ours) bind_nothing(pod.spec);
  } else if (!pod.problem.empty()) {
    clear_constraints(pod.spec.pod.edit());  // it starts nowhere until it is another
    pod.spec.pod.edit().terms.clear();
    pod.spec.selectors.clear();
  }
}

// Its gang is one for so long from then on.
bool begins_to_run(const IntakeBooks& books, const PodRecord& record, const Pod& pod) {
  return record.draft != kNoIx && record.pod.started != pod.started &&
         books.drafts[record.draft].said.patience() != nullptr;
}

// Those of the group of this pod that wait, and belong to a former pod of its name. Only the pods of an owner of groups have such, and of
// them only those that are not made for another pod.
std::vector<std::uint32_t> strays_beside(const IntakeBooks& books, std::uint32_t ix) {
  std::vector<std::uint32_t> out;
  const PodRecord& record = books.pods[ix];
  if (record.draft == kNoIx || !books.owners.is_group(books.drafts[record.draft].uid)) return out;
  if (books.made_for(record.pod.meta) != nullptr) return out;
  for (const Role& role : books.drafts[record.draft].roles) {
    for (const auto other : role.slots) {
      if (other == kNoIx || other == ix || !books.pods[other].pod.spec.node_name.empty()) continue;
      if (books.is_stray(books.pods[other].pod.meta)) out.push_back(other);
    }
  }
  return out;
}

// Whether the pod still asks for what its record says.
bool asks_the_same(const PodRecord& record, const Pod& pod, bool ours) {
  return (record.draft != kNoIx) == ours && *record.shape == *pod.spec.pod &&
         priority_key(record.pod) == priority_key(pod) && record.pod.spec.selectors == pod.spec.selectors &&
         record.pod.spec.claims == pod.spec.claims && record.pod.problem == pod.problem &&
         (ours || (record.pod.spec.node_name == pod.spec.node_name && !begins_to_end(record, pod)));
}

}  // namespace

void Intake::Impl::upsert_pod(Pod&& pod) {
  const std::string name = key_of(pod.meta.ns, pod.meta.name);
  std::uint32_t ix = books.pods.find_named(name);
  if (ix != kNoIx && books.pods[ix].pod.meta.uid != pod.meta.uid) {
    drop(ix);  // another pod of the same name: the former one is gone
    ix = kNoIx;
  }
  const bool finished = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
  const bool ours = rules.is_ours(pod);
  // Another scheduler makes room for the pod there: that room is the pod's, as for Kubernetes' own scheduler.
  if (!ours && pod.spec.node_name.empty()) pod.spec.node_name = pod.nominated;
  const bool bound = !pod.spec.node_name.empty();
  const bool was_bound =
      ix != kNoIx && books.pods[ix].draft != kNoIx && !books.pods[ix].pod.spec.node_name.empty();
  if (bound && was_bound) keep_identity(pod, books.pods[ix].pod, *books.pods[ix].shape);
  if (finished || (!bound && (!ours || pod.meta.deleting || books.is_stray(pod.meta)))) {
    if (finished) note_ended(pod, ix != kNoIx ? &books.pods[ix] : nullptr);
    if (ix != kNoIx) drop(ix);
    return;
  }
  forget_ended(name);
  const auto note = [&, problem = pod.problem] { books.objects.note_problem(Kind::kPod, name, problem); };
  drop_unused(pod, ix == kNoIx ? nullptr : &books.pods[ix], ours);
  std::shared_ptr<const Reason> claim_wait;
  if (pod.problem.empty()) claim_wait = templates.mount(pod.spec, pod.meta, pod.spec.pod.edit());
  if (!ours) {  // it keeps others from claims for one pod, and has its volumes on its node
    claim_wait.reset();
    pod.spec.pod.edit().volumes.clear();
  }
  const SlotState state = bound ? (pod.meta.deleting ? SlotState::kReleasing : SlotState::kRunning)
                                : (pod.spec.gated ? SlotState::kAbsent : SlotState::kWaiting);
  Membership membership;
  if (ours)
    membership = books.objects.gangs().with_part(
        books.owners.membership_of(pod, ix == kNoIx || !books.pods[ix].own), pod.meta);
  // As with its own marks: an owner that no longer names a queue takes nothing out of it that is bound.
  if (ours && bound && was_bound && books.pods[ix].saw_owner) membership = books.pods[ix].membership;
  TopologyMarks topology = topology_of(pod.meta);
  if (ix != kNoIx) {
    PodRecord& record = books.pods[ix];
    if (record.membership == membership && record.topology == topology && asks_the_same(record, pod, ours)) {
      const bool marks_changed =
          record.pod.meta.labels != pod.meta.labels || record.pod.meta.annotations != pod.meta.annotations;
      if (record.draft != kNoIx && has_told_object(books.drafts[record.draft]) &&
          (record.pod.phase != pod.phase || record.pod.meta.deleting != pod.meta.deleting))
        ends.changed(books.drafts[record.draft].uid);
      const bool begins = begins_to_run(books, record, pod);
      const std::string node = pod.spec.node_name;
      pod.spec.node_name = record.pod.spec.node_name;  // set_state() compares
      pod.spec.pod.clear();
      books.pods.replace(ix, std::move(pod));
      note();
      if (marks_changed) slots.weigh(ix);
      if (!ours) return note_volumes(ix);
      if (slots.set_claim_wait(record, std::move(claim_wait)) || marks_changed) refresh(record.draft);
      set_state(ix, bound ? state : rules.state_without_node(record), node);
      if (begins) refresh(record.draft);
      return note_volumes(ix);
    }
    drop(ix);
  }

  PodRecord fresh{.membership = std::move(membership), .topology = std::move(topology), .state = state};
  fresh.own = fresh.saw_owner =
      books.owners.of(pod.meta) != nullptr && books.owners.missing_of(pod.meta) == nullptr;
  fresh.shape = templates.share(std::move(pod.spec.pod.edit()));
  pod.spec.pod.clear();
  if (pod.meta.created == 0) pod.meta.created = ++arrivals;
  fresh.claim_wait = std::move(claim_wait);
  fresh.pod = std::move(pod);
  ix = books.pods.add(std::move(fresh), name);
  note();
  slots.use_selectors(books.pods[ix].pod.spec.selectors, +1);
  books.claims.use(books.pods[ix].pod, ix, true);
  note_volumes(ix);
  slots.weigh(ix);
  ours ? attach(ix) : slots.charge_foreign(books.pods[ix]);
  for (const auto stray : strays_beside(books, ix)) drop(stray);
}

void Intake::Impl::note_ended(const Pod& pod, const PodRecord* record) {
  const auto draft = books.drafts.find(ends.note(pod, record));
  // Where the pod is known, its gang is looked at when it leaves it.
  if (record == nullptr && draft != kNoIx) refresh(draft);
}

void Intake::Impl::forget_ended(const std::string& name) {
  const auto draft = books.drafts.find(ends.forget(name));
  if (draft != kNoIx) refresh(draft);
}

void Intake::Impl::drop(std::uint32_t ix) {
  slots.use_selectors(books.pods[ix].pod.spec.selectors, -1);
  books.claims.use(books.pods[ix].pod, ix, false);
  books.objects.attachments().set_pod(ix, {});
  if (books.pods[ix].draft != kNoIx) detach(ix);
  PodRecord& record = books.pods[ix];
  slots.uncharge_foreign(record);
  books.objects.note_problem(Kind::kPod, key_of(record.pod.meta.ns, record.pod.meta.name), {});
  books.pods.erase(ix);
}

void Intake::Impl::attach(std::uint32_t ix) {
  const PodRecord& record = books.pods[ix];
  const Membership workload = record.workload();
  const bool is_new = books.drafts.find(workload.uid) == kNoIx;
  const std::uint32_t draft_ix = draft_for(workload, record.pod.meta.ns);
  // A group of an owner has its pod sets.
  const auto group =
      is_new && workload.kind == GangKind::kSized ? books.owners.group_of(record.pod.meta) : std::nullopt;
  if (group && group->record != nullptr) {
    const bool is_gang = workload.size_key == group->named.declared->groups.group;
    if (is_gang) put_group(books.owners, templates, workload.uid, *group);
    const OwnerRecord* asker = books.asker_of(books.drafts[draft_ix]);
    if (asker == nullptr) asker = group->record;
    if (asker->ask.sets.size() > 1) promise_roles(books.drafts[draft_ix], *asker);
  }
  slots.join(ix, draft_ix);
  refresh(draft_ix);
  slots.tell_first(books.pods[ix]);
}

void Intake::Impl::detach(std::uint32_t ix) {
  slots.leave(ix);
  PodRecord& record = books.pods[ix];
  const std::uint32_t draft_ix = record.draft;
  Draft& draft = books.drafts[draft_ix];
  if (draft.pods == 0 && !rules.keeps(draft)) {
    record.draft = kNoIx;
    return free_draft(draft_ix);
  }
  // An owner that is suspended or being released may get another pod: if it is suspended, the slot waits.
  if (!draft.given->invalid) slots.tell(record, draft.waits ? SlotState::kWaiting : SlotState::kGone);
  record.draft = kNoIx;
  if (draft.pods == 0) return sync_owner(std::string(draft.uid));
  refresh(draft_ix);
}

// The pod's place may have changed although the pod has not (its owner was seen).
void Intake::Impl::reroute(std::uint32_t ix, Moves moves) {
  PodRecord& record = books.pods[ix];
  const bool is_whole = books.owners.missing_of(record.pod.meta) == nullptr;  // its chain of owners
  const bool sees_owner = is_whole && books.owners.of(record.pod.meta) != nullptr;
  record.own = record.own || moves == Moves::kOrphans || is_whole;
  Membership membership =
      books.objects.gangs().with_part(books.owners.membership_of(record.pod, !record.own), record.pod.meta);
  // Its own marks are the same: only the object says more than before.
  const bool same_system = membership.system != nullptr && membership.system == record.membership->system;
  const bool stays =
      record.saw_owner && !same_system && !record.pod.spec.node_name.empty() && moves != Moves::kAll;
  record.saw_owner = record.saw_owner || sees_owner;
  if (stays || membership == record.membership) return refresh(record.draft);
  slots.uncharge_foreign(record);
  detach(ix);
  record.membership = std::move(membership);
  attach(ix);
}

void Intake::Impl::set_state(std::uint32_t ix, SlotState state, const std::string& node) {
  PodRecord& record = books.pods[ix];
  if (record.state == state && record.pod.spec.node_name == node) return;
  const SlotState before = record.state;
  const bool now_bound = record.pod.spec.node_name.empty() && !node.empty();
  record.state = state;
  record.pod.spec.node_name = node;
  if (now_bound) {
    Draft& draft = books.drafts[record.draft];
    if (++draft.bound >= draft.size) draft.whole = draft.size;
    note_charged_queue(draft, record.pod);
  }
  slots.uncharge_foreign(record);
  if (books.drafts[record.draft].kind == GangKind::kSingle && before == SlotState::kAbsent)
    refresh(record.draft);  // ungated
  if (state == SlotState::kReleasing && before != SlotState::kRunning) {
    slots.tell_first(record);
  } else {
    slots.tell(record, state == SlotState::kAbsent ? SlotState::kGone : state);
  }
  const Draft& draft = books.drafts[record.draft];
  const Role& role = draft.roles[record.role];
  if (now_bound && (role.turn != Turn::kAny || role.kept || draft.as_one || draft.loose))
    refresh(record.draft);
}

}  // namespace berth::dialect
