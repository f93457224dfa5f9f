#include "property/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "property/choose.h"
#include "property/objects.h"

namespace berth::property {
namespace {

PodSet* pod_set_at(Group& group, std::size_t& index) {
  for (PodSet& set : group.pod_sets) {
    if (index-- == 0) return &set;
  }
  for (Group& child : group.groups) {
    if (PodSet* found = pod_set_at(child, index)) return found;
  }
  return nullptr;
}

// ------------------------------------------------------------------------------------------------- steps of each kind

std::vector<Event> revise(const Step& step, const Ledger& ledger) {
  const auto uid = pick(step.seed, names_of(ledger.workloads));
  if (!uid) return {};
  Random r(step.seed);
  Workload w = ledger.workloads.at(*uid).spec;
  switch (r.below(6)) {
    case 4:
      w.restart.last_checkpoint = ledger.now;
      // It has what it asked for more, and stands from now on where that stood.
      if (w.asks_more_since && ledger.workloads.at(*uid).is_complete())
        w.created = std::max(w.created, *w.asks_more_since);
      break;
    case 0:
      w.priority = r.between(0, 3);
      break;
    case 1:
      w.active = !w.active;
      break;
    case 2:
      w.preemptible = !w.preemptible;
      break;
    case 3:
      w.may_preempt = !w.may_preempt;
      if (r.chance(1, 2)) w.admitted = !w.admitted;
      break;
    default: {
      std::size_t index = r.below(pod_sets_of(w.root).size());
      PodSet& set = *pod_set_at(w.root, index);
      set.count = r.between(1, 6);
      set.least.reset();
      set.present.reset();
      set.bands.clear();
      if (r.chance(1, 2)) set.least = r.between(1, set.count);
      if (w.asks_more_since) w.asks_more_since = ledger.now;
    }
  }
  return {WorkloadUpsert{w}};
}

std::vector<Event> seen_somewhere(const Step& step, const Ledger& ledger) {
  // Only where it is certain what it is charged to.
  const auto certain = [&](const WorkloadRecord& w) {
    if (w.count(SlotState::kWaiting) == 0) return false;
    if (!ledger.limited(w.spec.queue)) return w.spec.queue.empty() || ledger.queues.count(w.spec.queue) > 0;
    const Queue& q = ledger.queues.at(w.spec.queue);
    if (ledger.is_opaque(w.spec.queue)) return false;
    return std::all_of(q.groups.begin(), q.groups.end(), [](const auto& g) { return g.flavors.size() == 1; });
  };
  const auto uid = pick(step.seed, workloads_where(ledger, certain));
  const auto node = pick(step.seed, names_of(ledger.nodes));
  if (!uid || !node) return {};
  for (const SlotName& s : slots_in(ledger, SlotState::kWaiting)) {
    if (s.workload != *uid) continue;
    SlotUpdate update = seen(s, SlotState::kRunning, *node);
    // Sometimes it says which devices it has: those that it can have, or nonsense.
    Random r(step.seed);
    const auto sets = pod_sets_of(ledger.workloads.at(s.workload).spec.root);
    if (r.chance(1, 2) && static_cast<std::size_t>(s.set) < sets.size()) {
      for (const auto& d : sets[static_cast<std::size_t>(s.set)]->pod.claim.requests) {
        for (std::int64_t i = 0; i < d.count; ++i) update.devices.push_back((i + r.between(0, 1)) % 8);
      }
    }
    // And since when, as far as it is known; some clocks are ahead.
    if (r.chance(1, 2)) update.since = std::max<TimeMs>(1, ledger.now + r.between(-10, 2) * kMinute);
    return {update};
  }
  return {};
}

std::vector<Event> change_node(const Step& step, const Ledger& ledger) {
  const auto name = pick(step.seed, names_of(ledger.nodes));
  if (!name) return {};
  Random r(step.seed);
  Node node = ledger.nodes.at(*name);
  Random limits(step.seed ^ 3);
  if (!node.attachable.empty() && limits.chance(1, 3)) node.attachable.set("disk", limits.between(0, 6));
  switch (r.below(6)) {
    case 0:
      node.allocatable.set("cpu", 1000 * r.between(0, 32));
      break;
    case 1:
      if (!node.devices.empty())
        node.devices[0].count = std::max<std::int64_t>(1, node.devices[0].count - r.between(1, 4));
      break;
    case 2:
      if (!node.devices.empty())
        node.devices[0].count = std::min<std::int64_t>(8, node.devices[0].count + r.between(1, 4));
      break;
    case 3:
      if (!node.devices.empty()) node.devices[0].unhealthy = {r.between(0, node.devices[0].count - 1)};
      break;
    case 4:
      if (!node.devices.empty()) node.devices[0].unhealthy.clear();
      break;
    default:
      node.labels["pool"] = flavor_name(r.between(0, 2));
      break;
  }
  if (!node.devices.empty()) {
    auto& bad = node.devices[0].unhealthy;
    bad.erase(std::remove_if(bad.begin(), bad.end(), [&](auto i) { return i >= node.devices[0].count; }),
              bad.end());
  }
  return {NodeUpsert{node}};
}

std::vector<Event> change_queue(const Profile& p, const Step& step, const Ledger& ledger) {
  const auto name = pick(step.seed, names_of(ledger.queues));
  if (!name) return {};
  Random r(step.seed);
  Queue q = ledger.queues.at(*name);
  switch (step.kind) {
    case StepKind::kQuota:
      for (Quota& quota : q.quotas) {
        if (r.chance(1, 2)) quota.nominal = quota.nominal * r.between(0, 6) / 4;
        if (!q.parent.empty() && r.chance(1, 4)) quota.borrowing_limit = quota.nominal * r.between(0, 2) / 2;
        if (r.chance(1, 6)) quota.borrowing_limit.reset();
        if (!q.parent.empty() && r.chance(1, 6)) quota.lending_limit = quota.nominal * r.between(0, 2) / 2;
      }
      break;
    case StepKind::kPolicy:
      q.preemption.within = any<WithinQueue>(r);
      q.preemption.reclaim = any<Reclaim>(r);
      q.order = any<QueueOrder>(r);
      if (p.orders) q.ordering = make_ordering(r);
      if (p.orders && !q.leaf) q.sharing = any<Sharing>(r);
      q.preemption.borrow_within = any<BorrowWithin>(r);
      q.flavor_search = {r.chance(1, 2), r.chance(1, 2), r.chance(1, 2)};
      break;
    default:
      q.stop = q.stop == StopPolicy::kNone ? r.chance(1, 2) ? StopPolicy::kHold : StopPolicy::kHoldAndDrain
                                           : StopPolicy::kNone;
  }
  return {QueueUpsert{q}};
}

}  // namespace

std::vector<Event> events_of(const History& history, const Step& step, const Ledger& ledger) {
  const Profile p = profile_of(history.seed);
  Random r(step.seed);
  std::vector<Event> out;
  switch (step.kind) {
    case StepKind::kTopology:
      return {TopologyUpsert{{"default", {"zone", "rack", "host"}}}};
    case StepKind::kFlavor: {
      const std::int64_t i = step.id % 1000;
      Flavor flavor;
      flavor.name = i < 3 ? flavor_name(i) : "any";
      flavor.opaque = p.opaque;
      if (i < 3) flavor.node_labels["pool"] = flavor.name;
      if (i == 2)
        flavor.tolerations.push_back({"dedicated", false, flavor.name, TolerationEffect::kNoSchedule});
      if (i == 1 && r.chance(1, 4))
        flavor.node_taints.push_back({"dedicated", flavor.name, TaintEffect::kNoSchedule});
      return {FlavorUpsert{flavor}};
    }
    case StepKind::kNode:
      return {NodeUpsert{make_node(p, step.id, step.seed)}};
    case StepKind::kQueue:
      return {QueueUpsert{make_queue(p, step.id, step.seed)}};
    case StepKind::kArrive:
      return {WorkloadUpsert{make_workload(p, step.id, step.seed)}};
    case StepKind::kMorePods: {
      for (const SlotName& s : slots_in(ledger, SlotState::kAbsent)) {
        if (wanted(ledger, s) && hash_of(step.seed, s) % 3 != 0) out.push_back(seen(s, SlotState::kWaiting));
      }
      return out;
    }
    case StepKind::kRevise:
      return revise(step, ledger);
    case StepKind::kGiveUp: {
      const auto uid =
          pick(step.seed, workloads_where(ledger, [](const auto& w) { return w.active() == 0; }));
      if (uid) out.push_back(WorkloadRemove{*uid});
      return out;
    }
    case StepKind::kFinish: {
      const auto uid = pick(step.seed, workloads_where(ledger, [](const auto& w) { return w.active() > 0; }));
      if (uid) out.push_back(WorkloadRemove{*uid});
      return out;
    }
    case StepKind::kPodEnds: {
      const auto s = pick_slot(step.seed, ledger, SlotState::kRunning);
      if (!s) return out;
      const auto how = r.below(3);
      out.push_back(seen(*s, how == 0 ? SlotState::kReleasing : SlotState::kGone));
      if (how == 1) out.push_back(seen(*s, SlotState::kWaiting));
      return out;
    }
    case StepKind::kWithdraw: {
      const auto uid = pick(step.seed, workloads_where(ledger, [](const auto& w) {
                              return w.active() + w.count(SlotState::kHeld) > 0;
                            }));
      if (uid) out.push_back(Withdraw{*uid, "a member could not be bound"});
      return out;
    }
    case StepKind::kSeen:
      return seen_somewhere(step, ledger);
    case StepKind::kMix:
      return {DemandMixUpdate{make_mix(p, step.seed)}};
    case StepKind::kNodesCome: {
      const auto uid =
          pick(step.seed, workloads_where(ledger, [](const auto& w) { return w.awaits_nodes(); }));
      if (!uid) return out;
      if (r.chance(1, 2)) out.push_back(NodeUpsert{make_node(p, step.id, step.seed)});
      Workload w = ledger.workloads.at(*uid).spec;
      set_awaited(w.root, {});
      out.push_back(WorkloadUpsert{w});
      return out;
    }
    case StepKind::kConfirm: {
      for (const SlotName& s : slots_in(ledger, SlotState::kBinding)) {
        if (record(ledger, s).taken.awaited) continue;  // it has no pods yet
        if (hash_of(step.seed, s) % 4 != 0)
          out.push_back(seen(s, SlotState::kRunning, record(ledger, s).taken.node));
      }
      return out;
    }
    case StepKind::kBindFails: {
      if (const auto s = pick_slot(step.seed, ledger, SlotState::kBinding))
        out.push_back(seen(*s, SlotState::kWaiting));
      return out;
    }
    case StepKind::kGone: {
      for (const SlotName& s : slots_in(ledger, SlotState::kReleasing)) {
        if (hash_of(step.seed, s) % 3 == 0) continue;
        out.push_back(seen(s, SlotState::kGone));
        if (wanted(ledger, s) && hash_of(step.seed + 1, s) % 4 != 0)
          out.push_back(seen(s, SlotState::kWaiting));
      }
      return out;
    }
    case StepKind::kCordon: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      Node node = ledger.nodes.at(*name);
      node.unschedulable = !node.unschedulable;
      return {NodeUpsert{node}};
    }
    case StepKind::kTaint: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      Node node = ledger.nodes.at(*name);
      if (node.taints.empty()) {
        node.taints.push_back(
            {r.chance(1, 2) ? "dedicated" : "broken", "", static_cast<TaintEffect>(r.below(3))});
      } else {
        node.taints.clear();
      }
      return {NodeUpsert{node}};
    }
    case StepKind::kNodeChanges:
      return change_node(step, ledger);
    case StepKind::kNodeRemoved: {
      if (const auto name = pick(step.seed, names_of(ledger.nodes))) out.push_back(NodeRemove{*name});
      return out;
    }
    case StepKind::kNodeLost: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      out.push_back(NodeRemove{*name});
      for (const SlotState state : {SlotState::kBinding, SlotState::kRunning, SlotState::kReleasing}) {
        for (const SlotName& s : slots_in(ledger, state)) {
          if (record(ledger, s).taken.node != *name) continue;
          out.push_back(seen(s, SlotState::kGone));
          if (wanted(ledger, s)) out.push_back(seen(s, SlotState::kWaiting));
        }
      }
      return out;
    }
    case StepKind::kForeign: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      ForeignPod pod{fmt::format("f{}", step.id), *name, {{"cpu", 1000 * r.between(1, 8)}}, {}};
      if (r.chance(1, 3)) pod.devices.push_back({std::string(kGpu), r.between(1, 2), 1000});
      Random ports(step.seed ^ 1);
      if (p.ports && ports.chance(1, 2)) pod.ports = make_ports(ports);
      if (p.terms) draw_terms(r, pod.terms, pod.selected);
      Random ending(step.seed ^ 2);
      Random volumes(step.seed ^ 3);
      if (p.volumes && volumes.chance(1, 2)) pod.attaches.set("disk", volumes.between(1, 2));
      if (p.volumes) draw_shared_volumes(volumes, pod.mounts);
      pod.ending = p.spreads && ending.chance(1, 4);
      return {ForeignPodUpsert{pod}};
    }
    case StepKind::kForeignGone: {
      if (const auto uid = pick(step.seed, names_of(ledger.foreign))) out.push_back(ForeignPodRemove{*uid});
      return out;
    }
    case StepKind::kQuota:
    case StepKind::kPolicy:
    case StepKind::kStop:
      return change_queue(p, step, ledger);
    case StepKind::kQueueRemoved: {
      if (const auto name = pick(step.seed, names_of(ledger.queues))) out.push_back(QueueRemove{*name});
      return out;
    }
    case StepKind::kDecide: {
      if (!p.budgets || !r.chance(1, 3)) return out;
      const std::string name = budget_name(r.between(0, kBudgetCount - 1));
      if (r.chance(1, 8)) return {DisruptionBudgetRemove{name}};
      return {DisruptionBudgetUpdate{name, r.between(0, 3)}};
    }
  }
  return out;
}

