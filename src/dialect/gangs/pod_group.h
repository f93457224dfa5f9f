// Coscheduling's PodGroup, and that of its older group, which Koordinator still has.
//
// Koordinator's marks on it: groups names PodGroups that start together (GangObject::together). total-number must not be less than
// minMember. Its other marks have no effect (docs/labels.md).
#pragma once

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

struct PodGroup : GangObject {
  static constexpr Kind kKind = Kind::kPodGroup;
  static const GangSystem kGang;
};

struct OlderPodGroup : PodGroup {
  static constexpr Kind kKind = Kind::kOlderPodGroup;
};

}  // namespace berth::dialect
