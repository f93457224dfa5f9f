// The objects that Berth reads, as values: what is needed of them, and nothing else. One struct per kind,
// whatever the API version that it came in. Filled by decode.h from manifests (with places in messages) and
// from watches (fast).
//
// Labels and annotations of pods, PodGroups and Jobs are kept only where Berth reads the key (Meta::marks);
// those of nodes and namespaces are kept whole.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/enums.h"
#include "base/time.h"
#include "dialect/admission_checks.h"
#include "dialect/job_indexes.h"
#include "dialect/pod_needs.h"
#include "dialect/workload_status.h"
#include "model/labels.h"
#include "model/queue.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth::dialect {

enum class Kind : std::uint8_t {
  kPod,
  kNode,
  kNamespace,
  kPriorityClass,
  kJob,
  kPodGroup,
  kClusterQueue,
  kCohort,
  kLocalQueue,
  kResourceFlavor,
  kTopology,
  kWorkloadPriorityClass,
  kWorkload,
  kQueue,         // Berth's
  kVolcanoQueue,  // both are called Queue in their own groups
  kKaiQueue,
  kAdmissionCheck,
  kLimitRange,
  kRuntimeClass,
  kProvisioningRequestConfig,
  kProvisioningRequest,
};

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::Kind> {
  static constexpr std::array names{"Pod"sv,
                                    "Node"sv,
                                    "Namespace"sv,
                                    "PriorityClass"sv,
                                    "Job"sv,
                                    "PodGroup"sv,
                                    "ClusterQueue"sv,
                                    "Cohort"sv,
                                    "LocalQueue"sv,
                                    "ResourceFlavor"sv,
                                    "Topology"sv,
                                    "WorkloadPriorityClass"sv,
                                    "Workload"sv,
                                    "Queue"sv,
                                    "VolcanoQueue"sv,
                                    "KaiQueue"sv,
                                    "AdmissionCheck"sv,
                                    "LimitRange"sv,
                                    "RuntimeClass"sv,
                                    "ProvisioningRequestConfig"sv,
                                    "ProvisioningRequest"sv};
};

namespace berth::dialect {

// The kind of an object of this apiVersion and kind, where Berth reads it: "kueue.x-k8s.io/v1beta2"
// ClusterQueue and so on.
std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind);
// Whether objects of the kind live in namespaces.
bool is_namespaced(Kind kind);

struct Owner {
  std::string kind;  // "Job.batch.volcano.sh" for a Job that is not Kubernetes' own
  std::string name;
  std::string uid;
  std::string group = {};  // of a kind that is not Kubernetes' own; otherwise ""
  bool operator==(const Owner&) const = default;
};

struct Meta {
  std::string ns;  // "default" where a namespaced manifest leaves it out; "" for cluster-scoped kinds
  std::string name;
  std::string uid;            // manifest_uid() where a manifest has none
  std::string generate_name;  // where it has no name yet; then it has no uid either
  TimeMs created = 0;         // 0 = unknown
  bool deleting = false;
  Owner controller;  // the owner with controller: true; empty kind where there is none
  Labels labels;
  Labels annotations;  // those that Berth reads

  // The label of this key, else the annotation, else empty.
  std::string_view mark(std::string_view key) const;
  // The annotation of this key, else empty.
  std::string_view annotation(std::string_view key) const;
  bool operator==(const Meta&) const = default;
};

// A selector as in metav1.LabelSelector. `nothing` for a selector that is absent: it matches nothing.
struct LabelSelector {
  bool nothing = true;
  std::vector<Requirement> requirements;

  bool matches(const Labels& labels) const;
  bool operator==(const LabelSelector&) const = default;
};

// Pods that a pod wants out of some domain of its own (a term of required pod anti-affinity). Which domain is not kept: Berth
// does not weigh it, but must not bind such pods beside it.
struct Repulsion {
  LabelSelector selector;
  std::vector<std::string> namespaces;
  bool all_namespaces = false;  // a namespaceSelector of any kind counts as all

  bool concerns(std::string_view ns, const Labels& labels) const;
  bool operator==(const Repulsion&) const = default;
};

// The fields of a pod's spec that Berth reads, also in a template.
struct PodSpec {
  PodTemplate pod;
  std::string scheduler_name;  // "" = not said
  std::string node_name;
  std::optional<std::int64_t> priority;  // resolved by admission
  std::string priority_class;
  bool may_preempt = true;
  bool gated = false;
  std::vector<std::string> gates;            // their names
  std::optional<std::int64_t> elastic_gate;  // where kKueueElastic stands among its scheduling gates
  DurationMs grace = 30 * kSecond;
  std::optional<DurationMs> deadline;  // activeDeadlineSeconds
  std::vector<Repulsion> repulsions;
  std::vector<std::string> zero_requests;  // named, and nothing of it asked for; not in `pod`
  bool operator==(const PodSpec&) const = default;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };

