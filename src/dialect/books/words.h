// How the intake is configured, and its words for what it is told and what it tells (dialect/intake/intake.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialect/base/fields.h"
#include "dialect/kueue/admission_checks.h"
#include "dialect/kueue/quota_counts.h"
#include "dialect/owners/owner.h"
#include "model/decision.h"
#include "model/queue.h"

namespace berth::dialect {

struct IntakeConfig {
  DeviceNames devices;
  // The scheduler names that Berth answers to; empty: all. A pod without a name belongs to "default-scheduler".
  std::vector<std::string> scheduler_names;
  // Pods of an owner wait until it has been seen (or release_orphans() says that there is none).
  bool wait_for_owners = true;
  // No nodes are known: quota decides alone. Flavors are opaque, and Kueue's Workload objects, which otherwise are left to the
  // pods that they stand for, are work themselves, admitted ones with the quota that they hold.
  bool quota_only = false;
  bool fair_sharing = false;  // Kueue's fairSharing: cohorts share by the dominant shares of their members
  // Kueue's admissionFairSharing: the line of a ClusterQueue with it goes by the recent use of its LocalQueues
  std::optional<LaneOrder> lanes;
  QuotaCounts counts;  // the amounts that quota counts for pods, if they differ from the requests
  // Kueue's admission checks; see set_check_mode().
  CheckMode checks = CheckMode::kNone;
  // An autoscaler makes nodes for pods of ClusterQueues, unless these or their flavors say otherwise (kNodes).
  bool nodes_on_demand = false;
  // Suspended owners that name a queue wait without pods. Otherwise only pods are work.
  bool hold_owners = false;

  // Whether pods of this spec.schedulerName are scheduled.
  bool answers_to(std::string_view scheduler) const;
};

// State of a workload from other sources than its owner's labels and the queues (scheduler/kueue/workload_objects.h).
struct Standing {
  std::optional<Reason> stop;  // it may not run: its running pods end, and it waits for this reason
  TimeMs queued_from = 0;      // it queues as if it had arrived then; 0: its creation
  TimeMs asks_more_since = 0;  // an elastic owner, for more pods than it has; 0: as long as it stands in line
  std::int64_t boost = 0;      // added to its priority
  bool operator==(const Standing&) const = default;
};

// Work has come for a Workload that another client made for it, and that has waited, or has got its places, by itself.
struct HandOver {
  std::string from;  // workloads; "": the Workload was seen after its work, or is not its own any more
  std::string to;
  std::vector<std::int64_t>
      sets;  // the pod set of `to`, of each of `from`; empty: its places are not for those pods
  // The slot of that pod set that the first slot of each becomes. A slice that adds pods to an owner comes behind its present pods.
  // Empty: 0.
  std::vector<std::int64_t> first;
};

// An owner that is named by its pods.
struct OwnerName {
  const OwnerKind* kind = nullptr;  // nullptr: Berth does not read its kind
  std::string ns, name, uid;
  std::string word, group;  // of a kind that is not read
};

}  // namespace berth::dialect
