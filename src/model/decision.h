// The output of the engine: decisions, verdicts, and the reasons of both. A reason is a tree of the same data wherever it is shown:
// plan, explain, condition, log and metric.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/time.h"

namespace berth {

enum class ReasonCode : std::uint8_t {
  kNone,
  // about the workload itself
  kInvalid,         // detail = the error
  kUnsupported,     // a constraint that Berth does not honour: detail
  kInactive,        // suspended or inactive, by its owner
  kClaim,           // a volume claim that its pods cannot use yet: detail
  kIncompleteGang,  // have of need pods exist in pod set `subject`
  kSearchBudget,    // the search ended at its bound: this does not say that it is impossible
  // about queues and quota
  kQueueMissing,   // subject = queue
  kQueueDisabled,  // subject = queue, detail = the error
  kQueueStopped,   // subject = queue
  kBehindHead,     // subject = the workload at the head of a strict queue
  kQuota,  // subject = resource, detail = flavor, need and have in base units; have < 0: so much too much is in use
  kQuotaMax,   // the same, but more than the queue can ever have
  kQuotaKept,  // some is reserved for `subject`, which waits at the head of the strict queue `detail`
  kReserved,  // some room is reserved for `subject`, which has waited for the age limit of its queue `detail`
  kQuotaUncovered,  // subject = resource that the queue does not have
  kLaneLimit,  // its lane `subject` may have no more in this queue: detail = resource, need and have in base units
  kFirmLimit,  // work that is not preemptible may have no more in the queue `subject`: the same
  // about nodes
  // Pods need `need` places, and there is room for `have`; children count the nodes by what they lack. With several pod sets:
  // detail = the number of the set, subject = its name and what each of its pods asks for.
  kNodes,
  // No domain of level `subject` has room for `need` pods; have = the room of the best one. Or detail = what is wrong.
  kTopology,
  kNodeUnschedulable,
  kNodeTaint,     // subject = taint
  kNodeSelector,  // selector or required affinity does not match
  kNodeVolume,    // a volume is on other nodes: subject = VolumeNodes::words
  kNodeFlavor,    // the node is not of the flavor `subject`
  kNodeResource,  // subject = resource that is short
  kNodeDevice,    // subject = device resource that is short, or that only has smaller pieces left
  kNodePort,      // subject = the host port that another pod has there
  kNodeHeld,      // the room is held for another workload
  // about preemption
  kNoVictims,       // nothing may be preempted that would help; detail = the policy
  kWaitingForRoom,  // victims are ending: need slots are not free yet
  // causes of evictions and holds; of the first four: detail = the disruption budget that did not allow it
  kPreempted,                // for a workload of higher rank in the same queue: subject
  kReclaimed,                // quota that was borrowed goes back to its owner: subject
  kReclaimedWhileBorrowing,  // the same, for work of higher priority that borrows itself: subject
  kReclaimedFairly,          // its queue had more than its share: subject
  kWithdrawn,                // a gang that could not be completed: detail
  kDrained,                  // its queue was stopped with draining
  kBroken,                   // a gang that ran below its least number for too long: detail = how long
  kPreemptor,                // room of victims is held for this workload
  kReleasingRoom,            // room that is about to be free is held for this workload
  kHoldOvertaken,            // the hold passes to a workload of higher rank: subject
  kHoldBroken,               // the held room vanished: detail
  // more about nodes, in explanations
  kNodeRoom,  // these nodes have room for `have` of its pods, and then lack `subject`
  kNodeSize,  // one pod asks for `need` of `subject`; of the nodes that it may use, the largest has `have`
  kDomain,    // the best domain: `subject`, with room for `have`; children say what is short in it
  kTogether,  // each pod set fits, and not all of them together: the child is short beside the others
  kEnough,    // `need` more of `subject` would be enough; without a subject: places for `need` more pods
  // Required terms about the pods that the selector `subject` counts, per node label `detail`: they must not be there, or must be.
  // A kNodeApart without a label: the claim `subject` is another pod's, and one pod alone may use it.
  kNodeApart,
  kNodeNear,
  // A spread of the pods that `subject` counts, as `detail` says. Without a subject: the nodes lack the label `detail` of a spread.
  kNodeSpread,
  kFits,  // placed
};
template <>
struct EnumNames<ReasonCode> {
  static constexpr std::array names{"None"sv,
                                    "Invalid"sv,
                                    "Unsupported"sv,
                                    "Inactive"sv,
                                    "Claim"sv,
                                    "IncompleteGang"sv,
                                    "SearchBudget"sv,
                                    "QueueMissing"sv,
                                    "QueueDisabled"sv,
                                    "QueueStopped"sv,
                                    "BehindHead"sv,
                                    "Quota"sv,
                                    "QuotaMax"sv,
                                    "QuotaKept"sv,
                                    "Reserved"sv,
                                    "QuotaUncovered"sv,
                                    "LaneLimit"sv,
                                    "FirmLimit"sv,
                                    "Nodes"sv,
                                    "Topology"sv,
                                    "Unschedulable"sv,
                                    "Taint"sv,
                                    "Selector"sv,
                                    "Volume"sv,
                                    "Flavor"sv,
                                    "Resource"sv,
                                    "Device"sv,
                                    "Port"sv,
                                    "Held"sv,
                                    "NoVictims"sv,
                                    "WaitingForRoom"sv,
                                    "Preempted"sv,
                                    "Reclaimed"sv,
                                    "ReclaimedWhileBorrowing"sv,
                                    "ReclaimedFairly"sv,
                                    "Withdrawn"sv,
                                    "Drained"sv,
                                    "Broken"sv,
                                    "Preemptor"sv,
                                    "ReleasingRoom"sv,
                                    "HoldOvertaken"sv,
                                    "HoldBroken"sv,
                                    "Room"sv,
                                    "Size"sv,
                                    "Domain"sv,
                                    "Together"sv,
                                    "Enough"sv,
                                    "Apart"sv,
                                    "Near"sv,
                                    "Spread"sv,
                                    "Fits"sv};
};

// Causes of evictions in favour of another queue.
constexpr bool is_reclaim(ReasonCode code) {
  return code == ReasonCode::kReclaimed || code == ReasonCode::kReclaimedWhileBorrowing ||
         code == ReasonCode::kReclaimedFairly;
}

struct Reason {
  ReasonCode code = ReasonCode::kNone;
  std::string subject;
  std::string detail;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::int64_t nodes = 0;  // how many nodes it holds for, where it is about nodes
  std::vector<Reason> children;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("code", s.code);
    v("subject", s.subject);
    v("detail", s.detail);
    v("need", s.need);
    v("have", s.have);
    v("nodes", s.nodes);
    v("children", s.children);
  }
  bool operator==(const Reason&) const = default;
};

