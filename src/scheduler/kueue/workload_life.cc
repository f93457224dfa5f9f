#include "scheduler/kueue/workload_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/write/writes.h"
#include "model/leading.h"
#include "scheduler/report/reporter.h"

namespace berth::scheduler {
namespace {

using dialect::Standing;
using dialect::WorkloadCondition;
using dialect::WorkloadStatus;

constexpr DurationMs kRefresh = 30 * kSecond;                   // texts that differ in numbers only
constexpr std::string_view kAdmissionCheck = "AdmissionCheck";  // reason of Evicted, and of the deactivation
constexpr DurationMs kLeastRetry = kSecond;  // a check that asks for no delay is not asked in a circle
constexpr std::string_view kNotReady = "Not all pods are ready or succeeded";

bool waits_for_backoff(const WorkloadStatus& status, TimeMs now) {
  return status.requeue_at > now;
}

}  // namespace

std::string_view waiting_reason(const Reason& reason) {
  const ReasonCode code = leading_code(reason);
  switch (code) {
    case ReasonCode::kQuota:
    case ReasonCode::kBehindHead:
      return "WaitingForQuota";
    case ReasonCode::kQuotaMax:
      return "ExceedsMaxQuota";
    case ReasonCode::kQuotaUncovered:
      return "NoMatchingFlavor";
    case ReasonCode::kQueueMissing:
    case ReasonCode::kQueueDisabled:
    case ReasonCode::kInvalid:
    case ReasonCode::kUnsupported:
      return "Misconfigured";
    case ReasonCode::kQueueStopped:
      return "Suspended";
    case ReasonCode::kWaitingForRoom:
    case ReasonCode::kPreemptor:
    case ReasonCode::kReleasingRoom:
      return "WaitingForPreemptedWorkloads";
    case ReasonCode::kWithdrawn:
      return "WaitingForPodsReady";
    default:
      return is_about_nodes(code) ? "TopologyPlacementFailed" : "PendingEvaluation";
  }
}

void WorkloadLife::evicting(std::string_view reason, std::string message, std::string_view preempted) {
  note_ = Note{std::string(reason), std::move(message), std::string(preempted)};
}

void WorkloadLife::adopt(WorkloadStatus status, bool active, bool by_eviction) {
  status_ = std::move(status);
  inactive_ = !active;
  by_eviction_ = by_eviction;
}

bool WorkloadLife::set_active(bool active, TimeMs now) {
  if (active == !inactive_) return false;
  inactive_ = !active;
  if (!active) {
    if (cause_.empty()) evicting("Deactivated", "The workload is deactivated");
    status_.requeues = 0;
    status_.requeue_at = 0;
  } else if (!is_finished()) {
    note_.reset();
    status_.past_seconds = 0;
    status_.set(WorkloadCondition::kRequeued, true, "Reactivated", "The workload was reactivated", now);
  }
  cause_.clear();
  return true;
}

void WorkloadLife::finished(bool well, std::string message, TimeMs now) {
  over(well ? "Succeeded" : "Failed", std::move(message), now);
}

void WorkloadLife::over(std::string_view reason, std::string message, TimeMs now) {
  if (is_finished()) return;
  status_.set(WorkloadCondition::kFinished, true, reason, std::move(message), now);
  note_.reset();
  deadline_ = kEndOfTime;
}

void WorkloadLife::take_over(const WorkloadLife& former, TimeMs now) {
  by_eviction_ = former.by_eviction_;
  admitted_ = former.admitted_;
  status_.past_seconds = former.status_.past_seconds;
  if (!admitted_) return;
  // The checks of the Job were answered before it grew; they are not asked again.
  status_.checks = former.status_.checks;
  if (const auto* since = former.status_.find(WorkloadCondition::kAdmitted);
      since != nullptr && since->is_true)
    status_.past_seconds += std::max<TimeMs>(0, now - since->since) / kSecond;
}

void WorkloadLife::continues(const WorkloadLife& former, TimeMs now) {
  status_.past_seconds = former.status_.past_seconds;
  const auto* before = former.status_.find(WorkloadCondition::kAdmitted);
  if (before == nullptr || !before->is_true) return;
  const auto* since = status_.find(WorkloadCondition::kAdmitted);
  const TimeMs until = since != nullptr && since->is_true ? since->since : now;
  status_.past_seconds += std::max<TimeMs>(0, until - before->since) / kSecond;
}

Standing WorkloadLife::standing(TimeMs now) const {
  Standing out;
  if (is_finished()) return out;
  const auto* evicted = status_.find(WorkloadCondition::kEvicted);
  const bool is_evicted = evicted != nullptr && evicted->is_true;
  const bool by_check = is_evicted && evicted->reason == kAdmissionCheck;
  const bool requeued = by_check || (is_evicted && by_eviction_ && evicted->reason == "PodsReadyTimeout");
  if (requeued) out.queued_from = evicted->since;
  if (is_inactive()) {
    out.stop = Reason{};
    out.stop->code = ReasonCode::kInactive;
    out.stop->detail = cause_.empty() ? "its Workload is deactivated (spec.active: false)"
                                      : fmt::format("it was deactivated: {}", cause_);
  } else if (waits_for_backoff(status_, now)) {
    out.stop = Reason{};
    out.stop->code = ReasonCode::kWithdrawn;
    out.stop->detail = by_check || (note_ && note_->reason == kAdmissionCheck)
                           ? "an admission check wants it to be tried again later"
                           : "its pods were not ready in time; it is tried again later";
  } else if (!stopped_.empty()) {
    out.stop = Reason{};
    out.stop->code = ReasonCode::kQueueStopped;
    out.stop->subject = stopped_;
  }
  return out;
}

void WorkloadLife::deactivate(std::string_view cause, std::string_view why) {
  cause_ = cause;
  evicting(fmt::format("DeactivatedDueTo{}", cause),
           fmt::format("The workload is deactivated due to {}", why));
  status_.requeues = 0;
  status_.requeue_at = 0;
  status_.past_seconds = 0;
}

void WorkloadLife::deactivate_for(std::string_view cause, std::string_view why) {
  if (is_inactive() || is_finished()) return;
  deactivate(cause, why);
}

void WorkloadLife::starts(const WorkloadFacts& facts, TimeMs now) {
  // As it was admitted: pods that end give room back, and the admission stays what it was.
  const auto& now_held = facts.assignments;
  const auto& admitted = status_.assignments;
  const bool stays =
      status_.cluster_queue == facts.cluster_queue &&
      std::equal(now_held.begin(), now_held.end(), admitted.begin(), admitted.end(),
                 [](const auto& a, const auto& b) { return a.name == b.name && a.count <= b.count; });
  if (!stays) {
    status_.cluster_queue = facts.cluster_queue;
    status_.assignments = facts.assignments;
  }
  status_.set(WorkloadCondition::kQuotaReserved, true, "QuotaReserved",
              fmt::format("Quota reserved in ClusterQueue {}", facts.cluster_queue), now);
  if (admitted_) {
    status_.set(WorkloadCondition::kAdmitted, true, "Admitted", "The workload is admitted", now);
  } else if (facts.unplaced && dialect::all_ready(status_.checks)) {
    status_.set(WorkloadCondition::kAdmitted, false, "WaitingForNodes",
                "its nodes are provisioned, but not all of its pods fit on them yet", now);
  } else if (dialect::all_ready(status_.checks)) {
    status_.set(WorkloadCondition::kAdmitted, false, "WaitingForPodsReady",
                "waiting for all admitted workloads to be in PodsReady condition", now);
  } else {
    status_.set(WorkloadCondition::kAdmitted, false, "UnsatisfiedChecks",
                "The workload has not all checks ready", now);
  }
  for (const auto type : {WorkloadCondition::kEvicted, WorkloadCondition::kPreempted}) {
    const auto* before = status_.find(type);
    if (before == nullptr || !before->is_true) continue;
    status_.set(type, false, "QuotaReserved", fmt::format("Previously: {}", before->message), now);
  }
}

void WorkloadLife::ends(TimeMs now) {
  if (!note_) return;
  status_.set(WorkloadCondition::kEvicted, true, note_->reason, note_->message, now);
  if (!note_->preempted.empty())
    status_.set(WorkloadCondition::kPreempted, true, note_->preempted, note_->message, now);
  note_.reset();
}

void WorkloadLife::has_ended(TimeMs now) {
  const auto* evicted = status_.find(WorkloadCondition::kEvicted);
  if (evicted != nullptr && evicted->is_true) {
    const bool at_once = evicted->reason == "Preempted";
    std::string reason = evicted->reason;
    if (reason.starts_with("Deactivated")) reason = "Deactivated";
    status_.set(WorkloadCondition::kRequeued, at_once, reason, std::string(evicted->message), now);
  }
  const auto* admitted = status_.find(WorkloadCondition::kAdmitted);
  if (admitted != nullptr && admitted->is_true && !is_inactive())
    status_.past_seconds += std::max<TimeMs>(0, now - admitted->since) / kSecond;
  status_.set(WorkloadCondition::kAdmitted, false, "NoReservation", "The workload has no reservation", now);
  status_.cluster_queue.clear();
  status_.assignments.clear();
  admitted_ = false;
  asking_ = dialect::reset_checks(status_.checks, now) || asking_;
}

bool WorkloadLife::answer(const dialect::AdmissionCheckState& state) {
  for (auto& check : status_.checks) {
    if (check.name != state.name || check == state) continue;
    check = state;
    return true;
  }
  return false;
}

void WorkloadLife::take_checks(const dialect::AdmissionChecks& checks,
                               const std::function<bool(std::string_view)>& is_own) {
  if (asking_) {
    const auto pending = [](const auto& check) { return check.state == dialect::CheckState::kPending; };
    if (!std::all_of(checks.begin(), checks.end(), pending)) return;
    asking_ = false;
  }
  for (auto& check : status_.checks) {
    const auto at =
        std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c.name == check.name; });
    if (at != checks.end() && !is_own(check.name)) check = *at;
  }
}

