#include "engine/decide/held_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/in_turn.h"
#include "engine/decide/shortage.h"
#include "engine/decide/turns.h"
#include "engine/preempt/rights/force.h"

namespace berth::engine {
namespace {

constexpr std::string_view kTermFails = "a required term about other pods fails on node {}";

// The held slots of a workload that have a part in terms about other pods.
std::vector<Counted::Place> held_places(const State& state, const WorkloadState& w) {
  std::vector<Counted::Place> out;
  for (const PodSetState& set : w.sets) {
    for (const Slot& slot : set.slots) {
      if (slot.state != SlotState::kHeld || state.nodes.is_opaque(slot.node)) continue;
      const CountedId id = state.shape_of(slot.charge).counted;
      if (id.valid()) out.emplace_back(slot.node, id);
    }
  }
  return out;
}

// By their holds: a hold that starts or ends leaves the list of the state.
std::vector<WorkloadId> holders_of(const State& state) {
  std::vector<WorkloadId> out;
  out.reserve(state.holders.size());
  for (const auto& [order, id] : state.holders) out.push_back(id);
  return out;
}

// The same of each of these.
std::vector<std::vector<Counted::Place>> held_places(const State& state, const std::vector<WorkloadId>& ids) {
  std::vector<std::vector<Counted::Place>> out;
  for (const WorkloadId id : ids) out.push_back(held_places(state, state.workloads[id.index()]));
  return out;
}

// Holders that never start, in whatever order the holders come.
std::set<WorkloadId> never_coming(State& state, bool spreads) {
  const std::vector<WorkloadId> ids = holders_of(state);
  const std::vector<std::vector<Counted::Place>> places = held_places(state, ids);
  std::set<WorkloadId> out;
  const PlaneMask planes = planes_of(SlotState::kHeld);
  for (const std::size_t k : never_in_turn(state.accounts.counted(), places, planes, spreads))
    out.insert(ids[k]);
  return out;
}

}  // namespace

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

// The spreads of all holds, each looked at once in a pass.
class HeldRoom::Spreads {
 public:
  explicit Spreads(State& state) : state_(state) {}

  // Whether its held slots may come, one after the other: before those of all other holds, or else behind some of them.
  bool hold(WorkloadId id) {
    if (!alone_) look();
    if (alone_->count(id) == 0) return true;
    if (!never_) never_ = never_coming(state_, true);
    return never_->count(id) == 0;
  }
  // A hold has ended, which others may have to come behind.
  void forget() { never_.reset(); }

 private:
  // Holds that may not come before all others. Those whose slots stand in the same domains share one answer.
  void look() {
    alone_.emplace();
    Counted& counted = state_.accounts.counted();
    if (!counted.any()) return;
    const std::vector<WorkloadId> ids = holders_of(state_);
    const std::vector<std::vector<Counted::Place>> all = held_places(state_, ids);
    if (std::none_of(all.begin(), all.end(), [&](const auto& places) { return is_spread(places); })) return;
    const auto charge = [&](const std::vector<Counted::Place>& places, int sign) {
      for (const auto& [node, part] : places) counted.add(node, part, planes_of(SlotState::kHeld), sign);
    };
    for (const auto& places : all) charge(places, -1);
    std::map<std::vector<std::uint32_t>, bool> known;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const std::vector<Counted::Place>& places = all[k];
      if (!is_spread(places)) continue;
      const auto [fits, is_new] = known.try_emplace(counted.domains_of(places), false);
      if (is_new) {
        charge(places, +1);
        fits->second = counted.fit_in_turn(places, Mode::kPlan);
        charge(places, -1);
      }
      if (!fits->second) alone_->insert(ids[k]);
    }
    for (const auto& places : all) charge(places, +1);
  }
  bool is_spread(const std::vector<Counted::Place>& places) const {
    const Counted& counted = state_.accounts.counted();
    return std::any_of(places.begin(), places.end(),
                       [&](const Counted::Place& place) { return counted.has_spread(place.second); });
  }

