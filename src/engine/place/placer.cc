#include "engine/place/placer.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::engine {
namespace {
constexpr std::size_t kRequiredDomains = 64;
constexpr std::size_t kPreferredDomains = 8;
}  // namespace

Placer::Placer(State& state, WorkloadId workload, Mode mode, std::int64_t& steps, const Assignment* only,
               Ask ask)
    : state_(state),
      w_(state.workloads[workload.index()]),
      structure_(state.structures[w_.structure]),
      mode_(mode),
      steps_(steps),
      extents_(extents_of(w_, ask)),
      chosen_(structure_.groups.size()),
      roomy_(structure_.groups.size(), 0),
      done_(structure_.groups.size(), 0),
      skipped_(structure_.groups.size(), 0) {
  set_steps(structure_.steps);
  if (only != nullptr) only_ = *only;
}

void Placer::set_steps(std::vector<Step> steps) {
  walk_ = std::move(steps);
  past_.assign(walk_.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < walk_.size(); ++i) {
    const Step& step = walk_[i];
    past_[i] = i + 1;
    if (step.kind == Step::Kind::kEnter) open.push_back(i);
    if (step.kind == Step::Kind::kExit) {
      past_[open.back()] = i + 1;
      open.pop_back();
    }
  }
}

Placer::Placer(State& state, WorkloadId workload, Mode mode, std::int64_t& steps, Orders orders)
    : Placer(state, workload, mode, steps) {
  orders_ = orders;
  for (std::size_t s = 0; s < extents_.size() && !orders.counts.empty(); ++s) {
    extents_[s] = {orders.counts[s], orders.counts[s]};
  }
}

bool Placer::run() {
  if (lacks_pods() || lacks_flavors()) return false;
  const bool may_wait = put_off();
  if (!put_off_ && search()) return true;
  if (!put_off_ && failure_.by_nodes && !failure_.steps_ended && scarcest_first()) {
    // What is told is what the first search found out.
    Failure first = failure_;
    if (search()) return true;
    first.steps_ended = failure_.steps_ended;
    failure_ = std::move(first);
  }
  if (!may_wait || failure_.steps_ended) return false;
  put_off_ = true;
  return search();
}

// Whether it could start without domains, on charges whose nodes are awaited. Where it has no others, it does not look for any.
bool Placer::put_off() {
  const auto asks = [](const StructureGroup& group) { return !group.topology.empty(); };
  if (std::none_of(structure_.groups.begin(), structure_.groups.end(), asks)) return false;
  bool only = true;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    if (extents_[set].want == 0) continue;
    bool some = false;
    for (const ChargeId charge : choices(set)) {
      some = some || state_.charges[charge].awaited;
      only = only && state_.charges[charge].awaited;
    }
    if (!some && must(set) > 0) return false;
    only = only && some;
  }
  put_off_ = only;
  return true;
}

// Before anything else, so that it does not depend on what is free who is told so.
bool Placer::lacks_pods() {
  if (!w_.needs_all) return false;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    const PodSetState& s = w_.sets[set];
    if (s.waiting >= must(set)) continue;
    note(lacks_pods_of(w_));
    return true;
  }
  return false;
}

// Nor does it depend on that who asks for what no flavor of its queue has.
bool Placer::lacks_flavors() {
  if (!w_.needs_all) return false;
  for (std::uint32_t set = 0; set < w_.sets.size(); ++set) {
    if (must(set) == 0) continue;
    const Spec& spec = state_.spec(w_.sets[set].spec);
    if (!spec.choices.empty()) continue;
    note(spec.problem);
    return true;
  }
  return false;
}

bool Placer::search() {
  const std::size_t mark = state_.mark();
  if (walk(0)) return true;
  state_.rollback(mark);
  placed_.clear();
  acquit();
  return false;
}

