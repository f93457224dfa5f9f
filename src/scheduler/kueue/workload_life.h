// The contents of Kueue's Workload object over the life of a workload: conditions with Kueue's types, reasons and messages,
// admission, the time of the next try, and deactivation. A value; no I/O. Written by workload_objects.h.
//
//   waits      QuotaReserved=False with the reason in Kueue's word, the message is Berth's own explanation; Admitted=False
//   has places QuotaReserved and Admitted at once: Berth admits what it has placed, and nothing else. Where its ClusterQueue has admission
//              checks, Admitted when all of them are ready; one that says Retry ends it, as one that says Rejected does for good
//   ends       Evicted (and Preempted) as soon as it is decided; QuotaReserved until its last pod is gone; then Requeued
//   finished   Finished; the rest stays as it was
//
// Time-outs (Kueue's waitForPodsReady, maximumExecutionTimeSeconds) end a workload by its standing (dialect/intake/intake.h): it is
// evicted, and waits. The times that they are reckoned from are those of the conditions, so that a restart changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "dialect/kueue/pods_ready.h"
#include "dialect/kueue/workload_status.h"
#include "model/decision.h"

namespace berth::scheduler {

using dialect::PodsReady;

// Kueue's reasons of Finished that say nothing of pods.
inline constexpr std::string_view kOutOfSync = "OutOfSync";
inline constexpr std::string_view kSliceReplaced = "WorkloadSliceReplaced";

struct WorkloadFacts {
  bool runs = false;        // slots are binding or running
  std::int64_t active = 0;  // and so many
  bool releasing = false;   // and pods that end
  bool ready = false;
  std::string_view stopped;  // "LocalQueue" or "ClusterQueue", where that is
  std::string_view cluster_queue;
  std::vector<dialect::WorkloadStatus::Assignment> assignments;  // of each pod set, where it holds quota
  std::vector<dialect::WorkloadStatus::Reclaimable> reclaimable;
  std::optional<std::int64_t> most_seconds;
  const Reason* why = nullptr;      // it waits; may be null
  bool gated = false;               // for a controller that still prepares it
  bool bound = false;               // one of its pods has a node
  std::vector<std::string> checks;  // the admission checks that apply
  bool may_admit = true;            // blockAdmission lets it
  std::string refused;              // why what the checks want cannot be done; "" = it can
  bool unplaced = false;            // it has quota alone: its nodes are to come
};

class WorkloadLife {
 public:
  // Why it is about to end. `preempted`: Kueue's reason, "" where it is not for another workload.
  void evicting(std::string_view reason, std::string message, std::string_view preempted = {});
  bool is_evicting() const { return note_.has_value(); }
  // Facts about it have changed, or its deadline has come. True: its standing may be another.
  bool look(const WorkloadFacts& facts, const std::optional<PodsReady>& pods_ready, TimeMs now);
  void finished(bool well, std::string message, TimeMs now);
  // Another controller wants it to be deactivated.
  void deactivate_for(std::string_view cause, std::string_view why);
  // It is Finished for this reason, which says nothing of its pods.
  void over(std::string_view reason, std::string message, TimeMs now);
  // It stands for what has run under another Workload until now (slices.h).
  void take_over(const WorkloadLife& former, TimeMs now);
  // The same for one that another client made and that was admitted by itself: only the run time of its work.
  void continues(const WorkloadLife& former, TimeMs now);
  // Answers of other controllers, from its object; not of checks that Berth answers itself (`is_own`).
  void take_checks(const dialect::AdmissionChecks& checks,
                   const std::function<bool(std::string_view)>& is_own);
  // Answers of Berth itself. True: something changed.
  bool answer(const dialect::AdmissionCheckState& state);
  // Its checks are being asked anew: there is no answer yet.
  bool is_asking() const { return asking_; }
  // Its object is gone, with all answers.
  void lost_checks() { asking_ = false; }
  // It has ended, and is started again before look() saw it.
  void ended_unseen(TimeMs now);
  // Its pods run: nothing of it waits for a check.
  void runs_already() { admitted_ = true; }
  // Work with places may start. Told by look().
  bool is_admitted() const { return admitted_; }
  // Its object says spec.active; true: its standing changed.
  bool set_active(bool active, TimeMs now);
  // As it stood when Berth was started.
  void adopt(dialect::WorkloadStatus status, bool active, bool by_eviction);

  const dialect::WorkloadStatus& status() const { return status_; }
  dialect::Standing standing(TimeMs now) const;
  // Berth has deactivated it, and its object is to say so.
  bool wants_deactivation() const { return !cause_.empty() && !inactive_; }
  bool is_inactive() const { return inactive_ || !cause_.empty(); }
  bool is_finished() const { return status_.is(dialect::WorkloadCondition::kFinished); }
  // When look() has something to say although nothing has happened; kEndOfTime: never.
  TimeMs deadline() const { return deadline_; }

 private:
  struct Note {
    std::string reason;
    std::string message;
    std::string preempted;
  };
  void starts(const WorkloadFacts& facts, TimeMs now);
  void ends(TimeMs now);
  void has_ended(TimeMs now);
  void resumes(const WorkloadFacts& facts, TimeMs now);
  void waits(const WorkloadFacts& facts, TimeMs now);
  void look_at_pods(const WorkloadFacts& facts, const PodsReady& options, TimeMs now);
  bool times_out(const WorkloadFacts& facts, const std::optional<PodsReady>& pods_ready, TimeMs now);
  void deactivate(std::string_view cause, std::string_view why);
  // A check, or what it wants, ends it. False: none does.
  bool judge(const WorkloadFacts& facts, TimeMs now);

  dialect::WorkloadStatus status_;
  std::optional<Note> note_;
  bool inactive_ = false;     // its object says so
  std::string cause_;         // why Berth has deactivated it
  bool by_eviction_ = false;  // PodsReady::from_eviction
  bool admitted_ = false;
  std::string stopped_;  // it ends, since this queue was stopped before it was admitted
  bool asking_ =
      false;  // all checks are asked anew, and its object does not show it yet: answers are to what was before
  TimeMs told_ = 0;  // when the reason for waiting was put in words
  TimeMs deadline_ = kEndOfTime;
};

// Kueue's reason of QuotaReserved=False for a workload that waits for this.
std::string_view waiting_reason(const Reason& reason);

}  // namespace berth::scheduler
