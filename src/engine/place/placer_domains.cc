// Placer: in which domains a group lies.
#include <algorithm>
#include <utility>

#include "engine/place/placer.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kFirstSlice = 256;  // steps, besides four for each slot
constexpr std::int64_t kSliceGrowth = 8;
constexpr std::int64_t kMostExtra = 16;

}  // namespace

bool Placer::enter(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  if (scope_.put_off) return walk(step + 1);
  if (group.topology.required.empty()) {
    return number == 0 || !group.topology.preferred.empty() ? together(step) : walk(step + 1);
  }
  if (const auto level = state_.nodes.domains().level_of(group.topology.required))
    return in_domain(step, *level);
  std::int64_t need = 0;
  for (const std::uint32_t set : group.leaves) need += scope_.must(set);
  note({ReasonCode::kTopology,
        group.topology.required,
        state_.nodes.domains().why_no_level(),
        need,
        0,
        0,
        {}});
  failure_.by_nodes = true;
  return false;
}

// In the order of the domains, each with a slice of the steps; those whose slice has ended once more with a larger one.
bool Placer::try_each(std::size_t step, std::vector<DomainId> domains, bool required) {
  const std::uint32_t group = walk_[step].index;
  std::int64_t slice = kFirstSlice;
  for (const std::uint32_t set : structure_.groups[0].leaves)
    slice = saturating_add(slice, saturating_mul(4, scope_.extents[set].want));
  while (!domains.empty()) {
    std::vector<DomainId> again;
    for (const DomainId domain : domains) {
      const std::int64_t floor = floor_;
      if (!required || domains.size() > 1) floor_ = std::max(floor, steps_.left() - slice);
      groups_[group].chosen = domain;
      scope_.domains.push_back(domain);
      if (required ? together(step) : in_fewest(step)) return true;
      scope_.domains.pop_back();
      groups_[group].chosen = DomainId();
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

// The reasons of a try that is not the one to tell of. More steps, and quota that comes free, may still help it.
void Placer::forget_since(const Failure& before) {
  const bool lacked_quota = failure_.by_quota;
  const bool steps_ended = failure_.steps_ended;
  failure_ = before;
  failure_.by_quota = lacked_quota;
  failure_.steps_ended = steps_ended;
}

// A group of several pod sets: in one domain, of the deepest level at which one has room; else in the fewest.
bool Placer::together(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  if (!scope_.preferences || state_.nodes.domains().levels().empty()) return walk(step + 1);
  const bool finds_its_own = near_.asking_sets(group) < 2 && near_.is_plain(group);
  const bool may_lack_parts = group.least < group.children && group.topology.preferred.empty();
  if (finds_its_own || near_.has_members(group) || may_lack_parts) return walk(step + 1);
  const Nearness::Demand demand = near_.demand_of(group);
  const auto levels = near_.near_levels(number, demand);
  if (!levels) return walk(step + 1);
  const Failure before = failure_;
  const std::int64_t floor = floor_;
  floor_ =
      std::max(floor, steps_.left() / 2);  // the other half is for the search that this must not cut short
  for (std::uint32_t level = levels->last + 1; level-- > levels->first && !ended();) {
    // Where every pod set lies in one domain of the level, if that finds places.
    if (try_each(step, near_.ranked(group, level, near_.sites_for_all(group, level)), false)) return true;
  }
  floor_ = floor;
  if (failure_.steps_ended || steps_.left() < floor_) return false;
  slice_ended_ = false;
  forget_since(before);
  return in_fewest(step);
}

// The pod sets of the group fill a list of domains, the fewest for all together; longer lists where those find no places; at last
// without a list.
bool Placer::in_fewest(std::size_t step) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  // Within a list parts would be left out that have room outside of it.
  if (near_.asking_sets(group) < 2 || !near_.is_plain(group) || !plan_.empty() ||
      group.least < group.children)
    return walk(step + 1);
  const Nearness::Demand demand = near_.demand_of(group);
  const auto levels = near_.near_levels(number, demand);
  if (!levels) return walk(step + 1);
  const Failure before = failure_;
  std::vector<DomainId> last;
  for (std::int64_t extra = 0; extra <= kMostExtra; extra = extra == 0 ? 1 : extra * 2) {
    std::vector<DomainId> plan =
        near_.fewest(demand.charge, saturating_add(demand.slots, extra), *levels, {});
    if (plan.empty()) break;
    if (plan == last) continue;
    last = plan;
    plan_ = std::move(plan);
    plan_of_ = number;
    if (walk(step + 1)) return true;
    plan_.clear();
    if (ended()) return false;
    forget_since(before);
  }
  return walk(step + 1);
}

// The domains that a pod set fills, in this order, before it takes whatever has room.
std::vector<DomainId> Placer::order_of(std::uint32_t set, ChargeId charge, std::int64_t count) {
  if (!plan_.empty()) return plan_;
  if (!scope_.preferences || state_.nodes.domains().levels().empty()) return {};
  const Charge& c = state_.charges[charge];
  const std::uint32_t number = structure_.group_of[set];
  const auto levels = near_.near_levels(number, c);
  if (!levels) return {};
  const StructureGroup& asking = structure_.groups[near_.asking_group(number)];
  bool any = false;
  const std::vector<char> used = near_.used_domains(asking, any);
  if (count == 1 && !any && asking.topology.preferred.empty())
    return {};  // the policy chooses for a single pod
  return near_.fewest(charge, std::min(count, scope_.room(state_.index(c.shape, mode_))), *levels, used);
}

// A required level: each of its domains that may have room, until the search finds places in one.
bool Placer::in_domain(std::size_t step, std::uint32_t level) {
  const std::uint32_t number = walk_[step].index;
  const StructureGroup& group = structure_.groups[number];
  std::int64_t need = 0;
  for (const std::uint32_t set : group.leaves) {
    need += scope_.must(set);
    // No domain helps a pod set that has no way to be charged at all.
    const Spec& spec = state_.spec(w_.sets[set].spec);
    if (group.least < group.children || scope_.must(set) == 0 || !spec.choices.empty()) continue;
    note(spec.problem);
    return false;
  }
  Nearness::Offer offer = near_.offer_of(group, level);
  std::vector<DomainId> candidates = near_.ranked(group, level, std::move(offer.sites));
  const bool none = candidates.empty();
  // Quota is the same in every domain.
  if (offer.by_quota && group.least == group.children && near_.is_plain(group) && candidates.size() > 1)
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
  if (none || (failure_.by_nodes && (optional || !offer.by_quota)) || failure_.reasons.empty()) {
    const std::int64_t have = need > 0 ? std::min(offer.best, need - 1) : 0;
    note({ReasonCode::kTopology, group.topology.required, "", need, have, 0, {}});
  } else {
    groups_[number].roomy = true;
  }
  failure_.by_nodes = true;
  return false;
}

}  // namespace berth::engine