std::vector<Event> settle_events(const Ledger& ledger) {
  std::vector<Event> out;
  for (const SlotName& s : slots_in(ledger, SlotState::kBinding)) {
    if (!record(ledger, s).taken.awaited)
      out.push_back(seen(s, SlotState::kRunning, record(ledger, s).taken.node));
  }
  for (const SlotName& s : slots_in(ledger, SlotState::kReleasing)) {
    out.push_back(seen(s, SlotState::kGone));
    if (wanted(ledger, s)) out.push_back(seen(s, SlotState::kWaiting));
  }
  return out;
}

History make_history(std::uint64_t seed) {
  History h;
  h.seed = seed;
  Random r(seed ^ 0x5eedull);
  h.config.placement = static_cast<Placement>(1 + r.below(EnumNames<Placement>::names.size() - 1));
  h.config.ignore_uncovered = r.chance(1, 2);
  h.config.fair_strategy = any<engine::FairStrategy>(r);
  if (r.chance(1, 10)) h.config.search_steps = r.between(5, 300);
  const Profile p = profile_of(seed);
  std::int64_t next_id = 1;
  const auto add = [&](StepKind kind) { h.steps.push_back({kind, next_id++, r.next()}); };
  const auto add_numbered = [&](StepKind kind, std::int64_t number) {
    h.steps.push_back({kind, 1000 * (next_id++) + number, r.next()});
  };

  if (p.topology) add(StepKind::kTopology);
  for (std::int64_t i = 0; i < p.flavors; ++i) add_numbered(StepKind::kFlavor, i);
  add_numbered(StepKind::kFlavor, 3);
  std::int64_t capacity = 0;
  next_id = 1;
  for (auto n = r.between(3, 12); n > 0 || capacity == 0; --n) {
    add(StepKind::kNode);
    for (const auto& pool : make_node(p, h.steps.back().id, h.steps.back().seed).devices)
      capacity += pool.count * 1000;
  }
  for (std::size_t q = 0; q < p.inner.size() + p.leaves.size(); ++q) {
    add_numbered(StepKind::kQueue, static_cast<std::int64_t>(q));
  }

  // Work arrives between everything else, until it asks for more than the cluster has.
  next_id = 100;
  std::int64_t asked = 0;
  const std::int64_t enough = capacity * r.between(13, 35) / 10;
  std::int64_t arrivals = 0;
  const std::int64_t most_arrivals = p.twins != 0 ? 160 : 80;
  while (arrivals < most_arrivals && (asked <= enough || arrivals < 6)) {
    const auto dice = r.below(100);
    if (dice < 45) {
      add(StepKind::kArrive);
      asked += devices_of(make_workload(p, h.steps.back().id, h.steps.back().seed));
      ++arrivals;
    } else if (dice < 56) {
      add(StepKind::kConfirm);
    } else if (dice < 67) {
      add(StepKind::kGone);
    } else if (dice < 71) {
      add(StepKind::kFinish);
    } else if (dice < 75) {
      add(StepKind::kMorePods);
    } else if (dice < 80) {
      static constexpr StepKind kWork[] = {StepKind::kRevise,   StepKind::kGiveUp,    StepKind::kPodEnds,
                                           StepKind::kWithdraw, StepKind::kBindFails, StepKind::kMix};
      add(kWork[r.below(std::size(kWork))]);
    } else if (dice < 86 && p.outside) {
      static constexpr StepKind kOutside[] = {
          StepKind::kCordon,  StepKind::kTaint,       StepKind::kNodeChanges, StepKind::kNodeRemoved,
          StepKind::kForeign, StepKind::kForeignGone, StepKind::kSeen,        StepKind::kQuota,
          StepKind::kPolicy,  StepKind::kStop,        StepKind::kStop,        StepKind::kNode,
          StepKind::kNodeLost};
      add(kOutside[r.below(std::size(kOutside))]);
    } else if (dice < 87 && p.outside) {
      add(StepKind::kQueueRemoved);
    } else {
      add(StepKind::kDecide);
    }
    if (p.awaits && r.chance(1, 4)) add(StepKind::kNodesCome);
    if (r.chance(2, 5)) add(StepKind::kDecide);
  }
  add(StepKind::kDecide);
  h.load_percent = capacity == 0 ? 0 : asked * 100 / capacity;
  return h;
}

}  // namespace berth::property