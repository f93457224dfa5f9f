// Whose turn it is among the subgroups of a gang, which needs some of them. Private to the intake.
//
// Subgroups are the leaves of a tree: the gang, its rings and splits, and in these the subgroups. Each node needs so many of those in it.
// The gang starts with the subgroups that it needs, and asks for the others one by one. Such a step is one subgroup, or a ring with as
// many as the ring needs. Subgroups by labels come in the order in which they came, named ones in that of the object. One whose turn it was
// stays.
// Cost: O(subgroups^2 x depth of the tree) at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/books/draft_book.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

// Says of the roles of a gang with subgroups whose turn it is (Role::turn). The gang needs `size` pods. `bound`: pods of each role that
// have nodes. True: enough subgroups have all their pods on nodes.
bool choose_turns(std::vector<Role>& roles, const GangObject& object, std::int64_t size,
                  const std::vector<std::int64_t>& bound);

// Which subgroup lacks pods, or that there are too few subgroups; nothing: the gang can start. After choose_turns().
std::optional<Reason> lacks_subgroups(const GangObject& object, const std::vector<Role>& roles,
                                      std::int64_t size);

// Pods that name a part which the object does not have wait alone (Turn::kLater). `system`: nullptr where pods say the gang themselves.
void set_strays(std::vector<Role>& roles, const GangObject& object, const GangSystem* system);

// Why the pods of such a role do not start yet (Turn::kLater).
Reason why_later(const GangObject& object, const GangSystem* system, const std::vector<Role>& roles,
                 const Role& role);

// How many pods there are of a part in all roles, and of a role. Those that are expected count.
std::int64_t pods_of_part(const std::vector<Role>& roles, std::string_view part);
std::int64_t pods_of(const Role& role);

// That there are too few pods of a part.
Reason lacks(std::string subject, std::int64_t need, std::int64_t have);

}  // namespace berth::dialect