bool WorkloadLife::judge(const WorkloadFacts& facts, TimeMs now) {
  std::string refused = dialect::names_in(status_.checks, dialect::CheckState::kRejected);
  if (!refused.empty()) {
    refused = fmt::format("Admission check(s): {}, were rejected", refused);
  } else if (!admitted_ && dialect::all_ready(status_.checks)) {
    refused = facts.refused;
  }
  if (!refused.empty()) {
    deactivate(kAdmissionCheck, refused);
    return true;
  }
  std::optional<DurationMs> rest;
  for (const auto& check : status_.checks) {
    if (check.state != dialect::CheckState::kRetry) continue;
    rest = std::max({kLeastRetry, rest.value_or(0), check.retry_after.value_or(0) * kSecond});
  }
  if (!rest) return false;
  status_.requeue_at = (now + *rest + kSecond - 1) / kSecond * kSecond;
  deadline_ = std::min(deadline_, status_.requeue_at);
  evicting(kAdmissionCheck, "At least one admission check is false");
  return true;
}

void WorkloadLife::ended_unseen(TimeMs now) {
  ends(now);
  has_ended(now);
}

// The queue that was stopped goes on.
void WorkloadLife::resumes(const WorkloadFacts& facts, TimeMs now) {
  const auto* requeued = status_.find(WorkloadCondition::kRequeued);
  if (requeued == nullptr || requeued->is_true) return;
  const bool local = requeued->reason == "LocalQueueStopped";
  if (!local && requeued->reason != "ClusterQueueStopped") return;
  if (!facts.stopped.empty()) return;
  const std::string_view queue = local ? "LocalQueue" : "ClusterQueue";
  status_.set(WorkloadCondition::kRequeued, true, fmt::format("{}Restarted", queue),
              fmt::format("The {} was restarted after being stopped", queue), now);
}

