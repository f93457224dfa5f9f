#include "engine/preempt/quota_only/flavor_choice.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "engine/place/placer.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/limits.h"
#include "engine/state/trial.h"

namespace berth::engine {

bool better(const FlavorSearch& how, const FlavorRating& a, const FlavorRating& b) {
  // Where one of them leads nowhere, there is nothing to weigh.
  if (std::min(a.mode, b.mode) <= FlavorMode::kHopeless && a.mode != b.mode) return a.mode > b.mode;
  if (how.preempt_rather_than_borrow && a.borrowing != b.borrowing) return a.borrowing < b.borrowing;
  if (a.mode != b.mode) return a.mode > b.mode;
  return a.borrowing < b.borrowing;
}

bool search_ends(const FlavorSearch& how, const FlavorRating& rating) {
  const bool may_borrow = rating.borrowing == 0 || !how.past_borrowing;
  switch (rating.mode) {
    case FlavorMode::kFits:
      return may_borrow;
    case FlavorMode::kPreempts:
    case FlavorMode::kReclaims:
      return may_borrow && !how.past_preempting;
    case FlavorMode::kHopeless:
    case FlavorMode::kNoFit:
      return false;
  }
  return false;
}

std::int64_t FlavorChooser::taken(FlavorResource pair) const {
  for (const QuotaItem& item : request_) {
    if (item.pair == pair) return item.amount;
  }
  return 0;
}

FlavorRating rate_quota(const State& state, const WorkloadState& w, FlavorResource pair,
                        std::int64_t amount) {
  if (amount > state.quota.potential(w.queue, pair)) return {};
  if (amount > 0 && amount > limit_room(state, w, pair, Mode::kPlan)) return {};
  const QuotaTree::Covering cover = state.quota.covering(w.queue, pair, amount);
  if (amount <= state.quota.available(w.queue, pair, kAfter)) return {FlavorMode::kFits, cover.height};
  const QuotaItem ask{pair, amount};
  const bool takes_beyond_quota =
      may_borrow_by_force(state, w, {&ask, 1}) || shares_dominantly(state, w.queue);
  const bool never = amount > state.quota.nominal(w.queue, pair) && !cover.may_reclaim && !takes_beyond_quota;
  return {never ? FlavorMode::kNoFit : FlavorMode::kPreempts, cover.height};
}

FlavorChooser::Rating FlavorChooser::rate(FlavorResource pair, std::int64_t amount, bool look_for_victims) {
  const WorkloadState& w = state_.workloads[id_.index()];
  const Rating of_quota = rate_quota(state_, w, pair, amount);
  if (of_quota.mode != FlavorMode::kPreempts || !look_for_victims) return of_quota;

  const QuotaItem ask{pair, amount};
  Trial trial(state_);
  const auto room_of = [&](const Yielder& who, int sign) { free_room(state_, who, sign); };
  const QuotaVictims search{state_,
                            id_,
                            {&ask, 1},
                            {&pair, 1},
                            [&](bool borrowing) {
                              const std::int64_t use = state_.quota.usage(w.queue, pair, kAfter);
                              return (borrowing || use + amount <= state_.quota.nominal(w.queue, pair)) &&
                                     amount <= state_.quota.available(w.queue, pair, kAfter);
                            },
                            more_at_,
                            room_of};
  const auto victims = search.run();
  trial.rollback();
  if (!victims) return {FlavorMode::kHopeless, of_quota.borrowing};
  bool own = false;
  for (const Yielder& who : *victims) {
    own = own || state_.workloads[who.workload.index()].queue == w.queue;
    room_of(who, -1);
  }
  const std::int64_t height = state_.quota.covering(w.queue, pair, amount).height;
  return {own ? FlavorMode::kPreempts : FlavorMode::kReclaims, height};
}

const FlavorSearch& FlavorChooser::how() const {
  return state_.queues[state_.workloads[id_.index()].queue.index()].spec.flavor_search;
}

std::vector<FlavorChooser::Unit> FlavorChooser::units(std::span<const std::int64_t> counts) const {
  const WorkloadState& w = state_.workloads[id_.index()];
  std::vector<Unit> out;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    if (counts[s] == 0) continue;
    const auto together = std::find_if(out.begin(), out.end(), [&](const Unit& unit) {
      return !w.sets[s].marks->flavor_group.empty() &&
             w.sets[unit.front()].marks->flavor_group == w.sets[s].marks->flavor_group;
    });
    if (together == out.end()) {
      out.push_back({s});
    } else {
      together->push_back(s);
    }
  }
  return out;
}

