#include "engine/decide/shortage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/with_places/victims.h"
#include "engine/state/bands.h"
#include "engine/state/limits.h"

namespace berth::engine {
namespace {

// Why this pod set can never have its least count: a constraint that is not supported, or too little quota in every choice of
// flavors, even in an empty cluster. Empty: it can.
std::vector<Reason> never_starts(State& state, const WorkloadState& w, const PodSetState& set) {
  const std::int64_t least = set.least - set.active;
  if (least <= 0) return {};
  const Spec& spec = state.spec(set.spec);
  if (spec.problem.code == ReasonCode::kUnsupported) return {spec.problem};
  std::vector<Reason> reasons;
  for (const ChargeId choice : spec.choices) {
    const auto& quota = state.charges[choice].quota;
    const auto beyond = std::find_if(quota.begin(), quota.end(), [&](const QuotaItem& item) {
      return saturating_mul(item.amount, least) > state.quota.potential(w.queue, item.pair);
    });
    if (beyond == quota.end()) return {};
    reasons.push_back({ReasonCode::kQuotaMax,
                       std::string(state.resource_name(beyond->pair)),
                       std::string(state.pairs.flavor(beyond->pair)),
                       saturating_mul(beyond->amount, least),
                       state.quota.potential(w.queue, beyond->pair),
                       0,
                       {}});
  }
  return reasons;
}

// The least that the whole adds up to if each pod set adds `costs`: at every group its cheapest children.
std::int64_t cheapest(const Structure& structure, const std::vector<std::int64_t>& costs) {
  std::vector<std::vector<std::int64_t>> children(structure.groups.size());
  for (std::size_t s = 0; s < costs.size(); ++s) children[structure.group_of[s]].push_back(costs[s]);
  for (std::size_t g = structure.groups.size();; --g) {  // children come after their parents
    std::vector<std::int64_t>& of = children[g - 1];
    const auto least = std::min(of.size(), static_cast<std::size_t>(structure.groups[g - 1].least));
    std::partial_sort(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(least), of.end());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < least; ++i) sum = saturating_add(sum, of[i]);
    if (g == 1) return sum;
    children[structure.groups[g - 1].parent].push_back(sum);
  }
}

// Why its pod sets can never start together, although each of them could. Their least charges are more than its queue can ever have of one
// flavor, or of a resource in all flavors. Whether they divide well among flavors is not looked at.
// `lost`: by pod set, whether it can never start at all.
std::optional<Reason> never_together(State& state, const WorkloadState& w, const std::vector<bool>& lost) {
  std::vector<std::vector<ChargeId>> choices;
  std::map<std::uint32_t, std::set<FlavorResource>> pairs;  // by number of the resource
  for (const PodSetState& set : w.sets) {
    choices.push_back(state.choices(set));
    for (const ChargeId choice : choices.back()) {
      for (const QuotaItem& item : state.charges[choice].quota)
        pairs[state.pairs.resource_numbers()[item.pair.index()]].insert(item.pair);
    }
  }
  const auto beyond = [&](const std::set<FlavorResource>& of) -> std::optional<Reason> {
    std::vector<std::int64_t> costs;
    for (std::size_t s = 0; s < w.sets.size(); ++s) {
      std::int64_t one = choices[s].empty() ? 0 : kInt64Max;
      for (const ChargeId choice : choices[s]) {
        std::int64_t sum = 0;
        for (const QuotaItem& item : state.charges[choice].quota)
          sum = saturating_add(sum, of.contains(item.pair) ? item.amount : 0);
        one = std::min(one, sum);
      }
      const std::int64_t least = std::max<std::int64_t>(0, w.sets[s].least - w.sets[s].active);
      costs.push_back(lost[s] ? kInt64Max : saturating_mul(one, least));
    }
    const std::int64_t need = cheapest(state.structures[w.structure], costs);
    std::int64_t most = 0;
    for (const FlavorResource pair : of) most = saturating_add(most, state.quota.potential(w.queue, pair));
    if (need <= most) return std::nullopt;
    const FlavorResource pair = *of.begin();
    const std::string_view flavor = of.size() == 1 ? state.pairs.flavor(pair) : "";
    return Reason{ReasonCode::kQuotaMax,
                  std::string(state.resource_name(pair)),
                  std::string(flavor),
                  need,
                  most,
                  0,
                  {}};
  };
  for (const auto& [resource, all] : pairs) {
    for (const FlavorResource pair : all) {
      if (auto reason = beyond({pair})) return reason;
    }
    if (all.size() == 1) continue;
    if (auto reason = beyond(all)) return reason;
  }
  return std::nullopt;
}

// Those that limits bind: of its lane in their order, then of firm work.
std::vector<FlavorResource> limited_pairs(const State& state, const WorkloadState& w) {
  std::vector<FlavorResource> out;
  for (const QuotaItem& limit : state.accounts.limits(w.queue).limits()) out.push_back(limit.pair);
  for (std::size_t p = 0; p < state.quota.pairs() && !w.preemptible; ++p) {
    const FlavorResource pair(p);
    if (firm_room(state, w, pair, Mode::kPlan) == kInt64Max) continue;
    if (std::find(out.begin(), out.end(), pair) == out.end()) out.push_back(pair);
  }
  return out;
}

void renew_room(Reason& reason, std::int64_t have) {
  if (reason.code == ReasonCode::kNodes) reason.have = have;
  for (Reason& child : reason.children) renew_room(child, have);
}

}  // namespace

