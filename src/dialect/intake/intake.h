// Objects in, events for the engine out. Both doors use it: the live loop feeds it from watches, `berth plan` from manifests.
//
//   intake.upsert(object); intake.remove(Kind::kPod, ns, name, uid); ...
//   intake.drain(events);
//   for (const auto& event : events)
//     if (auto status = engine.apply(event); !status) intake.refused(event, status.error().message);
//
// Objects may come in any order (pods before their PodGroup, owner, queue or node). Work waits for a missing object, and goes on when
// it arrives. Pods map to workloads and slots:
//   - a gang (gangs.h) is one workload; a pod set per distinct template ("role"), in order of first appearance. A pod takes the
//     slot of its index where it has one, else the lowest free. With fewer pods than the gang's size, the last role lacks them;
//     with more, the surplus is elastic and reduces the least count of the largest role. A group of Kueue's with
//     kKueueFastAdmission starts before all of its pods exist: see expects().
//   - any other pod is a workload of one slot, whose uid is the pod's.
// With IntakeConfig::hold_owners a suspended owner (a Job) that names a queue is a workload without pods: its slots wait, made from its
// templates. The caller that starts it calls set_released(), unsuspends it, and keeps the places of its slots; each new pod takes a
// slot. Pods of a suspended owner only take room until they are gone.
//
// A bound pod of a known slot is `running`, so a restart adopts existing placements. Bound pods that are not ours (other
// schedulers', mirror pods) only take room (ForeignPod). Finished pods are gone.
//
// An owner without pods asks for the requests of its future pods. They include LimitRange defaults of its namespace and the overhead
// of its RuntimeClass (template_effects.h). A change of those counts at the next drain(), for waiting work only, never for work
// that has its places.
//
// Reasons that the engine cannot know (an unknown PodGroup, a namespace that the queue does not admit, members that disagree)
// make the workload inactive; blocked() gives them, and comes before the engine's verdict. So does a pod with a field that cannot
// be read (Pod::problem): its workload waits, and the reason names the field. If such a pod runs, the readable part takes its room.
//
// Deterministic: the same calls in the same order give the same events. Cost per change: O(1) (logarithmic look-ups) plus the
// workloads that depend on the changed object; a change of queue objects O(queues) at the next drain(), of LimitRanges and RuntimeClasses
// O(owners). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/base/fields.h"
#include "dialect/books/queues.h"
#include "dialect/books/words.h"
#include "dialect/kueue/queue_status.h"
#include "dialect/kueue/quota_counts.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/objects/gang_systems.h"
#include "dialect/objects/object.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::dialect {

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
  std::span<const std::int64_t> devices;  // of its bind, if the pod says so
  const PodTemplate* asks = nullptr;      // as the engine knows its slot; nullptr: it has none
  const Reason* later =
      nullptr;  // of a subgroup whose turn has not come: why; nullptr: it may start with its gang
};

struct WorkloadInfo {
  std::string_view uid;
  std::string_view name;  // namespace/name
  std::string_view queue;
  std::int64_t priority = 0;
  bool gang = false;
  std::int64_t pods = 0;
  std::int64_t least = 0;  // pods without which it is no whole gang
  // The owner that it is, where Berth may suspend and release it (IntakeConfig::hold_owners); nullptr: none. Its uid is the workload's.
  const Ask* owner = nullptr;
  bool suspended = false;      // and not released: it has no pods, but its slots wait
  std::uint64_t revision = 0;  // changes when its pods differ from its template, and it is decided anew
  bool elastic = false;        // an owner that says kKueueElastic
  bool enough = false;         // it goes on with the subgroups that run, whatever the others lack
  // IntakeConfig::quota_only: the slice (namespace/name) that it replaces when it has quota for what it lacks; its pods run. "" = none.
  std::string former;
  std::int64_t whole =
      0;  // pods with which its present run has been whole, as far as they are wanted; 0: not yet
};

// A gang whose object its pods name. Pointers and views are good until the next change.
struct GangView {
  const GangSystem* system = nullptr;
  const GangObject* object = nullptr;
  std::string workload;           // uid; of none as long as there are no pods
  GangReport report;              // without the reason for which it waits
  std::optional<Reason> stopped;  // by what its object, its pods or its queue say
};

