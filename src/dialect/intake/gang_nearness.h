// How near to each other the pods of a gang, and those of its subgroups, are to be. Their tiers become requests by the HyperNodes there are.
// Private to the intake. Cost: O(roles log roles), beside HyperBook::request_of().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/books/draft_book.h"
#include "dialect/books/hyper_book.h"

namespace berth::dialect {

struct GangNearness {
  TopologyRequest whole;
  std::vector<TopologyRequest> parts;  // by role: of the subgroup that it is of; empty: no subgroup asks
  std::vector<std::vector<GangRing>> rings;  // by role: around its subgroup, the outermost first
  std::optional<Reason> why_not;             // the gang waits
};

// `size`: the pods that the gang needs. The roles of a subgroup are to stand side by side, since they become one group.
GangNearness nearness_of(const HyperBook& hyper_nodes, const GangObject& object,
                         const std::vector<Role>& roles, std::int64_t size);

}  // namespace berth::dialect