  State& state_;
  std::optional<std::set<WorkloadId>> alone_;  // broken where they come before all others
  std::optional<std::set<WorkloadId>> never_;
};

// The account of a held slot that is overdrawn, in words; "": none.
std::string HeldRoom::overdraft_of(const WorkloadState& w, const Slot& slot) const {
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

// The node of a held slot that its required terms keep away when the held slots come there one after the other. Slots of one hold do
// not keep each other there. The first of them is near to a pod of others, or the first of its kind anywhere.
std::optional<NodeId> HeldRoom::kept_away(const WorkloadState& w) {
  Counted& counted = state_.accounts.counted();
  if (!counted.any()) return std::nullopt;
  const std::vector<Counted::Place> left =
      counted.never_come(held_places(state_, w), planes_of(SlotState::kHeld));
  return left.empty() ? std::nullopt : std::optional(left.front().first);
}

bool HeldRoom::some_is_ready() const {
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

void HeldRoom::check() {
  state_.news.holds_suspect = false;
  // A hold that ends may be the one that another must be near to.
  while ((end_broken() || end_circles()) && state_.accounts.counted().any()) {
  }
}

// Ends holds that are near to each other alone: each would start after the others. It is so once the pod has gone that one of them
// was near to.
bool HeldRoom::end_circles() {
  bool any = false;
  for (const WorkloadId id : never_coming(state_, false)) {
    if (decisions_.holds_since_now(id)) {
      state_.news.holds_later = true;
      continue;
    }
    note_broken_hold(state_, id);
    const std::string why = "only pods that have not started are where its pods must be near to";
    decisions_.release_hold(id, {ReasonCode::kHoldBroken, "", why, 0, 0, 0, {}}, 0);
    any = true;
  }
  return any;
}

// The term that its held slots no longer keep, in words; "": none. Work that ended for a hold of this decide() did not end for nothing:
// such a hold is looked at again when it could start.
std::string HeldRoom::broken_terms(WorkloadId id, Spreads& spreads) {
  const WorkloadState& w = state_.workloads[id.index()];
  if (const auto node = kept_away(w)) return fmt::format(kTermFails, state_.nodes.record(*node).spec.name);
  if (spreads.hold(id)) return "";
  if (!decisions_.holds_since_now(id)) return "its pods would no longer be spread as they must be";
  state_.news.holds_later = true;
  return "";
}

// Why the hold no longer stands; "": it stands.
std::string HeldRoom::trouble_of(WorkloadId id, Spreads& spreads) {
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
  if (broken.empty() && !(broken = broken_terms(id, spreads)).empty()) note_broken_hold(state_, id);
  if (broken.empty() && !whole_with_hold(state_.structures[w.structure], w))
    broken = "pods of the gang are gone";
  return broken;
}

bool HeldRoom::end_broken() {
  bool any = false;
  Spreads spreads(state_);
  for (const WorkloadId id : holders_of(state_)) {
    std::string broken = trouble_of(id, spreads);
    if (broken.empty()) continue;
    decisions_.release_hold(id, {ReasonCode::kHoldBroken, "", std::move(broken), 0, 0, 0, {}}, 0);
    spreads.forget();
    any = true;
  }
  return any;
}

// Charges the held slots of a workload to the plane of now, as a trial. False: there is no room yet for one of them. A slot that must
// be near to another one of the same hold comes behind it, wherever it stands in the workload. The first of its kind comes before those.
bool HeldRoom::charge(const WorkloadState& w, std::vector<PlacedSlot>& placed) {
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

void HeldRoom::start() {
  state_.news.gained_now = false;
  std::vector<PlacedSlot> placed;
  for (const WorkloadId id : holders_of(state_)) {
    placed.clear();
    const bool ready = charge(state_.workloads[id.index()], placed);
    if (!ready || placed.empty()) {
      state_.abandon();
      if (!decisions_.holds_since_now(id) && std::exchange(state_.news.holds_later, false))
        state_.news.holds_suspect = true;
      continue;
    }
    state_.commit();
    decisions_.start_held(id, placed);
  }
}

}  // namespace berth::engine
