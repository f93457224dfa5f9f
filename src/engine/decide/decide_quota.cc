// Decisions about work whose flavors are opaque: no nodes are known, so quota is all there is to find. Flavors, victims and
// partial admission are Kueue's (preempt/quota_only/flavor_choice.h, preempt/quota_only/quota_victims.h).
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/decide/decide.h"
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

bool Decider::places_are_unknown(const WorkloadState& w) const {
  bool any = false;
  for (const auto& set : w.sets) {
    if (set.waiting == 0) continue;
    const std::vector<ChargeId> choices = state_.choices(set);
    const bool unknown = std::all_of(choices.begin(), choices.end(),
                                     [&](const ChargeId choice) { return state_.shape_of(choice).opaque; });
    if (choices.empty() || !unknown) return false;
    any = true;
  }
  return any;
}

// Starts, or plans with victims, exactly so many slots of each set, in the flavors that Kueue's search chooses. False: that cannot
// be. `only_ask`: nothing is decided.
bool Decider::try_quota(WorkloadId id, std::span<const std::int64_t> counts, bool only_ask) {
  const WorkloadState& w = state_.workloads[id.index()];
  std::optional<FlavorChooser> found(std::in_place, state_, id);
  found->run(counts);
  more_at_ = std::min(more_at_, found->more_at());
  if (found->mode() < FlavorMode::kPreempts) return false;
  learn_kept(w);
  if (found->mode() == FlavorMode::kFits && (!kept_.empty() || !reserved_.empty())) {
    // Beside what is kept another flavor may be the one.
    Trial trial(state_);
    charge_kept(+1);
    charge_reserved(+1);
    found.emplace(state_, id).run(counts);
    trial.rollback();
    charge_kept(-1);
    if (found->mode() != FlavorMode::kFits) {
      beside_failed_ = true;
      return false;
    }
  }
  const auto starts = [&](std::span<const ChargeId> charges) {
    Budget steps(state_.config.search_steps);
    std::optional<Placer> placer;
    const auto to_start = [&](std::optional<Placer>& into) {
      into.emplace(state_, id, Mode::kStart, steps, Placer::Orders{charges, counts});
    };
    if (!run_beside_kept(placer, id, Mode::kStart, to_start)) return false;
    state_.commit();
    start(id, placer->placed());
    return true;
  };
  if (found->mode() == FlavorMode::kFits && !only_ask && starts(found->charges())) return true;
  const auto plan = quota_plan(id, *found);
  if (!plan) return false;
  if (only_ask) return true;
  // Flavors are chosen set by set: together the sets may fit in other flavors without victims. Not if the queue prefers to preempt.
  const bool rather_not = state_.queues[w.queue.index()].spec.flavor_search.past_preempting;
  if (!plan->victims.empty() && rather_not && w.sets.size() > 1 && starts({})) return true;
  return hold_quota(id, found->charges(), counts, *plan);
}

// The same in whatever flavors: those that the queue's FlavorSearch likes best of all that are to be had with victims.
bool Decider::try_quota_anyhow(WorkloadId id, std::span<const std::int64_t> counts, bool only_ask) {
  const WorkloadState& w = state_.workloads[id.index()];
  const FlavorSearch& how = state_.queues[w.queue.index()].spec.flavor_search;
  learn_kept(w);
  struct Best {
    FlavorRating rating;
    std::vector<ChargeId> charges;
    VictimPlan plan;
  };
  std::optional<Best> best;
  Assignments all(state_, w, {counts.begin(), counts.end()}, quota_steps_);
  if (!all.several()) return false;
  while (const Assignment* assignment = all.next()) {
    FlavorChooser chooser(state_, id);
    chooser.take(*assignment, counts);
    if (chooser.mode() < FlavorMode::kPreempts) continue;
    const std::optional<VictimPlan> plan = quota_plan(id, chooser);
    if (!plan) continue;
    if (only_ask) return true;
    FlavorMode mode = plan->victims.empty() ? FlavorMode::kFits : FlavorMode::kReclaims;
    if (plan->takes_from_own_queue()) mode = FlavorMode::kPreempts;
    const FlavorRating rating{mode, chooser.borrowing()};
    if (!best || better(how, rating, best->rating)) best = {rating, chooser.charges(), *plan};
    if (search_ends(how, rating)) break;
  }
  return best && hold_quota(id, best->charges, counts, best->plan);
}

