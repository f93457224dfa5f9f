// Placer: in which domains a group lies.
#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/nodes/fewest.h"
#include "engine/place/placer.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kFirstSlice = 256;  // steps, besides four for each slot
constexpr std::int64_t kSliceGrowth = 8;
constexpr std::int64_t kMostExtra = 16;

// The tree below `top`, domains of one level, down to the level `last`.
template <class Room, class Used>
FewestDomains tree_of(const NodeTable& nodes, std::vector<DomainId> top, std::uint32_t levels,
                      const Room& room, const Used& used) {
  std::vector<std::vector<FewestDomains::Item>> out(levels);
  for (std::uint32_t l = 0; l < levels; ++l) {
    std::vector<DomainId> below;
    for (const DomainId domain : top) {
      FewestDomains::Item item{domain.value, room(domain), used(domain), 0, 0};
      item.begin = item.end = static_cast<std::uint32_t>(below.size());
      if (item.room > 0 && l + 1 < levels) {
        const auto& children = nodes.domain(domain).children;
        below.insert(below.end(), children.begin(), children.end());
        item.end = static_cast<std::uint32_t>(below.size());
      }
      out[l].push_back(item);
    }
    top = std::move(below);
  }
  return FewestDomains(std::move(out));
}

}  // namespace

struct Placer::Site {
  DomainId domain;
  bool short_of_want = false;
  std::int64_t room = 0;
};

bool Placer::enter(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  if (put_off_) return walk(step + 1);
  if (group.topology.required.empty()) {
    return number == 0 || !group.topology.preferred.empty() ? together(step) : walk(step + 1);
  }
  if (const auto level = state_.nodes.level_of(group.topology.required)) return in_domain(step, *level);
  std::int64_t need = 0;
  for (const std::uint32_t set : group.leaves) need += must(set);
  note({ReasonCode::kTopology, group.topology.required, state_.nodes.why_no_level(), need, 0, 0, {}});
  failure_.by_nodes = true;
  return false;
}

bool Placer::has_members(const StructureGroup& group) const {
  return std::any_of(group.leaves.begin(), group.leaves.end(),
                     [&](std::uint32_t set) { return w_.sets[set].active + w_.sets[set].held > 0; });
}

// No part of it asks for domains of its own, or for segments.
bool Placer::is_plain(const StructureGroup& group) const {
  if (!group.topology.segment_level.empty()) return false;
  return std::all_of(group.leaves.begin(), group.leaves.end(), [&](std::uint32_t set) {
    for (std::uint32_t g = structure_.group_of[set]; &structure_.groups[g] != &group;
         g = structure_.groups[g].parent) {
      if (!structure_.groups[g].topology.empty()) return false;
    }
    return true;
  });
}

// The innermost group around it that asks for a domain; the root where none does.
std::uint32_t Placer::asking_group(std::uint32_t group) const {
  while (group != 0 && structure_.groups[group].topology.empty()) group = structure_.groups[group].parent;
  return group;
}

// The domains of all levels in which slots of the group are, in this search or from before.
std::vector<char> Placer::used_domains(const StructureGroup& group, bool& any) const {
  any = !placed_.empty() || has_members(group);
  if (!any) return {};
  const NodeTable& nodes = state_.nodes;
  std::vector<char> used(nodes.domain_count(), 0);
  const auto mark = [&](NodeId node) {
    for (const DomainId domain : nodes.record(node).domains) {
      if (domain.valid()) used[domain.index()] = 1;
    }
  };
  for (const std::uint32_t set : group.leaves) {
    for (const Slot& slot : w_.sets[set].slots) {
      if (slot.node.valid() && slot.state != SlotState::kReleasing) mark(slot.node);
    }
  }
  for (const PlacedSlot& p : placed_) {
    if (std::find(group.leaves.begin(), group.leaves.end(), p.set) != group.leaves.end()) mark(p.node);
  }
  return used;
}