// What is no good within one outer domain is not to blame where it is good within another, and quota was short there.
void Placer::acquit() {
  std::erase_if(failure_.reasons, [&](const Reason& reason) {
    if (reason.code != ReasonCode::kTopology || !reason.detail.empty()) return false;
    bool roomy = false;
    for (std::size_t g = 0; g < structure_.groups.size(); ++g) {
      if (structure_.groups[g].topology.required != reason.subject) continue;
      if (roomy_[g] == 0) return false;
      roomy = true;
    }
    return roomy;
  });
}

// Puts the children of every group into the order of their room to spare, the least first; of equals the one with less room.
// False where that changes nothing.
bool Placer::scarcest_first() {
  using Spare = std::pair<std::int64_t, std::int64_t>;
  std::vector<Spare> spare(w_.sets.size(), {kInt64Max, 0});
  std::size_t wanted = 0;
  for (std::uint32_t set = 0; set < spare.size(); ++set) {
    if (extents_[set].want == 0) continue;
    ++wanted;
    std::int64_t most = 0;
    for (const ChargeId charge : choices(set))
      most = std::max(most, state_.index(state_.charges[charge].shape, mode_).total());
    spare[set] = {most - must(set), most};
  }
  if (wanted < 2) return false;
  // The steps of a child stand together, from its entry to its exit.
  std::vector<Step> out;
  const auto arrange = [&](const auto& self, std::size_t begin, std::size_t end) -> Spare {
    struct Child {
      Spare spare;
      std::vector<Step> steps;
    };
    std::vector<Child> children;
    Spare least{kInt64Max, 0};
    for (std::size_t at = begin; at < end; at = past_[at]) {
      std::vector<Step> before = std::exchange(out, {});
      Spare its;
      if (walk_[at].kind == Step::Kind::kLeaf) {
        its = spare[walk_[at].index];
        out.push_back(walk_[at]);
      } else {
        out.push_back(walk_[at]);
        its = self(self, at + 1, past_[at] - 1);
        out.push_back(walk_[past_[at] - 1]);
      }
      children.push_back({its, std::exchange(out, std::move(before))});
      least = std::min(least, its);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.spare < b.spare; });
    for (const Child& child : children) out.insert(out.end(), child.steps.begin(), child.steps.end());
    return least;
  };
  arrange(arrange, 0, walk_.size());
  const auto same = [](const Step& a, const Step& b) { return a.kind == b.kind && a.index == b.index; };
  if (std::equal(out.begin(), out.end(), walk_.begin(), walk_.end(), same)) return false;
  set_steps(std::move(out));
  return true;
}

