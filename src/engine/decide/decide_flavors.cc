// Which flavors work gets where its queue would not have the first that fits (FlavorSearch), and how far up the tree their quota
// comes from.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/decide/decide.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/with_places/assignments.h"

namespace berth::engine {

bool Decider::try_flavors(WorkloadId id, Budget& steps) {
  const WorkloadState& w = state_.workloads[id.index()];
  const FlavorSearch& how = state_.queues[w.queue.index()].spec.flavor_search;
  if (how == FlavorSearch{} || grows(w)) return false;
  Assignments all(state_, w, needs_of(w, Ask::kLeast), steps);
  if (!all.several()) return false;

  // An assignment of flavors to pod sets leads to a start, to a wait for room that is about to be free, or to victims. Its
  // charges are in the trial.
  struct Found {
    FlavorRating rating;
    bool starts = false;
    VictimPlan plan;
  };
  const auto try_one = [&](const Assignment& only) -> std::optional<Found> {
    Found found;
    const auto reach = [&] {
      std::int64_t most = 0;
      for (const PlacedSlot& p : found.plan.placed)
        most = std::max(most, state_.quota.reach(w.queue, state_.charges[p.charge].quota, 0));
      return most;
    };
    std::optional<Placer> now;
    const auto to_start = [&](std::optional<Placer>& into) {
      into.emplace(state_, id, Mode::kStart, steps, &only);
    };
    if (run_beside_kept(now, id, Mode::kStart, to_start)) {
      found.starts = true;
      found.plan.placed = now->placed();
      found.rating = {FlavorMode::kFits, reach()};
      return found;
    }
    if (!now->failure().by_quota && !now->failure().by_nodes) return std::nullopt;
    if (takes_nothing(id)) return std::nullopt;
    std::optional<Placer> later;
    const auto to_wait = [&](std::optional<Placer>& into) {
      into.emplace(state_, id, Mode::kPlan, steps, &only);
    };
    if (run_beside_kept(later, id, Mode::kPlan, to_wait)) {
      found.plan.placed = later->placed();
      found.rating = {FlavorMode::kReclaims, reach()};
      return found;
    }
    if (now->failure().steps_ended || later->failure().steps_ended || !lacks_parts(w).reasons.empty())
      return std::nullopt;
    if (kept_out_) return std::nullopt;
    auto plan = beside_kept(w, steps,
                            [&] { return VictimSearch(state_, lists_, id, steps).run(Ask::kLeast, &only); });
    if (!plan) return std::nullopt;
    if (!stands_beside_kept(w, plan->placed, Mode::kPlan)) {
      state_.abandon();
      beside_failed_ = true;
      return std::nullopt;
    }
    found.plan = std::move(*plan);
    found.rating = {found.plan.takes_from_own_queue() ? FlavorMode::kPreempts : FlavorMode::kReclaims,
                    reach()};
    return found;
  };
  const auto decide = [&](const Found& found) {
    if (take_back(found.plan)) return true;  // the search begins anew
    state_.commit();
    if (found.starts) {
      start(id, found.plan.placed);
    } else {
      hold(id, found.plan);
    }
    return true;
  };
  std::optional<std::pair<FlavorRating, Assignment>> best;
  while (const Assignment* assignment = all.next()) {
    const auto found = try_one(*assignment);
    if (!found) continue;
    if (search_ends(how, found->rating)) return decide(*found);
    state_.abandon();
    if (!best || better(how, found->rating, best->first)) best = {found->rating, *assignment};
  }
  if (!best) return false;
  steps.grant(state_.config.search_steps);  // it is known to be there
  const auto found = try_one(best->second);
  return found && decide(*found);
}

// How far up the tree the quota of its least would come from, in the flavor that it would get now; 0: it would not borrow.
std::int64_t Decider::borrowing_height(const WorkloadState& w) const {
  std::int64_t height = 0;
  // Queues that share by their dominant shares have it in their order (State::share_of).
  if (!state_.quota.parent(w.queue).valid() || shares_dominantly(state_, w.queue)) return height;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    const PodSetState& set = w.sets[s];
    const std::vector<ChargeId> choices = choices_of(state_, w, s);
    if (choices.empty() || set.waiting == 0) continue;
    const std::int64_t least = std::max<std::int64_t>(1, set.least - set.active);
    const auto& items = state_.charges[state_.likely_choice(w, choices, least)].quota;
    height = std::max(height, state_.quota.reach(w.queue, items, least));
  }
  return height;
}

}  // namespace berth::engine
