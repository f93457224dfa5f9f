// Parks work that cannot start: finds its shortages, and records its reasons.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/checked.h"
#include "engine/decide/decide.h"
#include "engine/state/bands.h"

namespace berth::engine {

namespace {

// True for reasons that no change of free capacity can cure.
bool ends_nowhere(const Reason& r) {
  return r.code == ReasonCode::kQuotaMax || r.code == ReasonCode::kUnsupported ||
         r.code == ReasonCode::kInvalid || r.code == ReasonCode::kQuotaUncovered;
}

Reason as_one(std::vector<Reason> reasons) {
  if (reasons.size() == 1) return std::move(reasons.front());
  Reason out;
  out.children = std::move(reasons);
  return out;
}

}  // namespace

// The reasons for which this pod set can never have its least count: an unsupported constraint, or too little quota in every choice
// of flavors even in an empty cluster. Empty: it can.
std::vector<Reason> Decider::never_starts(const WorkloadState& w, const PodSetState& set) {
  const std::int64_t least = set.least - set.active;
  if (least <= 0) return {};
  const Spec& spec = state_.spec(set.spec);
  if (spec.problem.code == ReasonCode::kUnsupported) return {spec.problem};
  std::vector<Reason> reasons;
  for (const ChargeId choice : spec.choices) {
    const auto& quota = state_.charges[choice].quota;
    const auto beyond = std::find_if(quota.begin(), quota.end(), [&](const QuotaItem& item) {
      return saturating_mul(item.amount, least) > state_.quota.potential(w.queue, item.pair);
    });
    if (beyond == quota.end()) return {};
    reasons.push_back({ReasonCode::kQuotaMax,
                       std::string(state_.resource_name(beyond->pair)),
                       std::string(state_.flavor_name(beyond->pair)),
                       saturating_mul(beyond->amount, least),
                       state_.quota.potential(w.queue, beyond->pair),
                       0,
                       {}});
  }
  return reasons;
}

// Pod sets of which so many could not start if nothing else were there that the whole could not.
Failure Decider::lacks_parts(const WorkloadState& w) {
  Failure out;
  out.by_quota = true;
  const Structure& structure = state_.structures[w.structure];
  std::vector<std::int64_t> can(structure.groups.size(), 0);  // children that can start
  std::vector<Reason> reasons;
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
    } else if (need > 0 && state_.spec(set.spec).choices.empty()) {
      why.push_back(state_.spec(set.spec).problem);
    } else {
      why = never_starts(w, set);
    }
    if (why.empty()) {
      ++can[structure.group_of[s]];
      continue;
    }
    for (Reason& reason : why) {
      never = never && ends_nowhere(reason);
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
        reasons.push_back(std::move(reason));
    }
    if (w.needs_all) break;
  }
  if (reasons.empty() || (!w.needs_all && enough_children(structure, can))) return out;
  out.never = never;
  out.of_parts = true;
  out.reasons = std::move(reasons);
  return out;
}

bool Decider::holds_up_nobody(const WorkloadState& w) {
  return claim_of(w).free_room_only || !lacks_parts(w).reasons.empty() || !beyond_lane(w, {}).reasons.empty();
}