class Intake {
 public:
  explicit Intake(IntakeConfig config = {});
  ~Intake();
  Intake(Intake&&) noexcept;
  Intake& operator=(Intake&&) noexcept;

  void upsert(Object object);
  // An owner of pods, taken apart already.
  void upsert(Ask ask);
  // Removing an unknown object is no error. A uid, if given, must match (a newer object of that name stays).
  void remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid = {});

  // Owners that have not been seen and whose pods wait for them. Watches of owners and pods run apart: only the API can say whether such
  // an owner exists. Also, once each, owners of kinds that Berth does not read: their pods are scheduled one by one.
  std::vector<OwnerName> missing_owners();
  // There is no such owner: its pods are pods of their own from now on.
  void release_orphans(std::string_view owner_uid);

  // This object, which is no pod, cannot be read: what was known of it before stays. Cleared by its next upsert() or remove().
  void unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message);
  // Objects that cannot be read now, pods too: (kind, namespace/name) -> which field is wrong. The number changes with the map.
  const std::map<std::pair<Kind, std::string>, std::string>& unreadable() const;
  std::uint64_t unreadable_changes() const;

  // Appends the events since the last call: nodes, then queues, then workloads and their slots.
  void drain(std::vector<Event>& out);
  // The engine refused this event. Keeps the books consistent: a workload is blocked with this message; a running pod is charged as
  // a foreign pod. More events may follow at the next drain().
  void refused(const Event& event, std::string_view message);
  // The engine is told of this workload and its slots as if it had never heard of them (next drain()).
  void tell_anew(std::string_view workload);
  // The write for this pod failed: its slot waits again (next drain()), or is absent where its owner is suspended. Nothing when the
  // pod is bound or gone.
  void retry(std::string_view pod_uid);

  // The suspended owner `workload` is being unsuspended: its slots keep their places until pods come. false: not, or no longer;
  // renew() then reports its slots. No effect unless the workload is an owner that is held suspended.
  void set_released(std::string_view workload, bool released);
  bool is_released(std::string_view workload) const;
  // A suspended owner, or a Workload without its work, that the engine may start with fewer pods (Workload::whole_first): its start
  // is to be told with grant().
  bool may_start_smaller(std::string_view workload) const;
  // The engine has started so many of its pods: that is its size until it is neither released nor reserved. In a plan, for a Workload
  // with starts_once(): its size until a call with more than it asks for.
  void grant(std::string_view workload, std::int64_t pods);
  // Its first start fixes its size: a suspended owner, or a Workload that waits alone, and may start with fewer pods than it asks
  // for.
  bool starts_once(std::string_view workload) const;
  // 0: all of its pods.
  std::int64_t granted(std::string_view workload) const;
  // After a restart: the bound pods of an elastic owner are its former size, and the missing ones are growth. No effect on other
  // work.
  void accept_size(std::string_view workload);
  // Reports every slot that is not bound to the engine again, at the next drain().
  void renew(std::string_view workload);
  // The owner `workload` rests, for this reason, until a call without a reason.
  void set_rest(std::string_view workload, std::optional<Reason> why);

  // In force until a call with an empty Standing. The workload need not be known yet. If it is stopped while it runs, the engine
  // gets a Withdraw to end it.
  void set_standing(std::string_view workload, Standing standing);
  bool is_stopped(std::string_view workload) const;

  // The way in which admission checks can be asked, from now on.
  void set_check_mode(CheckMode mode);
  // Whether the API server has ProvisioningRequests; and how a check that Berth answers itself asks for nodes (QueueBook).
  void set_provisioning_served(bool served);
  const ProvisioningRequestConfig* provisioning(std::string_view check) const;
  const ResourceFlavor* flavor(std::string_view name) const;
  // `came`: its provisioned nodes exist, so from now on it is placed. Otherwise it gets quota alone in the flavors of such a check
  // (PodTemplate::awaited_flavors). True: something changed.
  bool set_nodes_came(std::string_view workload, bool came);
  // The admission checks of the workload's ClusterQueue, if they are to be asked (CheckMode::kLive); else empty. Valid until the
  // next change.
  const std::vector<CheckRule>& checks(std::string_view workload) const;
  // The pods of the suspended owner `workload` will get these updates too, so they decide about places, instead of former updates in
  // the templates (kPodSetUpdates). True: the owner is decided anew, and loses its places.
  bool amend(std::string_view workload, std::span<const PodSetUpdate> updates);

  // All existing RuntimeClasses are known. An unknown one does not exist, and its pods would be refused.
  void set_all_runtimes_known();
  // The suspended owner `workload` has quota and places, and waits for admission: its request stays fixed, whatever becomes of
  // LimitRanges and RuntimeClasses. false: it waits as others do.
  void set_reserved(std::string_view workload, bool reserved);
  // Changes this pod as the API server would: sets its defaults, or the reason for refusing it (Pod::problem). No effect on a pod
  // without `needs`.
  void take_in(Pod& pod) const;

  // The contents of its Kueue Workload object. Nothing if it is unknown, or has no LocalQueue.
  std::optional<WorkloadSketch> sketch(std::string_view workload) const;
  // Workloads that another client made (kKueuePrebuilt; Kueue's MultiKueue makes them before the owner). Each is work of its own
  // until an owner, or pods, come that name it and match its spec. Their status is ignored. Not with CheckMode::kNone.
  // Returns the uid of the workload that owns it, or that it is itself; "": none.
  std::string_view prebuilt_owner(std::string_view ns, std::string_view name) const;
  // It has no pods, and will have none: it waits for its owner or pods.
  bool is_without_pods(std::string_view workload) const;
  // Since the last call.
  std::vector<HandOver> take_hand_overs();
  // ns/name of the ones that are named by work with a different request. They are finished, and their places are freed.
  std::vector<std::string> take_out_of_sync();

  // The gang of such an object, by namespace/name. O(its pods).
  std::optional<GangView> gang(Kind kind, std::string_view key) const;
  // Those of which other pods run, or have ended, since the last call; by workload.
  std::set<std::string> take_changed_gangs();
  // The owner of this uid, as its object is. nullptr: unknown. Valid until the next change.
  const Ask* owner(std::string_view uid) const;
  // Whether all pods that its gang needs are ready: as its owner counts them, or each pod says.
  bool is_ready(std::string_view workload) const;
  // The flavor of each resource that its queue has a quota for, on this node: the first of the queue's that the node is of.
  std::vector<ChosenFlavor> flavors_on(std::string_view workload, std::int64_t pod_set,
                                       std::string_view node) const;
  // Every LocalQueue, ClusterQueue and Berth's own Queue, as of the last drain(). O(queues).
  std::vector<QueueState> queue_states() const;
  bool has_cluster_queue(std::string_view name) const;
  // Whether queues share by their dominant shares.
  bool shares() const;
  // The ClusterQueue of this LocalQueue (namespace/name); it may not exist. None: there is no such LocalQueue.
  std::optional<std::string> cluster_queue_of(const std::string& local_queue) const;
  // "/cohort/queue", as Kueue names the way from the root.
  std::string queue_path(std::string_view cluster_queue) const;

  // The value of kChargedTo for its pods when they are bound: the label that names its queue, "key=name"; "": it has none.
  std::string charged_to(std::string_view workload) const;

  std::optional<PodView> pod(std::string_view uid) const;
  std::optional<PodView> pod_at(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // True if the slot waits for a future pod. It is a member of a group that starts before all of its pods exist
  // (kKueueFastAdmission), or a pod that a slice of another client adds to an owner. Or its owner makes it when others run
  // (AskedSet::later). Its place is kept for that pod. If the slot has not been started, or is ended, the place is free for others.
  bool expects(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // The pods of a workload in the order of their slots.
  std::vector<PodView> pods_of(std::string_view workload) const;
  std::optional<WorkloadInfo> workload(std::string_view uid) const;
  // All workloads, oldest first.
  std::vector<WorkloadInfo> workloads() const;
  // The reason that the workload may not even be tried; nullptr: the engine's verdict counts.
  const Reason* blocked(std::string_view workload) const;
  // Objects that are misconfigured, as of the last drain().
  std::vector<Problem> problems() const;

  std::size_t pod_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::dialect
