#include "engine/place/index.h"

#include <algorithm>
#include <bit>

#include "engine/place/score.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kNoFit = kInt64Max;
constexpr std::uint32_t kNobody = 0xffffffffu;

std::uint64_t tie_of(const NodeTable& nodes, std::uint32_t node) {
  return node < nodes.size() ? nodes.tie(NodeId(node)) : ~std::uint64_t{0};
}

bool better(const NodeTable& nodes, std::int64_t key_a, std::uint32_t a, std::int64_t key_b,
            std::uint32_t b) {
  return key_a < key_b || (key_a == key_b && key_a != kNoFit && tie_of(nodes, a) < tie_of(nodes, b));
}

}  // namespace

void ShapeIndex::refresh(const NodeTable& nodes, Fragments& fragments) {
  const bool scores_mix = shape_->placement == Placement::kFragmentation;
  if (!built_ || cursor_ < nodes.log_begin() || nodes.size() > size_ ||
      topology_version_ != nodes.topology_version()) {
    rebuild(nodes, fragments);
    mix_version_ = fragments.version();
    return;
  }
  const bool rescore = scores_mix && mix_version_ != fragments.version();
  for (; cursor_ < nodes.log_end(); ++cursor_) {
    const NodeTable::Change change = nodes.log_at(cursor_);
    if (update(nodes, fragments, change.node, change.fixed) && !rescore) play(nodes, change.node);
  }
  if (!rescore) return;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (fit_[i] > 0) key_[i] = key_of(nodes, fragments, NodeId(i));
  }
  play_all(nodes);
  mix_version_ = fragments.version();
}

void ShapeIndex::rebuild(const NodeTable& nodes, Fragments& fragments) {
  const std::size_t n = nodes.size();
  request_ = nodes.device_states().request(shape_->devices);
  blocks_ = static_cast<std::uint32_t>((n + n / 8) / kBlock + 1);
  size_ = blocks_ * kBlock;
  blocks_ = std::bit_ceil(blocks_);
  key_.assign(size_, kNoFit);
  fit_.assign(size_, 0);
  preference_.assign(size_, -1);
  sums_.assign(nodes.domain_count(), 0);
  total_ = 0;
  topology_version_ = nodes.topology_version();
  built_ = true;
  cursor_ = nodes.log_end();
  for (std::size_t i = 0; i < n; ++i) update(nodes, fragments, NodeId(i), true);
  play_all(nodes);
}

std::int64_t ShapeIndex::key_of(const NodeTable& nodes, Fragments& fragments, NodeId id) const {
  return score(nodes, fragments, id, *shape_, request_, preference_[id.index()], mode_).key;
}

bool ShapeIndex::update(const NodeTable& nodes, Fragments& fragments, NodeId id, bool fixed) {
  const std::size_t i = id.index();
  const auto& record = nodes.record(id);
  if (fixed) {
    const bool ok = record.alive && static_mismatch(*shape_, record.spec).code == ReasonCode::kNone;
    preference_[i] = ok ? static_cast<std::int16_t>(preference(*shape_, record.spec)) : std::int16_t{-1};
  }
  std::int64_t fit = 0;
  if (preference_[i] >= 0) {
    fit =
        nodes.is_opaque(id) ? kInt64Max : nodes.device_states().fit(nodes.device_state(id, mode_), request_);
    if (fit > 0) fit = std::min(fit, nodes.fit_by_amounts(id, *shape_, mode_));
  }
  if (const std::int64_t delta = fit - fit_[i]; delta != 0) {
    fit_[i] = static_cast<std::int32_t>(fit);
    total_ += delta;
    for (const DomainId domain : record.domains) {
      if (domain.valid()) sums_[domain.index()] += delta;
    }
  }
  const std::int64_t key = fit == 0 ? kNoFit : key_of(nodes, fragments, id);
  const bool changed = key != key_[i] || fixed;
  key_[i] = key;
  return changed;
}

ShapeIndex::Entry ShapeIndex::winner_of_block(const NodeTable& nodes, std::uint32_t block) const {
  Entry best{kNoFit, kNobody};
  const std::uint32_t begin = block * kBlock;
  if (begin >= size_) return best;
  for (std::uint32_t i = begin; i < begin + kBlock; ++i) {
    if (better(nodes, key_[i], i, best.key, best.node)) best = {key_[i], i};
  }
  return best;
}

// The match at `at` again; false where its winner is the same.
bool ShapeIndex::up(const NodeTable& nodes, std::uint32_t at) {
  const Entry& left = tree_[2 * at];
  const Entry& right = tree_[2 * at + 1];
  const Entry& won = better(nodes, right.key, right.node, left.key, left.node) ? right : left;
  if (won.key == tree_[at].key && won.node == tree_[at].node) return false;
  tree_[at] = won;
  return true;
}

void ShapeIndex::play(const NodeTable& nodes, NodeId id) {
  const std::uint32_t block = id.value / kBlock;
  Entry& leaf = tree_[blocks_ + block];
  const std::int64_t key = key_[id.index()];
  if (leaf.node == id.value) {
    const Entry now = winner_of_block(nodes, block);
    // The same node with another tie (`fixed`) plays again all the way up; rare.
    leaf = now;
  } else if (better(nodes, key, id.value, leaf.key, leaf.node)) {
    leaf = {key, id.value};
  } else {
    return;
  }
  for (std::uint32_t at = (blocks_ + block) / 2; at >= 1; at /= 2) {
    if (!up(nodes, at) && tree_[at].node != id.value) return;
  }
}

void ShapeIndex::play_all(const NodeTable& nodes) {
  tree_.assign(2 * std::size_t{blocks_}, Entry{kNoFit, kNobody});
  for (std::uint32_t b = 0; b < blocks_; ++b) tree_[blocks_ + b] = winner_of_block(nodes, b);
  for (std::uint32_t at = blocks_ - 1; at >= 1; --at) up(nodes, at);
}

NodeId ShapeIndex::best() const {
  const Entry& won = tree_[1];
  return won.key == kNoFit ? NodeId() : NodeId(won.node);
}

NodeId ShapeIndex::best_of(const NodeTable& nodes, std::span<const NodeId> among) const {
  NodeId best;
  for (const NodeId id : among) {
    if (key_[id.index()] == kNoFit) continue;
    if (!best.valid() || better(nodes, key_[id.index()], id.value, key_[best.index()], best.value)) best = id;
  }
  return best;
}

}  // namespace berth::engine