std::vector<ChargeId> choices_of(State& state, const WorkloadState& w, std::size_t set) {
  std::vector<ChargeId> all = state.choices(w.sets[set]);
  const std::string& group = w.sets[set].flavor_group;
  if (group.empty()) return all;
  std::erase_if(all, [&](ChargeId charge) {
    return std::any_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& other) {
      if (other.flavor_group != group) return false;
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

std::vector<ChargeId> Placer::choices(std::uint32_t set) {
  if (!orders_.charges.empty()) {
    return orders_.charges[set].valid() ? std::vector<ChargeId>{orders_.charges[set]}
                                        : std::vector<ChargeId>{};
  }
  std::vector<ChargeId> all;
  if (only_.empty()) {
    all = choices_of(state_, w_, set);
  } else if (only_[set].valid()) {
    all = {only_[set]};
  }
  if (put_off_) std::erase_if(all, [&](ChargeId charge) { return !state_.charges[charge].awaited; });
  // Sets of one flavor group go where those before them went in this search, too.
  if (const std::string& group = w_.sets[set].flavor_group; !group.empty()) {
    std::erase_if(all, [&](ChargeId charge) {
      return std::any_of(placed_.begin(), placed_.end(), [&](const PlacedSlot& p) {
        return w_.sets[p.set].flavor_group == group && !same_flavors(state_, charge, p.charge);
      });
    });
  }
  return all;
}

bool Placer::walk(std::size_t step) {
  // Nothing at all is no find: what grows may leave every set as it is, and then looks elsewhere.
  if (step == walk_.size()) return !placed_.empty();
  if (--steps_ < 0) {
    failure_.steps_ended = true;
    return false;
  }
  switch (walk_[step].kind) {
    case Step::Kind::kEnter:
      return enter(step) || skip(step);
    case Step::Kind::kLeaf:
      return leaf(step) || skip(step);
    case Step::Kind::kExit:
      return leave(step);
  }
  return false;
}

// Leaves a child out where its group can do without.
bool Placer::skip(std::size_t step) {
  const Step& s = walk_[step];
  const bool leaf_step = s.kind == Step::Kind::kLeaf;
  if (!leaf_step && s.index == 0) return false;
  const std::uint32_t group = leaf_step ? structure_.group_of[s.index] : structure_.groups[s.index].parent;
  const StructureGroup& g = structure_.groups[group];
  if (skipped_[group] >= g.children - g.least || failure_.steps_ended) return false;
  if (!orders_.counts.empty()) {  // what is told is placed, whatever the group could do without
    const auto told = [&](std::uint32_t set) { return orders_.counts[set] > 0; };
    const std::vector<std::uint32_t> sets =
        leaf_step ? std::vector{s.index} : structure_.groups[s.index].leaves;
    if (std::any_of(sets.begin(), sets.end(), told)) return false;
  }
  ++skipped_[group];
  if (walk(past_[step])) return true;
  --skipped_[group];
  return false;
}

bool Placer::leave(std::size_t step) {
  const std::uint32_t group = walk_[step].index;
  if (done_[group] < structure_.groups[group].least) return false;
  if (group == 0) return walk(step + 1);
  const std::uint32_t parent = structure_.groups[group].parent;
  const DomainId own = chosen_[group];  // its siblings, and what its parent has besides, are not bound by it
  if (own.valid()) domains_.pop_back();
  ++done_[parent];
  if (walk(step + 1)) return true;
  --done_[parent];
  if (own.valid()) domains_.push_back(own);
  return false;
}

bool Placer::enter(std::size_t step) {
  const StructureGroup& group = structure_.groups[walk_[step].index];
  const TopologyRequest& topology = group.topology;
  if (put_off_) return walk(step + 1);
  if (!topology.required.empty()) {
    const auto level = state_.nodes.level_of(topology.required);
    if (!level) {
      std::int64_t need = 0;
      for (const std::uint32_t set : group.leaves) need += must(set);
      note({ReasonCode::kTopology, topology.required, "no topology has this level", need, 0, 0, {}});
      failure_.by_nodes = true;
      return false;
    }
    return in_domain(step, *level, kRequiredDomains);
  }
  if (!topology.preferred.empty()) {
    if (const auto level = state_.nodes.level_of(topology.preferred)) {
      // Levels of one topology stand together, widest first.
      const std::uint32_t depth = state_.nodes.levels()[*level].depth;
      for (std::uint32_t up = 0; up <= depth; ++up) {
        if (in_domain(step, *level - up, kPreferredDomains)) return true;
        if (failure_.steps_ended) return false;
      }
    }
  }
  return walk(step + 1);
}

bool Placer::in_domain(std::size_t step, std::uint32_t level, std::size_t most) {
  const StructureGroup& group = structure_.groups[walk_[step].index];
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

  // What the best domain has room for, in flavors that still have quota; in any, where a pod set has quota in none.
  const auto chargeable = [&](ChargeId charge, std::int64_t slots) {
    return state_.fits(w_, state_.charges[charge].quota, slots, mode_);
  };
  const bool by_quota = std::any_of(group.leaves.begin(), group.leaves.end(), [&](std::uint32_t set) {
    const auto all = choices(set);
    return must(set) > 0 && !all.empty() && std::none_of(all.begin(), all.end(), [&](ChargeId charge) {
             return chargeable(charge, must(set));
           });
  });
  std::int64_t best = 0;
  std::vector<std::tuple<bool, std::int64_t, DomainId>> candidates;
  for (const DomainId domain : nodes.levels()[level].domains) {
    if (adrift || (fixed.valid() && domain != fixed)) continue;
    if (nodes.domain(domain).nodes.empty()) continue;
    bool enough = true;
    std::int64_t room_here = 0;
    std::int64_t room_needed = 0;
    for (const std::uint32_t set : group.leaves) {
      std::int64_t most_fit = 0;
      std::int64_t most_with_quota = 0;
      for (const ChargeId charge : choices(set)) {
        const std::int64_t fit = room_within(state_.index(state_.charges[charge].shape, mode_), domain);
        most_fit = std::max(most_fit, fit);
        if (chargeable(charge, must(set))) most_with_quota = std::max(most_with_quota, fit);
      }
      if (most_fit < must(set) && group.least == group.children) enough = false;
      room_here += most_fit;
      room_needed += std::min(by_quota ? most_fit : most_with_quota, must(set));
    }
    best = std::max(best, room_needed);
    if (want > 0 && room_here == 0 && group.topology.required.empty()) continue;  // wider ones may have some
    if (enough) candidates.emplace_back(room_here < want, room_here, domain);
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > most) candidates.resize(most);
  const bool lacked_nodes = std::exchange(failure_.by_nodes, false);
  for (const auto& [short_of_want, room_here, domain] : candidates) {
    chosen_[walk_[step].index] = domain;
    domains_.push_back(domain);
    if (walk(step + 1)) return true;
    domains_.pop_back();
    chosen_[walk_[step].index] = DomainId();
    if (failure_.steps_ended) {
      failure_.by_nodes = failure_.by_nodes || lacked_nodes;
      return false;
    }
  }
  // Where the pod sets fit one by one and not together, at least one slot too few has room. Where only quota was short, no
  // domain is to blame; where some children may be left out, both can be.
  const bool optional = group.least < group.children;
  const bool domains_lack = candidates.empty() || (failure_.by_nodes && (optional || !by_quota));
  if (!group.topology.required.empty()) {
    // Who fails on nodes in every domain may keep the search from those that have no quota: then nothing is told yet.
    if (domains_lack || failure_.reasons.empty()) {
      const std::int64_t have = need > 0 ? std::min(best, need - 1) : 0;
      note({ReasonCode::kTopology, group.topology.required, "", need, have, 0, {}});
    } else {
      roomy_[walk_[step].index] = 1;
    }
    failure_.by_nodes = true;
  }
  failure_.by_nodes = failure_.by_nodes || lacked_nodes;
  return false;
}

bool Placer::leaf(std::size_t step) {
  const std::uint32_t set = walk_[step].index;
  const PodSetState& s = w_.sets[set];
  const std::uint32_t group = structure_.group_of[set];
  const std::int64_t least = must(set);
  if (s.waiting < least) {
    note({ReasonCode::kIncompleteGang, "", "", s.least, s.active + s.waiting, 0, {}});
    return false;
  }
  const auto go_on = [&] {
    ++done_[group];
    if (walk(step + 1)) return true;
    --done_[group];
    return false;
  };
  if (extents_[set].want > 0) {
    const Spec& spec = state_.spec(s.spec);
    const std::vector<ChargeId> options = choices(set);
    if (spec.choices.empty()) note(spec.problem);
    if (options.empty() && !spec.choices.empty() && (!put_off_ || failure_.reasons.empty())) {
      note({ReasonCode::kNodeFlavor,
            "",
            "the pod sets of flavor group " + s.flavor_group + " have no flavor in common",
            0,
            0,
            0,
            {}});
    }
    for (const ChargeId charge : options) {
      if (--steps_ < 0) failure_.steps_ended = true;
      if (failure_.steps_ended) return false;
      const std::size_t mark = state_.mark();
      const std::size_t had = placed_.size();
      lacks_room_ = false;
      const std::int64_t got = place_slots(set, charge, least, extents_[set].want);
      if (got > 0 && go_on()) return true;
      state_.rollback(mark);
      placed_.resize(had);
      if (got == 0 && lacks_room_ && watch_) watch_(set, charge);
      // The surplus of one pod set must not take what another one needs for its least, nor ask for a whole segment more.
      const bool less = got > least || (got == 0 && in_segments(set) && extents_[set].want > least);
      if (!less || least == 0 || failure_.steps_ended) continue;
      if (place_slots(set, charge, least, least) > 0 && go_on()) return true;
      state_.rollback(mark);
      placed_.resize(had);
    }
  }
  return least == 0 && go_on();
}

bool Placer::in_segments(std::uint32_t set) const {
  const TopologyRequest& topology = structure_.groups[structure_.group_of[set]].topology;
  return topology.segment > 1 && !topology.segment_level.empty() && !put_off_;
}

std::int64_t Placer::room(const ShapeIndex& index) const {
  return domains_.empty() ? index.total() : index.total_in(domains_.back());
}

// Of a domain, the part that lies in all that have been chosen.
std::int64_t Placer::room_within(const ShapeIndex& index, DomainId domain) const {
  const NodeTable& nodes = state_.nodes;
  const auto& level = nodes.levels()[nodes.domain(domain).level];
  const auto& here = nodes.domain(domain).nodes;
  const auto in = [&](NodeId node, DomainId outer) {
    return nodes.domain_of(node, nodes.domain(outer).level) == outer;
  };
  if (here.empty()) return 0;
  // A level below those of the chosen ones: in them with all its nodes, or with none.
  const bool below = std::all_of(domains_.begin(), domains_.end(), [&](const DomainId outer) {
    const auto& other = nodes.levels()[nodes.domain(outer).level];
    return other.topology == level.topology && other.depth <= level.depth;
  });
  const auto inside = [&](NodeId node) {
    return std::all_of(domains_.begin(), domains_.end(), [&](DomainId outer) { return in(node, outer); });
  };
  if (below) return inside(here.front()) ? index.total_in(domain) : 0;
  std::int64_t sum = 0;
  for (const NodeId node : here) sum += inside(node) ? index.fit(node) : 0;
  return sum;
}

NodeId Placer::best_node(ShapeIndex& index) const {
  if (domains_.empty()) return index.best();
  const auto& inner = state_.nodes.domain(domains_.back()).nodes;
  if (domains_.size() == 1) return index.best_of(state_.nodes, inner);
  std::vector<NodeId> among;
  for (const NodeId node : inner) {
    const bool inside = std::all_of(domains_.begin(), domains_.end(), [&](const DomainId domain) {
      return state_.nodes.domain_of(node, state_.nodes.domain(domain).level) == domain;
    });
    if (inside) among.push_back(node);
  }
  return index.best_of(state_.nodes, among);
}

std::int64_t Placer::place_slots(std::uint32_t set, ChargeId charge, std::int64_t least, std::int64_t want) {
  const Charge& c = state_.charges[charge];
  std::int64_t count = want;
  if (!state_.fits(w_, c.quota, count, mode_)) {
    const std::int64_t floor = std::max<std::int64_t>(least, 1);
    if (!state_.fits(w_, c.quota, floor, mode_)) {
      failure_.by_quota = true;
      note_quota(set, c, floor);
      return 0;
    }
    std::int64_t low = floor;
    while (low < count) {
      const std::int64_t middle = low + (count - low + 1) / 2;
      if (state_.fits(w_, c.quota, middle, mode_)) {
        low = middle;
      } else {
        count = middle - 1;
      }
    }
    count = low;
  }

  // What lacks room within a domain is told by whoever chose the domain, or by the try without one.
  const auto no_room = [&](std::int64_t have) {
    failure_.by_nodes = true;
    if (!domains_.empty()) return 0;
    note({ReasonCode::kNodes, "", set_mark(w_, set), std::max<std::int64_t>(least, 1), have, 0, {}});
    lacks_room_ = true;
    return 0;
  };
  const std::int64_t have = room(state_.index(c.shape, mode_));
  if (have < std::max<std::int64_t>(least, 1)) return no_room(have);

  const TopologyRequest& topology = structure_.groups[structure_.group_of[set]].topology;
  std::size_t next_slot = 0;
  std::int64_t got = 0;
  if (in_segments(set)) {
    const auto level = state_.nodes.level_of(topology.segment_level);
    if (!level) {
      note({ReasonCode::kTopology,
            topology.segment_level,
            "no topology has this level",
            topology.segment,
            0,
            0,
            {}});
      failure_.by_nodes = true;
      return 0;
    }
    std::int64_t lacking = 0;  // of the segment that found no domain, and the most room of one
    std::int64_t best = 0;
    while (got < count) {
      const std::int64_t part = std::min(topology.segment, count - got);
      const ShapeIndex& index = state_.index(c.shape, mode_);
      DomainId tightest;
      std::int64_t least_room = 0;
      lacking = part;
      best = 0;
      for (const DomainId domain : state_.nodes.levels()[*level].domains) {
        const std::int64_t here = room_within(index, domain);
        best = std::max(best, here);
        if (here < part || (tightest.valid() && here >= least_room)) continue;
        tightest = domain;
        least_room = here;
      }
      if (!tightest.valid()) {
        // The last segment of a pod set that may have fewer slots may be smaller.
        if (best == 0 || got + best < std::max<std::int64_t>(least, 1)) break;
        count = got + best;
        continue;
      }
      const std::size_t mark = state_.mark();
      const std::size_t had = placed_.size();
      domains_.push_back(tightest);
      const bool ok = place_some(set, charge, part, next_slot);
      domains_.pop_back();
      if (!ok) {
        state_.rollback(mark);
        placed_.resize(had);
        break;
      }
      got += part;
    }
    if (got < std::max<std::int64_t>(least, 1)) {
      note({ReasonCode::kTopology, topology.segment_level, "", lacking, std::min(best, lacking - 1), 0, {}});
      failure_.by_nodes = true;
      return 0;
    }
    return got;
  }
  for (; got < count; ++got) {
    if (!place_some(set, charge, 1, next_slot)) break;
  }
  return got < std::max<std::int64_t>(least, 1) ? no_room(got) : got;
}

bool Placer::place_some(std::uint32_t set, ChargeId charge, std::int64_t count, std::size_t& next_slot) {
  const ShapeId shape = state_.charges[charge].shape;
  const auto& slots = w_.sets[set].slots;
  for (std::int64_t i = 0; i < count; ++i) {
    if (--steps_ < 0) {
      failure_.steps_ended = true;
      return false;
    }
    const NodeId node = best_node(state_.index(shape, mode_));
    if (!node.valid()) return false;
    while (slots[next_slot].state != SlotState::kWaiting) ++next_slot;
    const std::uint64_t devices = state_.choose_devices(node, charge, mode_);
    state_.try_charge(w_, charge, node, devices, planes_of(mode_), +1);
    placed_.push_back({set, static_cast<std::uint32_t>(next_slot++), node, charge, devices});
  }
  return true;
}

bool Placer::may_fit() {
  const StructureGroup& root = structure_.groups[0];
  if (root.least < root.children || structure_.groups.size() > 1) return true;
  for (const std::uint32_t set : root.leaves) {
    const std::int64_t least = std::max<std::int64_t>(must(set), w_.sets.size() == 1 ? 1 : 0);
    if (least == 0) continue;
    const auto options = choices(set);
    const bool some = std::any_of(options.begin(), options.end(), [&](const ChargeId charge) {
      const Charge& c = state_.charges[charge];
      return state_.fits(w_, c.quota, least, mode_) && state_.index(c.shape, mode_).total() >= least;
    });
    if (!some) return false;
  }
  return true;
}

}  // namespace berth::engine
