// Random histories: a cluster, a tree of queues, work that arrives, and everything that goes wrong outside.
//
// A history is a list of steps. A step draws all its choices from its own seed, and picks the objects it acts on by
// rendezvous hashing (the one whose hash with the seed is least), so that leaving out other steps changes as little as
// possible: that is what makes a failing history shrink well.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/random.h"
#include "engine/engine.h"
#include "property/ledger.h"

namespace berth::property {

enum class StepKind : std::uint8_t {
  // what there is
  kTopology,
  kFlavor,
  kNode,
  kQueue,
  // work
  kArrive,
  kMorePods,   // pods of a gang that was not complete appear
  kRevise,     // another count, priority, or flag
  kGiveUp,     // a waiting workload is taken away
  kFinish,     // a running workload ends
  kPodEnds,    // one pod of a running workload goes away, perhaps to come back
  kWithdraw,   // a gang could not be completed
  kSeen,       // a pod is seen on a node that Berth did not choose
  kMix,        // another demand mix is given, or none any more
  kNodesCome,  // the nodes that a workload has quota for are there, perhaps one that is new
  // what becomes of decisions
  kConfirm,    // bound pods run
  kBindFails,  // a bind is refused
  kGone,       // pods that were ending are gone, and perhaps come back
  // nodes
  kCordon,
  kTaint,
  kNodeChanges,
  kNodeRemoved,
  kNodeLost,  // with all pods on it; their owners want them back
  kForeign,
  kForeignGone,
  // queues
  kQuota,
  kPolicy,
  kStop,
  kQueueRemoved,
  // time
  kDecide,
};

}  // namespace berth::property

template <>
struct berth::EnumNames<berth::property::StepKind> {
  static constexpr std::array names{
      "topology"sv,   "flavor"sv,       "node"sv,         "queue"sv,         "arrive"sv,   "more-pods"sv,
      "revise"sv,     "give-up"sv,      "finish"sv,       "pod-ends"sv,      "withdraw"sv, "seen"sv,
      "demand-mix"sv, "nodes-come"sv,   "confirm"sv,      "bind-fails"sv,    "gone"sv,     "cordon"sv,
      "taint"sv,      "node-changes"sv, "node-removed"sv, "node-lost"sv,     "foreign"sv,  "foreign-gone"sv,
      "quota"sv,      "policy"sv,       "stop"sv,         "queue-removed"sv, "decide"sv};
};

namespace berth::property {

struct Step {
  StepKind kind = StepKind::kDecide;
  std::int64_t id = 0;  // unique in its history; names what the step makes
  std::uint64_t seed = 0;
};

struct History {
  std::uint64_t seed = 0;  // of the profile: how many levels, flavors, queues
  engine::EngineConfig config;
  std::vector<Step> steps;
  std::int64_t load_percent = 0;  // devices that its work asks for, of those that the first nodes have
};

// The history of a seed: work for at least 1.2 times the devices of the cluster.
History make_history(std::uint64_t seed);

// The events of a step, given what has happened so far. None where there is nothing to act on.
std::vector<Event> events_of(const History& history, const Step& step, const Ledger& ledger);

// The outside comes to rest: bound pods run, ending ones are gone and come back where their owner still wants them.
std::vector<Event> settle_events(const Ledger& ledger);

}  // namespace berth::property
