// Per shape and mode: the best node, how many slots fit in all and per topology domain. Lazy: an index reads the node
// table's change log from its own cursor when it is asked, so a change costs nothing to shapes that nobody asks about.
//
// The best node is the winner of a tournament tree over (key, tie): O(1) to read, O(log nodes) per changed node to keep.
// Rolled-back trials are changes like any other: the log simply names the node again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/place/nodes.h"
#include "engine/place/shape.h"

namespace berth::engine {

class ShapeIndex {
 public:
  ShapeIndex(const Shape& shape, Mode mode) : shape_(&shape), mode_(mode) {}

  // Catches up with the node table. O(changes since the last call x log nodes), or a rebuild after long idleness.
  void refresh(const NodeTable& nodes);

  // After refresh():
  NodeId best() const;                                                          // none where nothing fits
  NodeId best_of(const NodeTable& nodes, std::span<const NodeId> among) const;  // O(|among|)
  std::int64_t fit(NodeId id) const { return fit_[id.index()]; }
  std::int64_t total() const { return total_; }  // slots that fit now, over all nodes
  std::int64_t total_in(DomainId domain) const { return sums_[domain.index()]; }
  bool eligible(NodeId id) const {
    return preference_[id.index()] >= 0;
  }  // constraints hold, whatever is free

 private:
  void rebuild(const NodeTable& nodes);
  void update(const NodeTable& nodes, NodeId id);
  bool better(std::uint32_t a, std::uint32_t b) const;
  void replay(std::uint32_t leaf);

  const Shape* shape_;
  Mode mode_;
  bool built_ = false;
  std::uint64_t cursor_ = 0;
  std::uint64_t topology_version_ = 0;
  std::int64_t total_ = 0;
  std::uint32_t leaves_ = 0;       // power of two
  std::vector<std::int64_t> key_;  // by node
  std::vector<std::uint64_t> tie_;
  std::vector<std::int64_t> fit_;
  std::vector<std::int32_t> preference_;  // -1: constraints do not hold
  std::vector<std::uint64_t> seen_static_;
  std::vector<std::uint32_t> winner_;  // tournament, [1] is the root
  std::vector<std::int64_t> sums_;     // by domain
};

}  // namespace berth::engine
