#include "engine/decide/decide.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "engine/preempt/quota_only/flavor_choice.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/cost.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/bands.h"

namespace berth::engine {
namespace {

// Rounds of start - wake - attempt within one call. Each further round needs a decision of the one before that freed
// something, so this is a guard, not a policy.
constexpr int kMostRounds = 1000;

// Some of it has places from now on.
void began(State& state, WorkloadId id) {
  WorkloadState& w = state.workloads[id.index()];
  if (w.started == 0) w.started = std::max<TimeMs>(state.now, 1);
  state.promote(id);
}

// Whether its queue is stopped for it: a queue that is held lets what was admitted make up for what it lost.
bool is_stopped(const QueueState& queue, const WorkloadState& w) {
  if (queue.spec.stop == StopPolicy::kHold) return !w.goes_on_in_hold();
  return queue.spec.stop != StopPolicy::kNone;
}

// Whether what runs and what is held make a whole workload: at every group nothing or at least its least number.
bool whole_with_hold(const Structure& structure, const WorkloadState& w) {
  std::vector<std::int64_t> started(structure.groups.size(), 0);
  std::vector<std::int64_t> slots(structure.groups.size(), 0);
  for (std::size_t s = 0; s < structure.group_of.size() && s < w.sets.size(); ++s) {
    const std::int64_t have = w.sets[s].active + w.sets[s].held;
    if (have > 0 && have < w.sets[s].least) return false;
    slots[structure.group_of[s]] += have;
    if (have >= w.sets[s].least) ++started[structure.group_of[s]];
  }
  for (std::size_t g = structure.groups.size(); g-- > 0;) {  // children come after their parents
    const StructureGroup& group = structure.groups[g];
    const bool enough = started[g] >= group.least;
    if (!enough && (slots[g] > 0 || g == 0)) return false;
    if (g == 0) continue;
    slots[group.parent] += slots[g];
    if (enough) ++started[group.parent];
  }
  return true;
}

}  // namespace

std::vector<std::int64_t> device_list(std::uint64_t mask) {
  std::vector<std::int64_t> out;
  for (; mask != 0; mask &= mask - 1) out.push_back(std::countr_zero(mask));
  return out;
}

std::vector<Decision> Decider::run() {
  ++state_.stats.decide_calls;
  state_.forget_done();
  state_.pending.wake_due(state_.now);
  state_.settle_starts();
  state_.note_service();
  state_.reorder_queues();  // before anything is decided: use of the past is what it was until now
  state_.grow_old();
  state_.look_at_demand();
  end_withdrawn();
  drain_stopped();
  for (int round = 0; round < kMostRounds; ++round) {
    if (state_.holds_suspect) check_holds();
    if (state_.gained_now) start_holders();
    place_awaited();
    wake();
    review_old();
    give_turns();
    while (true) {
      state_.reorder_queues();
      const ClassId next = state_.pending.next();
      if (!next.valid() && let_pass()) continue;
      if (!next.valid()) break;
      attempt(next);
    }
    state_.note_service();  // evicted work may have another place in line now
    wake_kept_out();
    give_turns();
    wake_reserved();
    const bool may_be_placed = state_.unplaced_news && !state_.unplaced.empty();
    if (state_.gained_nodes.empty() && state_.gained_roots.empty() && !state_.gained_now &&
        !state_.holds_suspect && !may_be_placed && !state_.pending.next().valid())
      break;
  }
  return net();
}

void Decider::end_withdrawn() {
  const std::set<WorkloadId> all = std::exchange(state_.to_withdraw, {});
  for (const WorkloadId id : all) {
    WorkloadState& w = state_.workloads[id.index()];
    const Reason why{ReasonCode::kWithdrawn, "", w.withdraw_why, 0, 0, 0, {}};
    w.withdraw = false;
    if (w.held() > 0) release_hold(id, why, 0);
    if (w.running() > 0) evict(id, why, "", victim_cost(state_, w, state_.now), 0);
  }
}

void Decider::drain_stopped() {
  for (std::size_t q = 0; q < state_.queues.size(); ++q) {
    const QueueState& queue = state_.queues[q];
    if (queue.spec.stop != StopPolicy::kHoldAndDrain || queue.started.empty()) continue;
    const std::set<WorkloadId> started = queue.started;
    for (const WorkloadId id : started) {
      const WorkloadState& w = state_.workloads[id.index()];
      const Reason why{ReasonCode::kDrained, queue.spec.name, "", 0, 0, 0, {}};
      if (w.held() > 0) release_hold(id, why, 0);
      evict(id, why, "", victim_cost(state_, w, state_.now), 0);
    }
  }
}

// The account of a held slot that is overdrawn, in words; "": none.
std::string Decider::overdraft_of(const WorkloadState& w, const Slot& slot) const {
  const Charged held = charged(w, slot);
  const std::string& node = state_.nodes.record(slot.node).spec.name;
  if (const auto over = state_.accounts.overdrawn_in_queue(held, Mode::kPlan)) {
    const std::string_view resource = state_.resource_name(over->pair);
    if (over->of == Overdraft::Of::kQuota) return fmt::format("the queue's quota of {} shrank", resource);
    return fmt::format("what {} may have of {} in this queue shrank",
                       state_.queues[w.queue.index()].lanes.name(w.lane), resource);
  }
  const auto over = state_.accounts.overdrawn_on_node(held, Mode::kPlan);
  if (!over) return "";
  if (over->of == Overdraft::Of::kDevice) return fmt::format("a device of node {} is gone", node);
  return fmt::format("node {} has less {} than was held", node, state_.nodes.resource_name(over->resource));
}

// Ends holds whose room has changed: a node gone, cordoned or shrunk, quota taken away, a queue stopped, pods missing or placed by
// another client.
void Decider::check_holds() {
  state_.holds_suspect = false;
  const auto holders = state_.holders;
  for (const auto& [order, id] : holders) {
    WorkloadState& w = state_.workloads[id.index()];
    const QueueState& q = state_.queues[w.queue.index()];
    std::string broken;
    if (std::exchange(w.placed_elsewhere, false)) broken = "one of its pods was placed somewhere else";
    if (!q.exists || !q.trouble.empty() || is_stopped(q, w)) broken = "its queue was stopped or changed";
    for (const auto& set : w.sets) {
      for (const auto& slot : set.slots) {
        if (slot.state != SlotState::kHeld || !broken.empty()) continue;
        const auto& record = state_.nodes.record(slot.node);
        if (!record.alive ||
            static_mismatch(state_.shape_of(slot.charge), record.spec).code != ReasonCode::kNone) {
          broken = fmt::format("node {} is gone or no longer suits", record.spec.name);
        }
        const std::string overdrawn = overdraft_of(w, slot);
        if (!overdrawn.empty()) broken = overdrawn;
      }
    }
    if (broken.empty() && !whole_with_hold(state_.structures[w.structure], w))
      broken = "pods of the gang are gone";
    if (!broken.empty()) release_hold(id, {ReasonCode::kHoldBroken, "", broken, 0, 0, 0, {}}, 0);
  }
}

void Decider::start_holders() {
  state_.gained_now = false;
  const auto holders = state_.holders;
  for (const auto& [order, id] : holders) {
    WorkloadState& w = state_.workloads[id.index()];
    std::vector<PlacedSlot> placed;
    bool ready = true;
    for (std::uint32_t s = 0; s < w.sets.size() && ready; ++s) {
      for (std::uint32_t i = 0; i < w.sets[s].slots.size() && ready; ++i) {
        const Slot& slot = w.sets[s].slots[i];
        if (slot.state != SlotState::kHeld) continue;
        ready = state_.accounts.has_room(charged(w, slot), kNow);
        if (!ready) break;
        state_.accounts.try_charge(charged(w, slot), kNowBit, +1);
        placed.push_back({s, i, slot.node, slot.charge, slot.devices});
      }
    }
    if (!ready || placed.empty()) {
      state_.abandon();
      continue;
    }
    state_.commit();
    for (const PlacedSlot& p : placed) state_.move_slot(id, p.set, p.slot, SlotState::kBinding, kNowBit);
    began(state_, id);
    state_.note_done(id, State::kSettled);
    Decision d;
    d.kind = DecisionKind::kStart;
    describe(d, w, placed);
    d.reason.code = ReasonCode::kFits;
    // A start replaces a hold of the same decide() in place: later decisions were made beside it.
    if (const auto held = held_at_.find(id.value); held != held_at_.end()) {
      out_[held->second] = std::move(d);
    } else {
      out_.push_back(std::move(d));
    }
    ++state_.stats.starts;
    ++state_.queues[w.queue.index()].starts;
    state_.stats.slots_started += static_cast<std::int64_t>(placed.size());
    state_.settle(id);
    state_.changed(id);
  }
}

void Decider::place_awaited() {
  if (!std::exchange(state_.unplaced_news, false)) return;
  const auto all = state_.unplaced;
  for (const auto& [arrival, id] : all) {
    const WorkloadState& w = state_.workloads[id.index()];
    const QueueState& q = state_.queues[w.queue.index()];
    if (!q.exists || !q.trouble.empty() || is_stopped(q, w) || !w.active || w.withdraw) continue;
    if (state_.is_done(id, State::kYielded)) continue;  // when what it loses is gone it is looked at again
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
    fresh_.erase(id.value);  // some of them may have got their quota in this round
    start(id, placer.placed());
    fresh_.erase(id.value);  // what grows behind it now gets its quota and its places at once
    begun_.erase(id.value);
    std::erase(borrowers_, id);
    state_.note_done(id, State::kSettled);
  }
}

// Whether its queue takes it, and it is still its turn. Otherwise it is parked or put off.
bool Decider::may_try(ClassId class_id, WorkloadId id) {
  const WorkloadState& w = state_.workloads[id.index()];
  const QueueState& q = state_.queues[w.queue.index()];
  const auto refuse = [&](ReasonCode code, std::string detail) {
    Failure failure;
    failure.reasons.push_back({code, q.spec.name, std::move(detail), 0, 0, 0, {}});
    park(class_id, failure, nullptr);
    return false;
  };
  if (!q.exists) return refuse(ReasonCode::kQueueMissing, "");
  if (!q.trouble.empty()) return refuse(ReasonCode::kQueueDisabled, q.trouble);
  if (!q.spec.leaf)
    return refuse(ReasonCode::kQueueDisabled, "it has child queues and takes no workloads itself");
  if (is_stopped(q, w)) return refuse(ReasonCode::kQueueStopped, "");
  if (state_.is_done(id, State::kYielded) && w.releasing() > 0) {  // it does not grow in the same decide()
    Failure ending;
    ending.by_quota = ending.by_nodes = true;
    ending.reasons.push_back({ReasonCode::kWaitingForRoom, "", "", w.releasing(), 0, 0, {}});
    park(class_id, ending, nullptr, state_.now + 1);
    return false;
  }

  // Its turn was computed with the flavor that it would have got when it came to the front. A change of that may have changed
  // others too.
  if (state_.renew_ask(class_id)) {
    state_.pending.refresh_all();
    if (state_.pending.next() != class_id) return false;
  }
  const std::int64_t height = borrowing_height(w);
  if (height > state_.pending.put_off_by(w.queue)) {
    state_.pending.put_off(w.queue, height);
    return false;
  }
  attempted_ = class_id;
  attempted_height_ = height;
  reserved_ = reserved_before(class_id, height);
  return true;
}

void Decider::attempt_once(ClassId class_id, WorkloadId id) {
  ++state_.stats.attempts;
  kept_.clear();
  kept_known_ = false;
  short_beside_kept_.clear();
  reserved_.clear();
  beside_failed_ = false;
  if (!may_try(class_id, id)) return;
  Budget steps(state_.config.search_steps);
  if (take_from_borrowers(id, steps)) return;
  if (places_are_unknown(state_.workloads[id.index()])) return attempt_quota(class_id, id);
  if (borrowers_.empty() && lacks_room(class_id)) {
    Parked again = std::move(state_.pending.at(class_id).why);
    return state_.pending.park(class_id, std::move(again));
  }
  attempt_places(class_id, id, steps);
}

// Starts it where there is room, waits for room that is about to be free, or finds victims.
void Decider::attempt_places(ClassId class_id, WorkloadId id, Budget& steps) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (try_flavors(id, steps)) return;
  std::optional<Placer> placer;
  const auto to_start = [&](std::optional<Placer>& into) { into.emplace(state_, id, Mode::kStart, steps); };
  if (run_beside_kept(placer, id, Mode::kStart, to_start)) {
    state_.commit();
    return start(id, placer->placed());
  }
  const Failure& lacking = placer->failure();
  // Nothing that is running ends for work that lacks pods, or that asks for what does not exist.
  const bool hopeful = lacking.by_quota || lacking.by_nodes;
  if (!hopeful) return park(class_id, lacking, nullptr);
  // Whatever the search found: work blocks no other work if too many parts lack pods, or ask for more than its queue can ever have.
  if (Failure parts = lacks_parts(w); !parts.reasons.empty()) return park(class_id, parts, nullptr);
  if (Failure own = beyond_lane(w, lacking); !own.reasons.empty()) return park(class_id, own, nullptr);

