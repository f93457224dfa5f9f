#include "engine/decide/decide.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "engine/decide/reasons.h"
#include "engine/decide/shortage.h"
#include "engine/decide/turns.h"
#include "engine/nodes/room.h"
#include "engine/preempt/rights/cost.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/bands.h"
#include "engine/state/broken.h"

namespace berth::engine {
namespace {

// Rounds of start - wake - attempt within one call. Each further round needs a decision of the one before that freed
// something, so this is a guard, not a policy.
constexpr int kMostRounds = 1000;

std::string text_of(DurationMs time) {
  return time < kMinute ? fmt::format("{} s", time / kSecond) : fmt::format("{} min", time / kMinute);
}

}  // namespace

std::vector<Decision> Decider::run() {
  ++state_.stats.decide_calls;
  state_.done.forget();
  state_.pending.wake_due(state_.now);
  state_.settle_starts();
  state_.note_service();
  state_.reorder_queues();  // before anything is decided: use of the past is what it was until now
  state_.grow_old();
  if (state_.look_at_demand()) round_.old.forget();
  end_withdrawn();
  drain_stopped();
  if (state_.news.look_at_holds <= state_.now) {
    state_.news.look_at_holds = kEndOfTime;
    state_.news.holds_later = false;
    state_.news.holds_suspect = true;
  }
  for (int round = 0; round < kMostRounds; ++round) {
    if (state_.accounts.counted().news().take_for_holds() || state_.news.holds_suspect) round_.held.check();
    if (state_.news.gained_now) round_.held.start();
    place_awaited();
    wake();
    round_.old.review();
    round_.old.give_turns();
    while (true) {
      state_.reorder_queues();
      const ClassId next = state_.pending.next();
      if (!next.valid() && let_pass()) continue;
      if (!next.valid()) break;
      attempt(next);
    }
    state_.note_service();  // evicted work may have another place in line now
    round_.strict.wake_kept_out();
    round_.old.give_turns();
    round_.old.wake_kept_out();
    const bool may_be_placed = state_.news.unplaced && !state_.unplaced.empty();
    if (state_.news.gained_nodes.empty() && state_.news.gained_roots.empty() && !state_.news.gained_now &&
        !state_.news.holds_suspect && !state_.accounts.counted().news().any() && !may_be_placed &&
        !state_.pending.next().valid() && !end_broken() && !round_.decisions.reprieve())
      break;
  }
  if (state_.news.holds_later && round_.held.some_is_ready()) state_.news.look_at_holds = state_.now + 1;
  return round_.decisions.net();
}

void Decider::end_withdrawn() {
  if (state_.endings.to_withdraw.empty()) return;
  const std::set<WorkloadId> all = std::exchange(state_.endings.to_withdraw, {});
  for (const WorkloadId id : all) {
    WorkloadState& w = state_.workloads[id.index()];
    const Reason why{ReasonCode::kWithdrawn, "", w.withdraw_why, 0, 0, 0, {}};
    w.withdraw = false;
    if (w.held() > 0) round_.decisions.release_hold(id, why, 0);
    if (w.running() > 0) round_.decisions.evict(id, why, "", victim_cost(state_, w, state_.now), 0);
  }
}

void Decider::drain_stopped() {
  for (const QueueId id : state_.endings.draining) {
    const QueueState& queue = state_.queues[id.index()];
    const std::set<WorkloadId> started = queue.started;
    for (const WorkloadId work : started) {
      const WorkloadState& w = state_.workloads[work.index()];
      const Reason why{ReasonCode::kDrained, queue.spec.name, "", 0, 0, 0, {}};
      if (w.held() > 0) round_.decisions.release_hold(work, why, 0);
      round_.decisions.evict(work, why, "", victim_cost(state_, w, state_.now), 0);
    }
  }
}

// Gangs that could not be completed in this round, and have lacked slots for as long as they may.
bool Decider::end_broken() {
  bool any = false;
  while (state_.now > 0 && !state_.endings.broken.empty() &&
         state_.endings.broken.begin()->first <= state_.now) {
    const WorkloadId id = state_.endings.broken.begin()->second;
    const WorkloadState& w = state_.workloads[id.index()];
    const TimeMs since = w.delays->broken.since;
    if (since == 0) {
      note_broken(state_, id);
      continue;
    }
    const Reason why{ReasonCode::kBroken, "", text_of(state_.now - since), 0, 0, 0, {}};
    if (w.held() > 0) round_.decisions.release_hold(id, why, 0);
    round_.decisions.evict(id, why, "", victim_cost(state_, w, state_.now), 0);
    any = true;
  }
  return any;
}

void Decider::place_awaited() {
  if (!std::exchange(state_.news.unplaced, false)) return;
  const auto all = state_.unplaced;
  for (const auto& [arrival, id] : all) {
    const WorkloadState& w = state_.workloads[id.index()];
    const QueueState& q = state_.queues[w.queue.index()];
    if (!q.exists || !q.trouble.empty() || is_stopped(q, w) || !w.active || w.withdraw) continue;
    if (state_.done.is(id, Done::kYielded)) continue;  // when what it loses is gone it is looked at again
    // As whole as what starts: a part that is held has not started.
    if (w.held() > 0 || !whole_with_hold(state_.structures[w.structure], w)) continue;
    std::vector<ChargeId> charges(w.sets.size());
    std::vector<std::int64_t> counts(w.sets.size(), 0);
    bool known = true;
    for (std::size_t s = 0; s < w.sets.size(); ++s) {
      const PodSetState& set = w.sets[s];
      if (set.unplaced == 0) continue;
      const auto slot = std::find_if(set.slots.begin(), set.slots.end(), [&](const Slot& of) {
        return of.node.valid() && state_.nodes.is_opaque(of.node) && of.state != SlotState::kReleasing;
      });
      counts[s] = set.unplaced;
      charges[s] = state_.choice_of_flavors(set.spec, state_.charges[slot->charge].flavors);
      known = known && charges[s].valid();
    }
    if (!known) continue;
    const auto lifted = state_.lift(id);
    Budget steps(state_.config.search_steps);
    Placer placer(state_, id, Mode::kStart, steps, Placer::Orders{charges, counts});
    const auto wanted = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const bool placed = placer.run() && static_cast<std::int64_t>(placer.placed().size()) == wanted;
    if (placed) {
      state_.commit();
    } else {
      state_.abandon();
    }
    state_.put_back(id, lifted, placed);
    if (!placed) {
      tell_no_places(id, placer.failure());
      continue;
    }
    round_.decisions.start_alone(id, placer.placed());
  }
}

void Decider::tell_no_places(WorkloadId id, const Failure& failure) {
  std::vector<Reason> reasons = failure.reasons;
  if (failure.steps_ended) reasons.push_back({ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}});
  Reason why = as_one(std::move(reasons));
  Reason& told = state_.no_places[id.value];
  if (told != why) state_.changed(id);
  told = std::move(why);
}

