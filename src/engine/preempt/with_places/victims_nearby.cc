// Victims that the order of candidates alone does not find. Fewer of them may be beyond their disruption budgets. Some may be pods
// that the preemptor must be near to. Others must stay, since a topology spread counts them in the domain with the fewest.
#include <algorithm>
#include <map>

#include "engine/preempt/with_places/victims.h"

namespace berth::engine {

// The found set is beyond some budgets, perhaps only since its units have budgets together. With all candidates in order, those that
// go beyond a budget beside the ones before them are put last.
void VictimSearch::within_budgets() {
  while (candidates_->size() < kMostPool && candidates_->next() != Candidates::kNone) continue;
  if (steps_.ended()) return;
  Sequence within, others;
  Disrupted together(state_.disruptions, state_.now);
  for (std::uint32_t i = 0; i < candidates_->size(); ++i) {
    Disrupted more = together.beside();
    candidates_->disrupt((*candidates_)[i].unit, more);
    const bool fits = more.beyond() == 0;
    (fits ? within : others).push_back(i);
    if (fits) together.join(more);
  }
  within.insert(within.end(), others.begin(), others.end());
  consider(minimal(within));
}

bool VictimSearch::has_term(bool (*is_one)(const Counted&, CountedId)) const {
  return std::any_of(wanted_.shapes.begin(), wanted_.shapes.end(), [&](const ShapeId shape) {
    const CountedId counted = state_.shapes[shape].shape.counted;
    return counted.valid() && is_one(state_.accounts.counted(), counted);
  });
}

// All candidates that have pods on one node, and no others, one node after the other.
void VictimSearch::on_one_node() {
  candidates_.emplace(state_, lists_, id_, wanted_, steps_, Candidates::For::kNearby);
  std::map<std::uint32_t, Sequence> by_node;
  while (candidates_->size() < kMostPool) {
    const std::uint32_t i = candidates_->next();
    if (i == Candidates::kNone) break;
    candidates_->each_slot((*candidates_)[i].unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
      Sequence& there = by_node[slot.node.value];
      if (there.empty() || there.back() != i) there.push_back(i);
    });
  }
  for (const auto& [node, there] : by_node) {
    if (!steps_.has_steps()) return;
    consider(minimal(there));
  }
}

// Whether terms about other pods see one of its pods.
bool VictimSearch::has_part(const Unit& unit) const {
  bool any = false;
  candidates_->each_slot(unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
    any = any || state_.shape_of(slot.charge).counted.valid();
  });
  return any;
}

// With the places charged: a pod that comes back may break their spreads. One of their kind elsewhere may leave them too far from it.
bool VictimSearch::stay_in_place(const std::vector<PlacedSlot>& placed) const {
  return state_.accounts.fit_in_turn(placed, Mode::kPlan) &&
         state_.accounts.all_come(placed, planes_of(Mode::kPlan));
}

}  // namespace berth::engine
