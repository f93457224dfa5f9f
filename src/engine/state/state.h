// The state of the engine. Slots and accounts change in two ways:
//   - Facts and decisions (set_slot() and the apply functions). They keep the accounts of nodes and quota in step with the states
//     of slots, and note what was gained, so that blocked work wakes.
//   - Trials (state/trial.h). They change accounts only. A trial is rolled back, or the decision that follows commits it.
// The books of the round stand here too, and decide/ and plan/ write them: pending, news, done, keepers, planned, no_places.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/chunked.h"
#include "base/interner.h"
#include "base/result.h"
#include "base/shared.h"
#include "engine/base/config.h"
#include "engine/base/keyed.h"
#include "engine/base/plane.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/pair_names.h"
#include "engine/nodes/demand.h"
#include "engine/nodes/fragments.h"
#include "engine/nodes/nodes.h"
#include "engine/order/pending.h"
#include "engine/order/rank.h"
#include "engine/quota/fairness.h"
#include "engine/quota/lanes.h"
#include "engine/quota/tree.h"
#include "engine/state/accounts.h"
#include "engine/state/disruptions.h"
#include "engine/state/done.h"
#include "engine/state/foreign_pods.h"
#include "engine/state/news.h"
#include "engine/state/once_list.h"
#include "engine/state/sweep_rule.h"
#include "model/event.h"

namespace berth::engine {

struct Slot {
  SlotState state = SlotState::kAbsent;
  NodeId node;
  ChargeId charge;
  GrantId grant = Grants::nothing();
};

// Data that few pod sets have.
struct PodSetMarks {
  std::string name;               // for reasons, where it is one of several
  std::string flavor_group;       // model/workload.h
  std::vector<DemandBand> bands;  // as given; state/bands.h reads them
  bool operator==(const PodSetMarks&) const = default;
};

struct PodSetState {
  SpecId spec;
  Shared<PodSetMarks> marks;
  std::int64_t least = 0;
  std::vector<Slot> slots;
  std::int64_t waiting = 0;
  std::int64_t active = 0;  // binding and running
  std::int64_t held = 0;
  std::int64_t releasing = 0;
  std::int64_t unplaced = 0;  // of the active: with a charge whose nodes are awaited
  // further slots get quota alone, too, and their places together with the unplaced
  bool fills_up = false;
  Shared<std::vector<std::string>> budgets;  // of each of its pods
};

// A position in the line of aged work (order/rank.h).
struct Aged {
  std::int64_t minus_priority = 0;  // where priority ranks first
  std::int64_t minus_age = 0;       // Progress::age
  std::int64_t key = 0;             // of the queue's ordering
  TimeMs came = 0;
  std::uint64_t arrival = 0;
  WorkloadId workload;
  auto operator<=>(const Aged&) const = default;
};

// How long a gang has been broken that must not stay so (Workload::broken_for).
struct Brokenness {
  std::optional<DurationMs> most;
  TimeMs reported = 0;  // since when it is, as reported
  TimeMs since =
      0;  // since when some of it runs and some lacks; 0: that is not so, or no decide() has seen it
  TimeMs ends_at = kEndOfTime;  // in Endings::broken, where not kEndOfTime
};

// Times that few workloads have.
struct Delays {
  Brokenness broken;
  DurationMs preempts_after = 0;  // Workload::preempts_after
  TimeMs evicted_at = 0;          // when it last was, while it has delays; 0: never
};

// Work that the next decide(), or a later one, ends.
struct Endings {
  std::set<WorkloadId> to_withdraw;
  std::set<std::pair<TimeMs, WorkloadId>> broken;  // gangs that end whole at this time
  std::set<QueueId> draining;                      // queues whose work all ends

