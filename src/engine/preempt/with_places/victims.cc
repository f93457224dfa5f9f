#include "engine/preempt/with_places/victims.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <tuple>

#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/force.h"
#include "engine/preempt/with_places/node_prices.h"
#include "engine/state/limits.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

constexpr std::size_t kExact = 12;        // candidates of which all sets are looked at
constexpr std::size_t kNearlyExact = 20;  // the same after a good set is known, which bounds the search
constexpr std::size_t kNearlyExactFits = 200;
constexpr std::size_t kExactFits = 2000;  // of one exact look
constexpr std::size_t kWindow =
    32;  // candidates beyond the prefix, where only quota is short; the first ones for nodes
constexpr std::size_t kManyTaken = 64;  // from here on, victims far from the places are given back first

bool spreads(const Counted& counted, CountedId id) {
  return counted.has_spread(id);
}

}  // namespace

VictimSearch::VictimSearch(State& state, UnitLists& lists, WorkloadId preemptor, Budget& steps)
    : state_(state), lists_(lists), id_(preemptor), w_(state.workloads[preemptor.index()]), steps_(steps) {}

bool may_have_victims(const State& state, const WorkloadState& w) {
  const QueueState& q = state.queues[w.queue.index()];
  const PreemptionPolicy& policy = q.spec.preemption;
  if (!w.may_preempt) return false;
  if (policy.within != WithinQueue::kNever && !q.holders.empty()) return true;
  if (policy.within == WithinQueue::kLaterInOrder && !q.started.empty()) return true;
  if (policy.within != WithinQueue::kNever && !q.priorities.empty()) {
    const std::int64_t lowest = q.priorities.begin()->first;
    const std::int64_t ours = claim_of(w).priority;
    if (lowest < ours || (policy.within == WithinQueue::kLowerOrNewerEqual && lowest == ours)) return true;
  }
  return policy.reclaim != Reclaim::kNever && !q.spec.unlimited && state.quota.parent(w.queue).valid();
}

std::optional<VictimPlan> VictimSearch::run(Ask ask, const Assignment* only) {
  // Berth evicts nothing to make room in such a limit: a request above the least would count on ends of work that it counts.
  ask_ = is_limited(state_, w_) ? Ask::kLeast : ask;
  more_at_ = kEndOfTime;
  why_not_ = no_victims(state_, w_);
  if (!may_have_victims(state_, w_)) return std::nullopt;
  if (is_patient(state_, w_)) {
    more_at_ = w_.preempts_from();
    return std::nullopt;
  }
  ++state_.stats.victim_searches;
  some_are_slow_ = false;
  lacked_places_ = false;
  by_force_.clear();
  if (only != nullptr) return run_entitled(*only);
  if (auto plan = run_any()) return plan;
  if (steps_.ended()) {
    why_not_ = {ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}};
    return std::nullopt;
  }
  if (more_at_ != kEndOfTime) why_not_.detail += "; some may be preempted later";
  if (some_are_slow_) why_not_.detail += "; some pods would end too late";
  why_not_.detail += by_force_;
  return std::nullopt;
}

std::optional<VictimPlan> VictimSearch::run_any() {
  const FlavorSearch& how = state_.queues[w_.queue.index()].spec.flavor_search;
  struct Best {
    FlavorRating rating;
    Worth worth;
    Assignment assignment;
  };
  std::optional<Best> best;
  for (const bool leaving_out : {false, true}) {
    if (leaving_out && (w_.needs_all || best || steps_.ended())) break;
    Assignments all(state_, w_, needs_of(w_, ask_), steps_, leaving_out);
    while (const Assignment* assignment = all.next()) {
      auto plan = run_entitled(*assignment);
      if (!plan) continue;
      const FlavorRating rating = rate(*plan);
      if ((!all.several() && !leaving_out) || search_ends(how, rating)) return plan;
      state_.abandon();
      const bool alike = best && !better(how, rating, best->rating) && !better(how, best->rating, rating);
      const bool by_worth = candidates_->order() == VictimOrder::kCost && !fair_;
      if (!best || better(how, rating, best->rating) || (alike && by_worth && worth_ < best->worth))
        best = {rating, worth_, *assignment};
    }
  }
  if (!best) return std::nullopt;
  // Known to be there; found again rather than kept, since what it charges was taken back.
  steps_.grant(state_.config.search_steps);
  return run_with(best->assignment);
}

