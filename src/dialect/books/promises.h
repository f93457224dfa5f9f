// Promises and decisions of the live loop about workloads: rests, standings, updates of their pods, nodes that came. By uid, for
// workloads that are known and for others. Private to the intake.
//
// Cost: O(1) per call.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dialect/books/words.h"

namespace berth::dialect {

// Each setter: true where it changes something.
class Promises {
 public:
  // It is not tried for this reason; none: it is.
  bool set_rest(std::string_view workload, std::optional<Reason> why);
  const Reason* rest(const std::string& workload) const;

  // In force until an empty one is set.
  bool set_standing(std::string_view workload, const Standing& standing);
  const Standing* standing(std::string_view workload) const;

  // The pods of an owner will get these updates.
  bool amend(std::string_view owner, std::span<const PodSetUpdate> updates);
  std::span<const PodSetUpdate> amendments(std::string_view owner) const;

  // The nodes that were provisioned for it exist.
  bool set_nodes_came(std::string_view workload, bool came);
  bool nodes_came(const std::string& workload) const { return supplied_.contains(workload); }

  // It lacks nodes alone, and its pods are to ask for them.
  bool set_asks_nodes(std::string_view workload, bool asks);
  bool asks_nodes(const std::string& workload) const { return asking_.contains(workload); }

  // The owner is gone.
  void forget_owner(const std::string& uid);
  // The workload is no more; its standing may have been set for one that is still to come.
  void forget_workload(const std::string& uid) {
    supplied_.erase(uid);
    asking_.erase(uid);
  }

 private:
  std::unordered_map<std::string, Reason> rests_;
  std::unordered_map<std::string, Standing> standings_;
  std::unordered_map<std::string, std::vector<PodSetUpdate>> amendments_;
  std::unordered_set<std::string> supplied_;
  std::unordered_set<std::string> asking_;
};

}  // namespace berth::dialect