  // Surplus takes room that is free, and waits for none.
  const Claim claim = claim_of(w);
  if (claim.free_room_only) return park(class_id, lacking, nullptr);
  if (takes_nothing(id)) return park(class_id, lacking, nullptr, state_.now + 1);

  // Room that is about to be free and is not pledged: wait for it instead of evicting work.
  std::optional<Placer> later;
  const auto to_wait = [&](std::optional<Placer>& into) { into.emplace(state_, id, Mode::kPlan, steps); };
  if (run_beside_kept(later, id, Mode::kPlan, to_wait)) {
    state_.commit();
    VictimPlan plan;
    plan.placed = later->placed();
    return hold(id, plan);
  }
  if (kept_out_) return park(class_id, lacking, nullptr);
  // A search that ended at its bound has not shown that anybody must yield.
  if (lacking.steps_ended || later->failure().steps_ended) {
    Failure failure = lacking;
    failure.steps_ended = true;
    return park(class_id, failure, nullptr);
  }
  attempt_victims(class_id, id, lacking, steps);
}

void Decider::attempt_victims(ClassId class_id, WorkloadId id, const Failure& lacking, Budget& steps) {
  const WorkloadState& w = state_.workloads[id.index()];
  std::optional<VictimSearch> search;
  const auto look_for_victims = [&] {
    search.emplace(state_, lists_, id, steps);
    auto found = search->run(grows(w) ? Ask::kWholeClaim : Ask::kLeast);
    if (!found && grows(w) && !steps.ended()) found = search->run(Ask::kLeast);
    return found;
  };
  auto plan = beside_kept(w, steps, look_for_victims);
  if (plan && take_back(*plan)) return;
  if (plan && stands_beside_kept(w, plan->placed, Mode::kPlan)) {
    state_.commit();
    return hold(id, *plan);
  }
  Failure failure = lacking;
  if (plan) {  // there are victims, and still it has to wait
    state_.abandon();
    failure.by_quota = true;
    failure.by_nodes = failure.by_nodes || !reserved_.empty();
    beside_failed_ = true;
    return park(class_id, failure, nullptr);
  }
  failure.steps_ended = failure.steps_ended || steps.ended();
  park(class_id, failure, &*search);
}

