#include "engine/nodes/index.h"

#include <algorithm>
#include <bit>

#include "engine/nodes/room.h"
#include "engine/nodes/score.h"

namespace berth::engine {

ShapeIndex::Entry ShapeIndex::entry(const NodeTable& nodes, NodeId id) const {
  const std::int64_t key = this->key(id);
  if (key == kNoFit) return {};
  return {key, by_age_ ? nodes.held().ages.oldest(id) : 0, nodes.tie(id)};
}

void ShapeIndex::prefetch(const NodeTable& nodes, const Fragments& fragments, NodeId id) const {
  const Block& block = block_of(id);
  __builtin_prefetch(&block.key[id.value % kBlock], 1);
  __builtin_prefetch(&block.fit[id.value % kBlock], 1);
  __builtin_prefetch(&tree_[blocks_ + id.value / kBlock], 1);
  nodes.prefetch(id);
  if (shape_->placement == Placement::kFragmentation) fragments.prefetch(id, mode_);
}

void ShapeIndex::refresh(const NodeTable& nodes, Fragments& fragments, const Counted& counted) {
  nodes_ = &nodes;
  counted_ = &counted;
  const bool has_terms = shape_->counted.valid();
  const bool scores_mix = shape_->placement == Placement::kFragmentation;
  const ChangeLog& log = nodes.changes().all();
  const ChangeLog& fixed = nodes.changes().fixed();
  const ChangeLog& oldest = nodes.held().ages.log();
  const bool by_age = scores_mix && fragments.work_ends();
  // Constraints and ties may be others where something fixed changed: their nodes stand in both logs.
  const bool behind = (has_terms && counted_cursor_ < counted.log().begin()) || !built_ ||
                      cursor_ < log.begin() || fixed_cursor_ < fixed.begin() ||
                      (by_age && oldest_cursor_ < oldest.begin()) || log.end() - cursor_ > nodes.size();
  if (behind || by_age != by_age_ || nodes.size() > size_ || topology_version_ != nodes.domains().version()) {
    by_age_ = by_age;
    rebuild(nodes, fragments);
    mix_version_ = fragments.version();
    return;
  }
  if (fixed_cursor_ != fixed.end()) suits_->refresh(nodes);
  const bool rescore = scores_mix && mix_version_ != fragments.version();
  nodes.changes().begin_round();
  for (; cursor_ < log.end(); ++cursor_) {
    if (cursor_ + kAhead < log.end()) prefetch(nodes, fragments, log.at(cursor_ + kAhead));
    const NodeId node = log.at(cursor_);
    if (!nodes.changes().first_in_round(node)) continue;
    if (!update(nodes, fragments, node)) continue;
    if (!rescore) {
      play(nodes, node);
    } else if (fit(node) > 0) {
      tree_[blocks_ + node.value / kBlock].key = 0;  // something fits in its block now
    }
  }
  if (has_terms) follow_terms(nodes, fragments, !rescore);
  if (rescore) {
    score_again(nodes, fragments, has_terms);
    mix_version_ = fragments.version();
  } else {
    for (; fixed_cursor_ < fixed.end(); ++fixed_cursor_) play(nodes, fixed.at(fixed_cursor_));
    for (; by_age_ && oldest_cursor_ < oldest.end(); ++oldest_cursor_) play(nodes, oldest.at(oldest_cursor_));
  }
  oldest_cursor_ = oldest.end();
  fixed_cursor_ = fixed.end();
}

// The nodes of the domains in which a count that it goes by became or ceased to be zero. For its spread: in which one has changed.
void ShapeIndex::follow_terms(const NodeTable& nodes, Fragments& fragments, bool replay) {
  std::vector<CountedCrossing> spread;
  std::vector<CountedCrossing> leaning;
  for (; counted_cursor_ < counted_->log().end(); ++counted_cursor_) {
    const CountedCrossing& crossing = counted_->log().at(counted_cursor_);
    if (!counted_->concerns(shape_->counted, crossing)) continue;
    if (crossing.of != CountedCrossing::Of::kZero) {
      (crossing.of == CountedCrossing::Of::kSpread ? spread : leaning).push_back(crossing);
      continue;
    }
    if (crossing.domain == CountedCrossing::kEverywhere) return rebuild(nodes, fragments);
    for (const NodeId node : counted_->nodes_of(crossing)) {
      if (nodes.changes().first_in_round(node) && update(nodes, fragments, node) && replay) play(nodes, node);
    }
  }
  if (!spread.empty()) cap_spread(nodes, fragments, std::move(spread), replay);
  if (!leaning.empty()) lean_again(nodes, std::move(leaning), replay);
  note_limits(nodes);
}

template <class Again>
void ShapeIndex::each_node_of(const NodeTable& nodes, std::vector<CountedCrossing> crossings,
                              const Again& again) const {
  const bool all = std::any_of(crossings.begin(), crossings.end(), [](const CountedCrossing& crossing) {
    return crossing.domain == CountedCrossing::kEverywhere;
  });
  if (all) {
    for (std::size_t n = 0; n < nodes.size(); ++n) again(NodeId(n));
    return;
  }
  std::sort(crossings.begin(), crossings.end());
  crossings.erase(std::unique(crossings.begin(), crossings.end()), crossings.end());
  for (const CountedCrossing& crossing : crossings) {
    for (const NodeId node : counted_->nodes_of(crossing)) again(node);
  }
}

std::int64_t ShapeIndex::preference_of(NodeId id) const {
  const std::int64_t of_node = suits_->of(id);
  return shape_->counted.valid() ? of_node + counted_->lean(id, shape_->counted) : of_node;
}

void ShapeIndex::lean_again(const NodeTable& nodes, std::vector<CountedCrossing> crossings, bool replay) {
  each_node_of(nodes, std::move(crossings), [&](NodeId node) {
    if (fit(node) <= 0) return;
    std::int64_t& key = block_of(node).key[node.value % kBlock];
    const std::int64_t now = with_preference(key, preference_of(node));
    if (now == key) return;
    key = now;
    if (replay) play(nodes, node);
  });
}

// The same room under another cap: on all nodes where the fewest of any domain have changed.
void ShapeIndex::cap_spread(const NodeTable& nodes, Fragments& fragments,
                            std::vector<CountedCrossing> crossings, bool replay) {
  const auto again = [&](NodeId node) {
    const std::int64_t room = rooms_[node.index()];
    const std::int64_t fit =
        room > 0 ? std::min(room, counted_->cap_of_spread(node, shape_->counted, mode_)) : 0;
    if (fit == this->fit(node)) return;
    std::int64_t key = kNoFit;
    if (fit > 0) key = this->fit(node) > 0 ? this->key(node) : key_of(nodes, fragments, node);
    if (put_fit(nodes, node, fit, key) && replay) play(nodes, node);
  };
  each_node_of(nodes, std::move(crossings), again);
}

// Domains of hosts are single nodes, whose fits are independent.
void ShapeIndex::note_limits(const NodeTable& nodes) {
  limited_ = counted_->limits_itself(shape_->counted, mode_);
  if (!limited_) return;
  for (std::size_t n = everywhere_.size(); n < nodes.size(); ++n) everywhere_.emplace_back(n);
}

std::int64_t ShapeIndex::at_most(std::span<const NodeId> nodes) const {
  return counted_->at_most(shape_->counted, mode_, nodes, [&](NodeId node) {
    return rooms_.empty() ? fit(node) : std::int64_t{rooms_[node.index()]};
  });
}

std::int64_t ShapeIndex::total_of(std::span<const NodeId> nodes) const {
  if (limited_) return at_most(nodes);
  std::int64_t sum = 0;
  for (const NodeId node : nodes) sum += fit(node);
  return sum;
}

void ShapeIndex::rebuild(const NodeTable& nodes, Fragments& fragments) {
  const std::size_t n = nodes.size();
  request_ = nodes.device_states().request(shape_->devices);
  if (!suits_) suits_ = nodes.suits().column(*shape_);
  suits_->refresh(nodes);
  const std::size_t blocks = (n + n / 8) / kBlock + 1;
  size_ = static_cast<std::uint32_t>(blocks * kBlock);
  blocks_ = static_cast<std::uint32_t>(std::bit_ceil(blocks));
  Block empty;
  std::fill(std::begin(empty.key), std::end(empty.key), kNoFit);
  std::fill(std::begin(empty.fit), std::end(empty.fit), 0);
  data_.assign(blocks, empty);
  sums_.assign(nodes.domains().size(), 0);
  total_ = 0;
  topology_version_ = nodes.domains().version();
  built_ = true;
  cursor_ = nodes.changes().all().end();
  fixed_cursor_ = nodes.changes().fixed().end();
  oldest_cursor_ = nodes.held().ages.log().end();
  counted_cursor_ = counted_->log().end();
  if (shape_->counted.valid()) {
    note_limits(nodes);
    if (counted_->has_spread(shape_->counted)) rooms_.assign(size_, 0);
  }
  for (std::size_t i = 0; i < n; ++i) update(nodes, fragments, NodeId(i));
  play_all(nodes);
}

// The same fits under another mix. Blocks in which nothing fits, most of a full cluster, are passed over; `all`: none are.
void ShapeIndex::score_again(const NodeTable& nodes, Fragments& fragments, bool all) {
  for (std::uint32_t b = 0; b < data_.size(); ++b) {
    Entry& leaf = tree_[blocks_ + b];
    if (!all && leaf.key == kNoFit) continue;
    Block& block = data_[b];
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      if (block.fit[i] > 0) block.key[i] = key_of(nodes, fragments, NodeId(b * kBlock + i));
    }
    leaf = winner_of_block(nodes, b);
  }
  play_blocks();
}

