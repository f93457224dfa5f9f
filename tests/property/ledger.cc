#include "property/ledger.h"

#include <algorithm>

namespace berth::property {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

GroupView view(const Group& group, std::size_t& next) {
  GroupView out;
  out.group = &group;
  for (std::size_t i = 0; i < group.pod_sets.size(); ++i) out.sets.push_back(next++);
  for (const Group& child : group.groups) out.groups.push_back(view(child, next));
  return out;
}

}  // namespace

std::int64_t WorkloadRecord::count(SlotState state) const {
  std::int64_t n = 0;
  for (const auto& set : sets) {
    for (const auto& slot : set) n += slot.state == state ? 1 : 0;
  }
  return n;
}
std::int64_t WorkloadRecord::active(std::size_t set) const {
  std::int64_t n = 0;
  for (const auto& slot : sets[set]) n += is_active(slot.state) ? 1 : 0;
  return n;
}
std::int64_t WorkloadRecord::active() const {
  return count(SlotState::kBinding) + count(SlotState::kRunning);
}

std::int64_t WorkloadRecord::place_of(std::size_t set, std::size_t index) const {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index; ++i) {
    const SlotState state = sets[set][i].state;
    place += state == SlotState::kBinding || state == SlotState::kRunning ? 1 : 0;
  }
  return place;
}

bool WorkloadRecord::is_complete() const {
  const auto specs = pod_sets_of(spec.root);
  bool all = active() > 0;
  for (std::size_t s = 0; s < specs.size(); ++s) all = all && active(s) >= specs[s]->least_count();
  return all;
}

bool WorkloadRecord::grows() const {
  const auto specs = pod_sets_of(spec.root);
  bool surplus = active() > 0;
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const bool waits = std::any_of(sets[s].begin(), sets[s].end(),
                                   [](const SlotRecord& slot) { return slot.state == SlotState::kWaiting; });
    surplus = surplus && (!waits || active(s) >= specs[s]->least_count());
  }
  return surplus;
}

TimeMs WorkloadRecord::came() const {
  const bool asks_more = spec.asks_more_since && active() > 0 && !is_complete();
  return asks_more ? std::max(spec.created, *spec.asks_more_since) : spec.created;
}

bool WorkloadRecord::awaits_nodes() const {
  return std::any_of(sets.begin(), sets.end(), [](const auto& set) {
    return std::any_of(set.begin(), set.end(),
                       [](const SlotRecord& slot) { return is_active(slot.state) && slot.taken.awaited; });
  });
}

bool WorkloadRecord::fills_up(std::size_t set, const std::vector<std::int64_t>& starting) const {
  if (is_complete()) return false;
  const auto specs = pod_sets_of(spec.root);
  const auto unplaced = [&](std::size_t s) {
    return std::any_of(sets[s].begin(), sets[s].end(),
                       [](const SlotRecord& slot) { return is_active(slot.state) && slot.taken.awaited; });
  };
  for (std::size_t s = 0; s < specs.size(); ++s) {
    if (!specs[s]->pod.awaited_flavors.empty()) return false;
    const bool waits = std::any_of(sets[s].begin(), sets[s].end(),
                                   [](const SlotRecord& slot) { return slot.state == SlotState::kWaiting; });
    const std::int64_t more = s < starting.size() ? starting[s] : 0;
    if (waits && active(s) + more < specs[s]->least_count() && !unplaced(s)) return false;
  }
  return unplaced(set);
}

const DemandBand* band_of(const PodSet& set, std::int64_t place) {
  for (const DemandBand& band : set.bands) {
    if (place < band.count) return &band;
    place -= band.count;
  }
  return nullptr;
}

bool all_children_needed(const Group& group) {
  const auto children = static_cast<std::int64_t>(group.pod_sets.size() + group.groups.size());
  return group.least.value_or(children) >= children &&
         std::all_of(group.groups.begin(), group.groups.end(), all_children_needed);
}

std::int64_t band_priority(const PodSet& set, std::int64_t place) {
  if (const DemandBand* band = band_of(set, place)) return band->priority;
  return set.bands.empty() ? 0 : std::min<std::int64_t>(0, set.bands.back().priority);
}

