#include "engine/state/state.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "engine/nodes/choose.h"
#include "engine/state/bands.h"
#include "engine/state/broken.h"
#include "engine/state/limits.h"
#include "engine/state/queue_lanes.h"

namespace berth::engine {
namespace {

constexpr std::size_t kUsualKey = 64;  // bytes that most keys of classes stay below

// The key of the class of pending work that it is tried with (pending.h).
std::string class_key(const State& state, const WorkloadState& w, WorkloadId id) {
  std::string key;
  key.reserve(kUsualKey);
  put_all(key, w.queue.value, ',', w.lane, ',', w.structure.value, ',', w.may_preempt ? 'p' : '-',
          static_cast<int>(w.kind));
  if (w.whole_first) key += 'w';
  if (!w.preemptible && state.accounts.firm().bind(w.queue)) key += 'f';
  for (const auto& set : w.sets) {
    put_all(key, ';', set.spec.value, ',', set.waiting, ',', set.least, ',');
    put_part(key, set.marks->flavor_group);
    for (const DemandBand& b : set.marks->bands) {
      put_all(key, 'b', b.count, ',', b.priority, ',', b.reclaim_within);
    }
  }
  // If older work may preempt newer work, and the line has another order, a workload behind the first may preempt more than the
  // first.
  const Queue& queue = state.queues[w.queue.index()].spec;
  const bool by_creation = queue.ordering.by == OrderBy::kCreation && queue.ordering.limit() == 0;
  if (queue.preemption.within == WithinQueue::kLowerOrNewerEqual && !by_creation) put_all(key, '@', w.came());
  put_all(key, '|', w.priority);  // last: kin_of()
  // Work that has slots on nodes already must be placed near them: a class of its own.
  if (w.running() > 0 || w.releasing() > 0) put_all(key, '#', id.value, w.is_broken() ? "!" : "");
  if (w.admitted && w.running() == 0) key += '^';
  if (w.takings.patient_until > 0) put_all(key, '~', w.takings.patient_until);
  if (w.delays_preemption()) put_all(key, 't', w.preempts_from());
  return key;
}

// Drops the tokens that neither shapes have nor these grants.
void drop_tokens(State& state, const std::vector<bool>& granted) {
  Tokens& tokens = state.nodes.held().tokens;
  std::vector<bool> used(tokens.size(), false);
  const auto mark = [&](std::span<const TokenId> had) {
    for (const TokenId token : had) used[token.index()] = true;
  };
  state.shapes.for_each([&](const ShapeEntry& entry) { mark(entry.shape.tokens); });
  for (std::size_t i = 0; i < granted.size(); ++i) {
    if (granted[i]) mark(state.accounts.grants()[GrantId(i)].tokens);
  }
  tokens.keep_only(used);
}

// Drops the volumes that no shape has.
void drop_volumes(State& state) {
  std::vector<bool> used(state.nodes.held().mounted.size(), false);
  state.shapes.for_each([&](const ShapeEntry& entry) {
    for (const VolumeId volume : entry.shape.mounts) used[volume.index()] = true;
  });
  state.nodes.held().mounted.keep_only(std::move(used));
}

// As it stands in line.
Pending::Member member(const State& state, const WorkloadState& w, WorkloadId id) {
  const Ordering& ordering = state.queues[w.queue.index()].spec.ordering;
  const bool old = w.progress.old && ordering.limit() > 0 && w.running() == 0;
  // As of the last note: what runs and waits to grow does not move while it stands in line.
  const std::int64_t key =
      old ? 0 : order_key(ordering, w.progress, w.restart, w.expected, 0, w.progress.since);
  return {!old, key, w.came(), w.arrival, id};
}

// Starts of before the first decide() are not known here.
void note_age(State& state, const SlotKey& key, const Slot& slot, PlaneMask had, PlaneMask want) {
  const bool was_there = (had & kNowBit) != 0;
  const bool is_there = (want & kNowBit) != 0;
  if (was_there == is_there || state.nodes.is_opaque(slot.node) ||
      state.shape_of(slot.charge).devices.empty())
    return;
  Ages& ages = state.nodes.held().ages;
  if (was_there) return ages.went(slot.node, key);
  ages.came(slot.node, key, state.stats.decide_calls > 0 ? state.now : kEndOfTime);
}

}  // namespace

State::State(EngineConfig engine_config) : config(engine_config) {
  if (config.placement == Placement::kDefault) config.placement = kDefaultPlacement;
  nodes.resource("cpu");  // resource 0: NodeTable::cpu()
  queues.emplace_back();  // queue 0: work without a queue; nodes alone decide
  queue_names.intern("");
  queues[0].exists = true;
  queues[0].spec.unlimited = true;
  queues[0].spec.preemption.within = WithinQueue::kLowerPriority;
  pending.set_shares([this](QueueId queue, ClassId candidate) { return share_of(queue, candidate); });
  rebuild_queues();
}

void State::gain_quota(QueueId queue) {
  if (queues[queue.index()].spec.unlimited) return;
  news.gain_quota(quota, queue);
}

// ---------------------------------------------------------------------------------------------------------------- slots

void State::count(WorkloadState& w, PodSetState& set, const Slot& slot, int sign) {
  switch (slot.state) {
    case SlotState::kWaiting:
      set.waiting += sign;
      break;
    case SlotState::kBinding:
    case SlotState::kRunning: {
      set.active += sign;
      if (charges[slot.charge].awaited && nodes.is_opaque(slot.node)) set.unplaced += sign;
      use_lane(*this, w, slot.charge, sign);
      const Weight& weight = charges[slot.charge].weight;
      w.weight.devices += sign * weight.devices;
      w.weight.cpus += sign * weight.cpus;
      break;
    }
    case SlotState::kHeld:
      set.held += sign;
      break;
    case SlotState::kReleasing:
      set.releasing += sign;
      break;
    case SlotState::kAbsent:
    case SlotState::kGone:
      break;
  }
}

void State::set_slot(WorkloadId id, std::size_t set, std::size_t at, SlotState to, NodeId node,
                     ChargeId charge, GrantId grant, PlaneMask tried) {
  WorkloadState& w = workloads[id.index()];
  PodSetState& s = w.sets[set];
  Slot& slot = s.slots[at];
  const SlotKey key{id, static_cast<std::uint32_t>(set), static_cast<std::uint32_t>(at)};
  const PlaneMask had = planes_of(slot.state);
  ++use_version;
  if (had != 0) {
    accounts.charge(charged(w, slot), had, -1);
    note_age(*this, key, slot, had, 0);
    news.gain_node(slot.node);
    gain_quota(w.queue);
    if ((had & kNowBit) != 0) news.gained_now = true;
  }
  count(w, s, slot, -1);
  slot.state = to == SlotState::kGone ? SlotState::kAbsent : to;
  const PlaneMask want = planes_of(slot.state);
  if (want == 0) {
    slot.node = NodeId();
    slot.charge = ChargeId();
    slot.grant = Grants::nothing();
  } else {
    slot.node = node;
    slot.charge = charge;
    slot.grant = grant;
    accounts.charge(charged(w, slot), static_cast<PlaneMask>(want & ~tried), +1);
    note_age(*this, key, slot, 0, want);
    note_filled(*this, w);
  }
  count(w, s, slot, +1);
}

void State::move_slot(WorkloadId id, std::size_t set, std::size_t at, SlotState to, PlaneMask tried,
                      PlaneMask freed) {
  WorkloadState& w = workloads[id.index()];
  PodSetState& s = w.sets[set];
  Slot& slot = s.slots[at];
  const SlotKey key{id, static_cast<std::uint32_t>(set), static_cast<std::uint32_t>(at)};
  const PlaneMask had = planes_of(slot.state);
  const PlaneMask want = planes_of(to);
  const auto more = static_cast<PlaneMask>(want & ~had);
  const auto less = static_cast<PlaneMask>(had & ~want);
  if (had != want) ++use_version;
  auto come = static_cast<PlaneMask>(more & ~tried);
  auto go = static_cast<PlaneMask>(less & ~freed);
  if (come != 0 && had != 0 && want == kBothPlanes) come |= kPodBit;
  if (go == kAfterBit && had == kBothPlanes) go |= kPodBit;
  accounts.charge(charged(w, slot), come, +1);
  accounts.charge(charged(w, slot), go, -1);
  note_age(*this, key, slot, had, want);
  if (more != 0) note_filled(*this, w);
  if (less != 0) {
    news.gain_node(slot.node);
    gain_quota(w.queue);
    if ((less & kNowBit) != 0) news.gained_now = true;
  }
  count(w, s, slot, -1);
  slot.state = to;
  count(w, s, slot, +1);
  if (want == 0) {
    slot.node = NodeId();
    slot.charge = ChargeId();
    slot.grant = Grants::nothing();
  }
}

std::vector<State::Lifted> State::lift(WorkloadId id) {
  WorkloadState& w = workloads[id.index()];
  std::vector<Lifted> out;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    for (std::size_t i = 0; i < w.sets[s].slots.size(); ++i) {
      Slot& slot = w.sets[s].slots[i];
      const bool waits = slot.state == SlotState::kWaiting;
      const bool has_quota = (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) &&
                             charges[slot.charge].awaited && nodes.is_opaque(slot.node);
      if (!waits && !has_quota) continue;
      out.push_back({s, i, slot});
      if (has_quota) accounts.try_charge(charged(w, slot), kBothPlanes, -1);
      count(w, w.sets[s], slot, -1);
      slot = Slot{waits ? SlotState::kAbsent : SlotState::kWaiting, {}, {}, Grants::nothing()};
      count(w, w.sets[s], slot, +1);
    }
  }
  return out;
}