std::int64_t ShapeIndex::key_of(const NodeTable& nodes, Fragments& fragments, NodeId id) const {
  return score(nodes, fragments, id, *shape_, request_, preference_of(id), mode_).key;
}

bool ShapeIndex::update(const NodeTable& nodes, Fragments& fragments, NodeId id) {
  std::int64_t fit = 0;
  if (suits_->of(id) >= 0) {
    // The opaque node has room without end.
    fit = shape_->devices.empty() || nodes.is_opaque(id)
              ? kInt64Max
              : nodes.device_states().fit(nodes.device_state(id, mode_), request_);
    if (fit > 0) fit = fit_by_amounts(nodes, id, *shape_, mode_, fit);
    if (fit > 0 && !shape_->tokens.empty() && !nodes.is_opaque(id))
      fit = nodes.held().tokens.taken(id, shape_->tokens, planes_of(mode_)) ? 0 : 1;
    if (fit > 0 && shape_->counted.valid())
      fit = std::min(fit, counted_->cap_beside_spread(id, shape_->counted, mode_));
  }
  if (!rooms_.empty()) {
    rooms_[id.index()] = static_cast<std::int32_t>(fit);
    if (fit > 0) fit = std::min(fit, counted_->cap_of_spread(id, shape_->counted, mode_));
  }
  return put_fit(nodes, id, fit, fit == 0 ? kNoFit : key_of(nodes, fragments, id));
}

