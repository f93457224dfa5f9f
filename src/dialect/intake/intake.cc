#include "dialect/intake/intake.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {

Intake::Intake(IntakeConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Intake::~Intake() = default;
Intake::Intake(Intake&&) noexcept = default;
Intake& Intake::operator=(Intake&&) noexcept = default;

void Intake::upsert(Object object) {
  Impl& s = *impl_;
  const Kind kind = kind_of(object);
  if (owner_kind(kind) != nullptr) return s.upsert_owner(ask_of(std::move(object)));
  if (kind == Kind::kPod) return s.upsert_pod(std::move(std::get<Pod>(object)));
  const Meta& meta = meta_of(object);
  s.refresh_dependents(s.objects.note_problem(kind, key_of(meta.ns, meta.name), {}));
  if (kind == Kind::kWorkload) return s.upsert_workload(std::move(std::get<KueueWorkload>(object)));
  s.refresh_dependents(s.objects.put(std::move(object)));
}

void Intake::upsert(Ask ask) {
  impl_->upsert_owner(std::move(ask));
}

void Intake::remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid) {
  Impl& s = *impl_;
  const std::string key = key_of(ns, name);
  if (kind != Kind::kPod) {
    s.refresh_dependents(s.objects.note_problem(kind, key, {}));
    if (owner_kind(kind) != nullptr) return s.remove_owner(kind, ns, name);
    if (kind == Kind::kWorkload) return s.remove_workload(ns, name);
    return s.refresh_dependents(s.objects.remove(kind, ns, name));
  }
  const std::uint32_t ix = s.pods.find_named(key);
  if (ix == kNoIx) return s.forget_ended(key);
  if (uid.empty() || s.pods[ix].pod.meta.uid == uid) s.drop(ix);
}

void Intake::unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message) {
  impl_->refresh_dependents(impl_->objects.note_problem(kind, key_of(ns, name), std::move(message)));
}

const std::map<std::pair<Kind, std::string>, std::string>& Intake::unreadable() const {
  return impl_->objects.all_unreadable();
}

std::uint64_t Intake::unreadable_changes() const {
  return impl_->objects.unreadable_changes();
}

void Intake::Impl::refresh_dependents(const std::string& key) {
  for (const auto ix : drafts.dependents_of(key)) {
    if (drafts[ix].used) refresh(ix);
  }
}

void Intake::Impl::refresh_dependents(const ObjectBooks::Keys& keys) {
  for (const std::string& key : keys) {
    refresh_dependents(key);
    if (!key.starts_with("ns:") || !pods.selectors().reads_namespaces()) continue;
    pods.each([&](std::uint32_t ix) {
      if (key.substr(3) == pods[ix].pod.meta.ns) weigh(ix);
    });
  }
}

void Intake::Impl::reroute_dependents(const std::string& key, bool as_orphans) {
  std::vector<std::uint32_t> moved;
  for (const auto ix : drafts.dependents_of(key)) {
    for (const auto& role : drafts[ix].roles) {
      for (const auto pod : role.slots) {
        if (pod != kNoIx) moved.push_back(pod);
      }
    }
  }
  for (const auto pod : moved) reroute(pod, as_orphans);
}

std::vector<OwnerName> Intake::missing_owners() {
  Impl& s = *impl_;
  std::vector<OwnerName> out = s.owners.take_strangers();
  for (auto it = s.missing_owners.begin(); it != s.missing_owners.end();) {
    const bool waited_for = !s.drafts.dependents_of(owner_key(it->first)).empty();
    if (waited_for) out.push_back(it->second);
    it = waited_for ? std::next(it) : s.missing_owners.erase(it);
  }
  return out;
}

void Intake::release_orphans(std::string_view owner_uid) {
  Impl& s = *impl_;
  if (s.missing_owners.erase(std::string(owner_uid)) > 0) s.reroute_dependents(owner_key(owner_uid), true);
}

void Intake::drain(std::vector<Event>& out) {
  Impl& s = *impl_;
  s.settle_effects();
  s.settle_prebuilt();
  for (const auto& uid : s.place_budget.take_hopeful()) {
    const auto ix = s.drafts.find(uid);
    if (ix == kNoIx) continue;
    s.drafts[ix].kind == GangKind::kOwner ? s.sync_owner(uid) : s.refresh(ix);
  }
  if (s.objects.drain(out)) s.tell_untold();
  for (auto noted = s.pods.selectors().take_noted(); !noted.empty();
       noted = s.pods.selectors().take_noted()) {
    for (const auto ix : noted) {
      if (s.drafts[ix].used) s.refresh(ix);
    }
  }
  s.drop_outdated();
  out.insert(out.end(), std::make_move_iterator(s.work.begin()), std::make_move_iterator(s.work.end()));
  s.work.clear();
  ++s.batch;
}

// If a workload is reported whole, its earlier events of the same batch are dropped. Otherwise the engine could refuse them, for a
// queue not seen yet, and its running pods would be charged twice.
void Intake::Impl::drop_outdated() {
  if (!retold) return;
  retold = false;
  std::size_t at = 0;
  std::erase_if(work, [&](const Event& event) {
    const std::size_t here = at++;
    const auto before = [&](const std::string& uid, bool is_removal) {
      const auto ix = drafts.find(uid);
      if (ix == kNoIx || drafts[ix].retold_in != batch) return false;
      if (is_removal) return here == drafts[ix].retold_at && drafts[ix].first_told_in == batch;
      return here < drafts[ix].retold_at;
    };
    if (const auto* e = std::get_if<WorkloadUpsert>(&event)) return before(e->workload.uid, false);
    if (const auto* e = std::get_if<SlotUpdate>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<Withdraw>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<WorkloadRemove>(&event)) return before(e->uid, true);
    return false;
  });
}