// The widest level of the topology that its flavor names; else of the one with the most room for it, of equals the first.
std::optional<std::uint32_t> Placer::topology_for(const Charge& charge) const {
  const auto& levels = state_.nodes.levels();
  const ShapeIndex& index = state_.index(charge.shape, mode_);
  std::optional<std::uint32_t> best;
  std::int64_t most = 0;
  for (std::uint32_t l = 0; l < levels.size(); ++l) {
    if (levels[l].depth != 0) continue;
    for (const std::string& name : state_.shapes[charge.shape].shape.flavors) {
      const auto flavor = state_.flavors.find(name);
      if (flavor != state_.flavors.end() && flavor->second.topology == levels[l].topology) return l;
    }
    std::int64_t sum = 0;
    for (const DomainId domain : levels[l].domains) sum += index.total_in(domain);
    if (sum > most) best = l;
    most = std::max(most, sum);
  }
  return best;
}

// The levels of which a part of this group should have few domains, below the domain that is chosen; none where the policy
// alone decides.
std::optional<Placer::Levels> Placer::near_levels(std::uint32_t number, const Charge& charge) const {
  const auto& levels = state_.nodes.levels();
  if (!preferences_ || put_off_ || charge.awaited || levels.empty()) return std::nullopt;
  const TopologyRequest& asked = structure_.groups[asking_group(number)].topology;
  std::optional<std::uint32_t> preferred;
  if (!asked.preferred.empty() && asked.required.empty()) preferred = state_.nodes.level_of(asked.preferred);
  std::optional<std::uint32_t> outer;
  if (!domains_.empty()) outer = state_.nodes.domain(domains_.back()).level;
  std::optional<std::uint32_t> at = preferred ? preferred : outer;
  if (!at) {
    std::int64_t least = 0;
    for (const PodSetState& set : w_.sets) least += set.least;
    if (asked.empty() && (least < 2 || w_.kind == WorkloadKind::kService)) return std::nullopt;
    at = asked.segment_level.empty() ? topology_for(charge) : state_.nodes.level_of(asked.segment_level);
  }
  if (!at) return std::nullopt;
  std::uint32_t first = *at - levels[*at].depth;
  std::uint32_t end = first + 1;
  while (end < levels.size() && levels[end].depth > 0) ++end;
  const std::uint32_t begin = first;
  while (end > begin && levels[end - 1].wide == 0) --end;  // hosts
  if (preferred) end = std::max(end, *preferred + 1);
  if (outer && levels[*outer].topology == levels[*at].topology) first = *outer + 1;
  if (first >= end) return std::nullopt;
  return Levels{first, end - 1};
}

// None where nothing of it can be placed.
std::optional<Placer::Levels> Placer::near_levels(std::uint32_t number, const Demand& demand) const {
  return demand.charge.valid() ? near_levels(number, state_.charges[demand.charge]) : std::nullopt;
}

// How many pod sets of it ask for slots.
std::int64_t Placer::asking_sets(const StructureGroup& group) const {
  return std::count_if(group.leaves.begin(), group.leaves.end(),
                       [&](std::uint32_t set) { return extents_[set].want > 0; });
}

