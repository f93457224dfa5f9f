#include "engine/explain/audit.h"

#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace berth::engine {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;
using Planes = std::array<std::int64_t, 2>;

Planes at(const std::map<Key, Planes>& sums, std::size_t a, std::size_t b) {
  const auto it = sums.find({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
  return it == sums.end() ? Planes{} : it->second;
}

// Counts anew, from the slots, what the state keeps up to date.
class Recount {
 public:
  explicit Recount(const State& state) : state_(state) {}

  Status run() {
    for (std::size_t i = 0; i < state_.workloads.size(); ++i) {
      if (state_.workloads[i].used) BERTH_TRY(workload(WorkloadId(i)));
    }
    for (const auto& [spec, sets] : specs_) {
      if (state_.specs[spec].pod_sets != sets || state_.specs[spec].is_left)
        return fail(ErrorCode::kInternal, "a spec counts {} pod sets and {} have it",
                    state_.specs[spec].pod_sets, sets);
    }
    if (holders_ != state_.holders.size())
      return fail(ErrorCode::kInternal, "a hold is listed that no workload has");
    for (std::size_t n = 0; n < state_.nodes.size(); ++n) BERTH_TRY(node(NodeId(n)));
    BERTH_TRY(lanes());
    BERTH_TRY(firm());
    BERTH_TRY(terms());
    for (std::size_t q = 0; q < state_.queues.size(); ++q) BERTH_TRY(queue(QueueId(q)));
    return {};
  }

 private:
  Status workload(WorkloadId id) {
    const WorkloadState& w = state_.workloads[id.index()];
    bool runs = false;
    bool holds = false;
    Weight weight;
    for (const PodSetState& set : w.sets) {
      ++specs_[set.spec];
      for (const Slot& slot : set.slots) {
        if ((planes_of(slot.state) == 0) == slot.node.valid()) {
          return fail(ErrorCode::kInternal, "workload {}: a slot in state {} and its node disagree", w.uid,
                      enum_name(slot.state));
        }
        if (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) {
          weight.devices += state_.charges[slot.charge].weight.devices;
          weight.cpus += state_.charges[slot.charge].weight.cpus;
        }
        add(w, slot);
      }
      if (!counters_hold(set))
        return fail(ErrorCode::kInternal, "workload {}: its slot counters are off", w.uid);
      runs = runs || set.active > 0;
      holds = holds || set.held > 0;
    }
    const QueueState& queue = state_.queues[w.queue.index()];
    if (runs != (queue.started.count(id) > 0))
      return fail(ErrorCode::kInternal, "workload {}: its queue's list of started work is off", w.uid);
    if (weight.devices != w.weight.devices || weight.cpus != w.weight.cpus)
      return fail(ErrorCode::kInternal, "workload {}: the weight of its running slots is off", w.uid);
    if (holds != (queue.holders.count(w.hold_order) > 0))
      return fail(ErrorCode::kInternal, "workload {}: its queue's list of holds is off", w.uid);
    if (holds != (w.hold_order != 0))
      return fail(ErrorCode::kInternal, "workload {}: its hold is not listed", w.uid);
    holders_ += holds ? 1 : 0;
    return {};
  }

  static bool counters_hold(const PodSetState& set) {
    std::array<std::int64_t, 7> states{};
    for (const Slot& slot : set.slots) ++states[static_cast<std::size_t>(slot.state)];
    const auto number = [&](SlotState s) { return states[static_cast<std::size_t>(s)]; };
    return set.waiting == number(SlotState::kWaiting) && set.held == number(SlotState::kHeld) &&
           set.active == number(SlotState::kBinding) + number(SlotState::kRunning) &&
           set.releasing == number(SlotState::kReleasing);
  }

  void add(const WorkloadState& w, const Slot& slot) {
    for (const Plane plane : {kNow, kAfter}) {
      if ((planes_of(slot.state) & (1u << plane)) == 0) continue;
      const Charge& c = state_.charges[slot.charge];
      for (const QuotaItem& item : c.quota) {
        on_queues_[{w.queue.value, item.pair.value}][plane] += item.amount;
        on_lanes_[{w.queue.value, w.lane, item.pair.value}][plane] += item.amount;
        for (QueueId at = w.queue; at.valid() && !w.preemptible; at = state_.quota.parent(at))
          firm_in_[{at.value, item.pair.value}][plane] += item.amount;
      }
      if (state_.nodes.is_opaque(slot.node)) continue;  // nothing is counted there
      if (plane == kNow && !state_.shapes[c.shape].shape.devices.empty()) ++busy_[slot.node];
      for (const auto& a : state_.shapes[c.shape].shape.amounts) {
        on_nodes_[{slot.node.value, a.resource.value}][plane] += a.amount;
      }
      for (const VolumeId volume : state_.shapes[c.shape].shape.mounts)
        ++on_volumes_[{slot.node.value, volume.value}][plane];
      const GrantView grant = state_.accounts.grants()[slot.grant];
      for (const Piece& piece : grant.pieces)
        on_devices_[{slot.node.value, piece.device}][plane] += piece.milli;
      for (const TokenId token : grant.tokens) ++on_tokens_[{slot.node.value, token.value}][plane];
    }
  }

  Status node(NodeId id) const {
    const auto& record = state_.nodes.record(id);
    const auto busy = busy_.find(id);
    const std::size_t busy_slots = busy == busy_.end() ? 0 : busy->second;
    if (busy_slots != state_.nodes.held().ages.slots(id))
      return fail(ErrorCode::kInternal, "node {}: {} slots with devices are counted, there are {}",
                  record.spec.name, state_.nodes.held().ages.slots(id), busy_slots);
    for (std::size_t r = 0; r < state_.nodes.resources(); ++r) {
      const auto& account = state_.nodes.account(id, ResourceId(r));
      Planes mine = at(on_nodes_, id.index(), r);
      for (const Mounted::Held& held : state_.nodes.held().mounted.on(id)) {
        if (state_.nodes.held().mounted.places_of(held.volume) != ResourceId(r)) continue;
        for (const Plane plane : {kNow, kAfter}) mine[plane] += held.pods[plane] > 0 ? 1 : 0;
      }
      // The rest is foreign use, which is the same on both planes and never negative.
      const std::int64_t foreign = account.used[kNow] - mine[kNow];
      if (foreign < 0 || foreign != account.used[kAfter] - mine[kAfter]) {
        return fail(ErrorCode::kInternal, "node {}: {} is charged {} and {}, the slots there make {} and {}",
                    record.spec.name, state_.nodes.resource_name(ResourceId(r)), account.used[kNow],
                    account.used[kAfter], mine[kNow], mine[kAfter]);
      }
    }
    for (std::size_t d = 0; d < record.devices.size(); ++d) {
      const Planes mine = at(on_devices_, id.index(), d);
      const auto& used = record.devices[d].account.used;
      if (used[kNow] < mine[kNow] || used[kNow] - mine[kNow] != used[kAfter] - mine[kAfter]) {
        return fail(ErrorCode::kInternal,
                    "node {}: device {} is charged {} and {}, the slots there make {} and {}",
                    record.spec.name, d, used[kNow], used[kAfter], mine[kNow], mine[kAfter]);
      }
    }
    for (const Tokens::Held& held : state_.nodes.held().tokens.on(id)) {
      const Planes mine = at(on_tokens_, id.index(), held.token.index());
      if (held.pods[kNow] < mine[kNow] || held.pods[kNow] - mine[kNow] != held.pods[kAfter] - mine[kAfter]) {
        return fail(ErrorCode::kInternal, "node {}: {} is charged {} and {}, the slots there make {} and {}",
                    record.spec.name, state_.nodes.held().tokens.text(held.token), held.pods[kNow],
                    held.pods[kAfter], mine[kNow], mine[kAfter]);
      }
    }
    return volumes(id);
  }

  // Those of foreign pods are the same on both planes.
  Status volumes(NodeId id) const {
    for (const Mounted::Held& held : state_.nodes.held().mounted.on(id)) {
      const Planes mine = at(on_volumes_, id.index(), held.volume.index());
      if (held.pods[kNow] >= mine[kNow] && held.pods[kNow] - mine[kNow] == held.pods[kAfter] - mine[kAfter])
        continue;
      return fail(ErrorCode::kInternal,
                  "node {}: {} and {} pods mount volume {}, the slots there make {} and {}",
                  state_.nodes.record(id).spec.name, held.pods[kNow], held.pods[kAfter], held.volume.value,
                  mine[kNow], mine[kAfter]);
    }
    return {};
  }

  Status terms() const {
    Counted again = state_.accounts.counted();
    again.forget_counts();
    const auto add = [&](NodeId node, CountedId id, PlaneMask planes) {
      if (id.valid()) again.add(node, id, planes, +1);
    };
    for (const WorkloadState& w : state_.workloads) {
      for (const PodSetState& set : w.sets) {
        for (const Slot& slot : set.slots) {
          if (slot.charge.valid())
            add(slot.node, state_.shape_of(slot.charge).counted, planes_of(slot.state));
        }
      }
    }
    state_.foreign.each([&](const ForeignPods::Entry& foreign) {
      const ForeignPod& pod = foreign.pod;
      add(*state_.nodes.find(pod.node), again.intern(pod.terms, pod.selected, {}, pod.preferred_terms),
          counted_planes(pod));
    });
    const std::string want = again.to_text();
    const std::string have = state_.accounts.counted().to_text();
    if (want == have) return {};
    return fail(ErrorCode::kInternal, "counted terms: they are\n{}the slots make\n{}", have, want);
  }

  Status lanes() const {
    for (const auto& [key, used] : on_lanes_) {
      const auto& [queue, lane, pair_value] = key;
      const FlavorResource pair(pair_value);
      const LaneLimits& limits = state_.accounts.limits(QueueId(queue));
      for (const QuotaItem& limit : limits.limits()) {
        if (limit.pair != pair) continue;
        for (const Plane plane : {kNow, kAfter}) {
          if (limit.amount - limits.room(lane, pair, plane) == used[plane]) continue;
          return fail(ErrorCode::kInternal, "queue {}: lane {} is charged {} of {}, the slots make {}",
                      state_.queues[queue].spec.name, state_.queues[queue].lanes.name(lane),
                      limit.amount - limits.room(lane, pair, plane), state_.resource_name(pair), used[plane]);
        }
      }
    }
    return {};
  }

  Status firm() const {
    for (const FirmLimits::Limit& limit : state_.accounts.firm().limits()) {
      const Planes want = at(firm_in_, limit.queue.index(), limit.pair.index());
      for (const Plane plane : {kNow, kAfter}) {
        const std::int64_t used = state_.accounts.firm().used(limit, plane);
        if (used == want[plane]) continue;
        return fail(ErrorCode::kInternal, "queue {}: its firm work is charged {} of {}, the slots make {}",
                    state_.queues[limit.queue.index()].spec.name, used, state_.resource_name(limit.pair),
                    want[plane]);
      }
    }
    return {};
  }

  // Own use of the leaves, and of every inner queue what its children put on it.
  Status queue(QueueId id) const {
    for (std::size_t p = 0; p < state_.quota.pairs(); ++p) {
      const FlavorResource pair(p);
      Planes want = at(on_queues_, id.index(), p);
      for (std::size_t c = 0; c < state_.queues.size(); ++c) {
        if (state_.quota.parent(QueueId(c)) != id) continue;
        for (const Plane plane : {kNow, kAfter})
          want[plane] += state_.quota.passed_up(QueueId(c), pair, plane);
      }
      for (const Plane plane : {kNow, kAfter}) {
        if (state_.quota.usage(id, pair, plane) == want[plane]) continue;
        return fail(ErrorCode::kInternal, "queue {}: {} of flavor {} is charged {}, the slots make {}",
                    state_.queue_names.name(id.value), state_.resource_name(pair), state_.pairs.flavor(pair),
                    state_.quota.usage(id, pair, plane), want[plane]);
      }
    }
    return {};
  }

  const State& state_;
  std::map<Key, Planes> on_nodes_;
  std::map<Key, Planes> on_devices_;
  std::map<Key, Planes> on_tokens_;
  std::map<Key, Planes> on_volumes_;
  std::map<NodeId, std::size_t> busy_;  // slots with devices
  std::map<Key, Planes> on_queues_;
  std::map<Key, Planes> firm_in_;  // of work that is not preemptible, in each queue above it, too
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Planes> on_lanes_;
  std::map<SpecId, std::uint32_t> specs_;  // pod sets that have it
  std::size_t holders_ = 0;
};

}  // namespace

Status audit(const State& state) {
  if (state.accounts.mark() != 0) return fail(ErrorCode::kInternal, "a trial was left open");
  return Recount(state).run();
}

}  // namespace berth::engine