bool is_stopped(const QueueState& queue, const WorkloadState& w) {
  if (queue.spec.stop == StopPolicy::kHold) return !w.goes_on_in_hold();
  return queue.spec.stop != StopPolicy::kNone;
}

// True for reasons that no change of free capacity can cure.
bool ends_nowhere(const Reason& r) {
  return r.code == ReasonCode::kQuotaMax || r.code == ReasonCode::kUnsupported ||
         r.code == ReasonCode::kInvalid || r.code == ReasonCode::kQuotaUncovered;
}

// Pod sets of which so many could not start if nothing else were there that the whole could not, or that could not together.
Failure lacks_parts(State& state, const WorkloadState& w) {
  Failure out;
  out.by_quota = true;
  const Structure& structure = state.structures[w.structure];
  std::vector<std::int64_t> can(structure.groups.size(), 0);  // children that can start
  std::vector<Reason> reasons;
  std::vector<bool> lost(w.sets.size(), false);
  bool never = true;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    const PodSetState& set = w.sets[s];
    const std::int64_t need = set.least - set.active;
    std::vector<Reason> why;
    if (need > set.waiting) {
      why.push_back(
          w.needs_all
              ? lacks_pods_of(w)
              : Reason{ReasonCode::kIncompleteGang, "", "", set.least, set.active + set.waiting, 0, {}});
    } else if (need > 0 && state.spec(set.spec).choices.empty()) {
      why.push_back(state.spec(set.spec).problem);
    } else {
      why = never_starts(state, w, set);
    }
    if (why.empty()) {
      ++can[structure.group_of[s]];
      continue;
    }
    lost[s] = true;
    for (Reason& reason : why) {
      never = never && ends_nowhere(reason);
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
        reasons.push_back(std::move(reason));
    }
    if (w.needs_all) break;
  }
  // Where enough runs, it asks for the others. All of these may be lost.
  bool some_may_come = false;
  for (std::size_t s = 0; s < w.sets.size(); ++s)
    some_may_come = some_may_come || (w.sets[s].waiting > 0 && !lost[s]);
  if (reasons.empty() || (!w.needs_all && some_may_come && enough_children(structure, can))) {
    const auto together = w.sets.size() > 1 ? never_together(state, w, lost) : std::nullopt;
    if (!together) return out;
    reasons = {*together};
    never = true;
  }
  out.never = never;
  out.of_parts = true;
  out.reasons = std::move(reasons);
  return out;
}

bool stands_aside(State& state, const WorkloadState& w) {
  return claim_of(w).free_room_only || !lacks_parts(state, w).reasons.empty() ||
         !beyond_limit(state, w, {}).reasons.empty();
}

std::vector<ClassId> blocks_again(State& state, QueueId queue) {
  if (state.queues[queue.index()].spec.order != QueueOrder::kStrict) return {};
  std::vector<ClassId> out = state.pending.passed_over(queue);
  std::erase_if(out, [&](const ClassId id) {
    return stands_aside(state, state.workloads[state.pending.at(id).members.begin()->workload.index()]);
  });
  return out;
}

