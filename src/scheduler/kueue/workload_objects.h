// Kueue's Workload objects for the Jobs, pods and pod groups of LocalQueues, so that kueuectl, dashboards and `kubectl wait` can
// read them. This class makes them and keeps them up to date. It obeys three inputs from them: spec.active, the answers of other
// controllers to admission checks, and the annotation that boosts the priority. Lives on the decision thread.
//
// Its parts, each with a contract of its own:
//   WorkloadBook   the records of all workloads, which of them to look at, and what the intake is told
//   Ownership      which object is Berth's, and which is foreign
//   ObjectWrites   which object is not as it should be, and the writes
//   Succession     which object stands for which work when one of them changes
//   Slices         the objects of an elastic Job, one per size
//   Admission      what may start of what has places
//   Provisioner    nodes that the work asks for
//
// This class feeds them. It takes in the objects of the watch, and looks at one workload after the other.
//
// Apart from the three inputs no status decides anything: Berth knows from pods and Jobs which work runs. There is no finalizer,
// because a Workload holds nothing. A deleted one is made again.
//
// Without an API that serves Workloads, or beside a running Kueue (set_version("")), nothing is written. Time-outs
// (workload_life.h) work all the same, from memory.
//
// Cost: O(slots of the workload) per change, O(log n) per timer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "dialect/kueue/visibility.h"
#include "dialect/objects/decode.h"
#include "engine/engine.h"
#include "scheduler/kueue/admission.h"
#include "scheduler/kueue/admission_line.h"
#include "scheduler/kueue/object_writes.h"
#include "scheduler/kueue/provisioner.h"
#include "scheduler/kueue/slices.h"
#include "scheduler/kueue/succession.h"
#include "scheduler/kueue/workload_book.h"
#include "scheduler/kueue/workload_life.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/lane_book.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct WorkloadObjectOptions {
  bool enabled = true;  // false: nothing at all, time-outs neither
  std::optional<PodsReady> pods_ready;
  DurationMs settle = 250;  // after a change
  std::size_t most_flying = 200;
  DurationMs first_rest = kSecond;  // after a failed write, or a correction; doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
};

class WorkloadObjects {
 public:
  WorkloadObjects(dialect::IntakePromises& intake, const engine::Engine& engine,
                  dialect::JsonDecoder& decoder, LaneBook& lanes, Outbox& outbox,
                  WorkloadObjectOptions options);

  // The API version in which Workloads are written ("v1beta2"); empty: they are not.
  void set_version(std::string_view version, TimeMs now);

  // And ProvisioningRequests: see provisioner.h.
  void set_provisioning_version(std::string_view version, TimeMs now) {
    admission_.set_provisioning_version(version, now);
  }
  void request_seen(const dialect::ProvisioningRequest& request, TimeMs now) {
    admission_.request_seen(request, now);
  }
  void request_gone(std::string_view ns, std::string_view name, TimeMs now) {
    admission_.request_gone(ns, name, now);
  }
  // The checks that Berth answers itself, or their parameters, may have changed.
  void checks_changed(TimeMs now) { admission_.checks_changed(now); }

  // Something about the workload may have changed.
  void changed(std::string_view workload, TimeMs now) { book_.changed(workload, now); }
  // Work has come that owns this Workload, which had stood for itself or belonged to other work.
  void handed_over(const dialect::HandOver& what, TimeMs now);
  // The Workload does not match the work that names it.
  void out_of_sync(const std::string& key, TimeMs now) { succession_.out_of_sync(key, now); }
  // To be called before the decision is carried out.
  void decided(const Decision& decision, TimeMs now);
  void owner_seen(const dialect::Ask& ask, TimeMs now);
  // True if this start must wait until take_admissions() returns it.
  bool must_wait(const Decision& start, TimeMs now) {
    return options_.enabled && admission_.must_wait(start, now);
  }
  // The admission checks of a ClusterQueue may have changed: held starts are checked again.
  void queue_seen(const dialect::ClusterQueue& queue, TimeMs now) { admission_.queue_seen(queue, now); }
  std::vector<Admission::Change> take_admissions() { return admission_.take(); }
  // The watch; `version` as in a resourceVersion.
  void seen(const dialect::KueueWorkload& object, std::string_view version, TimeMs now);
  void gone(std::string_view ns, std::string_view name, TimeMs now);
  void answered(const Answer& answer, TimeMs now);

  // Handles due entries and sends writes, some of each; changes() more slowly while binds are in flight. False: nothing is due now,
  // and nothing is new for the intake.
  bool work(TimeMs now, Load load, Allowance& allowance);
  TimeMs next_due() const { return book_.next_due(); }

  // Workloads that have changed and are still to be looked at.
  std::size_t changes() const { return book_.changes().size(); }
  std::size_t backlog() const { return writes_.backlog(); }
  std::size_t size() const { return records_.size(); }
  const WorkloadLife* life(std::string_view workload) const;
  // The Workload of work that waits in this lane (`grows`: the slice that waits), except its place in line; `priority`: with its
  // boost. The object may not exist yet. Without a name: there is none. O(1), or O(pod sets) if the object does not exist yet.
  dialect::PendingPlace place_of(const std::string& workload, bool grows, std::string_view lane,
                                 std::int64_t priority) const;
  // Whether readiness of pods matters to any workload.
  bool looks_at_pods() const { return options_.pods_ready || !own_times_.empty(); }

 private:
  void look(const std::string& workload, TimeMs now);
  // It has no object, nor is one to be made: it is of another kind, names one that is not there, or is gone.
  void look_without_object(const std::string& workload, const std::optional<dialect::WorkloadSketch>& sketch,
                           TimeMs now);
  WorkloadFacts facts_of(const dialect::WorkloadSketch& sketch, const WorkloadRecord& record) const;
  // Its own times for pods to become ready, or those of the configuration.
  std::optional<PodsReady> times_of(const std::string& workload, const dialect::WorkloadSketch& sketch);
  // Remembers where the pods can be read when they have ended.
  static void note_pods(const dialect::WorkloadSketch& sketch, WorkloadRecord& record);
  void count(const dialect::WorkloadSketch& sketch, const WorkloadFacts& facts, bool admitted);
  // An object that is not Berth's.
  void foreign_seen(const dialect::KueueWorkload& object, const std::string& key, std::string_view version,
                    TimeMs now);
  // Takes its contents into the record. `known`: of that object others were taken in before.
  void read_object(const dialect::KueueWorkload& object, WorkloadRecord& record, bool known);
  void ended(const std::string& workload, WorkloadRecord& record);
  void endings_read(const std::string& workload, WorkloadRecord& record, const Answer& answer, TimeMs now);
  void forget_if_done(const std::string& workload);

  dialect::IntakePromises& intake_;
  const engine::Engine& engine_;
  dialect::JsonDecoder& decoder_;
  LaneBook& lanes_;
  Outbox& outbox_;
  const WorkloadObjectOptions options_;
  WorkloadBook book_;
  Records& records_;  // the book's
  Provisioner provisioner_;
  AdmissionLine line_;
  ObjectWrites writes_;
  Succession succession_;
  Slices slices_;
  Admission admission_;
  std::unordered_set<std::string> own_times_;  // workloads with their own time for pods to become ready
  Allowance busy_looks_;                       // at changes, while binds are in flight
};

}  // namespace berth::scheduler
