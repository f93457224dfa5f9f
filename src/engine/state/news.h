// News since the last decide(): for these, blocked work, held room and quota without places are looked at again. The looks take them
// away (decide/decide.cc).
#pragma once

#include <cstdint>
#include <set>

#include "base/time.h"
#include "engine/nodes/nodes.h"
#include "engine/quota/tree.h"
#include "engine/state/once_list.h"

namespace berth::engine {

struct News {
  bool taken_back = false;     // starts of this decide(), and nothing has been woken since
  bool freed_limit = false;    // work with a limit of its own yields: others may stand in front again
  bool configuration = false;  // queues or flavors have changed, and nothing has been made of it
  OnceList<NodeId> gained_nodes;
  std::set<QueueId> gained_roots;
  std::set<QueueId>
      gained_sides;            // the queues below the roots that gave something back, and those above them
  bool gained_now = false;     // room that held work may be waiting for
  bool holds_suspect = false;  // a node changed under a hold
  bool holds_later = false;    // a hold is to be looked at again when it could start
  TimeMs look_at_holds = kEndOfTime;  // the same where no pod that ends would bring that to light
  bool unplaced = false;              // one more with quota alone, or room or rules that they may gain by
  std::uint64_t terms_seen = 0;       // of the log of counted terms (nodes/counted.h), by waiting work
  std::set<QueueId> filled_lanes;     // queues with limits of their lanes where more was charged
  std::set<QueueId> filled_firm;      // the same of firm work: the highest queues with a limit

  void gain_node(NodeId node) {
    unplaced = true;
    gained_nodes.add(node);
  }
  void gain_quota(const QuotaTree& quota, QueueId queue) {
    gained_roots.insert(quota.root(queue));
    for (QueueId at = queue; quota.parent(at).valid(); at = quota.parent(at)) gained_sides.insert(at);
  }
};

}  // namespace berth::engine
