// Metrics about work and devices: how long work waits and for what, which queue has which GPUs, what preemption costs. It follows the
// follower, so the deciding engine pays nothing. The names stand in metrics.h, and in docs/metrics.md.
//
// Bounds (WorkMetricsOptions). A label value beyond its bound counts as "other"; a gauge beyond the bound of all gauges is not shown, and
// counted in berth_series_dropped.
//
// took(), decided(), began() and look_at() run one at a time: all of them hold the follower's engine. Other calls are thread-safe.
#pragma once

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"
#include "observe/follower.h"

namespace berth::observe {

// Work of this priority and above is to start within this time; of several that match, the one with the highest priority counts.
struct WaitObjective {
  std::int64_t priority = 0;
  DurationMs within = 0;
};

struct WorkMetricsOptions {
  std::size_t most_queues = 200;      // of counters
  std::size_t most_priorities = 16;   // the first that come
  std::size_t most_wait_pairs = 500;  // of queue and priority, each with its own histogram
  std::size_t most_pools = 50;
  std::size_t most_profiles = 12;         // those that most pods ask for
  std::size_t most_work_series = 10'000;  // gauges, without those of pods
  std::size_t most_pod_series = 5'000;    // 0: none
  // The node label that names a node's pool: the first of these that it has. Without one its pool is "none".
  std::vector<std::string> pool_labels{"karpenter.sh/nodepool",       "cloud.google.com/gke-nodepool",
                                       "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool",
                                       "nvidia.com/gpu.product",      "node.kubernetes.io/instance-type"};
  std::vector<WaitObjective> objectives;
};

class WorkMetrics : public FollowerWatch {
 public:
  WorkMetrics(prometheus::Registry& registry, WorkMetricsOptions options);
  ~WorkMetrics() override;

  void began() override;
  void took(const Event& event) override;
  void decided(TimeMs now, const std::vector<Decision>& decisions) override;

  // The pod of a slot that has devices. Devices of a slot without a known pod count for its queue all the same.
  void set_pod(std::string_view workload, std::int64_t pod_set, std::int64_t index, std::string_view ns,
               std::string_view name);
  void forget_pod(std::string_view workload, std::int64_t pod_set, std::int64_t index);
  void forget_pods(std::string_view workload);

  // Sets every gauge; gives the number of series that are not shown. O(workloads + slots with devices + nodes).
  std::int64_t look_at(const engine::Engine& engine, std::span<const engine::WorkloadView> workloads,
                       TimeMs now);
  // All gauges vanish: nothing is known.
  void look_away();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::observe