void Decider::wake() {
  // Terms bind nodes on which nothing has changed.
  const bool terms = state_.accounts.counted().news().take_for_work();
  // A slot that came may be the one that others must be near to: those that await nodes, and those that are held.
  state_.news.unplaced = state_.news.unplaced || terms;
  state_.news.gained_now = state_.news.gained_now || terms;
  if (state_.news.gained_nodes.empty() && state_.news.gained_roots.empty() && !terms) return;
  const auto nodes = state_.news.gained_nodes.take();
  const auto roots = std::exchange(state_.news.gained_roots, {});
  const auto sides = std::exchange(state_.news.gained_sides, {});
  Pending& pending = state_.pending;
  std::vector<ClassId> called;
  const auto call = [&](const Sleepers::Classes& classes) {
    for (const ClassId id : classes) {
      if (!still_lacks_room(state_, id)) called.push_back(id);
    }
  };
  const auto may_have_some = [&](const ClassId id) {
    return may_have_victims(state_, state_.workloads[pending.at(id).members.begin()->workload.index()]);
  };
  for (const auto& [queue, classes] : pending.sleepers().by_quota()) {
    if (roots.count(state_.quota.root(queue)) > 0) call(classes);
  }
  // With less in use on its side a queue may take back what others have borrowed.
  for (const auto& [queue, classes] : pending.sleepers().by_side()) {
    bool hit = false;
    for (QueueId at = queue; !hit && at.valid(); at = state_.quota.parent(at)) hit = sides.count(at) > 0;
    if (hit) call(classes);
  }
  const auto crossings = terms ? new_crossings() : std::optional(std::vector<CountedCrossing>{});
  const auto is_concerned = [&](CountedId shape) {
    if (!crossings) return true;
    return std::any_of(crossings->begin(), crossings->end(), [&](const CountedCrossing& crossing) {
      return state_.accounts.counted().concerns(shape, crossing);
    });
  };
  for (const auto& [id, classes] : pending.sleepers().by_shape()) {
    const Shape& shape = state_.shapes[id].shape;
    const bool fits = std::any_of(nodes.begin(), nodes.end(), [&](const NodeId node) {
      return has_room(state_.nodes, node, shape, Mode::kPlan) && state_.index(id, Mode::kPlan).fit(node) > 0;
    });
    const bool by_terms =
        terms && shape.counted.valid() && !fits && state_.index(id, Mode::kPlan).has_total(1);
    if (fits || by_terms) {
      call(classes);
    } else if (shape.counted.valid() && is_concerned(shape.counted)) {
      // Full nodes may be right for it now: there it may have victims.
      std::copy_if(classes.begin(), classes.end(), std::back_inserter(called), may_have_some);
    }
  }
  pending.call(called);
}

