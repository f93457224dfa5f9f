// Workloads: what is admitted as one. A tree of groups whose leaves are pod sets; a flat gang is a tree of
// one level.
//
// A slot is (workload, pod set, index): the unit that is placed. Pod sets are numbered in the order in which
// a walk of the tree from the first child to the last meets them; slots of a pod set from 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/shared.h"
#include "base/time.h"
#include "model/labels.h"
#include "model/queue.h"
#include "model/resources.h"

namespace berth {

// What one pod asks for, as far as placement is concerned.
struct PodTemplate {
  ResourceList requests;  // without devices
  DeviceClaim claim;
  // Where it may go. Large at times, and copied with every template: shared.
  Shared<Labels> node_selector;
  Shared<std::vector<SelectorTerm>> required_affinity;  // one of them must match; empty = no such condition
  Shared<std::vector<PreferredTerm>> preferred_affinity;
  Shared<std::vector<Toleration>> tolerations;
  Placement placement = Placement::kDefault;  // how it is laid on nodes; default: as its queue says
  std::vector<std::string>
      unsupported;  // constraints that Berth does not honour: the pod stays pending, with these words
  // What quota counts, where that is not what it asks of its node (resources left out, or counted as others). Base units.
  std::optional<ResourceList> counted;
  // Flavors in which nodes are yet to be bought for it: there it starts with quota alone, without a place, and gets its places in a
  // start of its own once a revision names them no more.
  std::vector<std::string> awaited_flavors;

  // Requests and devices together, as its node and, without `counted`, quota count them. An error where a sum leaves the range
  // of 64 bits.
  Result<ResourceList> total() const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("requests", s.requests);
    v("claim", s.claim);
    v("node_selector", s.node_selector);
    v("required_affinity", s.required_affinity);
    v("preferred_affinity", s.preferred_affinity);
    v("tolerations", s.tolerations);
    v("placement", s.placement);
    v("unsupported", s.unsupported);
    v("counted", s.counted);
    v("awaited_flavors", s.awaited_flavors);
  }
  bool operator==(const PodTemplate&) const = default;
};

// A part of a pod set's slots that is treated alike, counted from the first: a service is its minimum replicas (protected), the
// replicas that its objective needs now, and idle ones; elastic training a minimum and a surplus. The slots that run fill the
// bands in their order, so the last band shrinks first and grows last: whichever slot goes, it is the last band that gets smaller.
// Therefore no band has a higher priority than the one before it, and none is protected behind one that is not. Slots beyond
// the bands are surplus of priority 0 on top, or that of the last band where it is lower.
//
// A pod set without bands is one band of its least count, which starts and yields as one, and a surplus that grows into free
// room only and yields slot by slot before any whole workload of its priority. The first `least` slots start and yield as one
// with bands, too.
struct DemandBand {
  std::int64_t count = 0;
  std::int64_t priority = 0;  // on top of the workload's, for what its slots may take and who may take them
  bool protected_from_reclaim = true;  // other queues never take it, even where it runs on borrowed quota
  DurationMs reclaim_within =
      0;  // its room must be free so soon: only who is gone by then is ended for it; 0 = no matter
  std::int64_t cost = 0;  // of the loss of one slot, in device-milliseconds, on top of what is reckoned

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("count", s.count);
    v("priority", s.priority);
    v("protected", s.protected_from_reclaim);
    v("reclaim_within", s.reclaim_within);
    v("cost", s.cost);
  }
  bool operator==(const DemandBand&) const = default;
};

struct PodSet {
  std::string name;
  PodTemplate pod;
  std::int64_t count = 1;
  std::optional<std::int64_t> least;  // fewer are useless; absent = count
  std::optional<std::int64_t>
      present;  // how many of the first slots have a pod that could start; absent = all
  std::vector<DemandBand> bands;
  std::string
      flavor_group;  // pod sets that share one get the same flavor for each resource; "" = it stands alone

  std::int64_t least_count() const { return least.value_or(count); }
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("pod", s.pod);
    v("count", s.count);
    v("least", s.least);
    v("present", s.present);
    v("bands", s.bands);
    v("flavor_group", s.flavor_group);
  }
  bool operator==(const PodSet&) const = default;
};