struct Pod {
  static constexpr Kind kKind = Kind::kPod;
  Meta meta;
  PodSpec spec;
  PodPhase phase = PodPhase::kPending;
  std::vector<std::int64_t>
      devices;  // which of its node's devices it was given with its bind; empty: nothing says so
  std::string
      eviction;  // the message of condition DisruptionTarget, by which a scheduler announced its deletion; "" = none
  std::string
      problem;  // a field that cannot be read, and has its default here: it must not be placed by what is read
  std::shared_ptr<const PodNeeds> needs;  // of a manifest that no API server has taken in yet; else nullptr
  bool ready = false;                     // condition Ready
  // For a bound pod: the time of its bind. Its condition PodScheduled says so, else its status.startTime, its first container, its
  // condition Ready; one that says nothing of that counts from its creation, so that no work is ended as if it had just begun. 0:
  // not even that is known.
  TimeMs started = 0;
  TimeMs ended = 0;  // kSucceeded: when its last container ended; 0 = it does not say
};

struct NodeObject {
  static constexpr Kind kKind = Kind::kNode;
  Meta meta;
  ResourceList allocatable;  // all of it, devices too
  std::vector<Taint> taints;
  bool unschedulable = false;
  bool operator==(const NodeObject&) const = default;
};

struct Namespace {
  static constexpr Kind kKind = Kind::kNamespace;
  Meta meta;
};

struct PriorityClass {
  static constexpr Kind kKind = Kind::kPriorityClass;
  Meta meta;
  std::int64_t value = 0;
  bool global_default = false;
  bool may_preempt = true;
};

struct Job {
  static constexpr Kind kKind = Kind::kJob;
  Meta meta;
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;
  bool suspend = false;
  bool indexed = false;
  bool finished = false;         // condition Complete or Failed
  bool failed = false;           // the latter
  bool is_closing = false;       // condition SuccessCriteriaMet or FailureTarget: its pods are being ended
  std::string ending;            // what that condition says
  std::int64_t ready = 0;        // pods that are ready, as the Job's status counts them
  std::int64_t succeeded = 0;    // pods that have ended well, as the Job's status counts them
  std::int64_t failed_pods = 0;  // and those that have not
  std::int64_t most_failed = 6;  // backoffLimit: with more of these the Job fails
  JobIndexes completed;          // of an Indexed Job
  JobIndexes failed_indexes;     // of one with backoffLimitPerIndex: nothing more is tried for these
  std::int64_t most_failed_indexes = kInt64Max;  // with more of these the Job fails
  bool replaces_when_gone = false;  // podReplacementPolicy: a pod that is ending has no successor yet
  TimeMs started = 0;               // status.startTime: of its present run
  std::int64_t generation = 0;      // of the spec; 0 = unknown
  std::string managed_by;           // the controller that runs it; "" = Kubernetes' own
  Meta template_meta;               // labels and annotations of the pod template
  bool annotated = false;           // it has annotations, whichever
  bool template_annotated = false;  // its template has
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;  // of its template's containers, as they are written

  // Kueue's partial admission (partial_jobs.h).
  struct Reduced {
    std::int64_t parallelism = 0;  // as it is written
    std::int64_t full = 0;         // as its owner wrote it
    bool completions_too = false;
    bool operator==(const Reduced&) const = default;
  };
  std::optional<std::int64_t>
      least_pods;                   // with so many it may start where not all have room; none: all or none
  bool completions_follow = false;  // its completions are its parallelism, whatever that is
  std::optional<Reduced>
      reduced;                  // Berth released it with fewer pods. While it is suspended, parallelism and
                                // completions are its owner's all the same
  std::string partial_problem;  // what is wrong with its marks
  bool elastic = false;         // kKueueElastic: what it grows by waits, and it runs on (intake_elastic.cc)
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  // Completions for which no pod will be made any more: those that were reached, and those that were given up.
  std::int64_t settled() const;
  // Why its controller takes away what waits of it; "": it does not.
  std::string_view why_over() const;
  // Whether its controller makes pods where some are missing (and it is not suspended). Kubernetes' rules: pkg/controller/job,
  // syncJob() and manageJob().
  bool makes_pods() const;
  // Another controller than Kubernetes' own makes its pods, here or in another cluster.
  bool is_managed_elsewhere() const;
  // It is part of another object, which suspends and releases it.
  bool has_owner() const;
  // Pods that run at once: the smaller of parallelism and the completions that are left. 0: it makes none any more.
  std::int64_t size() const;
  // Pods that ran at once in the beginning, and how many of them have ended well and are not made again.
  std::int64_t pods() const;
  std::int64_t reclaimable() const;
  // pods(), as its owner asked for them.
  std::int64_t asked() const;
};

