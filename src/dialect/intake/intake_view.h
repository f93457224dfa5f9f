// Knowledge of the intake about pods, workloads and gangs. Views, pointers and references are valid until the next change of the intake.
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
#include "dialect/intake/intake_queues.h"
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
  std::string_view nominated;   // Pod::nominated
  std::span<const std::int64_t> devices;  // of its bind, if the pod says so
  const PodTemplate* asks = nullptr;      // as the engine knows its slot; nullptr: it has none
  std::uint32_t bytes = 0;                // Pod::bytes
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

struct PodName {
  std::string ns;
  std::string name;
  std::string uid;
};

// The switch of an owner is to follow the one of the owner above it (OwnerKind::suspends_below).
struct SwitchToFollow {
  std::string uid;  // of the one below
  bool suspended = false;
};

class IntakeView {
 public:
  std::optional<PodView> pod(std::string_view uid) const;
  std::optional<PodView> pod_at(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // The pods of a workload in the order of their slots.
  std::vector<PodView> pods_of(std::string_view workload) const;
  std::size_t pod_count() const;

  // True if the slot waits for a future pod. It is a member of a group that starts before all of its pods exist
  // (kKueueFastAdmission), or a pod that a slice of another client adds to an owner. Or its owner makes it when others run
  // (AskedSet::later). Its place is kept for that pod. If the slot has not been started, or is ended, the place is free for others.
  bool expects(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  // The value of kChargedTo for its pods when they are bound: the label that names its queue, "key=name"; "": it has none.
  std::string charged_to(std::string_view workload) const;

  std::optional<WorkloadInfo> workload(std::string_view uid) const;
  // All workloads, oldest first.
  std::vector<WorkloadInfo> workloads() const;
  // The reason that the workload may not even be tried; nullptr: the engine's verdict counts.
  const Reason* blocked(std::string_view workload) const;
  // Whether all pods that its gang needs are ready: as its owner counts them, or each pod says.
  bool is_ready(std::string_view workload) const;
  // It has no pods, and will have none: it waits for its owner or pods.
  bool is_without_pods(std::string_view workload) const;
  // The owner of this uid, as its object is. nullptr: unknown. Valid until the next change.
  const Ask* owner(std::string_view uid) const;
  // Below owners that Berth holds and ends. Cost: O(those).
  std::vector<SwitchToFollow> switches_to_follow() const;
  // The contents of its Kueue Workload object. Nothing if it is unknown, or has no LocalQueue.
  std::optional<WorkloadSketch> sketch(std::string_view workload) const;
  // Workloads that another client made (kKueuePrebuilt; Kueue's MultiKueue makes them before the owner). Each is work of its own
  // until an owner, or pods, come that name it and match its spec. Their status is ignored. Not with CheckMode::kNone.
  // Returns the uid of the workload that owns it, or that it is itself; "": none.
  std::string_view prebuilt_owner(std::string_view ns, std::string_view name) const;
  // The gang of such an object, by namespace/name. O(its pods).
  std::optional<GangView> gang(Kind kind, std::string_view key) const;
  // Those whose gangs may have members that have ended: they lack pods, or have a status that counts them. O(gangs).
  std::set<std::string> namespaces_with_ended() const;

  // Objects that are misconfigured, as of the last drain().
  std::vector<Problem> problems() const;
  // Objects that cannot be read now, pods too: (kind, namespace/name) -> which field is wrong. The number changes with the map.
  const std::map<std::pair<Kind, std::string>, std::string>& unreadable() const;
  std::uint64_t unreadable_changes() const;

  IntakeQueues queues() const;

 protected:
  struct Impl;  // intake_state.h

  explicit IntakeView(IntakeConfig config);
  ~IntakeView();
  IntakeView(IntakeView&&) noexcept;
  IntakeView& operator=(IntakeView&&) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::dialect