void State::put_back(WorkloadId id, const std::vector<Lifted>& lifted, bool placed) {
  WorkloadState& w = workloads[id.index()];
  for (const Lifted& l : lifted) {
    if (placed && l.before.state != SlotState::kWaiting) continue;
    Slot& slot = w.sets[l.set].slots[l.index];
    count(w, w.sets[l.set], slot, -1);
    slot = l.before;
    count(w, w.sets[l.set], slot, +1);
  }
  if (placed) gain_quota(w.queue);  // a revision may ask for less
}

std::string State::kin_of(const Pending::Class& c) {
  return c.key.substr(0, c.key.rfind('|') + 1);
}

bool State::one_line(QueueId queue) const {
  if (queues[queue.index()].lanes.ordered()) return false;
  for (; queue.valid(); queue = quota.parent(queue)) {
    if (fairness.counts(queue)) return false;
  }
  return true;
}

// Takes a started workload into, or out of, the priorities of its queue.
void State::count_priority(WorkloadId id, std::int64_t change) {
  WorkloadState& w = workloads[id.index()];
  if (change > 0) {
    w.lowest_priority = w.priority;
    for (const auto& set : w.sets) {
      for (const DemandBand& band : set.marks->bands)
        w.lowest_priority = std::min(w.lowest_priority, saturating_add(w.priority, band.priority));
    }
  }
  auto& priorities = queues[w.queue.index()].priorities;
  if ((priorities[w.lowest_priority] += change) == 0) priorities.erase(w.lowest_priority);
}

