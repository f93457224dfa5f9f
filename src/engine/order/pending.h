// Pending workloads in the order in which they are tried. Identical workloads form one class: one verdict serves the whole class,
// and a blocked class costs nothing until an event could unblock it.
//
// Order within a queue, first difference decides:
//   1. Started work that is short of its least count (a half-bound gang after a restart, a lost pod), unless the missing slots are
//      growth (Workload::asks_more_since).
//   2. The place of its lane, if the queue has lanes (quota/lanes.h).
//   3. Priority, higher first. Queues may rank priority after 6.
//   4. Work that must start, before surplus that may grow.
//   5. Old work (rank.h).
//   6. The key of the queue's ordering.
//   7. Creation, then arrival.
// All members of a class are equal in 1 to 4, and 5 to 7 order them. Across queues the tree of queues decides (tournament.h).
//
// Exceptions:
//   - put_off(): a queue whose first workload would borrow can wait until queues with nearer quota have been tried. Quota that is
//     lent only now would be reclaimed at once.
//   - In a strict queue no workload behind the first blocked one is tried.
//   - In any queue the first blocked workload that is old, and could start on an empty cluster, reserves room
//     (plan/reservations.h).
//
// Groups (Parked::group). A group holds parked classes with this property: if one cannot start, none behind it can. So only the
// first of them is listed with the events that may unblock it (sleepers.h). Such an event wakes this one class, and it tries for
// the whole group:
//   - If it is parked in its group again, the others sleep on.
//   - If anything else becomes of it (a start, another reason, a barred or put-off queue), the next class of the group tries.
//   - The trying class stands in front of all that sleep in its group. If a class comes to stand in front of it, it tries only for
//     itself.
// An event therefore costs one attempt per group that it may help and one per start, however many queues, priorities and workloads
// wait. All classes that stay asleep could not start, so the order of starts is the same as if all had been tried.
//
// Costs: every change O(log n) of the classes and members of its queue, plus a change in the tournament.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/base/keyed.h"
#include "engine/catalog/catalog.h"
#include "engine/order/sleep_groups.h"
#include "engine/order/sleepers.h"
#include "engine/order/tournament.h"
#include "model/decision.h"

namespace berth::engine {

class Pending {
 public:
  struct Member {
    bool young = true;     // has not waited for the age limit of its queue
    std::int64_t key = 0;  // of its queue's ordering (rank.h); 0 where it is old
    TimeMs created = 0;
    std::uint64_t arrival = 0;
    WorkloadId workload;
    auto operator<=>(const Member&) const = default;
  };
  struct Class {
    std::string key;
    QueueId queue;
    std::uint32_t lane = 0;  // of its queue; without any: 0
    std::int64_t priority = 0;
    bool broken = false;   // started, short of its least count, and that comes first
    bool surplus = false;  // growth that takes free room only
    std::set<Member> members;
    bool parked = false;
    Parked why;
    GroupId group;               // that it sleeps in, or tries for; none: it stands for itself
    bool tries = false;          // for its group
    std::vector<QuotaItem> ask;  // what a start charges at least, as of ask_version; 0: not known
    std::uint64_t ask_version = 0;
    bool ask_may_change = false;  // with what others use: it has a choice of flavors
    bool could_start = true;      // if nothing else were there; as of could_start_version, 0: not asked yet
    std::uint64_t could_start_version = 0;
  };

  // `priority_first`: priority ranks before the key. `jumps`: a workload that comes in front may preempt running work, so a parked
  // class with a new first member is tried again. The caller must take out the pending workloads of the queue before a change, and
  // put them in again after it.
  void set_rules(QueueId queue, bool strict, bool priority_first, bool jumps);

  // The places of the lanes of a queue, by lane; empty: all stand alike.
  void set_lanes(QueueId queue, std::vector<std::uint32_t> places);

  // How shares are computed, and the parents of all queues. After every change of the tree or its limits, call set_tree() again.
  void set_shares(Tournament::ShareOf shares) { tournament_.set_shares(std::move(shares)); }
  void set_tree(std::vector<QueueId> parents);
  // The use of a queue changed: the shares of it and all above are others now.
  void refresh(QueueId queue) { tournament_.refresh(queue); }
  // All shares may be others: past use was forgotten.
  void refresh_all();

  // Puts a workload into the class of this key (made when it is new; a new or emptied class is awake).
  ClassId add(const std::string& key, QueueId queue, std::uint32_t lane, std::int64_t priority, bool broken,
              bool surplus, Member member);
  void remove(ClassId id, const Member& member);

  // The class whose first member is to be tried next; none when all are parked or blocked.
  ClassId next() const { return tournament_.next(); }
  // Queues with a smaller `height` go first: the farther up the tree its quota comes from, the later a queue is tried. Ends when a
  // class of the queue is parked, or one of its workloads leaves. 0: it ends now.
  void put_off(QueueId queue, std::int64_t height);
  std::int64_t put_off_by(QueueId queue) const { return lines_[queue.index()].put_off; }
  void park(ClassId id, Parked why);
  void wake(ClassId id);
  void wake_all();
  // Wakes these listed classes (sleepers.h) after an event that may unblock them, except where a class of their group is trying
  // already.
  const Sleepers& sleepers() const { return sleepers_; }
  void call(const std::vector<ClassId>& listed);
  // The time at which the first parked class wakes of its own; kEndOfTime: none does. wake_due() wakes those of up to `now`.
  TimeMs next_time() const { return due_.empty() ? kEndOfTime : due_.begin()->first; }
  void wake_due(TimeMs now);

