// Domains of node labels, for counted terms (counted.h). A level is a label; each of its domains is the nodes with one value of it.
// Nodes that are gone and the opaque node are in none. The level "" has one domain, of all other nodes.
//
// A term of kSpread may look at some nodes only (Among). Its level has the domains of these.
// Cost: a new level O(nodes x constraints); a node that changes O(levels).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"
#include "model/labels.h"

namespace berth::engine {

class LabelDomains {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = 0xffffffffu;

  struct Level {
    std::string key;
    Number among = kNone;                            // none: all nodes
    std::int64_t users = 0;                          // 0: free
    std::int64_t filled = 0;                         // domains with nodes
    std::int64_t wide = 0;                           // domains with more than one node
    std::unordered_map<std::string, Number> values;  // looked up, never iterated for a decision
    std::vector<Number> domain_of;                   // by node
    std::vector<std::vector<NodeId>> nodes;          // by domain
  };

  // `nodes` outlives this.
  explicit LabelDomains(const NodeTable& nodes) : nodes_(nodes) {}

  // The level of a label. It is free again when no use() of it is left.
  Number find_or_make(const std::string& key, Number among);
  void use(Number level) { ++levels_[level].users; }
  void leave(Number level);
  // The nodes that a term of kSpread looks at. None: all, so that its level is that of other terms too. `terms`: all of the pod.
  // `pod`: its node selector, required affinity and tolerations.
  Number among_of(const CountedTerm& term, const std::vector<CountedTerm>& terms, const Shape& pod);

  std::size_t size() const { return levels_.size(); }
  const Level& operator[](Number level) const { return levels_[level]; }
  Number of(Number level, NodeId node) const {
    const auto& domain_of = levels_[level].domain_of;
    return node.index() < domain_of.size() ? domain_of[node.index()] : kNone;
  }

  // Whether the node is in another domain than its labels, taints and liveness say now.
  bool is_outdated(Number level, NodeId node) const;
  void move(Number level, NodeId node);

 private:
  struct Among {
    std::string key;
    Shape pod;                        // the constraints that count
    std::vector<std::string> labels;  // all of which the node must have
    std::int64_t levels = 0;          // that use it; 0: free
  };
  const std::string* value_at(const Level& level, NodeId node) const;
  void put_in(Level& level, NodeId node);

  const NodeTable& nodes_;
  std::vector<Level> levels_;
  std::vector<Among> among_;
};

}  // namespace berth::engine
