// Victims node by node: the units that must go before one more slot of a shape fits, and their price. The cheapest node comes
// first.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/budget.h"
#include "engine/preempt/with_places/candidates.h"

namespace berth::engine {

struct NodePrices {
  struct Price {
    std::int64_t beyond = 0;  // pods beyond their disruption budgets, each unit for itself
    std::int64_t priority = kInt64Min;
    bool whole = false;
    std::int64_t cost = 0;
    auto operator<=>(const Price&) const = default;
  };
  std::vector<std::uint32_t> order;  // of candidates
  // The dearest among the cheapest places for all requested slots; none if there are fewer places.
  std::optional<Price> dearest;
  bool parted = false;  // a unit that stands on several nodes counts on each with its part

  // True if no unit after this one, in the order of rank and cost, can make a cheaper place. `widest`: the most slots of a unit
  // that stands on several nodes.
  bool none_cheaper_beyond(const Unit& unit, std::int64_t widest) const {
    return dearest && !unit.holder &&
           *dearest <= Price{unit.beyond, unit.priority, unit.whole, parted ? unit.cost / widest : unit.cost};
  }
};

// The candidates of `among` (in order of rank and cost), in the order of the prices of their nodes. Candidates that help on no node
// are left out. The price of a node is that of the least units, in order, that make room for one more slot. It is their pods beyond
// budgets, then their rank, then their cost. Unneeded units are left out. Each further slot has its own price. If more than one slot is requested, a unit on several nodes counts on
// each with its part. Charges nothing. O(slots of `among` x devices).
NodePrices node_prices(State& state, const Candidates& candidates, const Wanted& wanted,
                       const std::vector<std::uint32_t>& among, Budget& steps);

}  // namespace berth::engine
