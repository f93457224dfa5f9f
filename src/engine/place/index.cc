#include "engine/place/index.h"

#include <bit>

#include "engine/place/score.h"

namespace berth::engine {
namespace {
constexpr std::int64_t kNoFit = kInt64Max;
}

bool ShapeIndex::better(std::uint32_t a, std::uint32_t b) const {
  return key_[a] < key_[b] || (key_[a] == key_[b] && tie_[a] < tie_[b]);
}

void ShapeIndex::refresh(const NodeTable& nodes) {
  if (!built_ || cursor_ < nodes.log_begin() || nodes.size() > leaves_ ||
      topology_version_ != nodes.topology_version()) {
    rebuild(nodes);
    return;
  }
  for (; cursor_ < nodes.log_end(); ++cursor_) update(nodes, nodes.log_at(cursor_));
}

void ShapeIndex::rebuild(const NodeTable& nodes) {
  const std::size_t n = nodes.size();
  leaves_ = static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(n + n / 8, 2)));
  key_.assign(leaves_, kNoFit);
  tie_.assign(leaves_, ~std::uint64_t{0});
  fit_.assign(leaves_, 0);
  preference_.assign(leaves_, -1);
  seen_static_.assign(leaves_, ~std::uint64_t{0});
  sums_.assign(nodes.domain_count(), 0);
  total_ = 0;
  winner_.assign(2 * std::size_t{leaves_}, 0);
  for (std::uint32_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = i;
  topology_version_ = nodes.topology_version();
  built_ = true;
  cursor_ = nodes.log_end();
  for (std::size_t i = 0; i < n; ++i) update(nodes, NodeId(i));
  for (std::uint32_t at = leaves_ - 1; at >= 1; --at) {
    winner_[at] = better(winner_[2 * at + 1], winner_[2 * at]) ? winner_[2 * at + 1] : winner_[2 * at];
  }
}

void ShapeIndex::update(const NodeTable& nodes, NodeId id) {
  const std::uint32_t i = id.value;
  const auto& record = nodes.record(id);
  if (seen_static_[i] != nodes.static_version(id)) {
    seen_static_[i] = nodes.static_version(id);
    tie_[i] = record.tie;
    const bool ok = record.alive && static_mismatch(*shape_, record.spec).code == ReasonCode::kNone;
    preference_[i] = ok ? static_cast<std::int32_t>(preference(*shape_, record.spec)) : -1;
  }
  const std::int64_t fit = preference_[i] < 0 ? 0 : nodes.fit_by_room(id, *shape_, mode_);
  if (const std::int64_t delta = fit - fit_[i]; delta != 0) {
    fit_[i] = fit;
    total_ += delta;
    for (const DomainId domain : record.domains) {
      if (domain.valid()) sums_[domain.index()] += delta;
    }
  }
  key_[i] = fit == 0 ? kNoFit : placement_key(nodes, id, *shape_, preference_[i], mode_);
  replay(i);
}

void ShapeIndex::replay(std::uint32_t leaf) {
  for (std::uint32_t at = (leaves_ + leaf) / 2; at >= 1; at /= 2) {
    winner_[at] = better(winner_[2 * at + 1], winner_[2 * at]) ? winner_[2 * at + 1] : winner_[2 * at];
  }
}

NodeId ShapeIndex::best() const {
  const std::uint32_t at = winner_[1];
  return key_[at] == kNoFit ? NodeId() : NodeId(at);
}

NodeId ShapeIndex::best_of(const NodeTable&, std::span<const NodeId> among) const {
  NodeId best;
  for (const NodeId id : among) {
    if (key_[id.index()] == kNoFit) continue;
    if (!best.valid() || better(id.value, best.value)) best = id;
  }
  return best;
}

}  // namespace berth::engine