// None where its own queue would have to yield to it while it borrows, and it may not have that.
std::optional<VictimPlan> VictimSearch::run_entitled(const Assignment& assignment) {
  auto plan = run_with(assignment);
  some_are_slow_ = some_are_slow_ || candidates_->some_are_slow();
  if (candidates_->rights().stands_back()) by_force_ = why_not_by_force(state_, w_, wanted_.quota);
  if (!plan || !plan->takes_from_own_queue()) return plan;
  std::string why = why_not_while_borrowing(state_, w_, plan->placed);
  if (why.empty()) return plan;
  state_.abandon();
  by_force_ = std::move(why);
  return std::nullopt;
}

void VictimSearch::find_wanted() {
  wanted_ = Wanted{};
  const std::vector<Extent> extents = extents_of(w_, ask_);
  std::map<FlavorResource, std::int64_t> needs;
  for (std::size_t s = 0; s < w_.sets.size(); ++s) {
    if (!assignment_[s].valid() || extents[s].want == 0) continue;
    const Charge& c = state_.charges[assignment_[s]];
    const auto known = std::find(wanted_.shapes.begin(), wanted_.shapes.end(), c.shape);
    if (known == wanted_.shapes.end()) {
      wanted_.shapes.push_back(c.shape);
      wanted_.slots.push_back(extents[s].need);
    } else {
      wanted_.slots[static_cast<std::size_t>(known - wanted_.shapes.begin())] += extents[s].need;
    }
    for (const QuotaItem& item : c.quota) {
      auto& need = needs[item.pair];
      need = saturating_add(need, saturating_mul(item.amount, extents[s].need));
    }
  }
  for (const auto& [pair, amount] : needs) wanted_.quota.push_back({pair, amount});
}

// With the room of the victims free and the places charged.
FlavorRating VictimSearch::rate(const VictimPlan& plan) const {
  const bool own = std::any_of(plan.victims.begin(), plan.victims.end(),
                               [](const VictimPlan::Victim& v) { return !v.reclaim; });
  return {own ? FlavorMode::kPreempts : FlavorMode::kReclaims,
          state_.quota.reach(w_.queue, wanted_.quota, 0)};
}

