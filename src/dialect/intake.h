// Objects in, events for the engine out. Both doors use it: the live loop feeds it from watches, `berth plan` from manifests.
//
//   intake.upsert(object); intake.remove(Kind::kPod, ns, name, uid); ...
//   intake.drain(events);
//   for (const auto& event : events)
//     if (auto status = engine.apply(event); !status) intake.refused(event, status.error().message);
//
// Objects may come in any order (pods before their PodGroup, Job, queue or node): what is missing is a reason for waiting, and
// its arrival changes that. Pods map to workloads and slots:
//   - a gang (gangs.h) is one workload; a pod set per distinct template ("role"), in order of first appearance. A pod takes the
//     slot of its index where it has one, else the lowest free. With fewer pods than the gang's size, the last role lacks them;
//     with more, the surplus is elastic: it is taken off the least count of the largest role.
//     A group of Kueue's that says so (kKueueFastAdmission) starts before all of its pods are there: see expects().
//   - any other pod is a workload of one slot, whose uid is the pod's.
// With IntakeConfig::hold_jobs a suspended Job that names a queue is a workload without pods: its slots wait, made from its
// template. Whoever starts it says so (release()), unsuspends it, and keeps the places of its slots for the pods that come: each
// takes a slot. While a Job is suspended its pods have no part in anything but the room that they take until they are gone.
//
// A bound pod of a known slot is `running`, so a restart adopts what is there. Bound pods that are not ours (other schedulers',
// mirror pods) only take room (ForeignPod). Finished pods are gone.
//
// A Job without pods asks for what its pods will ask for: with the defaults of the LimitRanges of its namespace and the overhead of its
// RuntimeClass (template_effects.h). A change of those counts for what waits, at the next drain(), and never for what has its places.
//
// Reasons that the engine cannot know (an unknown PodGroup, a namespace that the queue does not admit, members that disagree)
// make the workload inactive; blocked() gives them, and comes before the engine's verdict. So does a pod with a field that cannot
// be read (Pod::problem): its workload waits, and says which field. Of one that runs, what can be read takes its room.
//
// Deterministic: the same calls in the same order give the same events. Cost per change: O(1) (logarithmic look-ups) plus the
// workloads that depend on the changed object; a change of queue objects O(queues) at the next drain(), of LimitRanges and RuntimeClasses
// O(Jobs). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/fields.h"
#include "dialect/objects.h"
#include "dialect/queue_status.h"
#include "dialect/queues.h"
#include "dialect/quota_counts.h"
#include "dialect/workload_object.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::dialect {

struct IntakeConfig {
  std::string cluster;  // id that nodes and workloads carry
  DeviceNames devices;
  // The scheduler names that Berth answers to; empty: all. A pod that names none is "default-scheduler"'s.
  std::vector<std::string> scheduler_names;
  // Pods of a Job wait until the Job has been seen (or release_orphans() says that there is none).
  bool wait_for_jobs = true;
  // No nodes are known: quota decides alone. Flavors are opaque, and Kueue's Workload objects, which otherwise are left to the
  // pods that they stand for, are work themselves, admitted ones with the quota that they hold.
  bool quota_only = false;
  bool fair_sharing = false;  // Kueue's fairSharing: cohorts share by the dominant shares of their members
  // Kueue's admissionFairSharing: the line of a ClusterQueue that asks for it is ordered by what its LocalQueues used of late
  std::optional<LaneOrder> lanes;
  QuotaCounts counts;  // what quota counts of pods, where that is not what they ask for
  // Kueue's admission checks; see set_check_mode().
  CheckMode checks = CheckMode::kNone;
  // Suspended Jobs that name a queue wait without pods. Otherwise only pods are work.
  bool hold_jobs = false;
};

// A pod that has, or waits for, a slot. Views are valid until the next change.
struct PodView {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  std::string_view node;       // "" = not bound
  std::string_view scheduler;  // as it names it
  std::string_view workload;   // uid
  std::int64_t pod_set = 0;
  std::int64_t index = 0;
  SlotState state = SlotState::kAbsent;  // absent: gated
  bool recreated = false;       // a controller makes a new one when it is deleted; otherwise it is a bare pod
  std::string_view controller;  // kind of the owner, "" = none
  std::string_view eviction;    // Pod::eviction
  std::span<const std::int64_t> devices;  // that its bind gave it, where it says so
  const PodTemplate* asks = nullptr;      // as the engine was told of its slot; nullptr: it has none
};

