// Topology domains. A level is one node label of a topology, a domain one path of values from the widest level down. A node lies in
// at most one domain of each level. It needs the labels of that level and of all wider ones.
//
// Looking up costs O(1). Placing a node costs O(levels + nodes of the domains that it leaves and enters).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "model/labels.h"
#include "model/node.h"

namespace berth::engine {

struct DomainTag;
using DomainId = Id<DomainTag>;

class Domains {
 public:
  struct Domain {
    std::uint32_t level = 0;  // index into levels()
    DomainId parent;
    std::string path;  // label values from the widest level, joined by '/'
    std::vector<NodeId> nodes;
    std::vector<DomainId> children;  // of the next level
  };
  struct Level {
    std::string topology;
    std::string key;  // label
    std::uint32_t depth = 0;
    std::vector<DomainId> domains;
    std::size_t wide = 0;  // domains with more than one node; 0: the level is that of the hosts
  };

  // Begins anew: no node is in any domain until it is placed again.
  void set(std::span<const Topology> topologies);
  // nullptr: the node is in none.
  void place(NodeId id, const Labels* labels);

  const std::vector<Level>& levels() const { return levels_; }
  // The level whose label key this is (the first topology that has it).
  std::optional<std::uint32_t> level_of(std::string_view key) const;
  // Why there is none, and what to ask for instead.
  std::string why_no_level() const;

  const Domain& operator[](DomainId id) const { return domains_[id.index()]; }
  std::size_t size() const { return domains_.size(); }
  // The domains of a node by level; none where it lacks a label of the path.
  std::span<const DomainId> of(NodeId id) const {
    return {of_.data() + id.index() * levels_.size(), levels_.size()};
  }
  DomainId of(NodeId id, std::uint32_t level) const { return of_[id.index() * levels_.size() + level]; }
  // Goes up when the topologies or the domains of a node change.
  std::uint64_t version() const { return version_; }

 private:
  std::vector<DomainId> path_of(const Labels& labels);

  std::vector<Level> levels_;
  std::vector<Domain> domains_;
  std::vector<DomainId> of_;  // [node][level]
  std::unordered_map<std::string, DomainId> index_;
  std::uint64_t version_ = 0;
};

}  // namespace berth::engine
