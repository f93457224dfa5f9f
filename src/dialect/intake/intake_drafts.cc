// Drafts (workloads in the making), and how the engine gets them.
#include <fmt/format.h>

#include <utility>

#include "dialect/intake/draft_workload.h"
#include "dialect/intake/intake_state.h"
#include "model/bounds.h"

namespace berth::dialect {

std::uint32_t Intake::Impl::draft_for(const Membership& m, const std::string& ns) {
  if (const auto known = books.drafts.find(m.uid); known != kNoIx) return known;
  const std::uint32_t ix = books.drafts.add(m, ns);
  Draft& draft = books.drafts[ix];
  if (const OwnerRecord* owner = books.owner_of(draft)) {
    draft.size = rules.size_of_owner(draft, owner->ask);
    if (owner->ask.sets.size() > 1 || owner->ask.sets.front().after_first) promise_roles(draft, *owner);
  }
  return ix;
}

void Intake::Impl::free_draft(std::uint32_t ix) {
  Draft& draft = books.drafts[ix];
  const Shared<Prebuilt> named = std::exchange(draft.prebuilt, {});
  if (named->object != nullptr) prebuilt.release(named->key);
  if (draft.emitted) events.add(WorkloadRemove{draft.uid});
  future.give_back(draft);
  books.promises.forget_workload(draft.uid);
  books.owners.erase_group(draft.uid);
  slots.use_selectors(draft.selectors, -1);
  books.drafts.erase(ix);
}

WorkloadInfo Intake::Impl::info_of(const Draft& draft) const {
  WorkloadInfo out;
  out.uid = draft.uid;
  out.name = draft.name;
  out.queue = draft.given->queue;
  out.priority = draft.given->priority;
  out.gang = draft.kind != GangKind::kSingle;
  out.pods = draft.pods;
  for (const auto& count : draft.given->counts) out.least += count.least;
  if (draft.given->needs > 0) out.least = draft.given->needs;
  out.elastic = rules.may_grow(draft);
  out.enough = draft.given->enough;
  if (draft.former != nullptr) out.former = key_of(draft.former->meta.ns, draft.former->meta.name);
  out.whole = draft.whole;
  const OwnerRecord* record = books.owner_of(draft);
  if (record == nullptr || !rules.may_hold(record->ask)) return out;
  if (!record->ask.suspended && books.owners.has_further(*record)) return out;  // its switch would not end it
  out.owner = &record->ask;
  out.suspended = rules.holds(draft);
  out.revision = draft.revision;
  return out;
}

// The selectors of an owner's templates are in use while it waits for its places: its pods do not exist yet. Where most pods come when
// another has its node, they differ from the template in their terms, and its selectors stay in use. So it is with those of a group.
void Intake::Impl::use_template_selectors(std::uint32_t ix) {
  Draft& draft = books.drafts[ix];
  std::vector<const PodSelector*> all;
  const OwnerRecord* owner = books.asker_of(draft);
  if (owner != nullptr) {
    const bool waits = draft.kind == GangKind::kSized || rules.holds(draft);
    for (const AskedSet& set : owner->ask.sets) {
      if (!waits && !set.after_first) continue;
      for (const PodSelector& selector : set.spec->selectors) all.push_back(&selector);
    }
  }
  const auto same = [](const PodSelector* a, const PodSelector& b) { return *a == b; };
  if (std::equal(all.begin(), all.end(), draft.selectors.begin(), draft.selectors.end(), same)) return;
  std::vector<PodSelector> wanted;
  for (const PodSelector* selector : all) wanted.push_back(*selector);
  slots.use_selectors(wanted, +1);
  std::swap(wanted, draft.selectors);
  slots.use_selectors(wanted, -1);
}

void Intake::Impl::refresh(std::uint32_t ix) {
  use_template_selectors(ix);
  Draft& draft = books.drafts[ix];
  const std::vector<SlotUpdate> members = future.follow(draft);
  std::vector<std::string> depends;
  Settings now = settings.of(draft, depends);
  books.drafts.set_depends(ix, std::move(depends));
  if (draft.emitted && !draft.remade && draft.given == now) return events.add(members);
  const bool fresh = !draft.emitted || draft.remade || draft.given->queue != now.queue;
  if (fresh) draft.waits = rules.holds(draft);
  Workload workload = workload_of(books, draft, now);
  if (!now.invalid) {
    if (const auto status = check(workload); !status) {
      now.blocked = reason_of(ReasonCode::kInvalid, status.error().message);
      now.invalid = true;
      if (draft.emitted && !draft.remade && draft.given == now) return events.add(members);
      workload = workload_of(books, draft, now);
    }
  }
  // A queue cannot change under slots that have places, and what the engine did not know it must be told again.
  const bool again = draft.emitted &&
                     (draft.remade || draft.given->queue != now.queue || draft.given->invalid != now.invalid);
  draft.remade = false;
  const bool drains = now.drain && (!draft.emitted || !draft.given->drain);
  const bool had_later = !draft.given->later.empty();
  events.begin(draft, again);
  draft.emitted = true;
  books.drafts.give(ix, std::move(now));
  if (draft.kind == GangKind::kSingle) note_owners(draft);
  keep_bounds(workload);  // no annotation may make the engine refuse what runs
  events.add(WorkloadUpsert{std::move(workload)});
  if (!draft.prebuilt->lost.empty())
    events.add(Withdraw{draft.uid, std::exchange(draft.prebuilt.edit().lost, {})});
  if (draft.object) return again ? object_drafts.tell_admission(draft) : void();
  if (!again) events.add(members);
  future.tell_unexpected(draft);
  tell_pods(draft, again, drains);
  take_turns(ix, had_later);
}

// Subgroups whose turn has come start, and others wait. `had_later`: some had to wait before.
void Intake::Impl::take_turns(std::uint32_t ix, bool had_later) {
  for (const Role& role : books.drafts[ix].roles) {
    if (role.turn == Turn::kAny && !had_later) continue;
    for (const auto pod : role.slots) {
      if (pod != kNoIx && books.pods[pod].pod.spec.node_name.empty())
        set_state(pod, rules.state_without_node(books.pods[pod]), {});
    }
  }
}

// A pod of its own: owners that it waits for, or that Berth does not read.
void Intake::Impl::note_owners(const Draft& draft) {
  const auto pod = draft.roles.front().slots.front();
  if (draft.given->blocked) {
    const bool waits = books.config.wait_for_owners && pod != kNoIx && !books.pods[pod].own;
    if (const Owner* missing = waits ? books.owners.missing_of(books.pods[pod].pod.meta) : nullptr)
      missing_owners.try_emplace(
          missing->uid, OwnerName{owner_kind(*missing), draft.ns, missing->name, missing->uid, {}, {}});
  }
  if (draft.pods > 0 && draft.bound == 0) books.owners.note_stranger(books.pods[pod].pod.meta);
}

// `again`: the engine has forgotten them. `drains`: its queue has just been told to end what runs.
void Intake::Impl::tell_pods(const Draft& draft, bool again, bool drains) {
  bool running = false;
  for (const auto& role : draft.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      PodRecord& record = books.pods[pod];
      running |= record.state == SlotState::kRunning;
      if (!again) continue;
      slots.uncharge_foreign(record);
      if (record.state == SlotState::kAbsent && draft.waits) slots.tell(record, SlotState::kGone);
      slots.tell_first(record);
    }
  }
  if (drains && running) {
    events.add(Withdraw{draft.uid, fmt::format("its LocalQueue was stopped with HoldAndDrain ({})",
                                               draft.given->blocked ? draft.given->blocked->subject : "")});
  }
}

// Queues or flavors have changed.
void Intake::Impl::tell_untold() {
  for (const auto& uid : std::exchange(untold, {})) {
    const auto ix = books.drafts.find(uid);
    if (ix == kNoIx || !books.drafts[ix].emitted || books.drafts[ix].given->invalid) continue;
    if (books.drafts[ix].object != nullptr) {
      object_drafts.tell_admission(books.drafts[ix]);
      continue;
    }
    for (const Role& role : books.drafts[ix].roles) {
      for (const auto pod : role.slots) {
        if (pod == kNoIx || !books.pods[pod].charged_as_foreign) continue;
        slots.uncharge_foreign(books.pods[pod]);
        slots.tell_first(books.pods[pod]);
      }
    }
  }
}

}  // namespace berth::dialect
