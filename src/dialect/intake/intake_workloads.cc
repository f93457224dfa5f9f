// Kueue's Workload objects as work of their own (IntakeConfig::quota_only).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"
#include "dialect/kueue/kueue_workload.h"

namespace berth::dialect {

void Intake::Impl::upsert_workload(KueueWorkload&& object) {
  if (!config.quota_only) return upsert_prebuilt(std::move(object));
  if (object.finished) return remove_workload(object.meta.ns, object.meta.name);
  const std::string key = key_of(object.meta.ns, object.meta.name);
  if (const auto known = planned.find(key);
      known != planned.end() && known->second->meta.uid != object.meta.uid)
    remove_workload(object.meta.ns, object.meta.name);
  if (object.meta.created == 0) object.meta.created = ++arrivals;
  change_planned(key, std::make_shared<const KueueWorkload>(std::move(object)));
}

void Intake::Impl::remove_workload(std::string_view ns, std::string_view name) {
  if (!config.quota_only) return remove_prebuilt(key_of(ns, name));
  change_planned(key_of(ns, name), nullptr);
}

void Intake::Impl::change_planned(const std::string& key, std::shared_ptr<const KueueWorkload> object) {
  std::set<std::string> others;  // the slice that this one replaces, or replaced
  const auto known = planned.find(key);
  if (known != planned.end()) {
    if (const auto name = known->second->meta.annotation(kKueueSliceFor); !name.empty()) {
      others.emplace(name);
      const auto next = next_slices.find(name);
      next->second.erase(key);
      if (next->second.empty()) next_slices.erase(next);
    }
    planned.erase(known);
  }
  if (object != nullptr) {
    if (const auto name = object->meta.annotation(kKueueSliceFor); !name.empty()) {
      others.emplace(name);
      next_slices[std::string(name)].insert(key);
    }
    planned.emplace(key, std::move(object));
  }
  others.erase(key);
  for (const auto& other : others) tell_planned(other);
  tell_planned(key);
  if (const auto next = next_slices.find(key); next != next_slices.end()) {
    for (const auto& other : next->second) tell_planned(other);
  }
}

// The slice that `of` becomes as soon as it has quota for the rest of it: of those that ask for no less in any of its pod sets the
// one that was created first.
const KueueWorkload* Intake::Impl::next_slice(const KueueWorkload& of) const {
  const auto next = next_slices.find(key_of(of.meta.ns, of.meta.name));
  if (next == next_slices.end() || of.admitted_to.empty() || of.evicted) return nullptr;
  const KueueWorkload* first = nullptr;
  for (const auto& key : next->second) {  // by name: of two made at once the first of them
    const KueueWorkload& to = *planned.at(key);
    if (&to == &of || !to.admitted_to.empty() || to.meta.ns != of.meta.ns || to.queue != of.queue) continue;
    bool grows = to.pod_sets.size() == of.pod_sets.size();
    for (std::size_t s = 0; grows && s < to.pod_sets.size(); ++s)
      grows = to.pod_sets[s].name == of.pod_sets[s].name && slots_of(to, s) >= slots_of(of, s);
    if (grows && (first == nullptr || to.meta.created < first->meta.created)) first = &to;
  }
  return first;
}

void Intake::Impl::tell_planned(const std::string& key) {
  const auto object = planned.find(key);
  const auto told = workload_by_name.find(key);
  // If there are two slices, the later one is reported, with the places of the former.
  if (object == planned.end() || next_slice(*object->second) != nullptr) {
    if (told == workload_by_name.end()) return;
    const std::uint32_t ix = drafts.find(told->second);
    workload_by_name.erase(told);
    return free_draft(ix);
  }
  const std::string& uid = object->second->meta.uid;
  std::uint32_t ix = drafts.find(uid);
  if (ix == kNoIx) {
    PodRecord none;
    none.membership = {GangKind::kKueueWorkload, uid, object->second->meta.name, std::nullopt, {}};
    none.pod.meta.ns = object->second->meta.ns;
    ix = draft_for(none);
    workload_by_name.insert_or_assign(key, uid);
  }
  Draft& draft = drafts[ix];
  draft.first_created = object->second->meta.created;
  draft.refused.clear();
  draft.written = object->second;
  const bool had_places = draft.former != nullptr;
  draft.former = nullptr;
  const auto former = planned.find(object->second->meta.annotation(kKueueSliceFor));
  if (former != planned.end() && next_slice(*former->second) == object->second.get())
    draft.former = former->second;
  take(draft);
  // Its counts, requests and quota may all be others: it is told whole.
  if (draft.emitted && (had_places || draft.former != nullptr)) work.push_back(WorkloadRemove{uid});
  draft.emitted = false;
  refresh(ix);
  emit_admission(drafts[ix]);
}

Settings Intake::Impl::settings_of_object(const Draft& draft, std::vector<std::string>& depends) const {
  const KueueWorkload& object = *draft.object;
  const KueueWorkload& holder = draft.former != nullptr ? *draft.former : object;
  Settings out;
  out.created = holder.requeued_from != 0 ? holder.requeued_from : holder.meta.created;
  if (draft.former != nullptr) out.asks_more_since = object.meta.created;
  out.kind = WorkloadKind::kBatch;
  out.priority = priority_of_object(object, out, depends);
  if (config.quota_only) {  // else it is part of its standing
    out.boost = boost_of(object);
    out.priority = boosted(out.priority, out.boost);
  }
  for (const auto& set : object.pod_sets) {
    out.restart.grace = std::max(out.restart.grace, set.spec.grace);
    out.may_preempt = out.may_preempt && set.spec.may_preempt;
  }
  if (object.admitted_to.empty() || object.evicted) {
    if (object.queue.empty()) {
      out.blocked = Reason{};
      out.blocked->code = ReasonCode::kInvalid;
      out.blocked->detail = "spec.queueName is empty";
    } else {
      QueueChoice(objects, draft, is_admitted(draft), out, depends).by_local_queue(object.queue);
    }
  }
  // Its quota stays in the queue that granted it, whatever its LocalQueue says now.
  if (!holder.admitted_to.empty()) {
    out.queue = holder.admitted_to;
    if (!object.queue.empty()) out.lane = key_of(draft.ns, object.queue);
  }
  if (const auto gates = object.meta.annotation(kKueueGatedBy);
      !gates.empty() && object.admitted_to.empty() && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
    out.blocked->detail = fmt::format("Admission is gated by: {}", gates);
    out.gates = gates;
  }
  if (!draft.inadmissible.empty() && !out.blocked && object.admitted_to.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = draft.inadmissible;
  }
  if (!object.active && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
  }
  out.granted = draft.granted;
  if (!config.quota_only) {
    out.whole_first = may_shrink(draft);
    await_nodes(draft, out);
    apply_standing(draft, out);
  }
  if (!draft.refused.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = draft.refused;
    out.invalid = true;
  }
  std::sort(depends.begin(), depends.end());
  return out;
}

void Intake::Impl::tell_untold() {
  for (const auto& uid : std::exchange(untold, {})) {
    const auto ix = drafts.find(uid);
    if (ix == kNoIx || !drafts[ix].emitted || drafts[ix].given.invalid) continue;
    if (drafts[ix].object != nullptr) {
      emit_admission(drafts[ix]);
      continue;
    }
    for (const Role& role : drafts[ix].roles) {
      for (const auto pod : role.slots) {
        if (pod == kNoIx || !pods[pod].charged_as_foreign) continue;
        uncharge_foreign(pods[pod]);
        adopt(pods[pod]);
      }
    }
  }
}

void Intake::Impl::emit_admission(const Draft& draft) {
  const KueueWorkload& object = *draft.object;
  const KueueWorkload& holder = draft.former != nullptr ? *draft.former : object;
  if (holder.admitted_to.empty() || draft.given.invalid) return;
  for (std::size_t set = 0; set < object.pod_sets.size(); ++set) {  // a former slice has the same
    const auto* assignment = assignment_of(holder, set);
    if (assignment == nullptr) continue;
    for (std::int64_t i = 0; i < slots_of(holder, set); ++i) {
      SlotUpdate update{draft.uid, static_cast<std::int64_t>(set), i, SlotState::kRunning, ""};
      update.flavors = assignment->flavors;
      update.since = holder.reserved_at;
      work.push_back(update);
      if (!holder.evicted) continue;
      update.state = SlotState::kReleasing;
      work.push_back(std::move(update));
    }
  }
}

}  // namespace berth::dialect