  void note_queue(QueueId queue, StopPolicy stop) {
    if (stop == StopPolicy::kHoldAndDrain) {
      draining.insert(queue);
    } else {
      draining.erase(queue);
    }
  }
};

// The room that others gave up for a workload, and its losses of such room (preempt/rights/force.h).
struct Takings {
  std::uint64_t fairly_at = 0;      // the outside_version at which it took a fair share of others
  bool by_force = false;            // borrowing, and has lost no room since
  std::uint64_t lost_force_at = 0;  // the outside_version at which it lost some after that
  bool while_borrowing = false;     // from work of its own queue, and has lost no room since
  TimeMs at = kEndOfTime;           // when others last gave up room for it, if it has lost none since
  std::int64_t losses = 0;          // to other queues, one soon after the other
  TimeMs patient_until = 0;         // and takes nothing before
};

struct WorkloadState {
  bool used = false;
  std::string uid;
  std::string name;
  QueueId queue;
  std::uint32_t lane = 0;         // of its queue (QueueState::lanes)
  std::int64_t priority = 0;      // with the tier of its kind, where its queue has tiers (order/rank.h)
  std::int64_t own_priority = 0;  // as it was given
  TimeMs created = 0;
  std::optional<TimeMs> asks_more_since;
  std::uint64_t arrival = 0;
  WorkloadKind kind = WorkloadKind::kTraining;
  bool may_preempt = true;
  bool whole_first = false;  // model/workload.h
  bool preemptible = true;
  bool active = true;
  bool admitted = false;  // Workload::admitted
  std::optional<DurationMs> expected;
  std::optional<DurationMs> minimum_runtime;  // absent: what its queue says
  Shared<Delays> delays;
  Restart restart;
  StructureId structure;
  bool needs_all = true;  // no group of it may start without one of its children
  std::vector<PodSetState> sets;

  TimeMs started = 0;  // of the present run
  std::int64_t lowest_priority =
      0;          // of any of its bands, while it is started: as QueueState::priorities counts it
  Weight weight;  // of the slots that are binding or running
  Progress progress;
  bool service_noted = false;   // in State::to_note_
  ClassId pending;              // valid while it is in Pending
  Pending::Member in_line;      // as it stands there
  TimeMs aged_at = kEndOfTime;  // in State::ages_, while it lacks room in a queue with an age limit
  std::optional<Aged> aged;     // in QueueState::aged of that queue, while it lacks room after that time
  QueueId aged_in;
  ReasonCode hold_cause = ReasonCode::kNone;  // while slots are held
  std::int64_t held_band = 0;  // the priority, on top of its own, of the claim that they were held for
  std::uint64_t hold_order = 0;
  bool placed_elsewhere =
      false;  // while it holds room that must be near its other pods, another client placed one of them
  Takings takings;
  bool took_back = false;  // what a queue had borrowed by force, or from its own work: TakenBack
  bool withdraw = false;   // the next decide() ends its slots
  std::string withdraw_why;

  std::int64_t waiting() const { return sum(&PodSetState::waiting); }
  std::int64_t running() const { return sum(&PodSetState::active); }
  std::int64_t held() const { return sum(&PodSetState::held); }
  std::int64_t releasing() const { return sum(&PodSetState::releasing); }
  std::int64_t unplaced() const { return sum(&PodSetState::unplaced); }
  // Some of it runs, but less than its least count.
  bool incomplete() const {
    return running() > 0 &&
           std::any_of(sets.begin(), sets.end(), [](const PodSetState& s) { return s.active < s.least; });
  }
  // Whether some of it may start while its queue is held (StopPolicy::kHold).
  bool goes_on_in_hold() const { return admitted || is_broken(); }
  // Its missing slots come first.
  bool is_broken() const { return incomplete() && !asks_more_since; }
  bool delays_preemption() const { return delays->preempts_after > 0; }
  // Before this time it preempts nothing.
  TimeMs preempts_from() const {
    if (!delays_preemption()) return takings.patient_until;
    return std::max(takings.patient_until,
                    saturating_add(std::max(created, delays->evicted_at), delays->preempts_after));
  }
  // The time from which it stands in line.
  TimeMs came() const {
    return incomplete() && asks_more_since ? std::max(created, *asks_more_since) : created;
  }

