#include "engine/decide/decide.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/in_turn.h"
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

constexpr std::string_view kTermFails = "a required term about other pods fails on node {}";

std::string text_of(DurationMs time) {
  return time < kMinute ? fmt::format("{} s", time / kSecond) : fmt::format("{} min", time / kMinute);
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
    if (state_.accounts.counted().news().take_for_holds() || state_.news.holds_suspect) check_holds();
    if (state_.news.gained_now) start_holders();
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
  if (state_.news.holds_later && some_hold_has_its_room()) state_.news.look_at_holds = state_.now + 1;
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

// The account of a held slot that is overdrawn, in words; "": none.
std::string Decider::overdraft_of(const WorkloadState& w, const Slot& slot) const {
  const Charged held = charged(w, slot);
  const std::string& node = state_.nodes.record(slot.node).spec.name;
  if (const auto over = state_.accounts.overdrawn_in_queue(held, Mode::kPlan)) {
    const std::string_view resource = state_.resource_name(over->pair);
    if (over->of == Overdraft::Of::kQuota) return fmt::format("the queue's quota of {} shrank", resource);
    if (over->of == Overdraft::Of::kFirm)
      return fmt::format("work that is not preemptible may have less {} than was held", resource);
    return fmt::format("what {} may have of {} in this queue shrank",
                       state_.queues[w.queue.index()].lanes.name(w.lane), resource);
  }
  const auto over = state_.accounts.overdrawn_on_node(held, Mode::kPlan);
  if (!over) return "";
  if (over->of == Overdraft::Of::kTerm) return fmt::format(kTermFails, node);
  if (over->of == Overdraft::Of::kDevice) return fmt::format("a device of node {} is gone", node);
  if (over->of == Overdraft::Of::kToken)
    return fmt::format("another pod has {} of node {}", state_.nodes.held().tokens.text(over->token), node);
  return fmt::format("node {} has less {} than was held", node, state_.nodes.resource_name(over->resource));
}

// The held slots of a workload that have a part in terms about other pods.
std::vector<Counted::Place> Decider::held_places(const WorkloadState& w) const {
  std::vector<Counted::Place> out;
  for (const PodSetState& set : w.sets) {
    for (const Slot& slot : set.slots) {
      if (slot.state != SlotState::kHeld || state_.nodes.is_opaque(slot.node)) continue;
      const CountedId id = state_.shape_of(slot.charge).counted;
      if (id.valid()) out.emplace_back(slot.node, id);
    }
  }
  return out;
}

// The node of a held slot that its required terms keep away when the held slots come there one after the other. Slots of one hold do
// not keep each other there. The first of them is near to a pod of others, or the first of its kind anywhere.
std::optional<NodeId> Decider::kept_away(const WorkloadState& w) {
  Counted& counted = state_.accounts.counted();
  if (!counted.any()) return std::nullopt;
  const std::vector<Counted::Place> left = counted.never_come(held_places(w), planes_of(SlotState::kHeld));
  return left.empty() ? std::nullopt : std::optional(left.front().first);
}

// Whether its held slots may come, one after the other, before those of all other holds. Only pods break a spread: room that is held
// for others may never get its pods. Two holds that broke each other would end and come again, without end.
bool Decider::stays_spread(const WorkloadState& w) {
  Counted& counted = state_.accounts.counted();
  if (!counted.any()) return true;
  const std::vector<Counted::Place> held = held_places(w);
  const auto is_spread = [&](const Counted::Place& place) { return counted.has_spread(place.second); };
  if (std::none_of(held.begin(), held.end(), is_spread)) return true;
  std::vector<Counted::Place> others;
  for (const auto& [order, id] : state_.holders) {
    const WorkloadState& other = state_.workloads[id.index()];
    if (&other == &w) continue;
    const std::vector<Counted::Place> places = held_places(other);
    others.insert(others.end(), places.begin(), places.end());
  }
  const PlaneMask planes = planes_of(SlotState::kHeld);
  for (const auto& [node, id] : others) counted.add(node, id, planes, -1);
  const bool fits = counted.fit_in_turn(held, Mode::kPlan);
  for (const auto& [node, id] : others) counted.add(node, id, planes, +1);
  return fits;
}

// Whether a hold has all its room by now. If it does not start then, its terms keep it, and no pod ends any more that would bring
// that to light.
bool Decider::some_hold_has_its_room() const {
  const auto has_room = [&](const WorkloadState& w, const Slot& slot) {
    return slot.state != SlotState::kHeld || state_.accounts.has_room_beside_terms(charged(w, slot), kNow);
  };
  return std::any_of(state_.holders.begin(), state_.holders.end(), [&](const auto& holder) {
    const WorkloadState& w = state_.workloads[holder.second.index()];
    return std::all_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& set) {
      return std::all_of(set.slots.begin(), set.slots.end(),
                         [&](const Slot& slot) { return has_room(w, slot); });
    });
  });
}

// Ends holds whose room has changed: a node gone, cordoned or shrunk, quota taken away, a queue stopped, pods missing or placed by
// another client.
void Decider::check_holds() {
  state_.news.holds_suspect = false;
  // A hold that ends may be the one that another must be near to.
  while ((end_broken_holds() || end_circles()) && state_.accounts.counted().any()) {
  }
}