Asked asked_of(const WorkloadRecord& w) {
  Asked out;
  bool any = false;
  const auto specs = pod_sets_of(w.spec.root);
  const bool needs_all = all_children_needed(w.spec.root);
  for (std::size_t s = 0; s < specs.size(); ++s) {
    std::int64_t waiting = 0;
    for (const auto& slot : w.sets[s]) waiting += slot.state == SlotState::kWaiting ? 1 : 0;
    const std::int64_t least = specs[s]->least_count();
    const std::int64_t active = w.active(s);
    if (waiting == 0 || (!w.grows() && active >= least && least > 0)) continue;
    const std::int64_t place = active >= least ? active : least - 1;
    const DemandBand* band = band_of(*specs[s], place);
    const std::int64_t priority = w.spec.priority + band_priority(*specs[s], place);
    if (!any || (w.grows() || needs_all ? priority > out.priority : priority < out.priority)) {
      out.priority = priority;
      out.declared = band != nullptr;
    } else if (priority == out.priority) {
      out.declared = out.declared || band != nullptr;
    }
    if (band != nullptr && band->reclaim_within > 0)
      out.within = out.within == 0 ? band->reclaim_within : std::min(out.within, band->reclaim_within);
    any = true;
  }
  if (!any) out.priority = w.spec.priority;
  return out;
}

bool is_active(SlotState state) {
  return state == SlotState::kBinding || state == SlotState::kRunning;
}
bool charges_when(SlotState state, When when) {
  if (is_active(state)) return true;
  return when == When::kNow ? state == SlotState::kReleasing : state == SlotState::kHeld;
}

std::vector<std::size_t> GroupView::all_sets() const {
  std::vector<std::size_t> out = sets;
  for (const GroupView& child : groups) {
    const auto below = child.all_sets();
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}
GroupView view_of(const Group& root) {
  std::size_t next = 0;
  return view(root, next);
}

// ------------------------------------------------------------------------------------------------------------- events

void Ledger::apply(const Event& event) {
  std::visit(Overloaded{
                 [&](const NodeUpsert& e) { nodes[e.node.name] = e.node; },
                 [&](const NodeRemove& e) { nodes.erase(e.name); },
                 [&](const TopologyUpsert& e) { topologies[e.topology.name] = e.topology; },
                 [&](const TopologyRemove& e) { topologies.erase(e.name); },
                 [&](const FlavorUpsert& e) { flavors[e.flavor.name] = e.flavor; },
                 [&](const FlavorRemove& e) { flavors.erase(e.name); },
                 [&](const QueueUpsert& e) { queues[e.queue.name] = e.queue; },
                 [&](const QueueRemove& e) { queues.erase(e.name); },
                 [&](const ForeignPodUpsert& e) { foreign[e.pod.uid] = e.pod; },
                 [&](const ForeignPodRemove& e) { foreign.erase(e.uid); },
                 [&](const WorkloadUpsert& e) { upsert(e.workload); },
                 [&](const WorkloadRemove& e) { workloads.erase(e.uid); },
                 [&](const SlotUpdate& e) { update(e); },
                 [&](const DemandMixUpdate& e) { mix_given = !e.mix.kinds.empty(); },  // only scores
                 [&](const DisruptionBudgetUpdate&) {},  // only the order of victims
                 [&](const DisruptionBudgetRemove&) {},
                 [&](const Withdraw& e) {
                   WorkloadRecord& w = workloads.at(e.workload);
                   if (w.active() + w.count(SlotState::kHeld) > 0) w.withdrawn = true;
                 },
             },
             event);
}

void Ledger::upsert(const Workload& workload) {
  WorkloadRecord& w = workloads[workload.uid];
  if (w.arrival == 0) w.arrival = next_arrival_++;
  w.spec = workload;
  const auto sets = pod_sets_of(workload.root);
  w.sets.resize(std::max(sets.size(), w.sets.size()));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    auto& slots = w.sets[s];
    const auto want = static_cast<std::size_t>(sets[s]->count);
    // Slots that have a place stay until they are gone, and so do those of lower index.
    const auto has_a_place = [](const SlotRecord& slot) {
      return charges_when(slot.state, When::kNow) || charges_when(slot.state, When::kAfter);
    };
    while (slots.size() > want && !has_a_place(slots.back())) slots.pop_back();
    const auto present = static_cast<std::size_t>(sets[s]->present.value_or(sets[s]->count));
    while (slots.size() < want) {
      slots.emplace_back();
      if (slots.size() <= present) slots.back().state = SlotState::kWaiting;
    }
  }
  if (workload.active) return;
  for (auto& set : w.sets) {
    for (auto& slot : set) {
      if (slot.state == SlotState::kHeld) slot = SlotRecord{SlotState::kWaiting, {}};
    }
  }
  if (w.active() == 0) w.withdrawn = false;  // its hold has ended
}

