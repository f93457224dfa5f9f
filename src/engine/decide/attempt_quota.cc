// Decisions about work whose flavors are opaque: no nodes are known, so quota is all there is to find. Flavors, victims and
// partial admission are Kueue's (preempt/quota_only/flavor_choice.h, preempt/quota_only/quota_victims.h).
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/decide/attempt.h"
#include "engine/decide/shortage.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/cost.h"
#include "engine/preempt/rights/force.h"
#include "engine/preempt/with_places/assignments.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

// Why it does not borrow by force what it lacks, where its queue's policy would let it; "": it may, or never could.
std::string stands_back(State& state, const WorkloadState& w) {
  const PreemptionPolicy& policy = state.queues[w.queue.index()].spec.preemption;
  if (!w.may_preempt || policy.borrow_within == BorrowWithin::kNever || shares_dominantly(state, w.queue))
    return "";
  std::vector<QuotaItem> asked;  // of any flavor
  for (const auto& set : w.sets) {
    for (const ChargeId choice : state.choices(set)) {
      for (const QuotaItem& item : state.charges[choice].quota) add_item(asked, item.pair, item.amount);
    }
  }
  return may_borrow_by_force(state, w, asked) ? "" : why_not_by_force(state, w, asked);
}

}  // namespace

// Exactly so many slots of each set start, with these charges ({}: any).
bool Attempt::start_exactly(std::span<const ChargeId> charges, std::span<const std::int64_t> counts) {
  Budget steps(state_.config.search_steps);
  std::optional<Placer> placer;
  const auto to_start = [&](std::optional<Placer>& into) {
    into.emplace(state_, id_, Mode::kStart, steps, Placer::Orders{charges, counts});
  };
  if (!place(placer, Mode::kStart, to_start)) return false;
  state_.commit();
  round_.decisions.start(id_, placer->placed());
  return true;
}

// Starts, or plans with victims, exactly so many slots of each set, in the flavors that Kueue's search chooses. False: that cannot
// be. `only_ask`: nothing is decided.
bool Attempt::try_quota(std::span<const std::int64_t> counts, bool only_ask) {
  std::optional<FlavorChooser> found(std::in_place, state_, id_);
  found->run(counts);
  more_at_ = std::min(more_at_, found->more_at());
  if (found->mode() < FlavorMode::kPreempts) return false;
  reserved_.learn(w_);
  if (found->mode() == FlavorMode::kFits && !reserved_.empty()) {
    // Beside what is kept another flavor may be the one.
    Trial trial(state_);
    reserved_.charge_quota(+1);
    reserved_.charge_room(+1);
    found.emplace(state_, id_).run(counts);
    trial.rollback();
    reserved_.charge_quota(-1);
    if (found->mode() != FlavorMode::kFits) {
      beside_failed_ = true;
      return false;
    }
  }
  if (found->mode() == FlavorMode::kFits && !only_ask && start_exactly(found->charges(), counts)) return true;
  const auto plan = quota_plan(*found);
  if (!plan) return false;
  if (only_ask) return true;
  // Flavors are chosen set by set: together the sets may fit in other flavors without victims. Not if the queue prefers to preempt.
  const bool rather_not = state_.queues[w_.queue.index()].spec.flavor_search.past_preempting;
  if (!plan->victims.empty() && rather_not && w_.sets.size() > 1 && start_exactly({}, counts)) return true;
  return hold_quota(found->charges(), counts, *plan);
}

// The same in whatever flavors: those that the queue's FlavorSearch likes best of all that are to be had with victims.
bool Attempt::try_quota_anyhow(std::span<const std::int64_t> counts, bool only_ask) {
  const FlavorSearch& how = state_.queues[w_.queue.index()].spec.flavor_search;
  reserved_.learn(w_);
  struct Best {
    FlavorRating rating;
    std::vector<ChargeId> charges;
    VictimPlan plan;
  };
  std::optional<Best> best;
  Assignments all(state_, w_, {counts.begin(), counts.end()}, quota_steps_);
  if (!all.several()) return false;
  while (const Assignment* assignment = all.next()) {
    FlavorChooser chooser(state_, id_);
    chooser.take(*assignment, counts);
    if (chooser.mode() < FlavorMode::kPreempts) continue;
    const std::optional<VictimPlan> plan = quota_plan(chooser);
    if (!plan) continue;
    if (only_ask) return true;
    FlavorMode mode = plan->victims.empty() ? FlavorMode::kFits : FlavorMode::kReclaims;
    if (plan->takes_from_own_queue()) mode = FlavorMode::kPreempts;
    const FlavorRating rating{mode, chooser.borrowing()};
    if (!best || better(how, rating, best->rating)) best = {rating, chooser.charges(), *plan};
    if (search_ends(how, rating)) break;
  }
  return best && hold_quota(best->charges, counts, best->plan);
}