std::optional<VictimPlan> VictimSearch::run_with(const Assignment& assignment) {
  assignment_ = assignment;
  best_.reset();
  find_wanted();
  fair_.reset();
  const bool fair = shares_dominantly(state_, w_.queue);
  candidates_.emplace(state_, lists_, id_, wanted_, steps_,
                      fair ? Candidates::For::kTurns : Candidates::For::kRank);
  const auto beyond_limit = [&](const QuotaItem& item) {
    return item.amount > 0 && item.amount > limit_room(state_, w_, item.pair, Mode::kPlan);
  };
  if (std::any_of(wanted_.quota.begin(), wanted_.quota.end(), beyond_limit)) return std::nullopt;
  if (fair) {
    fair_units_.emplace(*candidates_);
    fair_.emplace(state_, id_, wanted_.quota, candidates_->rights().contested(), *fair_units_);
    consider(minimal([this] {
      const FairOrder::Turn turn = fair_->next();
      if (turn.candidate != Candidates::kNone) candidates_->set_cause(turn.candidate, turn.cause);
      return turn.candidate;
    }));
  } else {
    consider(minimal([this] { return candidates_->next(); }));
    if (best_ && worth(*best_).beyond > 0) within_budgets();
  }
  if (steps_.ended()) return std::nullopt;
  if (!best_ && !fair && candidates_->some_were_protected()) {
    // In that order the ones that would have helped came when their queue borrowed no longer.
    Sequence all(candidates_->size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    if (all.size() <= kExact) {
      exact(all, kExactFits);
    } else {
      consider(minimal(node_prices(state_, *candidates_, wanted_, all, steps_).order));
    }
  }
  if (!best_ && !fair && (candidates_->some_are_nearby() || has_term(spreads))) on_one_node();
  if (!best_) {
    more_at_ = std::min(more_at_, enough_at());
    return std::nullopt;
  }
  if (candidates_->order() == VictimOrder::kCost && !fair) improve();
  return plan_of(*best_);
}

// ----------------------------------------------------------------------------------------------------- one sequence of them

bool VictimSearch::fits(std::vector<PlacedSlot>* placed) {
  steps_.spend();
  for (const QuotaItem& item : wanted_.quota) {
    if (item.amount > 0 && item.amount > state_.quota.available(w_.queue, item.pair, kAfter)) return false;
  }
  Placer placer(state_, id_, Mode::kPlan, steps_, &assignment_, ask_);
  lacked_places_ = true;
  if (!placer.may_fit()) return false;
  if (placed == nullptr) placer.without_preferences();
  Trial trial(state_);
  if (!placer.run()) return false;
  if (placed != nullptr) {
    *placed = placer.placed();
    trial.stay();
  }
  return true;
}

bool VictimSearch::take_until_fits(const std::function<std::uint32_t()>& from, Sequence& taken) {
  std::size_t step = 1;
  while (true) {
    const std::size_t before = taken.size();
    bool more = true;
    while (taken.size() < before + step && !steps_.ended()) {
      const std::uint32_t next = from();
      if (next == Candidates::kNone) {
        more = false;
        break;
      }
      candidates_->take(next, taken);
    }
    if (taken.size() > before && fits()) {
      shorten(taken, before);
      return true;
    }
    if (!more || steps_.ended()) return false;
    step *= 2;
  }
}

// The shortest prefix that fits; `too_few` of them do not.
void VictimSearch::shorten(Sequence& taken, std::size_t too_few) {
  Sequence rest;  // given back, the last one first
  while (taken.size() - too_few > 1 && !steps_.ended()) {
    const std::size_t middle = too_few + (taken.size() - too_few) / 2;
    const std::size_t had = taken.size();
    for (std::size_t i = had; i-- > middle;) candidates_->give_back(taken[i]);
    if (fits()) {
      taken.resize(middle);
    } else {
      for (std::size_t i = middle; i < had; ++i) candidates_->free(taken[i]);
      too_few = middle;
    }
  }
}

VictimSearch::Sequence VictimSearch::reprieve(const Sequence& taken) {
  Sequence kept = taken;
  if (kept.size() > kManyTaken && !fair_) {
    // A victim that is neither on the nodes of the places nor needed for quota can come back without a search.
    Trial trial(state_);
    std::vector<PlacedSlot> placed;
    if (fits(&placed)) {
      keep_only_needed(kept, placed);
      for (const PlacedSlot& p : placed) {
        state_.accounts.try_charge(charged(w_, p), kAfterBit, -1);
      }
      trial.stay();
    }
  }
  return needed_of(std::move(kept), [&](const Unit&) { return steps_.has_steps() && fits(); });
}

// Gives back those that `fits_with(unit)` lets come back, the last one first. Beside terms about other pods, one that comes back may let
// another one do so. A spread may have more then in the domain with the fewest, or a pod is near again.
VictimSearch::Sequence VictimSearch::needed_of(Sequence victims,
                                               const std::function<bool(const Unit&)>& fits_with) {
  const bool by_others = has_term(
      [](const Counted& counted, CountedId id) { return counted.has_spread(id) || counted.has_near(id); });
  for (bool again = true; std::exchange(again, false);) {
    Sequence needed;
    for (std::size_t i = victims.size(); i-- > 0;) {
      if (candidates_->may_come_back(victims[i])) {
        candidates_->give_back(victims[i]);
        const Unit& unit = (*candidates_)[victims[i]].unit;
        if (fits_with(unit)) {
          again = again || (by_others && has_part(unit));
          continue;
        }
        candidates_->free(victims[i]);
      }
      needed.push_back(victims[i]);
    }
    std::reverse(needed.begin(), needed.end());
    victims = std::move(needed);
  }
  return victims;
}

// Among the victims that had their turns, the ones whose room is needed; none if they would not have had their turns alone. If the
// others depend on the eviction of unneeded work of the preemptor's own queue, it tries to use that work instead of them.
std::optional<VictimSearch::Sequence> VictimSearch::reprieve_fairly(const Sequence& taken) {
  Sequence kept = reprieve(taken);
  if (fair_->legal(kept)) return kept;
  for (const std::uint32_t i : taken) {
    if (!(*candidates_)[i].freed) candidates_->free(i);
  }
  Sequence own_first = taken;
  std::stable_partition(own_first.begin(), own_first.end(),
                        [&](std::uint32_t i) { return !(*candidates_)[i].of_other_queue(); });
  reprieve(own_first);
  kept.clear();
  std::copy_if(taken.begin(), taken.end(), std::back_inserter(kept),
               [&](std::uint32_t i) { return (*candidates_)[i].freed; });
  if (fair_->legal(kept)) return kept;
  return std::nullopt;
}

void VictimSearch::undo(const Sequence& taken) {
  for (std::size_t i = taken.size(); i-- > 0;) candidates_->give_back(taken[i]);
}

std::optional<VictimSearch::Sequence> VictimSearch::minimal(const std::function<std::uint32_t()>& from) {
  Trial trial(state_);
  Sequence taken;
  std::optional<Sequence> kept;
  if (take_until_fits(from, taken)) kept = fair_ ? reprieve_fairly(taken) : reprieve(taken);
  if (kept && !would_stay_away(*kept)) kept.reset();
  trial.rollback();
  candidates_->forget_freed(taken);
  // The bound ended the check that all of them are needed: nothing is evicted on a guess.
  if (kept && !steps_.has_steps()) {
    steps_.end();
    kept.reset();
  }
  return kept;
}

std::optional<VictimSearch::Sequence> VictimSearch::minimal(const Sequence& from) {
  std::size_t at = 0;
  return minimal([&] { return at < from.size() ? from[at++] : Candidates::kNone; });
}

// ------------------------------------------------------------------------------------------------------- which set is best

bool VictimSearch::nodes_are_short() {
  if (!state_.structures[w_.structure].groups[0].topology.empty()) return true;
  for (std::size_t s = 0; s < wanted_.shapes.size(); ++s) {
    if (!state_.index(wanted_.shapes[s], Mode::kPlan).has_total(wanted_.slots[s])) return true;
  }
  return false;
}

void VictimSearch::improve() {
  const Worth first = worth(*best_);
  if (first.evicted == 0) return;  // only holds give way
  const bool nodes_short = nodes_are_short();
  const std::string& required = state_.structures[w_.structure].groups[0].topology.required;
  const auto level = required.empty() ? std::nullopt : state_.nodes.domains().level_of(required);
  const bool by_node = nodes_short && !level;
  const auto beyond = [&](std::uint32_t i) {
    const Unit& unit = (*candidates_)[i].unit;
    return !unit.holder && std::tie(unit.beyond, unit.priority, unit.whole) >
                               std::tie(first.beyond, first.priority, first.whole);
  };
  Sequence pool;
  std::uint32_t last = Candidates::kNone;
  const auto look_at = [&](std::size_t most) {
    bool more = true;
    while (more && candidates_->size() < most) {
      const std::uint32_t i = candidates_->next();
      more = i != Candidates::kNone && !beyond(i);
      if (more) last = i;
    }
    pool.clear();
    for (std::uint32_t i = 0; i < candidates_->size(); ++i) {
      if (!beyond(i)) pool.push_back(i);
    }
    return more && candidates_->size() < kMostPool;
  };
  NodePrices prices;
  if (by_node) {
    // Further units cost more, so that at some point no node can become cheaper than those that are known.
    for (std::size_t n = candidates_->size() + kWindow;; n = candidates_->size() * 4) {
      const bool more = look_at(n);
      if (steps_.ended() || pool.size() <= kExact) break;
      prices = node_prices(state_, *candidates_, wanted_, pool, steps_);
      if (!more || (last != Candidates::kNone &&
                    prices.none_cheaper_beyond((*candidates_)[last].unit, candidates_->widest())))
        break;
    }
  } else {
    look_at(nodes_short ? kMostPool : candidates_->size() + kWindow);
  }
  if (steps_.ended()) {
    steps_.forgive();  // what was found is a minimal set all the same
    return;
  }
  if (pool.size() <= kExact) return exact(pool, kExactFits);
  // One of least cost among those of the lowest rank that will do: nothing can be cheaper.
  if (best_->size() == 1 && best_->front() == pool.front()) return;

  Sequence seen = *best_;
  const auto also = [&](std::optional<Sequence> found) {
    if (!found) return;
    seen.insert(seen.end(), found->begin(), found->end());
    consider(std::move(found));
  };
  if (level) {
    for (const DomainId domain : state_.nodes.domains().levels()[*level].domains) {
      const Sequence inside = within_domain(pool, domain);
      if (inside.empty() || !steps_.has_steps()) continue;
      also(minimal(inside));
      if (steps_.has_steps()) also(minimal(node_prices(state_, *candidates_, wanted_, inside, steps_).order));
    }
  } else if (nodes_short) {
    also(minimal(prices.order));
  } else if (Sequence by_worth = by_value(pool); by_worth != pool) {
    also(minimal(by_worth));
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  if (pool.size() <= kNearlyExact) seen = pool;
  const bool all = seen.size() == pool.size();
  if (steps_.has_steps() && (all || seen.size() <= kExact) && seen.size() > best_->size())
    exact(seen, seen.size() <= kExact ? kExactFits : kNearlyExactFits);
  steps_.forgive();
}

// By the short quota that each frees for its cost: the most first.
VictimSearch::Sequence VictimSearch::by_value(const Sequence& among) const {
  struct Valued {
    std::int64_t freed = 0;
    std::int64_t cost = 0;
    std::uint32_t i = 0;
  };
  std::vector<Valued> valued;
  for (const std::uint32_t i : among) {
    Valued v{0, (*candidates_)[i].unit.cost, i};
    for (const QuotaItem& item : wanted_.quota) {
      if (item.amount <= state_.quota.available(w_.queue, item.pair, kAfter)) continue;
      v.freed = std::min(candidates_->frees(i, item.pair), item.amount);
      break;
    }
    valued.push_back(v);
  }
  std::stable_sort(valued.begin(), valued.end(), [](const Valued& a, const Valued& b) {
    return Int128{a.cost} * b.freed < Int128{b.cost} * a.freed;
  });
  Sequence out;
  for (const Valued& v : valued) out.push_back(v.i);
  return out;
}

VictimSearch::Sequence VictimSearch::within_domain(const Sequence& among, DomainId domain) const {
  const std::uint32_t level = state_.nodes.domains()[domain].level;
  Sequence out;
  for (const std::uint32_t i : among) {
    bool inside = false;
    candidates_->each_slot((*candidates_)[i].unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
      inside = inside || state_.nodes.domains().of(slot.node, level) == domain;
    });
    if (inside) out.push_back(i);
  }
  return out;
}

// ---------------------------------------------------------------------------------------------------------------- the plan

std::optional<VictimPlan> VictimSearch::plan_of(const Sequence& victims) {
  VictimPlan plan;
  Sequence chosen;
  for (const std::uint32_t i : victims) {
    if (!candidates_->take(i, chosen)) {
      state_.abandon();
      return std::nullopt;
    }
  }
  steps_.grant(100'000);  // it is known to fit: it must not fail for lack of steps
  if (ask_ == Ask::kLeast) ask_ = Ask::kClaim;
  // The right to evict must also hold for the final places, including slots beyond the least.
  if (!fits(&plan.placed) || !stays_entitled(chosen, plan.placed)) {
    state_.abandon();
    return std::nullopt;
  }
  keep_only_needed(chosen, plan.placed);
  if (!would_stay_away(chosen) || (fair_ && !fair_->legal(chosen, true))) {
    state_.abandon();
    return std::nullopt;
  }
  worth_ = worth(chosen);
  for (const std::uint32_t i : chosen) {
    const Unit& unit = (*candidates_)[i].unit;
    auto it = std::find_if(plan.victims.begin(), plan.victims.end(), [&](const VictimPlan::Victim& v) {
      return v.workload == unit.workload && v.holder == unit.holder;
    });
    // Few are elastic: those that are not stand alone.
    if (it == plan.victims.end()) {
      const auto& candidate = (*candidates_)[i];
      plan.victims.push_back(
          {unit.workload, candidate.of_other_queue(), unit.holder, false, {}, 0, reason_of(candidate.cause)});
    } else {
      // Its turn is that of its last unit: a queue that borrowed when its first one went still does before any of them has, and
      // those between came while it did.
      std::rotate(it, std::next(it), plan.victims.end());
    }
    it = std::prev(plan.victims.end());
    it->cost = saturating_add(it->cost, unit.cost);
    it->whole = it->whole || unit.whole;
    if (!unit.whole && !unit.holder) it->slots.emplace_back(unit.set, unit.slot);
  }
  return plan;
}

// The search asks whether a fit can be found without a victim, and finds fits greedily. With the places as they are now,
// some victim may stay after all: then it does.
void VictimSearch::keep_only_needed(Sequence& victims, const std::vector<PlacedSlot>& placed) {
  victims = needed_of(std::move(victims), [&](const Unit& unit) {
    return fits_beside(unit, placed) && (!has_part(unit) || stay_in_place(placed));
  });
}

// With both charged: is no node of the victim, no queue on the preemptor's way up, and no limit of it beyond what it has?
bool VictimSearch::fits_beside(const Unit& unit, const std::vector<PlacedSlot>& placed) const {
  const WorkloadState& v = state_.workloads[unit.workload.index()];
  bool ok = true;
  candidates_->each_slot(unit, [&](const Slot& slot, std::uint32_t, std::uint32_t) {
    ok = ok && !state_.accounts.overdrawn_on_node(charged(v, slot), Mode::kPlan);
  });
  ChargeId last;
  for (const PlacedSlot& p : placed) {
    if (!ok || p.charge == last) continue;
    last = p.charge;
    ok = !state_.accounts.overdraws_a_queue(charged(w_, p), Mode::kPlan);
  }
  return ok;
}

// With the places charged, does our side of the tree still stay within its own quota wherever something was reclaimed, and
// would all have had their turns where queues share? Slots beyond the least count are given back until it is so.
bool VictimSearch::stays_entitled(const Sequence& victims, std::vector<PlacedSlot>& placed) {
  std::vector<QueueId> sides;
  for (const std::uint32_t i : victims) {
    if ((*candidates_)[i].cause != YieldCause::kReclaim || fair_) continue;
    const QueueId side =
        candidates_->rights().side_towards(state_.workloads[(*candidates_)[i].unit.workload.index()].queue);
    if (std::find(sides.begin(), sides.end(), side) == sides.end()) sides.push_back(side);
  }
  const auto within = [&] {
    if (fair_) return fair_->legal(victims, true);
    return std::all_of(sides.begin(), sides.end(), [&](const QueueId side) {
      return std::all_of(wanted_.quota.begin(), wanted_.quota.end(), [&](const QuotaItem& item) {
        return state_.quota.usage(side, item.pair, kAfter) <= state_.quota.subtree(side, item.pair);
      });
    });
  };
  std::vector<std::int64_t> spare(w_.sets.size());
  for (const PlacedSlot& p : placed) ++spare[p.set];
  const std::vector<Extent> extents = extents_of(w_, Ask::kLeast);
  for (std::size_t s = 0; s < spare.size(); ++s) spare[s] -= extents[s].need;
  while (!within()) {
    const auto surplus =
        std::find_if(placed.rbegin(), placed.rend(), [&](const PlacedSlot& p) { return spare[p.set] > 0; });
    if (surplus == placed.rend() || placed.size() == 1) return false;
    --spare[surplus->set];
    state_.accounts.try_charge(charged(w_, *surplus), kAfterBit, -1);
    placed.erase(std::next(surplus).base());
  }
  return true;
}

// The time from which candidates that are too young now would make enough room, with all others gone.
TimeMs VictimSearch::enough_at() {
  if (!candidates_->some_are_young() || steps_.ended()) return kEndOfTime;
  // Whose turn it is then depends on what runs then, and so does which pods must stay.
  if (fair_ || candidates_->are_nearby()) return candidates_->first_young();
  Trial trial(state_);
  Sequence taken;
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(candidates_->size()); i < n; ++i) {
    candidates_->take(i, taken);
  }
  const auto young = candidates_->add_young();
  const std::size_t others = taken.size();
  std::vector<TimeMs> times(others, 0);
  for (const auto& [time, i] : young) {
    candidates_->take(i, taken);
    times.resize(taken.size(), time);
  }
  TimeMs at = kEndOfTime;
  if (taken.size() > others && fits()) {
    shorten(taken, others);
    at = times[taken.size() - 1];
  } else if (candidates_->some_were_protected() || steps_.ended()) {
    // A queue's own quota or the bound of the search stood in the way: nothing is known but the first time.
    at = young.front().first;
  }
  trial.rollback();
  candidates_->forget_all_freed();
  return at;
}

}  // namespace berth::engine
