// Events: the only input of the engine, in order. The decision log is the sequence of events and of decide() calls
// (observe/decision_log.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/enums.h"
#include "base/variant_queue.h"
#include "model/mix.h"
#include "model/node.h"
#include "model/queue.h"
#include "model/workload.h"

namespace berth {

// The states of a slot, and what each charges:
//   absent     there is no pod                       nothing
//   waiting    a pod that could start                nothing
//   held       its place is kept (hold)              room and quota after the releasing ones are gone
//   binding    decided, being written                room and quota
//   running    seen on its node                      room and quota
//   releasing  ending; room is free only when gone   room and quota until then
//   gone       ended                                 nothing (the slot becomes absent)
enum class SlotState : std::uint8_t { kAbsent, kWaiting, kHeld, kBinding, kRunning, kReleasing, kGone };
template <>
struct EnumNames<SlotState> {
  static constexpr std::array names{"absent"sv,  "waiting"sv,   "held"sv, "binding"sv,
                                    "running"sv, "releasing"sv, "gone"sv};
};

struct NodeUpsert {
  static constexpr std::string_view kName = "node";
  Node node;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("node", s.node);
  }
};
struct NodeRemove {
  static constexpr std::string_view kName = "node-remove";
  std::string name;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
  }
};
struct TopologyUpsert {
  static constexpr std::string_view kName = "topology";
  Topology topology;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("topology", s.topology);
  }
};
struct TopologyRemove {
  static constexpr std::string_view kName = "topology-remove";
  std::string name;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
  }
};
struct FlavorUpsert {
  static constexpr std::string_view kName = "flavor";
  Flavor flavor;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("flavor", s.flavor);
  }
};
struct FlavorRemove {
  static constexpr std::string_view kName = "flavor-remove";
  std::string name;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
  }
};
struct QueueUpsert {
  static constexpr std::string_view kName = "queue";
  Queue queue;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("queue", s.queue);
  }
};
struct QueueRemove {
  static constexpr std::string_view kName = "queue-remove";
  std::string name;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
  }
};
struct ForeignPodUpsert {
  static constexpr std::string_view kName = "foreign";
  ForeignPod pod;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("pod", s.pod);
  }
};
struct ForeignPodRemove {
  static constexpr std::string_view kName = "foreign-remove";
  std::string uid;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("uid", s.uid);
  }
};
// A new workload, or a revision of a known one. Priority, flags and counts of a started workload may change; slots keep their
// index.
struct WorkloadUpsert {
  static constexpr std::string_view kName = "workload";
  Workload workload;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("workload", s.workload);
  }
};
// Ended, in whatever way: all of its room is free at once.
struct WorkloadRemove {
  static constexpr std::string_view kName = "workload-remove";
  std::string uid;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("uid", s.uid);
  }
};
// The observed state of a slot. `node` matters for binding and running: a slot seen on a node that Berth did not choose is charged
// there. Limits do not matter, because outside facts are never refused. `devices`, if known (after a restart), are charged as
// reported. If they are empty or impossible, the engine chooses.
struct SlotUpdate {
  static constexpr std::string_view kName = "slot";
  std::string workload;
  std::int64_t pod_set = 0;
  std::int64_t index = 0;
  SlotState state = SlotState::kWaiting;
  std::string node;
  std::vector<std::int64_t> devices;  // as in SlotPlacement
  // The flavor that each resource was charged to, if that is recorded (Kueue's admission); empty: the node decides.
  std::vector<ChosenFlavor> flavors;
  // Binding and running, of a slot that was neither: when it got its place. 0: unknown, which means the last decide(), or the next
  // if there was none; so does a time after the next decide(). The start of its workload is the earliest of its slots'.
  TimeMs since = 0;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("workload", s.workload);
    v("pod_set", s.pod_set);
    v("index", s.index);
    v("state", s.state);
    v("node", s.node);
    v("devices", s.devices);
    v("flavors", s.flavors);
    v("since", s.since);
  }
};
// The gang could not be completed: its slots are to be ended and its room released (the next decide() says
// so).
struct Withdraw {
  static constexpr std::string_view kName = "withdraw";
  std::string workload;
  std::string why;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("workload", s.workload);
    v("why", s.why);
  }
};

// The demand mix for placement, instead of the arrivals that the engine has seen. An empty one ends that. In force from the next
// decide() on.
struct DemandMixUpdate {
  static constexpr std::string_view kName = "demand-mix";
  DemandMix mix;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("mix", s.mix);
  }
};

// How many pods of a disruption budget may be evicted now (PodTemplate::budgets). Evictions that are decided count until the next
// update, for a minute at most. A budget that was not told, or is removed, allows all. Budgets never forbid an eviction: victims
// within them go first.
struct DisruptionBudgetUpdate {
  static constexpr std::string_view kName = "disruption-budget";
  std::string name;
  std::int64_t allowed = 0;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("allowed", s.allowed);
  }
};
struct DisruptionBudgetRemove {
  static constexpr std::string_view kName = "disruption-budget-remove";
  std::string name;
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
  }
};

using Event =
    std::variant<NodeUpsert, NodeRemove, TopologyUpsert, TopologyRemove, FlavorUpsert, FlavorRemove,
                 QueueUpsert, QueueRemove, ForeignPodUpsert, ForeignPodRemove, WorkloadUpsert, WorkloadRemove,
                 SlotUpdate, Withdraw, DemandMixUpdate, DisruptionBudgetUpdate, DisruptionBudgetRemove>;

// At a start as many as there are pods, and more, and large ones.
using EventQueue = VariantQueue<Event>;

}  // namespace berth
