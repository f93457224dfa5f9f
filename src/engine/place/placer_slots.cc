// Placer: the slots of one pod set, with one charge.
#include <algorithm>
#include <iterator>

#include "engine/place/placer.h"
#include "engine/state/trial.h"

namespace berth::engine {
namespace {

// Slots that lie in one domain: those of a pod set, and those of others that must be near to them.
struct Gathered {
  ChargeId charge;
  std::int64_t slots = 0;
};

std::vector<Gathered> gathered_with(const Scope& scope, std::uint32_t set, ChargeId charge,
                                    std::int64_t count) {
  const Counted& terms = scope.state.accounts.counted();
  const CountedId counted = scope.state.shape_of(charge).counted;
  std::vector<Gathered> out{{charge, count}};
  for (std::uint32_t other = 0; other < scope.w.sets.size(); ++other) {
    const std::vector<ChargeId> choices =
        other == set || scope.must(other) == 0 ? std::vector<ChargeId>() : scope.choices(other);
    if (choices.empty()) continue;
    const CountedId its = scope.state.shape_of(choices.front()).counted;
    if (its.valid() && terms.counts(its, TermKind::kNear, counted))
      out.push_back({choices.front(), scope.must(other)});
  }
  return out;
}

// The room for a gathering in one domain.
struct GatheringRoom {
  std::int64_t first = 0;  // for its first pod set
  int fits = 0;            // 2: all slots together; 1: each pod set by itself; 0: not so many

