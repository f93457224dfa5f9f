// The sum of the nodes' capacities, by the node labels of a flavor: kept with every change of a node, so that the root of the
// cluster's tree of queues (cluster_tree.h) can follow the nodes without looking at all of them.
//
// Costs: change() O(label sets asked for x resources of the node); of() O(log n), and O(nodes) the first time that a label set
// is asked for. Exact: sums beyond 64 bits are given as the most that 64 bits hold, and come back from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/checked.h"
#include "model/labels.h"
#include "model/node.h"

namespace berth::dialect {

class NodeSums {
 public:
  using Nodes = std::map<std::string, Node, std::less<>>;

  // A node came (no `before`), went (no `after`) or is another now.
  void change(const Node* before, const Node* after);
  // How much of the resource the nodes with these labels have, base units; none: there is no such node. `nodes`: all that
  // change() was told of.
  std::optional<std::int64_t> of(const Labels& labels, const std::string& resource, const Nodes& nodes);
  // The resources that some node has devices of; where no node has any, CPU and memory.
  std::set<std::string> scarce() const;

 private:
  struct Sum {
    std::int64_t nodes = 0;
    std::map<std::string, Int128> amounts;
  };
  static void add(Sum& sum, const Node& node, int sign);

  std::map<Labels, Sum> sums_;
  std::map<std::string, std::int64_t> device_nodes_;  // resource -> pools of it on all nodes
};

}  // namespace berth::dialect