void State::settle(WorkloadId id) {
  WorkloadState& w = workloads[id.index()];
  QueueState& q = queues[w.queue.index()];
  const bool runs = w.running() > 0;
  const bool listed = q.started.count(id) > 0;
  if (runs != listed) {
    if (runs) {
      q.started.insert(id);
      count_priority(id, +1);
    } else {
      q.started.erase(id);
      count_priority(id, -1);
      w.progress.run_began = stats.decide_calls > 0 ? w.started : 0;  // before that no start is settled
      w.started = 0;
    }
  }
  follow_service(id);
  touch_queue(w.queue);
  const bool holds = w.held() > 0;
  if (!holds && w.hold_order != 0) {
    holders.erase(w.hold_order);
    q.holders.erase(w.hold_order);
    w.hold_order = 0;
    w.hold_cause = ReasonCode::kNone;
    w.placed_elsewhere = false;
  }
  if (w.withdraw && !runs && !holds) {
    w.withdraw = false;
    endings.to_withdraw.erase(id);
  }
  note_broken(*this, id);
  const bool may_be_placed =
      w.unplaced() > 0 && std::all_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& set) {
        return specs[set.spec].pod.awaited_flavors.empty();
      });
  const bool fills_up =
      may_be_placed && std::all_of(w.sets.begin(), w.sets.end(), [](const PodSetState& set) {
        return set.unplaced > 0 || set.waiting == 0 || set.active >= set.least;
      });
  for (PodSetState& set : w.sets) set.fills_up = fills_up && set.unplaced > 0;
  if (may_be_placed) {
    unplaced.insert_or_assign(w.arrival, id);
    news.unplaced = true;
  } else {
    unplaced.erase(w.arrival);
    no_places.erase(id.value);
  }
  // Work without places does not grow.
  const bool waits =
      w.active && w.waiting() > 0 && !holds && !w.withdraw && !(may_be_placed && !w.incomplete());
  grow_older(id, waits || holds);
  if (w.pending.valid()) {
    if (waits && pending.at(w.pending).key == class_key(*this, w, id) && w.in_line == member(*this, w, id))
      return;
    leave_line(id);
  }
  if (!waits) return;
  w.in_line = member(*this, w, id);
  const Claim claim = claim_of(w);
  w.pending = pending.add(class_key(*this, w, id), w.queue, w.lane, claim.priority, w.is_broken(),
                          claim.free_room_only, w.in_line);
}