// Where a group's slots must, or should, be near each other. Levels are node label keys of one topology.
struct TopologyRequest {
  std::string required;   // all slots in one domain of this level
  std::string preferred;  // tried first at this level, then at each wider one, then anywhere
  std::int64_t segment = 0;
  std::string segment_level;  // every `segment` slots in one domain of this level; "" = no segments

  bool empty() const { return required.empty() && preferred.empty() && segment_level.empty(); }
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("required", s.required);
    v("preferred", s.preferred);
    v("segment", s.segment);
    v("segment_level", s.segment_level);
  }
  bool operator==(const TopologyRequest&) const = default;
};

// What the loss of one child means: only that child, or all children.
enum class Disruption : std::uint8_t { kAll, kOne };
template <>
struct EnumNames<Disruption> {
  static constexpr std::array names{"all"sv, "one"sv};
};

// A group starts when at least `least` of its children (pod sets first, then groups) start; otherwise nothing
// of it does.
struct Group {
  std::string name;
  std::optional<std::int64_t> least;  // absent = all children
  TopologyRequest topology;
  Disruption disruption = Disruption::kAll;
  std::int64_t order = 0;  // groups of lower order are placed first
  std::vector<PodSet> pod_sets;
  std::vector<Group> groups;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("least", s.least);
    v("topology", s.topology);
    v("disruption", s.disruption);
    v("order", s.order);
    v("pod_sets", s.pod_sets);
    v("groups", s.groups);
  }
  bool operator==(const Group&) const = default;
};

enum class WorkloadKind : std::uint8_t { kTraining, kBatch, kInteractive, kService };
template <>
struct EnumNames<WorkloadKind> {
  static constexpr std::array names{"training"sv, "batch"sv, "interactive"sv, "service"sv};
};

// What the loss of a workload's progress costs, and where that is known from.
struct Restart {
  DurationMs checkpoint_every = 0;        // 0 = none are made: all work since the start is lost
  std::optional<TimeMs> last_checkpoint;  // reported; otherwise reckoned from the start and checkpoint_every
  DurationMs overhead = 0;                // restart and warm-up
  DurationMs grace = 0;                   // between the eviction and the room being free

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("checkpoint_every", s.checkpoint_every);
    v("last_checkpoint", s.last_checkpoint);
    v("overhead", s.overhead);
    v("grace", s.grace);
  }
  bool operator==(const Restart&) const = default;
};

struct Workload {
  std::string cluster;
  std::string uid;   // the key: unique over all clusters
  std::string name;  // for people: namespace/name
  std::string queue;
  std::string lane;  // of its queue's line; "" = none
  WorkloadKind kind = WorkloadKind::kTraining;
  std::int64_t priority = 0;
  bool may_preempt = true;  // preemptionPolicy: Never turns it off
  bool preemptible = true;
  bool active = true;  // false: held back by its owner
  bool admitted =
      false;  // it was started before, and nobody has taken that back: it goes on while its queue is held (StopPolicy::kHold)
  TimeMs created = 0;
  // What a gang lacks that runs in part comes before all other work of its queue. With this, which counts where it is after `created`, it
  // is more that the gang asks for, and stands in line as if it had come then.
  std::optional<TimeMs> asks_more_since;
  std::optional<DurationMs> expected_duration;
  // It yields to nobody before it has run so long; absent = what its queue says (PreemptionPolicy::minimum_runtime).
  std::optional<DurationMs> minimum_runtime;
  Restart restart;
  Group root;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("cluster", s.cluster);
    v("uid", s.uid);
    v("name", s.name);
    v("queue", s.queue);
    v("lane", s.lane);
    v("kind", s.kind);
    v("priority", s.priority);
    v("may_preempt", s.may_preempt);
    v("preemptible", s.preemptible);
    v("active", s.active);
    v("admitted", s.admitted);
    v("created", s.created);
    v("asks_more_since", s.asks_more_since);
    v("expected_duration", s.expected_duration);
    v("minimum_runtime", s.minimum_runtime);
    v("restart", s.restart);
    v("root", s.root);
  }
  bool operator==(const Workload&) const = default;
};

// The pod sets of a group tree in slot order.
std::vector<const PodSet*> pod_sets_of(const Group& root);

// An error that names the pod set or group and the fix: counts that are negative, least above count, a tree
// deeper than 8, more than 1,000,000 slots, invalid device requests, negative requests.
Status check(const Workload& workload);

}  // namespace berth
