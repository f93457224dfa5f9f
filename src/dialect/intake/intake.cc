#include "dialect/intake/intake.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <variant>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
namespace {

// The object of a gang has changed: some of its pods may be of other parts.
template <class Impl>
void regroup(Impl& s, const ObjectBooks::Keys& keys) {
  const auto moves = [&](const PodRecord& record) {
    const Meta& meta = record.pod.meta;
    const auto own = s.books.owners.membership_of(record.pod, !record.own);
    return s.books.objects.gangs().with_part(own, meta) != record.membership;
  };
  for (const std::string& key : keys) {
    std::vector<std::uint32_t> moved;
    for (const auto ix : s.books.drafts.dependents_of(key)) {
      Draft& draft = s.books.drafts[ix];
      if (draft.system == nullptr) continue;
      for (Role& role : draft.roles) {
        if (draft.bound == 0) role.turn = Turn::kAny;  // its subgroups are chosen anew
      }
      for (const auto& role : draft.roles) {
        for (const auto pod : role.slots) {
          if (pod != kNoIx && moves(s.books.pods[pod])) moved.push_back(pod);
        }
      }
    }
    for (const auto pod : moved) s.reroute(pod, Moves::kWaiting);
  }
}

}  // namespace

void Intake::upsert(Object object) {
  Impl& s = *impl_;
  const Kind kind = kind_of(object);
  if (owner_kind(kind) != nullptr) return s.upsert_owner(ask_of(std::move(object)));
  if (kind == Kind::kPod) return s.upsert_pod(std::move(std::get<Pod>(object)));
  const Meta& meta = meta_of(object);
  const std::string key = key_of(meta.ns, meta.name);
  s.refresh_dependents(s.books.objects.note_problem(kind, key, {}));
  if (kind == Kind::kWorkload) return s.upsert_workload(std::move(std::get<KueueWorkload>(object)));
  if (kind == Kind::kDisruptionBudget)
    return s.take_budget(s.books.budgets.put(key, std::get<DisruptionBudget>(object)));
  const ObjectBooks::Keys keys = s.books.objects.put(std::move(object));
  if (gang_system(kind) != nullptr) regroup(s, keys);
  s.refresh_dependents(keys);
}

void Intake::upsert(Ask ask) {
  impl_->upsert_owner(std::move(ask));
}

void Intake::remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid) {
  Impl& s = *impl_;
  const std::string key = key_of(ns, name);
  if (kind != Kind::kPod) {
    s.refresh_dependents(s.books.objects.note_problem(kind, key, {}));
    if (owner_kind(kind) != nullptr) return s.remove_owner(kind, ns, name);
    if (kind == Kind::kWorkload) return s.remove_workload(ns, name);
    if (kind == Kind::kDisruptionBudget) return s.take_budget(s.books.budgets.remove(key));
    const ObjectBooks::Keys keys = s.books.objects.remove(kind, ns, name);
    s.ends.gone(kind, key);
    if (gang_system(kind) != nullptr && keys.size() > 1) regroup(s, keys);  // it started with others
    return s.refresh_dependents(keys);
  }
  const std::uint32_t ix = s.books.pods.find_named(key);
  if (ix == kNoIx) return s.forget_ended(key);
  if (!uid.empty() && s.books.pods[ix].pod.meta.uid != uid) return;
  const auto member = MemberEnds::member_of(s.books.pods[ix]);
  s.drop(ix);
  if (member) s.ends.left(*member);
}

void Intake::unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message) {
  const std::string itself = fmt::format("{}: ", describe(kind, ns, name));
  if (message.starts_with(itself)) message.erase(0, itself.size());
  impl_->refresh_dependents(impl_->books.objects.note_problem(kind, key_of(ns, name), message));
}

void Intake::Impl::refresh_dependents(const std::string& key, bool also_single_pods) {
  for (const auto ix : books.drafts.dependents_of(key)) {
    const Draft& draft = books.drafts[ix];
    if (draft.used && (also_single_pods || draft.kind != GangKind::kSingle)) refresh(ix);
  }
}

void Intake::Impl::refresh_dependents(const ObjectBooks::Keys& keys) {
  for (const std::string& key : keys) {
    refresh_dependents(key);
    if (key.starts_with(kOnClaim)) claim_changed(key.substr(kOnClaim.size()));
    if (!key.starts_with("ns:") || !books.pods.selectors().reads_namespaces()) continue;
    books.pods.selectors().forget();
    books.pods.each([&](std::uint32_t ix) {
      if (key.substr(3) == books.pods[ix].pod.meta.ns) slots.weigh(ix);
    });
  }
}

void Intake::Impl::take_budget(BudgetBook::Change&& change) {
  slots.use_selectors(change.gone, -1);
  slots.use_selectors(change.come, +1);
  if (change.event) events.add(std::move(*change.event));
}