// Holders that never start, in whatever order the holders come.
std::set<WorkloadId> Decider::holders_that_never_come(bool spreads) {
  std::vector<WorkloadId> ids;
  std::vector<std::vector<Counted::Place>> places;
  for (const auto& [order, id] : state_.holders) {
    ids.push_back(id);
    places.push_back(held_places(state_.workloads[id.index()]));
  }
  std::set<WorkloadId> out;
  const PlaneMask planes = planes_of(SlotState::kHeld);
  for (const std::size_t k : never_in_turn(state_.accounts.counted(), places, planes, spreads))
    out.insert(ids[k]);
  return out;
}

// Ends holds that are near to each other alone: each would start after the others. It is so once the pod has gone that one of them
// was near to.
bool Decider::end_circles() {
  bool any = false;
  for (const WorkloadId id : holders_that_never_come(false)) {
    if (round_.decisions.holds_since_now(id)) {
      state_.news.holds_later = true;
      continue;
    }
    note_broken_hold(state_, id);
    const std::string why = "only pods that have not started are where its pods must be near to";
    round_.decisions.release_hold(id, {ReasonCode::kHoldBroken, "", why, 0, 0, 0, {}}, 0);
    any = true;
  }
  return any;
}

// The term that its held slots no longer keep, in words; "": none. Work that ended for a hold of this decide() did not end for nothing:
// such a hold is looked at again when it could start.
std::string Decider::broken_terms(WorkloadId id) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (const auto node = kept_away(w)) return fmt::format(kTermFails, state_.nodes.record(*node).spec.name);
  if (stays_spread(w) || holders_that_never_come(true).count(id) == 0) return "";
  if (!round_.decisions.holds_since_now(id)) return "its pods would no longer be spread as they must be";
  state_.news.holds_later = true;
  return "";
}

bool Decider::end_broken_holds() {
  bool any = false;
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
    if (broken.empty() && !(broken = broken_terms(id)).empty()) note_broken_hold(state_, id);
    if (broken.empty() && !whole_with_hold(state_.structures[w.structure], w))
      broken = "pods of the gang are gone";
    if (broken.empty()) continue;
    round_.decisions.release_hold(id, {ReasonCode::kHoldBroken, "", broken, 0, 0, 0, {}}, 0);
    any = true;
  }
  return any;
}

// Charges the held slots of a workload to the plane of now, as a trial. False: there is no room yet for one of them. A slot that must
// be near to another one of the same hold comes behind it, wherever it stands in the workload. The first of its kind comes before those.
bool Decider::charge_held(const WorkloadState& w, std::vector<PlacedSlot>& placed) {
  std::vector<PlacedSlot> behind;
  const auto charge_one = [&](const PlacedSlot& slot) {
    if (!state_.accounts.has_room(charged(w, slot), kNow)) return false;
    state_.accounts.try_charge(charged(w, slot), kNowBit | kPodBit, +1);
    placed.push_back(slot);
    return true;
  };
  for (std::uint32_t s = 0; s < w.sets.size(); ++s) {
    for (std::uint32_t i = 0; i < w.sets[s].slots.size(); ++i) {
      const Slot& slot = w.sets[s].slots[i];
      if (slot.state != SlotState::kHeld) continue;
      const PlacedSlot one{s, i, slot.node, slot.charge, slot.grant};
      const bool has_terms = state_.shape_of(slot.charge).counted.valid();
      if (!(has_terms ? state_.accounts.has_room_beside_terms(charged(w, slot), kNow) : charge_one(one)))
        return false;
      if (has_terms) behind.push_back(one);
    }
  }
  if (behind.empty()) return true;
  const auto is_first = [&](const PlacedSlot& slot) {
    return state_.accounts.counted().is_first(state_.shape_of(slot.charge).counted, kNowBit);
  };
  const auto undo = [&](const PlacedSlot& slot) {
    state_.accounts.try_charge(charged(w, slot), kNowBit | kPodBit, -1);
    placed.pop_back();
  };
  const bool all = come_in_some_turn(behind, is_first, charge_one, undo);
  std::sort(placed.begin(), placed.end(), [](const PlacedSlot& a, const PlacedSlot& b) {
    return std::pair(a.set, a.slot) < std::pair(b.set, b.slot);
  });
  return all && state_.accounts.fit_in_turn(placed, Mode::kStart);
}

void Decider::start_holders() {
  state_.news.gained_now = false;
  const auto holders = state_.holders;
  for (const auto& [order, id] : holders) {
    WorkloadState& w = state_.workloads[id.index()];
    std::vector<PlacedSlot> placed;
    const bool ready = charge_held(w, placed);
    if (!ready || placed.empty()) {
      state_.abandon();
      if (!round_.decisions.holds_since_now(id) && std::exchange(state_.news.holds_later, false))
        state_.news.holds_suspect = true;
      continue;
    }
    state_.commit();
    round_.decisions.start_held(id, placed);
  }
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
        terms && shape.counted.valid() && !fits && state_.index(id, Mode::kPlan).total() > 0;
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