bool Decider::lacks_room(ClassId class_id) {
  Pending::Class& c = state_.pending.at(class_id);
  if (c.why.room_only != state_.config_version || !c.members.begin()->young) return false;
  if (c.why.wake_at <= state_.now) return false;  // more may yield by now
  const WorkloadId id = c.members.begin()->workload;
  const WorkloadState& w = state_.workloads[id.index()];
  const PodSetState& set = w.sets.front();
  Budget steps(0);
  if (VictimSearch(state_, lists_, id, steps).could_help()) return false;
  const std::int64_t least = std::max<std::int64_t>(1, set.least - set.active);
  std::int64_t have = -1;
  for (const ChargeId choice : state_.choices(set)) {
    const Charge& charge = state_.charges[choice];
    for (const Mode mode : {Mode::kStart, Mode::kPlan}) {
      if (!state_.fits(w, charge.quota, least, mode)) return false;
      const std::int64_t total = state_.index(charge.shape, mode).total();
      if (total >= least) return false;
      // The reason names the choice that came nearest to a start.
      if (mode == Mode::kStart) have = std::max(have, total);
    }
  }
  if (have < 0) return false;
  const auto renew = [&](const auto& self, Reason& reason) -> void {
    if (reason.code == ReasonCode::kNodes) reason.have = have;
    for (Reason& child : reason.children) self(self, child);
  };
  renew(renew, c.why.reason);
  return true;
}