// The whole group counted in slots of its largest pod set: the largest by the devices that it asks for, else by CPU.
Placer::Demand Placer::demand_of(const StructureGroup& group) {
  struct Part {
    ChargeId charge;
    std::int64_t slots = 0;
  };
  std::vector<Part> parts;
  for (const std::uint32_t set : group.leaves) {
    if (extents_[set].want == 0) continue;
    Part part;
    for (const ChargeId charge : choices(set)) {
      const Charge& c = state_.charges[charge];
      if (c.awaited || !state_.fits(w_, c.quota, must(set), mode_)) continue;
      if (room(state_.index(c.shape, mode_)) < std::max<std::int64_t>(1, must(set))) continue;
      const bool all = state_.fits(w_, c.quota, extents_[set].want, mode_);
      part = {charge, all ? extents_[set].want : must(set)};
      break;
    }
    if (part.charge.valid()) parts.push_back(part);
  }
  const auto amount = [&](const Part& part, ResourceId resource) {
    for (const ShapeAmount& a : state_.shape_of(part.charge).amounts) {
      if (a.resource == resource) return a.amount;
    }
    return std::int64_t{0};
  };
  const auto devices = [&](const Part& part) {
    std::int64_t sum = 0;
    for (const ShapeDevices& d : state_.shape_of(part.charge).devices)
      sum = saturating_add(sum, saturating_mul(d.count, d.milli));
    return saturating_mul(sum, part.slots);
  };
  const auto size = [&](const Part& part) {
    return std::make_pair(devices(part), saturating_mul(amount(part, NodeTable::cpu()), part.slots));
  };
  if (parts.empty()) return {};
  const Part largest = *std::max_element(parts.begin(), parts.end(),
                                         [&](const Part& a, const Part& b) { return size(a) < size(b); });
  const auto& asked = state_.shape_of(largest.charge).devices;
  const ResourceId resource = asked.empty() ? NodeTable::cpu() : asked.front().resource;
  const std::int64_t each = std::max<std::int64_t>(1, amount(largest, resource));
  Demand demand{largest.charge, 0};
  for (const Part& part : parts) {
    const std::int64_t all = saturating_mul(amount(part, resource), part.slots);
    demand.slots = saturating_add(demand.slots, all / each + (all % each > 0 ? 1 : 0));
  }
  demand.slots = std::max(demand.slots, largest.slots);
  return demand;
}

// A necessary condition for several pod sets together: the nodes on which any of them fits have enough of every resource.
bool Placer::may_hold(const StructureGroup& group, DomainId domain) {
  if (group.least < group.children || group.leaves.size() < 2) return true;
  std::vector<const ShapeIndex*> indices;
  std::vector<std::pair<ResourceId, std::int64_t>> need;
  for (const std::uint32_t set : group.leaves) {
    if (must(set) == 0) continue;
    const std::vector<ChargeId> options = choices(set);
    std::vector<std::pair<ResourceId, std::int64_t>> least;
    for (std::size_t i = 0; i < options.size(); ++i) {
      const Charge& c = state_.charges[options[i]];
      if (c.awaited) return true;
      const Shape& shape = state_.shapes[c.shape].shape;
      if (shape.opaque) return true;
      indices.push_back(&state_.index(c.shape, mode_));
      if (i > 0) continue;  // the flavors of one pod set differ in constraints, not in what is asked for
      for (const ShapeAmount& a : shape.amounts)
        least.emplace_back(a.resource, saturating_mul(a.amount, must(set)));
    }
    for (const auto& [resource, amount] : least) {
      const auto it =
          std::find_if(need.begin(), need.end(), [&](const auto& n) { return n.first == resource; });
      if (it == need.end()) {
        need.emplace_back(resource, amount);
      } else {
        it->second = saturating_add(it->second, amount);
      }
    }
  }
  for (const NodeId node : nodes_inside(domain)) {
    if (std::none_of(indices.begin(), indices.end(), [&](const ShapeIndex* i) { return i->fit(node) > 0; }))
      continue;
    for (auto& [resource, amount] : need)
      amount -= std::max<std::int64_t>(0, state_.nodes.account(node, resource).free(mode_));
    if (std::all_of(need.begin(), need.end(), [](const auto& n) { return n.second <= 0; })) return true;
  }
  return std::all_of(need.begin(), need.end(), [](const auto& n) { return n.second <= 0; });
}

