// Kueue's queue objects <-> the model's queues, flavors and topologies.
//
// A ClusterQueue becomes a leaf queue of its own name; a Cohort an inner queue named "cohort:<name>". A cohort that is only
// named, without an object, exists too. Objects that are misconfigured disable themselves, with a text that says what is wrong:
//   - a cycle of cohorts disables every queue at or below it
//   - a missing ResourceFlavor, a flavor's missing Topology, an AdmissionCheck that is missing or not
//     active, or that cannot be asked, wrong quotas disable the queue
// Berth's, Volcano's and KAI's queues are a tree of their own beside them (cluster_tree.h).
// The book is small (thousands of queues at most): it is recomputed whole when something changed and only the differences
// become events, parents before children.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cycles.h"
#include "dialect/base/problem.h"
#include "dialect/objects/object.h"
#include "dialect/tree/cluster_tree.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::dialect {

inline constexpr std::string_view kCohortPrefix = "cohort:";

class QueueBook {
 public:
  // `opaque`: no nodes are known, so that all flavors are quota without places.
  // `fair`: cohorts share by the dominant shares of their members. `lanes`: of ClusterQueues that ask for it; absent: none is
  // ordered so. Their list is not looked at.
  // `on_demand`: of flavors for which neither they nor their queue says where nodes come from (kNodes).
  explicit QueueBook(bool opaque = false, bool fair = false, std::optional<LaneOrder> lanes = {},
                     bool on_demand = false)
      : opaque_(opaque), fair_(fair), on_demand_(on_demand), lanes_(std::move(lanes)) {}

  // Whether it says something new: most updates are of statuses alone.
  bool upsert(const ClusterQueue& object);
  bool upsert(const Cohort& object);
  bool upsert(const ResourceFlavor& object);
  bool upsert(const TopologyObject& object);
  bool upsert(Kind kind, const TreeQueue& object);
  bool upsert(const AdmissionCheck& object);
  bool upsert(const ProvisioningRequestConfig& object);
  void set_check_mode(CheckMode mode);
  CheckMode check_mode() const { return check_mode_; }
  // Whether the API server has ProvisioningRequests.
  void set_provisioning_served(bool served);
  const std::map<std::string, AdmissionCheck, std::less<>>& checks() const { return checks_; }
  // For a check that Berth answers itself (kProvisioningController, CheckMode::kLive): its request for nodes; null if it cannot.
  const ProvisioningRequestConfig* provisioning(std::string_view check) const;
  // Why Berth cannot answer for this check of its own; "": it can, or it is not its own.
  std::string own_problem(const AdmissionCheck& check) const;
  bool is_own(const AdmissionCheck& check) const;
  // Flavors of the queue in which pods that ask for this get quota first, and nodes when those have been provisioned; by name.
  std::vector<std::string> provisioned_flavors(const ClusterQueue& queue, const ResourceList& asked) const;
  // Flavors of the queue for which an autoscaler makes nodes when pods wait for them; by name. None of a queue with admission checks:
  // these say when its work starts.
  std::vector<std::string> on_demand_flavors(const ClusterQueue& queue) const;
  // The nodes that the cluster's tree divides, as of the next drain(): one came (no `before`), went (no `after`) or changed.
  void node_changed(const Node* before, const Node* after) {
    sums_.change(before, after);
    dirty_ = dirty_ || !tree_.empty();
  }
  // The sum of all nodes, in base units.
  std::int64_t on_all_nodes(const std::string& resource,
                            const std::map<std::string, Node, std::less<>>& nodes) const {
    return sums_.of({}, resource, nodes).value_or(0);
  }
  bool upsert(const LocalQueue& object);
  // ClusterQueue, Cohort, ResourceFlavor, Topology, AdmissionCheck or a queue of the cluster's tree.
  void remove(Kind kind, std::string_view name);
  void remove_local_queue(const std::string& key);  // ns/name

  const ClusterQueue* cluster_queue(std::string_view name) const;
  const std::map<std::string, ClusterQueue, std::less<>>& cluster_queues() const { return cluster_queues_; }
  const TreeQueue* tree_queue(Kind kind, std::string_view name) const { return tree_.find(kind, name); }
  // The most of a resource that such a queue could ever use, as of the last drain(). Its own limit bounds it, and those above it, and all
  // that other queues never lend. Nothing: it does not count that resource. O(queues).
  std::optional<std::int64_t> most_ever(Kind kind, std::string_view name, std::string_view resource) const;
  // Why nothing can start in such a queue: it, or one above it, is misconfigured or closed, or it has queues below it. kNone: it can.
  struct Closed {
    ReasonCode code = ReasonCode::kNone;
    std::string queue;
    std::string why;
  };
  Closed why_closed(Kind kind, std::string_view name) const;
  // Its admission checks that do not exist, or are not active: names with commas.
  struct CheckProblems {
    std::string missing;
    std::string inactive;
  };
  CheckProblems check_problems(const ClusterQueue& queue) const;
  // Appends the events that lead from what was given out before to what the objects say now.
  void drain(const std::map<std::string, Node, std::less<>>& nodes, std::vector<Event>& out);
  // Objects that disabled themselves, as of the last drain().
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  struct Model {
    std::map<std::string, Topology, std::less<>> topologies;
    std::map<std::string, Flavor, std::less<>> flavors;
    std::vector<Queue> queues;  // parents before children
  };
  using Cycles = std::map<std::string_view, Cycle>;  // of cohorts, by the name of each that is below one
  Model compute(const std::map<std::string, Node, std::less<>>& nodes);
  // All cohorts that are named somewhere. Those with an object have its quotas.
  std::set<std::string> named_cohorts() const;
  // Adds the queue of a cohort behind those above it, if it is not among the `done` ones.
  void add_cohort(const std::string& name, const Cycles& cycles, std::set<std::string>& done, Model& model);
  // The queue that was given out, and those above it, from itself on; empty: there is none of this name.
  std::vector<const Queue*> path_of(std::string_view model_name) const;
  Queue leaf_of(const std::string& name, const ClusterQueue& object, const Cycles& cycles) const;
  Cycles cohort_cycles() const;
  // Why this cohort, or one above it, disables what is below it; empty: it does not.
  std::string cohort_problem(std::string_view name, const Cycles& cycles) const;
  std::string quota_problem(const std::vector<ResourceGroup>& groups) const;
  std::string check_problem(const ClusterQueue& queue) const;
  bool note(bool changed);  // whether it has; the next drain() gives out its queues anew then

  std::map<std::string, ClusterQueue, std::less<>> cluster_queues_;
  std::map<std::string, Cohort, std::less<>> cohorts_;
  std::map<std::string, Flavor, std::less<>> flavors_;
  std::map<std::string, NodeSupply, std::less<>> supplies_;  // of flavors
  std::map<std::string, Topology, std::less<>> topologies_;
  std::map<std::string, AdmissionCheck, std::less<>> checks_;
  std::map<std::string, ProvisioningRequestConfig, std::less<>> provisioning_;
  CheckMode check_mode_ = CheckMode::kNone;
  bool provisioning_served_ = false;
  ClusterTree tree_;
  mutable NodeSums sums_;                                        // it adds up when it is asked
  std::map<std::string, LocalQueue, std::less<>> local_queues_;  // ns/name
  bool opaque_;
  bool fair_;
  bool on_demand_;
  std::optional<LaneOrder> lanes_;
  Model given_;
  bool dirty_ = false;
  std::vector<Problem> problems_;
};

Flavor to_flavor(const ResourceFlavor& object);
Topology to_topology(const TopologyObject& object);

}  // namespace berth::dialect
