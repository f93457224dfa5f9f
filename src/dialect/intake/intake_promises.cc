#include "dialect/intake/intake_promises.h"

#include <string>
#include <utility>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

void IntakePromises::pass(TimeMs now) {
  Impl& s = *impl_;
  for (const std::string& uid : s.future.pass(now)) {
    if (const auto ix = s.books.drafts.find(uid); ix != kNoIx) s.refresh(ix);
  }
}

TimeMs IntakePromises::next_time() const {
  return impl_->future.next_end();
}

void IntakePromises::set_released(std::string_view workload, bool released) {
  Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx || s.books.drafts[ix].kind != GangKind::kOwner || s.books.drafts[ix].released == released)
    return;
  s.books.drafts[ix].released = released;
  s.books.drafts[ix].waits = false;  // the releasing caller knows its slots
  if (!released && !s.books.drafts[ix].reserved) s.books.drafts[ix].unsize();
  s.sync_owner(std::string(workload));
}

bool IntakePromises::is_released(std::string_view workload) const {
  const auto ix = impl_->books.drafts.find(workload);
  return ix != kNoIx && impl_->books.drafts[ix].released;
}

void IntakePromises::set_reserved(std::string_view workload, bool reserved) {
  Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx || s.books.drafts[ix].reserved == reserved) return;
  s.books.drafts[ix].reserved = reserved;
  if (!reserved && s.books.drafts[ix].written != nullptr) {  // what it was granted is void
    s.books.drafts[ix].unsize();
    s.object_drafts.take(s.books.drafts[ix]);
    s.books.drafts[ix].remade =
        s.books.drafts[ix].emitted && s.books.drafts[ix].object != s.books.drafts[ix].written;
    s.refresh(ix);
  }
  if (!reserved && !s.books.drafts[ix].released &&
      (s.books.drafts[ix].sized || s.books.drafts[ix].granted > 0)) {
    s.books.drafts[ix].unsize();
    s.sync_owner(std::string(workload));
  }
  if (!reserved && s.take_anew(workload)) s.sync_owner(std::string(workload));
}

void IntakePromises::renew(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return;
  const Draft& draft = s.books.drafts[ix];
  const SlotState without_pod = s.rules.holds(draft) ? SlotState::kWaiting : SlotState::kGone;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    for (std::size_t i = 0; i < draft.roles[r].slots.size(); ++i) {
      const auto pod = draft.roles[r].slots[i];
      if (pod == kNoIx) {
        s.events.add_empty_slot(draft, r, static_cast<std::int64_t>(i), without_pod);
      } else if (s.books.pods[pod].pod.spec.node_name.empty()) {
        const SlotState state = s.books.pods[pod].state;
        s.slots.tell(s.books.pods[pod], state == SlotState::kAbsent ? SlotState::kGone : state);
      }
    }
  }
}

void IntakePromises::retry(std::string_view pod_uid) {
  const auto ix = impl_->books.pods.find(pod_uid);
  if (ix == kNoIx) return;
  const PodRecord& record = impl_->books.pods[ix];
  if (record.draft == kNoIx || !record.pod.spec.node_name.empty()) return;
  impl_->slots.tell(record, record.state == SlotState::kWaiting ? SlotState::kWaiting : SlotState::kGone);
}

bool IntakePromises::may_start_smaller(std::string_view workload) const {
  const Impl& s = *impl_;
  if (!s.books.owners.any_may_shrink() && s.workload_by_name.empty()) return false;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return false;
  if (s.books.drafts[ix].object != nullptr) return s.object_drafts.may_shrink(s.books.drafts[ix]);
  const OwnerRecord* record = s.books.owner_of(s.books.drafts[ix]);
  return record != nullptr && s.rules.may_shrink(s.books.drafts[ix], record->ask);
}

void IntakePromises::grant(std::string_view workload, std::int64_t pods) {
  Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return;
  Draft& draft = s.books.drafts[ix];
  if (draft.object != nullptr && (!s.books.is_live() || s.object_drafts.may_shrink(draft))) {
    s.object_drafts.grant(draft, pods);
    return s.refresh(ix);
  }
  if (draft.object != nullptr || !may_start_smaller(workload)) return;
  draft.sized = true;
  draft.granted = pods < s.books.owner_of(draft)->ask.size() ? pods : 0;
  s.sync_owner(std::string(workload));
}

bool IntakePromises::starts_once(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return false;
  const Draft& draft = s.books.drafts[ix];
  if (draft.object != nullptr) return draft.former == nullptr && s.object_drafts.shrinks(draft);
  const OwnerRecord* record = s.books.owner_of(draft);
  return record != nullptr && record->ask.suspended && record->ask.least() && draft.roles.size() == 1;
}

std::int64_t IntakePromises::granted(std::string_view workload) const {
  const auto ix = impl_->books.drafts.find(workload);
  return ix == kNoIx ? 0 : impl_->books.drafts[ix].granted;
}

void IntakePromises::accept_size(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix != kNoIx && s.rules.may_grow(s.books.drafts[ix]))
    s.books.drafts[ix].whole = s.books.drafts[ix].bound;
}

bool IntakePromises::amend(std::string_view workload, std::span<const PodSetUpdate> updates) {
  Impl& s = *impl_;
  const std::string uid(workload);
  if (!updates.empty() && s.books.owners.find(uid) == nullptr) return false;
  if (!s.books.promises.amend(uid, updates)) return false;
  OwnerRecord* record = s.books.owners.find(uid);
  if (record == nullptr) return false;
  OwnerRecord now = s.record_of(Ask(record->ask));
  std::swap(*record, now);
  if (record->makes_the_same(now)) return false;
  s.sync_owner(uid);
  const auto ix = s.books.drafts.find(uid);
  return ix != kNoIx && s.rules.holds(s.books.drafts[ix]) &&
         s.books.drafts[ix].roles.size() == record->templates.size() && s.books.drafts[ix].pods == 0;
}

bool IntakePromises::set_nodes_came(std::string_view workload, bool came) {
  Impl& s = *impl_;
  const bool changed = s.books.promises.set_nodes_came(workload, came);
  const auto ix = s.books.drafts.find(workload);
  if (changed && ix != kNoIx) s.refresh(ix);
  return changed;
}

bool IntakePromises::set_asks_nodes(std::string_view workload, bool asks) {
  Impl& s = *impl_;
  const bool changed = s.books.promises.set_asks_nodes(workload, asks);
  const auto ix = s.books.drafts.find(workload);
  if (changed && ix != kNoIx) s.refresh(ix);
  return changed;
}

void IntakePromises::set_rest(std::string_view workload, std::optional<Reason> why) {
  const std::string uid(workload);
  if (!impl_->books.promises.set_rest(uid, std::move(why))) return;
  if (const auto ix = impl_->books.drafts.find(uid); ix != kNoIx) impl_->refresh(ix);
}

void IntakePromises::set_standing(std::string_view workload, Standing standing) {
  Impl& s = *impl_;
  const bool was_stopped = is_stopped(workload);
  if (!s.books.promises.set_standing(workload, standing)) return;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return;
  s.refresh(ix);
  if (standing.stop && !was_stopped) s.events.add(Withdraw{std::string(workload), to_text(*standing.stop)});
}

bool IntakePromises::is_stopped(std::string_view workload) const {
  const Standing* said = impl_->books.promises.standing(workload);
  return said != nullptr && said->stop;
}

}  // namespace berth::dialect
