#include "engine/place/nearness.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/nodes/fewest.h"

namespace berth::engine {
namespace {

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
        const auto& children = nodes.domains()[domain].children;
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

bool Nearness::has_members(const StructureGroup& group) const {
  return std::any_of(group.leaves.begin(), group.leaves.end(), [&](std::uint32_t set) {
    return scope_.w.sets[set].active + scope_.w.sets[set].held > 0;
  });
}

// No part of it asks for domains of its own, or for segments.
bool Nearness::is_plain(const StructureGroup& group) const {
  if (!group.topology.segment_level.empty()) return false;
  return std::all_of(group.leaves.begin(), group.leaves.end(), [&](std::uint32_t set) {
    for (std::uint32_t g = scope_.structure.group_of[set]; &scope_.structure.groups[g] != &group;
         g = scope_.structure.groups[g].parent) {
      if (!scope_.structure.groups[g].topology.empty()) return false;
    }
    return true;
  });
}

// The innermost group around it that asks for a domain; the root where none does.
std::uint32_t Nearness::asking_group(std::uint32_t group) const {
  while (group != 0 && scope_.structure.groups[group].topology.empty())
    group = scope_.structure.groups[group].parent;
  return group;
}

// The domains of all levels in which slots of the group are, in this search or from before.
std::vector<char> Nearness::used_domains(const StructureGroup& group, bool& any) const {
  any = !scope_.placed.empty() || has_members(group);
  if (!any) return {};
  const NodeTable& nodes = scope_.state.nodes;
  std::vector<char> used(nodes.domains().size(), 0);
  const auto mark = [&](NodeId node) {
    for (const DomainId domain : nodes.domains().of(node)) {
      if (domain.valid()) used[domain.index()] = 1;
    }
  };
  for (const std::uint32_t set : group.leaves) {
    for (const Slot& slot : scope_.w.sets[set].slots) {
      if (slot.node.valid() && slot.state != SlotState::kReleasing) mark(slot.node);
    }
  }
  for (const PlacedSlot& p : scope_.placed) {
    if (std::find(group.leaves.begin(), group.leaves.end(), p.set) != group.leaves.end()) mark(p.node);
  }
  return used;
}

// The widest level of the topology that its flavor names; else of the one with the most room for it, of equals the first.
std::optional<std::uint32_t> Nearness::topology_for(const Charge& charge) const {
  const auto& levels = scope_.state.nodes.domains().levels();
  const ShapeIndex& index = scope_.state.index(charge.shape, scope_.mode);
  std::optional<std::uint32_t> best;
  std::int64_t most = 0;
  for (std::uint32_t l = 0; l < levels.size(); ++l) {
    if (levels[l].depth != 0) continue;
    for (const std::string& name : scope_.state.shapes[charge.shape].shape.flavors) {
      const auto flavor = scope_.state.flavors.find(name);
      if (flavor != scope_.state.flavors.end() && flavor->second.topology == levels[l].topology) return l;
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
std::optional<Nearness::Levels> Nearness::near_levels(std::uint32_t number, const Charge& charge) const {
  const auto& levels = scope_.state.nodes.domains().levels();
  if (!scope_.preferences || scope_.put_off || charge.awaited || levels.empty()) return std::nullopt;
  const TopologyRequest& asked = scope_.structure.groups[asking_group(number)].topology;
  std::optional<std::uint32_t> preferred;
  if (!asked.preferred.empty() && asked.required.empty())
    preferred = scope_.state.nodes.domains().level_of(asked.preferred);
  std::optional<std::uint32_t> outer;
  if (!scope_.domains.empty()) outer = scope_.state.nodes.domains()[scope_.domains.back()].level;
  std::optional<std::uint32_t> at = preferred ? preferred : outer;
  if (!at) {
    std::int64_t least = 0;
    for (const PodSetState& set : scope_.w.sets) least += set.least;
    if (asked.empty() && (least < 2 || scope_.w.kind == WorkloadKind::kService)) return std::nullopt;
    at = asked.segment_level.empty() ? topology_for(charge)
                                     : scope_.state.nodes.domains().level_of(asked.segment_level);
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
std::optional<Nearness::Levels> Nearness::near_levels(std::uint32_t number, const Demand& demand) const {
  return demand.charge.valid() ? near_levels(number, scope_.state.charges[demand.charge]) : std::nullopt;
}

// How many pod sets of it ask for slots.
std::int64_t Nearness::asking_sets(const StructureGroup& group) const {
  return std::count_if(group.leaves.begin(), group.leaves.end(),
                       [&](std::uint32_t set) { return scope_.extents[set].want > 0; });
}

// The whole group counted in slots of its largest pod set: the largest by the devices that it asks for, else by CPU.
Nearness::Demand Nearness::demand_of(const StructureGroup& group) const {
  struct Part {
    ChargeId charge;
    std::int64_t slots = 0;
  };
  std::vector<Part> parts;
  for (const std::uint32_t set : group.leaves) {
    if (scope_.extents[set].want == 0) continue;
    Part part;
    for (const ChargeId charge : scope_.choices(set)) {
      const Charge& c = scope_.state.charges[charge];
      if (c.awaited || !scope_.state.fits(scope_.w, c.quota, scope_.must(set), scope_.mode)) continue;
      const std::int64_t floor = std::max<std::int64_t>(1, scope_.must(set));
      if (!scope_.has_room(scope_.state.index(c.shape, scope_.mode), floor)) continue;
      const bool all = scope_.state.fits(scope_.w, c.quota, scope_.extents[set].want, scope_.mode);
      part = {charge, all ? scope_.extents[set].want : scope_.must(set)};
      break;
    }
    if (part.charge.valid()) parts.push_back(part);
  }
  const auto amount = [&](const Part& part, ResourceId resource) {
    for (const ShapeAmount& a : scope_.state.shape_of(part.charge).amounts) {
      if (a.resource == resource) return a.amount;
    }
    return std::int64_t{0};
  };
  const auto devices = [&](const Part& part) {
    std::int64_t sum = 0;
    for (const ShapeDevices& d : scope_.state.shape_of(part.charge).devices)
      sum = saturating_add(sum, saturating_mul(d.count, d.milli));
    return saturating_mul(sum, part.slots);
  };
  const auto size = [&](const Part& part) {
    return std::make_pair(devices(part), saturating_mul(amount(part, NodeTable::cpu()), part.slots));
  };
  if (parts.empty()) return {};
  const Part largest = *std::max_element(parts.begin(), parts.end(),
                                         [&](const Part& a, const Part& b) { return size(a) < size(b); });
  const auto& asked = scope_.state.shape_of(largest.charge).devices;
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
bool Nearness::may_hold(const StructureGroup& group, DomainId domain) const {
  if (group.least < group.children || group.leaves.size() < 2) return true;
  std::vector<const ShapeIndex*> indices;
  std::vector<std::pair<ResourceId, std::int64_t>> need;
  for (const std::uint32_t set : group.leaves) {
    if (scope_.must(set) == 0) continue;
    const std::vector<ChargeId> options = scope_.choices(set);
    std::vector<std::pair<ResourceId, std::int64_t>> least;
    for (std::size_t i = 0; i < options.size(); ++i) {
      const Charge& c = scope_.state.charges[options[i]];
      if (c.awaited) return true;
      const Shape& shape = scope_.state.shapes[c.shape].shape;
      if (shape.opaque) return true;
      indices.push_back(&scope_.state.index(c.shape, scope_.mode));
      if (i > 0) continue;  // the flavors of one pod set differ in constraints, not in what is asked for
      for (const ShapeAmount& a : shape.amounts)
        least.emplace_back(a.resource, saturating_mul(a.amount, scope_.must(set)));
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
  for (const NodeId node : scope_.nodes_inside(domain)) {
    if (std::none_of(indices.begin(), indices.end(), [&](const ShapeIndex* i) { return i->fit(node) > 0; }))
      continue;
    for (auto& [resource, amount] : need)
      amount -= std::max<std::int64_t>(0, scope_.state.nodes.account(node, resource).free(scope_.mode));
    if (std::all_of(need.begin(), need.end(), [](const auto& n) { return n.second <= 0; })) return true;
  }
  return std::all_of(need.begin(), need.end(), [](const auto& n) { return n.second <= 0; });
}

// In the order in which they are tried: those with room for all that is wanted, then those that take the fewest domains below
// and the fewest new ones around, then the tightest.
std::vector<DomainId> Nearness::ranked(const StructureGroup& group, std::uint32_t level,
                                       std::vector<Site> sites) const {
  const NodeTable& nodes = scope_.state.nodes;
  struct Ranked {
    Site site;
    std::vector<std::int64_t> fresh;
  };
  bool any = false;
  const std::vector<char> used = used_domains(scope_.structure.groups[0], any);
  const auto is_used = [&](DomainId domain) { return any && used[domain.index()] != 0; };
  std::vector<Ranked> all;
  for (const Site& site : sites) {
    std::int64_t around = 0;
    for (DomainId at = site.domain; any && at.valid(); at = nodes.domains()[at].parent)
      around += is_used(at) ? 0 : 1;
    all.push_back({site, {around}});
  }
  const auto number = static_cast<std::uint32_t>(&group - scope_.structure.groups.data());
  const Demand demand = sites.size() < 2 ? Demand{} : demand_of(group);
  const auto levels = near_levels(number, demand);
  if (levels && levels->last > level &&
      nodes.domains().levels()[levels->last].topology == nodes.domains().levels()[level].topology) {
    const ShapeIndex& index = scope_.state.index(scope_.state.charges[demand.charge].shape, scope_.mode);
    std::vector<DomainId> top;
    for (const Site& site : sites) top.push_back(site.domain);
    const FewestDomains tree = tree_of(
        nodes, top, levels->last - level + 1, [&](DomainId d) { return scope_.room_within(index, d); },
        is_used);
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

// The fewest domains for so many slots, in the order in which they are filled; empty where they do not suffice.
std::vector<DomainId> Nearness::fewest(ChargeId charge, std::int64_t count, Levels levels,
                                       const std::vector<char>& used) const {
  const NodeTable& nodes = scope_.state.nodes;
  const ShapeIndex& index = scope_.state.index(scope_.state.charges[charge].shape, scope_.mode);
  std::vector<DomainId> top = nodes.domains().levels()[levels.first].domains;
  if (!scope_.domains.empty() && nodes.domains()[scope_.domains.back()].level + 1 == levels.first &&
      nodes.domains().levels()[levels.first].depth > 0)
    top = nodes.domains()[scope_.domains.back()].children;
  const FewestDomains tree = tree_of(
      nodes, std::move(top), levels.last - levels.first + 1,
      [&](DomainId d) { return scope_.room_within(index, d); },
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

std::vector<Nearness::Site> Nearness::sites_for_all(const StructureGroup& group, std::uint32_t level) const {
  std::vector<Site> sites;
  for (const DomainId domain : scope_.state.nodes.domains().levels()[level].domains) {
    Site site{domain, false, 0};
    bool enough = true;
    for (const std::uint32_t set : group.leaves) {
      std::int64_t most = 0;
      for (const ChargeId charge : scope_.choices(set)) {
        const ShapeIndex& index = scope_.state.index(scope_.state.charges[charge].shape, scope_.mode);
        most = std::max(most, scope_.room_within(index, domain));
      }
      enough = enough && most >= scope_.must(set);
      site.room += most;
      site.short_of_want = site.short_of_want || most < scope_.extents[set].want;
    }
    if (enough && site.room > 0 && may_hold(group, domain)) sites.push_back(site);
  }
  return sites;
}

// Slots that have a place already decide the domain: none will do where one of them is on a node that is gone, or is in none.
Nearness::Fixed Nearness::fixed_domain(const StructureGroup& group, std::uint32_t level) const {
  Fixed out;
  for (const std::uint32_t set : group.leaves) {
    for (const Slot& slot : scope_.w.sets[set].slots) {
      if (!slot.node.valid() || slot.state == SlotState::kReleasing) continue;
      if (scope_.state.charges[slot.charge].awaited && scope_.state.nodes.is_opaque(slot.node)) continue;
      const DomainId its = scope_.state.nodes.domains().of(slot.node, level);
      out.adrift = out.adrift || !its.valid();
      if (!out.domain.valid()) out.domain = its;
    }
  }
  return out;
}

std::vector<Nearness::Option> Nearness::options_of(std::uint32_t set) const {
  std::vector<Option> out;
  for (const ChargeId charge : scope_.choices(set)) {
    const Charge& c = scope_.state.charges[charge];
    out.push_back({&scope_.state.index(c.shape, scope_.mode),
                   scope_.state.fits(scope_.w, c.quota, scope_.must(set), scope_.mode)});
  }
  return out;
}

Nearness::Offer Nearness::offer_of(const StructureGroup& group, std::uint32_t level) const {
  const NodeTable& nodes = scope_.state.nodes;
  const Fixed fixed = fixed_domain(group, level);
  Offer out;
  std::vector<std::vector<Option>> options;
  std::int64_t want = 0;
  for (const std::uint32_t set : group.leaves) {
    want += scope_.w.sets[set].waiting;
    options.push_back(options_of(set));
    const auto& of_set = options.back();
    const bool lacks_quota =
        std::none_of(of_set.begin(), of_set.end(), [](const Option& o) { return o.has_quota; });
    out.by_quota = out.by_quota || (scope_.must(set) > 0 && !of_set.empty() && lacks_quota);
  }
  for (const DomainId domain : nodes.domains().levels()[level].domains) {
    if (fixed.adrift || (fixed.domain.valid() && domain != fixed.domain)) continue;
    if (nodes.domains()[domain].nodes.empty()) continue;
    bool enough = true;
    std::int64_t room_here = 0;
    std::int64_t room_needed = 0;
    for (std::size_t s = 0; s < group.leaves.size(); ++s) {
      const std::int64_t must = scope_.must(group.leaves[s]);
      std::int64_t most_fit = 0;
      std::int64_t most_with_quota = 0;
      for (const Option& option : options[s]) {
        const std::int64_t fit = scope_.room_within(*option.index, domain);
        most_fit = std::max(most_fit, fit);
        if (option.has_quota) most_with_quota = std::max(most_with_quota, fit);
      }
      if (most_fit < must && group.least == group.children) enough = false;
      room_here += most_fit;
      room_needed += std::min(out.by_quota ? most_fit : most_with_quota, must);
    }
    out.best = std::max(out.best, room_needed);
    if (enough && may_hold(group, domain)) out.sites.push_back({domain, room_here < want, room_here});
  }
  return out;
}

}  // namespace berth::engine
