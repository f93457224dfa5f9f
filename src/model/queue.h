// Queues: nodes of the quota tree. Kueue's ClusterQueue and Cohort, Volcano's and KAI's Queue all become
// this. Arithmetic of the tree: engine/quota/tree.h. Only leaves take workloads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/enums.h"
#include "base/time.h"
#include "model/ordering.h"
#include "model/resources.h"

namespace berth {

// The largest amount of any quota or limit, base units. Sums of them saturate.
inline constexpr std::int64_t kMostQuota = std::int64_t{1} << 60;

// The quota of a queue for one resource in one flavor, base units, 0 to kMostQuota. An absent limit is no limit.
// `firm_limit`: the most that work that is not preemptible may have in the queue and all below it (engine/quota/firm_limits.h).
// `subtree_limit`: so much the nominal quotas of the queue and all below it count together, where they are more. Beyond that the queue
// borrows, although some below it do not.
struct Quota {
  std::string flavor;
  std::string resource;
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing_limit;
  std::optional<std::int64_t> lending_limit;
  std::optional<std::int64_t> firm_limit = std::nullopt;
  std::optional<std::int64_t> subtree_limit = std::nullopt;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("flavor", s.flavor);
    v("resource", s.resource);
    v("nominal", s.nominal);
    v("borrowing_limit", s.borrowing_limit);
    v("lending_limit", s.lending_limit);
    v("firm_limit", s.firm_limit);
    v("subtree_limit", s.subtree_limit);
  }
  bool operator==(const Quota&) const = default;
};

// The flavor that a resource is charged to.
struct ChosenFlavor {
  std::string resource;
  std::string flavor;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("resource", s.resource);
    v("flavor", s.flavor);
  }
  bool operator==(const ChosenFlavor&) const = default;
};

// Resources that get one flavor together; flavors in the order in which they are tried. A resource may stand in several groups:
// engine/state/choices.cc chooses the one that a pod set uses.
struct ResourceGroup {
  std::vector<std::string> resources;
  std::vector<std::string> flavors;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("resources", s.resources);
    v("flavors", s.flavors);
  }
  bool operator==(const ResourceGroup&) const = default;
};

// kStrict: the first workload of the queue blocks the ones behind it. kBestEffort: every workload that fits starts.
enum class QueueOrder : std::uint8_t { kBestEffort, kStrict };
template <>
struct EnumNames<QueueOrder> {
  static constexpr std::array names{"best-effort"sv, "strict"sv};
};

// The workloads of its own queue that a workload may preempt. kLaterInOrder: those behind it in the order of the queue (Ordering),
// by more than the preemption destroys (engine/preempt/rights/standing.h).
enum class WithinQueue : std::uint8_t { kNever, kLowerPriority, kLowerOrNewerEqual, kLaterInOrder };
template <>
struct EnumNames<WithinQueue> {
  static constexpr std::array names{"never"sv, "lower-priority"sv, "lower-or-newer-equal"sv,
                                    "later-in-order"sv};
};

// The workloads of other queues of the tree, running on borrowed quota, from which a workload may reclaim.
enum class Reclaim : std::uint8_t { kNever, kLowerPriority, kAny };
template <>
struct EnumNames<Reclaim> {
  static constexpr std::array names{"never"sv, "lower-priority"sv, "any"sv};
};

// Whether a workload may preempt work of other queues while it borrows itself: never, or work of lower priority. Kueue's
// borrowWithinCohort; queues that share by dominant shares ignore it.
enum class BorrowWithin : std::uint8_t { kNever, kLowerPriority };
template <>
struct EnumNames<BorrowWithin> {
  static constexpr std::array names{"never"sv, "lower-priority"sv};
};

