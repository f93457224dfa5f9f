#include "engine/place/empty_cluster.h"

#include <algorithm>

#include "engine/place/placer.h"

namespace berth::engine {
namespace {

struct Visitor {
  State& s;
  void operator()(const NodeUpsert& e) const { (void)s.node_upsert(e.node); }
  void operator()(const NodeRemove& e) const { (void)s.node_remove(e.name); }
  void operator()(const TopologyUpsert& e) const { (void)s.topology_upsert(e.topology); }
  void operator()(const TopologyRemove& e) const { (void)s.topology_remove(e.name); }
  void operator()(const FlavorUpsert& e) const { (void)s.flavor_upsert(e.flavor); }
  void operator()(const FlavorRemove& e) const { (void)s.flavor_remove(e.name); }
  void operator()(const QueueUpsert& e) const { (void)s.queue_upsert(e.queue); }
  void operator()(const QueueRemove& e) const { (void)s.queue_remove(e.name); }
  void operator()(const ForeignPodUpsert& e) const { (void)s.foreign_upsert(e.pod); }
  void operator()(const ForeignPodRemove& e) const { (void)s.foreign_remove(e.uid); }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

EmptyCluster::EmptyCluster(const State& live) : state_(live.config) {
  take_names(live);
  for (const auto& [name, topology] : live.topologies) (void)state_.topology_upsert(topology);
  for (const auto& [name, flavor] : live.flavors) (void)state_.flavor_upsert(flavor);
  for (const QueueState& q : live.queues) {
    if (q.exists && !q.spec.name.empty()) (void)state_.queue_upsert(q.spec);
  }
  for (std::size_t n = 0; n < live.nodes.size(); ++n) {
    const auto& record = live.nodes.record(NodeId(n));
    if (record.alive) (void)state_.node_upsert(record.spec);
  }
  live.foreign.each([this](const ForeignPods::Entry& of) { (void)state_.foreign_upsert(of.pod); });
}

void EmptyCluster::tell(const State& live, const Event& event) {
  take_names(live);
  std::visit(Visitor{state_}, event);
}

// Nodes and resources that are new in the live state get the same ids.
void EmptyCluster::take_names(const State& live) {
  for (std::size_t n = state_.nodes.size(); n < live.nodes.size(); ++n) {
    if (live.nodes.is_opaque(NodeId(n))) {
      state_.nodes.opaque();
    } else {
      state_.nodes.intern(live.nodes.record(NodeId(n)).spec.name);
    }
  }
  for (std::size_t r = state_.nodes.resources(); r < live.nodes.resources(); ++r) {
    const std::string_view name = live.nodes.resource_name(ResourceId(r));
    if (!live.nodes.is_asked_only(ResourceId(r)) || !state_.nodes.resource_asked(name))
      state_.nodes.resource(name);
  }
}

void EmptyCluster::take_mix(const State& live) {
  if (mix_version_ == live.fragments.uses()) return;
  mix_version_ = live.fragments.uses();
  state_.fragments.use(live.demand.mix(), state_.nodes);
}

// The input of the search for places: its queue, its structure, and the waiting slots.
WorkloadId EmptyCluster::adopt(const State& live, const WorkloadState& from) {
  const WorkloadId id(std::size_t{0});
  state_.workloads.clear();
  WorkloadState& w = state_.workloads.emplace_back();
  w.used = true;
  w.uid = from.uid;
  w.queue = state_.intern_queue(std::string(live.queue_names.name(from.queue.value)));
  const std::string& lane = live.queues[from.queue.index()].lanes.name(from.lane);
  w.lane = state_.queues[w.queue.index()].lanes.number(lane, state_.now);
  w.preemptible = from.preemptible;
  const std::string& structure = live.structures.key(from.structure);
  const auto known = state_.structures.find(structure);
  w.structure = known ? *known : state_.structures.add(structure, live.structures[from.structure]);
  for (const PodSetState& set : from.sets) {
    PodSetState mine;
    mine.spec = state_.intern_spec(w.queue, live.specs[set.spec].pod, live.specs[set.spec].beside);
    mine.marks = set.marks;
    mine.least = set.least;
    mine.slots.resize(set.slots.size());
    w.sets.push_back(std::move(mine));
  }
  for (std::size_t s = 0; s < from.sets.size(); ++s) {
    for (std::size_t i = 0; i < from.sets[s].slots.size(); ++i) {
      if (from.sets[s].slots[i].state == SlotState::kWaiting) state_.set_slot(id, s, i, SlotState::kWaiting);
    }
  }
  return id;
}

bool EmptyCluster::could_start(const State& live, WorkloadId id) {
  take_names(live);
  take_mix(live);
  state_.settle_configuration();
  const WorkloadId copy = adopt(live, live.workloads[id.index()]);
  Budget steps(state_.config.search_steps);
  Placer placer(state_, copy, Mode::kStart, steps);
  const bool found = placer.run();
  state_.abandon();
  const auto& sets = state_.workloads[0].sets;
  const bool any_long =
      std::any_of(sets.begin(), sets.end(), [&](const auto& s) { return state_.specs[s.spec].is_long; });
  state_.workloads.clear();  // slots that wait charge nothing
  any_long ? state_.sweep_now() : state_.sweep();
  return found;
}

}  // namespace berth::engine