  Class& at(ClassId id) { return classes_[id]; }
  const Class& at(ClassId id) const { return classes_[id]; }
  // Calls f(class) for the classes that sleep in the group of a parked class behind it, in their order.
  template <class F>
  void each_behind(ClassId id, F&& f) {
    const GroupId group = at(id).group;
    if (!group.valid()) return;
    const auto& asleep = groups_[group].asleep;
    for (auto it = asleep.upper_bound(head_of(id)); it != asleep.end(); ++it) f(at(it->id));
  }
  // Whether `a` stands in front of `b`, of the same queue.
  bool in_front(ClassId a, ClassId b) const { return head_of(a) < head_of(b); }
  // Whether `a` stands in front of work of its queue that has left the line, and must have started then.
  bool in_front(ClassId a, std::uint32_t lane, std::int64_t priority, const Member& left) const;
  // The parked classes of the queue that others pass, since they wait in a limit.
  std::vector<ClassId> passed_over(QueueId queue) const;
  // Goes up when the lanes of a queue change places.
  std::uint64_t lane_changes() const { return lane_changes_; }
  // The parked classes against which quota or room is reserved for others.
  const std::set<ClassId>& kept_out() const { return kept_out_; }
  // The blocked classes whose first member is old.
  const std::set<ClassId>& old() const { return old_; }
  // The parked classes of the queue, in order, that block the classes behind them. Includes those that would block if nothing in
  // front of them did.
  std::vector<ClassId> in_line(QueueId queue) const;
  // The class at the head of a strict queue: the first that is parked in line, or awake and not passed over. Not valid if there is
  // none.
  template <class IsPassedOver>
  ClassId strict_head(QueueId queue, IsPassedOver&& is_passed_over) const {
    if (queue.index() >= lines_.size() || !lines_[queue.index()].strict) return {};
    const Line& l = lines_[queue.index()];
    for (const Head& head : l.awake) {
      if (!l.blocked.empty() && *l.blocked.begin() < head) break;
      if (!is_passed_over(head.id)) return head.id;
    }
    return l.blocked.empty() ? ClassId() : l.blocked.begin()->id;
  }
  // Whether the first member of `a` stands in front of that of `b`, in any two queues, without regard to the shares of the queues.
  bool stands_before(ClassId a, ClassId b) const { return across(a) < across(b); }
  // Notes whether the class could start on an empty cluster. Only then does it reserve room when it is old.
  void set_could_start(ClassId id, bool could_start, std::uint64_t version);
  std::size_t size() const { return size_; }
  // The workload that blocks this class in its queue; none if it is not blocked so.
  WorkloadId blocked_by(ClassId id) const;
  // Whether an awake class of its strict queue stands in front of it.
  bool follows_awake(ClassId id) const;
  std::size_t size_of(QueueId queue) const;
  // Calls f(class, member) for all that wait in the queue, in their order, until it is false. O((classes + called) log classes).
  void each_in(QueueId queue, const std::function<bool(const Class&, const Member&)>& f) const;

 private:
  struct Line {
    bool strict = false;
    bool priority_first = true;
    bool jumps = false;
    std::set<Head> awake;
    std::set<Head> blocked;    // parked classes that stand in line
    std::set<Head> old;        // of these, the ones whose first member is old, and which could start
    std::int64_t put_off = 0;  // 0: it is not
    std::size_t members = 0;
    std::vector<std::uint32_t> lanes;  // their places
    std::set<ClassId> classes;

    // The first blocked head that nothing may pass; none: nullptr.
    const Head* bar() const;
    // That of work which must start, without a class.
    Head head(std::uint32_t lane, std::int64_t priority, const Member& member) const;
  };

  using Group = SleepGroups::Group;

  Head head_of(ClassId id) const { return head_of(id, *at(id).members.begin()); }
  Head head_of(ClassId id, const Member& member) const;  // as it stood if it were the first of them
  Head across(ClassId id) const;                         // the same, as it stands across queues
  void link(ClassId id);
  void unlink(ClassId id);
  void show(QueueId queue);
  void forget_time(ClassId id);
  Line& line(QueueId queue);
  void forget(ClassId id);
  void rise(ClassId id, bool tries);
  bool within_reach(ClassId id) const;
  bool tries_behind(const Group& group) const;
  void stop_trying(ClassId id);
  void try_next(GroupId id);
  void follow(GroupId id);
  void show_first(Group& group);
  void pass_on(QueueId queue);

  Keyed<Class, ClassId> classes_;
  std::vector<Line> lines_;
  Tournament tournament_;
  Sleepers sleepers_;
  SleepGroups groups_;
  std::set<ClassId> old_;
  std::set<ClassId> kept_out_;
  std::uint64_t lane_changes_ = 0;
  std::set<std::pair<TimeMs, ClassId>> due_;  // of the parked classes that have a time to wake at
  std::size_t size_ = 0;
};

}  // namespace berth::engine