// The order in which a workload of this queue takes possible victims. Victims that are not needed are given back, in the opposite
// order.
//   cost                   the lowest priority; of equal priority the set that costs least (engine/preempt/rights/cost.h)
//   youngest-first         the latest start, whatever its priority and cost
//   lowest-priority-first  the lowest priority; of equal priority the latest start, whatever it costs
//   latest-in-order        the lowest priority; of equal priority the last in the order of its queue (Ordering)
enum class VictimOrder : std::uint8_t { kCost, kYoungestFirst, kLowestPriorityFirst, kLatestInOrder };
template <>
struct EnumNames<VictimOrder> {
  static constexpr std::array names{"cost"sv, "youngest-first"sv, "lowest-priority-first"sv,
                                    "latest-in-order"sv};
};

struct PreemptionPolicy {
  WithinQueue within = WithinQueue::kNever;
  Reclaim reclaim = Reclaim::kNever;
  BorrowWithin borrow_within = BorrowWithin::kNever;
  std::optional<std::int64_t>
      borrow_threshold;  // for borrow_within: the highest priority that may be evicted
  VictimOrder victims = VictimOrder::kCost;
  // Work of this queue is not evicted before it has run this long (Workload::minimum_runtime overrides it).
  DurationMs minimum_runtime = 0;
  // Against work of other queues, instead of minimum_runtime.
  std::optional<DurationMs> minimum_runtime_across;
  // Work of this queue may evict work that has not run its minimum.
  bool ignores_minimum_runtime = false;
  // Other queues may reclaim the quota that this queue borrows.
  bool reclaimable = true;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("within", s.within);
    v("reclaim", s.reclaim);
    v("borrow_within", s.borrow_within);
    v("borrow_threshold", s.borrow_threshold);
    v("victims", s.victims);
    v("minimum_runtime", s.minimum_runtime);
    v("minimum_runtime_across", s.minimum_runtime_across);
    v("ignores_minimum_runtime", s.ignores_minimum_runtime);
    v("reclaimable", s.reclaimable);
  }
  bool operator==(const PreemptionPolicy&) const = default;
};

// kHold: nothing new starts. kHoldAndDrain: what runs is evicted too.
enum class StopPolicy : std::uint8_t { kNone, kHold, kHoldAndDrain };
template <>
struct EnumNames<StopPolicy> {
  static constexpr std::array names{"none"sv, "hold"sv, "hold-and-drain"sv};
};

// How nodes are chosen for slots. A lower score wins, then the node's rank.
//   pack      fill nodes: fewest free devices, then least CPU; work without devices avoids free devices
//   spread    the opposite: most room left first
//   best-fit  least CPU and device room left, in percent of 128 cores and 8 devices (Weng et al., ATC 2023)
//   first     the first node by rank that fits
//   fragmentation
//             lose the least room that expected demand can use, then leave the least (engine/nodes/fragments.h)
//   default   the engine's configuration decides
enum class Placement : std::uint8_t { kDefault, kPack, kSpread, kBestFit, kFirst, kFragmentation };
template <>
struct EnumNames<Placement> {
  static constexpr std::array names{"default"sv,  "pack"sv,  "spread"sv,
                                    "best-fit"sv, "first"sv, "fragmentation"sv};
};

// The choice among several flavors, if more than one would do or only victims would make room (Kueue's flavorFungibility). Flavors
// are looked at in their order; the search stops at
//   - the first that fits within the queue's own quota,
//   - the first that fits on borrowed quota, unless `past_borrowing`,
//   - the first where victims would make room, unless `past_preempting`;
// Otherwise the best of all is taken: fits, then reclaims, then preempts; among equals the one that borrows from the nearest part
// of the tree. With `preempt_rather_than_borrow` the nearness comes first.
struct FlavorSearch {
  bool past_borrowing = false;
  bool past_preempting = true;
  bool preempt_rather_than_borrow = false;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("past_borrowing", s.past_borrowing);
    v("past_preempting", s.past_preempting);
    v("preempt_rather_than_borrow", s.preempt_rather_than_borrow);
  }
  bool operator==(const FlavorSearch&) const = default;
};

// How much a resource counts among others.
struct ResourceWeight {
  std::string resource;
  Rational weight;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("resource", s.resource);
    v("weight_num", s.weight.num);
    v("weight_den", s.weight.den);
  }
  bool operator==(const ResourceWeight&) const = default;
};

