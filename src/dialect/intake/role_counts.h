// How many slots of each role a gang has, and how many it needs. Private to the intake. Cost: O(roles^2) at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/books/draft_book.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

// Counts and least counts of the roles of a gang that needs `size` pods: see intake.h. `object`: how many it needs of each part; nullptr:
// any number.
std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size,
                                   const GangObject* object);

// Why a gang cannot start as its pods are, by the parts that its object names; nothing: it can.
std::optional<Reason> lacks_parts(const GangObject& object, const GangSystem& system,
                                  const std::vector<Role>& roles);

}  // namespace berth::dialect