  // The tightest with room for all, else the one with the most room.
  bool is_better_than(const GatheringRoom& other) const {
    if (fits != other.fits) return fits > other.fits;
    return fits == 0 ? first > other.first : first < other.first;
  }
};

GatheringRoom room_for(State& state, Mode mode, const std::vector<Gathered>& all,
                       const std::vector<NodeId>& nodes) {
  std::int64_t slots = 0;
  std::int64_t least = kInt64Max;
  GatheringRoom out;
  bool each = true;
  for (const Gathered& one : all) {
    const std::int64_t here = state.index(state.charges[one.charge].shape, mode).total_of(nodes);
    if (slots == 0) out.first = here;
    slots += one.slots;
    least = std::min(least, here);
    each = each && here >= one.slots;
  }
  out.fits = least >= slots ? 2 : each ? 1 : 0;
  return out;
}

// The domain in which slots gather that must be near each other, where there are none yet. Empty: they choose none.
std::vector<NodeId> gathering(const Scope& scope, std::uint32_t set, ChargeId charge, std::int64_t count) {
  std::vector<NodeId> best;
  const CountedId counted = scope.state.shape_of(charge).counted;
  if (!counted.valid()) return best;
  const auto domains = scope.state.accounts.counted().to_choose_from(counted, scope.mode);
  if (domains.empty()) return best;
  const std::vector<Gathered> all = gathered_with(scope, set, charge, count);
  GatheringRoom room;
  for (std::vector<NodeId> nodes : domains) {
    std::erase_if(nodes, [&](const NodeId node) { return !scope.inside(node); });
    const GatheringRoom here = room_for(scope.state, scope.mode, all, nodes);
    if (!here.is_better_than(room)) continue;
    best = std::move(nodes);
    room = here;
  }
  return best;
}

}  // namespace

// As many as the quota allows, `want` at most. 0: fewer than `least`, or than one; the failure says of what.
std::int64_t Placer::within_quota(std::uint32_t set, const Charge& c, std::int64_t least, std::int64_t want) {
  if (state_.fits(w_, c.quota, want, mode_)) return want;
  const std::int64_t floor = std::max<std::int64_t>(least, 1);
  if (state_.fits(w_, c.quota, floor, mode_)) {
    std::int64_t low = floor;
    std::int64_t high = want;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (state_.fits(w_, c.quota, middle, mode_)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
  failure_.by_quota = true;
  note_quota(set, c, floor);
  return 0;
}

std::int64_t Placer::place_slots(std::uint32_t set, ChargeId charge, std::int64_t least, std::int64_t want) {
  const Charge& c = state_.charges[charge];
  const std::int64_t count = within_quota(set, c, least, want);
  if (count == 0) return 0;
  const std::int64_t floor = std::max<std::int64_t>(least, 1);
  // A lack of room within a domain is reported by the choice of the domain, or by the try without one.
  const auto no_room = [&](std::int64_t have) {
    failure_.by_nodes = true;
    if (!scope_.domains.empty()) return 0;
    note({ReasonCode::kNodes, "", set_mark(w_, set), floor, have, 0, {}});
    lacks_room_ = true;
    return 0;
  };
  const ShapeIndex& index = state_.index(c.shape, mode_);
  if (!scope_.has_room(index, floor)) return no_room(scope_.room(index));
  if (scope_.in_segments(set)) return place_segments(set, charge, least, count);
  std::size_t next_slot = 0;
  const std::int64_t got = place_near(set, charge, count, next_slot);
  return got < floor ? no_room(got) : got;
}

// The domain for `part` more slots: of those with room, the one that adds the fewest domains; of these the tightest. `best`:
// the most room of any.
DomainId Placer::segment_domain(std::uint32_t set, ChargeId charge, std::uint32_t level, std::int64_t part,
                                std::int64_t& best) const {
  const NodeTable& nodes = state_.nodes;
  const ShapeIndex& index = state_.index(state_.charges[charge].shape, mode_);
  bool any = false;
  const std::vector<char> used = near_.used_domains(structure_.groups[structure_.group_of[set]], any);
  const auto fresh = [&](DomainId domain) {
    std::int64_t count = 0;
    for (; any && domain.valid() && used[domain.index()] == 0; domain = nodes.domains()[domain].parent)
      ++count;
    return count;
  };
  DomainId tightest;
  std::pair<std::int64_t, std::int64_t> least;
  best = 0;
  for (const DomainId domain : nodes.domains().levels()[level].domains) {
    const std::int64_t here = scope_.room_within(index, domain);
    best = std::max(best, here);
    if (here < part) continue;
    const std::pair<std::int64_t, std::int64_t> key{fresh(domain), here};
    if (tightest.valid() && key >= least) continue;
    tightest = domain;
    least = key;
  }
  return tightest;
}

std::int64_t Placer::place_segments(std::uint32_t set, ChargeId charge, std::int64_t least,
                                    std::int64_t count) {
  const TopologyRequest& topology = structure_.groups[structure_.group_of[set]].topology;
  const auto level = state_.nodes.domains().level_of(topology.segment_level);
  if (!level) {
    note({ReasonCode::kTopology,
          topology.segment_level,
          state_.nodes.domains().why_no_level(),
          topology.segment,
          0,
          0,
          {}});
    failure_.by_nodes = true;
    return 0;
  }
  const std::int64_t floor = std::max<std::int64_t>(least, 1);
  std::size_t next_slot = 0;
  std::int64_t got = 0;
  std::int64_t lacking = 0;  // of the segment that found no domain, and the most room of one
  std::int64_t best = 0;
  while (got < count) {
    const std::int64_t part = std::min(topology.segment, count - got);
    lacking = part;
    const DomainId domain = segment_domain(set, charge, *level, part, best);
    if (!domain.valid()) {
      // The last segment of a pod set that may have fewer slots may be smaller.
      if (best == 0 || got + best < floor) break;
      count = got + best;
      continue;
    }
    Trial trial(state_);
    const std::size_t had = scope_.placed.size();
    scope_.domains.push_back(domain);
    const bool ok = place_near(set, charge, part, next_slot) == part;
    scope_.domains.pop_back();
    if (!ok) {
      scope_.placed.resize(had);
      break;
    }
    trial.stay();
    got += part;
  }
  if (got >= floor) return got;
  note({ReasonCode::kTopology, topology.segment_level, "", lacking, std::min(best, lacking - 1), 0, {}});
  failure_.by_nodes = true;
  return 0;
}

// Domain by domain in the order of the plan, then wherever there is room. How many found a place.
std::int64_t Placer::place_near(std::uint32_t set, ChargeId charge, std::int64_t count,
                                std::size_t& next_slot) {
  if (std::vector<NodeId> nodes = gathering(scope_, set, charge, count); !nodes.empty())
    return place_among(set, charge, count, std::move(nodes), next_slot);
  std::int64_t got = 0;
  const CountedId counted = state_.shape_of(charge).counted;
  if (!plan_.empty() && counted.valid() && state_.accounts.counted().has_spread(counted)) {
    // Each domain gets more only when others have some.
    std::vector<NodeId> nodes;
    for (const DomainId domain : plan_) {
      const std::vector<NodeId> here = scope_.nodes_inside(domain);
      nodes.insert(nodes.end(), here.begin(), here.end());
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return place_among(set, charge, count, std::move(nodes), next_slot);
  }
  for (const DomainId domain : order_of(set, charge, count)) {
    if (got == count || ended()) return got;
    got += place_among(set, charge, count - got, scope_.nodes_inside(domain), next_slot);
  }
  if (got == count || ended() || !plan_.empty()) return got;
  if (scope_.domains.empty()) return got + place_anywhere(set, charge, count - got, next_slot);
  return got + place_among(set, charge, count - got, scope_.nodes_inside(scope_.domains.back()), next_slot);
}

std::int64_t Placer::place_anywhere(std::uint32_t set, ChargeId charge, std::int64_t count,
                                    std::size_t& next_slot) {
  const ShapeId shape = state_.charges[charge].shape;
  for (std::int64_t got = 0; got < count; ++got) {
    if (!spend()) return got;
    const NodeId node = state_.index(shape, mode_).best();
    if (!node.valid()) return got;
    scope_.put(set, charge, node, next_slot);
  }
  return count;
}

// A heap of the nodes, the best one on top: a slot changes the key of its own node only. With terms it may change those of all others.
std::int64_t Placer::place_among(std::uint32_t set, ChargeId charge, std::int64_t count,
                                 std::vector<NodeId> among, std::size_t& next_slot) {
  const ShapeId shape = state_.charges[charge].shape;
  ShapeIndex& index = state_.index(shape, mode_);
  const auto worse = [&](NodeId a, NodeId b) { return index.wins(state_.nodes, b, a); };
  const bool has_terms = state_.shapes[shape].shape.counted.valid();
  for (std::int64_t got = 0; has_terms; ++got) {
    if (got == count || !spend()) return got;
    const auto best = std::min_element(among.begin(), among.end(),
                                       [&](NodeId a, NodeId b) { return index.wins(state_.nodes, a, b); });
    if (best == among.end() || index.fit(*best) <= 0) return got;
    scope_.put(set, charge, *best, next_slot);
    state_.index(shape, mode_);
  }
  std::erase_if(among, [&](NodeId node) { return index.fit(node) <= 0; });
  std::make_heap(among.begin(), among.end(), worse);
  for (std::int64_t got = 0; got < count; ++got) {
    if (!spend() || among.empty()) return got;
    std::pop_heap(among.begin(), among.end(), worse);
    scope_.put(set, charge, among.back(), next_slot);
    state_.index(shape, mode_);
    if (index.fit(among.back()) > 0) {
      std::push_heap(among.begin(), among.end(), worse);
    } else {
      among.pop_back();
    }
  }
  return count;
}

}  // namespace berth::engine