struct WorkloadInfo {
  std::string_view uid;
  std::string_view name;  // namespace/name
  std::string_view queue;
  std::int64_t priority = 0;
  bool gang = false;
  std::int64_t pods = 0;
  std::int64_t least = 0;  // pods without which it is no whole gang
  // The Job that it is, where Berth may suspend and release it (IntakeConfig::hold_jobs); "" = none. Its uid is the workload's.
  std::string_view job_ns;
  std::string_view job_name;
  std::int64_t job_generation = 0;
  bool suspended = false;  // and not released: it has no pods, and its slots wait all the same
  std::uint64_t revision =
      0;  // changes when its pods turn out to be others than its template said, and it is decided anew
  bool elastic = false;  // a Job of kKueueElastic
  // IntakeConfig::quota_only: the slice (namespace/name) that it replaces when it has quota for what it lacks; its pods run. "" = none.
  std::string former;
  std::int64_t whole =
      0;  // pods with which its present run has been whole, as far as they are wanted; 0: not yet
  bool is_job() const { return !job_name.empty(); }
};

// What somebody else than the owner's marks and the queues says of a workload (scheduler/workload_objects.h).
struct Standing {
  std::optional<Reason> stop;  // it may not run: what runs of it ends, and it waits, for this reason
  TimeMs queued_from = 0;      // it stands in line as if it had come then; 0: since it was created
  TimeMs asks_more_since = 0;  // an elastic Job, for more pods than it has; 0: as long as it stands in line
  std::int64_t boost = 0;      // added to its priority
  bool operator==(const Standing&) const = default;
};

// Work has come for a Workload that somebody made for it and that had waited, or had its places, by itself.
struct HandOver {
  std::string from;  // workloads; "": the Workload was seen after its work, or is not its own any more
  std::string to;
  std::vector<std::int64_t>
      sets;  // the pod set of `to`, of each of `from`; empty: its places are not for those pods
  // And the slot of that pod set that the first of these is: of a slice that adds pods to a Job, behind those that it has. Empty: 0.
  std::vector<std::int64_t> first;
};

struct JobName {
  std::string ns, name, uid;
};

class Intake {
 public:
  explicit Intake(IntakeConfig config = {});
  ~Intake();
  Intake(Intake&&) noexcept;
  Intake& operator=(Intake&&) noexcept;

