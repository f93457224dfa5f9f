// Blocked classes of waiting work, by what may unblock them: a gain of quota in their tree of queues or on their side of it,
// a gain of room for one of their shapes. What a gain costs follows from whom it may help, not from how many wait.
//
// Costs: O(log n) for each cause of a class. Iteration is in ascending order of ids.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/core/catalog.h"
#include "engine/order/tournament.h"
#include "model/decision.h"

namespace berth::engine {

// What a blocked head of a strict queue asks for at least (decide_keep.cc).
struct Asked {
  std::vector<QuotaItem> items;  // none: it keeps nothing
  std::int64_t height = 0;       // how far it is put off in line
  bool borrows = false;          // more than its queue's own
  std::uint64_t as_of = 0;       // State::use_version
};
// That such a head, by its arrival, keeps some of a pair.
struct KeptBy {
  QueueId queue;
  std::uint64_t head = 0;
  FlavorResource pair;
  bool operator==(const KeptBy&) const = default;
};

// Why a class is parked, and thereby what may wake it.
struct Parked {
  bool by_quota = false;  // any gain of quota in its tree of queues
  bool by_nodes = false;  // a gain of room on a node that could host one of its shapes
  bool by_side =
      false;  // a gain of quota in its own queue, or in one that shares an ancestor with it below the root
  bool in_line = true;  // it blocks those behind it, where anybody does
  // What was missing was room on nodes and nothing else, and nobody could yield under the configuration of this version:
  // while that is so, too little room is all there is to find out (Decider::lacks_room). 0: otherwise.
  std::uint64_t room_only = 0;
  TimeMs wake_at = kEndOfTime;  // the passing of time: then it is awake again
  VerdictKind verdict = VerdictKind::kBlocked;
  Reason reason;
  std::vector<ShapeId> shapes;  // that it could be placed with
  // Classes of one group are such that where one could not start, none behind it could either: only the first of those
  // asleep is woken. Empty: it stands for itself.
  std::string group;
  bool across_queues = false;  // the group's classes are of several queues; all of a group say the same
  Asked asked;                 // where it may keep quota from others, at the head of a strict queue
  std::vector<KeptBy> kept;    // from it, by others
  std::vector<std::uint64_t>
      reserved;  // the plans for old work (core/reservations.h) beside which it finds no room
  bool kept_out() const { return !kept.empty() || !reserved.empty(); }
};

class Sleepers {
 public:
  using Classes = std::set<ClassId>;

  void list(ClassId id, QueueId queue, const Parked& why);
  void unlist(ClassId id, QueueId queue, const Parked& why);

  const std::map<QueueId, Classes>& by_quota() const { return by_quota_; }
  const std::map<QueueId, Classes>& by_side() const { return by_side_; }
  const std::map<ShapeId, Classes>& by_shape() const { return by_shape_; }

 private:
  std::map<QueueId, Classes> by_quota_;
  std::map<QueueId, Classes> by_side_;
  std::map<ShapeId, Classes> by_shape_;
};

}  // namespace berth::engine