// In the order in which they are tried: those with room for all that is wanted, then those that take the fewest domains below
// and the fewest new ones around, then the tightest.
std::vector<DomainId> Placer::ranked(const StructureGroup& group, std::uint32_t level,
                                     std::vector<Site> sites) {
  const NodeTable& nodes = state_.nodes;
  struct Ranked {
    Site site;
    std::vector<std::int64_t> fresh;
  };
  bool any = false;
  const std::vector<char> used = used_domains(structure_.groups[0], any);
  const auto is_used = [&](DomainId domain) { return any && used[domain.index()] != 0; };
  std::vector<Ranked> all;
  for (const Site& site : sites) {
    std::int64_t around = 0;
    for (DomainId at = site.domain; any && at.valid(); at = nodes.domain(at).parent)
      around += is_used(at) ? 0 : 1;
    all.push_back({site, {around}});
  }
  const auto number = static_cast<std::uint32_t>(&group - structure_.groups.data());
  const Demand demand = sites.size() < 2 ? Demand{} : demand_of(group);
  const auto levels = near_levels(number, demand);
  if (levels && levels->last > level &&
      nodes.levels()[levels->last].topology == nodes.levels()[level].topology) {
    const ShapeIndex& index = state_.index(state_.charges[demand.charge].shape, mode_);
    std::vector<DomainId> top;
    for (const Site& site : sites) top.push_back(site.domain);
    const FewestDomains tree = tree_of(
        nodes, top, levels->last - level + 1, [&](DomainId d) { return room_within(index, d); }, is_used);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const std::int64_t room = tree.levels().front()[i].room;
      const auto choice = tree.choose_in(i, std::min(demand.slots, room));
      all[i].fresh.insert(all[i].fresh.end(), choice.fresh.begin(), choice.fresh.end());
    }
  }
  std::sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.site.short_of_want, a.fresh, a.site.room, a.site.domain) <
           std::tie(b.site.short_of_want, b.fresh, b.site.room, b.site.domain);
  });
  std::vector<DomainId> out;
  for (const Ranked& r : all) out.push_back(r.site.domain);
  return out;
}

// In the order of the domains, each with a slice of the steps; those whose slice has ended once more with a larger one.
bool Placer::try_each(std::size_t step, std::vector<DomainId> domains, bool required) {
  const std::uint32_t group = walk_[step].index;
  std::int64_t slice = kFirstSlice;
  for (const std::uint32_t set : structure_.groups[0].leaves)
    slice = saturating_add(slice, saturating_mul(4, extents_[set].want));
  while (!domains.empty()) {
    std::vector<DomainId> again;
    for (const DomainId domain : domains) {
      const std::int64_t floor = floor_;
      if (!required || domains.size() > 1) floor_ = std::max(floor, steps_.left() - slice);
      chosen_[group] = domain;
      domains_.push_back(domain);
      if (required ? together(step) : in_fewest(step)) return true;
      domains_.pop_back();
      chosen_[group] = DomainId();
      floor_ = floor;
      if (failure_.steps_ended || !slice_ended_) {
        if (failure_.steps_ended) return false;
        continue;
      }
      if (steps_.left() < floor_) return false;  // the slice around it
      slice_ended_ = false;
      again.push_back(domain);
    }
    if (!required) return false;
    domains = std::move(again);
    slice = saturating_mul(slice, kSliceGrowth);
  }
  return false;
}

// Where every pod set lies in one domain of the level, if that finds places.
bool Placer::one_domain(std::size_t step, std::uint32_t level) {
  const StructureGroup& group = structure_.groups[walk_[step].index];
  std::vector<Site> sites;
  for (const DomainId domain : state_.nodes.levels()[level].domains) {
    Site site{domain, false, 0};
    bool enough = true;
    for (const std::uint32_t set : group.leaves) {
      std::int64_t most = 0;
      for (const ChargeId charge : choices(set))
        most = std::max(most, room_within(state_.index(state_.charges[charge].shape, mode_), domain));
      enough = enough && most >= must(set);
      site.room += most;
      site.short_of_want = site.short_of_want || most < extents_[set].want;
    }
    if (enough && site.room > 0 && may_hold(group, domain)) sites.push_back(site);
  }
  return try_each(step, ranked(group, level, std::move(sites)), false);
}

// A group of several pod sets: in one domain, of the deepest level at which one has room; else in the fewest.
bool Placer::together(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  if (!preferences_ || state_.nodes.levels().empty()) return walk(step + 1);
  const bool finds_its_own = asking_sets(group) < 2 && is_plain(group);
  const bool may_lack_parts = group.least < group.children && group.topology.preferred.empty();
  if (finds_its_own || has_members(group) || may_lack_parts) return walk(step + 1);
  const Demand demand = demand_of(group);
  const auto levels = near_levels(number, demand);
  if (!levels) return walk(step + 1);
  const Failure before = failure_;
  const std::int64_t floor = floor_;
  floor_ =
      std::max(floor, steps_.left() / 2);  // the other half is for the search that this must not cut short
  for (std::uint32_t level = levels->last + 1; level-- > levels->first && !ended();) {
    if (one_domain(step, level)) return true;
  }
  floor_ = floor;
  if (failure_.steps_ended || steps_.left() < floor_) return false;
  slice_ended_ = false;
  failure_ = before;
  return in_fewest(step);
}