void WorkloadLife::waits(const WorkloadFacts& facts, TimeMs now) {
  std::string_view reason = "PendingEvaluation";
  std::string message = "Workload is pending evaluation in the scheduling queue";
  if (is_inactive()) {
    reason = "Deactivated";
    message = "The workload is deactivated";
  } else if (facts.why != nullptr) {
    const auto* evicted = status_.find(WorkloadCondition::kEvicted);
    const bool asked_again = evicted != nullptr && evicted->is_true && evicted->reason == kAdmissionCheck;
    const bool rests = facts.why->code == ReasonCode::kWithdrawn;  // there is no word for that of a check
    if (!rests || !asked_again) reason = facts.gated ? "AdmissionGated" : waiting_reason(*facts.why);
    if (auto text = dialect::text_of(*facts.why); !text.empty()) message = std::move(text);
  }
  message = dialect::bounded(std::move(message));
  const auto* before = status_.find(WorkloadCondition::kQuotaReserved);
  if (before != nullptr && !before->is_true && before->reason == reason && before->message != message &&
      same_words(before->message, message) && now < told_ + kRefresh) {
    deadline_ = std::min(deadline_, told_ + kRefresh);
    return;
  }
  if (status_.set(WorkloadCondition::kQuotaReserved, false, reason, std::move(message), now)) told_ = now;
  status_.set(WorkloadCondition::kAdmitted, false, "NoReservation", "The workload has no reservation", now);
}