// Whether these devices are there, each once, and as many of each kind as it asks for.
bool Ledger::can_have(const std::string& node, const Taken& what,
                      const std::vector<std::int64_t>& indices) const {
  if (indices.empty() || std::set<std::int64_t>(indices.begin(), indices.end()).size() != indices.size())
    return false;
  std::int64_t counted = 0;
  for (const DeviceRequest& d : what.devices) {
    std::int64_t first = 0;
    const DevicePool* devices = pool(node, d.resource, &first);
    if (devices == nullptr) return false;
    const auto own = std::count_if(indices.begin(), indices.end(),
                                   [&](std::int64_t i) { return i >= first && i < first + devices->count; });
    if (own != d.count) return false;
    counted += own;
  }
  return counted == static_cast<std::int64_t>(indices.size());
}

void Ledger::update(const SlotUpdate& e) {
  WorkloadRecord& w = workloads.at(e.workload);
  SlotRecord& slot = w.sets.at(static_cast<std::size_t>(e.pod_set)).at(static_cast<std::size_t>(e.index));
  const bool active = is_active(slot.state);
  switch (e.state) {
    case SlotState::kHeld:
      break;  // refused by the engine
    case SlotState::kWaiting:
      if (slot.state != SlotState::kHeld) slot = SlotRecord{SlotState::kWaiting, {}};
      break;
    case SlotState::kAbsent:
    case SlotState::kGone:
      slot = SlotRecord{};
      break;
    case SlotState::kReleasing:
      if (active) {
        slot.state = SlotState::kReleasing;
      } else if (slot.state != SlotState::kReleasing) {
        slot = SlotRecord{};
      }
      break;
    case SlotState::kBinding:
    case SlotState::kRunning:
      if (!active || slot.taken.node != e.node) {
        const PodSet& set = *pod_sets_of(w.spec.root).at(static_cast<std::size_t>(e.pod_set));
        // Seen, not decided: which flavor it is charged to is only certain where the queue has one for each resource.
        std::vector<FlavorChoice> chosen;
        if (limited(w.spec.queue)) {
          for (const ResourceGroup& group : queues.at(w.spec.queue).groups) {
            for (const std::string& resource : group.resources) {
              chosen.push_back({e.pod_set, resource, group.flavors.at(0)});
            }
          }
        }
        std::string ignored;
        slot.taken = taken(w, set, static_cast<std::size_t>(e.pod_set), chosen, ignored);
        slot.taken.node = e.node;
        slot.taken.indices_known = false;
        if (can_have(e.node, slot.taken, e.devices)) {
          slot.taken.indices = e.devices;
          slot.taken.indices_known = true;
        }
      }
      if (!active && (e.since > 0 || !decided || (w.started == 0 && w.told.empty())))
        w.told.push_back(e.since > 0 ? e.since : decided ? now : kEndOfTime);
      slot.state = e.state;
      break;
  }
  if (w.active() + w.count(SlotState::kHeld) == 0) w.withdrawn = false;
  note_run(w);
}

void Ledger::note_run(WorkloadRecord& w) const {
  if (w.active() == 0) {
    w.started = 0;
    w.told.clear();
  } else if (w.started == 0 && w.told.empty()) {
    w.started = std::max<TimeMs>(now, 1);
  }
}