// The pod sets of the group fill a list of domains, the fewest for all together; longer lists where those find no places; at last
// without a list.
bool Placer::in_fewest(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  // Within a list parts would be left out that have room outside of it.
  if (asking_sets(group) < 2 || !is_plain(group) || !plan_.empty() || group.least < group.children)
    return walk(step + 1);
  const Demand demand = demand_of(group);
  const auto levels = near_levels(number, demand);
  if (!levels) return walk(step + 1);
  const Failure before = failure_;
  std::vector<DomainId> last;
  for (std::int64_t extra = 0; extra <= kMostExtra; extra = extra == 0 ? 1 : extra * 2) {
    std::vector<DomainId> plan = fewest(demand.charge, saturating_add(demand.slots, extra), *levels, {});
    if (plan.empty()) break;
    if (plan == last) continue;
    last = plan;
    plan_ = std::move(plan);
    plan_of_ = number;
    if (walk(step + 1)) return true;
    plan_.clear();
    if (ended()) return false;
    failure_ = before;
  }
  return walk(step + 1);
}

// The fewest domains for so many slots, in the order in which they are filled; empty where they do not suffice.
std::vector<DomainId> Placer::fewest(ChargeId charge, std::int64_t count, Levels levels,
                                     const std::vector<char>& used) {
  const NodeTable& nodes = state_.nodes;
  const ShapeIndex& index = state_.index(state_.charges[charge].shape, mode_);
  std::vector<DomainId> top = nodes.levels()[levels.first].domains;
  if (!domains_.empty() && nodes.domain(domains_.back()).level + 1 == levels.first &&
      nodes.levels()[levels.first].depth > 0)
    top = nodes.domain(domains_.back()).children;
  const FewestDomains tree = tree_of(
      nodes, std::move(top), levels.last - levels.first + 1,
      [&](DomainId d) { return room_within(index, d); },
      [&](DomainId d) { return !used.empty() && used[d.index()] != 0; });
  const FewestDomains::Choice choice = tree.choose(count);
  std::vector<DomainId> out;
  if (choice.slack.empty() || choice.slack.front() < 0) return out;
  // Nodes without a label of a level come last, within the domain that they are in.
  for (std::size_t l = choice.levels.size(); l-- > 0;) {
    for (const std::uint32_t i : choice.levels[l]) out.emplace_back(tree.levels()[l][i].id);
    if (choice.slack[l] >= 0) break;
  }
  return out;
}

// The domains that a pod set fills, in this order, before it takes whatever has room.
std::vector<DomainId> Placer::order_of(std::uint32_t set, ChargeId charge, std::int64_t count) {
  if (!plan_.empty()) return plan_;
  if (!preferences_ || state_.nodes.levels().empty()) return {};
  const Charge& c = state_.charges[charge];
  const std::uint32_t number = structure_.group_of[set];
  const auto levels = near_levels(number, c);
  if (!levels) return {};
  const StructureGroup& asking = structure_.groups[asking_group(number)];
  bool any = false;
  const std::vector<char> used = used_domains(asking, any);
  if (count == 1 && !any && asking.topology.preferred.empty())
    return {};  // the policy chooses for a single pod
  return fewest(charge, std::min(count, room(state_.index(c.shape, mode_))), *levels, used);
}

