#include "cluster.h"

#include <cstdlib>
#include <iostream>

namespace berth::bench {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kModel = "nvidia.com/gpu.product";

// Device models of openb's fleet, in parts of 62; of T4 and P100 somewhat more, as the kinds of gpuspec33 ask for them.
constexpr std::pair<std::string_view, std::int64_t> kModels[] = {{"G2", 39},  {"T4", 12},     {"G3", 3},
                                                                 {"P100", 4}, {"V100M32", 2}, {"V100M16", 2}};

std::string model_of(std::int64_t node) {
  std::int64_t at = node * 37 % 62;  // 37 and 62 share no divisor: models stand mixed
  for (const auto& [model, share] : kModels) {
    if (at < share) return std::string(model);
    at -= share;
  }
  return std::string(kModels[0].first);
}

}  // namespace

engine::Engine make_engine() {
  engine::EngineConfig config;
  config.placement = Placement::kFragmentation;
  return engine::Engine(config);
}

void tell(engine::Engine& engine, const Event& event) {
  if (const auto status = engine.apply(event); !status) {
    std::cerr << "the engine refused an event of the benchmark: " << status.error().message << "\n";
    std::abort();
  }
}

Workload workload(std::string uid, std::int64_t pods, std::int64_t gpus, std::int64_t milli, std::int64_t cpu,
                  std::int64_t priority) {
  Workload w;
  w.uid = w.name = std::move(uid);
  w.priority = priority;
  PodSet set;
  set.name = "main";
  set.count = pods;
  set.pod.requests.set("cpu", cpu);
  if (gpus > 0) set.pod.claim.requests.push_back({std::string(kGpu), gpus, milli});
  w.root.pod_sets.push_back(std::move(set));
  return w;
}

Workload workload(std::string uid, const Kind& kind) {
  Workload w = workload(std::move(uid), 1, kind.gpus, kind.milli, kind.cpu);
  PodTemplate& pod = w.root.pod_sets[0].pod;
  pod.requests.set("memory", kind.memory);
  if (!kind.models.empty()) {
    pod.required_affinity.edit().push_back({{{std::string(kModel), SelectorOp::kIn, kind.models}}, {}});
  }
  return w;
}

Node node_of(std::int64_t number) {
  Node node;
  node.name = "node-" + std::to_string(number);
  node.labels["kubernetes.io/hostname"] = node.name;
  node.labels[std::string(kModel)] = model_of(number);
  node.allocatable.set("cpu", 128'000);
  node.allocatable.set("memory", std::int64_t{1} << 40);
  node.devices.push_back({std::string(kGpu), 8, "", {}});
  return node;
}

void add_nodes(engine::Engine& engine, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) tell(engine, NodeUpsert{node_of(i)});
}

}  // namespace berth::bench
