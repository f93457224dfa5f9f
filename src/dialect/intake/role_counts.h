// How many slots of each role a gang has, and how many it needs. Private to the intake. Cost: O(roles^2) at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/books/draft_book.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

// Says of the roles of a gang with subgroups whose turn it is (Role::turn). The gang needs `size` pods, and so many subgroups of each
// split as that says. Subgroups that have all their pods start in the order in which they came; one whose turn it was stays. `bound`: pods
// of each role that have nodes. True: enough subgroups have all their pods on nodes.
bool choose_turns(std::vector<Role>& roles, const GangObject& object, std::int64_t size,
                  const std::vector<std::int64_t>& bound);

// Counts and least counts of the roles of a gang that needs `size` pods: see intake.h. `object`: how many it needs of each part; nullptr:
// any number. Roles whose turn comes later need none.
std::vector<RoleCount> count_roles(const std::vector<Role>& roles, std::int64_t size,
                                   const GangObject* object);

// Makes the pod sets of an owner of several the roles, once all of them are there.
void count_sets(const Draft& draft, const Ask& ask, std::vector<RoleCount>& counts);
// A gang that starts with fewer than all of its pods. Where all of them together may lack some, the largest sets lack most.
void need_enough(const Ask& ask, std::vector<RoleCount>& counts);

// Why a gang of `size` pods cannot start as its pods are, by the parts that its object names; nothing: it can. After choose_turns().
// `system`: nullptr where its pods say the gang themselves.
std::optional<Reason> lacks_parts(const GangObject& object, const GangSystem* system,
                                  const std::vector<Role>& roles, std::int64_t size);

// Why the pods of such a role do not start yet (Turn::kLater).
Reason why_later(const GangObject& object, const std::vector<Role>& roles, const Role& role);

}  // namespace berth::dialect
