#include "engine/place/placer.h"

#include <algorithm>
#include <tuple>

namespace berth::engine {
namespace {
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kRequiredDomains = 64;
constexpr std::size_t kPreferredDomains = 8;
}  // namespace

Placer::Placer(State& state, WorkloadId workload, Mode mode, std::int64_t& steps, int rank, Ask ask)
    : state_(state),
      w_(state.workloads[workload.index()]),
      structure_(state.structures[w_.structure]),
      mode_(mode),
      steps_(steps),
      rank_(rank),
      extents_(extents_of(w_, ask)),
      done_(structure_.groups.size(), 0),
      skipped_(structure_.groups.size(), 0),
      past_(structure_.steps.size(), 0) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < structure_.steps.size(); ++i) {
    const Step& step = structure_.steps[i];
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
  const std::size_t mark = state_.mark();
  if (walk(0) && !placed_.empty()) return true;
  state_.rollback(mark);
  placed_.clear();
  return false;
}

void Placer::note(Reason reason) {
  if (failure_.reasons.size() >= kMostReasons) return;
  const auto same = [&](const Reason& r) {
    return r.code == reason.code && r.subject == reason.subject && r.detail == reason.detail;
  };
  if (std::none_of(failure_.reasons.begin(), failure_.reasons.end(), same))
    failure_.reasons.push_back(std::move(reason));
}

std::vector<ChargeId> Placer::choices(std::uint32_t set) {
  if (!orders_.charges.empty()) {
    return orders_.charges[set].valid() ? std::vector<ChargeId>{orders_.charges[set]}
                                        : std::vector<ChargeId>{};
  }
  std::vector<ChargeId> all = state_.choices(w_.sets[set]);
  // Sets of one flavor group go where those before them went.
  const std::string& group = w_.sets[set].flavor_group;
  if (!group.empty()) {
    std::erase_if(all, [&](ChargeId charge) {
      return std::any_of(placed_.begin(), placed_.end(), [&](const PlacedSlot& p) {
        return w_.sets[p.set].flavor_group == group && !same_flavors(charge, p.charge);
      });
    });
  }
  if (rank_ < 0 || all.empty()) return all;
  return {all[std::min(static_cast<std::size_t>(rank_), all.size() - 1)]};
}

// Whether every resource that both charge is charged to one flavor.
bool Placer::same_flavors(ChargeId a, ChargeId b) const {
  const auto& left = state_.charges[a].flavors;
  const auto& right = state_.charges[b].flavors;
  return std::all_of(left.begin(), left.end(), [&](const ChosenFlavor& l) {
    return std::none_of(right.begin(), right.end(), [&](const ChosenFlavor& r) {
      return l.resource == r.resource && l.flavor != r.flavor;
    });
  });
}