void Intake::Impl::reroute_dependents(const std::string& key, Moves moves) {
  std::vector<std::uint32_t> moved;
  for (const auto ix : books.drafts.dependents_of(key)) {
    for (const auto& role : books.drafts[ix].roles) {
      for (const auto pod : role.slots) {
        if (pod != kNoIx) moved.push_back(pod);
      }
    }
  }
  for (const auto pod : moved) reroute(pod, moves);
}

std::vector<OwnerName> Intake::missing_owners() {
  Impl& s = *impl_;
  std::vector<OwnerName> out = s.books.owners.take_strangers();
  for (auto it = s.missing_owners.begin(); it != s.missing_owners.end();) {
    const bool waited_for = !s.books.drafts.dependents_of(owner_key(it->first)).empty();
    if (waited_for) out.push_back(it->second);
    it = waited_for ? std::next(it) : s.missing_owners.erase(it);
  }
  return out;
}

void Intake::release_orphans(std::string_view owner_uid) {
  Impl& s = *impl_;
  if (s.missing_owners.erase(std::string(owner_uid)) > 0)
    s.reroute_dependents(owner_key(owner_uid), Moves::kOrphans);
}

void Intake::drain(std::vector<Event>& out) {
  for (EventQueue events = take_events(); !events.empty();) out.push_back(events.take());
}

EventQueue Intake::take_events() {
  Impl& s = *impl_;
  s.settle_effects();
  s.settle_claims();
  s.settle_prebuilt();
  for (const auto& uid : s.future.take_hopeful()) {
    const auto ix = s.books.drafts.find(uid);
    if (ix == kNoIx) continue;
    s.books.drafts[ix].kind == GangKind::kOwner ? s.sync_owner(uid) : s.refresh(ix);
  }
  std::vector<Event> of_objects;
  if (s.books.objects.drain(of_objects)) s.tell_untold();
  for (auto noted = s.books.pods.selectors().take_noted(); !noted.empty();
       noted = s.books.pods.selectors().take_noted()) {
    for (const auto ix : noted) {
      if (s.books.drafts[ix].used) s.refresh(ix);
    }
  }
  EventQueue out;
  for (Event& event : of_objects) out.push_back(std::move(event));
  out.splice(s.events.take(s.books.drafts));
  return out;
}

void Intake::tell_anew(std::string_view workload) {
  const auto ix = impl_->books.drafts.find(workload);
  if (ix == kNoIx || !impl_->books.drafts[ix].emitted) return;
  impl_->books.drafts[ix].remade = true;
  impl_->refresh(ix);
}

void Intake::refused(const Event& event, std::string_view message) {
  Impl& s = *impl_;
  if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) {
    const auto ix = s.books.drafts.find(upsert->workload.uid);
    if (ix == kNoIx || s.books.drafts[ix].refused == message) return;
    s.books.drafts[ix].refused = message;
    s.refresh(ix);
  } else if (const auto* slot = std::get_if<SlotUpdate>(&event)) {
    if (slot->state != SlotState::kRunning) return;
    const auto ix = s.books.drafts.find(slot->workload);
    if (ix != kNoIx) s.untold.insert(slot->workload);
    if (ix == kNoIx || static_cast<std::size_t>(slot->pod_set) >= s.books.drafts[ix].roles.size()) return;
    const auto& slots = s.books.drafts[ix].roles[static_cast<std::size_t>(slot->pod_set)].slots;
    if (static_cast<std::size_t>(slot->index) >= slots.size()) return;
    const auto pod = slots[static_cast<std::size_t>(slot->index)];
    if (pod != kNoIx) s.slots.charge_foreign(s.books.pods[pod]);
  }
}

void Intake::take_in(Pod& pod) const {
  if (pod.needs == nullptr) return;
  TakenTemplate as = impl_->templates.taken(pod.spec, pod.needs.get(), pod.meta, true);
  pod.spec.pod = std::move(as.pod);
  pod.spec.zero_requests = std::move(as.zero_requests);
  if (!as.refused.empty()) pod.problem = std::move(as.refused);
}

std::vector<HandOver> Intake::take_hand_overs() {
  return impl_->prebuilt.take_hand_overs();
}

std::vector<std::string> Intake::take_out_of_sync() {
  return impl_->prebuilt.take_finished();
}

std::set<std::string> Intake::take_changed_gangs() {
  return impl_->ends.take_changed();
}

void Intake::set_check_mode(CheckMode mode) {
  Impl& s = *impl_;
  if (s.books.objects.queues().check_mode() == mode) return;
  s.books.objects.queues().set_check_mode(mode);
  s.renew_prebuilt();
  s.refresh_dependents(s.books.objects.keys_of_checked());
}

void Intake::set_provisioning_served(bool served) {
  impl_->books.objects.queues().set_provisioning_served(served);
  impl_->refresh_dependents(impl_->books.objects.keys_of_checked());
}

void Intake::set_all_runtimes_known() {
  impl_->books.objects.set_all_runtimes_known();
}

}  // namespace berth::dialect
