// Volcano's HyperNodes as levels of one topology: each tier is a node label that Berth gives the nodes itself (synthetic labels). Its
// value on a node is the widest HyperNode of this tier or below which has the node. So a domain of a level has all nodes that are as
// near to each other as the tier says. Private to the intake.
//
// HyperNodes that contradict each other count as far as they can. Each has one parent, and a node is in one of each tier: the first by
// name. A member of the same tier or above is none. All of that is told.
//
// Cost: O(log n) per object. settle(): O(members), and O(nodes) for each member that chooses by pattern or labels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/base/problem.h"
#include "dialect/gangs/gang_object.h"
#include "dialect/volcano/hyper_node.h"
#include "model/node.h"
#include "model/workload.h"

namespace berth::dialect {

inline constexpr std::string_view kHyperTier = "volcano.sh/hypernode-tier-";  // and the number of the tier
inline constexpr std::string_view kHyperTopology = "volcano:hypernodes";

class HyperBook {
 public:
  bool put(HyperNode object);  // whether it says something new
  // False: it was not there.
  bool remove(std::string_view name);

  // Finds parents and members, if something has changed. Calls f(node, the same with other labels) for each of the nodes, which are all
  // that there are, whose labels are to be others.
  template <class F>
  void settle(std::map<std::string, Node, std::less<>>& nodes, F&& f) {
    if (settled_) return;
    find(nodes);
    for (auto& [name, node] : nodes) {
      Node now = node;
      label(now, nullptr);
      if (now.labels != node.labels) f(node, std::move(now));
    }
  }
  // Gives the node its labels, instead of those that it had. Until the next settle() it keeps those of `before`; nullptr: it is new.
  void label(Node& node, const Node* before) const;
  // The labels of all tiers, widest first; none: there are no HyperNodes.
  std::vector<std::string> levels() const;
  // Such a request, as one of this topology; `why_not`: why it cannot be met.
  TopologyRequest request_of(const TierRequest& asked, std::string& why_not) const;
  // As of the last settle().
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  class Pattern;
  struct Chooser {  // nodes, or HyperNodes
    const std::string* of = nullptr;
    std::shared_ptr<const Pattern> pattern;  // nullptr: by labels
    const LabelSelector* labels = nullptr;
  };
  // The HyperNodes that have this node themselves.
  std::set<std::string_view> around(const Node& node) const;
  // These, and those around them, by tier. `rival`: one that does not count, since another one of its tier does.
  std::map<std::int64_t, std::string_view> chain_of(const Node& node, std::string_view* rival) const;
  void find(const std::map<std::string, Node, std::less<>>& nodes);
  void adopt(const std::string& parent, std::string_view child);
  void note(std::string_view name, std::string message);

  std::map<std::string, HyperNode, std::less<>> objects_;
  std::map<std::int64_t, std::int64_t> tiers_;  // of how many HyperNodes
  bool settled_ = true;
  std::map<std::string, std::string, std::less<>> parents_;
  std::map<std::string, std::vector<const std::string*>, std::less<>> by_node_;  // the exact ones
  std::vector<Chooser> choosers_;                                                // of nodes
  std::vector<Problem> problems_;
};

}  // namespace berth::dialect
