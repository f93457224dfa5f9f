// A small cluster that a follower follows: two racks of one node with four GPUs, a queue below a cohort, work of two namespaces.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "observe/follower.h"
#include "observe/recorded_engine.h"
#include "scheduler/board/chronicle.h"
#include "scheduler/board/snapshot.h"

namespace berth::scheduler::testing {

inline constexpr const char* kGpu = "nvidia.com/gpu";

inline Node node_in(const std::string& name, const std::string& rack) {
  Node node;
  node.name = name;
  node.labels = {{"zone", "z"}, {"rack", rack}};
  node.allocatable = {{"cpu", 64'000}, {"pods", 100}};
  DevicePool pool;
  pool.resource = kGpu;
  pool.count = 4;
  node.devices = {pool};
  return node;
}

inline Workload gang(const std::string& name, std::int64_t pods, TimeMs created, std::int64_t priority = 0) {
  Workload workload;
  workload.uid = "uid-" + name.substr(name.find('/') + 1);
  workload.name = name;
  workload.queue = "team";
  workload.priority = priority;
  workload.created = created;
  PodSet set;
  set.name = "main";
  set.count = pods;
  set.pod.requests = {{"cpu", 1000}};
  set.pod.claim.requests = {{kGpu, 1, kWholeDevice}};
  workload.root.pod_sets = {set};
  return workload;
}

class BoardWorld {
 public:
  BoardWorld() : follower({}, {.watches = {&chronicle}}), decider({}, {}, &follower) {
    tell(TopologyUpsert{{"t", {"zone", "rack"}}});
    tell(NodeUpsert{node_in("n1", "r1")});
    tell(NodeUpsert{node_in("n2", "r2")});
    tell(FlavorUpsert{[] {
      Flavor flavor;
      flavor.name = "f";
      return flavor;
    }()});
    Queue cohort;
    cohort.name = "all";
    cohort.leaf = false;
    tell(QueueUpsert{cohort});
    tell(QueueUpsert{team()});
  }

  static Queue team() {
    Queue queue;
    queue.name = "team";
    queue.parent = "all";
    queue.groups = {{{"cpu", kGpu}, {"f"}}};
    Quota gpus;
    gpus.flavor = "f";
    gpus.resource = kGpu;
    gpus.nominal = 8000;
    Quota cpu;
    cpu.flavor = "f";
    cpu.resource = "cpu";
    cpu.nominal = 128'000;
    queue.quotas = {gpus, cpu};
    queue.preemption.within = WithinQueue::kLowerPriority;
    return queue;
  }

  template <class E>
  void tell(E event) {
    const auto status = decider.apply(Event(std::move(event)));
    if (!status) throw std::runtime_error(status.error().str());
  }
  std::vector<Decision> decide(TimeMs now) {
    auto out = decider.decide(now);
    follower.catch_up();
    return out;
  }
  std::shared_ptr<const Snapshot> look(const Snapshot* last = nullptr) {
    follower.catch_up();
    return *follower.ask(
        [&](const engine::Engine& engine) { return take_snapshot(engine, chronicle, 5000, last); });
  }

  Chronicle chronicle;
  observe::Follower follower;
  observe::RecordedEngine decider;
};

}  // namespace berth::scheduler::testing
