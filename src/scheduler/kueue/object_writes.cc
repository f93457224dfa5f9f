#include "scheduler/kueue/object_writes.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"
#include "kube/paths.h"

namespace berth::scheduler {

using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

bool ObjectWrites::set_version(std::string_view version) {
  if (version_ == version) return false;
  version_ = version;
  return true;
}

DurationMs ObjectWrites::rest(int times) const {
  return doubled(options_.first_rest, times, options_.most_rest);
}

void ObjectWrites::compare(const std::string& workload, WorkloadRecord& record, TimeMs now) {
  if (record.queued || record.flying || version_.empty()) return;
  if (is_past(workload) && !book_.has_successor(record))
    return book_.schedule(workload, now + book_.settle());
  const std::size_t wanted = digest_of(record.life.status());
  const bool same =
      !record.object_uid.empty() && wanted == record.stands && !record.life.wants_deactivation();
  if (same) {
    const auto sketch = book_.sketch_of(workload);
    if (!sketch || !asks_otherwise(record, *sketch)) return;
  }
  if (!record.object_uid.empty() && record.written == wanted && record.stands != wanted &&
      now >= record.quiet) {
    // It was there already: another client changed it.
    if (now > record.corrected + 2 * options_.most_rest) record.corrections = 0;
    record.corrected = now;
    record.quiet = now + rest(record.corrections++);
    record.written = 0;
    if (record.corrections == 6)
      spdlog::warn("Workload {}: another client keeps changing the fields that Berth writes", record.key);
  }
  if (record.quiet > now) return book_.schedule(workload, record.quiet);
  record.queued = true;
  const bool urgent =
      record.life.is_finished() || record.life.status().find(WorkloadCondition::kAdmitted) == nullptr
          ? record.life.is_finished()
          : record.life.status().is(WorkloadCondition::kQuotaReserved) ||
                record.life.status().find(WorkloadCondition::kEvicted) != nullptr;
  backlog_[urgent ? 0 : 1].push_back(workload);
  book_.due_by(now);
}

// Its spec can be changed while it waits, its owners always.
bool ObjectWrites::asks_otherwise(const WorkloadRecord& record, const WorkloadSketch& sketch) const {
  return asks_for_more_owners(record, sketch) || asks_for_else(record, sketch);
}

bool ObjectWrites::asks_for_more_owners(const WorkloadRecord& record, const WorkloadSketch& sketch) const {
  return ((sketch.is_group && record.reserved) || sketch.is_prebuilt) && !record.life.is_finished() &&
         lacks_owners(sketch, record.owners);
}

bool ObjectWrites::asks_for_else(const WorkloadRecord& record, const WorkloadSketch& sketch) const {
  if (sketch.is_prebuilt) return false;
  const bool shrinks = sketch.is_elastic && sketch.sets.front().count < record.says_count;
  return (!record.reserved || shrinks) && !record.life.is_finished() &&
         record.spec != dialect::digest_of(sketch, version_);
}

bool ObjectWrites::write(const std::string& workload) {
  const auto it = records_.find(workload);
  if (it == records_.end()) return false;
  WorkloadRecord& record = it->second;
  record.queued = false;
  if (record.flying || version_.empty()) return false;
  const auto sketch = book_.sketch_of(workload);
  kube::Write write;
  if (record.object_uid.empty()) {
    if (!sketch || sketch->name.empty() || sketch->is_prebuilt || record.life.is_finished()) return false;
    if (book_.ownership().is_foreign(*sketch)) {
      if (book_.ownership().tell_once(workload)) {
        spdlog::warn(
            "{}/{}: it has a Workload that Berth did not make; Berth leaves it alone and makes no other",
            sketch->ns, sketch->name);
      }
      return false;
    }
    record.key = fmt::format("{}/{}", sketch->ns, sketch->name);
    write = dialect::create_workload(version_, *sketch);
  } else {
    const std::string_view ns = namespace_of(record.key);
    const std::string_view name = name_of(record.key);
    const std::size_t wanted = digest_of(record.life.status());
    if (record.life.wants_deactivation()) {
      write = dialect::deactivate_workload(version_, ns, name, record.object_uid);
    } else if (sketch && asks_for_more_owners(record, *sketch)) {
      write = dialect::own_workload(version_, name, record.object_uid, *sketch, record.owners);
    } else if (sketch && asks_for_else(record, *sketch)) {  // before it has quota for that
      write = dialect::update_workload(version_, name, record.object_uid, *sketch);
    } else if (wanted != record.stands) {
      const bool checks = checks_text(record.life.status()) != record.checks;
      write = dialect::write_workload_status(version_, ns, name, record.object_uid, record.life.status(),
                                             checks ? std::to_string(record.version) : std::string());
      record.written = wanted;
    } else {
      return false;
    }
  }
  book_.set_flying(record, true);
  outbox_.write(std::move(write), Step::kWorkload, workload);
  return true;
}

void ObjectWrites::adopt(const std::string& workload, WorkloadRecord& record, const WorkloadSketch& sketch) {
  const std::string key = fmt::format("{}/{}", sketch.ns, sketch.name);
  if (record.flying || version_.empty() || !book_.ownership().is_foreign(key)) return;
  book_.set_flying(record, true);
  const kube::ResourcePath path{dialect::kKueueGroup, version_, "workloads"};
  outbox_.read(path.object(sketch.ns, sketch.name), workload, Step::kWorkload);
}

bool ObjectWrites::send(int most, Allowance& allowance) {
  for (int left = most; left > 0 && backlog() > 0; --left) {
    if (!allowance.has() || book_.flying() >= options_.most_flying) return false;
    auto& line = backlog_[backlog_[0].empty() ? 1 : 0];
    const std::string workload = std::move(line.front());
    line.pop_front();
    if (write(workload)) (void)allowance.take();
  }
  return true;
}

void ObjectWrites::failed(const std::string& workload, WorkloadRecord& record, const Answer& answer,
                          TimeMs now) {
  if (record.failures == 4) {
    spdlog::warn("the Workload of {} cannot be written: {} {} {}", answer.uid,
                 enum_name(answer.result.outcome), answer.result.reason, answer.result.message);
  }
  record.written = 0;
  record.quiet = now + rest(record.failures++);
  book_.schedule(workload, record.quiet);
}

}  // namespace berth::scheduler
