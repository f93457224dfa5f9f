// Knowledge of the intake about queues, flavors and admission checks. References and pointers are valid until the next change of the intake.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/kueue/admission_checks.h"
#include "dialect/kueue/queue_status.h"
#include "dialect/objects/object.h"
#include "model/queue.h"

namespace berth::dialect {

struct IntakeBooks;

class IntakeQueues {
 public:
  explicit IntakeQueues(const IntakeBooks& books) : books_(&books) {}

  // Every LocalQueue, ClusterQueue and Berth's own Queue, as of the last drain(). O(queues).
  std::vector<QueueState> queue_states() const;
  bool has_cluster_queue(std::string_view name) const;
  // The ClusterQueue of this LocalQueue (namespace/name); it may not exist. None: there is no such LocalQueue.
  std::optional<std::string> cluster_queue_of(const std::string& local_queue) const;
  // "/cohort/queue", as Kueue names the way from the root.
  std::string queue_path(std::string_view cluster_queue) const;
  // Whether queues share by their dominant shares.
  bool shares() const;

  // The admission checks of the workload's ClusterQueue, if they are to be asked (CheckMode::kLive); else empty. Valid until the
  // next change.
  const std::vector<CheckRule>& checks(std::string_view workload) const;
  // Whether nodes come on demand for pods of this workload (QueueBook::on_demand_flavors()). Not for work that may change its size, or
  // has no pods of its own.
  bool on_demand(std::string_view workload) const;
  // The flavors whose nodes come on demand, with their node labels, by ClusterQueue; only of queues that have some. O(queues).
  using NodeSupplies = std::map<std::string, std::map<std::string, Labels>>;
  NodeSupplies on_demand() const;
  struct NodeDemand {
    struct Set {
      std::int64_t count = 0;
      ResourceList each;
    };
    std::vector<Set> sets;        // as the engine has them
    std::vector<Labels> flavors;  // node labels of the flavors whose nodes come on demand
  };
  // The pods of work that is on_demand().
  NodeDemand node_demand(std::string_view workload) const;
  const ProvisioningRequestConfig* provisioning(std::string_view check) const;
  const ResourceFlavor* flavor(std::string_view name) const;
  // The flavor of each resource that its queue has a quota for, on this node: the first of the queue's that the node is of.
  std::vector<ChosenFlavor> flavors_on(std::string_view workload, std::int64_t pod_set,
                                       std::string_view node) const;

 private:
  const IntakeBooks* books_;
};

}  // namespace berth::dialect