void Decider::describe(Decision& d, const WorkloadState& w, const std::vector<PlacedSlot>& placed) const {
  d.workload = w.uid;
  std::uint32_t last_set = ~0u;
  for (const PlacedSlot& p : placed) {
    d.slots.push_back({p.set, p.slot, state_.nodes.record(p.node).spec.name, device_list(p.devices)});
    if (p.set == last_set) continue;
    last_set = p.set;
    for (const ChosenFlavor& f : state_.charges[p.charge].flavors) {
      FlavorChoice choice{p.set, f.resource, f.flavor};
      if (std::find(d.flavors.begin(), d.flavors.end(), choice) == d.flavors.end())
        d.flavors.push_back(std::move(choice));
    }
  }
}

void Decider::start(WorkloadId id, const std::vector<PlacedSlot>& placed) {
  WorkloadState& w = state_.workloads[id.index()];
  // Growth in the same decide() is part of the start.
  const auto [at, is_new] = fresh_.try_emplace(id.value, out_.size());
  note_begun(id, placed, at->second);
  if (w.running() == 0) w.took_at = kEndOfTime;
  for (const PlacedSlot& p : placed) {
    state_.set_slot(id, p.set, p.slot, SlotState::kBinding, p.node, p.charge, p.devices, kBothPlanes);
  }
  began(state_, id);
  if (is_new) {
    out_.emplace_back().reason.code = ReasonCode::kFits;
    ++state_.stats.starts;
  }
  describe(out_[at->second], w, placed);
  ++state_.queues[w.queue.index()].starts;
  state_.stats.slots_started += static_cast<std::int64_t>(placed.size());
  state_.settle(id);
  state_.changed(id);
}

