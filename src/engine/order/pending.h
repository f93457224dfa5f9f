// Pending workloads in the order in which they are tried, grouped into classes of identical ones: one verdict serves the
// whole class, and a blocked class costs nothing until something happens that could unblock it.
//
// Order: first started work that is short of its least count (a half-bound gang after a restart, a lost pod), then within a
// queue and across queues by priority (higher first), then creation, then arrival. A queue whose first workload would run on
// borrowed quota can be put off until the others have been tried: what is lent out only now would be reclaimed at once. In a strict queue nothing
// behind the first blocked workload is tried.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/core/catalog.h"
#include "model/decision.h"

namespace berth::engine {

using ClassId = Id<struct ClassTag>;

// Why a class is parked, and thereby what may wake it.
struct Parked {
  bool by_quota = false;        // any gain of quota in its tree of queues
  bool by_nodes = false;        // a gain of room on a node that could host one of its shapes
  bool in_line = true;          // in a strict queue, it blocks those behind it
  TimeMs wake_at = kEndOfTime;  // the passing of time: then it is awake again
  VerdictKind verdict = VerdictKind::kBlocked;
  Reason reason;
};

class Pending {
 public:
  struct Member {
    TimeMs created = 0;
    std::uint64_t arrival = 0;
    WorkloadId workload;
    auto operator<=>(const Member&) const = default;
  };
  struct Class {
    std::string key;
    QueueId queue;
    std::int64_t priority = 0;
    bool incomplete = false;  // started, and short of its least count
    std::set<Member> members;
    bool parked = false;
    Parked why;
    std::vector<ShapeId> shapes;  // that it could be placed with, known once it was tried
  };

  void set_strict(QueueId queue, bool strict);

  // Puts a workload into the class of this key (made when it is new; a new or emptied class is awake).
  ClassId add(const std::string& key, QueueId queue, std::int64_t priority, bool incomplete, Member member);
  void remove(ClassId id, const Member& member);

  // The class whose first member is to be tried next; none when all are parked or blocked.
  ClassId next() const;
  // Lets all queues that are not put off go first. Ends when a class of the queue is parked, or one of its workloads leaves.
  void put_off(QueueId queue);
  bool is_put_off(QueueId queue) const { return lines_[queue.index()].put_off; }
  void park(ClassId id, Parked why);
  void wake(ClassId id);
  void wake_all();
  // The time at which the first parked class wakes of its own; kEndOfTime: none does. wake_due() wakes those of up to `now`.
  TimeMs next_time() const { return due_.empty() ? kEndOfTime : due_.begin()->first; }
  void wake_due(TimeMs now);

  Class& at(ClassId id) { return classes_[id.index()]; }
  const Class& at(ClassId id) const { return classes_[id.index()]; }
  const std::set<ClassId>& parked() const { return parked_; }
  std::size_t size() const { return size_; }
  // The workload that blocks this class in its strict queue; none if it is not blocked so.
  WorkloadId blocked_by(ClassId id) const;
  std::size_t size_of(QueueId queue) const;

 private:
  struct Head {
    bool complete = true;
    std::int64_t minus_priority = 0;
    TimeMs created = 0;
    std::uint64_t arrival = 0;
    ClassId id;
    auto operator<=>(const Head&) const = default;
  };
  // The head of a queue among those of all queues.
  struct Front {
    bool put_off = false;
    Head head;
    auto operator<=>(const Front&) const = default;
  };
  struct Line {
    bool strict = false;
    std::set<Head> awake;
    std::set<Head> blocked;  // parked classes that stand in line (strict queues only look at it)
    Front shown;             // what heads_ holds for this queue
    bool is_shown = false;
    bool put_off = false;
    std::size_t members = 0;
  };

  Head head_of(ClassId id) const;
  void link(ClassId id);
  void unlink(ClassId id);
  void show(QueueId queue);
  void call_back(QueueId queue);
  void forget_time(ClassId id);
  Line& line(QueueId queue);

  std::vector<Class> classes_;
  std::vector<ClassId> free_;
  std::unordered_map<std::string, ClassId> index_;
  std::vector<Line> lines_;
  std::set<Front> heads_;
  std::set<ClassId> parked_;
  std::set<std::pair<TimeMs, ClassId>> due_;  // of the parked classes that have a time to wake at
  std::size_t size_ = 0;
};

}  // namespace berth::engine
