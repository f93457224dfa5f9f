// Victims node by node: for each node, what must go before one more slot of a shape fits there, and what that costs; the
// cheapest node first.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/preempt/candidates.h"

namespace berth::engine {

struct NodePrices {
  struct Price {
    std::int64_t priority = kInt64Min;
    bool whole = false;
    std::int64_t cost = 0;
    auto operator<=>(const Price&) const = default;
  };
  std::vector<std::uint32_t> order;  // of candidates
  // Of the cheapest places for all slots that are asked for, the dearest; none where there are fewer places.
  std::optional<Price> dearest;
  bool parted = false;  // a unit that stands on several nodes counts on each with its part

  // Can no unit that comes after this one in the order of rank and cost make a place that is cheaper than those? `widest`: the most
  // slots of one that stands on several nodes.
  bool none_cheaper_beyond(const Unit& unit, std::int64_t widest) const {
    return dearest && !unit.holder &&
           *dearest <= Price{unit.priority, unit.whole, parted ? unit.cost / widest : unit.cost};
  }
};

// The candidates of `among` (in order of rank and cost) in the order of the prices of the nodes on which they stand; those that
// help on no node are left out. A node's price is the rank and cost of the least units, in order, that make room for one more
// slot, without those that turn out not to be needed; each further slot has its own. Where more than one slot is asked for, a
// unit that stands on several nodes counts on each with its part. Nothing is charged. O(slots of `among` x devices).
NodePrices node_prices(State& state, const Candidates& candidates, const Wanted& wanted,
                       const std::vector<std::uint32_t>& among, std::int64_t& steps);

}  // namespace berth::engine