void Decider::hold(WorkloadId id, const VictimPlan& plan) {
  fresh_.clear();
  const std::string uid = state_.workloads[id.index()].uid;
  const QueueId queue = state_.workloads[id.index()].queue;
  const std::size_t decided = out_.size();
  for (const auto& victim : plan.victims) {
    const bool other_queue = state_.workloads[victim.workload.index()].queue != queue;
    if (victim.holder) {
      note_loss(state_, victim.workload, id, victim.why);
      release_hold(victim.workload, {ReasonCode::kHoldOvertaken, uid, "", 0, 0, 0, {}}, kAfterBit);
    } else {
      note_loss(state_, victim.workload, id, victim.why);
      evict(victim.workload, {victim.why, uid, "", 0, 0, 0, {}}, uid, victim.cost, kAfterBit,
            victim.whole ? SlotNames() : victim.slots);
      if (other_queue) ++state_.stats.reclaims;
    }
  }
  const bool some_yield = out_.size() > decided;
  if (some_yield) settle_begun();
  WorkloadState& w = state_.workloads[id.index()];
  for (const auto& victim : plan.victims) {
    if (victim.why == ReasonCode::kReclaimedFairly) w.took_fairly_at = state_.outside_version;
    if (victim.why == ReasonCode::kReclaimedWhileBorrowing) w.took_by_force = true;
  }
  if (!plan.victims.empty()) w.took_at = state_.now;
  state_.note_done(id, State::kSettled);
  w.held_band = saturating_sub(claim_of(w).priority, w.priority);
  for (const PlacedSlot& p : plan.placed) {
    state_.set_slot(id, p.set, p.slot, SlotState::kHeld, p.node, p.charge, p.devices, kAfterBit);
  }
  if (plan.takes_from_own_queue()) note_gain(state_, id, plan.placed);
  state_.list_hold(id, static_cast<std::uint64_t>(++state_.stats.holds));
  w.hold_cause.code = some_yield ? ReasonCode::kPreemptor : ReasonCode::kReleasingRoom;
  Decision d;
  d.kind = DecisionKind::kHold;
  describe(d, w, plan.placed);
  d.reason = w.hold_cause;
  held_at_[id.value] = out_.size();
  out_.push_back(std::move(d));
  state_.settle(id);
  state_.changed(id);
  state_.gained_now = true;  // where only holds gave way, it may start at once
}