// ----------------------------------------------------------------------------------------------------- order in the queue

void State::leave_line(WorkloadId id) {
  WorkloadState& w = workloads[id.index()];
  if (!w.pending.valid()) return;
  pending.remove(w.pending, w.in_line);
  w.pending = ClassId();
}

std::int64_t State::service_rate(const WorkloadState& w) const {
  std::int64_t sum = 0;
  for (const auto& set : w.sets)
    sum = saturating_add(sum, saturating_mul(set.active, specs[set.spec].weight));
  return sum;
}

// Notes that the service of a workload changed, or that a run of it ended; reckoned in note_service().
void State::follow_service(WorkloadId id) {
  WorkloadState& w = workloads[id.index()];
  if (w.service_noted) return;
  if (w.progress.run_began == 0 && w.progress.devices == service_rate(w)) return;
  w.service_noted = true;
  to_note_.push_back(id);
}

void State::note_service() {
  const std::vector<WorkloadId> all = std::exchange(to_note_, {});
  for (const WorkloadId id : all) {
    WorkloadState& w = workloads[id.index()];
    Progress& p = w.progress;
    if (!w.used || !w.service_noted) continue;
    w.service_noted = false;
    p.attained = attained_service(p, now);
    p.since = now;
    p.devices = service_rate(w);
    if (p.run_began > 0) {
      p.done = saturating_add(p.done, kept_work(p, w.restart, p.run_began, now));
      p.waits_since += std::max<DurationMs>(0, now - p.run_began);
      p.run_began = 0;
      ++p.runs;
    }
    promote(id);
    settle(id);
  }
}

void State::tell_start(WorkloadId id, std::size_t set, TimeMs since) {
  WorkloadState& w = workloads[id.index()];
  const bool begins = w.started == 0;
  const bool known = since > 0;
  const TimeMs at = std::max<TimeMs>(known ? since : now, 1);
  if (begins || known) w.started = begins ? at : std::min(w.started, at);
  // Before the first decide() the time is unknown.
  if (!known && stats.decide_calls > 0) return;
  told_starts_.push_back({id, w.arrival, since, specs[w.sets[set].spec].weight, begins});
}

void State::settle_starts() {
  for (const ToldStart& told : std::exchange(told_starts_, {})) {
    WorkloadState& w = workloads[told.workload.index()];
    if (!w.used || w.arrival != told.arrival || w.started == 0) continue;
    const TimeMs at = std::max<TimeMs>(told.since > 0 ? std::min(told.since, now) : now, 1);
    w.started = told.begins ? at : std::min(w.started, at);
    const Int128 ran = static_cast<Int128>(told.rate) * std::max<DurationMs>(0, now - at);
    w.progress.attained = clamp_to_int64(w.progress.attained + ran / 1000);
  }
}

