// Per shape and mode: the best node, and the number of slots that fit in all and per topology domain. Lazy: an index reads the node
// table's change log from its own cursor when it is used, so a change costs nothing to unused shapes.
//
// The best node is the winner of a tournament over (key, age, tie), with the age only where it counts (nodes/score.h): blocks of 16
// adjacent nodes, and a tree over the winners of the blocks. Reading it is O(1). A changed node costs O(1) if it neither was nor becomes
// the winner of its block. Otherwise it costs O(16 + log nodes) at most: a match whose winner stays the same ends the walk.
// Data that shapes share is computed once for all of them: nodes that constraints allow (nodes/suits.h), free devices
// (nodes/device_states.h), and their usable room (nodes/fragments.h).
// Rolled-back trials are changes like any other: the log simply names the node again.
// Counted terms (nodes/counted.h) cap the fits. A shape with a part in some also follows the log of their domains. Where it excludes
// or spreads itself the fits do not add up: total() and total_in() are then bounds, found when asked for, O(nodes) each.
// Memory: 15 bytes a node, 4 more for a shape with a spread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/nodes/counted.h"
#include "engine/nodes/fragments.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

class ShapeIndex {
 public:
  ShapeIndex(const Shape& shape, Mode mode) : shape_(&shape), mode_(mode) {}

  // Catches up with the node table and the demand mix. O(changes since the last call), at most O(nodes); O(nodes) for a new
  // mix. All three outlive this.
  void refresh(const NodeTable& nodes, Fragments& fragments, const Counted& counted);
  // Unused for so long that the next refresh() begins anew.
  bool stale(const NodeTable& nodes) const { return !built_ || cursor_ < nodes.changes().all().begin(); }

  // After refresh():
  NodeId best() const;  // none where nothing fits
  // Is `a`, on which something fits, better than `b`?
  bool wins(const NodeTable& nodes, NodeId a, NodeId b) const;
  std::int64_t fit(NodeId id) const { return block_of(id).fit[id.value % kBlock]; }
  // Slots that fit now, over all nodes; and in a domain. Where it excludes or spreads itself: at most.
  std::int64_t total() const { return limited_ ? at_most(everywhere_) : total_; }
  std::int64_t total_in(DomainId domain) const {
    return limited_ ? at_most(nodes_->domains()[domain].nodes) : sums_[domain.index()];
  }
  // Whether so many fit. For one slot no sum is needed.
  bool has_total(std::int64_t slots) const { return (slots <= 1 && total_ > 0) || total() >= slots; }
  bool has_total_in(DomainId domain, std::int64_t slots) const {
    return (slots <= 1 && sums_[domain.index()] > 0) || total_in(domain) >= slots;
  }
  // The same of any nodes, each once.
  std::int64_t total_of(std::span<const NodeId> nodes) const;
  bool eligible(NodeId id) const { return suits_->of(id) >= 0; }  // constraints hold, whatever is free

 private:
  static constexpr std::int64_t kNoFit = kInt64Max;
  static constexpr std::uint32_t kBlock = 16;
  static constexpr std::uint64_t kAhead = 6;  // entries of the log

  // Nodes that lie side by side: what is read and written together lies together.
  struct Block {
    std::int64_t key[kBlock];
    std::int32_t fit[kBlock];
  };
  // One that plays, with all that decides: the smallest wins. Where nothing fits it is that of no node.
  struct Entry {
    std::int64_t key = kNoFit;
    TimeMs oldest = 0;                      // Ages::oldest(), where the age counts
    std::uint64_t tie = ~std::uint64_t{0};  // NodeTable::tie(), which ends with the node
    std::uint32_t node() const { return static_cast<std::uint32_t>(tie); }
    auto operator<=>(const Entry&) const = default;
  };

  void rebuild(const NodeTable& nodes, Fragments& fragments);
  void follow_terms(const NodeTable& nodes, Fragments& fragments, bool replay);
  void cap_spread(const NodeTable& nodes, Fragments& fragments, std::vector<CountedCrossing> crossings,
                  bool replay);
  // The same fits with other preferences.
  void lean_again(const NodeTable& nodes, std::vector<CountedCrossing> crossings, bool replay);
  // The nodes of the domains in which something changed, each once at least: all, where a change is one of all domains.
  template <class Again>
  void each_node_of(const NodeTable& nodes, std::vector<CountedCrossing> crossings, const Again& again) const;
  std::int64_t preference_of(NodeId id) const;
  void note_limits(const NodeTable& nodes);
  std::int64_t at_most(std::span<const NodeId> nodes) const;
  // Brings fit, sums and key up to date, not the tournament. True where the key has changed.
  bool update(const NodeTable& nodes, Fragments& fragments, NodeId id);
  bool put_fit(const NodeTable& nodes, NodeId id, std::int64_t fit, std::int64_t key);
  std::int64_t key_of(const NodeTable& nodes, Fragments& fragments, NodeId id) const;
  Entry entry(const NodeTable& nodes, NodeId id) const;
  void play(const NodeTable& nodes, NodeId id);
  void score_again(const NodeTable& nodes, Fragments& fragments, bool all);
  void play_all(const NodeTable& nodes);
  void play_blocks();
  Entry winner_of_block(const NodeTable& nodes, std::uint32_t block) const;
  bool up(std::uint32_t at);
  Block& block_of(NodeId id) { return data_[id.value / kBlock]; }
  const Block& block_of(NodeId id) const { return data_[id.value / kBlock]; }
  std::int64_t key(NodeId id) const { return block_of(id).key[id.value % kBlock]; }
  void prefetch(const NodeTable& nodes, const Fragments& fragments, NodeId id) const;

  const Shape* shape_;
  std::shared_ptr<SuitColumn> suits_;
  Mode mode_;
  DeviceRequestId request_;
  bool built_ = false;
  bool by_age_ = false;  // among equals the node whose work began first
  std::uint64_t cursor_ = 0;
  std::uint64_t fixed_cursor_ = 0;
  std::uint64_t oldest_cursor_ = 0;
  std::uint64_t topology_version_ = 0;
  std::uint64_t mix_version_ = 0;
  std::int64_t total_ = 0;
  std::uint32_t size_ = 0;    // nodes there is room for, a multiple of the block
  std::uint32_t blocks_ = 0;  // power of two
  std::vector<Block> data_;
  std::vector<Entry> tree_;         // [1] is the root, [blocks_ + b] the winner of block b
  std::vector<std::int64_t> sums_;  // by domain
  const NodeTable* nodes_ = nullptr;
  const Counted* counted_ = nullptr;
  std::uint64_t counted_cursor_ = 0;
  bool limited_ = false;             // placing one changes how many fit elsewhere
  std::vector<NodeId> everywhere_;   // all nodes, where limited_
  std::vector<std::int32_t> rooms_;  // by node: what fits but for its spread; only where it has one
};

}  // namespace berth::engine
