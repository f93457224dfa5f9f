// The state that follows from the decision log alone: every slot's state and place, every queue's and node's use, computed from
// scratch at each question. Slow and plain on purpose: this is what the engine is compared with, so it shares none of its code and
// keeps no sums.
//
// Two ways to count, as in model/event.h: `now` is what is physically taken (binding, running, releasing), `after` what is
// promised once the releasing ones are gone (binding, running, held).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/decision.h"
#include "model/event.h"

namespace berth::property {

enum class When : std::uint8_t { kNow, kAfter };

using FlavorResource = std::pair<std::string, std::string>;  // flavor, resource
using Charges = std::map<FlavorResource, std::int64_t>;

// The use of one slot while it has a place. Fixed when it gets it: later revisions do not change it.
struct Taken {
  std::string node;
  ResourceList amounts;                // requests, devices and volumes
  std::vector<DeviceRequest> devices;  // what it asked for
  std::vector<HostPort> ports;         // of its node
  std::vector<SharedVolume> mounts;    // volumes that other pods may have too
  std::vector<std::int64_t> indices;   // which devices of the node
  bool indices_known = true;           // false where it was seen and not decided
  bool opaque = false;                 // quota only: no node, no devices
  bool awaited = false;                // the same until its nodes have come
  Charges charges;                     // quota
};

// Which pods count for a spread: those in the domain on one plane, and the fewest of any domain on another. `pods_alone`: slots that are
// held make no domain full, for a start with such slots beside it is right.
struct SpreadView {
  When there = When::kNow;
  When fewest = When::kNow;
  bool pods_alone = false;
};

struct SlotRecord {
  SlotState state = SlotState::kAbsent;
  Taken taken;  // where it has a place
};

struct WorkloadRecord {
  Workload spec;
  std::vector<std::vector<SlotRecord>> sets;  // by pod set, by index
  std::int64_t arrival = 0;
  bool withdrawn = false;      // asked for, and not decided yet
  TimeMs started = 0;          // of the present run, as of the last decide()
  TimeMs evicted = 0;          // when it last was; 0: never
  std::vector<TimeMs> told;    // starts of slots that were seen since then, kEndOfTime if unknown
  std::int64_t held_band = 0;  // priority, on top of its own, of the claim that its held room was decided for

  std::int64_t count(SlotState state) const;
  std::int64_t active(std::size_t set) const;  // binding and running
  std::int64_t active() const;
  // The rank of an active slot among those of its pod set.
  std::int64_t place_of(std::size_t set, std::size_t index) const;
  // Everything that must run runs.
  bool is_complete() const;
  // Some of it runs, and what waits is no part of what must.
  bool grows() const;
  // Since when it stands in line: Workload::asks_more_since.
  TimeMs came() const;
  // Some of it has quota alone, and nodes are to come.
  bool awaits_nodes() const;
  // The nodes of what has quota alone have come, each pod set that lacks slots has some such, and so has this one: more of it gets
  // quota alone, too. `starting`: by pod set, slots that start just before.
  bool fills_up(std::size_t set, const std::vector<std::int64_t>& starting = {}) const;
};

// The demand band of a place of a pod set; null where none is declared for it.
const DemandBand* band_of(const PodSet& set, std::int64_t place);
// Its priority, on top of the workload's.
std::int64_t band_priority(const PodSet& set, std::int64_t place);

// With what claim a workload asks for its next slots: the highest priority among the bands of those (the lowest where it is open
// which of its children start), and the least time within which it must have its room.
struct Asked {
  std::int64_t priority = 0;
  DurationMs within = 0;
  bool declared = false;  // some band says so
};
Asked asked_of(const WorkloadRecord& w);
// Nothing of it may start without any of its parts.
bool all_children_needed(const Group& group);

bool is_active(SlotState state);  // binding or running
bool charges_when(SlotState state, When when);

// The pod sets' own group tree with where each pod set stands in the slots.
struct GroupView {
  const Group* group = nullptr;
  std::vector<std::size_t> sets;  // direct
  std::vector<GroupView> groups;
  std::vector<std::size_t> all_sets() const;
};
GroupView view_of(const Group& root);

class Ledger {
 public:
  explicit Ledger(bool ignore_uncovered = false) : ignore_uncovered_(ignore_uncovered) {}

  // An event that the engine took.
  void apply(const Event& event);
  // A decide() begins: what has started since the last one has a start, which is not in the future.
  void begin_decide(TimeMs at);
  // The workload that changed just now: does it run, and since when?
  void note_run(WorkloadRecord& w) const;

  TimeMs now = 0;        // of the last decide(); never goes back
  bool decided = false;  // there was one

  std::map<std::string, Node> nodes;
  std::map<std::string, Topology> topologies;
  std::map<std::string, Flavor> flavors;
  std::map<std::string, Queue> queues;
  std::map<std::string, ForeignPod> foreign;
  bool mix_given = false;  // otherwise it is the live one
  std::map<std::string, WorkloadRecord> workloads;

  // For a node.
  std::int64_t capacity(const std::string& node, const std::string& resource) const;
  // All that a pod takes of its node, its volumes too.
  static ResourceList amounts_of(const PodTemplate& pod);
  std::int64_t used(const std::string& node, const std::string& resource, When when) const;
  // The resource of the driver's volumes.
  static std::string places_of(const SharedVolume& volume);
  // The same, as the node counts it at that time: a shared volume is one more where no pod there has it.
  ResourceList amounts_on(const std::string& node, ResourceList amounts,
                          const std::vector<SharedVolume>& mounts, When when) const;
  // Shared volumes that pods on the node have.
  std::set<std::pair<std::string, std::string>> mounted(const std::string& node, When when) const;
  // Thousandths of the device in use, as far as the user is known.
  std::int64_t device_used(const std::string& node, const std::string& resource, std::int64_t index,
                           When when) const;
  // Pods on the node with a port that these exclude. Kubernetes' rule: the same number and protocol, on the same IP or on all.
  std::int64_t port_holders(const std::string& node, const std::vector<HostPort>& ports, When when) const;
  // The pool of the resource on the node and its first device's index in the node.
  const DevicePool* pool(const std::string& node, const std::string& resource, std::int64_t* first) const;