// The victims with which what the chooser asks for fits; none of them where it fits once what ends is gone. Nothing stays freed.
std::optional<VictimPlan> Decider::quota_plan(WorkloadId id, const FlavorChooser& chooser) {
  const WorkloadState& w = state_.workloads[id.index()];
  VictimPlan plan;
  if (takes_nothing(id)) {
    more_at_ = std::min(more_at_, state_.now + 1);
    return std::nullopt;
  }
  if (chooser.mode() == FlavorMode::kFits) return plan;
  if (is_patient(state_, w)) {
    more_at_ = std::min(more_at_, w.patient_until);
    return std::nullopt;
  }
  const auto fits = [&](bool borrowing) {
    return std::all_of(chooser.request().begin(), chooser.request().end(), [&](const QuotaItem& item) {
      if (item.amount > state_.quota.available(w.queue, item.pair, kAfter)) return false;
      return borrowing || saturating_add(state_.quota.usage(w.queue, item.pair, kAfter), item.amount) <=
                              state_.quota.nominal(w.queue, item.pair);
    });
  };
  const auto room_of = [&](const Yielder& who, int sign) { free_room(state_, who, sign); };
  const QuotaVictims search{state_, id, chooser.request(), chooser.short_pairs(), fits, more_at_, room_of};
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
    victim.reclaim = v.queue != w.queue;
    victim.holder = who.holder;
    victim.cost = who.holder ? 0 : victim_cost(state_, v, state_.now);
    victim.why = reason_of(who.cause);
    plan.victims.push_back(victim);
  }
  return plan;
}

// Gives it a hold with these victims, whose room is freed for all of it. False: it has to wait all the same. True, too,
// where some of them started in this decide(), and were taken back.
bool Decider::hold_quota(WorkloadId id, std::span<const ChargeId> charges,
                         std::span<const std::int64_t> counts, VictimPlan plan) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (take_back(plan)) return true;  // the search begins anew
  for (const VictimPlan::Victim& v : plan.victims)
    free_room(state_, {v.workload, YieldCause::kWithinQueue, v.holder}, -1);
  Budget steps(state_.config.search_steps);
  Placer placer(state_, id, Mode::kPlan, steps, Placer::Orders{charges, counts});
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (!placer.run() || static_cast<std::int64_t>(placer.placed().size()) < all ||
      !stands_beside_kept(w, placer.placed(), Mode::kPlan)) {
    state_.abandon();
    beside_failed_ = true;
    return false;
  }
  plan.placed = placer.placed();
  state_.commit();
  hold(id, plan);
  return true;
}

void Decider::attempt_quota(ClassId class_id, WorkloadId id) {
  const WorkloadState& w = state_.workloads[id.index()];
  std::vector<std::int64_t> full, spare;
  std::int64_t all_spare = 0;
  bool enough = true;
  more_at_ = kEndOfTime;
  quota_steps_ = Budget(state_.config.search_steps);
  for (const auto& set : w.sets) {
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
  const auto as_kueue = [&](const auto& counts, bool ask) { return try_quota(id, counts, ask); };
  if (largest_of(as_kueue)) return;
  Budget steps(state_.config.search_steps);
  // Flavors are chosen set by set; what goes together otherwise, or with only as many children as a group needs, starts, too.
  std::optional<Placer> placer;
  const auto to_start = [&](std::optional<Placer>& into) { into.emplace(state_, id, Mode::kStart, steps); };
  if (run_beside_kept(placer, id, Mode::kStart, to_start)) {
    state_.commit();
    return start(id, placer->placed());
  }
  const auto anyhow = [&](const auto& counts, bool ask) { return try_quota_anyhow(id, counts, ask); };
  if (largest_of(anyhow)) return;
  Failure failure = placer->failure();
  failure.steps_ended = failure.steps_ended || quota_steps_.ended();
  if (Failure own = beyond_lane(w, failure); !own.reasons.empty()) failure = own;
  const bool hopeful = failure.by_quota || failure.by_nodes;
  if (Failure lacking = lacks_parts(w); hopeful && !lacking.reasons.empty()) failure = lacking;
  if (failure.by_quota && !failure.never && !failure.of_lane) {
    const std::string by_force = stands_back(state_, w);
    if (is_patient(state_, w) || !by_force.empty()) {
      failure.reasons.push_back(no_victims(state_, w));
      failure.reasons.back().detail += by_force;
    }
  }
  park(class_id, failure, nullptr, more_at_);
}

}  // namespace berth::engine