void Intake::tell_anew(std::string_view workload) {
  const auto ix = impl_->drafts.find(workload);
  if (ix == kNoIx || !impl_->drafts[ix].emitted) return;
  impl_->drafts[ix].remade = true;
  impl_->refresh(ix);
}

void Intake::refused(const Event& event, std::string_view message) {
  Impl& s = *impl_;
  if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) {
    const auto ix = s.drafts.find(upsert->workload.uid);
    if (ix == kNoIx || s.drafts[ix].refused == message) return;
    s.drafts[ix].refused = message;
    s.refresh(ix);
  } else if (const auto* slot = std::get_if<SlotUpdate>(&event)) {
    if (slot->state != SlotState::kRunning) return;
    const auto ix = s.drafts.find(slot->workload);
    if (ix != kNoIx) s.untold.insert(slot->workload);
    if (ix == kNoIx || static_cast<std::size_t>(slot->pod_set) >= s.drafts[ix].roles.size()) return;
    const auto& slots = s.drafts[ix].roles[static_cast<std::size_t>(slot->pod_set)].slots;
    if (static_cast<std::size_t>(slot->index) >= slots.size()) return;
    const auto pod = slots[static_cast<std::size_t>(slot->index)];
    if (pod != kNoIx) s.charge_foreign(s.pods[pod]);
  }
}

void Intake::retry(std::string_view pod_uid) {
  const auto ix = impl_->pods.find(pod_uid);
  if (ix == kNoIx) return;
  const PodRecord& record = impl_->pods[ix];
  if (record.draft == kNoIx || !record.pod.spec.node_name.empty()) return;
  impl_->emit_slot(record, record.state == SlotState::kWaiting ? SlotState::kWaiting : SlotState::kGone);
}

std::optional<PodView> Intake::pod(std::string_view uid) const {
  const auto ix = impl_->pods.find(uid);
  if (ix == kNoIx || impl_->pods[ix].draft == kNoIx) return std::nullopt;
  return impl_->view(impl_->pods[ix]);
}

std::optional<PodView> Intake::pod_at(std::string_view workload, std::int64_t pod_set,
                                      std::int64_t index) const {
  const auto ix = impl_->drafts.find(workload);
  if (ix == kNoIx || pod_set < 0 || index < 0) return std::nullopt;
  const auto& roles = impl_->drafts[ix].roles;
  if (static_cast<std::size_t>(pod_set) >= roles.size()) return std::nullopt;
  const auto& slots = roles[static_cast<std::size_t>(pod_set)].slots;
  if (static_cast<std::size_t>(index) >= slots.size()) return std::nullopt;
  const auto pod = slots[static_cast<std::size_t>(index)];
  if (pod == kNoIx) return std::nullopt;
  return impl_->view(impl_->pods[pod]);
}

std::vector<PodView> Intake::pods_of(std::string_view workload) const {
  std::vector<PodView> out;
  const auto ix = impl_->drafts.find(workload);
  if (ix == kNoIx) return out;
  for (const auto& role : impl_->drafts[ix].roles) {
    for (const auto pod : role.slots) {
      if (pod != kNoIx) out.push_back(impl_->view(impl_->pods[pod]));
    }
  }
  return out;
}

WorkloadInfo Intake::Impl::info_of(const Draft& draft) const {
  WorkloadInfo out;
  out.uid = draft.uid;
  out.name = draft.name;
  out.queue = draft.given.queue;
  out.priority = draft.given.priority;
  out.gang = draft.kind != GangKind::kSingle;
  out.pods = draft.pods;
  for (const auto& count : draft.given.counts) out.least += count.least;
  out.elastic = may_grow(draft);
  if (draft.former != nullptr) out.former = key_of(draft.former->meta.ns, draft.former->meta.name);
  out.whole = draft.whole;
  const OwnerRecord* record = owner_record(draft);
  if (record == nullptr || !may_hold(record->ask)) return out;
  out.owner = &record->ask;
  out.suspended = holds(draft);
  out.revision = draft.revision;
  return out;
}

std::optional<WorkloadInfo> Intake::workload(std::string_view uid) const {
  const auto ix = impl_->drafts.find(uid);
  if (ix == kNoIx) return std::nullopt;
  return impl_->info_of(impl_->drafts[ix]);
}

std::vector<WorkloadInfo> Intake::workloads() const {
  std::vector<const Draft*> live;
  for (const auto ix : impl_->drafts.where([](const Draft&) { return true; }))
    live.push_back(&impl_->drafts[ix]);
  std::sort(live.begin(), live.end(), [](const Draft* a, const Draft* b) {
    return std::tie(a->given.created, a->uid) < std::tie(b->given.created, b->uid);
  });
  std::vector<WorkloadInfo> out;
  for (const auto* draft : live) out.push_back(impl_->info_of(*draft));
  return out;
}

const Reason* Intake::blocked(std::string_view workload) const {
  const auto ix = impl_->drafts.find(workload);
  if (ix == kNoIx || !impl_->drafts[ix].given.blocked) return nullptr;
  return &*impl_->drafts[ix].given.blocked;
}

std::vector<Problem> Intake::problems() const {
  return impl_->objects.problems();
}

std::size_t Intake::pod_count() const {
  return impl_->pods.size();
}

}  // namespace berth::dialect