// The victims with which what the chooser asks for fits; none of them where it fits once what ends is gone. Nothing stays freed.
std::optional<VictimPlan> Attempt::quota_plan(const FlavorChooser& chooser) {
  VictimPlan plan;
  if (round_.decisions.takes_nothing(id_)) {
    more_at_ = std::min(more_at_, state_.now + 1);
    return std::nullopt;
  }
  if (chooser.mode() == FlavorMode::kFits) return plan;
  if (is_patient(state_, w_)) {
    more_at_ = std::min(more_at_, w_.preempts_from());
    return std::nullopt;
  }
  const auto fits = [&](bool borrowing) {
    return std::all_of(chooser.request().begin(), chooser.request().end(), [&](const QuotaItem& item) {
      if (item.amount > state_.quota.available(w_.queue, item.pair, kAfter)) return false;
      return borrowing || saturating_add(state_.quota.usage(w_.queue, item.pair, kAfter), item.amount) <=
                              state_.quota.nominal(w_.queue, item.pair);
    });
  };
  const auto room_of = [&](const Yielder& who, int sign) { free_room(state_, who, sign); };
  const QuotaVictims search{state_, id_, chooser.request(), chooser.short_pairs(), fits, more_at_, room_of};
  ++state_.stats.victim_searches;
  const auto victims = [&] {
    const Trial trial(state_);
    return search.run();
  }();
  if (!victims) return std::nullopt;
  for (const Yielder& who : *victims) {
    const WorkloadState& v = state_.workloads[who.workload.index()];
    VictimPlan::Victim victim;
    victim.workload = who.workload;
    victim.reclaim = v.queue != w_.queue;
    victim.holder = who.holder;
    victim.cost = who.holder ? 0 : victim_cost(state_, v, state_.now);
    victim.why = reason_of(who.cause);
    plan.victims.push_back(victim);
  }
  return plan;
}

// Gives it a hold with these victims, whose room is freed for all of it. False: it has to wait all the same. True, too,
// where some of them started in this decide(), and were taken back.
bool Attempt::hold_quota(std::span<const ChargeId> charges, std::span<const std::int64_t> counts,
                         VictimPlan plan) {
  took_back_ = round_.decisions.take_back(plan);
  if (took_back_ > 0) return true;  // the search begins anew
  for (const VictimPlan::Victim& v : plan.victims)
    free_room(state_, {v.workload, YieldCause::kWithinQueue, v.holder}, -1);
  Budget steps(state_.config.search_steps);
  Placer placer(state_, id_, Mode::kPlan, steps, Placer::Orders{charges, counts});
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (!placer.run() || static_cast<std::int64_t>(placer.placed().size()) < all ||
      !reserved_.stands_beside(w_, placer.placed(), Mode::kPlan)) {
    state_.abandon();
    beside_failed_ = true;
    return false;
  }
  plan.placed = placer.placed();
  state_.commit();
  round_.decisions.hold(id_, plan);
  return true;
}

void Attempt::with_quota() {
  std::vector<std::int64_t> full, spare;
  std::int64_t all_spare = 0;
  bool enough = true;
  more_at_ = kEndOfTime;
  quota_steps_ = Budget(state_.config.search_steps);
  for (const auto& set : w_.sets) {
    const std::int64_t least = std::max<std::int64_t>(0, set.least - set.active);
    enough = enough && set.waiting >= least;
    full.push_back(set.waiting);
    spare.push_back(std::max<std::int64_t>(0, set.waiting - least));
    all_spare += spare.back();
  }
  // Partial admission: all pod sets shrink in step. The largest size at which it starts or has victims; what a smaller size
  // cannot have, a larger one is taken not to have either.
  const auto largest_of = [&](auto&& try_size) {
    if (!enough) return false;
    if (try_size(full, false)) return true;
    const auto at = [&](std::int64_t step) {
      std::vector<std::int64_t> counts = full;
      for (std::size_t s = 0; s < counts.size(); ++s) {
        counts[s] -= clamp_to_int64(static_cast<Int128>(spare[s]) * step / all_spare);
      }
      return counts;
    };
    std::int64_t low = 1;
    std::int64_t high = all_spare + 1;
    while (all_spare > 0 && low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (try_size(at(middle), true)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return all_spare > 0 && low <= all_spare && try_size(at(low), false);
  };
  const auto as_kueue = [&](const auto& counts, bool ask) { return try_quota(counts, ask); };
  if (largest_of(as_kueue)) return;
  steps_ = Budget(state_.config.search_steps);
  // Flavors are chosen set by set; what goes together otherwise, or with only as many children as a group needs, starts, too.
  std::optional<Placer> placer;
  const auto to_start = [&](std::optional<Placer>& into) { into.emplace(state_, id_, Mode::kStart, steps_); };
  if (place(placer, Mode::kStart, to_start)) {
    state_.commit();
    return round_.decisions.start(id_, placer->placed());
  }
  const auto anyhow = [&](const auto& counts, bool ask) { return try_quota_anyhow(counts, ask); };
  if (largest_of(anyhow)) return;
  Failure failure = placer->failure();
  failure.steps_ended = failure.steps_ended || quota_steps_.ended() || own_ended_;
  if (auto own = own_shortage(failure)) failure = *std::move(own);
  const bool is_hopeless = std::all_of(failure.reasons.begin(), failure.reasons.end(), ends_nowhere);
  if (failure.by_quota && !failure.never && !failure.of_limit && !is_hopeless) {
    const std::string by_force = stands_back(state_, w_);
    if (is_patient(state_, w_) || !by_force.empty()) {
      failure.reasons.push_back(no_victims(state_, w_));
      failure.reasons.back().detail += by_force;
    }
  }
  park(failure, nullptr, more_at_);
}

}  // namespace berth::engine
