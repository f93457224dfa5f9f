#include "scheduler/kueue/workload_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"

namespace berth::scheduler {

using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

void WorkloadBook::schedule(const std::string& record, TimeMs at) {
  due_.put(record, at);
  due_by(at);
}

void WorkloadBook::changed(std::string_view workload, TimeMs now) {
  if (!enabled_) return;
  changes_.put(std::string(workload), now + settle_);
  due_by(now + settle_);
}

void WorkloadBook::wake(const std::string& object, TimeMs at) {
  if (const std::string* record = ownership_.record_of(object)) schedule(std::string(*record), at);
}

std::optional<WorkloadSketch> WorkloadBook::sketch_of(const std::string& record) const {
  if (is_past(record)) return std::nullopt;
  auto sketch = intake_.sketch(work_of(record));
  const auto it = records_.find(record);
  if (!sketch || it == records_.end() || !sketch->is_elastic) return is_next(record) ? std::nullopt : sketch;
  const WorkloadRecord& of = it->second;
  sketch->slice = of.slice;
  sketch->replaces = of.replaces;
  sketch->name = dialect::slice_name(*sketch, of.slice);
  auto& set = sketch->sets.front();
  if (of.count == 0) return sketch;
  set.reclaimable = std::max<std::int64_t>(0, set.reclaimable - (set.count - of.count));
  set.count = of.count;
  set.least = std::min(set.least, of.count);
  return sketch;
}

std::string WorkloadBook::own_key(const std::string& workload, const WorkloadSketch& sketch) const {
  const auto it = sketch.is_elastic ? records_.find(workload) : records_.end();
  return fmt::format(
      "{}/{}", sketch.ns,
      it == records_.end() ? std::string(sketch.name) : dialect::slice_name(sketch, it->second.slice));
}

bool WorkloadBook::has_successor(const WorkloadRecord& past) const {
  const auto it = records_.find(past.successor);
  if (past.successor.empty() || it == records_.end()) return true;
  return it->second.reserved || !it->second.life.status().is(WorkloadCondition::kQuotaReserved);
}

std::optional<Reason> WorkloadBook::why_waiting(const std::string& workload) const {
  std::optional<Reason> why;
  if (const Reason* blocked = intake_.blocked(workload)) {
    why = *blocked;
  } else if (auto verdict = engine_.verdict(workload)) {
    why = std::move(verdict->reason);
  }
  if (why) why = dialect::readable(std::move(*why), intake_);
  return why;
}

void WorkloadBook::name_anew(const std::string& record) {
  const auto sketch = sketch_of(record);
  const dialect::Ask* ask = intake_.owner(work_of(record));
  if (!sketch || !sketch->is_elastic || ask == nullptr) return;
  records_.at(record).slice = std::to_string(ask->generation);
}

void WorkloadBook::set_flying(WorkloadRecord& record, bool flying) {
  if (record.flying == flying) return;
  record.flying = flying;
  flying_ += flying ? 1 : static_cast<std::size_t>(-1);
}

void WorkloadBook::stand(const std::string& workload, const WorkloadRecord& record, TimeMs now) {
  if (is_next(workload) || is_past(workload)) return;
  dialect::Standing standing = record.life.standing(now);
  standing.boost = record.boost;
  standing.queued_from = std::max(standing.queued_from, record.asked_at);
  const auto next = records_.find(next_of(workload));
  standing.asks_more_since = next == records_.end() ? record.raised_at : next->second.asked_at;
  if (!standing.stop && !record.life.is_admitted() && !intake_.queues().checks(workload).empty()) {
    if (const auto sketch = sketch_of(workload); sketch && ownership_.is_foreign(*sketch)) {
      standing.stop = Reason{};
      standing.stop->code = ReasonCode::kUnsupported;
      standing.stop->detail =
          "its ClusterQueue has admission checks, but Berth did not make its Workload object: delete that "
          "object";
    }
  }
  intake_.set_standing(workload, std::move(standing));
  news_ = true;
}

}  // namespace berth::scheduler