// One sentence for people, for example
//   "8 pods need nodes, there is room for 6: 94 nodes lack free nvidia.com/gpu".
std::string to_text(const Reason& reason);
// The most important part, for a line of a table.
std::string brief(const Reason& reason);

// Where one slot goes. Devices are indices into the node's devices, pools in their order.
struct SlotPlacement {
  std::int64_t pod_set = 0;
  std::int64_t index = 0;
  std::string node;
  std::vector<std::int64_t> devices;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("pod_set", s.pod_set);
    v("index", s.index);
    v("node", s.node);
    v("devices", s.devices);
  }
  bool operator==(const SlotPlacement&) const = default;
};

struct FlavorChoice {
  std::int64_t pod_set = 0;
  std::string resource;
  std::string flavor;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("pod_set", s.pod_set);
    v("resource", s.resource);
    v("flavor", s.flavor);
  }
  bool operator==(const FlavorChoice&) const = default;
};

enum class DecisionKind : std::uint8_t {
  kStart,        // bind these slots to these nodes
  kEvict,        // end these slots; their room belongs to `beneficiary`
  kHold,         // these slots' places are kept until the room is free
  kReleaseHold,  // the hold ends without a start; reason says why
};
template <>
struct EnumNames<DecisionKind> {
  static constexpr std::array names{"start"sv, "evict"sv, "hold"sv, "release-hold"sv};
};

struct Decision {
  DecisionKind kind = DecisionKind::kStart;
  std::string workload;     // uid
  std::string beneficiary;  // evict: the workload that gets the room
  std::vector<SlotPlacement> slots;
  std::vector<FlavorChoice> flavors;
  std::int64_t cost = 0;  // evict: the victim's cost at this time
  Reason reason;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("kind", s.kind);
    v("workload", s.workload);
    v("beneficiary", s.beneficiary);
    v("slots", s.slots);
    v("flavors", s.flavors);
    v("cost", s.cost);
    v("reason", s.reason);
  }
  bool operator==(const Decision&) const = default;
};

enum class VerdictKind : std::uint8_t {
  kPlaced,     // every slot that may start has a node
  kQuotaOnly,  // quota is there, nodes are not known
  kHeld,       // it has its places and waits for them to become free
  kBlocked,    // waits; the reason says for what
  kRefused,    // can never run as it is
};
template <>
struct EnumNames<VerdictKind> {
  static constexpr std::array names{"placed"sv, "quota-only"sv, "held"sv, "blocked"sv, "refused"sv};
};

struct Verdict {
  VerdictKind kind = VerdictKind::kBlocked;
  Reason reason;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("kind", s.kind);
    v("reason", s.reason);
  }
  bool operator==(const Verdict&) const = default;
};

// Room that is kept for a workload until it starts.
struct Hold {
  std::string holder;  // uid of a workload
  std::vector<SlotPlacement> slots;
  TimeMs from = 0;
  Reason cause;

  bool operator==(const Hold&) const = default;
};

}  // namespace berth
