// Karpenter's NodePools (karpenter.sh): how much their limits still allow. Read only, and only where work asks for nodes.
//
// The answer is a lower bound of what is missing: Karpenter makes whole nodes, of sizes that no object says. So what this refuses can
// never come; what it allows may still not come, if the rest of a limit is smaller than a node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/labels.h"
#include "model/resources.h"

namespace berth::dialect {

inline constexpr std::string_view kNodePoolsPath = "/apis/karpenter.sh/v1/nodepools";

struct NodePool {
  std::string name;
  Labels labels;  // spec.template.metadata.labels, of all its nodes
  std::map<std::string, std::vector<std::string>>
      in;               // requirements of its nodes with the operator In: label -> values
  ResourceList limits;  // spec.limits; a resource without one has none
  ResourceList used;    // status.resources: of the nodes that it has
};

// A NodePoolList as the API server writes it. Amounts that are no quantities are no limits. Error: no JSON.
Result<std::vector<NodePool>> read_node_pools(std::string_view json);

// Whether its nodes may have these labels. Labels that it does not say may come with the machine.
bool may_have(const NodePool& pool, const Labels& labels);

// A limit that does not allow it.
struct NodePoolShort {
  std::string resource;
  std::int64_t asked = 0;
  std::int64_t left = 0;  // of all pools together
  std::string pools;      // names with commas
};
// Whether the pools together may still make nodes for `asked`; nothing: they may, or there are none, so that nothing is known.
// O(pools x resources).
std::optional<NodePoolShort> node_pool_short(const std::vector<const NodePool*>& pools,
                                             const ResourceList& asked);
// "NodePool gpu allows 16 more nvidia.com/gpu (spec.limits), and 24 are asked for".
std::string to_text(const NodePoolShort& lack);

}  // namespace berth::dialect