bool Placer::walk(std::size_t step) {
  if (step == structure_.steps.size()) return true;
  if (--steps_ < 0) {
    failure_.steps_ended = true;
    return false;
  }
  switch (structure_.steps[step].kind) {
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
  const Step& s = structure_.steps[step];
  const bool leaf_step = s.kind == Step::Kind::kLeaf;
  if (!leaf_step && s.index == 0) return false;
  const std::uint32_t group = leaf_step ? structure_.group_of[s.index] : structure_.groups[s.index].parent;
  const StructureGroup& g = structure_.groups[group];
  if (skipped_[group] >= g.children - g.least || failure_.steps_ended) return false;
  ++skipped_[group];
  if (walk(past_[step])) return true;
  --skipped_[group];
  return false;
}

bool Placer::leave(std::size_t step) {
  const std::uint32_t group = structure_.steps[step].index;
  if (done_[group] < structure_.groups[group].least) return false;
  if (group == 0) return walk(step + 1);
  const std::uint32_t parent = structure_.groups[group].parent;
  ++done_[parent];
  if (walk(step + 1)) return true;
  --done_[parent];
  return false;
}

bool Placer::enter(std::size_t step) {
  const StructureGroup& group = structure_.groups[structure_.steps[step].index];
  const TopologyRequest& topology = group.topology;
  if (!topology.required.empty()) {
    const auto level = state_.nodes.level_of(topology.required);
    if (!level) {
      note({ReasonCode::kTopology, topology.required, "no topology has this level", 0, 0, 0, {}});
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
  const StructureGroup& group = structure_.groups[structure_.steps[step].index];
  const NodeTable& nodes = state_.nodes;

  // Slots that have a place already decide the domain.
  DomainId fixed;
  std::int64_t need = 0;
  std::int64_t want = 0;
  for (const std::uint32_t set : group.leaves) {
    need += must(set);
    want += w_.sets[set].waiting;
    for (const Slot& slot : w_.sets[set].slots) {
      if (slot.node.valid() && slot.state != SlotState::kReleasing && !fixed.valid())
        fixed = nodes.domain_of(slot.node, level);
    }
  }

  std::int64_t best = 0;
  std::vector<std::tuple<bool, std::int64_t, DomainId>> candidates;
  for (const DomainId domain : nodes.levels()[level].domains) {
    if (fixed.valid() && domain != fixed) continue;
    if (nodes.domain(domain).nodes.empty()) continue;
    bool enough = true;
    std::int64_t room_here = 0;
    for (const std::uint32_t set : group.leaves) {
      std::int64_t most_fit = 0;
      for (const ChargeId charge : choices(set)) {
        most_fit = std::max(most_fit, state_.index(state_.charges[charge].shape, mode_).total_in(domain));
      }
      if (most_fit < must(set) && group.least == group.children) enough = false;
      room_here += most_fit;
    }
    best = std::max(best, room_here);
    if (enough) candidates.emplace_back(room_here < want, room_here, domain);
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > most) candidates.resize(most);
  for (const auto& [short_of_want, room_here, domain] : candidates) {
    domains_.push_back(domain);
    const bool ok = walk(step + 1);
    domains_.pop_back();
    if (ok) return true;
    if (failure_.steps_ended) return false;
  }
  if (!group.topology.required.empty()) {
    note({ReasonCode::kTopology, group.topology.required, "", need, best, 0, {}});
    failure_.by_nodes = true;
  }
  return false;
}

bool Placer::leaf(std::size_t step) {
  const std::uint32_t set = structure_.steps[step].index;
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
    if (spec.choices.empty()) note(spec.problem);
    for (const ChargeId charge : choices(set)) {
      if (--steps_ < 0) failure_.steps_ended = true;
      if (failure_.steps_ended) return false;
      const std::size_t mark = state_.mark();
      const std::size_t had = placed_.size();
      const std::int64_t got = place_slots(set, charge, least, extents_[set].want);
      if (got > 0 && go_on()) return true;
      state_.rollback(mark);
      placed_.resize(had);
      // The surplus of one pod set must not take what another one needs for its least.
      if (got <= least || least == 0 || failure_.steps_ended) continue;
      if (place_slots(set, charge, least, least) > 0 && go_on()) return true;
      state_.rollback(mark);
      placed_.resize(had);
    }
  }
  return least == 0 && go_on();
}

std::int64_t Placer::room(const ShapeIndex& index) const {
  return domains_.empty() ? index.total() : index.total_in(domains_.back());
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
  if (!state_.quota.fits(w_.queue, c.quota, count, mode_)) {
    const std::int64_t floor = std::max<std::int64_t>(least, 1);
    if (!state_.quota.fits(w_.queue, c.quota, floor, mode_)) {
      failure_.by_quota = true;
      for (const QuotaItem& item : c.quota) {
        const std::int64_t need = item.amount * floor;
        std::int64_t have = state_.quota.available(w_.queue, item.pair, kAfter);
        if (mode_ == Mode::kStart) have = std::min(have, state_.quota.available(w_.queue, item.pair, kNow));
        if (need <= have) continue;
        const std::int64_t most = state_.quota.potential(w_.queue, item.pair);
        const bool never = need > most;
        note({never ? ReasonCode::kQuotaMax : ReasonCode::kQuota,
              std::string(state_.resource_name(item.pair)),
              std::string(state_.flavor_name(item.pair)),
              need,
              never ? most : std::max<std::int64_t>(0, have),
              0,
              {}});
      }
      return 0;
    }
    std::int64_t low = floor;
    while (low < count) {
      const std::int64_t middle = low + (count - low + 1) / 2;
      if (state_.quota.fits(w_.queue, c.quota, middle, mode_)) {
        low = middle;
      } else {
        count = middle - 1;
      }
    }
    count = low;
  }

  const auto no_room = [&](std::int64_t have) {
    failure_.by_nodes = true;
    note({ReasonCode::kNodes, "", "", std::max<std::int64_t>(least, 1), have, 0, {}});
    return 0;
  };
  const std::int64_t have = room(state_.index(c.shape, mode_));
  if (have < std::max<std::int64_t>(least, 1)) return no_room(have);

  const TopologyRequest& topology = structure_.groups[structure_.group_of[set]].topology;
  std::size_t next_slot = 0;
  std::int64_t got = 0;
  if (topology.segment > 1 && !topology.segment_level.empty()) {
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
    while (got < count) {
      const std::int64_t part = std::min(topology.segment, count - got);
      const ShapeIndex& index = state_.index(c.shape, mode_);
      DomainId tightest;
      for (const DomainId domain : state_.nodes.levels()[*level].domains) {
        if (index.total_in(domain) < part) continue;
        const auto& nodes = state_.nodes.domain(domain).nodes;
        const bool inside = std::all_of(domains_.begin(), domains_.end(), [&](const DomainId outer) {
          return !nodes.empty() &&
                 state_.nodes.domain_of(nodes.front(), state_.nodes.domain(outer).level) == outer;
        });
        if (inside && (!tightest.valid() || index.total_in(domain) < index.total_in(tightest)))
          tightest = domain;
      }
      if (!tightest.valid()) break;
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
      note({ReasonCode::kTopology, topology.segment_level, "", topology.segment, got, 0, {}});
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
    state_.try_charge(w_.queue, charge, node, devices, planes_of(mode_), +1);
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
      return state_.quota.fits(w_.queue, c.quota, least, mode_) &&
             state_.index(c.shape, mode_).total() >= least;
    });
    if (!some) return false;
  }
  return true;
}

}  // namespace berth::engine
