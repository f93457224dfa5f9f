#include "engine/place/scope.h"

#include <algorithm>
#include <iterator>

namespace berth::engine {

Scope::Scope(State& of, WorkloadId workload, Mode in_mode, const Assignment* assignment, Ask ask)
    : state(of),
      w(of.workloads[workload.index()]),
      structure(of.structures[w.structure]),
      mode(in_mode),
      extents(extents_of(w, ask)) {
  if (assignment != nullptr) only = *assignment;
}

void Scope::order(const Orders& these) {
  orders = these;
  for (std::size_t s = 0; s < extents.size() && !these.counts.empty(); ++s) {
    extents[s] = {these.counts[s], these.counts[s]};
  }
}

std::vector<ChargeId> choices_of(State& state, const WorkloadState& w, std::size_t set) {
  std::vector<ChargeId> all = state.choices(w.sets[set]);
  const std::string& group = w.sets[set].marks->flavor_group;
  if (group.empty()) return all;
  std::erase_if(all, [&](ChargeId charge) {
    return std::any_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& other) {
      if (other.marks->flavor_group != group) return false;
      const auto there = std::find_if(other.slots.begin(), other.slots.end(), [](const Slot& slot) {
        return slot.charge.valid() && slot.state != SlotState::kReleasing;
      });
      return there != other.slots.end() && !same_flavors(state, charge, there->charge);
    });
  });
  return all;
}

bool same_flavors(const State& state, ChargeId a, ChargeId b) {
  const auto& left = state.charges[a].flavors;
  const auto& right = state.charges[b].flavors;
  return std::all_of(left.begin(), left.end(), [&](const ChosenFlavor& l) {
    return std::none_of(right.begin(), right.end(), [&](const ChosenFlavor& r) {
      return l.resource == r.resource && l.flavor != r.flavor;
    });
  });
}

std::vector<ChargeId> Scope::choices(std::uint32_t set) const {
  if (!orders.charges.empty()) {
    return orders.charges[set].valid() ? std::vector<ChargeId>{orders.charges[set]} : std::vector<ChargeId>{};
  }
  std::vector<ChargeId> all;
  if (only.empty()) {
    all = choices_of(state, w, set);
  } else if (only[set].valid()) {
    all = {only[set]};
  }
  if (put_off) std::erase_if(all, [&](ChargeId charge) { return !state.charges[charge].awaited; });
  // Sets of one flavor group go where those before them went in this search, too.
  if (const std::string& group = w.sets[set].marks->flavor_group; !group.empty()) {
    std::erase_if(all, [&](ChargeId charge) {
      return std::any_of(placed.begin(), placed.end(), [&](const PlacedSlot& p) {
        return w.sets[p.set].marks->flavor_group == group && !same_flavors(state, charge, p.charge);
      });
    });
  }
  return all;
}

std::int64_t Scope::room(const ShapeIndex& index) const {
  return domains.empty() ? index.total() : index.total_in(domains.back());
}

bool Scope::has_room(const ShapeIndex& index, std::int64_t slots) const {
  return domains.empty() ? index.has_total(slots) : index.has_total_in(domains.back(), slots);
}

// In all domains that have been chosen.
bool Scope::inside(NodeId node) const {
  const NodeTable& nodes = state.nodes;
  return std::all_of(domains.begin(), domains.end(), [&](const DomainId domain) {
    return nodes.domains().of(node, nodes.domains()[domain].level) == domain;
  });
}

std::vector<NodeId> Scope::nodes_inside(DomainId domain) const {
  std::vector<NodeId> out = state.nodes.domains()[domain].nodes;
  if (domains.size() == 1 && domains.back() == domain) return out;
  if (!domains.empty()) std::erase_if(out, [&](const NodeId node) { return !inside(node); });
  return out;
}

// The part of a domain that lies in all chosen domains.
std::int64_t Scope::room_within(const ShapeIndex& index, DomainId domain) const {
  const NodeTable& nodes = state.nodes;
  const auto& level = nodes.domains().levels()[nodes.domains()[domain].level];
  const auto& here = nodes.domains()[domain].nodes;
  if (here.empty()) return 0;
  // A level below those of the chosen ones: in them with all its nodes, or with none.
  const bool below = std::all_of(domains.begin(), domains.end(), [&](const DomainId outer) {
    const auto& other = nodes.domains().levels()[nodes.domains()[outer].level];
    return other.topology == level.topology && other.depth <= level.depth;
  });
  if (below) return inside(here.front()) ? index.total_in(domain) : 0;
  std::vector<NodeId> both;
  std::copy_if(here.begin(), here.end(), std::back_inserter(both), [&](NodeId node) { return inside(node); });
  return index.total_of(both);
}

bool Scope::in_segments(std::uint32_t set) const {
  const TopologyRequest& topology = structure.groups[structure.group_of[set]].topology;
  return topology.segment > 1 && !topology.segment_level.empty() && !put_off;
}

void Scope::put(std::uint32_t set, ChargeId charge, NodeId node, std::size_t& next_slot) {
  const auto& slots = w.sets[set].slots;
  while (slots[next_slot].state != SlotState::kWaiting) ++next_slot;
  const GrantId grant = state.choose_grant(node, charge, mode);
  state.accounts.try_charge(charged(w, charge, node, grant), planes_of(mode), +1);
  placed.push_back({set, static_cast<std::uint32_t>(next_slot++), node, charge, grant});
}

}  // namespace berth::engine
