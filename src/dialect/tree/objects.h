// The queues of the cluster's own tree, whichever system they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "model/queue.h"
#include "model/resources.h"

namespace berth::dialect {

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
  bool by_weight = false;  // if all queues of its system say so, each is guaranteed its part by weight
  std::int64_t priority = 0;
  Sharing sharing = Sharing::kGuaranteedShare;
  DurationMs half_life = 7 * 24 * kHour;
  QueueOrder order = QueueOrder::kBestEffort;
  Ordering ordering;
  PreemptionPolicy preemption{.within = WithinQueue::kLowerPriority, .reclaim = Reclaim::kAny};
  StopPolicy stop = StopPolicy::kNone;
  Placement placement = Placement::kDefault;
  // Work that is not preemptible stays within what the queue is guaranteed by its own object (Quota::firm_limit).
  bool firm_within_guaranteed = false;
  // Where the queues below it are guaranteed more together than its own object says, that is still all that it is guaranteed
  // (Quota::subtree_limit). Otherwise theirs counts.
  bool cuts_guarantees = false;
  bool ranks_within_quota = false;          // Queue::ranks_within_quota
  std::optional<LabelSelector> namespaces;  // whose work it takes; none: anybody's
  std::string problem;

  // Whether it says how much each of its users may have.
  bool limits_users() const;
  bool operator==(const TreeQueue&) const = default;
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

}  // namespace berth::dialect