void Decider::evict(WorkloadId id, Reason reason, std::string beneficiary, std::int64_t cost, PlaneMask freed,
                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& part) {
  fresh_.clear();
  WorkloadState& w = state_.workloads[id.index()];
  Decision d;
  d.kind = DecisionKind::kEvict;
  d.workload = w.uid;
  d.beneficiary = std::move(beneficiary);
  d.cost = cost;
  d.reason = std::move(reason);
  const auto end = [&](std::uint32_t s, std::uint32_t i) {
    const Slot& slot = w.sets[s].slots[i];
    d.slots.push_back({s, i, state_.nodes.record(slot.node).spec.name, device_list(slot.devices)});
    state_.move_slot(id, s, i, SlotState::kReleasing, 0, freed);
  };
  for (const auto& [s, i] : part) end(s, i);
  for (std::uint32_t s = 0; s < w.sets.size() && part.empty(); ++s) {
    for (std::uint32_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const SlotState state = w.sets[s].slots[i].state;
      if (state == SlotState::kBinding || state == SlotState::kRunning) end(s, i);
    }
  }
  out_.push_back(std::move(d));
  state_.note_done(id, State::kYielded);
  ++state_.stats.evictions;
  state_.settle(id);
  state_.changed(id);
}

void Decider::release_hold(WorkloadId id, Reason reason, PlaneMask freed) {
  fresh_.clear();
  WorkloadState& w = state_.workloads[id.index()];
  Decision d;
  d.kind = DecisionKind::kReleaseHold;
  d.workload = w.uid;
  d.reason = std::move(reason);
  for (std::uint32_t s = 0; s < w.sets.size(); ++s) {
    for (std::uint32_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const Slot& slot = w.sets[s].slots[i];
      if (slot.state != SlotState::kHeld) continue;
      d.slots.push_back({s, i, state_.nodes.record(slot.node).spec.name, device_list(slot.devices)});
      state_.move_slot(id, s, i, SlotState::kWaiting, 0, freed);
    }
  }
  out_.push_back(std::move(d));
  ++state_.stats.holds_released;
  state_.settle(id);
  state_.changed(id);
}

}  // namespace berth::engine
