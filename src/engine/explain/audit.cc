#include "engine/explain/audit.h"

#include <array>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

namespace berth::engine {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;

}  // namespace

Status audit(const State& state) {
  if (state.accounts.mark() != 0) return fail(ErrorCode::kInternal, "a trial was left open");
  std::map<Key, std::array<std::int64_t, 2>> on_nodes;
  std::map<Key, std::array<std::int64_t, 2>> on_devices;
  std::map<Key, std::array<std::int64_t, 2>> on_queues;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::array<std::int64_t, 2>> on_lanes;
  std::size_t holders = 0;
  for (std::size_t i = 0; i < state.workloads.size(); ++i) {
    const WorkloadState& w = state.workloads[i];
    if (!w.used) continue;
    bool runs = false;
    bool holds = false;
    Weight weight;
    for (const auto& set : w.sets) {
      std::array<std::int64_t, 7> states{};
      for (const auto& slot : set.slots) {
        ++states[static_cast<std::size_t>(slot.state)];
        const PlaneMask planes = planes_of(slot.state);
        if (slot.state == SlotState::kBinding || slot.state == SlotState::kRunning) {
          weight.devices += state.charges[slot.charge].weight.devices;
          weight.cpus += state.charges[slot.charge].weight.cpus;
        }
        if ((planes == 0) == slot.node.valid()) {
          return fail(ErrorCode::kInternal, "workload {}: a slot in state {} and its node disagree", w.uid,
                      enum_name(slot.state));
        }
        for (const Plane plane : {kNow, kAfter}) {
          if ((planes & (1u << plane)) == 0) continue;
          const Charge& c = state.charges[slot.charge];
          for (const QuotaItem& item : c.quota) {
            on_queues[{w.queue.value, item.pair.value}][plane] += item.amount;
            on_lanes[{w.queue.value, w.lane, item.pair.value}][plane] += item.amount;
          }
          if (state.nodes.is_opaque(slot.node)) continue;  // nothing is counted there
          for (const auto& a : state.shapes[c.shape].shape.amounts) {
            on_nodes[{slot.node.value, a.resource.value}][plane] += a.amount;
          }
          for (std::uint64_t rest = slot.devices; rest != 0; rest &= rest - 1) {
            const auto at = static_cast<std::uint32_t>(std::countr_zero(rest));
            const auto& device = state.nodes.record(slot.node).devices[at];
            for (const auto& d : state.shapes[c.shape].shape.devices) {
              if (d.resource == device.resource) on_devices[{slot.node.value, at}][plane] += d.milli;
            }
          }
        }
      }
      runs = runs || set.active > 0;
      holds = holds || set.held > 0;
      const auto number = [&](SlotState s) { return states[static_cast<std::size_t>(s)]; };
      if (set.waiting != number(SlotState::kWaiting) || set.held != number(SlotState::kHeld) ||
          set.active != number(SlotState::kBinding) + number(SlotState::kRunning) ||
          set.releasing != number(SlotState::kReleasing)) {
        return fail(ErrorCode::kInternal, "workload {}: its slot counters are off", w.uid);
      }
    }
    if (runs != (state.queues[w.queue.index()].started.count(WorkloadId(i)) > 0)) {
      return fail(ErrorCode::kInternal, "workload {}: its queue's list of started work is off", w.uid);
    }
    if (weight.devices != w.weight.devices || weight.cpus != w.weight.cpus)
      return fail(ErrorCode::kInternal, "workload {}: the weight of its running slots is off", w.uid);
    if (holds != (state.queues[w.queue.index()].holders.count(w.hold_order) > 0))
      return fail(ErrorCode::kInternal, "workload {}: its queue's list of holds is off", w.uid);
    if (holds != (w.hold_order != 0))
      return fail(ErrorCode::kInternal, "workload {}: its hold is not listed", w.uid);
    holders += holds ? 1 : 0;
  }
  if (holders != state.holders.size())
    return fail(ErrorCode::kInternal, "the list of holds names a workload without a hold");

  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    const auto& record = state.nodes.record(NodeId(n));
    for (std::size_t r = 0; r < state.nodes.resources(); ++r) {
      const auto& account = state.nodes.account(NodeId(n), ResourceId(r));
      const auto it = on_nodes.find({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(r)});
      const std::array<std::int64_t, 2> mine =
          it == on_nodes.end() ? std::array<std::int64_t, 2>{} : it->second;
      // The rest is foreign use, which is the same on both planes and never negative.
      const std::int64_t foreign = account.used[kNow] - mine[kNow];
      if (foreign < 0 || foreign != account.used[kAfter] - mine[kAfter]) {
        return fail(ErrorCode::kInternal, "node {}: {} is charged {} and {}, the slots there make {} and {}",
                    record.spec.name, state.nodes.resource_name(ResourceId(r)), account.used[kNow],
                    account.used[kAfter], mine[kNow], mine[kAfter]);
      }
    }
    for (std::size_t d = 0; d < record.devices.size(); ++d) {
      const auto it = on_devices.find({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(d)});
      const std::array<std::int64_t, 2> mine =
          it == on_devices.end() ? std::array<std::int64_t, 2>{} : it->second;
      const auto& used = record.devices[d].account.used;
      if (used[kNow] < mine[kNow] || used[kNow] - mine[kNow] != used[kAfter] - mine[kAfter]) {
        return fail(ErrorCode::kInternal,
                    "node {}: device {} is charged {} and {}, the slots there make {} and {}",
                    record.spec.name, d, used[kNow], used[kAfter], mine[kNow], mine[kAfter]);
      }
    }
  }

  for (const auto& [key, used] : on_lanes) {
    const auto& [queue, lane, pair_value] = key;
    const FlavorResource pair(pair_value);
    const LaneLimits& limits = state.accounts.limits(QueueId(queue));
    for (const QuotaItem& limit : limits.limits()) {
      if (limit.pair != pair) continue;
      for (const Plane plane : {kNow, kAfter}) {
        if (limit.amount - limits.room(lane, pair, plane) == used[plane]) continue;
        return fail(ErrorCode::kInternal, "queue {}: lane {} is charged {} of {}, the slots make {}",
                    state.queues[queue].spec.name, state.queues[queue].lanes.name(lane),
                    limit.amount - limits.room(lane, pair, plane), state.resource_name(pair), used[plane]);
      }
    }
  }

  // Queues: own use of the leaves, and of every inner queue what its children put on it.
  for (std::size_t q = 0; q < state.queues.size(); ++q) {
    for (std::size_t p = 0; p < state.quota.pairs(); ++p) {
      const FlavorResource pair(p);
      std::array<std::int64_t, 2> want{};
      const auto it = on_queues.find({static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(p)});
      if (it != on_queues.end()) want = it->second;
      for (std::size_t c = 0; c < state.queues.size(); ++c) {
        if (state.quota.parent(QueueId(c)) != QueueId(q)) continue;
        for (const Plane plane : {kNow, kAfter})
          want[plane] += state.quota.passed_up(QueueId(c), pair, plane);
      }
      for (const Plane plane : {kNow, kAfter}) {
        if (state.quota.usage(QueueId(q), pair, plane) == want[plane]) continue;
        return fail(ErrorCode::kInternal, "queue {}: {} of flavor {} is charged {}, the slots make {}",
                    state.queue_names.name(static_cast<std::uint32_t>(q)), state.resource_name(pair),
                    state.flavor_name(pair), state.quota.usage(QueueId(q), pair, plane), want[plane]);
      }
    }
  }
  return {};
}

}  // namespace berth::engine
