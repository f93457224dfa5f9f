// Decides which work with places may start. Work of a ClusterQueue with admission checks gets its quota and places as usual (the
// engine's start). It starts when all checks are ready: must_wait() holds a start back, take() lets it go. Other controllers answer
// the checks. Berth adds the checks as pending, and resets them when the quota is lost. It writes them only over the version of the
// object that it knows (409 otherwise). Berth itself answers checks of kProvisioningController (provisioner.h): such work gets its
// quota first, and its places when the nodes have come. Lives on the decision thread.
//
// Kueue's blockAdmission works the same way. The held start that was decided first is admitted when the pods of all admitted work
// are ready (admission_line.h). If a foreign Workload takes the place of Berth's, work that must be checked does not start.
//
// The protocol with the carrier is in scheduler/carry/places.h. Cost: O(pods) per start, O(checks) per look.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "dialect/objects/decode.h"
#include "model/decision.h"
#include "scheduler/kueue/admission_line.h"
#include "scheduler/kueue/object_writes.h"
#include "scheduler/kueue/provisioner.h"
#include "scheduler/kueue/workload_book.h"

namespace berth::scheduler {

class Admission {
 public:
  Admission(dialect::IntakePromises& intake, WorkloadBook& book, ObjectWrites& writes, AdmissionLine& line,
            Provisioner& provisioner, std::optional<PodsReady> pods_ready)
      : intake_(intake),
        book_(book),
        records_(book.records()),
        writes_(writes),
        line_(line),
        provisioner_(provisioner),
        pods_ready_(std::move(pods_ready)) {}

  struct Change {
    std::string workload;
    bool admitted = false;                       // false: not any longer
    std::vector<dialect::PodSetUpdate> updates;  // changes of its pods by checks
  };
  std::vector<Change> take() { return std::exchange(changes_, {}); }

  // True if this start must wait until take() returns it.
  bool must_wait(const Decision& start, TimeMs now);
  // The inputs of its admission, and the result.
  void ask(const std::string& workload, const dialect::WorkloadSketch& sketch, const WorkloadRecord& record,
           WorkloadFacts& facts, std::vector<dialect::PodSetUpdate>& updates);
  // Answers the checks that Berth answers itself. True: an answer changed.
  bool ask_for_nodes(const std::string& workload, const dialect::WorkloadSketch& sketch,
                     WorkloadRecord& record, const WorkloadFacts& facts, TimeMs now);
  void tell(const std::string& workload, WorkloadRecord& record, bool has_places,
            std::vector<dialect::PodSetUpdate> updates, TimeMs now);
  // The work is gone.
  void leaves(const std::string& workload, WorkloadRecord& record, TimeMs now);
  // Its pods are not ready, although it is admitted.
  void set_unready(const std::string& workload, bool unready, TimeMs now);

  // The version of ProvisioningRequests; and that of Workloads has changed.
  void set_provisioning_version(std::string_view version, TimeMs now);
  void version_changed();
  void request_seen(const dialect::ProvisioningRequest& request, TimeMs now);
  void request_gone(std::string_view ns, std::string_view name, TimeMs now);
  // The checks that Berth answers itself, or their parameters, may have changed.
  void checks_changed(TimeMs now);
  // The admission checks of a ClusterQueue may have changed: held starts are checked again.
  void queue_seen(const dialect::ClusterQueue& queue, TimeMs now);

 private:
  bool may_go(const WorkloadRecord& record) const;
  void leave_line(WorkloadRecord& record, TimeMs now);
  // The first in line that may start, and those before it, are looked at.
  void wake_line(TimeMs now);

  // The rules of a ClusterQueue for work that has quota and has not started.
  struct Rules {
    std::vector<dialect::CheckRule> checks;
    bool stops = false;
    bool operator==(const Rules&) const = default;
  };

  dialect::IntakePromises& intake_;
  WorkloadBook& book_;
  Records& records_;
  ObjectWrites& writes_;
  AdmissionLine& line_;
  Provisioner& provisioner_;
  const std::optional<PodsReady> pods_ready_;
  std::string provisioning_version_;
  std::vector<Change> changes_;
  std::map<std::string, Rules> rules_;  // by ClusterQueue, where it says any
};

}  // namespace berth::scheduler