// Work that started after it had waited for the age limit begins anew in the first level.
void State::promote(WorkloadId id) {
  WorkloadState& w = workloads[id.index()];
  Progress& p = w.progress;
  const OrderBy by = queues[w.queue.index()].spec.ordering.by;
  if (by != OrderBy::kAttained && by != OrderBy::kAttainedLevels) return;
  // With a run whose end was not noted yet, it is promoted when that is.
  if (p.age == 0 || w.running() == 0 || p.run_began > 0) return;
  p.age = 0;
  p.old = false;
  p.attained = 0;
  p.since = now;
  p.devices = service_rate(w);
  p.waits_since = now;
  ++p.promotions;
}

// The rules of a queue may have changed: its workloads line up again, and preemption rights are checked again.
void State::apply_rules(QueueId queue) {
  const Queue& spec = queues[queue.index()].spec;
  std::vector<WorkloadId> mine;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (workloads[i].used && workloads[i].queue == queue) mine.push_back(WorkloadId(i));
  }
  for (const WorkloadId id : mine) leave_line(id);
  pending.set_rules(queue, spec.order == QueueOrder::kStrict, spec.ordering.priority_first,
                    spec.preemption.within == WithinQueue::kLaterInOrder);
  auto& priorities = queues[queue.index()].priorities;
  priorities.clear();
  for (const WorkloadId id : mine) {
    WorkloadState& w = workloads[id.index()];
    w.priority = ranked_priority(spec.ordering.tiers, w.kind, w.own_priority);
    if (queues[queue.index()].started.count(id) > 0) count_priority(id, +1);
    settle(id);
  }
}

void State::list_hold(WorkloadId id, std::uint64_t order) {
  WorkloadState& w = workloads[id.index()];
  w.hold_order = order;
  holders.emplace(order, id);
  queues[w.queue.index()].holders.emplace(order, id);
}

// -------------------------------------------------------------------------------------------------------------- look-ups

ShapeIndex& State::index(ShapeId shape, Mode mode) {
  ShapeEntry& entry = shapes[shape];
  auto& slot = entry.index[static_cast<std::size_t>(mode)];
  if (!slot) slot = std::make_unique<ShapeIndex>(entry.shape, mode);
  if (nodes.device_states().full()) nodes.device_states().clear();
  slot->refresh(nodes, fragments, accounts.counted());
  return *slot;
}

GrantId State::choose_grant(NodeId node, ChargeId charge, Mode mode) {
  const Shape& shape = shape_of(charge);
  if (shape.devices.empty() && shape.tokens.empty()) return Grants::nothing();
  choose(nodes, fragments, node, shape, mode, accounts.grants().blank());
  return accounts.grants().intern_blank();
}

namespace {

// The entries of its catalog.
std::size_t catalog_size(const State& s) {
  return s.specs.live() + s.charges.live() + s.shapes.live() + s.structures.live();
}

}  // namespace

bool State::look_at_demand() {
  const std::int64_t devices = nodes.device_capacity();
  const std::int64_t change =
      devices > fragments.devices() ? devices - fragments.devices() : fragments.devices() - devices;
  // The share of the devices that a kind may run on is looked at again when a sixteenth of them has come or gone.
  if (demand.look() || change * 16 > fragments.devices()) {
    fragments.use(demand.mix(), nodes);
    bool scores = false;  // some places are chosen by it
    shapes.for_each([&](const ShapeEntry& entry) {
      scores = scores || entry.shape.placement == Placement::kFragmentation;
    });
    if (scores) ++place_version;
  } else if (fragments.drifted(nodes)) {
    fragments.weigh(nodes);
  }
  const bool due = sweeps_.is_due_at(now, catalog_size(*this));
  if (due) sweep_now();
  if (stats.decide_calls % 1024 != 0) return due;
  shapes.for_each([&](ShapeEntry& entry) {
    for (auto& index : entry.index) {
      if (index && index->stale(nodes)) index.reset();
    }
  });
  return due;
}

