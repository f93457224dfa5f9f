// Index of blocked classes by the events that may unblock them: a gain of quota in their tree or on their side of it, or of room
// for a shape. A gain costs time in proportion to the classes that it may help, however many wait.
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
#include "engine/catalog/catalog.h"
#include "engine/order/tournament.h"
#include "model/decision.h"

namespace berth::engine {

// The least request of a blocked head of a strict queue (decide/strict_heads.h).
struct Asked {
  std::vector<QuotaItem> items;  // none: it reserves nothing
  std::int64_t height = 0;       // how far it is put off in line
  bool borrows = false;          // more than its queue's own
  std::uint64_t as_of = 0;       // State::use_version
};
// A reservation of some of a pair by such a head, named by its arrival.
struct KeptBy {
  QueueId queue;
  std::uint64_t head = 0;
  FlavorResource pair;
  bool operator==(const KeptBy&) const = default;
};

// Why a class is parked, and so the events that may wake it.
struct Parked {
  bool by_quota = false;  // any gain of quota in its tree of queues
  bool by_nodes = false;  // a gain of room on a node that could host one of its shapes
  bool by_side =
      false;  // a gain of quota in its own queue, or in one that shares an ancestor with it below the root
  bool in_line = true;    // it blocks the classes behind it, if its queue lets any class block
  bool of_limit = false;  // it waits in a limit of its own: others pass it while it does
  // Only room on nodes was missing, and under the configuration of this version no work could be evicted. While that version holds,
  // a new attempt can only find missing room again (still_lacks_room). 0: otherwise.
  std::uint64_t room_only = 0;
  TimeMs wake_at = kEndOfTime;  // the passing of time: then it is awake again
  VerdictKind verdict = VerdictKind::kBlocked;
  Reason reason;
  std::vector<ShapeId> shapes;  // that it could be placed with
  // If one class of a group cannot start, none behind it can: only the first of those asleep is woken. Empty: it stands for itself.
  std::string group;
  bool across_queues = false;  // the group's classes are of several queues; all of a group say the same
  Asked asked;                 // where it may keep quota from others, at the head of a strict queue
  std::vector<KeptBy> kept;    // reserved against it by others
  std::vector<std::uint64_t>
      reserved;  // the plans for old work (plan/reservations.h) beside which it finds no room
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