// Pod sets that must start, and for which other work of its own lane must end first: one that fits the lane's limits in no
// choice of flavors, or all of them together where each is charged the least that any of its choices asks for. Where some may
// be left out, and for what grows, what its search found says so.
Failure Decider::beyond_lane(const WorkloadState& w, const Failure& found) {
  Failure out;
  out.by_quota = true;
  out.of_lane = true;
  const QueueState& queue = state_.queues[w.queue.index()];
  if (!state_.accounts.limits(w.queue).any()) return out;
  if (!w.needs_all || grows(w)) {
    const bool all = std::all_of(found.reasons.begin(), found.reasons.end(),
                                 [](const Reason& r) { return r.code == ReasonCode::kLaneLimit; });
    if (all) out.reasons = found.reasons;
    return out;
  }
  const auto tell = [&](FlavorResource pair, std::int64_t need) {
    const std::int64_t room = state_.lane_room(w, pair, Mode::kStart);
    Reason reason{ReasonCode::kLaneLimit,
                  queue.lanes.name(w.lane),
                  std::string(state_.resource_name(pair)),
                  need,
                  room,
                  0,
                  {}};
    const auto same = std::find_if(out.reasons.begin(), out.reasons.end(),
                                   [&](const Reason& r) { return r.detail == reason.detail; });
    if (same == out.reasons.end()) {
      out.reasons.push_back(std::move(reason));
    } else if (need - room < same->need - same->have) {  // of several flavors the one that came nearest
      *same = std::move(reason);
    }
  };
  for (const QuotaItem& limit : state_.accounts.limits(w.queue).limits()) {
    const std::int64_t room = state_.lane_room(w, limit.pair, Mode::kPlan);
    std::int64_t together = 0;
    for (const auto& set : w.sets) {
      const std::int64_t least = set.least - set.active;
      const std::vector<ChargeId> choices = state_.choices(set);
      if (least <= 0 || choices.empty()) continue;
      together = saturating_add(together, saturating_mul(least_charge(state_, choices, limit.pair), least));
    }
    if (together > 0 && together > room) tell(limit.pair, together);
  }
  for (const auto& set : w.sets) {
    const std::int64_t least = set.least - set.active;
    const std::vector<ChargeId> choices = state_.choices(set);
    if (least <= 0 || !out.reasons.empty()) continue;
    std::vector<std::pair<FlavorResource, std::int64_t>> beyond;
    for (const ChargeId choice : choices) {
      for (const QuotaItem& item : state_.charges[choice].quota) {
        const std::int64_t need = saturating_mul(item.amount, least);
        if (need == 0 || need <= state_.lane_room(w, item.pair, Mode::kPlan)) continue;
        beyond.emplace_back(item.pair, need);
        break;
      }
    }
    if (beyond.size() < choices.size()) continue;
    for (const auto& [pair, need] : beyond) tell(pair, need);
  }
  return out;
}

namespace {

bool lacks(const Reason& reason, std::string_view resource, std::string_view flavor) {
  if (reason.code == ReasonCode::kQuota && reason.subject == resource && reason.detail == flavor) return true;
  return std::any_of(reason.children.begin(), reason.children.end(),
                     [&](const Reason& child) { return lacks(child, resource, flavor); });
}

}  // namespace