bool Placer::in_domain(std::size_t step, std::uint32_t level) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  const NodeTable& nodes = state_.nodes;

  // Slots that have a place already decide the domain: none will do where one of them is on a node that is gone, or is in none.
  DomainId fixed;
  bool adrift = false;
  std::int64_t need = 0;
  std::int64_t want = 0;
  for (const std::uint32_t set : group.leaves) {
    need += must(set);
    want += w_.sets[set].waiting;
    for (const Slot& slot : w_.sets[set].slots) {
      if (!slot.node.valid() || slot.state == SlotState::kReleasing) continue;
      if (state_.charges[slot.charge].awaited && nodes.is_opaque(slot.node)) continue;
      const DomainId its = nodes.domain_of(slot.node, level);
      adrift = adrift || !its.valid();
      if (!fixed.valid()) fixed = its;
    }
  }
  if (group.least == group.children) {
    // No domain helps a pod set that has no way to be charged at all.
    for (const std::uint32_t set : group.leaves) {
      const Spec& spec = state_.spec(w_.sets[set].spec);
      if (must(set) == 0 || !spec.choices.empty()) continue;
      note(spec.problem);
      return false;
    }
  }

  // The room of the best domain, in flavors that still have quota; in any flavor, if a pod set has quota in none.
  struct Option {
    const ShapeIndex* index;
    bool has_quota;
  };
  std::vector<std::vector<Option>> options;
  bool by_quota = false;
  for (const std::uint32_t set : group.leaves) {
    std::vector<Option> of_set;
    for (const ChargeId charge : choices(set)) {
      const Charge& c = state_.charges[charge];
      of_set.push_back({&state_.index(c.shape, mode_), state_.fits(w_, c.quota, must(set), mode_)});
    }
    by_quota =
        by_quota || (must(set) > 0 && !of_set.empty() &&
                     std::none_of(of_set.begin(), of_set.end(), [](const Option& o) { return o.has_quota; }));
    options.push_back(std::move(of_set));
  }
  std::int64_t best = 0;
  std::vector<Site> sites;
  for (const DomainId domain : nodes.levels()[level].domains) {
    if (adrift || (fixed.valid() && domain != fixed)) continue;
    if (nodes.domain(domain).nodes.empty()) continue;
    bool enough = true;
    std::int64_t room_here = 0;
    std::int64_t room_needed = 0;
    for (std::size_t s = 0; s < group.leaves.size(); ++s) {
      const std::uint32_t set = group.leaves[s];
      std::int64_t most_fit = 0;
      std::int64_t most_with_quota = 0;
      for (const Option& option : options[s]) {
        const std::int64_t fit = room_within(*option.index, domain);
        most_fit = std::max(most_fit, fit);
        if (option.has_quota) most_with_quota = std::max(most_with_quota, fit);
      }
      if (most_fit < must(set) && group.least == group.children) enough = false;
      room_here += most_fit;
      room_needed += std::min(by_quota ? most_fit : most_with_quota, must(set));
    }
    best = std::max(best, room_needed);
    if (enough && may_hold(group, domain)) sites.push_back({domain, room_here < want, room_here});
  }
  std::vector<DomainId> candidates = ranked(group, level, std::move(sites));
  const bool none = candidates.empty();
  // Quota is the same in every domain.
  if (by_quota && group.least == group.children && is_plain(group) && candidates.size() > 1)
    candidates.resize(1);
  const bool lacked_nodes = std::exchange(failure_.by_nodes, false);
  if (try_each(step, std::move(candidates), true)) return true;
  if (ended()) {
    failure_.by_nodes = failure_.by_nodes || lacked_nodes;
    return false;
  }
  // Where the pod sets fit one by one and not together, at least one slot too few has room. Where only quota was short, no
  // domain is to blame; where some children may be left out, both can be.
  const bool optional = group.least < group.children;
  // Work that fails on nodes in every domain may keep the search from those that have no quota: then nothing is told yet.
  if (none || (failure_.by_nodes && (optional || !by_quota)) || failure_.reasons.empty()) {
    const std::int64_t have = need > 0 ? std::min(best, need - 1) : 0;
    note({ReasonCode::kTopology, group.topology.required, "", need, have, 0, {}});
  } else {
    roomy_[number] = 1;
  }
  failure_.by_nodes = true;
  return false;
}

}  // namespace berth::engine