Spec& State::spec(SpecId id) {
  Spec& s = specs[id];
  if (s.config_version != config_version) build_choices(s);
  return s;
}

ChargeId State::choice_for_node(SpecId id, NodeId node) {
  const Spec& s = spec(id);
  for (const ChargeId choice : s.choices) {
    if (static_mismatch(shape_of(choice), nodes.record(node).spec).code == ReasonCode::kNone) return choice;
  }
  return s.choices.empty() ? ChargeId() : s.choices.front();
}

std::vector<ChargeId> State::choices(const PodSetState& set) {
  const Spec& all = spec(set.spec);
  if (set.fills_up) {
    for (const Slot& slot : set.slots) {
      if (!slot.charge.valid() || slot.state == SlotState::kReleasing) continue;
      if (!charges[slot.charge].awaited || !nodes.is_opaque(slot.node)) continue;
      if (const ChargeId quota_alone = quota_of_flavors(set.spec, charges[slot.charge].flavors);
          quota_alone.valid())
        return {quota_alone};
    }
  }
  for (const Slot& slot : set.slots) {
    if (slot.charge.valid() && slot.state != SlotState::kReleasing &&
        std::find(all.choices.begin(), all.choices.end(), slot.charge) != all.choices.end()) {
      return {slot.charge};
    }
    if (slot.charge.valid() && slot.state != SlotState::kReleasing && charges[slot.charge].awaited) {
      const ChargeId same = choice_of_flavors(set.spec, charges[slot.charge].flavors);
      if (same.valid()) return {same};
    }
  }
  return all.choices;
}

void State::sweep() {
  if (sweeps_.is_due(catalog_size(*this), workloads.size()) || accounts.grants().grown()) sweep_now();
}

void State::sweep_now() {
  std::vector<bool> granted(accounts.grants().size());
  for (const auto& w : workloads) {
    if (!w.used) continue;
    structures.mark(w.structure);
    for (const auto& set : w.sets) {
      specs.mark(set.spec);
      for (const auto& slot : set.slots) {
        if (slot.charge.valid()) charges.mark(slot.charge);
        granted[slot.grant.index()] = true;
      }
    }
  }
  for (const auto& [charge, grant] : planned) {
    charges.mark(charge);
    granted[grant.index()] = true;
  }
  foreign.each([&](const ForeignPods::Entry& pod) { granted[pod.grant.index()] = true; });
  accounts.grants().keep_only(granted);
  const auto nothing = [](auto) {};
  specs.sweep([&](SpecId) {});
  for (const auto& w : workloads) {
    if (!w.used) continue;
    for (const auto& set : w.sets) {
      for (const ChargeId choice : specs[set.spec].choices) charges.mark(choice);
    }
  }
  for (const auto& w : workloads) {
    if (!w.used) continue;
    for (const auto& set : w.sets) {
      for (const ChargeId choice : specs[set.spec].choices) shapes.mark(charges[choice].shape);
      for (const auto& slot : set.slots) {
        if (slot.charge.valid()) shapes.mark(charges[slot.charge].shape);
      }
    }
  }
  for (const auto& [charge, grant] : planned) shapes.mark(charges[charge].shape);
  charges.sweep(nothing);
  shapes.sweep(nothing);
  if (accounts.counted().any()) {
    std::vector<bool> used(accounts.counted().size(), false);
    const auto mark = [&](CountedId id) {
      if (id.valid()) used[id.index()] = true;
    };
    shapes.for_each([&](const ShapeEntry& entry) { mark(entry.shape.counted); });
    foreign.each([&](const ForeignPods::Entry& pod) { mark(pod.counted); });
    accounts.counted().keep_only(used);
  }
  drop_tokens(*this, granted);
  drop_volumes(*this);
  structures.sweep(nothing);
  sweeps_.swept(catalog_size(*this), now);
}

}  // namespace berth::engine
