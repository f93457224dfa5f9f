// Kubernetes' own objects but for those that make pods, as values: what Berth reads of them.
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
#include "dialect/upstream/pod_needs.h"
#include "model/labels.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth::dialect {

// The namespaces of a term: those that it names, and those that it selects as well.
struct TermNamespaces {
  std::vector<std::string> named;
  std::optional<LabelSelector> selected;

  bool have(std::string_view ns, const Labels& of_ns) const;
  bool operator==(const TermNamespaces&) const = default;
};

// The pods that a term of a pod counts: by their labels, in some namespaces. Two are the same exactly when their names are.
struct PodSelector {
  LabelSelector pods;
  std::vector<TermNamespaces> within;  // each of them has the pod's namespace
  std::string name;                    // CountedTerm::selector; says what it selects
  bool budget = false;  // of a PodDisruptionBudget, which has the name: no term counts these pods

  // Whether it looks at the labels of namespaces.
  bool asks_namespaces() const;
  bool selects(std::string_view ns, const Labels& of_ns, const Labels& labels) const;
  // Gives it its name.
  void set_name();
  bool operator==(const PodSelector& other) const { return name == other.name; }
};

// The access modes of claims and volumes, each a bit.
enum AccessMode : std::uint8_t {
  kReadWriteOnce = 1,
  kReadOnlyMany = 2,
  kReadWriteMany = 4,
  kReadWriteOncePod = 8,
};

// The needs of a claim, beside class and size.
struct VolumeNeeds {
  std::uint8_t modes = 0;                 // AccessMode; the volume has each of them
  bool block = false;                     // volumeMode Block
  std::string attributes;                 // volumeAttributesClassName
  std::optional<LabelSelector> selector;  // of the labels of an existing volume; none: any
  bool operator==(const VolumeNeeds&) const = default;
};

// A claim that a pod mounts.
struct ClaimUse {
  std::string volume;      // the name of the volume in the pod
  std::string claim;       // "" where `ephemeral`
  bool ephemeral = false;  // the claim is made for the pod, and has the names of pod and volume
  // Where it is ephemeral, as PersistentVolumeClaim has them.
  std::optional<std::string> storage_class = {};
  std::int64_t size = 0;
  VolumeNeeds needs = {};
  bool operator==(const ClaimUse&) const = default;
};

// The fields of a pod's spec that Berth reads, also in a template.
struct PodSpec {
  Shared<PodTemplate> pod;
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
  std::vector<PodSelector> selectors;  // that its terms name
  Shared<std::vector<ClaimUse>> claims;
  std::vector<std::string> zero_requests;  // named, and nothing of it asked for; not in `pod`
  // Without its spreads, required and preferred, and the selectors that only they name. Spreads say nothing about other pods.
  void drop_spreads();
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
  std::string nominated;  // status.nominatedNodeName: a scheduler makes room for it there
  std::string
      problem;  // a field that cannot be read, and has its default here: it must not be placed by what is read
  std::shared_ptr<const PodNeeds> needs;  // of a manifest that no API server has taken in yet; else nullptr
  bool ready = false;                     // condition Ready
  std::uint32_t bytes = 0;                // as the API server sent it; 0: read from a file
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
  bool operator==(const PriorityClass&) const = default;
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

// A PodDisruptionBudget: how many of its pods may be disrupted now, as the API server's controller says.
struct DisruptionBudget {
  static constexpr Kind kKind = Kind::kDisruptionBudget;
  Meta meta;
  LabelSelector pods;        // one without requirements has no pods, as for the default scheduler
  std::int64_t allowed = 0;  // status.disruptionsAllowed; 0 where it has no status yet
};

// The additions of a container runtime to its pods.
struct RuntimeClass {
  static constexpr Kind kKind = Kind::kRuntimeClass;
  Meta meta;
  std::optional<ResourceList> overhead;  // base units
  Labels node_selector;
  std::vector<Toleration> tolerations;
};

}  // namespace berth::dialect
