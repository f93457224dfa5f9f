// Workloads, the units of admission: a tree of groups whose leaves are pod sets. A flat gang is a tree of one level.
//
// A slot is (workload, pod set, index): the unit of placement. Pod sets are numbered in the order of a walk of the tree from the
// first child to the last; slots of a pod set from 0.
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
#include "model/ports.h"
#include "model/queue.h"
#include "model/resources.h"

namespace berth {

// The request of one pod, as far as placement is concerned.
struct PodTemplate {
  ResourceList requests;  // without devices
  DeviceClaim claim;
  Shared<std::vector<HostPort>> ports;  // of its node: no other pod there has one that excludes them
  // Where it may go. Large at times, and copied with every template: shared.
  Shared<Labels> node_selector;
  Shared<std::vector<SelectorTerm>> required_affinity;  // one of them must match; empty = no such condition
  Shared<std::vector<PreferredTerm>> preferred_affinity;
  Shared<std::vector<VolumeNodes>> volumes;  // all of them must match, beside the required affinity
  ResourceList
      attaches;  // volumes that its node attaches for it, by driver (Node::attachable); no quota has them
  std::vector<SharedVolume> mounts;  // and those that other pods may mount, too
  Shared<std::vector<Toleration>> tolerations;
  Placement placement = Placement::kDefault;  // how its nodes are chosen; default: as its queue says
  Shared<std::vector<CountedTerm>> terms;     // all of them must hold
  Shared<std::vector<PreferredCountedTerm>> preferred_terms;
  Shared<std::vector<std::string>>
      selected;  // the selectors of terms, its own or others', that count it; by name
  Shared<std::vector<std::string>> budgets;  // the disruption budgets of the pod (DisruptionBudgetUpdate)
  std::vector<std::string>
      unsupported;  // constraints that Berth does not honour: the pod stays pending, with these words
  // The amounts that quota counts, if they differ from the request (resources left out, or counted as others). Base units.
  std::optional<ResourceList> counted;
  // Flavors whose nodes are yet to be provisioned for it. There it starts with quota alone, without a place. It gets its places in
  // a start of its own, once a revision names these flavors no more.
  std::vector<std::string> awaited_flavors;

  // Requests and devices together, as its node counts them, and quota too without `counted`. An error if a sum leaves the range of
  // 64 bits.
  Result<ResourceList> total() const;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("requests", s.requests);
    v("claim", s.claim);
    v("ports", s.ports);
    v("node_selector", s.node_selector);
    v("required_affinity", s.required_affinity);
    v("preferred_affinity", s.preferred_affinity);
    v("volumes", s.volumes);
    v("attaches", s.attaches);
    v("mounts", s.mounts);
    v("tolerations", s.tolerations);
    v("terms", s.terms);
    v("preferred_terms", s.preferred_terms);
    v("selected", s.selected);
    v("budgets", s.budgets);
    v("placement", s.placement);
    v("unsupported", s.unsupported);
    v("counted", s.counted);
    v("awaited_flavors", s.awaited_flavors);
  }
  bool operator==(const PodTemplate&) const = default;
};

// A part of a pod set's slots with the same treatment, counted from the first slot. A service has its minimum replicas (protected),
// the replicas that its objective needs now, and idle ones. Elastic training has a minimum and a surplus.
//
// Running slots fill the bands in order, so the last band shrinks first and grows last, whichever slot ends. Therefore no band has
// a higher priority than the one before it, and no protected band follows an unprotected one. Slots beyond the bands are surplus.
// Their extra priority is 0, or that of the last band if it is lower.
//
// A pod set without bands is one band of its least count, which starts and is evicted as one, and a surplus. The surplus grows into
// free room only, and is evicted slot by slot before any whole workload of its priority. With bands, too, the first `least` slots
// start and are evicted as one.
struct DemandBand {
  std::int64_t count = 0;
  std::int64_t priority = 0;           // added to the workload's, as preemptor and as victim
  bool protected_from_reclaim = true;  // other queues never evict it, even on borrowed quota
  DurationMs reclaim_within =
      0;  // its room must be free within this time, so only work that is gone by then is evicted; 0 = any
  std::int64_t cost = 0;  // of losing one slot, in device-milliseconds, added to the computed cost

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

// The required or preferred nearness of a group's slots. Levels are node label keys of one topology.
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

// The effect of losing one child: only that child, or all children.
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

// The cost of losing a workload's progress, and the source of that knowledge.
struct Restart {
  DurationMs checkpoint_every = 0;        // 0 = none are made: all work since the start is lost
  std::optional<TimeMs> last_checkpoint;  // reported; otherwise computed from the start and checkpoint_every
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
  std::string uid;   // the key: no two have the same
  std::string name;  // for people: namespace/name
  std::string queue;
  std::string lane;  // of its queue's line; "" = none
  WorkloadKind kind = WorkloadKind::kTraining;
  std::int64_t priority = 0;
  bool may_preempt = true;  // preemptionPolicy: Never turns it off
  bool preemptible = true;
  bool active = true;  // false: suspended or inactive, by its owner
  // With pod sets whose `least` is below their count: it starts whole if it can, also with victims. Otherwise it starts with as many
  // slots as find free room, and otherwise with its least number (engine/decide/asked_size.h).
  bool whole_first = false;
  bool admitted =
      // it was started before, and that was not revoked: it goes on while its queue is held (StopPolicy::kHold)
      false;
  TimeMs created = 0;
  // The missing slots of a gang that runs in part. When set (and later than `created`), they are growth: requested at this time,
  // they queue as if the workload had arrived then. When unset, the gang is broken, and its missing slots go first in its queue.
  std::optional<TimeMs> asks_more_since;
  std::optional<DurationMs> expected_duration;
  // It is not evicted before it has run this long; absent = its queue decides (PreemptionPolicy::minimum_runtime).
  std::optional<DurationMs> minimum_runtime;
  // A gang of which some runs, and less than its least number, ends whole after this time. Absent: it waits for its missing slots.
  std::optional<DurationMs> broken_for;
  TimeMs broken_since = 0;  // as reported; 0: since the engine has seen it
  // It preempts nothing so soon after its creation, and after it was evicted.
  DurationMs preempts_after = 0;
  Restart restart;
  Group root;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("uid", s.uid);
    v("name", s.name);
    v("queue", s.queue);
    v("lane", s.lane);
    v("kind", s.kind);
    v("priority", s.priority);
    v("may_preempt", s.may_preempt);
    v("preemptible", s.preemptible);
    v("active", s.active);
    v("whole_first", s.whole_first);
    v("admitted", s.admitted);
    v("created", s.created);
    v("asks_more_since", s.asks_more_since);
    v("expected_duration", s.expected_duration);
    v("minimum_runtime", s.minimum_runtime);
    v("broken_for", s.broken_for);
    v("broken_since", s.broken_since);
    v("preempts_after", s.preempts_after);
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