 private:
  std::int64_t sum(std::int64_t PodSetState::*member) const {
    std::int64_t total = 0;
    for (const auto& set : sets) total += set.*member;
    return total;
  }
};

// Work that reclaimed quota which a queue had borrowed by force (preempt/rights/force.h). Ids are used again, arrivals are not.
struct TakenBack {
  WorkloadId by;
  std::uint64_t arrival = 0;
  std::vector<FlavorResource> pairs;  // that the victim used
};

struct QueueState {
  bool exists = false;
  Queue spec;
  // the reason that nothing of it can start: cyclic, parent missing, misconfigured
  std::string trouble;
  std::set<WorkloadId> started;                     // with slots that are binding or running
  std::map<std::int64_t, std::int64_t> priorities;  // of these: the lowest priority of a part -> how many
  std::uint64_t starts = 0;                         // goes up when one starts or grows
  std::map<std::uint64_t, WorkloadId> holders;      // by hold_order
  std::vector<TakenBack> taken_back;                // by each once
  std::set<Aged> aged;
  std::optional<Aged> turn;  // of these, the one whose turn it was at the last look
  Lanes lanes;
  // The arrival of the head that may have reserved quota at the last look; 0: none.
  std::uint64_t kept_for = 0;
};

// What a slot of the workload takes, where it is.
inline Charged charged(const WorkloadState& w, ChargeId charge, NodeId node, GrantId grant) {
  return {w.queue, w.lane, !w.preemptible, charge, node, grant};
}
inline Charged charged(const WorkloadState& w, const Slot& slot) {
  return charged(w, slot.charge, slot.node, slot.grant);
}

class State {
 public:
  explicit State(EngineConfig engine_config);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // ---- Facts. Each refuses a bad value with an error and no change.
  Status node_upsert(const Node& node);
  Status node_remove(const std::string& name);
  Status topology_upsert(const Topology& topology);
  Status topology_remove(const std::string& name);
  Status flavor_upsert(const Flavor& flavor);
  Status flavor_remove(const std::string& name);
  Status queue_upsert(const Queue& queue);
  Status queue_remove(const std::string& name);
  // Takes over the queues and flavors that have changed, all at once: the trees are made anew. Comes before any fact about work, before
  // decisions and before answers. O(queues + waiting classes); nothing where none has changed.
  void settle_configuration();
  Status foreign_upsert(const ForeignPod& pod);
  Status foreign_remove(const std::string& uid);
  Status workload_upsert(const Workload& workload);
  Status workload_remove(const std::string& uid);
  Status slot_update(const SlotUpdate& update);
  Status withdraw(const Withdraw& event);
  Status demand_mix(const DemandMix& mix);

  // ---- Slots.
  // Brings a slot to a state; without a node: to one that has no place. `tried`: the planes that a committed trial has charged
  // already.
  void set_slot(WorkloadId id, std::size_t set, std::size_t index, SlotState to, NodeId node = {},
                ChargeId charge = {}, GrantId grant = Grants::nothing(), PlaneMask tried = 0);
  // The same place, another state. `freed`: planes that a committed trial has freed already.
  void move_slot(WorkloadId id, std::size_t set, std::size_t index, SlotState to, PlaneMask tried = 0,
                 PlaneMask freed = 0);
  // Puts the workload into, or takes it out of, the pending order, as its slots say.
  void settle(WorkloadId id);
  // After a start: old work may become young again (order/rank.h). Done at once, because others are compared with it in the same
  // decide().
  void promote(WorkloadId id);
  // Thousandths of devices (of CPUs, where it has none) that its slots have now. O(pod sets).
  std::int64_t service_rate(const WorkloadState& w) const;
  // Notes the service that workloads have had until now. Events since the last decide() count as happening now. Called when a
  // decide() begins, and when it ends.
  void note_service();
  // Queues whose use changed stand in their new order.
  void reorder_queues();
  // Begins a decide(). Starts that were reported since the last one (SlotUpdate::since) count from their time; unknown and future
  // ones count from now. The run since that start is attained service. O(slots reported).
  void settle_starts();
  // Notes work that has waited for the age limit of its queue by now.
  void grow_old();
  // Its turn has come (order/rank.h): it goes in front.
  void give_turn(WorkloadId id);
  // When the next one will have waited for the age limit; kEndOfTime: none.
  TimeMs next_old() const { return ages_.empty() ? kEndOfTime : ages_.begin()->first; }
  // The workload has been given a hold: its slots are held already.
  void list_hold(WorkloadId id, std::uint64_t order);
  // Slots that have quota but no place, lifted for a search that places them. They become waiting, their charges are given back in
  // the trial, and slots that waited before are left out of it. put_back(): the trial was rolled back, or the slots get the places
  // that it found.
  struct Lifted {
    std::size_t set = 0;
    std::size_t index = 0;
    Slot before;
  };
  std::vector<Lifted> lift(WorkloadId id);
  void put_back(WorkloadId id, const std::vector<Lifted>& lifted, bool placed);

