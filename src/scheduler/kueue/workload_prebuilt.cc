// The part of WorkloadObjects (workload_objects.h) about changes of ownership: a Workload of another client whose work has come,
// one that has lost its work, and one that only pretends to have some.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "dialect/kueue/workload_object.h"
#include "scheduler/kueue/workload_objects.h"

namespace berth::scheduler {

using dialect::WorkloadSketch;

namespace {

std::string key_of(const WorkloadSketch& sketch) {
  return fmt::format("{}/{}", sketch.ns, sketch.name);
}

std::string_view namespace_of(std::string_view key) {
  return key.substr(0, key.find('/'));
}

}  // namespace

std::pair<std::string_view, std::string> WorkloadObjects::why_over(std::string_view replaces,
                                                                   std::string_view next,
                                                                   std::string_view key) {
  if (replaces.empty() || replaces != key) return {kOutOfSync, std::string(kHasAnother)};
  return {kSliceReplaced,
          fmt::format("Its Job has changed its size: Workload {} has replaced this one", next)};
}

void WorkloadObjects::handed_over(const dialect::HandOver& what, TimeMs now) {
  schedule(what.to, now);
  const auto it = records_.find(what.from);
  if (what.from.empty() || it == records_.end()) return;
  Record record = std::move(it->second);
  records_.erase(it);
  if (record.turn != 0) line_.insert_or_assign(record.turn, what.to);
  if (unready_.erase(what.from) > 0) unready_.insert(what.to);
  own_times_.erase(what.from);
  lanes_.set(what.from, {}, {}, LaneBook::State::kNone, {});
  intake_.set_standing(what.from, {});
  if (record.flying) moved_.insert_or_assign(what.from, what.to);
  record.queued = false;
  record.told = false;  // those pods are not reported yet
  if (!record.key.empty()) by_key_.insert_or_assign(record.key, what.to);
  if (const auto own = records_.find(what.to); own != records_.end()) {
    const auto sketch = intake_.sketch(what.to);
    const auto [reason, message] =
        why_over(sketch ? std::string_view(sketch->replaces) : std::string_view(),
                 sketch ? std::string_view(sketch->name) : std::string_view(), own->second.key);
    if (reason == kSliceReplaced) record.life.continues(own->second.life, now);
    retire(what.to, reason, message, now);
    if (own->second.flying) --flying_;
    line_.erase(own->second.turn);
  }
  const auto to = records_.insert_or_assign(what.to, std::move(record)).first;
  stand(to->first, to->second, now);
}

void WorkloadObjects::out_of_sync(const std::string& key, TimeMs now) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return;
  if (is_past(it->second)) return;
  const std::string workload = it->second;
  retire(workload, kOutOfSync, "The prebuilt workload is out of sync with its user job", now);
  stand(workload, records_.at(workload), now);
  changed(workload, now);
}

WorkloadObjects::Record WorkloadObjects::without_object(Record& record) {
  Record out;
  out.turn = std::exchange(record.turn, 0);
  out.evicting = record.evicting;
  out.asks = std::exchange(record.asks, false);
  out.told = std::exchange(record.told, std::nullopt);
  out.queued = std::exchange(record.queued, false);
  out.looking = std::exchange(record.looking, false);
  out.flavors = record.flavors;
  out.path = std::exchange(record.path, {});
  out.pods = record.pods;
  out.to_come = record.to_come;
  return out;
}

void WorkloadObjects::retire(const std::string& record, std::string_view reason, std::string message,
                             TimeMs now) {
  Record& of = records_.at(record);
  if (of.object_uid.empty()) return;
  // The nodes that a slice asked for are those of the slices after it.
  if (reason != kSliceReplaced) provisioner_.drop(of.object_uid);
  const std::string past = past_of(of.object_uid);
  if (of.flying) moved_.insert_or_assign(record, past);
  by_key_.insert_or_assign(of.key, past);
  Record fresh = without_object(of);
  Record& kept = records_.insert_or_assign(past, std::exchange(of, std::move(fresh))).first->second;
  kept.life.over(reason, std::move(message), now);
  kept.successor = reason == kSliceReplaced ? work_of(record) : std::string();
  schedule(past, now);  // what comes after it is still to be said
}

void WorkloadObjects::past_seen(const std::string& record, const std::string& workload, bool is_finished,
                                TimeMs now) {
  const auto it = records_.find(record);
  Record& past = it->second;
  const auto work = records_.find(workload);
  const bool is_prebuilt = work != records_.end() && work->second.prebuilt;
  past.life.over(is_prebuilt ? kOutOfSync : kSliceReplaced, std::string(kHasAnother), now);
  const bool is_slice =
      past.life.status().find(dialect::WorkloadCondition::kFinished)->reason == kSliceReplaced;
  if (!is_finished || !is_slice || past.flying) return compare(record, past, now);
  by_key_.erase(past.key);  // no work takes it up again
  records_.erase(it);
}

std::string WorkloadObjects::own_key(const std::string& workload, const WorkloadSketch& sketch) const {
  const auto it = sketch.is_elastic ? records_.find(workload) : records_.end();
  return it == records_.end() ? key_of(sketch)
                              : fmt::format("{}/{}", sketch.ns, slice_name(sketch, it->second));
}

void WorkloadObjects::settle_object(const std::string& workload, const WorkloadSketch& sketch, TimeMs now) {
  if (const auto it = records_.find(workload); it != records_.end() && !it->second.object_uid.empty()) {
    Record& record = it->second;
    if (namespace_of(record.key) != sketch.ns) {
      if (record.flying) moved_.insert_or_assign(workload, past_of(record.object_uid));
      if (record.flying) --flying_;
      by_key_.erase(record.key);
      foreign_.try_emplace(record.key);
      record = without_object(record);
      stand(workload, record, now);
      adopt(workload, record, sketch);
    } else if (sketch.name.empty() ? !record.prebuilt : record.key != own_key(workload, sketch)) {
      const auto [reason, over] = why_over(sketch.replaces, sketch.name, record.key);
      const WorkloadLife before = record.life;
      retire(workload, reason, over, now);
      if (reason == kSliceReplaced) record.life.continues(before, now);
      stand(workload, record, now);
    }
  }
  const auto former = by_key_.find(own_key(workload, sketch));
  if (sketch.is_prebuilt || former == by_key_.end() || !is_past(former->second)) return;
  Record& record = records_[workload];
  const auto kept = records_.find(former->second);
  if (record.flying || kept->second.flying) return changed(workload, now);
  // It does not name another any more: its own is its own again. The request of a slice that has run cannot be changed, and its Job
  // may have another size by now.
  if (sketch.is_elastic && kept->second.reserved) return name_anew(workload);
  move_object(kept->second, record);
  former->second = workload;
  records_.erase(kept);
  (void)record.life.set_active(record.says_active, now);
  stand(workload, record, now);
}

bool WorkloadObjects::is_of_another_namespace(const std::string& workload, const std::string& ns) const {
  if (workload.empty()) return false;
  if (const auto sketch = intake_.sketch(workload)) return sketch->ns != ns;
  // It is not known yet: settle_object() sees which of two it is.
  const auto known = records_.find(workload);
  return known != records_.end() && !known->second.key.empty() && namespace_of(known->second.key) != ns;
}

}  // namespace berth::scheduler