void Ledger::begin_decide(TimeMs at) {
  now = std::max(now, at);
  decided = true;
  for (auto& [uid, w] : workloads) {
    for (const TimeMs told : w.told) {
      const TimeMs since = std::max<TimeMs>(std::min(told, now), 1);
      w.started = w.started == 0 ? since : std::min(w.started, since);
    }
    w.told.clear();
  }
}

// ------------------------------------------------------------------------------------------------------------- queues

std::pair<int, std::int64_t> Ledger::rank(const WorkloadRecord& workload) const {
  const auto queue = queues.find(workload.spec.queue);
  if (queue == queues.end() || queue->second.ordering.tiers == Tiers::kNone)
    return {0, workload.spec.priority};
  switch (workload.spec.kind) {
    case WorkloadKind::kBatch:
      return {0, workload.spec.priority};
    case WorkloadKind::kTraining:
      return {1, workload.spec.priority};
    case WorkloadKind::kInteractive:
    case WorkloadKind::kService:
      break;
  }
  return {2, workload.spec.priority};
}

bool Ledger::limited(const std::string& queue) const {
  const auto it = queues.find(queue);
  return !queue.empty() && it != queues.end() && !it->second.unlimited;
}

bool Ledger::is_opaque(const std::string& queue) const {
  if (!limited(queue)) return false;
  for (const ResourceGroup& group : queues.at(queue).groups) {
    for (const std::string& name : group.flavors) {
      const auto flavor = flavors.find(name);
      if (flavor != flavors.end() && flavor->second.opaque) return true;
    }
  }
  return false;
}

bool Ledger::is_awaited(const std::string& queue, const PodTemplate& pod,
                        const std::vector<std::string>& flavor_names) const {
  const auto named = [&](const std::string& name) {
    return std::count(pod.awaited_flavors.begin(), pod.awaited_flavors.end(), name) > 0;
  };
  return !is_opaque(queue) && std::any_of(flavor_names.begin(), flavor_names.end(), named);
}

bool Ledger::may_look_for_quota_only(const WorkloadRecord& w) const {
  const auto sets = pod_sets_of(w.spec.root);
  return is_opaque(w.spec.queue) || w.awaits_nodes() ||
         std::any_of(sets.begin(), sets.end(),
                     [](const PodSet* set) { return !set->pod.awaited_flavors.empty(); });
}

std::vector<std::string> Ledger::chain(const std::string& queue) const {
  std::vector<std::string> out;
  std::string at = queue;
  while (!at.empty() && std::count(out.begin(), out.end(), at) == 0) {
    out.push_back(at);
    const auto it = queues.find(at);
    at = it == queues.end() ? "" : it->second.parent;
  }
  return out;
}

std::string Ledger::queue_trouble(const WorkloadRecord& w) const {
  const std::string& queue = w.spec.queue;
  if (queue.empty()) return "";
  const auto it = queues.find(queue);
  if (it == queues.end()) return "queue " + queue + " does not exist";
  if (!it->second.leaf) return "queue " + queue + " is no leaf";
  const bool broken = w.active() > 0 && !w.is_complete() && !w.spec.asks_more_since;
  const bool goes_on = it->second.stop == StopPolicy::kHold && (w.spec.admitted || broken);
  if (it->second.stop != StopPolicy::kNone && !goes_on) return "queue " + queue + " is stopped";
  if (!it->second.disabled.empty()) return "queue " + queue + " is disabled";
  if (!it->second.parent.empty() && queues.count(it->second.parent) == 0) return "its parent does not exist";
  return "";
}

const Quota* Ledger::quota(const std::string& queue, const FlavorResource& pair) const {
  const auto it = queues.find(queue);
  if (it == queues.end()) return nullptr;
  for (const Quota& q : it->second.quotas) {
    if (q.flavor == pair.first && q.resource == pair.second) return &q;
  }
  return nullptr;
}

std::int64_t Ledger::nominal(const std::string& queue, const FlavorResource& pair) const {
  const Quota* q = quota(queue, pair);
  return q == nullptr ? 0 : q->nominal;
}

