// The part of WorkloadObjects (workload_objects.h) that says whose an object is, where that changes: a Workload that somebody has made for work
// which has come, one that is not its work's any more, and one that only pretends to be.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "dialect/workload_object.h"
#include "scheduler/workload_objects.h"

namespace berth::scheduler {

using dialect::WorkloadSketch;

namespace {

std::string_view namespace_of(std::string_view key) {
  return key.substr(0, key.find('/'));
}

}  // namespace

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
  record.told = false;  // nobody has been told about those pods
  if (!record.key.empty()) by_key_.insert_or_assign(record.key, what.to);
  if (const auto own = records_.find(what.to); own != records_.end()) {
    retire(what.to, now);
    if (own->second.flying) --flying_;
    line_.erase(own->second.turn);
  }
  const auto to = records_.insert_or_assign(what.to, std::move(record)).first;
  stand(to->first, to->second, now);
}

void WorkloadObjects::out_of_sync(const std::string& key, TimeMs now) {
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return;
  Record& record = records_.at(it->second);
  record.life.out_of_sync(now);
  compare(it->second, record, now);
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

void WorkloadObjects::retire(const std::string& workload, TimeMs now) {
  Record& record = records_.at(workload);
  if (record.object_uid.empty()) return;
  provisioner_.drop(record.object_uid);
  const std::string past = past_of(record.object_uid);
  Record fresh = without_object(record);
  if (record.flying) moved_.insert_or_assign(workload, past);
  record.life.replaced(now);
  by_key_.insert_or_assign(record.key, past);
  Record& kept = records_.insert_or_assign(past, std::move(record)).first->second;
  record = std::move(fresh);
  stand(workload, record, now);
  compare(past, kept, now);
}

void WorkloadObjects::settle_object(const std::string& workload, const WorkloadSketch& sketch, TimeMs now) {
  const std::string key = fmt::format("{}/{}", sketch.ns, sketch.name);
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
    } else if (sketch.name.empty() ? !record.prebuilt : record.key != key) {
      retire(workload, now);
    }
  }
  const auto former = by_key_.find(key);
  if (sketch.is_prebuilt || former == by_key_.end() || !is_past(former->second)) return;
  Record& record = records_[workload];
  const auto kept = records_.find(former->second);
  if (record.flying || kept->second.flying) return changed(workload, now);
  // It does not name another any more: its own is its own again.
  Record& old = kept->second;
  record.key = key;
  record.object_uid = std::move(old.object_uid);
  record.version = old.version;
  record.stands = old.stands;
  record.checks = std::move(old.checks);
  record.spec = std::move(old.spec);
  record.reserved = old.reserved;
  record.says_active = old.says_active;
  record.boost = old.boost;
  record.owners = std::move(old.owners);
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

std::string WorkloadObjects::record_of_own(const std::string& workload, const std::string& key,
                                           const std::string& object_uid) {
  if (const auto it = by_key_.find(key); it != by_key_.end() && is_past(it->second)) {
    if (it->second == past_of(object_uid)) return it->second;
    const std::string past = it->second;  // another of the same name
    by_key_.erase(it);
    if (records_.at(past).flying) --flying_;
    records_.erase(past);
  }
  const auto known = records_.find(workload);
  const bool has_another = known != records_.end() && known->second.prebuilt &&
                           !known->second.object_uid.empty() && known->second.key != key;
  return has_another ? past_of(object_uid) : workload;
}

}  // namespace berth::scheduler