  // ---- Trials.
  // All charges of open trials last; or all of them are taken back.
  void commit() { accounts.commit(); }
  void abandon() { accounts.rollback(0); }

  // ---- Look-ups.
  ShapeIndex& index(ShapeId shape, Mode mode);  // refreshed
  // The grant of one more slot of this charge on a node where it fits, as its policy chooses it.
  GrantId choose_grant(NodeId node, ChargeId charge, Mode mode);
  // Begins an epoch of the demand mix where one is due, and drops indices that were not used for a long time. Once per decide().
  // True: it has dropped what ended work left (sweep_rule.h).
  bool look_at_demand();
  const Shape& shape_of(ChargeId charge) const { return shapes[charges[charge].shape].shape; }
  // The spec with its choices for the present configuration.
  Spec& spec(SpecId id);
  std::optional<WorkloadId> find_workload(std::string_view uid) const {
    return ids_.find(uid, [this](WorkloadId id) -> const std::string& { return workloads[id.index()].uid; });
  }
  std::string_view resource_name(FlavorResource pair) const { return pairs.resource(pair); }
  // The choice of a spec that a node could host; none when there is no choice at all.
  ChargeId choice_for_node(SpecId id, NodeId node);
  // The choice of a spec that charges every listed resource to the listed flavor. For flavors without known nodes otherwise a
  // charge of its own, if the queue has them. None where nothing is listed, or where it can be none.
  ChargeId choice_of_flavors(SpecId id, std::span<const ChosenFlavor> flavors);
  // The same flavors for their quota alone: a charge whose nodes are awaited, whatever the spec says of them.
  ChargeId quota_of_flavors(SpecId id, std::span<const ChosenFlavor> flavors);
  // The charges that further slots of the set may get, in the order of trial. Slots follow the ones that have a place already, if
  // the queue still has that choice (one flavor per pod set). Otherwise any choice of the spec. Missing slots of a gang whose nodes
  // have come get quota alone as long as the others have no more: one search places them all.
  std::vector<ChargeId> choices(const PodSetState& set);
  // The choice that `count` slots would get at present, by the search for flavors. The first that fits; or, if the search goes past
  // choices that borrow, the one whose quota is nearest. If none fits: the first that could in an empty cluster.
  ChargeId likely_choice(const WorkloadState& w, std::span<const ChargeId> choices, std::int64_t count) const;
  // The share of the queue (the candidate's or one above it) among its siblings, with that candidate.
  Share share_of(QueueId queue, ClassId candidate);
  // Recomputes the charge of a start of the class, if it may have changed; true if it has.
  bool renew_ask(ClassId id);
  void changed(WorkloadId id) { changed_work.add(id); }
  // Do `count` times these items fit the quota of its queue, and the limits that bind it?
  bool fits(const WorkloadState& w, std::span<const QuotaItem> items, std::int64_t count, Mode mode) const;
  // The amount of the pair that its lane may still use; kInt64Max: no limit. Limits of firm work: limits.h.
  std::int64_t lane_room(const WorkloadState& w, FlavorResource pair, Mode mode) const;
  // The key of the class without its priority: the same work in the same queue.
  static std::string kin_of(const Pending::Class& c);
  // Queues with this property stand in one line by their first workloads, whatever starts.
  bool one_line(QueueId queue) const;
  // `beside`: the requests of pod sets that get the same flavors (choices.cc), by name.
  SpecId intern_spec(QueueId queue, const PodTemplate& pod, std::vector<std::string> beside = {});
  QueueId intern_queue(const std::string& name);
  // Drops catalog entries that nothing uses: where they are many (sweep_rule.h), or now.
  void sweep();
  void sweep_now();

  EngineConfig config;
  EngineStats stats;
  TimeMs now = 0;