// Pod sets that must start, and for which other work within a limit must end first. Either one pod set fits the limits in no choice of
// flavors. Or all of them together do not fit, each charged for its cheapest choice. Where some may be left out, and for growth, the
// failure of the search says it.
Failure beyond_limit(State& state, const WorkloadState& w, const Failure& found) {
  Failure out;
  out.by_quota = true;
  out.of_limit = true;
  if (!is_limited(state, w)) return out;
  if (!w.needs_all || grows(w)) {
    const bool all = std::all_of(found.reasons.begin(), found.reasons.end(), [](const Reason& r) {
      return r.code == ReasonCode::kLaneLimit || r.code == ReasonCode::kFirmLimit;
    });
    if (all) out.reasons = found.reasons;
    return out;
  }
  const auto tell = [&](FlavorResource pair, std::int64_t need) {
    const std::int64_t room = limit_room(state, w, pair, Mode::kStart);
    const bool of_lane = state.lane_room(w, pair, Mode::kStart) == room;
    Reason reason = of_lane ? Reason{ReasonCode::kLaneLimit,
                                     state.queues[w.queue.index()].lanes.name(w.lane),
                                     std::string(state.resource_name(pair)),
                                     need,
                                     room,
                                     0,
                                     {}}
                            : firm_limit_reason(state, w, pair, need, room);
    const auto same = std::find_if(out.reasons.begin(), out.reasons.end(), [&](const Reason& r) {
      return r.detail == reason.detail && r.code == reason.code;
    });
    if (same == out.reasons.end()) {
      out.reasons.push_back(std::move(reason));
    } else if (need - room < same->need - same->have) {  // of several flavors the one that came nearest
      *same = std::move(reason);
    }
  };
  for (const FlavorResource pair : limited_pairs(state, w)) {
    const std::int64_t room = limit_room(state, w, pair, Mode::kPlan);
    std::int64_t together = 0;
    for (const auto& set : w.sets) {
      const std::int64_t least = set.least - set.active;
      const std::vector<ChargeId> choices = state.choices(set);
      if (least <= 0 || choices.empty()) continue;
      together = saturating_add(together, saturating_mul(least_charge(state, choices, pair), least));
    }
    if (together > 0 && together > room) tell(pair, together);
  }
  for (const auto& set : w.sets) {
    const std::int64_t least = set.least - set.active;
    const std::vector<ChargeId> choices = state.choices(set);
    if (least <= 0 || !out.reasons.empty()) continue;
    std::vector<std::pair<FlavorResource, std::int64_t>> beyond;
    for (const ChargeId choice : choices) {
      for (const QuotaItem& item : state.charges[choice].quota) {
        const std::int64_t need = saturating_mul(item.amount, least);
        if (need == 0 || need <= limit_room(state, w, item.pair, Mode::kPlan)) continue;
        beyond.emplace_back(item.pair, need);
        break;
      }
    }
    if (beyond.size() < choices.size()) continue;
    for (const auto& [pair, need] : beyond) tell(pair, need);
  }
  return out;
}

bool places_are_unknown(State& state, const WorkloadState& w) {
  bool any = false;
  for (const auto& set : w.sets) {
    if (set.waiting == 0) continue;
    const std::vector<ChargeId> choices = state.choices(set);
    const bool unknown = std::all_of(choices.begin(), choices.end(),
                                     [&](const ChargeId choice) { return state.shape_of(choice).opaque; });
    if (choices.empty() || !unknown) return false;
    any = true;
  }
  return any;
}

std::int64_t borrowing_height(State& state, const WorkloadState& w) {
  std::int64_t height = 0;
  // Queues that share by their dominant shares have it in their order (State::share_of).
  if (!state.quota.parent(w.queue).valid() || shares_dominantly(state, w.queue)) return height;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    const PodSetState& set = w.sets[s];
    const std::vector<ChargeId> choices = choices_of(state, w, s);
    if (choices.empty() || set.waiting == 0) continue;
    const std::int64_t least = std::max<std::int64_t>(1, set.least - set.active);
    const auto& items = state.charges[state.likely_choice(w, choices, least)].quota;
    height = std::max(height, state.quota.reach(w.queue, items, least));
  }
  return height;
}

bool still_lacks_room(State& state, ClassId class_id) {
  Pending::Class& c = state.pending.at(class_id);
  if (c.why.room_only != state.config_version || !c.members.begin()->young) return false;
  if (c.why.wake_at <= state.now) return false;  // more may yield by now
  const WorkloadId id = c.members.begin()->workload;
  const WorkloadState& w = state.workloads[id.index()];
  const PodSetState& set = w.sets.front();
  if (may_have_victims(state, w)) return false;
  const std::int64_t least = std::max<std::int64_t>(1, set.least - set.active);
  std::int64_t have = -1;
  for (const ChargeId choice : state.choices(set)) {
    const Charge& charge = state.charges[choice];
    for (const Mode mode : {Mode::kStart, Mode::kPlan}) {
      if (!state.fits(w, charge.quota, least, mode)) return false;
      const std::int64_t total = state.index(charge.shape, mode).total();
      if (total >= least) return false;
      // The reason names the choice that came nearest to a start.
      if (mode == Mode::kStart) have = std::max(have, total);
    }
  }
  if (have < 0) return false;
  renew_room(c.why.reason, have);
  return true;
}

}  // namespace berth::engine
