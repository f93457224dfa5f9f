// Which domains the parts of a workload should lie in, at a point of the search for places (scope.h): questions that change nothing.
//
// A group is counted in slots of its largest pod set. Domains are compared level by level from the widest down (nodes/fewest.h).
// Cost: O(domains of the levels asked about), and for several pod sets O(nodes of each domain).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/place/scope.h"

namespace berth::engine {

class Nearness {
 public:
  explicit Nearness(const Scope& scope) : scope_(scope) {}

  struct Levels {  // of one topology
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  struct Demand {  // of a group, in slots of its largest pod set
    ChargeId charge;
    std::int64_t slots = 0;
  };
  // A domain that may have room for a group.
  struct Site {
    DomainId domain;
    bool short_of_want = false;
    std::int64_t room = 0;
  };
  struct Offer {
    std::vector<Site> sites;
    // The room of the best domain, in flavors that still have quota; in any flavor, if a pod set has quota in none.
    std::int64_t best = 0;
    bool by_quota = false;  // a pod set has quota in no flavor
  };

  // The domain in which members of the group are already. Adrift: one of them is in none, so that no domain will do.
  struct Fixed {
    DomainId domain;  // none: any
    bool adrift = false;
  };
  Fixed fixed_domain(const StructureGroup& group, std::uint32_t level) const;
  bool has_members(const StructureGroup& group) const;
  bool is_plain(const StructureGroup& group) const;
  std::uint32_t asking_group(std::uint32_t group) const;
  std::int64_t asking_sets(const StructureGroup& group) const;
  std::vector<char> used_domains(const StructureGroup& group, bool& any) const;
  Demand demand_of(const StructureGroup& group) const;
  std::optional<Levels> near_levels(std::uint32_t group, const Charge& charge) const;
  std::optional<Levels> near_levels(std::uint32_t group, const Demand& demand) const;
  // The domains of a required level, for a group.
  Offer offer_of(const StructureGroup& group, std::uint32_t level) const;
  // Those of a level that have room for every pod set of a group.
  std::vector<Site> sites_for_all(const StructureGroup& group, std::uint32_t level) const;
  std::vector<DomainId> ranked(const StructureGroup& group, std::uint32_t level,
                               std::vector<Site> sites) const;
  std::vector<DomainId> fewest(ChargeId charge, std::int64_t count, Levels levels,
                               const std::vector<char>& used) const;

 private:
  struct Option {
    const ShapeIndex* index;
    bool has_quota;
  };
  std::vector<Option> options_of(std::uint32_t set) const;
  std::optional<std::uint32_t> topology_for(const Charge& charge) const;
  bool may_hold(const StructureGroup& group, DomainId domain) const;

  const Scope& scope_;
};

}  // namespace berth::engine
