// Victims node by node: for each node, what must go before one more slot of a shape fits there, and what that costs; the
// cheapest node first.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/preempt/candidates.h"

namespace berth::engine {

// The candidates of `among` (in order of rank and cost) in the order of the prices of the nodes on which they stand; those that
// help on no node are left out. A node's price is the rank and cost of the least units, in order, that make room for one more
// slot, without those that turn out not to be needed; each further slot has its own. Where more than one slot is asked for, a
// unit that stands on several nodes counts on each with its part. Nothing is charged. O(slots of `among` x devices).
std::vector<std::uint32_t> by_node_price(State& state, const Candidates& candidates, const Wanted& wanted,
                                         const std::vector<std::uint32_t>& among, std::int64_t& steps);

}  // namespace berth::engine
