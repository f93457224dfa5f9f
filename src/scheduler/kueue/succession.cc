#include "scheduler/kueue/succession.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "dialect/kueue/workload_object.h"

namespace berth::scheduler {

using dialect::WorkloadSketch;

std::pair<std::string_view, std::string> Succession::why_over(std::string_view replaces,
                                                              std::string_view next, std::string_view key) {
  if (replaces.empty() || replaces != key) return {kOutOfSync, std::string(kHasAnother)};
  return {kSliceReplaced,
          fmt::format("Its Job has changed its size: Workload {} has replaced this one", next)};
}

void Succession::handed_over(const dialect::HandOver& what, TimeMs now) {
  book_.schedule(what.to, now);
  const auto it = records_.find(what.from);
  if (what.from.empty() || it == records_.end()) return;
  WorkloadRecord record = std::move(it->second);
  records_.erase(it);
  if (record.turn != 0) line_.hand_over(record.turn, what.to);
  if (line_.set_unready(what.from, false)) (void)line_.set_unready(what.to, true);
  book_.leave_lanes(what.from);
  intake_.set_standing(what.from, {});
  if (record.flying) book_.ownership().redirect(what.from, what.to);
  record.queued = false;
  record.told = false;  // those pods are not reported yet
  if (!record.key.empty()) book_.ownership().give(record.key, what.to);
  if (const auto own = records_.find(what.to); own != records_.end()) {
    const auto sketch = intake_.sketch(what.to);
    const auto [reason, message] =
        why_over(sketch ? std::string_view(sketch->replaces) : std::string_view(),
                 sketch ? std::string_view(sketch->name) : std::string_view(), own->second.key);
    if (reason == kSliceReplaced) record.life.continues(own->second.life, now);
    retire(what.to, reason, message, now);
    book_.set_flying(own->second, false);
    line_.leave(own->second.turn);
  }
  const auto to = records_.insert_or_assign(what.to, std::move(record)).first;
  book_.stand(to->first, to->second, now);
}

void Succession::out_of_sync(const std::string& key, TimeMs now) {
  const std::string* const record = book_.ownership().record_of(key);
  if (record == nullptr || is_past(*record)) return;
  const std::string workload = *record;
  retire(workload, kOutOfSync, "The prebuilt workload is out of sync with its user job", now);
  book_.stand(workload, records_.at(workload), now);
  book_.changed(workload, now);
}

void Succession::retire(const std::string& record, std::string_view reason, std::string message, TimeMs now) {
  WorkloadRecord& of = records_.at(record);
  if (of.object_uid.empty()) return;
  // The nodes that a slice asked for are those of the slices after it.
  if (reason != kSliceReplaced) provisioner_.drop(of.object_uid);
  const std::string past = past_of(of.object_uid);
  if (of.flying) book_.ownership().redirect(record, past);
  book_.ownership().give(of.key, past);
  WorkloadRecord fresh = without_object(of);
  WorkloadRecord& kept = records_.insert_or_assign(past, std::exchange(of, std::move(fresh))).first->second;
  kept.life.over(reason, std::move(message), now);
  kept.successor = reason == kSliceReplaced ? work_of(record) : std::string();
  book_.schedule(past, now);  // what comes after it is still to be said
}

void Succession::past_seen(const std::string& record, const std::string& workload, bool is_finished,
                           TimeMs now) {
  const auto it = records_.find(record);
  WorkloadRecord& past = it->second;
  const auto work = records_.find(workload);
  const bool is_prebuilt = work != records_.end() && work->second.prebuilt;
  past.life.over(is_prebuilt ? kOutOfSync : kSliceReplaced, std::string(kHasAnother), now);
  const bool is_slice =
      past.life.status().find(dialect::WorkloadCondition::kFinished)->reason == kSliceReplaced;
  if (!is_finished || !is_slice || past.flying) return writes_.compare(record, past, now);
  book_.ownership().take(past.key);  // no work takes it up again
  records_.erase(it);
}

void Succession::settle(const std::string& workload, const WorkloadSketch& sketch, TimeMs now) {
  if (const auto it = records_.find(workload); it != records_.end() && !it->second.object_uid.empty()) {
    WorkloadRecord& record = it->second;
    if (namespace_of(record.key) != sketch.ns) {
      if (record.flying) book_.ownership().redirect(workload, past_of(record.object_uid));
      book_.set_flying(record, false);
      book_.ownership().take(record.key);
      book_.ownership().add_foreign(record.key);
      record = without_object(record);
      book_.stand(workload, record, now);
      writes_.adopt(workload, record, sketch);
    } else if (sketch.name.empty() ? !record.prebuilt : record.key != book_.own_key(workload, sketch)) {
      const auto [reason, over] = why_over(sketch.replaces, sketch.name, record.key);
      const WorkloadLife before = record.life;
      retire(workload, reason, over, now);
      if (reason == kSliceReplaced) record.life.continues(before, now);
      book_.stand(workload, record, now);
    }
  }
  const std::string key = book_.own_key(workload, sketch);
  const std::string* const former = book_.ownership().record_of(key);
  if (sketch.is_prebuilt || former == nullptr || !is_past(*former)) return;
  WorkloadRecord& record = records_[workload];
  const auto kept = records_.find(*former);
  if (record.flying || kept->second.flying) return book_.changed(workload, now);
  // It does not name another any more: its own is its own again. The request of a slice that has run cannot be changed, and its Job
  // may have another size by now.
  if (sketch.is_elastic && kept->second.reserved) return book_.name_anew(workload);
  move_object(kept->second, record);
  book_.ownership().give(key, workload);
  records_.erase(kept);
  (void)record.life.set_active(record.says_active, now);
  book_.stand(workload, record, now);
}

bool Succession::is_of_another_namespace(const std::string& workload, const std::string& ns) const {
  if (workload.empty()) return false;
  if (const auto sketch = intake_.sketch(workload)) return sketch->ns != ns;
  // It is not known yet: settle() sees which of two it is.
  const auto known = records_.find(workload);
  return known != records_.end() && !known->second.key.empty() && namespace_of(known->second.key) != ns;
}

}  // namespace berth::scheduler