// A part of a leaf's line, named by its workloads: a LocalQueue, a user. It has no quota of its own.
struct Lane {
  std::string name;
  Rational weight;
  ResourceList
      // average past use as of `used_at`, for an engine that has not observed it. Read if the lane is new
      used;
  TimeMs used_at = 0;  // 0: as of now

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("weight_num", s.weight.num);
    v("weight_den", s.weight.den);
    v("used", s.used);
    v("used_at", s.used_at);
  }
  bool operator==(const Lane&) const = default;
};

// The most that each lane of a leaf may use of one resource in one flavor, base units, 0 to kMostQuota.
struct LaneLimit {
  std::string flavor;
  std::string resource;
  std::int64_t amount = 0;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("flavor", s.flavor);
    v("resource", s.resource);
    v("amount", s.amount);
  }
  bool operator==(const LaneLimit&) const = default;
};

// The meaning of the lanes of a leaf.
// `by_use`: whether its line goes by the recent use of the lanes, before priority and all else (Kueue's admission fair sharing; the
// measure: engine/quota/lanes.h). Lanes that are not listed have weight 1. `limits`: of every lane alike, the nameless one too
// (engine/quota/lane_limits.h). Berth evicts nothing to bring a lane within its limit, or to make room within one: its work waits
// until other work of the lane ends.
struct LaneOrder {
  bool by_use = false;
  DurationMs half_life = 7 * 24 * kHour;         // half of past use is forgotten after this time
  std::vector<ResourceWeight> resource_weights;  // others: 1
  std::vector<Lane> lanes;
  std::vector<LaneLimit> limits;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("by_use", s.by_use);
    v("half_life", s.half_life);
    v("resource_weights", s.resource_weights);
    v("lanes", s.lanes);
    v("limits", s.limits);
  }
  bool operator==(const LaneOrder&) const = default;
};

struct Queue {
  std::string name;
  std::string parent;  // "" = a root of its own
  bool leaf = true;    // takes workloads
  std::vector<ResourceGroup> groups;
  std::vector<Quota> quotas;
  Rational weight;
  std::int64_t priority = 0;  // among siblings that share and go beyond their quota: the higher first
  QueueOrder order = QueueOrder::kBestEffort;
  Ordering ordering;                     // of its workloads
  Sharing sharing = Sharing::kPriority;  // of its children
  // Where its children share by dominant shares: those within their quotas go by their priority, then by the part of the quota that
  // they use. Otherwise they stand in line as by Sharing::kPriority.
  bool ranks_within_quota = false;
  DurationMs half_life = 7 * 24 * kHour;  // of its children's use, where they share by decayed use
  PreemptionPolicy preemption;
  FlavorSearch flavor_search;
  StopPolicy stop = StopPolicy::kNone;
  Placement placement = Placement::kDefault;
  bool unlimited = false;  // no quota is kept: nodes alone decide (pods without a queue)
  bool open = false;       // resources without quota are free; otherwise work that asks for them is refused
  LaneOrder lanes;         // of a leaf
  std::string disabled;    // not empty: misconfigured, nothing starts; the text says why

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("parent", s.parent);
    v("leaf", s.leaf);
    v("groups", s.groups);
    v("quotas", s.quotas);
    v("weight_num", s.weight.num);
    v("weight_den", s.weight.den);
    v("priority", s.priority);
    v("order", s.order);
    v("preemption", s.preemption);
    v("flavor_search", s.flavor_search);
    v("stop", s.stop);
    v("placement", s.placement);
    v("unlimited", s.unlimited);
    v("open", s.open);
    v("disabled", s.disabled);
    v("ordering", s.ordering);
    v("sharing", s.sharing);
    v("ranks_within_quota", s.ranks_within_quota);
    v("half_life", s.half_life);
    v("lanes", s.lanes);
  }
  bool operator==(const Queue&) const = default;
};

}  // namespace berth
