// Kueue's Workload objects: as work of their own (IntakeConfig::quota_only), and those that another client made for work (kKueuePrebuilt).
// On the workers of Kueue's MultiKueue the manager makes the Workload first, and the owner when that has been admitted. So each is work of
// its own, without pods, until work comes that names it and asks for what it says. Then it belongs to that work, and so do its places
// (HandOver). Its status is never read.
#include <memory>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/workload_object.h"

namespace berth::dialect {
namespace {

// It was made before its work. One that Berth made had an owner, which was deleted without it (--cascade=orphan): no work comes for it.
bool may_wait_alone(const KueueWorkload& object) {
  return object.owners.empty() && !object.finished && !object.meta.deleting &&
         !object.meta.annotations.contains(kWorkloadOf);
}

}  // namespace

void Intake::Impl::upsert_workload(KueueWorkload&& object) {
  if (!books.config.quota_only) return upsert_prebuilt(std::move(object));
  if (object.finished) return remove_workload(object.meta.ns, object.meta.name);
  const std::string key = key_of(object.meta.ns, object.meta.name);
  if (const auto known = planned.find(key); known != nullptr && known->meta.uid != object.meta.uid)
    remove_workload(object.meta.ns, object.meta.name);
  if (object.meta.created == 0) object.meta.created = ++arrivals;
  const auto others = planned.put(key, std::make_shared<const KueueWorkload>(std::move(object)));
  for (const auto& other : others) tell_planned(other);
}

void Intake::Impl::remove_workload(std::string_view ns, std::string_view name) {
  const std::string key = key_of(ns, name);
  if (!books.config.quota_only) return remove_prebuilt(key);
  for (const auto& other : planned.put(key, nullptr)) tell_planned(other);
}

void Intake::Impl::tell_planned(const std::string& key) {
  const auto object = planned.find(key);
  const auto told = workload_by_name.find(key);
  // If there are two slices, the later one is reported, with the places of the former.
  if (object == nullptr || planned.next_of(*object) != nullptr) {
    if (told == workload_by_name.end()) return;
    const std::uint32_t ix = books.drafts.find(told->second);
    workload_by_name.erase(told);
    return free_draft(ix);
  }
  const std::string& uid = object->meta.uid;
  std::uint32_t ix = books.drafts.find(uid);
  if (ix == kNoIx) {
    ix = draft_for({GangKind::kKueueWorkload, uid, object->meta.name, std::nullopt, {}}, object->meta.ns);
    workload_by_name.insert_or_assign(key, uid);
  }
  Draft& draft = books.drafts[ix];
  draft.first_created = object->meta.created;
  draft.refused.clear();
  draft.written = object;
  const bool had_places = draft.former != nullptr;
  draft.former = planned.former_of(*object);
  object_drafts.take(draft);
  // Its counts, requests and quota may all be others: it is told whole.
  if (draft.emitted && (had_places || draft.former != nullptr)) events.add(WorkloadRemove{uid});
  draft.emitted = false;
  refresh(ix);
  object_drafts.tell_admission(books.drafts[ix]);
}

void Intake::Impl::upsert_prebuilt(KueueWorkload&& object) {
  const std::string key = key_of(object.meta.ns, object.meta.name);
  if (!workload_of(object).empty()) return remove_prebuilt(key);  // Berth's own
  object.admitted_to.clear();
  object.assignments.clear();
  object.reserved_at = object.requeued_from = 0;
  object.evicted = false;
  object.status = {};
  for (auto& set : object.pod_sets) set.reclaimable = 0;
  const auto known = prebuilt.find(key);
  if (known != nullptr && same(*known, object)) return;
  if (known != nullptr && known->meta.uid != object.meta.uid) remove_prebuilt(key);
  prebuilt.put(key, std::make_shared<const KueueWorkload>(std::move(object)));
  refresh_dependents("wl:" + key);
  settle_prebuilt(key);
}

void Intake::Impl::remove_prebuilt(const std::string& key) {
  if (prebuilt.find(key) == nullptr) return;
  if (const std::string former = prebuilt.erase(key); !former.empty()) refresh_dependents("wl:" + former);
  refresh_dependents("wl:" + key);
  settle_prebuilt(key);
}

void Intake::Impl::renew_prebuilt() {
  const std::vector<std::string> keys = prebuilt.keys();
  const auto named = books.drafts.where([](const Draft& draft) { return !draft.prebuilt->key.empty(); });
  for (const auto ix : named) refresh(ix);
  for (const auto& key : keys) settle_prebuilt(key);
}

void Intake::Impl::settle_prebuilt() {
  for (auto key = prebuilt.next_unsettled(); key; key = prebuilt.next_unsettled()) settle_prebuilt(*key);
}

void Intake::Impl::settle_prebuilt(const std::string& key) {
  prebuilt.settled(key);
  const auto object = prebuilt.find(key);
  const auto* owner = prebuilt.owner_of(key);
  const bool alone =
      books.reads_prebuilt() && object != nullptr && owner == nullptr && may_wait_alone(*object);
  const auto waits = workload_by_name.find(key);
  const std::string claimed_by = prebuilt.take_claim(key) ? *owner : std::string();
  if (waits != workload_by_name.end() && (!alone || waits->second != object->meta.uid)) {
    end_waiting(waits->second, claimed_by);
    workload_by_name.erase(key);
  } else if (!claimed_by.empty()) {
    prebuilt.hand_over({"", claimed_by, {}});
  }
  if (alone) let_wait(key, *object);
}

// The Workload `uid` no longer waits by itself. `claimed_by`: the work that it belongs to since then; "" = none.
void Intake::Impl::end_waiting(const std::string& uid, const std::string& claimed_by) {
  const std::uint32_t ix = books.drafts.find(uid);
  if (!claimed_by.empty()) {
    const std::uint32_t work = books.drafts.find(claimed_by);
    if (books.drafts[ix].granted > 0 && rules.holds(books.drafts[work])) {
      books.drafts[work].granted = books.drafts[ix].granted;  // it starts with so many pods, too
      sync_owner(claimed_by);
    }
    HandOver what = claims.hand_over(books.drafts[ix], books.drafts[work]);
    future.expect_growth(books.drafts[work], what);
    prebuilt.hand_over(std::move(what));
  }
  free_draft(ix);
}

void Intake::Impl::let_wait(const std::string& key, const KueueWorkload& object) {
  const std::string& uid = object.meta.uid;
  std::uint32_t ix = books.drafts.find(uid);
  const bool fresh = ix == kNoIx;
  if (fresh) {
    ix = draft_for({GangKind::kKueueWorkload, uid, object.meta.name, std::nullopt, {}}, object.meta.ns);
    workload_by_name.insert_or_assign(key, uid);
  }
  Draft& draft = books.drafts[ix];
  auto whole = std::make_shared<KueueWorkload>(object);
  if (whole->meta.created == 0) whole->meta.created = fresh ? ++arrivals : draft.first_created;
  draft.first_created = whole->meta.created;
  auto grows = claims.slice_before(*whole);
  const bool grows_else = (grows == nullptr) != (draft.grows == nullptr) ||
                          (grows != nullptr && !same_sets(*grows, *draft.grows));
  const bool asks_for_else = !fresh && (grows_else || !same_sets(*draft.written, *whole));
  draft.grows = std::move(grows);
  draft.remade = draft.remade || (asks_for_else && draft.emitted);
  if (asks_for_else) {
    draft.refused.clear();
    draft.unsize();
  }
  draft.written = std::move(whole);
  object_drafts.take(draft);
  refresh(ix);
}

}  // namespace berth::dialect
