// The request of one search for places, and how far the search is: the slots that have a place by then, and the domains that
// restrict the rest. The search (placer.h) changes it; questions about domains (nearness.h) read it.
//
// Room is that of all domains in force. Cost: O(1) for a level below them, else O(nodes of the domain).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/state/bands.h"
#include "engine/state/state.h"

namespace berth::engine {

struct PlacedSlot {
  std::uint32_t set = 0;
  std::uint32_t slot = 0;
  NodeId node;
  ChargeId charge;
  GrantId grant = Grants::nothing();
};

// What the workload takes there.
inline Charged charged(const WorkloadState& w, const PlacedSlot& p) {
  return charged(w, p.charge, p.node, p.grant);
}

// Whether every resource that both charge is charged to one flavor.
bool same_flavors(const State& state, ChargeId a, ChargeId b);
// The charges that further slots of a pod set may get (State::choices). Sets of one flavor group follow those that have a place.
std::vector<ChargeId> choices_of(State& state, const WorkloadState& w, std::size_t set);
// One of these for each pod set; not valid: it gets none (preempt/with_places/assignments.h).
using Assignment = std::vector<ChargeId>;

struct Scope {
  // Exactly this charge for exactly so many slots, by pod set (0: none).
  struct Orders {
    std::span<const ChargeId> charges;
    std::span<const std::int64_t> counts;
  };

  Scope(State& of, WorkloadId workload, Mode in_mode, const Assignment* assignment, Ask ask);
  void order(const Orders& these);

  // The charges that a pod set may get at this point.
  std::vector<ChargeId> choices(std::uint32_t set) const;
  std::int64_t must(std::uint32_t set) const { return extents[set].need; }
  bool in_segments(std::uint32_t set) const;
  // The next waiting slot of the pod set, from `next_slot` on, gets a place there and is charged. `next_slot` becomes the one after it.
  void put(std::uint32_t set, ChargeId charge, NodeId node, std::size_t& next_slot);

  // In all domains in force.
  bool inside(NodeId node) const;
  std::int64_t room(const ShapeIndex& index) const;
  bool has_room(const ShapeIndex& index, std::int64_t slots) const;  // whether that is so many
  // The part of a domain that lies in them.
  std::int64_t room_within(const ShapeIndex& index, DomainId domain) const;
  std::vector<NodeId> nodes_inside(DomainId domain) const;

  State& state;
  const WorkloadState& w;
  const Structure& structure;
  Mode mode;
  Orders orders;                   // empty: none
  std::vector<Extent> extents;     // by pod set
  Assignment only;                 // empty: all charges
  std::vector<PlacedSlot> placed;  // in the order in which they were placed
  std::vector<DomainId> domains;   // restrictions in force, outermost first
  bool preferences = true;         // preferred domains count
  bool put_off = false;            // where the nodes are awaited, so that no domain can be chosen yet
};

}  // namespace berth::engine
