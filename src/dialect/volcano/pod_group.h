// Volcano's PodGroup. Its Job controller makes the pods of a Job when the phase of its PodGroup is no longer Pending.
#pragma once

#include <cstdint>
#include <string>

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

struct VolcanoPodGroup : GangObject {
  static constexpr Kind kKind = Kind::kVolcanoPodGroup;
  static const GangSystem kGang;
  std::string problem;
};

// The part of its status that Berth writes: one condition at most.
struct VolcanoStatus {
  std::string phase;
  std::int64_t running = 0, succeeded = 0, failed = 0;  // pods
  std::string type;                                     // of the condition; "" = none
  std::string reason, message;

  // As JSON; `since`: of the condition; 0: without times.
  std::string json(TimeMs since) const;
};

}  // namespace berth::dialect
