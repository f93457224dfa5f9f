// Groups of parked classes (Parked::group): which of a group is listed with the events that may unblock it, and which tries for it. The
// rules of both stand in pending.h.
//
// Cost: O(1) per call, amortized.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/ids.h"
#include "engine/base/keyed.h"
#include "engine/order/sleepers.h"
#include "engine/order/tournament.h"

namespace berth::engine {

using GroupId = Id<struct GroupTag>;

class SleepGroups {
 public:
  struct Group {
    std::string key;
    bool across_queues = false;
    std::set<Head> asleep;
    ClassId listed;  // the first of those asleep, while no class tries
    ClassId trying;
  };

  // The group of a class that is parked for this; none: it stands for itself.
  GroupId of(const Parked& why) {
    if (why.group.empty()) return {};
    if (const auto known = groups_.find(why.group)) return *known;
    const GroupId id = groups_.add(why.group);
    groups_[id].key = why.group;
    groups_[id].across_queues = why.across_queues;
    return id;
  }
  // No class sleeps in it any more.
  void erase(GroupId id) {
    groups_.erase(groups_[id].key, id);
    groups_[id] = Group{};
  }
  Group& operator[](GroupId id) { return groups_[id]; }
  const Group& operator[](GroupId id) const { return groups_[id]; }

  void begin_trying(GroupId id, ClassId trying) {
    groups_[id].trying = trying;
    if (groups_[id].across_queues) trying_across_.insert(trying);
  }
  void end_trying(GroupId id, ClassId trying) {
    trying_across_.erase(trying);
    groups_[id].trying = ClassId();
  }
  // The classes that try for a group of several queues.
  const std::set<ClassId>& trying_across() const { return trying_across_; }

 private:
  Keyed<Group, GroupId> groups_;
  std::set<ClassId> trying_across_;
};

}  // namespace berth::engine
