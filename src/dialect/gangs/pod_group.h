// Coscheduling's PodGroup.
#pragma once

#include <cstdint>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"

namespace berth::dialect {

struct PodGroup {
  static constexpr Kind kKind = Kind::kPodGroup;
  Meta meta;
  std::int64_t min_member = 1;
};

}  // namespace berth::dialect
