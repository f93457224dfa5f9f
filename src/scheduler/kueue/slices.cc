#include "scheduler/kueue/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"

namespace berth::scheduler {

using dialect::KueueWorkload;
using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

namespace {

// The first slice is the oldest.
std::int64_t age_of(std::string_view slice) {
  std::int64_t generation = 0;
  std::from_chars(slice.data(), slice.data() + slice.size(), generation);
  return generation;
}

// A slice that is over for good. Other work takes its own object up again when it names no other one any more.
bool is_over(const KueueWorkload& object) {
  const auto* finished = object.status.find(WorkloadCondition::kFinished);
  if (finished == nullptr || !finished->is_true) return false;
  return finished->reason == kSliceReplaced ||
         (finished->reason == kOutOfSync && !object.meta.annotation(dialect::kWorkloadSlice).empty());
}

std::string replaced_by(std::string_view slice) {
  return fmt::format("Its Job has changed its size: Workload {} has replaced this one", slice);
}

}  // namespace

bool Slices::follow_size(const std::string& workload, const WorkloadSketch& sketch,
                         const WorkloadFacts& facts, TimeMs now) {
  const std::string next_key = next_of(workload);
  const auto next = records_.find(next_key);
  if (!sketch.is_elastic && next == records_.end()) return true;
  WorkloadRecord& record = records_.at(workload);
  const bool free = !record.flying && (next == records_.end() || !next->second.flying);
  const auto drop_next = [&] {
    if (next == records_.end()) return true;
    if (!free) return false;
    succession_.retire(next_key, kOutOfSync, std::string(kHasAnother), now);
    records_.erase(next);
    book_.leave_lanes(next_key);
    book_.stand(workload, record, now);
    return true;
  };
  if (!sketch.is_elastic || writes_.version().empty()) {
    record.count = 0;
    return drop_next();
  }
  if (record.life.is_finished()) return true;
  const std::int64_t asked = sketch.sets.front().count;
  const bool reserved = record.life.status().is(WorkloadCondition::kQuotaReserved);
  if (!facts.runs) {
    // One that ends is what it was until it has ended. Then it waits as a whole, with the slice that it ran with. That one has the
    // time of the next try, and the right to it.
    if (reserved || facts.releasing) return true;
    if (!drop_next()) return false;
    record.count = asked;
    return true;
  }
  const auto info = intake_.workload(workload);
  const dialect::Ask* ask = intake_.owner(workload);
  if (!info || ask == nullptr) return true;
  const bool lacks = facts.active < info->least;
  if (record.count == 0) record.count = lacks ? std::min(asked, facts.active) : asked;
  if (next == records_.end() && asked <= record.count) {
    record.count = asked;
    return true;
  }
  if (record.life.standing(now).stop) return true;  // it is about to end
  if (!lacks) return replace_slice(workload, sketch, now);
  const bool fresh = next == records_.end();
  WorkloadRecord& waits = records_[next_key];
  waits.count = asked;
  if (!fresh) return true;
  waits.slice = std::to_string(ask->generation);
  waits.replaces = fmt::format("{}/{}", sketch.ns, book_.sketch_of(workload)->name);
  waits.asked_at = record.raised_at != 0 ? record.raised_at : now;
  book_.stand(workload, record, now);
  return true;
}

bool Slices::replace_slice(const std::string& workload, const WorkloadSketch& sketch, TimeMs now) {
  const std::string next_key = next_of(workload);
  const auto next = records_.find(next_key);
  WorkloadRecord& record = records_.at(workload);
  if (record.flying || (next != records_.end() && next->second.flying)) return false;
  const std::string former = book_.sketch_of(workload)->name;
  const std::string slice =
      next != records_.end() ? next->second.slice : std::to_string(intake_.owner(workload)->generation);
  const std::string name = dialect::slice_name(sketch, slice);
  // Its new size was not read yet.
  if (name == former || (record.object_uid.empty() && next == records_.end())) {
    record.count = sketch.sets.front().count;
    return true;
  }
  const WorkloadLife before = record.life;
  succession_.retire(workload, kSliceReplaced, replaced_by(name), now);
  WorkloadLife life;
  if (next != records_.end()) {
    life = std::move(next->second.life);
    move_object(next->second, record);
    if (!record.key.empty()) book_.ownership().give(record.key, workload);
    records_.erase(next);
    book_.leave_lanes(next_key);
  } else {
    record.slice = slice;
    record.replaces = fmt::format("{}/{}", sketch.ns, former);
    record.asked_at = record.raised_at != 0 ? record.raised_at : now;
  }
  life.take_over(before, now);
  record.life = std::move(life);
  record.count = sketch.sets.front().count;
  book_.stand(workload, record, now);
  return true;
}

void Slices::look_at_next(const std::string& workload, const WorkloadFacts& facts,
                          const std::optional<PodsReady>& pods_ready, TimeMs now) {
  const std::string key = next_of(workload);
  const auto next = records_.find(key);
  if (next == records_.end()) return;
  const auto sketch = book_.sketch_of(key);
  if (!sketch) return;
  WorkloadFacts its;
  its.cluster_queue = facts.cluster_queue;
  its.stopped = facts.stopped;
  const std::optional<Reason> why = facts.why == nullptr ? book_.why_waiting(workload) : std::nullopt;
  its.why = why ? &*why : facts.why;
  (void)next->second.life.look(its, pods_ready, now);
  if (const TimeMs due = next->second.life.deadline(); due != kEndOfTime)
    book_.schedule(workload, std::max(due, now + 1));
  lanes_.set(key, sketch->lane, sketch->cluster_queue, LaneBook::State::kPending, {});
  writes_.compare(key, next->second, now);
}

void Slices::leave_next(const std::string& workload, TimeMs now) {
  const std::string key = next_of(workload);
  const auto next = records_.find(key);
  if (next == records_.end()) return;
  book_.leave_lanes(key);
  WorkloadRecord& record = next->second;
  if (record.object_uid.empty() && !record.flying) return void(records_.erase(next));
  if (!records_.at(workload).life.is_finished()) return;
  record.life.over(kOutOfSync, "Its Job has ended", now);
  writes_.compare(key, record, now);
}

std::string Slices::record_of(const std::string& workload, const std::string& key,
                              const KueueWorkload& object, TimeMs now) {
  if (const std::string* const known = book_.ownership().record_of(key)) {
    const std::string at = *known;
    if (is_past(at) ? at == past_of(object.meta.uid) : work_of(at) == workload) return at;
    if (is_past(at)) {  // another of the same name
      book_.ownership().take(key);
      book_.set_flying(records_.at(at), false);
      records_.erase(at);
    }
  }
  const auto main = records_.find(workload);
  const std::string next_key = next_of(workload);
  const auto next = records_.find(next_key);
  if (next != records_.end() && next->second.key == key) return next_key;
  if (main != records_.end() && main->second.key == key) return workload;
  if (is_over(object)) return {};
  if (main == records_.end() || main->second.object_uid.empty()) return workload;
  if (main->second.prebuilt) return past_of(object.meta.uid);
  // Chooses among several slices after a restart. Ended ones are left alone. The newest with quota is the one that the Job runs
  // with. The newest of all, if it has no quota, is the one that waits.
  if (object.finished) return {};
  const std::int64_t age = age_of(object.meta.annotation(dialect::kWorkloadSlice));
  WorkloadRecord& has = main->second;
  const bool reserved = object.status.is(WorkloadCondition::kQuotaReserved);
  if (has.life.is_finished() || (age > age_of(has.slice) && reserved)) {
    succession_.retire(workload, kSliceReplaced, replaced_by(object.meta.name), now);
    return workload;
  }
  if (age > age_of(has.slice)) {
    if (next == records_.end()) return next_key;
    if (age < age_of(next->second.slice)) return past_of(object.meta.uid);
    succession_.retire(next_key, kOutOfSync, replaced_by(object.meta.name), now);
    return next_key;
  }
  if (has.reserved || next != records_.end()) return past_of(object.meta.uid);
  WorkloadRecord& waits = records_[next_key];
  waits.life = std::exchange(has.life, {});
  move_object(has, waits);
  book_.ownership().give(waits.key, next_key);
  return workload;
}

}  // namespace berth::scheduler
