#include "dialect/tree/node_sums.h"

#include <algorithm>

namespace berth::dialect {
namespace {

// Label sets of flavors that are gone are forgotten with all others; what is still asked for is summed up once more.
constexpr std::size_t kMostLabelSets = 1024;

bool has_all(const Node& node, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto it = node.labels.find(label.first);
    return it != node.labels.end() && it->second == label.second;
  });
}

}  // namespace

void NodeSums::add(Sum& sum, const Node& node, int sign) {
  sum.nodes += sign;
  for (const auto& [resource, amount] : node.allocatable) sum.amounts[resource] += Int128{sign} * amount;
  for (const auto& pool : node.devices) sum.amounts[pool.resource] += Int128{sign} * pool.count * 1000;
}

void NodeSums::change(const Node* before, const Node* after) {
  const auto count = [this](const Node& node, int sign) {
    for (const auto& pool : node.devices) {
      const auto it = device_nodes_.try_emplace(pool.resource, 0).first;
      it->second += sign;
      if (it->second == 0) device_nodes_.erase(it);
    }
    for (auto& [labels, sum] : sums_) {
      if (has_all(node, labels)) add(sum, node, sign);
    }
  };
  if (before != nullptr) count(*before, -1);
  if (after != nullptr) count(*after, +1);
}

std::optional<std::int64_t> NodeSums::of(const Labels& labels, const std::string& resource,
                                         const Nodes& nodes) {
  if (sums_.size() >= kMostLabelSets && !sums_.contains(labels)) sums_.clear();
  const auto [it, fresh] = sums_.try_emplace(labels);
  if (fresh) {
    for (const auto& [name, node] : nodes) {
      if (has_all(node, labels)) add(it->second, node, +1);
    }
  }
  if (it->second.nodes == 0) return std::nullopt;
  const auto amount = it->second.amounts.find(resource);
  return amount == it->second.amounts.end() ? 0 : clamp_to_int64(amount->second);
}

std::set<std::string> NodeSums::scarce() const {
  std::set<std::string> out;
  for (const auto& [resource, pools] : device_nodes_) out.insert(resource);
  if (out.empty()) out = {"cpu", "memory"};
  return out;
}

}  // namespace berth::dialect