std::int64_t Ledger::subtree_quota(const std::string& queue, const FlavorResource& pair) const {
  std::int64_t sum = nominal(queue, pair);
  for (const auto& [name, child] : queues) {
    if (child.parent == queue && !queue.empty()) sum += subtree_quota(name, pair) - local_quota(name, pair);
  }
  const Quota* q = quota(queue, pair);
  return q != nullptr && q->subtree_limit ? std::min(sum, *q->subtree_limit) : sum;
}

std::int64_t Ledger::local_quota(const std::string& queue, const FlavorResource& pair) const {
  const Quota* q = quota(queue, pair);
  if (q == nullptr || !q->lending_limit) return 0;
  return std::max<std::int64_t>(0, subtree_quota(queue, pair) - *q->lending_limit);
}

std::int64_t Ledger::usage(const std::string& queue, const FlavorResource& pair, When when) const {
  std::int64_t sum = 0;
  for (const auto& [uid, w] : workloads) {
    if (w.spec.queue != queue) continue;
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        if (!charges_when(slot.state, when)) continue;
        const auto it = slot.taken.charges.find(pair);
        if (it != slot.taken.charges.end()) sum += it->second;
      }
    }
  }
  for (const auto& [name, child] : queues) {
    if (child.parent == queue)
      sum += std::max<std::int64_t>(0, usage(name, pair, when) - local_quota(name, pair));
  }
  return sum;
}

std::int64_t Ledger::available(const std::string& queue, const FlavorResource& pair, When when) const {
  const std::int64_t subtree = subtree_quota(queue, pair);
  const std::int64_t use = usage(queue, pair, when);
  const auto it = queues.find(queue);
  if (it == queues.end() || it->second.parent.empty()) return subtree - use;
  const std::int64_t local = local_quota(queue, pair);
  std::int64_t from_parent = available(it->second.parent, pair, when);
  const Quota* q = quota(queue, pair);
  if (q != nullptr && q->borrowing_limit) {
    from_parent = std::min(from_parent,
                           (subtree - local) - std::max<std::int64_t>(0, use - local) + *q->borrowing_limit);
  }
  return std::max<std::int64_t>(0, local - use) + from_parent;
}

std::optional<std::int64_t> Ledger::lane_room(const std::string& queue, const std::string& lane,
                                              const FlavorResource& pair, When when) const {
  const auto it = queues.find(queue);
  if (it == queues.end()) return std::nullopt;
  for (const LaneLimit& limit : it->second.lanes.limits) {
    if (limit.flavor != pair.first || limit.resource != pair.second) continue;
    std::int64_t use = 0;
    for (const auto& [uid, w] : workloads) {
      if (w.spec.queue != queue || w.spec.lane != lane) continue;
      for (const auto& set : w.sets) {
        for (const auto& slot : set) {
          const auto charge = slot.taken.charges.find(pair);
          if (charges_when(slot.state, when) && charge != slot.taken.charges.end()) use += charge->second;
        }
      }
    }
    return limit.amount - use;
  }
  return std::nullopt;
}

std::optional<Ledger::FirmRoom> Ledger::firm_room(const std::string& queue, const FlavorResource& pair,
                                                  When when) const {
  std::optional<FirmRoom> out;
  for (const std::string& at : chain(queue)) {
    const Quota* q = quota(at, pair);
    if (q == nullptr || !q->firm_limit) continue;
    std::int64_t use = 0;
    for (const auto& [uid, w] : workloads) {
      const auto path = chain(w.spec.queue);
      if (w.spec.preemptible || std::count(path.begin(), path.end(), at) == 0) continue;
      for (const auto& set : w.sets) {
        for (const auto& slot : set) {
          const auto charge = slot.taken.charges.find(pair);
          if (charges_when(slot.state, when) && charge != slot.taken.charges.end()) use += charge->second;
        }
      }
    }
    const std::int64_t room = *q->firm_limit - use;
    if (!out || room < out->room) out = FirmRoom{at, room};
  }
  return out;
}

std::vector<std::string> Ledger::flavors_of(std::size_t set_index,
                                            const std::vector<FlavorChoice>& chosen) const {
  std::set<std::string> out;
  for (const FlavorChoice& c : chosen) {
    if (c.pod_set == static_cast<std::int64_t>(set_index)) out.insert(c.flavor);
  }
  return {out.begin(), out.end()};
}

