// Owners of pods, and those that are held suspended (IntakeConfig::hold_owners): workloads whose slots are made from their templates.
#include <algorithm>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/intake/owner_groups.h"

namespace berth::dialect {
namespace {

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

// One more or fewer below it, or one that is suspended or resumed, changes which of them are gangs of their own.
bool has_gangs_below(const OwnerBook& owners, const std::string& uid) {
  const OwnerRecord* owner = owners.find(uid);
  return owner != nullptr && owner->ask.kind->further_are_gangs;
}

}  // namespace

void Intake::Impl::upsert_owner(Ask&& ask) {
  const Kind kind = ask.kind->kind;
  const Meta& meta = *ask.meta;
  const std::string uid = meta.uid;
  const std::string key = owner_key(uid);
  const std::string name = key_of(meta.ns, meta.name);
  OwnerRecord* known = books.owners.find(uid);
  refresh_dependents(books.objects.note_problem(kind, name, ask.problem));
  if (!ask.problem.empty()) {
    // As it was known before, so that what it runs stays what it is; but nothing more of it starts.
    if (known != nullptr) {
      known->ask.problem = std::move(ask.problem);
      return refresh_dependents(key);
    }
    for (AskedSet& set : ask.sets) {
      PodTemplate bare = *set.pod;
      clear_constraints(bare);
      set.pod = templates.share(std::move(bare));
    }
  }
  if (const auto other = books.owners.uid_of(kind, meta.ns, meta.name); !other.empty() && other != uid)
    remove_owner(kind, meta.ns, meta.name);
  if (ask.kind->adopt != nullptr && known != nullptr) (void)ask.kind->adopt(ask, books.owners.below(*known));
  leave_out_others(ask, books.config);
  const bool routes_change =
      known == nullptr || known->ask.gang != ask.gang || known->ask.meta->controller != meta.controller;
  const bool rank_changes = known == nullptr || known->ask.suspended != ask.suspended;
  // A ReplicaSet counts its ready pods anew with each of them, and each pod of it is work of its own.
  const bool is_heeded_by_pods =
      known == nullptr || declaration_of(kind) != nullptr || !ask.says_as(known->ask);
  missing_owners.erase(uid);
  const Owner above = meta.controller;
  const std::string by_name = owner_key(kind, meta.ns, meta.name);
  OwnerRecord record = record_of(std::move(ask));
  if (known != nullptr) books.claims.use(*known, false);
  books.claims.use(record, true);
  books.owners.put(std::move(record));
  put_groups(books.owners, templates, uid);
  const Declaration* declared = declaration_of(kind);
  if (declared != nullptr && (declared->groups.any() || !declared->named_by.empty()))
    reroute_dependents(by_name, Moves::kWaiting);
  if (routes_change) {
    reroute_dependents(key, Moves::kWaiting);
  } else {
    refresh_dependents(key, is_heeded_by_pods);
  }
  sync_owner(uid);
  if (known == nullptr) recount(uid);
  if (rank_changes && has_gangs_below(books.owners, above.uid))
    reroute_dependents(owner_key(above.uid), Moves::kAll);
  recount(above.uid);
}

void Intake::Impl::recount(const std::string& uid) {
  const OwnerRecord* owner = books.owners.find(uid);
  if (owner != nullptr && owner->ask.kind->adopt != nullptr) {
    Ask ask = owner->ask;
    if (ask.kind->adopt(ask, books.owners.below(*owner))) upsert_owner(std::move(ask));
    return;
  }
  if (!books.owners.recount(uid)) return;
  refresh_dependents(owner_key(uid));
  sync_owner(uid);
  recount(books.owners.find(uid)->ask.meta->controller->uid);
}

void Intake::Impl::remove_owner(Kind kind, std::string_view ns, std::string_view name) {
  const auto known = books.owners.find(books.owners.uid_of(kind, ns, name));
  const std::string above = known == nullptr ? std::string() : known->ask.meta->controller->uid;
  if (known != nullptr) books.claims.use(*known, false);
  const auto uid = books.owners.erase(kind, ns, name);
  if (!uid) return;
  books.promises.forget_owner(*uid);
  sync_owner(*uid);
  refresh_dependents(owner_key(*uid));
  if (has_gangs_below(books.owners, above)) reroute_dependents(owner_key(above), Moves::kAll);
  recount(above);
}

// The owner changed, or what was decided about it.
void Intake::Impl::sync_owner(const std::string& uid) {
  if (!books.config.hold_owners) return;
  const OwnerRecord* record = books.owners.find(uid);
  std::uint32_t ix = books.drafts.find(uid);
  if (ix == kNoIx) {
    if (record == nullptr || !record->ask.suspended || record->ask.size() < 1 || !rules.may_hold(record->ask))
      return;
    const Meta& meta = *record->ask.meta;
    ix = books.drafts.add({GangKind::kOwner, uid, meta.name, std::nullopt, {}}, meta.ns);
    books.drafts[ix].first_created = meta.created != 0 ? meta.created : ++arrivals;
  }
  if (books.drafts[ix].pods == 0 && !rules.keeps(books.drafts[ix])) return free_draft(ix);
  if (rules.holds(books.drafts[ix])) {
    future.hold(books.drafts[ix], *record);
  } else {
    books.drafts[ix].sized = books.drafts[ix].sized && books.drafts[ix].released;
    books.drafts[ix].too_many = false;
  }
  refresh(ix);
  tell_slots(ix);
}

void Intake::Impl::tell_slots(std::uint32_t ix) {
  const bool waits = rules.holds(books.drafts[ix]);
  const bool flips = std::exchange(books.drafts[ix].waits, waits) != waits;
  for (std::size_t r = 0; r < books.drafts[ix].roles.size(); ++r) {
    if (flips) {
      for (const auto hole : books.drafts[ix].roles[r].holes) {
        events.add_empty_slot(books.drafts[ix], r, hole, waits ? SlotState::kWaiting : SlotState::kGone);
      }
    }
    const std::vector<std::uint32_t> pods = books.drafts[ix].roles[r].slots;
    for (const auto pod : pods) {
      if (pod == kNoIx || !books.pods[pod].pod.spec.node_name.empty()) continue;
      set_state(pod, rules.state_without_node(books.pods[pod]), "");
    }
  }
}

OwnerRecord Intake::Impl::record_of(Ask&& ask) {
  const std::string uid = ask.meta->uid;
  const auto draft = books.drafts.find(uid);
  // It has quota and places for what it was: nothing but its user changes that.
  const bool fixed = draft != kNoIx && books.drafts[draft].reserved;
  return templates.record_of(std::move(ask), books.owners.find(uid), fixed, books.promises.amendments(uid));
}

bool Intake::Impl::take_anew(std::string_view uid) {
  OwnerRecord* known = books.owners.find(uid);
  if (known == nullptr) return false;
  OwnerRecord now = record_of(Ask(known->ask));
  if (now.makes_the_same(*known)) return false;
  *known = std::move(now);
  put_groups(books.owners, templates, std::string(uid));
  return true;
}

void Intake::Impl::settle_effects() {
  if (!books.objects.rules_changed()) return;
  const auto concerns = [&](const std::string& ns, const PodNeeds* asked) {
    return books.objects.rules_changed_for(ns, asked);
  };
  std::vector<std::string> others;
  for (const auto& [uid, record] : books.owners.all()) {
    const auto& sets = record.ask.sets;
    if (std::any_of(sets.begin(), sets.end(),
                    [&](const AskedSet& set) { return concerns(record.ask.meta->ns, set.needs.get()); }))
      others.push_back(uid);
  }
  std::sort(others.begin(), others.end());
  std::erase_if(others, [&](const std::string& uid) { return !take_anew(uid); });
  for (const auto& uid : others) sync_owner(uid);
  // Work with quota keeps its granted request.
  const auto concerned = books.drafts.where([&](const Draft& draft) {
    if (draft.written == nullptr || !draft.written->admitted_to.empty() || draft.reserved) return false;
    const auto& sets = draft.written->pod_sets;
    return std::any_of(sets.begin(), sets.end(),
                       [&](const auto& set) { return concerns(draft.ns, set.needs.get()); });
  });
  for (const auto ix : concerned) take_again(ix);
  books.objects.settle_rules();
}

void Intake::Impl::take_again(std::uint32_t ix) {
  Draft& draft = books.drafts[ix];
  object_drafts.take(draft);
  if (books.config.quota_only) {
    draft.emitted = false;
  } else {
    draft.remade = draft.emitted;
  }
  refresh(ix);
}

}  // namespace berth::dialect
