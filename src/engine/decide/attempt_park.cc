// Parks work that cannot start: records what it lacks, its reasons, and the work that waits for the same.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/decide/attempt.h"
#include "engine/decide/reasons.h"
#include "engine/decide/shortage.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/bands.h"

namespace berth::engine {
namespace {

bool lacks(const Reason& reason, std::string_view resource, std::string_view flavor) {
  if (reason.code == ReasonCode::kQuota && reason.subject == resource && reason.detail == flavor) return true;
  return std::any_of(reason.children.begin(), reason.children.end(),
                     [&](const Reason& child) { return lacks(child, resource, flavor); });
}

}  // namespace

void Attempt::park(const Failure& failure, const VictimSearch* search, TimeMs more_at) {
  Pending::Class& c = state_.pending.at(class_);
  if (took_back_before_ > 0)
    more_at = std::min(more_at, state_.now + 1);  // from then on those yield that start anew
  Parked why;
  why.by_quota = failure.by_quota;
  why.by_nodes = failure.by_nodes;
  const Queue& queue = state_.queues[c.queue.index()].spec;
  why.by_side = failure.by_nodes && !queue.unlimited && queue.preemption.reclaim != Reclaim::kNever;
  Reason reason = as_one(failure.reasons);
  if (failure.steps_ended) {
    why.by_quota = why.by_nodes = true;
    add_child(reason, {ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}});
    ++state_.stats.searches_ended;
  } else if (search != nullptr && (why.by_quota || why.by_nodes)) {
    add_child(reason, search->why_not());
  }
  why.wake_at = search != nullptr ? search->more_at() : more_at;
  tell_reserved(why, reason);
  stand_in_line(failure, search, why);
  tell(std::move(why), std::move(reason));
}

// The quota and the room that are reserved from it, as far as that is why it waits.
void Attempt::tell_reserved(Parked& why, Reason& reason) {
  for (const Reason& missing : reserved_.missing()) {
    if (!lacks(reason, missing.subject, missing.detail)) add_child(reason, missing);
  }
  for (const Kept& kept : reserved_.quota()) {
    why.kept.push_back({kept.queue, state_.workloads[kept.by.index()].arrival, kept.pair});
    if (!lacks(reason, state_.resource_name(kept.pair), state_.pairs.flavor(kept.pair))) continue;
    Reason more{ReasonCode::kQuotaKept,
                state_.workloads[kept.by.index()].name,
                state_.queues[kept.queue.index()].spec.name,
                0,
                0,
                0,
                {}};
    if (reason.children.empty() || reason.children.back() != more) add_child(reason, std::move(more));
  }
  if (!beside_failed_) return;
  for (const Reservation* reservation : reserved_.room()) {
    const WorkloadState& old = state_.workloads[reservation->workload.index()];
    why.reserved.push_back(reservation->number);
    why.wake_at = std::min(why.wake_at, reservation->renew_at);  // another plan may leave room for it
    add_child(reason,
              {ReasonCode::kReserved, old.name, state_.queues[old.queue.index()].spec.name, 0, 0, 0, {}});
  }
}

// Whether work behind it waits for it, and what wakes it.
void Attempt::stand_in_line(const Failure& failure, const VictimSearch* search, Parked& why) {
  // The first failure of a search is not the only one: with more free room or more steps it might find others.
  const bool found_out = w_.needs_all ? !failure.by_quota && !failure.by_nodes : !failure.steps_ended;
  const bool refused =
      failure.never || (found_out && !failure.reasons.empty() &&
                        std::all_of(failure.reasons.begin(), failure.reasons.end(), ends_nowhere));
  // Work that lacks pods, or that can never run, does not stand in the way of others in a strict queue. Surplus without
  // room does not either. The same holds for work that waits in a limit of its own: others need not wait for that.
  const bool surplus = claim_of(w_).free_room_only;
  why.in_line =
      (why.by_quota || why.by_nodes) && !refused && !surplus && !failure.of_parts && !failure.of_limit;
  why.of_limit = failure.of_limit;
  why.verdict = refused ? VerdictKind::kRefused : VerdictKind::kBlocked;

  const Structure& structure = state_.structures[w_.structure];
  if (search != nullptr && why.by_nodes && !why.by_quota && !may_have_victims(state_, w_) &&
      w_.sets.size() == 1 && structure.groups.size() == 1 &&
      structure.groups.front().topology == TopologyRequest{}) {
    why.room_only = state_.config_version;
  }
  for (const auto& set : w_.sets) {
    for (const ChargeId choice : state_.spec(set.spec).choices)
      why.shapes.push_back(state_.charges[choice].shape);
  }
  std::sort(why.shapes.begin(), why.shapes.end());
  why.shapes.erase(std::unique(why.shapes.begin(), why.shapes.end()), why.shapes.end());
  if (!failure.steps_ended && !surplus) choose_group(why);
}

