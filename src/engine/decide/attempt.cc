#include "engine/decide/attempt.h"

#include <algorithm>
#include <utility>

#include "engine/decide/shortage.h"
#include "engine/state/bands.h"

namespace berth::engine {

Attempt::Attempt(Round& round, ClassId id, std::int64_t took_back)
    : round_(round),
      state_(round.state),
      class_(id),
      id_(state_.pending.at(id).members.begin()->workload),
      w_(state_.workloads[id_.index()]),
      steps_(state_.config.search_steps),
      reserved_(state_, round.strict),
      took_back_before_(took_back) {}

void Attempt::run() {
  ++state_.stats.attempts;
  if (!may_try()) return;
  const bool unknown = places_are_unknown(state_, w_);
  if (!unknown && round_.decisions.borrowers().empty() && still_lacks_room(state_, class_)) {
    Parked again = std::move(state_.pending.at(class_).why);
    return state_.pending.park(class_, std::move(again));
  }
  const bool sizes = !unknown && has_sizes(w_);
  if (sizes && (begins_with(AskedSize::Size::kWhole) || begins_with(AskedSize::Size::kMostFree))) return;
  if (take_from_borrowers()) return;
  own_ended_ = steps_.ended();
  return unknown ? with_quota() : with_places();
}

bool Attempt::begins_with(AskedSize::Size size) {
  steps_ = Budget(state_.config.search_steps);
  bool begins = false;
  {
    const AskedSize asked(state_, id_, size);
    begins = take_from_borrowers() || try_flavors();
    if (!begins) {
      const Found found = find(nullptr);
      begins = found.way != Way::kNone && carry_out(found);
    }
  }
  steps_ = Budget(state_.config.search_steps);
  return begins;
}

bool Attempt::refuse(ReasonCode code, std::string detail) {
  Failure failure;
  failure.reasons.push_back(
      {code, state_.queues[w_.queue.index()].spec.name, std::move(detail), 0, 0, 0, {}});
  park(failure, nullptr);
  return false;
}

// Whether its queue takes it, and it is still its turn. Otherwise it is parked or put off.
bool Attempt::may_try() {
  const QueueState& q = state_.queues[w_.queue.index()];
  if (!q.exists) return refuse(ReasonCode::kQueueMissing, "");
  if (!q.trouble.empty()) return refuse(ReasonCode::kQueueDisabled, q.trouble);
  if (!q.spec.leaf)
    return refuse(ReasonCode::kQueueDisabled, "it has child queues and takes no workloads itself");
  if (is_stopped(q, w_)) return refuse(ReasonCode::kQueueStopped, "");
  if (state_.done.is(id_, Done::kYielded) && w_.releasing() > 0) {  // it does not grow in the same decide()
    Failure ending;
    ending.by_quota = ending.by_nodes = true;
    ending.reasons.push_back({ReasonCode::kWaitingForRoom, "", "", w_.releasing(), 0, 0, {}});
    park(ending, nullptr, state_.now + 1);
    return false;
  }

  // Its turn was computed with the flavor that it would have got when it came to the front. A change of that may have changed
  // others too.
  if (state_.renew_ask(class_)) {
    state_.pending.refresh_all();
    if (state_.pending.next() != class_) return false;
  }
  const std::int64_t height = borrowing_height(state_, w_);
  if (height > state_.pending.put_off_by(w_.queue)) {
    state_.pending.put_off(w_.queue, height);
    return false;
  }
  reserved_.begin(class_, height, round_.old.reserved_from(class_, height));
  return true;
}

void Attempt::with_places() {
  if (try_flavors()) return;
  // Where there are too many assignments to compare, the first that fits is better than none.
  flavors_ended_ = steps_.ended() && !own_ended_;
  if (flavors_ended_) steps_ = Budget(state_.config.search_steps);
  const Found found = find(nullptr);
  if (found.way != Way::kNone) {
    carry_out(found);
  } else {
    park(found.failure, found.searched ? &*victims_ : nullptr, found.more_at);
  }
}

Attempt::Found Attempt::find(const Assignment* only) {
  Found found;
  std::optional<Placer> now;
  const auto to_start = [&](std::optional<Placer>& into) {
    into.emplace(state_, id_, Mode::kStart, steps_, only);
  };
  if (place(now, Mode::kStart, to_start)) {
    found.way = Way::kStart;
    found.plan.placed = now->placed();
    return found;
  }
  const Failure& lacking = now->failure();
  if (auto stop = stops(lacking)) return *std::move(stop);

  std::optional<Placer> later;
  const auto to_wait = [&](std::optional<Placer>& into) {
    into.emplace(state_, id_, Mode::kPlan, steps_, only);
  };
  if (place(later, Mode::kPlan, to_wait)) {
    found.way = Way::kWait;
    found.plan.placed = later->placed();
    return found;
  }
  found.failure = lacking;
  if (kept_out_) return found;
  // A search that ended at its bound has not shown that other work must yield.
  if (flavors_ended_ || lacking.steps_ended || later->failure().steps_ended) {
    found.failure.steps_ended = true;
    return found;
  }
  return find_victims(only, lacking);
}

// Its own shortages, whatever the search found. Work blocks no other work if too many of its parts lack pods, or if they ask for
// more than its queue can ever have. The same holds if a limit that binds it is full.
std::optional<Failure> Attempt::own_shortage(const Failure& lacking) {
  if (!lacking.by_quota && !lacking.by_nodes && !lacking.steps_ended) return std::nullopt;
  if (Failure parts = lacks_parts(state_, w_); !parts.reasons.empty()) return parts;
  if (Failure limit = beyond_limit(state_, w_, lacking); !limit.reasons.empty()) return limit;
  return std::nullopt;
}

std::optional<Attempt::Found> Attempt::stops(const Failure& lacking) {
  Found found;
  found.failure = lacking;
  if (auto own = own_shortage(lacking)) {
    found.failure = *std::move(own);
    return found;
  }
  // Nothing that is running ends for work that lacks pods, or that asks for what does not exist.
  if (!lacking.by_quota && !lacking.by_nodes) return found;
  if (claim_of(w_).free_room_only) return found;  // surplus takes room that is free, and waits for none
  if (!round_.decisions.takes_nothing(id_)) return std::nullopt;
  found.more_at = state_.now + 1;
  return found;
}

std::optional<VictimPlan> Attempt::search_victims(const Assignment* only) {
  victims_.emplace(state_, round_.lists, id_, steps_);
  if (!grows(w_)) return victims_->run(Ask::kLeast, only);
  auto plan = victims_->run(Ask::kWholeClaim, only);
  if (!plan && !steps_.ended()) plan = victims_->run(Ask::kLeast, only);
  return plan;
}

Attempt::Found Attempt::find_victims(const Assignment* only, const Failure& lacking) {
  Found found;
  const Budget left = steps_;
  auto plan = search_victims(only);
  if (plan && reserved_.may_learn_more()) {
    state_.abandon();
    reserved_.learn(w_);
    steps_ = left;
    plan = search_victims(only);
  }
  if (plan &&
      (round_.decisions.started_victims(*plan) || reserved_.stands_beside(w_, plan->placed, Mode::kPlan))) {
    found.way = Way::kVictims;
    found.plan = *std::move(plan);
    return found;
  }
  found.failure = lacking;
  if (plan) {  // there are victims, and still it has to wait
    state_.abandon();
    found.failure.by_quota = true;
    found.failure.by_nodes = found.failure.by_nodes || !reserved_.room().empty();
    beside_failed_ = true;
    return found;
  }
  found.failure.by_nodes = found.failure.by_nodes || victims_->lacked_places();
  found.failure.steps_ended = found.failure.steps_ended || steps_.ended();
  found.searched = true;
  return found;
}

// True. Where some of its victims started in this decide(), they are taken back instead, and the search begins anew.
bool Attempt::carry_out(const Found& found) {
  took_back_ = round_.decisions.take_back(found.plan);
  if (took_back_ > 0) return true;
  state_.commit();
  if (found.way == Way::kStart) {
    round_.decisions.start(id_, found.plan.placed);
  } else {
    round_.decisions.hold(id_, found.plan);
  }
  return true;
}

// How its queue likes it; its charges are in the trial.
FlavorRating Attempt::rate(const Found& found) {
  std::int64_t most = 0;
  for (const PlacedSlot& p : found.plan.placed)
    most = std::max(most, state_.quota.reach(w_.queue, state_.charges[p.charge].quota, 0));
  if (found.way == Way::kStart) return {FlavorMode::kFits, most};
  const bool preempts = found.way == Way::kVictims && found.plan.takes_from_own_queue();
  return {preempts ? FlavorMode::kPreempts : FlavorMode::kReclaims, most};
}

// Tries assignments of flavors to pod sets one after the other, if the queue does not take the first that fits (FlavorSearch).
// True: it started, or got a hold.
bool Attempt::try_flavors() {
  const FlavorSearch& how = state_.queues[w_.queue.index()].spec.flavor_search;
  if (how == FlavorSearch{} || grows(w_)) return false;
  Assignments all(state_, w_, needs_of(w_, Ask::kLeast), steps_);
  if (!all.several()) return false;
  std::optional<std::pair<FlavorRating, Assignment>> best;
  while (const Assignment* assignment = all.next()) {
    const Found found = find(assignment);
    if (found.way == Way::kNone) continue;
    const FlavorRating rating = rate(found);
    if (search_ends(how, rating)) return carry_out(found);
    state_.abandon();
    if (!best || better(how, rating, best->first)) best = {rating, *assignment};
  }
  if (!best) return false;
  steps_.grant(state_.config.search_steps);  // it is known to be there
  const Found found = find(&best->second);
  return found.way != Way::kNone && carry_out(found);
}

}  // namespace berth::engine