// Coscheduling's PodGroup.
struct PodGroup {
  static constexpr Kind kKind = Kind::kPodGroup;
  Meta meta;
  std::int64_t min_member = 1;
};

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
  std::string problem;            // wrong in a way that the object disables itself
};

struct Cohort {
  static constexpr Kind kKind = Kind::kCohort;
  Meta meta;
  std::string parent;
  std::vector<ResourceGroup> groups;
  std::vector<Quota> quotas;
  Rational weight;
  std::string problem;
};

struct LocalQueue {
  static constexpr Kind kKind = Kind::kLocalQueue;
  Meta meta;
  std::string cluster_queue;
  StopPolicy stop = StopPolicy::kNone;
  Rational weight;
  ResourceList used;  // of late, by its status, as of used_at
  TimeMs used_at = 0;
};

struct ResourceFlavor {
  static constexpr Kind kKind = Kind::kResourceFlavor;
  Meta meta;
  Labels node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  std::string topology;
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
};

// How nodes are asked for: of an AdmissionCheck of kProvisioningController.
struct ProvisioningRequestConfig {
  static constexpr Kind kKind = Kind::kProvisioningRequestConfig;
  struct Selector {  // what becomes a node selector of the pods: a value of the request's class details
    std::string key;
    std::string detail;
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

// Defaults of the API server for the containers of a namespace's pods, and its bounds. Base units; defaults as the API server
// completes them: of limits the largest allowed, of requests that limit, or the least allowed.
struct LimitRange {
  static constexpr Kind kKind = Kind::kLimitRange;
  struct Limit {
    bool of_pods = false;  // bounds for the sum of a pod's containers; otherwise for each of them
    ResourceList most;
    ResourceList least;
    ResourceList default_limits;    // of containers
    ResourceList default_requests;  // of containers
    ResourceList most_ratio;        // of limit to request, in thousandths
    bool operator==(const Limit&) const = default;
  };
  Meta meta;
  std::vector<Limit> limits;  // those for containers and pods
};

// The additions of a container runtime to its pods.
struct RuntimeClass {
  static constexpr Kind kKind = Kind::kRuntimeClass;
  Meta meta;
  std::optional<ResourceList> overhead;  // base units
  Labels node_selector;
  std::vector<Toleration> tolerations;
};

// A queue of the cluster's own tree (cluster_tree.h), whichever system it comes from. Base units.
struct TreeQueue {
  struct Amount {
    std::string flavor;  // "" = of all nodes
    std::string resource;
    std::int64_t guaranteed = 0;
    std::optional<std::int64_t> limit;     // of all that it uses; none: what there is
    std::optional<std::int64_t> lendable;  // of the guaranteed; none: all of it
    std::optional<std::int64_t> per_user;  // of what each user has in use in the queue
    bool operator==(const Amount&) const = default;
  };
  Meta meta;
  std::string parent;  // in its own system; "" = none
  std::vector<std::string> flavors;
  std::vector<Amount> amounts;
  Rational weight;
  std::int64_t priority = 0;
  Sharing sharing = Sharing::kGuaranteedShare;
  DurationMs half_life = 7 * 24 * kHour;
  QueueOrder order = QueueOrder::kBestEffort;
  Ordering ordering;
  PreemptionPolicy preemption{.within = WithinQueue::kLowerPriority, .reclaim = Reclaim::kAny};
  StopPolicy stop = StopPolicy::kNone;
  Placement placement = Placement::kDefault;
  std::optional<LabelSelector> namespaces;  // whose work it takes; none: anybody's
  std::string problem;

  // Whether it says how much each of its users may have.
  bool limits_users() const;
};
struct BerthQueue : TreeQueue {
  static constexpr Kind kKind = Kind::kQueue;
};
struct VolcanoQueue : TreeQueue {
  static constexpr Kind kKind = Kind::kVolcanoQueue;
};
struct KaiQueue : TreeQueue {
  static constexpr Kind kKind = Kind::kKaiQueue;
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

using Object = std::variant<Pod, NodeObject, Namespace, PriorityClass, Job, PodGroup, ClusterQueue, Cohort,
                            LocalQueue, ResourceFlavor, TopologyObject, WorkloadPriorityClass, KueueWorkload,
                            BerthQueue, VolcanoQueue, KaiQueue, AdmissionCheck, LimitRange, RuntimeClass,
                            ProvisioningRequestConfig, ProvisioningRequest>;

Kind kind_of(const Object& object);
const Meta& meta_of(const Object& object);
// "<Kind>/<ns>/<name>", which stands for the uid of an object that no API server has seen.
std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name);
// "Pod default/trainer-0", "Node gpu-1": for messages.
std::string describe(Kind kind, std::string_view ns, std::string_view name);

}  // namespace berth::dialect
