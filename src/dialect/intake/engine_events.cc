#include "dialect/intake/engine_events.h"

#include <cstdint>
#include <string>

namespace berth::dialect {

SlotUpdate empty_slot(const Draft& draft, std::size_t role, std::int64_t index, SlotState state) {
  return {draft.uid, static_cast<std::int64_t>(role), index, state, "", {}, {}, 0};
}

void EngineEvents::add_empty_slot(const Draft& draft, std::size_t role, std::int64_t index, SlotState state) {
  events_.push_back(empty_slot(draft, role, index, state));
}

void EngineEvents::begin(Draft& draft, bool again) {
  if (draft.first_told_in == 0) draft.first_told_in = batch_;
  if (!again) return;
  retold_ = true;
  if (std::exchange(draft.retold_in, batch_) != batch_) {
    draft.removed_at = static_cast<std::uint32_t>(events_.size());
    events_.push_back(WorkloadRemove{draft.uid});
  }
  draft.retold_at = static_cast<std::uint32_t>(events_.size());
}

EventQueue EngineEvents::take(const DraftBook& drafts) {
  std::size_t at = 0;
  const auto is_outdated = [&](const Event& event) {
    const std::size_t here = at++;
    const auto before = [&](const std::string& uid, bool is_removal) {
      const auto ix = drafts.find(uid);
      if (ix == kNoIx || drafts[ix].retold_in != batch_) return false;
      if (is_removal) return here == drafts[ix].removed_at && drafts[ix].first_told_in == batch_;
      return here < drafts[ix].retold_at;
    };
    if (const auto* e = std::get_if<WorkloadUpsert>(&event)) return before(e->workload.uid, false);
    if (const auto* e = std::get_if<SlotUpdate>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<Withdraw>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<WorkloadRemove>(&event)) return before(e->uid, true);
    return false;
  };
  if (std::exchange(retold_, false)) events_.erase_if(is_outdated);
  ++batch_;
  return std::exchange(events_, {});
}

}  // namespace berth::dialect