// Parks the class. Statuses follow the kind of reason: numbers come and go with every pod.
void Attempt::tell(Parked why, Reason reason) {
  Pending::Class& c = state_.pending.at(class_);
  const bool told = same_kind(c.why.reason, reason) && c.why.verdict == why.verdict;
  why.reason = std::move(reason);
  if (!told) {
    for (const auto& member : c.members) state_.changed(member.workload);
  }
  // Old work reserves room, unless it never can start.
  if (why.in_line && !c.members.begin()->young && c.could_start_version != state_.place_version)
    round_.old.ask_empty(class_);
  state_.pending.park(class_, std::move(why));
  // The classes behind it in its group wait for the same.
  if (c.why.across_queues) return;
  state_.pending.each_behind(class_, [&](Pending::Class& behind) {
    if (same_kind(behind.why.reason, c.why.reason) && behind.why.verdict == c.why.verdict) return;
    behind.why.reason = c.why.reason;
    behind.why.verdict = c.why.verdict;
    for (const auto& member : behind.members) state_.changed(member.workload);
  });
}

// Of which other blocked classes is it so that they cannot start where this one, in front of them, could not?
void Attempt::choose_group(Parked& why) const {
  const Pending::Class& c = state_.pending.at(class_);
  const QueueState& q = state_.queues[c.queue.index()];
  if (!why.by_quota && !why.by_nodes) return;
  if (w_.running() > 0 || w_.releasing() > 0) return;
  const PreemptionPolicy& policy = q.spec.preemption;
  const bool reclaims =
      policy.reclaim != Reclaim::kNever && !q.spec.unlimited && state_.quota.parent(c.queue).valid();
  const bool never_preempts = !w_.may_preempt || (policy.within == WithinQueue::kNever && !reclaims);
  // Only room is short, and there can be no victims: work with the same request in other queues waits as well. Starts must not
  // change the order among these queues, or the first of them would not stay the first. Starts on borrowed quota in this decide() may
  // give way to work of one of these queues, and not to that of another (decisions.h).
  if (round_.decisions.borrowers().empty() && why.room_only != 0 && never_preempts &&
      c.members.begin()->young && q.spec.order == QueueOrder::kBestEffort && state_.one_line(c.queue)) {
    why.group = fmt::format("{}", std::max<std::int64_t>(1, w_.sets.front().least));
    for (const ShapeId shape : why.shapes) fmt::format_to(std::back_inserter(why.group), ",{}", shape.value);
    why.across_queues = true;
    return;
  }
  // The same work of the same queue at a lower priority has no victims that this one has not. By its place in line it might.
  if (!q.spec.ordering.priority_first || policy.within == WithinQueue::kLaterInOrder ||
      places_are_unknown(state_, w_))
    return;
  // Work that has had its fair turn may not evict by shares until something changes; work behind it may.
  if (shares_dominantly(state_, c.queue) && w_.takings.fairly_at == state_.outside_version) return;
  if (w_.takings.lost_force_at == state_.outside_version) return;  // the same of room that it took by force
  if (is_patient(state_, w_) || state_.done.is(id_, Done::kYielded)) return;
  why.group = State::kin_of(c);
}

}  // namespace berth::engine