Taken Ledger::taken(const WorkloadRecord& workload, const PodSet& set, std::size_t set_index,
                    const std::vector<FlavorChoice>& chosen, std::string& why_not) const {
  Taken out;
  out.amounts = amounts_of(set.pod);
  out.devices = set.pod.claim.requests;
  out.ports = set.pod.ports;
  out.mounts = set.pod.mounts;
  const std::string& queue = workload.spec.queue;
  if (!limited(queue)) return out;
  ResourceList counted = set.pod.total().value();
  const Queue& q = queues.at(queue);
  for (const ResourceGroup& group : q.groups) {
    const bool counts_pods = std::count(group.resources.begin(), group.resources.end(), "pods") > 0;
    if (counts_pods && !counted.has("pods")) counted.set("pods", 1);
  }
  for (const auto& [resource, amount] : counted) {
    if (amount == 0) continue;
    const ResourceGroup* covering = nullptr;
    for (const ResourceGroup& group : q.groups) {
      if (std::count(group.resources.begin(), group.resources.end(), resource) > 0) covering = &group;
    }
    if (covering == nullptr) {
      if (!ignore_uncovered_ && resource != "pods") why_not = "the queue has no quota for " + resource;
      continue;
    }
    const FlavorChoice* choice = nullptr;
    for (const FlavorChoice& c : chosen) {
      if (c.pod_set == static_cast<std::int64_t>(set_index) && c.resource == resource) choice = &c;
    }
    if (choice == nullptr) {
      why_not = "no flavor is named for " + resource;
      continue;
    }
    if (std::count(covering->flavors.begin(), covering->flavors.end(), choice->flavor) == 0) {
      why_not = "flavor " + choice->flavor + " is not one of the queue's for " + resource;
    } else if (flavors.count(choice->flavor) == 0) {
      why_not = "flavor " + choice->flavor + " does not exist";
    } else if (quota(queue, {choice->flavor, resource}) == nullptr) {
      why_not = "the queue has no quota entry for " + choice->flavor + " and " + resource;
    }
    for (const FlavorChoice& other : chosen) {
      const bool together =
          other.pod_set == choice->pod_set &&
          std::count(covering->resources.begin(), covering->resources.end(), other.resource) > 0;
      if (together && other.flavor != choice->flavor) why_not = "resources of one group have two flavors";
    }
    out.charges[{choice->flavor, resource}] += amount;
  }
  return out;
}

bool Ledger::has_quota(const std::string& workload, std::size_t set_index, std::int64_t slots,
                       const std::vector<std::string>& flavor_names) const {
  const WorkloadRecord& w = workloads.at(workload);
  if (!limited(w.spec.queue)) return true;
  std::vector<FlavorChoice> chosen;
  for (const ResourceGroup& group : queues.at(w.spec.queue).groups) {
    for (const std::string& flavor : group.flavors) {
      if (std::count(flavor_names.begin(), flavor_names.end(), flavor) == 0) continue;
      for (const std::string& resource : group.resources)
        chosen.push_back({static_cast<std::int64_t>(set_index), resource, flavor});
    }
  }
  std::string why_not;
  const Taken one = taken(w, *pod_sets_of(w.spec.root)[set_index], set_index, chosen, why_not);
  if (!why_not.empty()) return false;
  return std::all_of(one.charges.begin(), one.charges.end(), [&](const auto& charge) {
    const std::int64_t need = charge.second * slots;
    for (const When when : {When::kNow, When::kAfter}) {
      if (const auto room = lane_room(w.spec.queue, w.spec.lane, charge.first, when);
          room && need > 0 && need > *room)
        return false;
      if (const auto firm = firm_room(w.spec.queue, charge.first, when);
          firm && !w.spec.preemptible && need > 0 && need > firm->room)
        return false;
    }
    return need <= available(w.spec.queue, charge.first, When::kNow) &&
           need <= available(w.spec.queue, charge.first, When::kAfter);
  });
}

}  // namespace berth::property