// The request of the unit for each resource of the group, in this flavor. `offered`: every set that asks may have it.
std::vector<FlavorChooser::Ask> FlavorChooser::asks(const Unit& unit, std::uint32_t group,
                                                    const std::string& flavor,
                                                    std::span<const std::int64_t> counts, bool& offered) {
  const WorkloadState& w = state_.workloads[id_.index()];
  std::vector<Ask> out;
  offered = true;
  for (const std::size_t s : unit) {
    const Spec& spec = state_.spec(w.sets[s].spec);
    const auto in_group = [&](const std::string& resource) { return spec.group_index(resource) == group; };
    bool wants = false;
    bool found = false;
    for (const ChargeId choice : choices_of(state_, w, s)) {
      const Charge& c = state_.charges[choice];
      const bool here = std::any_of(c.flavors.begin(), c.flavors.end(), [&](const ChosenFlavor& f) {
        return f.flavor == flavor && in_group(f.resource);
      });
      wants = wants || std::any_of(c.flavors.begin(), c.flavors.end(),
                                   [&](const ChosenFlavor& f) { return in_group(f.resource); });
      if (!here) continue;
      found = true;
      for (std::size_t i = 0; i < c.flavors.size(); ++i) {
        if (!in_group(c.flavors[i].resource)) continue;
        const std::int64_t amount = saturating_mul(c.quota[i].amount, counts[s]);
        const auto same =
            std::find_if(out.begin(), out.end(), [&](const Ask& ask) { return ask.pair == c.quota[i].pair; });
        if (same == out.end()) {
          out.push_back({c.flavors[i].resource, c.quota[i].pair, amount});
        } else {
          same->amount = saturating_add(same->amount, amount);
        }
      }
      break;
    }
    if (wants && !found) offered = false;
  }
  return out;
}

ChargeId FlavorChooser::charge_of(std::size_t set, const std::vector<std::string>& flavors) const {
  const WorkloadState& w = state_.workloads[id_.index()];
  for (const ChargeId choice : choices_of(state_, w, set)) {
    const auto& has = state_.charges[choice].flavors;
    if (std::all_of(has.begin(), has.end(), [&](const ChosenFlavor& f) {
          return std::find(flavors.begin(), flavors.end(), f.flavor) != flavors.end();
        }))
      return choice;
  }
  return {};
}

void FlavorChooser::run(std::span<const std::int64_t> counts) {
  const WorkloadState& w = state_.workloads[id_.index()];
  const Queue& queue = state_.queues[w.queue.index()].spec;
  charges_.assign(w.sets.size(), ChargeId());
  bool several = false;
  for (const auto& set : w.sets) several = several || state_.choices(set).size() > 1;
  for (const Unit& unit : units(counts)) {
    std::vector<std::string> picked;
    for (std::uint32_t group = 0; group < queue.groups.size(); ++group) {
      Rating best;
      const std::string* flavor_of_best = nullptr;
      std::vector<Ask> asks_of_best;
      bool wanted = false;
      for (const std::string& flavor : queue.groups[group].flavors) {
        bool offered = true;
        const std::vector<Ask> all = asks(unit, group, flavor, counts, offered);
        if (!all.empty() || !offered) wanted = true;
        if (all.empty() || !offered) continue;
        Rating rating{FlavorMode::kFits, 0};
        for (const Ask& ask : all) {
          const Rating one = rate(ask.pair, saturating_add(taken(ask.pair), ask.amount), several);
          if (better(how(), rating, one)) rating = one;
          if (rating.mode == FlavorMode::kNoFit) break;
        }
        if (rating.mode == FlavorMode::kNoFit) continue;
        if (flavor_of_best == nullptr || better(how(), rating, best)) {
          best = rating;
          flavor_of_best = &flavor;
          asks_of_best = all;
        }
        if (search_ends(how(), rating)) {
          best = rating;
          flavor_of_best = &flavor;
          asks_of_best = all;
          break;
        }
      }
      if (!wanted) continue;
      mode_ = std::min(mode_, flavor_of_best == nullptr ? FlavorMode::kNoFit : best.mode);
      if (mode_ == FlavorMode::kNoFit) return;
      borrowing_ = std::max(borrowing_, best.borrowing);
      picked.push_back(*flavor_of_best);
      for (const Ask& ask : asks_of_best) {
        if (ask.amount > 0) add_item(request_, ask.pair, ask.amount);
      }
    }
    for (const std::size_t s : unit) {
      charges_[s] = charge_of(s, picked);
      if (!charges_[s].valid()) mode_ = FlavorMode::kNoFit;
    }
  }
  note_short();
}

void FlavorChooser::note_short() {
  const QueueId queue = state_.workloads[id_.index()].queue;
  for (const QuotaItem& item : request_) {
    if (item.amount > state_.quota.available(queue, item.pair, kAfter)) short_.push_back(item.pair);
  }
}

void FlavorChooser::take(std::span<const ChargeId> charges, std::span<const std::int64_t> counts) {
  const WorkloadState& w = state_.workloads[id_.index()];
  charges_.assign(charges.begin(), charges.end());
  for (std::size_t s = 0; s < charges_.size(); ++s) {
    if (counts[s] == 0) charges_[s] = ChargeId();
    if (!charges_[s].valid()) continue;
    for (const QuotaItem& item : state_.charges[charges_[s]].quota) {
      if (item.amount > 0) add_item(request_, item.pair, saturating_mul(item.amount, counts[s]));
    }
  }
  for (const QuotaItem& item : request_) {
    const Rating one = rate_quota(state_, w, item.pair, item.amount);
    mode_ = std::min(mode_, one.mode);
    borrowing_ = std::max(borrowing_, one.borrowing);
  }
  note_short();
}

}  // namespace berth::engine
