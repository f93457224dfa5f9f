// Coscheduling's PodGroup.
#pragma once

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

struct PodGroup : GangObject {
  static constexpr Kind kKind = Kind::kPodGroup;
  static const GangSystem kGang;
};

}  // namespace berth::dialect
