// Which of two sets of victims is better, and the best set among few candidates, by looking at all that could still be the best.
#include <algorithm>
#include <tuple>

#include "engine/preempt/with_places/victims.h"
#include "engine/state/trial.h"

namespace berth::engine {

VictimSearch::Worth VictimSearch::worth(const Sequence& set) const {
  Worth out{0, kInt64Min, false, 0, 0, set.size()};
  for (const std::uint32_t i : set) out.add((*candidates_)[i].unit);
  if (!state_.disruptions.any()) return out;
  Disrupted together(state_.disruptions, state_.now);
  for (const std::uint32_t i : set) candidates_->disrupt((*candidates_)[i].unit, together);
  out.beyond = together.beyond();
  return out;
}

void VictimSearch::Worth::add(const Unit& unit) {
  cost = saturating_add(cost, unit.cost);
  if (unit.holder) return;
  ++evicted;
  beyond += unit.beyond;  // others together with it can only be more
  if (std::tie(unit.priority, unit.whole) > std::tie(priority, whole)) {
    priority = unit.priority;
    whole = unit.whole;
  }
}

void VictimSearch::consider(std::optional<Sequence> found) {
  if (found && (!best_ || worth(*found) < worth(*best_))) best_ = std::move(found);
}

struct VictimSearch::Exact {
  Sequence order;  // dearest first; a whole before its parts
  std::vector<std::uint8_t> kept;
  std::size_t fits_left = 0;
  bool by_cost = true;  // the best that is known has the lowest possible rank
};

// Everything in the pool is gone; then, from the dearest on, each comes back or stays gone, in all ways that could still be
// better than the best.
void VictimSearch::exact(const Sequence& pool, std::size_t most_fits) {
  Exact search;
  search.fits_left = most_fits;
  search.order = pool;
  // Where some came when their queue borrowed no longer, others of lower rank may do in another order.
  // Beyond budgets the rank comes second, and another may be lower.
  search.by_cost = best_.has_value() && !candidates_->some_were_protected() && worth(*best_).beyond == 0;
  std::sort(search.order.begin(), search.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Unit& x = (*candidates_)[a].unit;
    const Unit& y = (*candidates_)[b].unit;
    return std::make_tuple(!x.whole, -x.cost, a) < std::make_tuple(!y.whole, -y.cost, b);
  });
  Trial trial(state_);
  for (const std::uint32_t i : pool) candidates_->free(i);
  if (fits()) exact_from(search, 0, {0, kInt64Min, false, 0, 0, 0});
  trial.rollback();
  candidates_->forget_freed(pool);
}

void VictimSearch::exact_from(Exact& search, std::size_t at, Worth so_far) {
  if (best_) {
    const Worth best = worth(*best_);
    if (search.by_cost) std::tie(so_far.priority, so_far.whole) = std::tie(best.priority, best.whole);
    const auto key = [](const Worth& w) {
      return std::tie(w.beyond, w.priority, w.whole, w.cost, w.evicted);
    };
    if (key(so_far) >= key(best)) return;
  }
  if (at == search.order.size()) {
    Sequence set;
    for (const std::uint32_t i : search.order) {
      if ((*candidates_)[i].freed) set.push_back(i);
    }
    if (may_all_go(set) && would_stay_away(set)) consider(set);
    return;
  }
  if (!steps_.has_steps() || search.fits_left == 0) return;
  const std::uint32_t i = search.order[at];
  if (candidates_->may_come_back(i)) {
    candidates_->give_back(i);
    --search.fits_left;
    if (fits()) exact_from(search, at + 1, so_far);
    candidates_->free(i);
  }
  so_far.add((*candidates_)[i].unit);
  exact_from(search, at + 1, so_far);
}

// May all of a set that is freed go, in some order: each while its queue still borrows? The unit that frees least borrowed quota
// goes first: that lets most units go, also across workloads (a surplus slot after a smaller whole). The right pair differs by
// queue, so each is tried. The set is put into the order that was found.
bool VictimSearch::may_all_go(Sequence& set) {
  const auto in_order = [&](const QuotaItem* by) {
    const auto key = [&](std::uint32_t i) {
      const auto& c = (*candidates_)[i];
      const bool counts = c.of_other_queue() && by != nullptr;
      return std::make_tuple(!c.unit.holder, counts ? candidates_->frees(i, by->pair) : 0, c.unit.whole, i);
    };
    std::sort(set.begin(), set.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  };
  const bool reclaims = std::any_of(set.begin(), set.end(),
                                    [&](std::uint32_t i) { return (*candidates_)[i].of_other_queue(); });
  if (!reclaims) {
    in_order(nullptr);
    return true;
  }
  bool all = false;
  for (std::size_t k = 0; k < wanted_.quota.size() && !all; ++k) {
    in_order(&wanted_.quota[k]);
    Trial trial(state_);
    undo(set);
    Sequence taken;
    all = std::all_of(set.begin(), set.end(), [&](std::uint32_t i) { return candidates_->take(i, taken); });
    trial.rollback();
    for (const std::uint32_t i : set) candidates_->mark_freed(i);
  }
  return all;
}

// For a freed set: a preemptor that borrows by force has no right to the room of a victim that fits into its own quota once the
// others of the set are gone. The victim would take the room back at once, and so on for ever.
bool VictimSearch::would_stay_away(const Sequence& set) {
  return std::all_of(set.begin(), set.end(), [&](std::uint32_t i) {
    if ((*candidates_)[i].cause != YieldCause::kReclaimWhileBorrowing) return true;
    candidates_->give_back(i);
    const bool borrows = candidates_->still_borrows(i);
    candidates_->free(i);
    return borrows;
  });
}

}  // namespace berth::engine
