// How many slots of each role a gang has, and how many it needs. Private to the intake. Cost: O(roles^2) at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/books/draft_book.h"

namespace berth::dialect {

// Counts and least counts of the roles of a gang that needs `size` pods: see intake.h. `object`: how many it needs of each part; nullptr:
// any number. Roles whose turn comes later need none.
std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size,
                                   const GangObject* object);

// The same of a gang that is none any more (Draft::loose). It needs its pods that have nodes (`bound`, by role), and without these any one.
std::vector<RoleCount> count_loose(const std::vector<Role>& roles, const std::vector<std::int64_t>& bound);

// Makes the pod sets of an owner of several the roles, once all of them are there.
void count_sets(const Draft& draft, const Ask& ask, std::vector<RoleCount>& counts);
// A gang that starts with fewer than all of its pods. Where all of them together may lack some, the largest sets lack most.
void need_enough(const Ask& ask, std::vector<RoleCount>& counts);

// Why a gang of `size` pods cannot start as its pods are, by its parts; nothing: it can. After choose_turns() (gang_turns.h).
std::optional<Reason> lacks_parts(const GangObject& object, const std::vector<Role>& roles,
                                  std::int64_t size);

}  // namespace berth::dialect