void Decider::park(ClassId class_id, const Failure& failure, const VictimSearch* search, TimeMs more_at) {
  Pending::Class& c = state_.pending.at(class_id);
  if (took_back_ > 0)
    more_at = std::min(more_at, state_.now + 1);  // from then on those yield that start anew
  Parked why;
  why.by_quota = failure.by_quota;
  why.by_nodes = failure.by_nodes;
  const Queue& queue = state_.queues[c.queue.index()].spec;
  why.by_side = failure.by_nodes && !queue.unlimited && queue.preemption.reclaim != Reclaim::kNever;
  Reason reason = as_one(failure.reasons);
  const auto also = [&](Reason more) {
    if (reason.code != ReasonCode::kNone) reason = Reason{ReasonCode::kNone, "", "", 0, 0, 0, {reason}};
    reason.children.push_back(std::move(more));
  };
  if (failure.steps_ended) {
    why.by_quota = why.by_nodes = true;
    also({ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}});
    ++state_.stats.searches_ended;
  } else if (search != nullptr && (why.by_quota || why.by_nodes)) {
    also(search->why_not());
  }
  for (const Reason& missing : short_beside_kept_) {
    if (!lacks(reason, missing.subject, missing.detail)) also(missing);
  }
  for (const Kept& kept : kept_) {
    why.kept.push_back({kept.queue, state_.workloads[kept.by.index()].arrival, kept.pair});
    if (!lacks(reason, state_.resource_name(kept.pair), state_.flavor_name(kept.pair))) continue;
    Reason more{ReasonCode::kQuotaKept,
                state_.workloads[kept.by.index()].name,
                state_.queues[kept.queue.index()].spec.name,
                0,
                0,
                0,
                {}};
    if (reason.children.empty() || reason.children.back() != more) also(std::move(more));
  }
  why.wake_at = search != nullptr ? search->more_at() : more_at;
  for (const Reservation* reservation : reserved_) {
    if (!beside_failed_) break;
    const WorkloadState& old = state_.workloads[reservation->workload.index()];
    why.reserved.push_back(reservation->number);
    why.wake_at = std::min(why.wake_at, reservation->renew_at);  // another plan may leave room for it
    also({ReasonCode::kReserved, old.name, state_.queues[old.queue.index()].spec.name, 0, 0, 0, {}});
  }
  // Work that lacks pods, or that can never run, does not stand in the way of others in a strict queue.
  const WorkloadId first = c.members.begin()->workload;
  const WorkloadState& w = state_.workloads[first.index()];
  // The first failure of a search is not the only one: with more free room or more steps it might find others.
  const bool found_out = w.needs_all ? !failure.by_quota && !failure.by_nodes : !failure.steps_ended;
  const bool refused =
      failure.never || (found_out && !failure.reasons.empty() &&
                        std::all_of(failure.reasons.begin(), failure.reasons.end(), ends_nowhere));
  // The same holds for surplus without room, and for work that waits for its own lane: other lanes need not wait for that.
  const bool surplus = claim_of(w).free_room_only;
  why.in_line =
      (why.by_quota || why.by_nodes) && !refused && !surplus && !failure.of_parts && !failure.of_lane;
  why.verdict = refused ? VerdictKind::kRefused : VerdictKind::kBlocked;

  const Structure& structure = state_.structures[w.structure];
  if (search != nullptr && why.by_nodes && !why.by_quota && !search->could_help() && w.sets.size() == 1 &&
      structure.groups.size() == 1 && structure.groups.front().topology == TopologyRequest{}) {
    why.room_only = state_.config_version;
  }
  for (const auto& set : w.sets) {
    for (const ChargeId choice : state_.spec(set.spec).choices)
      why.shapes.push_back(state_.charges[choice].shape);
  }
  std::sort(why.shapes.begin(), why.shapes.end());
  why.shapes.erase(std::unique(why.shapes.begin(), why.shapes.end()), why.shapes.end());
  if (!failure.steps_ended && !surplus) choose_group(class_id, why);

  // Numbers come and go with every pod; statuses follow the kind of reason.
  const auto same_kind = [](const auto& self, const Reason& a, const Reason& b) -> bool {
    if (a.code != b.code || a.subject != b.subject || a.children.size() != b.children.size()) return false;
    for (std::size_t i = 0; i < a.children.size(); ++i) {
      if (!self(self, a.children[i], b.children[i])) return false;
    }
    return true;
  };
  const bool told = same_kind(same_kind, c.why.reason, reason) && c.why.verdict == why.verdict;
  why.reason = std::move(reason);
  if (!told) {
    for (const auto& member : c.members) state_.changed(member.workload);
  }
  // Old work reserves room, unless it never can start.
  if (why.in_line && !c.members.begin()->young && c.could_start_version != state_.place_version)
    ask_empty(class_id);
  state_.pending.park(class_id, std::move(why));
  // The classes behind it in its group wait for the same.
  if (c.why.across_queues) return;
  state_.pending.each_behind(class_id, [&](Pending::Class& behind) {
    if (same_kind(same_kind, behind.why.reason, c.why.reason) && behind.why.verdict == c.why.verdict) return;
    behind.why.reason = c.why.reason;
    behind.why.verdict = c.why.verdict;
    for (const auto& member : behind.members) state_.changed(member.workload);
  });
}

void Decider::tell_no_places(WorkloadId id, const Failure& failure) {
  std::vector<Reason> reasons = failure.reasons;
  if (failure.steps_ended) reasons.push_back({ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}});
  Reason why = as_one(std::move(reasons));
  Reason& told = state_.no_places[id.value];
  if (told != why) state_.changed(id);
  told = std::move(why);
}

}  // namespace berth::engine
