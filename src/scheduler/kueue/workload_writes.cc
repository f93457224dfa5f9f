// The part of WorkloadObjects (workload_objects.h) that writes: what is not as it should be, what is sent for it, and what becomes of that.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"
#include "scheduler/kueue/workload_objects.h"
#include "scheduler/wire/object_version.h"

namespace berth::scheduler {

using dialect::KueueWorkload;
using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

namespace {

constexpr DurationMs kRetryAfter = 20;  // when the budget is spent
constexpr int kPerCall = 32;            // a few at a time: decisions come first
constexpr int kPerBusyCall = 4;
// Looks at what has changed, while binds are on their way. On two cores with an API server each look takes a part from the binds.
constexpr std::int64_t kBusyLooksPerSecond = 500;

}  // namespace

void WorkloadObjects::compare(const std::string& workload, Record& record, TimeMs now) {
  if (record.queued || record.flying || version_.empty()) return;
  if (is_past(workload) && !has_successor(record)) return schedule(workload, now + options_.settle);
  const std::size_t wanted = digest(record.life.status());
  const bool same =
      !record.object_uid.empty() && wanted == record.stands && !record.life.wants_deactivation();
  if (same) {
    const auto sketch = sketch_of(workload);
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
  if (record.quiet > now) return schedule(workload, record.quiet);
  record.queued = true;
  const bool urgent =
      record.life.is_finished() || record.life.status().find(WorkloadCondition::kAdmitted) == nullptr
          ? record.life.is_finished()
          : record.life.status().is(WorkloadCondition::kQuotaReserved) ||
                record.life.status().find(WorkloadCondition::kEvicted) != nullptr;
  backlog_[urgent ? 0 : 1].push_back(workload);
  next_due_ = std::min(next_due_, now);
}

// Its spec can be changed while it waits, its owners always.
bool WorkloadObjects::asks_otherwise(const Record& record, const WorkloadSketch& sketch) const {
  return asks_for_more_owners(record, sketch) || asks_for_else(record, sketch);
}

bool WorkloadObjects::asks_for_more_owners(const Record& record, const WorkloadSketch& sketch) const {
  return ((sketch.is_group && record.reserved) || sketch.is_prebuilt) && !record.life.is_finished() &&
         lacks_owners(sketch, record.owners);
}

bool WorkloadObjects::asks_for_else(const Record& record, const WorkloadSketch& sketch) const {
  if (sketch.is_prebuilt) return false;
  const bool shrinks = sketch.is_elastic && sketch.sets.front().count < record.says_count;
  return (!record.reserved || shrinks) && !record.life.is_finished() &&
         record.spec != dialect::digest_of(sketch, version_);
}

bool WorkloadObjects::write(const std::string& workload) {
  const auto it = records_.find(workload);
  if (it == records_.end()) return false;
  Record& record = it->second;
  record.queued = false;
  if (record.flying || version_.empty()) return false;
  const auto sketch = sketch_of(workload);
  kube::Write write;
  if (record.object_uid.empty()) {
    if (!sketch || sketch->name.empty() || sketch->is_prebuilt || record.life.is_finished()) return false;
    if (is_foreign(*sketch)) {
      if (told_.insert(workload).second) {
        spdlog::warn(
            "{}/{}: it has a Workload that Berth did not make; Berth leaves it alone and makes no other",
            sketch->ns, sketch->name);
      }
      return false;
    }
    record.key = fmt::format("{}/{}", sketch->ns, sketch->name);
    write = dialect::create_workload(version_, *sketch);
  } else {
    const auto slash = record.key.find('/');
    const std::string_view ns = std::string_view(record.key).substr(0, slash);
    const std::string_view name = std::string_view(record.key).substr(slash + 1);
    const std::size_t wanted = digest(record.life.status());
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
  record.flying = true;
  ++flying_;
  outbox_.write(std::move(write), Step::kWorkload, workload);
  return true;
}

void WorkloadObjects::answered(const Answer& answer, TimeMs now) {
  if (answer.step == Step::kProvision) {
    if (const auto again = provisioner_.answered(answer, now))
      wake(again->workload, std::max(again->at, now));
    return;
  }
  const auto moved = moved_.find(answer.uid);
  const std::string workload = moved == moved_.end() ? answer.uid : moved->second;
  if (moved != moved_.end()) moved_.erase(moved);
  const auto it = records_.find(workload);
  if (it == records_.end()) return;
  Record& record = it->second;
  if (answer.step == Step::kLook) return endings_read(it->first, record, answer, now);
  if (!record.flying) return;
  record.flying = false;
  --flying_;
  const auto outcome = answer.result.outcome;
  if (outcome == kube::Outcome::kOk) {
    record.failures = 0;
    if (const auto object = decoder_.decode(answer.result.body, dialect::Kind::kWorkload)) {
      const auto& value = std::get<KueueWorkload>(*object);
      if (record.object_uid.empty() && !dialect::workload_of(value).empty()) {
        record.object_uid = value.meta.uid;
        by_key_.insert_or_assign(record.key, it->first);
      }
      seen(value, version_in(answer.result.body), now);
    }
    const auto still = records_.find(workload);
    if (still != records_.end()) compare(still->first, still->second, now);
    return;
  }
  if (outcome == kube::Outcome::kFenced) return;
  const bool missing = outcome == kube::Outcome::kNotFound || outcome == kube::Outcome::kGone;
  if (record.object_uid.empty())
    record.key.clear();  // it was not made; or it is there, and the watch will say so
  if (missing && !record.object_uid.empty()) {
    const std::string key = record.key;
    const auto slash = key.find('/');
    gone(key.substr(0, slash), key.substr(slash + 1), now);
    if (!records_.contains(workload)) return;
  }
  if (outcome == kube::Outcome::kConflict && record.object_uid.empty()) name_anew(workload);
  if (record.failures == 4) {
    spdlog::warn("the Workload of {} cannot be written: {} {} {}", answer.uid, enum_name(outcome),
                 answer.result.reason, answer.result.message);
  }
  record.written = 0;
  record.quiet = now + rest(record.failures++);
  schedule(it->first, record.quiet);
}

bool WorkloadObjects::work(TimeMs now, bool busy, Allowance& allowance) {
  const int most = busy ? kPerBusyCall : kPerCall;
  bool any = false;
  for (int left = most; left > 0 && due_.next() <= now; --left) {
    look(due_.take(), now);
    any = true;
  }
  bool starved = false;
  busy_looks_.refill(now, kBusyLooksPerSecond, kBusyLooksPerSecond * kRetryAfter / kSecond);
  for (int left = most; left > 0 && changes_.next() <= now; --left) {
    if (busy && !busy_looks_.take()) {
      starved = true;
      break;
    }
    look(changes_.take(), now);
    any = true;
  }
  for (int left = most; left > 0 && backlog() > 0; --left) {
    if (!allowance.has() || flying_ >= options_.most_flying) {
      starved = true;
      break;
    }
    auto& line = backlog_[backlog_[0].empty() ? 1 : 0];
    const std::string workload = std::move(line.front());
    line.pop_front();
    if (write(workload)) (void)allowance.take();
    any = true;
  }
  next_due_ = std::min(due_.next(), starved ? now + kRetryAfter : changes_.next());
  if (!starved && backlog() > 0) next_due_ = now;
  return std::exchange(stood_, false) || (next_due_ <= now && any);
}

}  // namespace berth::scheduler