  // For the tree of queues: Kueue's arithmetic as it is written down.
  std::int64_t nominal(const std::string& queue, const FlavorResource& pair) const;
  std::int64_t subtree_quota(const std::string& queue, const FlavorResource& pair) const;
  std::int64_t local_quota(const std::string& queue, const FlavorResource& pair) const;
  std::int64_t usage(const std::string& queue, const FlavorResource& pair, When when) const;
  std::int64_t available(const std::string& queue, const FlavorResource& pair, When when) const;
  // How much more a lane of the queue may have; none: as much as there is.
  std::optional<std::int64_t> lane_room(const std::string& queue, const std::string& lane,
                                        const FlavorResource& pair, When when) const;
  // How much more work of the queue that is not preemptible may have, by the tightest limit from the queue up; none: there is none.
  struct FirmRoom {
    std::string queue;
    std::int64_t room = 0;
  };
  std::optional<FirmRoom> firm_room(const std::string& queue, const FlavorResource& pair, When when) const;
  std::vector<std::string> chain(const std::string& queue) const;  // itself first, the root last
  // "" where work of the queue may start; otherwise why not.
  std::string queue_trouble(const WorkloadRecord& w) const;
  // The effective priority of the queue's workloads: the tier of the kind before the number, if the queue has tiers.
  std::pair<int, std::int64_t> rank(const WorkloadRecord& workload) const;
  // The queue's own quota counts (not for work without a queue).
  bool limited(const std::string& queue) const;

  // Its flavors' nodes are not known (those of one history are of one kind).
  bool is_opaque(const std::string& queue) const;
  // In these flavors the pod gets quota alone until its nodes have come.
  bool is_awaited(const std::string& queue, const PodTemplate& pod,
                  const std::vector<std::string>& flavor_names) const;
  // Quota may be all that the workload looks for, so that Kueue's rules hold for it.
  bool may_look_for_quota_only(const WorkloadRecord& w) const;

  // The use of a slot of this pod set on `node` with these flavors. `why_not`: the flavors are not the queue's to give.
  Taken taken(const WorkloadRecord& workload, const PodSet& set, std::size_t set_index,
              const std::vector<FlavorChoice>& chosen, std::string& why_not) const;
  // Whether `slots` of the pod set have quota in these flavors, now and once releasing pods are gone.
  bool has_quota(const std::string& workload, std::size_t set_index, std::int64_t slots,
                 const std::vector<std::string>& flavor_names) const;
  // Flavors of a decision's pod set.
  std::vector<std::string> flavors_of(std::size_t set_index, const std::vector<FlavorChoice>& chosen) const;

  // "" where the pod may run on the node as far as labels and taints go.
  std::string static_trouble(const PodTemplate& pod, const std::vector<std::string>& flavor_names,
                             const Node& node) const;
  // "" where such a pod may stand on the node, by its own terms and by those of the pods that are there, its spreads aside. `self`: a
  // slot that is left out.
  // `with_it`: slots that start together with it, in whatever order; the first of its kind may be any of them.
  static constexpr std::string_view kNotNear = "no pod that it must be near is there";
  std::string term_trouble(const PodTemplate& pod, const std::string& node, When when, const SlotRecord* self,
                           const std::vector<const SlotRecord*>& with_it = {}) const;
  // "" where these pods can come to these nodes one after the other, in some order, each within its spreads. `slot`: the one that the pod
  // has, which is left out where the others are counted.
  struct Coming {
    const PodTemplate* pod = nullptr;
    std::string node;
    const SlotRecord* slot = nullptr;
  };
  // `may_come`: whether one may come once those `before` it have, by what else there is to keep.
  using MayCome = std::function<bool(const Coming& next, const std::vector<const SlotRecord*>& before)>;
  std::string spread_trouble(const std::vector<Coming>& pods, SpreadView view,
                             const MayCome& may_come = {}) const;
  // Whether the pod tolerates the flavor's own taints, and its selectors do not contradict the flavor's labels.
  bool flavor_suits(const PodTemplate& pod, const std::string& flavor) const;
  // How many slots more there is room for on the node, labels and taints apart, now and once releasing pods are gone.
  std::int64_t slots_that_fit(const PodTemplate& pod, const std::string& node) const;
  // Whether that number is certain: false where shares of devices are asked for or used, and the ones of a foreign pod, or of a pod
  // that was seen there, are unknown outside.
  bool room_is_known(const PodTemplate& pod, const std::string& node) const;
  // The path of values of the node down to the level; empty where it has none.
  std::vector<std::string> domain(const std::string& node, const std::string& level) const;

 private:
  void upsert(const Workload& workload);
  void update(const SlotUpdate& update);
  bool may_be_spread_to(const PodTemplate& pod, const CountedTerm& term, const Node& node) const;
  bool can_have(const std::string& node, const Taken& what, const std::vector<std::int64_t>& indices) const;
  const Quota* quota(const std::string& queue, const FlavorResource& pair) const;

  bool ignore_uncovered_;
  std::int64_t next_arrival_ = 1;
};

}  // namespace berth::property
