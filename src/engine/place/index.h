// Per shape and mode: the best node, how many slots fit in all and per topology domain. Lazy: an index reads the node
// table's change log from its own cursor when it is asked, so a change costs nothing to shapes that nobody asks about.
//
// The best node is the winner of a tournament over (key, tie): blocks of 16 nodes that lie side by side, and a tree over the
// winners of the blocks. O(1) to read; a changed node costs O(1) where it neither was nor becomes the winner of its block,
// else O(16 + log nodes) at most: a match whose winner stays the same ends the walk.
// Where nodes' free room is alike they are scored once: place/device_states.h, place/fragments.h.
// Rolled-back trials are changes like any other: the log simply names the node again.
// Memory: 15 bytes a node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/place/fragments.h"
#include "engine/place/nodes.h"
#include "engine/place/shape.h"

namespace berth::engine {

class ShapeIndex {
 public:
  ShapeIndex(const Shape& shape, Mode mode) : shape_(&shape), mode_(mode) {}

  // Catches up with the node table and the demand mix. O(changes since the last call), O(nodes) for a new mix, or a rebuild
  // after long idleness.
  void refresh(const NodeTable& nodes, Fragments& fragments);
  // It would be built anew by the next refresh().
  bool stale(const NodeTable& nodes) const { return !built_ || cursor_ < nodes.log_begin(); }

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
  static constexpr std::uint32_t kBlock = 16;
  struct Entry {
    std::int64_t key;
    std::uint32_t node;
  };

  void rebuild(const NodeTable& nodes, Fragments& fragments);
  // Brings fit, sums and key up to date, not the tournament. True where the key or the tie may have changed.
  bool update(const NodeTable& nodes, Fragments& fragments, NodeId id, bool fixed);
  std::int64_t key_of(const NodeTable& nodes, Fragments& fragments, NodeId id) const;
  void play(const NodeTable& nodes, NodeId id);
  void play_all(const NodeTable& nodes);
  Entry winner_of_block(const NodeTable& nodes, std::uint32_t block) const;
  bool up(const NodeTable& nodes, std::uint32_t at);

  const Shape* shape_;
  Mode mode_;
  DeviceRequestId request_;
  bool built_ = false;
  std::uint64_t cursor_ = 0;
  std::uint64_t topology_version_ = 0;
  std::uint64_t mix_version_ = 0;
  std::int64_t total_ = 0;
  std::uint32_t size_ = 0;         // nodes there is room for, a multiple of the block
  std::uint32_t blocks_ = 0;       // power of two
  std::vector<std::int64_t> key_;  // by node
  std::vector<std::int32_t> fit_;
  std::vector<std::int16_t> preference_;  // -1: constraints do not hold
  std::vector<Entry> tree_;               // [1] is the root, [blocks_ + b] the winner of block b
  std::vector<std::int64_t> sums_;        // by domain
};

}  // namespace berth::engine
