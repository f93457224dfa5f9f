#include "engine/nodes/suits.h"

#include <algorithm>

#include "engine/nodes/nodes.h"

namespace berth::engine {

void SuitColumn::update(const NodeTable& nodes, NodeId node) {
  const auto& record = nodes.record(node);
  const bool ok = record.alive && static_mismatch(constraints_, record.spec).code == ReasonCode::kNone;
  preference_[node.index()] =
      ok ? static_cast<std::int16_t>(preference(constraints_, record.spec)) : std::int16_t{-1};
}

void SuitColumn::refresh(const NodeTable& nodes) {
  const ChangeLog& log = nodes.changes().fixed();
  if (cursor_ == log.end()) return;
  const std::size_t had = preference_.size();
  preference_.resize(nodes.size(), -1);
  if (had == 0 || cursor_ < log.begin()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) update(nodes, NodeId(i));
  } else {
    for (; cursor_ < log.end(); ++cursor_) update(nodes, log.at(cursor_));
  }
  cursor_ = log.end();
}

std::shared_ptr<SuitColumn> Suits::column(const Shape& shape) {
  Shape constraints = shape;
  constraints.amounts.clear();
  constraints.devices.clear();
  constraints.tokens.clear();
  constraints.mounts.clear();
  constraints.placement = Placement::kDefault;
  constraints.counted = CountedId();
  std::weak_ptr<SuitColumn>& known = columns_[shape_key(constraints)];
  if (auto column = known.lock()) return column;
  auto column = std::make_shared<SuitColumn>(std::move(constraints));
  known = column;
  if (columns_.size() >= sweep_at_) {
    std::erase_if(columns_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * columns_.size());
  }
  return column;
}

}  // namespace berth::engine