  void upsert(Object object);
  // What is not known is not an error. A uid, where given, must match (a newer object of that name stays).
  void remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid = {});

  // Jobs that have not been seen and whose pods wait for them. Watches of Jobs and pods run apart: only the API can say whether such a
  // Job exists.
  std::vector<JobName> missing_jobs();
  // There is no such Job: its pods are pods of their own from now on.
  void release_orphans(std::string_view job_uid);

  // This object, which is no pod, cannot be read: what was known of it before stays. Cleared by its next upsert() or remove().
  void unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message);
  // Objects that cannot be read now, pods too: (kind, namespace/name) -> which field is wrong. The number changes with the map.
  const std::map<std::pair<Kind, std::string>, std::string>& unreadable() const;
  std::uint64_t unreadable_changes() const;

  // Appends the events since the last call: nodes, then queues, then workloads and their slots.
  void drain(std::vector<Event>& out);
  // The engine did not take this event. Keeps the books true: a workload is blocked with this message, the room of a running pod
  // is charged all the same (as a foreign pod's). More events may follow at the next drain().
  void refused(const Event& event, std::string_view message);
  // The engine is told of this workload and its slots as if it had never heard of them (next drain()).
  void tell_anew(std::string_view workload);
  // The write for this pod failed: its slot waits again (next drain()), or is absent where its Job is suspended. Nothing when the
  // pod is bound or gone.
  void retry(std::string_view pod_uid);

  // The suspended Job `workload` is being unsuspended: its slots keep their places until pods come. false: it is not, or no
  // longer; what its slots are then is told by renew(). Nothing where the workload is no Job that is held.
  void set_released(std::string_view workload, bool released);
  bool is_released(std::string_view workload) const;
  // A suspended Job, or a Workload whose work is to come, that may start with fewer pods, and that the engine has no room for, even
  // if others end: it is told to the engine with fewer, at the next drain(); first into free room only, then, called again, with
  // its least number whoever must end for that. False: it is no such Job, or nothing is left to offer. After grant(), and when its
  // owner changes it, all of its pods come first again.
  bool offer_less(std::string_view workload);
  bool may_offer_less(std::string_view workload) const;
  bool is_offered_less(std::string_view workload) const;
  // The engine has started this many pods of what was offered: that is its size until it is neither released nor reserved. Where
  // nobody offers anything (berth plan), of a Workload that starts_once(): until it is called with more than that asks for.
  void grant(std::string_view workload, std::int64_t pods);
  // Its first start is its size: a suspended Job, or a Workload that waits alone, which may start with fewer pods than it asks for.
  bool starts_once(std::string_view workload) const;
  // 0: all that it asks for.
  std::int64_t granted(std::string_view workload) const;
  // After a restart: what is bound of an elastic Job is all that it had, what it lacks is more that it asks for. Nothing of other work.
  void accept_size(std::string_view workload);
  // Tells the engine anew of every slot that is not bound, at the next drain().
  void renew(std::string_view workload);
  // The Job `workload` rests, for this reason, until it is called without one.
  void set_rest(std::string_view workload, std::optional<Reason> why);

  // In force until it is called with an empty one,. The workload need not be
  // known yet. Where it is stopped while it runs, the engine is told to end it (Withdraw).
  void set_standing(std::string_view workload, Standing standing);
  bool is_stopped(std::string_view workload) const;

  // Who can be asked about admission checks, from now on.
  void set_check_mode(CheckMode mode);
  // Whether the API server has ProvisioningRequests; and how a check that Berth answers itself asks for nodes (QueueBook).
  void set_provisioning_served(bool served);
  const ProvisioningRequestConfig* provisioning(std::string_view check) const;
  const ResourceFlavor* flavor(std::string_view name) const;
  // The nodes that were asked for are there: from now on it is placed. Otherwise, in the flavors of such a check, it gets quota alone
  // (PodTemplate::awaited_flavors). True: something changed.
  bool set_nodes_came(std::string_view workload, bool came);
  // The admission checks of the ClusterQueue that the workload is in, where they are to be asked (CheckMode::kLive); else empty.
  // Valid until the next change.
  const std::vector<CheckRule>& checks(std::string_view workload) const;
  // The pods of the suspended Job `workload` will get this too, so that it is placed by it, and not by what former ones have left in
  // its template (kPodSetUpdates); nullptr: nothing more. True: it is decided anew for that, and loses the places that it has.
  bool amend(std::string_view workload, const PodSetUpdate* update);

  // All RuntimeClasses that there are have been told: one that is not known does not exist, and its pods would be refused.
  void set_all_runtimes_known();
  // The suspended Job `workload` has quota and places, and waits for somebody's word: what it asks for stays what it is, whatever becomes
  // of LimitRanges and RuntimeClasses. false: it waits as others do.
  void set_reserved(std::string_view workload, bool reserved);
  // Makes of this pod what the API server would: its defaults, and why it would be refused (Pod::problem). Nothing of one without `needs`.
  void take_in(Pod& pod) const;

  // What Kueue's Workload object says of it. Nothing where it is unknown, or has no LocalQueue.
  std::optional<WorkloadSketch> sketch(std::string_view workload) const;
  // Workloads that somebody else has made (kKueuePrebuilt; Kueue's MultiKueue makes them, and then the Job): each is work of its
  // own until a Job, or pods, come that name it and ask for what it says. Their status is never looked at. Not with
  // CheckMode::kNone.
  // Of whom it is, or is itself: the uid of a workload; "": it is nobody's work.
  std::string_view prebuilt_owner(std::string_view ns, std::string_view name) const;
  // It has no pods, and will have none: it waits for whom it was made for.
  bool is_without_pods(std::string_view workload) const;
  // Since the last call.
  std::vector<HandOver> take_hand_overs();
  // ns/name of those that are named by work that asks for something else. They are over: nobody gets their places.
  std::vector<std::string> take_out_of_sync();

  // Nothing known: nullptr. Without its template's shape.
  const Job* job(std::string_view uid) const;
  // Its template's shape, as its object has it.
  const PodTemplate* written_template(std::string_view job) const;
  // Whether all pods that its gang needs are ready: as its Job counts them, or each pod says.
  bool is_ready(std::string_view workload) const;
  // The flavor of each resource that its queue has a quota for, on this node: the first of the queue's that the node is of.
  std::vector<ChosenFlavor> flavors_on(std::string_view workload, std::int64_t pod_set,
                                       std::string_view node) const;
  // Every LocalQueue, ClusterQueue and Berth's own Queue, as of the last drain(). O(queues).
  std::vector<QueueState> queue_states() const;
  bool has_cluster_queue(std::string_view name) const;
  // Whether queues share by their dominant shares.
  bool shares() const;
  // Of this LocalQueue (namespace/name), which may name one that does not exist; none: there is no such LocalQueue.
  std::optional<std::string> cluster_queue_of(const std::string& local_queue) const;
  // "/cohort/queue", as Kueue names the way from the root.
  std::string queue_path(std::string_view cluster_queue) const;

  // For kChargedTo of its pods when they are bound: the mark that names its queue, "key=name"; "": it has none.
  std::string charged_to(std::string_view workload) const;

  std::optional<PodView> pod(std::string_view uid) const;
  std::optional<PodView> pod_at(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // Whether the slot waits for a member of a group that starts before all of its pods are there (kKueueFastAdmission), or for a pod that
  // a slice, which somebody else has made, adds to a Job: its place is
  // kept for the pod that comes, and is somebody else's when it has not been started, or is ended.
  bool expects(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // The pods of a workload in the order of their slots.
  std::vector<PodView> pods_of(std::string_view workload) const;
  std::optional<WorkloadInfo> workload(std::string_view uid) const;
  // All workloads, oldest first.
  std::vector<WorkloadInfo> workloads() const;
  // Why the workload may not even be tried; nullptr: the engine's verdict counts.
  const Reason* blocked(std::string_view workload) const;
  // Objects that are misconfigured, as of the last drain().
  std::vector<Problem> problems() const;

  std::size_t pod_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::dialect
