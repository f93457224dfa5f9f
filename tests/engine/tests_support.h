// Small objects for tests of the engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/engine.h"

namespace berth::engine::test {

inline void ok(const Status& status) {
  EXPECT_TRUE(status.has_value()) << status.error().str();
}

inline bool has_running(const Engine& e, const std::string& uid) {
  const auto all = e.workloads();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& v) { return v.uid == uid && v.slots_running > 0; });
}

inline Event gpu_node(const std::string& name, int gpus, Labels labels = {}, std::int64_t cpu = 128) {
  Node node;
  node.name = name;
  node.labels = std::move(labels);
  node.allocatable.set("cpu", cpu * 1000);
  if (gpus > 0) node.devices.push_back({"nvidia.com/gpu", gpus, "", {}});
  return NodeUpsert{node};
}

// `count` pods of `gpus` GPUs each, all or none.
inline Workload gang_workload(const std::string& uid, int count, int gpus, std::int64_t priority = 0,
                              const std::string& queue = "") {
  Workload w;
  w.uid = w.name = uid;
  w.queue = queue;
  w.priority = priority;
  PodSet set;
  set.name = "main";
  set.count = count;
  set.pod.requests.set("cpu", 1000);
  if (gpus > 0) set.pod.claim.requests.push_back({"nvidia.com/gpu", gpus, 1000});
  w.root.pod_sets.push_back(set);
  return w;
}
inline Event gang(const std::string& uid, int count, int gpus, std::int64_t priority = 0,
                  const std::string& queue = "") {
  return WorkloadUpsert{gang_workload(uid, count, gpus, priority, queue)};
}
inline Event shared(const std::string& uid, std::int64_t milli) {
  Workload w = gang_workload(uid, 1, 1);
  w.root.pod_sets[0].pod.claim.requests[0].milli = milli;
  return WorkloadUpsert{w};
}

inline Event gpu_queue(const std::string& name, const std::string& parent, std::int64_t gpus,
                       PreemptionPolicy policy = {WithinQueue::kLowerPriority, Reclaim::kAny}) {
  Queue q;
  q.name = name;
  q.parent = parent;
  q.groups = {{{"cpu", "nvidia.com/gpu"}, {"f"}}};
  q.quotas = {{"f", "cpu", 1'000'000, {}, {}}, {"f", "nvidia.com/gpu", gpus * 1000, {}, {}}};
  q.preemption = policy;
  return QueueUpsert{q};
}
inline Event cohort(const std::string& name, const std::string& parent = "") {
  Queue q;
  q.name = name;
  q.parent = parent;
  q.leaf = false;
  return QueueUpsert{q};
}

}  // namespace berth::engine::test
