// Kueue's Workload objects for the Jobs, pods and pod groups of LocalQueues, so that kueuectl, dashboards and `kubectl wait` can
// read them. This class makes them and keeps them up to date. It obeys three inputs from them: spec.active, the answers of other
// controllers to admission checks, and the annotation that boosts the priority. Lives on the decision thread.
//
// Ownership.
//   - Berth's Workloads are owned by the Job (or the pods), and carry an annotation that says so.
//   - A foreign Workload has the same owner, or the name of Berth's own, without that annotation. Berth neither obeys nor writes
//     it, makes no second one, and logs it.
//   - A prebuilt Workload was made by another client for work that names it, or for future work (dialect/intake/intake.h). Berth maintains
//     it like its own: it writes status and owner, but leaves the spec alone.
//   - Apart from those answers, no status decides anything: Berth knows from pods and Jobs which work runs. It corrects a status of
//     its own that another client changed. The pause before that doubles each time, so that two writers do not fight for ever.
//   - There is no finalizer, because a Workload holds nothing. A deleted one is made again.
//
// Admission. Work of a ClusterQueue with admission checks gets its quota and places as usual (the engine's start). It starts when
// all checks are ready: must_wait() holds a start back, take_admissions() lets it go. Other controllers answer the checks. Berth
// adds the checks as pending, and resets them when the quota is lost. It writes them only over the version of the object that it
// knows (409 otherwise). Berth itself answers checks of kProvisioningController (provisioner.h): such work gets its quota first,
// and its places when the nodes have come.
// Kueue's blockAdmission works the same way: the held start that was decided first is admitted when the pods of all work admitted
// before are ready. If a foreign Workload takes the place of Berth's, work that must be checked does not start.
//
// Elastic Jobs have a Workload per size: the slice that they run with, and, while they wait for more pods, a second one
// (workload_slices.cc). The object fixes the request of a slice; all else follows from the Job and its pods, as for other work.
//
// Two queues of looks. `due_`: work whose start waits for an answer, or whose timer has fired; handled on time. `changes_`:
// everything else that changed; handled 250 ms later, and slowly while binds are in flight. Most entries change again meanwhile,
// and the write budget is small.
// Writes (workload_writes.cc): on change only, one at a time per object, within a budget that queue_statuses.h shares. Work that
// starts, ends or has finished goes before waiting work. The backlog holds uids instead of bodies: an object gets its state at the
// time of the write. After a restart unchanged state is not written again: Berth compares with the object of the watch.
//
// Without an API that serves Workloads, or beside a running Kueue (set_version("")), nothing is written. Time-outs
// (workload_life.h) work all the same, from memory.
//
// Cost: O(slots of the workload) per change, O(log n) per timer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "dialect/kueue/visibility.h"
#include "dialect/objects/decode.h"
#include "engine/engine.h"
#include "scheduler/kueue/provisioner.h"
#include "scheduler/kueue/workload_life.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/due.h"
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
  WorkloadObjects(dialect::Intake& intake, const engine::Engine& engine, dialect::JsonDecoder& decoder,
                  LaneBook& lanes, Outbox& outbox, WorkloadObjectOptions options);

  // The API version in which Workloads are written ("v1beta2"); empty: they are not.
  void set_version(std::string_view version, TimeMs now);

  // And ProvisioningRequests: see provisioner.h.
  void set_provisioning_version(std::string_view version, TimeMs now);
  void request_seen(const dialect::ProvisioningRequest& request, TimeMs now);
  void request_gone(std::string_view ns, std::string_view name, TimeMs now);
  // The checks that Berth answers itself, or their parameters, may have changed.
  void checks_changed(TimeMs now);

  // Something about the workload may have changed.
  void changed(std::string_view workload, TimeMs now);
  // Work has come that owns this Workload, which had stood for itself or belonged to other work.
  void handed_over(const dialect::HandOver& what, TimeMs now);
  // The Workload does not match the work that names it.
  void out_of_sync(const std::string& key, TimeMs now);
  // To be called before the decision is carried out.
  void decided(const Decision& decision, TimeMs now);
  void owner_seen(const dialect::Ask& ask, TimeMs now);
  // True if this start must wait until take_admissions() returns it.
  bool must_wait(const Decision& start, TimeMs now);
  // The admission checks of a ClusterQueue may have changed: held starts are checked again.
  void queue_seen(const dialect::ClusterQueue& queue, TimeMs now);
  struct Admission {
    std::string workload;
    bool admitted = false;                       // false: not any longer
    std::vector<dialect::PodSetUpdate> updates;  // changes of its pods by checks
  };
  std::vector<Admission> take_admissions() { return std::exchange(admissions_, {}); }
  // The watch; `version` as in a resourceVersion.
  void seen(const dialect::KueueWorkload& object, std::string_view version, TimeMs now);
  void gone(std::string_view ns, std::string_view name, TimeMs now);
  void answered(const Answer& answer, TimeMs now);

  // Handles due entries and sends writes, some of each. `busy`: binds are in flight, so `changes_` is handled more slowly. False:
  // nothing is due now, and nothing is new for the intake.
  bool work(TimeMs now, bool busy, Allowance& allowance);
  TimeMs next_due() const { return next_due_; }

  // Workloads that have changed and are still to be looked at.
  std::size_t changes() const { return changes_.size(); }
  std::size_t backlog() const { return backlog_[0].size() + backlog_[1].size(); }
  std::size_t size() const { return records_.size(); }
  const WorkloadLife* life(std::string_view workload) const;
  // The Workload of work that waits in this lane (`grows`: the slice that waits), except its place in line; `priority`: with its
  // boost. The object may not exist yet. Without a name: there is none. O(1), or O(pod sets) if the object does not exist yet.
  dialect::PendingPlace place_of(const std::string& workload, bool grows, std::string_view lane,
                                 std::int64_t priority) const;
  // Whether readiness of pods matters to any workload.
  bool looks_at_pods() const { return options_.pods_ready || !own_times_.empty(); }

 private:
  struct Record {
    WorkloadLife life;
    std::string key;  // namespace/name of its object; "" = none is known
    std::string object_uid;
    TimeMs created = 0;
    std::uint64_t version = 0;
    std::size_t stands = 0;    // digest of the status on the server
    std::size_t written = 0;   // and of the one that Berth wrote last
    std::string checks;        // on the server, as text
    std::uint64_t turn = 0;    // in line_; 0: not there
    bool evicting = false;     // an eviction was decided since its end was last seen
    std::optional<bool> told;  // the last of take_admissions()
    std::string spec;          // digest of its spec, from its annotation
    bool reserved = false;     // the status on the server has quota: the spec is fixed
    bool says_active = true;
    std::int64_t boost = 0;  // of its priority, as its object says
    bool prebuilt = false;   // another client made its object
    bool flying = false;
    bool queued = false;
    bool looking = false;  // the end of its pods is being read
    bool asks = false;     // for nodes, or has asked
    int failures = 0;
    int corrections = 0;
    TimeMs quiet = 0;      // nothing is written before
    TimeMs corrected = 0;  // when it was last
    std::vector<FlavorChoice> flavors;
    std::string path;  // where its pods can be read when they have ended
    std::int64_t pods = 0;
    std::int64_t to_come = 0;            // of these, members of its group that were not there yet
    std::vector<dialect::Owner> owners;  // of its object, where it is a group's
    // For an elastic Job.
    std::int64_t count = 0;       // pods that its object is to ask for; 0: not known yet
    std::int64_t says_count = 0;  // and asks for
    TimeMs asked_at = 0;          // since when; 0: since its Job was made
    TimeMs raised_at = 0;         // when its Job was last seen to ask for more
    std::string slice;            // dialect::WorkloadSketch
    std::string replaces;
    std::string successor;  // of a slice that is over: the workload whose record has the one that replaces it
  };

  static std::size_t digest(const dialect::WorkloadStatus& status);
  void schedule(const std::string& workload, TimeMs at);
  void look(const std::string& workload, TimeMs now);
  WorkloadFacts facts_of(const dialect::WorkloadSketch& sketch, const Record& record) const;
  void count(const dialect::WorkloadSketch& sketch, const WorkloadFacts& facts, bool admitted);
  // Puts it into the line of those that are written, where its object is not as it should be.
  void compare(const std::string& workload, Record& record, TimeMs now);
  // Whether the object asks for something else than the workload does, or lacks owners, and may still be changed.
  bool asks_otherwise(const Record& record, const dialect::WorkloadSketch& sketch) const;
  bool asks_for_else(const Record& record, const dialect::WorkloadSketch& sketch) const;
  bool asks_for_more_owners(const Record& record, const dialect::WorkloadSketch& sketch) const;
  // False: there is nothing to write, or not now.
  bool write(const std::string& workload);
  void stand(const std::string& workload, const Record& record, TimeMs now);
  void ended(const std::string& workload, Record& record);
  void endings_read(const std::string& workload, Record& record, const Answer& answer, TimeMs now);
  void forget_if_done(const std::string& workload);
  bool is_foreign(const dialect::WorkloadSketch& sketch) const;
  // The inputs of its admission, and the result.
  void ask(const std::string& workload, const dialect::WorkloadSketch& sketch, const Record& record,
           WorkloadFacts& facts, std::vector<dialect::PodSetUpdate>& updates);
  // Answers the checks that Berth answers itself. True: an answer changed.
  bool ask_for_nodes(const std::string& workload, const dialect::WorkloadSketch& sketch, Record& record,
                     const WorkloadFacts& facts, TimeMs now);
  // Looks at the workload of this object (namespace/name) again.
  void wake(const std::string& object, TimeMs at);
  void tell(const std::string& workload, Record& record, bool waits,
            std::vector<dialect::PodSetUpdate> updates, TimeMs now);
  bool may_go(const Record& record) const;
  void leave_line(Record& record, TimeMs now);
  // The first in line that may start, and those before it, are looked at.
  void wake_line(TimeMs now);
  // Its object is not its own any more: the work names another one, or none, or another client made that object in its name.
  void settle_object(const std::string& workload, const dialect::WorkloadSketch& sketch, TimeMs now);
  // Its object becomes a record of its own that is finished, for this reason (Berth may not delete it). No effect without an
  // object.
  void retire(const std::string& record, std::string_view reason, std::string message, TimeMs now);
  // The work without its object.
  Record without_object(Record& record);
  bool is_of_another_namespace(const std::string& workload, const std::string& ns) const;
  // The reason for which the object `key` is finished when its work has the object `next`, which replaces `replaces`. Slices of
  // elastic Jobs that another client makes replace each other.
  static std::pair<std::string_view, std::string> why_over(std::string_view replaces, std::string_view next,
                                                           std::string_view key);
  static void add_former(const dialect::WorkloadSketch& sketch, WorkloadFacts& facts);
  static constexpr std::string_view kHasAnother = "Another Workload has replaced it";
  // Names of records for objects that have lost their work; no workload has such a name.
  static std::string past_of(const std::string& object_uid) { return "past/" + object_uid; }
  static bool is_past(std::string_view record) { return record.starts_with("past/"); }
  // The object of such a record was read, and names this workload.
  void past_seen(const std::string& record, const std::string& workload, bool is_finished, TimeMs now);
  // Reads its object, which is known and belonged to other work.
  void adopt(const std::string& workload, Record& record, const dialect::WorkloadSketch& sketch);
  // The work is gone.
  void leaves(const std::string& workload, Record& record, TimeMs now);
  void set_unready(const std::string& workload, bool unready, TimeMs now);
  // workload_slices.cc. An elastic Job has several records: that of the workload, whose object is the slice that it runs with; one
  // for the waiting slice; and those of finished slices until they are Finished. No workload has such a name.
  static std::string next_of(std::string_view workload) { return "next/" + std::string(workload); }
  static bool is_next(std::string_view record) { return record.starts_with("next/"); }
  static std::string work_of(std::string_view record) {
    return std::string(is_next(record) ? record.substr(5) : record);
  }
  // The name of the workload's object (namespace/name). `sketch`: of the workload.
  std::string own_key(const std::string& workload, const dialect::WorkloadSketch& sketch) const;
  // The name of the object that is this record of an elastic Job.
  static std::string slice_name(const dialect::WorkloadSketch& sketch, const Record& of);
  // The intended contents of the object of this record.
  std::optional<dialect::WorkloadSketch> sketch_of(const std::string& record) const;
  // The record of this object, which Berth made for the workload; "": none.
  std::string record_of(const std::string& workload, const std::string& key,
                        const dialect::KueueWorkload& object, TimeMs now);
  // Brings its slices in step with its size. False: a write is under way, and it must be looked at again.
  bool follow_size(const std::string& workload, const dialect::WorkloadSketch& sketch,
                   const WorkloadFacts& facts, TimeMs now);
  bool replace_slice(const std::string& workload, const dialect::WorkloadSketch& sketch, TimeMs now);
  void look_at_next(const std::string& workload, const WorkloadFacts& facts,
                    const std::optional<PodsReady>& pods_ready, TimeMs now);
  // Its Job has ended, or is gone.
  void leave_next(const std::string& workload, TimeMs now);
  // It is Finished only when its successor has its quota on the server: at any time one of them stands for the Job.
  bool has_successor(const Record& past) const;
  // There is another object of the name that its Workload was to have.
  void name_anew(const std::string& record);
  static void move_object(Record& from, Record& to);
  DurationMs rest(int times) const;

  dialect::Intake& intake_;
  const engine::Engine& engine_;
  dialect::JsonDecoder& decoder_;
  LaneBook& lanes_;
  Outbox& outbox_;
  const WorkloadObjectOptions options_;
  std::string version_;
  std::string provisioning_version_;
  Provisioner provisioner_;
  std::map<std::string, Record> records_;                // by workload
  std::unordered_map<std::string, std::string> by_key_;  // namespace/name of Berth's objects -> workload
  std::unordered_map<std::string, std::vector<std::string>>
      foreign_;                                                  // others: -> namespace/uid of their owners
  std::unordered_map<std::string, std::string> foreign_owners_;  // and back
  // workloads whose answers now belong to other workloads
  std::unordered_map<std::string, std::string> moved_;
  std::unordered_set<std::string> told_;  // workloads whose foreign Workload the log has reported
  Due due_;                               // workloads with a waiting start or a timer, by that time
  Due changes_;                           // workloads that have changed otherwise
  Allowance busy_looks_;                  // at these
  std::vector<Admission> admissions_;
  std::map<std::uint64_t, std::string> line_;  // blockAdmission: held starts, in the order of their decisions
  std::uint64_t turns_ = 0;
  // The rules of a ClusterQueue for work that has quota and has not started.
  struct Rules {
    std::vector<dialect::CheckRule> checks;
    bool stops = false;
    bool operator==(const Rules&) const = default;
  };
  std::map<std::string, Rules> rules_;         // by ClusterQueue, where it says any
  std::unordered_set<std::string> own_times_;  // workloads with their own time for pods to become ready
  std::set<std::string> unready_;              // and admitted workloads whose pods are not ready
  std::deque<std::string> backlog_[2];         // urgent first
  std::size_t flying_ = 0;
  TimeMs next_due_ = kEndOfTime;
  bool stood_ = false;  // some standing has changed since work(), or some nodes came
};

}  // namespace berth::scheduler
