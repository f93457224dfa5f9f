#include "dialect/intake/gang_nearness.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace berth::dialect {
namespace {

// The pods of a ring become one group of pod sets, which stand side by side. `left`: the rings that have ended before the last role.
std::optional<Reason> why_apart(const std::vector<std::vector<GangRing>>& by_role,
                                std::set<std::string>& left) {
  const std::vector<GangRing>& now = by_role.back();
  if (by_role.size() > 1) {
    for (const GangRing& ring : by_role[by_role.size() - 2]) {
      if (std::find(now.begin(), now.end(), ring) == now.end()) left.insert(ring.name);
    }
  }
  for (const GangRing& ring : now) {
    if (!left.contains(ring.name)) continue;
    return reason_of(
        ReasonCode::kUnsupported,
        fmt::format("topologyConstraint: pods of subgroup {} came between those of another one", ring.name));
  }
  return std::nullopt;
}

}  // namespace

GangNearness nearness_of(const HyperBook& hyper_nodes, const GangObject& object,
                         const std::vector<Role>& roles, std::int64_t size) {
  GangNearness out;
  const auto request = [&](const TierRequest& asked, const std::string& field) {
    std::string why_not;
    TopologyRequest found = hyper_nodes.request_of(asked, why_not);
    if (!why_not.empty() && !out.why_not) {
      out.why_not = reason_of(ReasonCode::kTopology, fmt::format("{}: {}", field, why_not));
      out.why_not->subject = "HyperNode";
      out.why_not->need = size;
    }
    return found;
  };
  if (object.tiers) out.whole = request(*object.tiers, "networkTopology");
  const auto asks = [](const GangSplit& split) { return split.tiers.has_value(); };
  const bool by_labels = object.parts_ask_for_topology();
  if (!by_labels && std::none_of(object.splits.begin(), object.splits.end(), asks)) return out;
  std::set<std::string_view> ended;
  std::set<std::string> left;  // rings
  for (std::size_t r = 0; r < roles.size(); ++r) {
    const std::string& part = roles[r].part;
    const GangSplit* split = object.split_of(part);
    out.parts.emplace_back();
    out.rings.push_back(object.rings_of(part));
    if (auto why_not = why_apart(out.rings, left); why_not && !out.why_not) out.why_not = std::move(why_not);
    if (r > 0 && roles[r - 1].part != part) ended.insert(roles[r - 1].part);
    const bool by_tiers = split != nullptr && split->tiers;
    const TopologyRequest own = object.topology_of(part);
    if (!by_tiers && own.empty()) continue;
    const std::string field = by_tiers ? fmt::format("subGroupPolicy {}: networkTopology", split->name)
                                       : std::string("topologyConstraint");
    out.parts.back() = by_tiers ? request(*split->tiers, field) : own;
    if (!ended.contains(part) || out.why_not) continue;
    out.why_not = reason_of(
        ReasonCode::kUnsupported,
        fmt::format("{}: the pods of {} have several templates, and came between those of other subgroups",
                    field, part));
  }
  return out;
}

}  // namespace berth::dialect
