// The nodes that the constraints of a shape allow, whatever is free on them, and the preference for each. Computed once for all
// shapes with the same constraints: a hundred kinds of pods without a selector share one column.
//
// A column follows the node table's log of fixed changes (labels, taints, cordons, liveness) at its own pace. Cost: O(1) when
// nothing fixed has changed, O(changed nodes) otherwise, O(nodes) for a new column. Memory: 2 bytes a node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/nodes/shape.h"

namespace berth::engine {

class NodeTable;

class SuitColumn {
 public:
  // `constraints`: a shape of which amounts, devices and policy do not matter.
  explicit SuitColumn(Shape constraints) : constraints_(std::move(constraints)) {}

  void refresh(const NodeTable& nodes);
  // After refresh(): the preference (shape.h), or -1 where the constraints do not hold.
  std::int16_t of(NodeId node) const { return preference_[node.index()]; }

 private:
  void update(const NodeTable& nodes, NodeId node);

  Shape constraints_;
  std::uint64_t cursor_ = 0;
  std::vector<std::int16_t> preference_;
};

// Columns by constraints. A column lives as long as a shape refers to it.
class Suits {
 public:
  std::shared_ptr<SuitColumn> column(const Shape& shape);

 private:
  std::unordered_map<std::string, std::weak_ptr<SuitColumn>> columns_;  // looked up; swept as a whole
  std::size_t sweep_at_ = 64;
};

}  // namespace berth::engine