// True where the key has changed.
bool ShapeIndex::put_fit(const NodeTable& nodes, NodeId id, std::int64_t fit, std::int64_t key) {
  Block& block = block_of(id);
  std::int32_t& fit_before = block.fit[id.value % kBlock];
  if (const std::int64_t delta = fit - fit_before; delta != 0) {
    fit_before = static_cast<std::int32_t>(fit);
    total_ += delta;
    for (const DomainId domain : nodes.domains().of(id)) {
      if (domain.valid()) sums_[domain.index()] += delta;
    }
  }
  std::int64_t& key_before = block.key[id.value % kBlock];
  const bool changed = key != key_before;
  key_before = key;
  return changed;
}

ShapeIndex::Entry ShapeIndex::winner_of_block(const NodeTable& nodes, std::uint32_t block) const {
  Entry best;
  if (block >= data_.size()) return best;
  const std::int64_t* const keys = data_[block].key;
  std::int64_t least = kNoFit;
  for (std::uint32_t i = 0; i < kBlock; ++i) least = std::min(least, keys[i]);
  if (least == kNoFit) return best;
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    if (keys[i] == least) best = std::min(best, entry(nodes, NodeId(block * kBlock + i)));
  }
  return best;
}

// The match at `at` again; false where its winner is the same.
bool ShapeIndex::up(std::uint32_t at) {
  const Entry& won = std::min(tree_[2 * at], tree_[2 * at + 1]);
  if (won == tree_[at]) return false;
  tree_[at] = won;
  return true;
}

void ShapeIndex::play(const NodeTable& nodes, NodeId id) {
  const std::uint32_t block = id.value / kBlock;
  Entry& leaf = tree_[blocks_ + block];
  if (leaf.node() == id.value) {
    leaf = winner_of_block(nodes, block);
  } else {
    if (key(id) > leaf.key) return;
    const Entry now = entry(nodes, id);
    if (!(now < leaf)) return;
    leaf = now;
  }
  for (std::uint32_t at = (blocks_ + block) / 2; at >= 1 && up(at); at /= 2) {
  }
}

void ShapeIndex::play_all(const NodeTable& nodes) {
  tree_.assign(2 * std::size_t{blocks_}, Entry{});
  for (std::uint32_t b = 0; b < data_.size(); ++b) tree_[blocks_ + b] = winner_of_block(nodes, b);
  play_blocks();
}

// The matches above the winners of the blocks.
void ShapeIndex::play_blocks() {
  for (std::uint32_t at = blocks_ - 1; at >= 1; --at) up(at);
}

NodeId ShapeIndex::best() const {
  const Entry& won = tree_[1];
  return won.key == kNoFit ? NodeId() : NodeId(won.node());
}

bool ShapeIndex::wins(const NodeTable& nodes, NodeId a, NodeId b) const {
  return entry(nodes, a) < entry(nodes, b);
}

}  // namespace berth::engine