// The terms whose counts crossed something since waiting work looked last, each once. Trials are among them: they take nothing away.
// None: the log has forgotten some, so that any term may have.
std::optional<std::vector<CountedCrossing>> Decider::new_crossings() {
  const CountedLog& log = state_.accounts.counted().log();
  const std::uint64_t seen = std::exchange(state_.news.terms_seen, log.end());
  if (seen < log.begin()) return std::nullopt;
  std::vector<CountedCrossing> out;
  for (std::uint64_t at = seen; at < log.end(); ++at) {
    CountedCrossing crossing = log.at(at);
    if (crossing.of == CountedCrossing::Of::kLeaning) continue;
    if (crossing.domain != CountedCrossing::kEverywhere) crossing.domain = 0;
    out.push_back(crossing);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// New charges may put waiting work beyond a limit that binds it: it no longer blocks the work behind it. True: some work is awake
// because of that.
bool Decider::let_pass() {
  if (state_.news.filled_lanes.empty() && state_.news.filled_firm.empty()) return false;
  bool any = false;
  std::set<QueueId> filled = std::exchange(state_.news.filled_lanes, {});
  const std::set<QueueId> firm = std::exchange(state_.news.filled_firm, {});
  for (std::size_t q = 0; q < state_.queues.size() && !firm.empty(); ++q) {
    if (firm.contains(state_.accounts.firm().widest(QueueId(q)))) filled.insert(QueueId(q));
  }
  for (const QueueId queue : filled) {
    for (const ClassId id : state_.pending.in_line(queue)) {
      const WorkloadState& w = state_.workloads[state_.pending.at(id).members.begin()->workload.index()];
      const bool is_known = w.needs_all && !grows(w);
      if (is_known && beyond_limit(state_, w, {}).reasons.empty()) continue;
      state_.pending.wake(id);
      any = true;
    }
  }
  return any;
}

// Starts that were taken back for it give it room, and no rights: the search begins anew without them. A workload takes back in one
// attempt of a decide() only.
void Decider::attempt(ClassId class_id) {
  const WorkloadId id = state_.pending.at(class_id).members.begin()->workload;
  std::int64_t took_back = 0;
  for (;;) {
    Attempt attempt(round_, class_id, took_back);
    attempt.run();
    took_back += attempt.took_back();
    if (std::exchange(state_.news.freed_limit, false)) stand_in_front_again();
    if (attempt.took_back() == 0 || state_.pending.at(class_id).members.begin()->workload != id) break;
    // Work that went with them may stand in front of it in its strict queue, and has its turn first. So has work that stands aside no more.
    if (state_.pending.follows_awake(class_id)) break;
  }
  if (took_back > 0) state_.done.note(id, Done::kYielded);
  // Starts that were taken back leave room. Work that sleeps has its turn there before they begin again.
  if (std::exchange(state_.news.taken_back, false)) wake();
}

// Work that waited in a limit let others of its strict queue pass. With room there it has its turn before them.
void Decider::stand_in_front_again() {
  for (std::size_t q = 0; q < state_.queues.size(); ++q) {
    for (const ClassId id : blocks_again(state_, QueueId(q))) state_.pending.wake(id);
  }
}

}  // namespace berth::engine