void WorkloadLife::look_at_pods(const WorkloadFacts& facts, const PodsReady& options, TimeMs now) {
  by_eviction_ = options.from_eviction;
  const auto type = WorkloadCondition::kPodsReady;
  if (!facts.runs) {
    status_.set(type, false, "WaitForStart", std::string(kNotReady), now);
    return;
  }
  const auto* before = status_.find(type);
  const bool was_lost =
      before != nullptr && (before->reason == "WaitForRecovery" || before->reason == "Recovered");
  if (facts.ready) {
    status_.set(type, true, was_lost ? "Recovered" : "Started",
                "All pods reached readiness and the workload is running", now);
  } else if (before != nullptr && (before->is_true || before->reason == "WaitForRecovery")) {
    status_.set(type, false, "WaitForRecovery", "At least one pod has failed, waiting for recovery", now);
  } else {
    status_.set(type, false, "WaitForStart", std::string(kNotReady), now);
  }
}

// A workload that runs: whether one of its times is over.
bool WorkloadLife::times_out(const WorkloadFacts& facts, const std::optional<PodsReady>& pods_ready,
                             TimeMs now) {
  const TimeMs admitted = status_.find(WorkloadCondition::kAdmitted)->since;
  if (facts.most_seconds) {
    const TimeMs end = admitted + (*facts.most_seconds - status_.past_seconds) * kSecond;
    if (now >= end) {
      deactivate("MaximumExecutionTimeExceeded", "exceeding the maximum execution time");
      return true;
    }
    deadline_ = std::min(deadline_, end);
  }
  if (!pods_ready) return false;
  const auto* ready = status_.find(WorkloadCondition::kPodsReady);
  if (ready->is_true) return false;
  TimeMs end = admitted + pods_ready->timeout;
  if (ready->reason == "WaitForRecovery") {
    if (!pods_ready->recovery) return false;
    end = ready->since + *pods_ready->recovery;
  }
  if (now < end) {
    deadline_ = std::min(deadline_, end);
    return false;
  }
  if (pods_ready->most_requeues && status_.requeues + 1 > *pods_ready->most_requeues) {
    deactivate("RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries");
    return true;
  }
  const DurationMs rest = doubled(pods_ready->first_rest, status_.requeues++, pods_ready->most_rest);
  status_.requeue_at = (now + rest) / kSecond * kSecond;
  evicting("PodsReadyTimeout", "Exceeded the PodsReady timeout");
  return true;
}

bool WorkloadLife::look(const WorkloadFacts& facts, const std::optional<PodsReady>& pods_ready, TimeMs now) {
  if (is_finished()) return false;
  deadline_ = kEndOfTime;
  status_.reclaimable = facts.reclaimable;
  bool changed = false;
  if (status_.requeue_at != 0 && now >= status_.requeue_at) {
    status_.requeue_at = 0;
    status_.set(WorkloadCondition::kRequeued, true, "BackoffFinished", "The workload backoff was finished",
                now);
    changed = true;
  }
  if (status_.requeue_at != 0) deadline_ = status_.requeue_at;
  const bool held = status_.is(WorkloadCondition::kQuotaReserved);
  if (facts.runs) {
    const bool stopped = standing(now).stop.has_value();  // it will end
    if (!stopped) note_.reset();                          // only a part of it ended
    if (facts.unplaced && !facts.bound) admitted_ = false;
    if (!admitted_) {
      // Answers for the quota of another queue do not count for this one.
      if (held && status_.cluster_queue != facts.cluster_queue)
        asking_ = dialect::reset_checks(status_.checks, now) || asking_;
      dialect::sync_checks(status_.checks, facts.checks, now);
      const bool answered = !stopped && facts.stopped.empty() && !asking_ && facts.refused.empty() &&
                            dialect::all_ready(status_.checks);
      admitted_ = facts.bound || (facts.may_admit && !facts.unplaced && (facts.checks.empty() || answered));
    }
    resumes(facts, now);
    starts(facts, now);
    if (pods_ready) look_at_pods(facts, *pods_ready, now);
    if (!stopped && !admitted_ && !facts.stopped.empty()) {
      stopped_ = facts.stopped;
      evicting(fmt::format("{}Stopped", stopped_), fmt::format("The {} is stopped", stopped_));
      return true;
    }
    if (!stopped && (judge(facts, now) || (admitted_ && times_out(facts, pods_ready, now)))) changed = true;
    return changed;
  }
  if (pods_ready) look_at_pods(facts, *pods_ready, now);
  ends(now);
  if (facts.releasing) return changed;
  changed = changed || !std::exchange(stopped_, {}).empty();
  if (held) has_ended(now);
  dialect::sync_checks(status_.checks, facts.checks, now);
  if (!asking_ && !standing(now).stop && judge(facts, now)) {  // answered before it had places
    ends(now);
    asking_ = dialect::reset_checks(status_.checks, now) || asking_;
    changed = true;
  }
  resumes(facts, now);
  waits(facts, now);
  return changed;
}

}  // namespace berth::scheduler
