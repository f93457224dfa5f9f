// How much Karpenter's NodePools still allow (dialect/karpenter/node_pools.h), read when work is about to ask for nodes. Where the API
// server has no NodePools, or Berth may not list them, nothing is known, and nothing is refused. Lives on the decision thread.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/karpenter/node_pools.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class NodeLimits {
 public:
  explicit NodeLimits(Outbox& outbox) : outbox_(outbox) {}

  // Whether what it says is of the last seconds. If not, it is read: answered() follows.
  bool is_known(TimeMs now);
  // They are read anew when they are next asked for.
  void forget() { good_until_ = 0; }
  // The answer of Step::kNodePools. True: it is known now.
  bool answered(const Answer& answer, TimeMs now);
  // The NodePools whose nodes may be of one of these flavors, by their labels.
  std::vector<const dialect::NodePool*> pools_for(const std::vector<Labels>& flavors) const;

 private:
  Outbox& outbox_;
  std::vector<dialect::NodePool> pools_;
  TimeMs good_until_ = 0;
  bool reading_ = false;
  bool told_ = false;  // that it may not be read
};

}  // namespace berth::scheduler
