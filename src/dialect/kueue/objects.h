// Kueue's objects, and Cluster Autoscaler's ProvisioningRequest that Kueue makes, as values: what Berth reads of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "dialect/kueue/admission_checks.h"
#include "dialect/kueue/workload_status.h"
#include "dialect/upstream/objects.h"
#include "model/labels.h"
#include "model/queue.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth::dialect {

// Whether an autoscaler makes nodes when pods wait for them (kNodes).
enum class NodeSupply : std::uint8_t { kUnsaid, kAtHand, kOnDemand };

struct ClusterQueue {
  static constexpr Kind kKind = Kind::kClusterQueue;
  Meta meta;
  std::string cohort;
  std::vector<ResourceGroup> groups;
  std::vector<Quota> quotas;
  QueueOrder order = QueueOrder::kBestEffort;
  PreemptionPolicy preemption;
  FlavorSearch flavor_search;
  StopPolicy stop = StopPolicy::kNone;
  Rational weight;
  LabelSelector namespaces;
  bool by_use = false;            // admissionScope: work stands in line by what its LocalQueue used of late
  std::vector<CheckRule> checks;  // by name
  NodeSupply nodes = NodeSupply::kUnsaid;  // of its flavors that do not say it themselves
  std::string problem;                     // wrong in a way that the object disables itself
  bool operator==(const ClusterQueue&) const = default;
};

struct Cohort {
  static constexpr Kind kKind = Kind::kCohort;
  Meta meta;
  std::string parent;
  std::vector<ResourceGroup> groups;
  std::vector<Quota> quotas;
  Rational weight;
  std::string problem;
  bool operator==(const Cohort&) const = default;
};

struct LocalQueue {
  static constexpr Kind kKind = Kind::kLocalQueue;
  Meta meta;
  std::string cluster_queue;
  StopPolicy stop = StopPolicy::kNone;
  Rational weight;
  ResourceList used;  // of late, by its status, as of used_at
  TimeMs used_at = 0;
  bool operator==(const LocalQueue&) const = default;
};

struct ResourceFlavor {
  static constexpr Kind kKind = Kind::kResourceFlavor;
  Meta meta;
  Labels node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  std::string topology;
  NodeSupply nodes = NodeSupply::kUnsaid;
};

struct TopologyObject {
  static constexpr Kind kKind = Kind::kTopology;
  Meta meta;
  std::vector<std::string> levels;
};

struct WorkloadPriorityClass {
  static constexpr Kind kKind = Kind::kWorkloadPriorityClass;
  Meta meta;
  std::int64_t value = 0;
};

// Kueue's AdmissionCheck: its controller answers it.
struct AdmissionCheck {
  static constexpr Kind kKind = Kind::kAdmissionCheck;
  Meta meta;
  std::string controller;
  std::string config;          // the ProvisioningRequestConfig that its parameters name; "" = none
  std::optional<bool> active;  // condition Active; none: not reported yet
  bool operator==(const AdmissionCheck&) const = default;
};

// How nodes are asked for: of an AdmissionCheck of kProvisioningController.
struct ProvisioningRequestConfig {
  static constexpr Kind kKind = Kind::kProvisioningRequestConfig;
  struct Selector {  // what becomes a node selector of the pods: a value of the request's class details
    std::string key;
    std::string detail;
    bool operator==(const Selector&) const = default;
  };
  Meta meta;
  std::string provisioning_class;
  Labels parameters;
  std::vector<std::string> managed;  // pods that ask for none of these resources need no nodes; empty: all do
  std::int64_t most_retries = 3;     // requests after the first
  DurationMs first_rest = kMinute;   // before the first of these; doubled each time
  DurationMs most_rest = 30 * kMinute;
  std::vector<Selector> selectors;
  bool merges_pod_sets = false;  // pod sets whose pods are alike are asked for as one
  bool operator==(const ProvisioningRequestConfig&) const = default;
};

// Cluster Autoscaler's request for nodes, as far as its answer goes.
struct ProvisioningRequest {
  static constexpr Kind kKind = Kind::kProvisioningRequest;
  struct Condition {
    std::string type;
    bool is_true = false;
    std::string message;
  };
  Meta meta;
  std::string workload;  // the Workload that owns it, by name, and by uid
  std::string workload_uid;
  std::vector<Condition> conditions;
  Labels details;  // provisioningClassDetails

  const Condition* find(std::string_view type) const;
  bool is(std::string_view type) const;
};

// Kueue's Workload: what a job asks for, and what Kueue (or Berth in its place) has granted.
struct KueueWorkload {
  static constexpr Kind kKind = Kind::kWorkload;
  struct PodSetSpec {
    std::string name;
    std::int64_t count = 1;
    std::optional<std::int64_t> min_count;
    PodSpec spec;
    Meta marks;                             // annotations of its template
    std::shared_ptr<const PodNeeds> needs;  // of its template's containers, as they are written
    TopologyRequest topology;
    std::string group;             // pod sets of one group get their flavors, and their place, together
    std::int64_t reclaimable = 0;  // pods that have ended well and gave their quota back
  };
  struct Assignment {  // of a pod set
    std::string name;
    std::int64_t count = 0;
    std::vector<ChosenFlavor> flavors;
  };
  Meta meta;
  std::string queue;
  std::optional<std::int64_t> priority;
  std::string priority_class;
  bool workload_priority = false;  // the class is a WorkloadPriorityClass, not a pods' one
  bool active = true;
  std::vector<PodSetSpec> pod_sets;
  std::string admitted_to;  // ClusterQueue; "" = holds no quota
  std::vector<Assignment> assignments;
  TimeMs reserved_at = 0;
  TimeMs requeued_from =
      0;                 // evicted by an admission check or for pods that were not ready: it queues from here
  bool evicted = false;  // told to end, and holds its quota until it has
  bool finished = false;
  std::string
      // condition DeactivationTarget: the reason for which another controller wants it deactivated
      deactivate;
  std::string deactivate_why;                // its message
  std::optional<std::int64_t> most_seconds;  // maximumExecutionTimeSeconds
  std::vector<Owner> owners;
  WorkloadStatus status;  // all of it, as it stands there
};

}  // namespace berth::dialect