  NodeTable nodes;
  Demand demand;
  Fragments fragments;
  FragmentMeter meter;
  QuotaTree quota;
  Fairness fairness{quota};
  Pool<ShapeEntry, ShapeId> shapes;
  Pool<Charge, ChargeId> charges;
  Accounts accounts{nodes, quota, charges, shapes};
  Pool<Spec, SpecId> specs;
  Pool<Structure, StructureId> structures;
  Chunked<WorkloadState> workloads;
  std::vector<QueueState> queues;
  Interner queue_names;
  std::map<std::string, Flavor> flavors;
  std::map<std::string, Topology> topologies;
  PairNames pairs;
  ForeignPods foreign;
  Disruptions disruptions;
  Pending pending;
  std::map<std::uint64_t, WorkloadId> holders;  // by hold_order
  Endings endings;
  std::map<std::uint64_t, WorkloadId>
      unplaced;  // by arrival: quota without places, and nodes awaited no longer
  std::unordered_map<std::uint32_t, Reason>
      no_places;  // by WorkloadId: what the ones that have been tried lack
  std::uint64_t config_version = 1;
  // Grows with every change of nodes, foreign pods, topologies, flavors, queues and the demand mix: with everything that decides
  // about places in an empty cluster.
  std::uint64_t place_version = 1;
  // Grows when work ends of itself, and with every change of nodes, flavors and queues. These are the changes of use or room that
  // are no consequence of a decision.
  std::uint64_t outside_version = 1;
  // Grows with every change of use.
  std::uint64_t use_version = 1;
  Done done;
  // The choices of flavors and the grants that plans refer to (plan/reservations.h): they stay in the catalog.
  std::vector<std::pair<ChargeId, GrantId>> planned;
  std::set<QueueId> aged_queues;  // with aged work

  News news;
  OnceList<WorkloadId> changed_work;  // since Engine::take_changed()
  // The queues whose blocked heads may reserve quota, by the root of their tree (decide/strict_heads.h).
  std::unordered_map<QueueId, std::vector<QueueId>> keepers;
  std::uint64_t kept_as_of = 0;  // the use_version at the last look at classes that reservations keep out

 private:
  void gain_quota(QueueId queue);
  void rebuild_queues();
  Shape base_shape(const PodTemplate& pod);
  void build_choices(Spec& spec);
  ChargeId charge_for(const PodTemplate& pod, const Shape& base, const ResourceList& counted,
                      std::vector<ChosenFlavor> chosen);
  void leave_line(WorkloadId id);
  void grow_older(WorkloadId id, bool lacks_room);
  void line_up_aged(WorkloadId id, bool waits);
  void follow_service(WorkloadId id);
  void tell_start(WorkloadId id, std::size_t set, TimeMs since);
  void apply_rules(QueueId queue);
  void count_priority(WorkloadId id, std::int64_t change);
  void rebuild_fairness();
  void touch_queue(QueueId queue);
  std::int64_t priority_of(QueueId queue, const Workload& workload) const {
    return ranked_priority(queues[queue.index()].spec.ordering.tiers, workload.kind, workload.priority);
  }
  void count(WorkloadState& w, PodSetState& set, const Slot& slot, int sign);
  void fill(WorkloadState& w, const Workload& from);
  void resize_sets(WorkloadId id, const std::vector<const PodSet*>& sets);
  void charge_devices_again(NodeId node);
  void topologies_changed();

  TimeMs next_lane_tick_ = kEndOfTime;  // when past use counts less somewhere
  OnceList<QueueId> touched_;           // leaves whose use changed
  std::vector<WorkloadId> to_note_;     // whose service changed, or whose run ended
  struct ToldStart {
    WorkloadId workload;
    std::uint64_t arrival = 0;  // ids are used again
    TimeMs since = 0;           // 0: not known
    std::int64_t rate = 0;      // service of the slot
    bool begins = false;        // with this slot its run began
  };
  std::vector<ToldStart> told_starts_;            // since the last decide()
  std::set<std::pair<TimeMs, WorkloadId>> ages_;  // without room and not aged yet: when they will be
  OwnKeyIds<WorkloadId> ids_;                     // of workloads, by uid
  std::uint64_t next_arrival_ = 1;
  SweepRule sweeps_;
};

// The planes on which terms count a foreign pod.
inline PlaneMask counted_planes(const ForeignPod& pod) {
  return pod.ending ? kBothPlanes | kEndingBit : kBothPlanes;
}
// The same charge with another part in counted terms.
ChargeId with_counted(State& state, ChargeId charge, CountedId counted);
// The slots of a pod set are counted as its template says now. The terms and selectors of a template may change while slots have
// places: another pod's selector may begin to count them.
void count_again(State& state, WorkloadId id, std::size_t set);

}  // namespace berth::engine
