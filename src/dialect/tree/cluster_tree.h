// The cluster's own tree of queues: Berth's Queue (berth.dev), Volcano's Queue and KAI's Queue, together below one root that has
// what the nodes have. Kueue's ClusterQueues and Cohorts stand beside it (queues.h): their quota is what their objects say.
//
// A queue is guaranteed an amount, may use as much as its limit (none: whatever is there), and lends what it does not use:
//   nominal quota    = guaranteed; of an inner queue, what its children's guarantees leave of it
//   borrowing limit  = limit - guaranteed
//   lending limit    = lendable
//   the root         = its limit, or all that the nodes have, less what its children are guaranteed
//   limit of a lane  = the limit of each user; a user is a namespace, because labels of a tenant's objects do not identify a user
// So idle nodes are always available below the limit of a queue, and a guarantee is kept by reclaiming borrowed quota.
//
// Queues may go by weight (TreeQueue::by_weight: Volcano's without `deserved`). Such a queue is guaranteed its part of the guarantee above
// it, or of all nodes below the root, without the guarantees of other children. A part is at least what the queue says, and at most its
// limit. The others get what it cannot take.
//
// A queue counts the resources that it names itself. One that names none counts what its parent names, and so on up to the root,
// which counts devices (where no node has any, CPU and memory). Resources that a queue does not count are free.
//
// A KAI queue with a quota and limit of -1 may have all of a resource. It counts that resource only where another queue of KAI names an
// amount of it. Without that, nothing could be taken back from the other one. It is guaranteed all that the nodes have. Where a queue above
// it names an amount, it has no guarantee of its own there.
//
// Flavors are those of the queue, else of its parent, else one that stands for all nodes. Names in the model: a Berth Queue by its own
// name, the others with a prefix ("volcano:research", "kai:team-a"), so that trees of several systems may stand side by side.
// A queue that contradicts itself is disabled, with what is below it; its siblings are not.
//
// Sources: the queue APIs of Volcano (capability, deserved, guarantee) and KAI (quota, limit, over-quota weight) as documented.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/problem.h"
#include "dialect/tree/node_sums.h"
#include "dialect/tree/objects.h"
#include "model/node.h"
#include "model/queue.h"

namespace berth::dialect {

inline constexpr std::string_view kTreeRoot = "cluster:root";
inline constexpr std::string_view kAllNodes = "all nodes";  // the flavor of queues that name none

// The name in the model of a queue of this kind.
std::string tree_queue_name(Kind kind, std::string_view name);

class ClusterTree {
 public:
  bool upsert(Kind kind, const TreeQueue& object);  // whether it says something new
  void remove(Kind kind, std::string_view name);
  const TreeQueue* find(Kind kind, std::string_view name) const;
  bool empty() const { return queues_.empty(); }

  struct World {
    const std::map<std::string, Flavor, std::less<>>& flavors;
    const std::map<std::string, Node, std::less<>>& nodes;
    const std::function<bool(std::string_view)>&
        is_taken;    // the name of a queue, by an object of another system
    NodeSums& sums;  // of `nodes`
  };
  // Appends the queues, parents before children, and what is wrong with them. Nothing where there is no queue.
  // O(queues x flavors x resources), whatever the number of nodes (node_sums.h).
  void compute(const World& world, std::vector<Queue>& out, std::vector<Problem>& problems) const;

 private:
  struct Held {
    Kind kind;
    TreeQueue object;
    bool operator==(const Held&) const = default;
  };
  std::map<std::string, Held, std::less<>> queues_;  // by name in the model
};

}  // namespace berth::dialect
