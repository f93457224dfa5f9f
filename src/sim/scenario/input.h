// Everything a simulation needs, read and checked: what a scenario names, in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"
#include "model/queue.h"
#include "sim/course/faults.h"
#include "sim/scenario/scenario.h"
#include "sim/service/service.h"
#include "sim/trace/trace.h"

namespace berth::sim {

struct Input {
  std::vector<Node> nodes;
  std::vector<Topology> topologies;
  std::vector<Flavor> flavors;  // default first
  std::vector<Queue> queues;    // parents first
  Trace trace;
  DemandMix demand;  // given to the engine before anything arrives; without kinds: it goes by what arrives
  // Per queue of trace.queues: its index in `queues`.
  std::vector<std::uint32_t> queue_of;
  std::vector<Service> services;
  std::vector<std::uint32_t> service_queue;  // per service: its index in `queues`
  std::vector<FaultRule> failures;
  std::uint64_t seed = 1;
  std::int64_t outside_window = 0;  // jobs left out
  std::int64_t without_tenant = 0;  // jobs left out
  // Parts that readers left out or did not take over: "12 jobs left out: no run time".
  std::vector<std::string> remarks;
};

// Reads all sources of the scenario. Errors name the file and the place in it: a queue that jobs name but that is not defined, two
// nodes of one name, no jobs in the window.
Result<Input> load(const Scenario& scenario);

// The workload that the engine sees of a job. `uid` is its place in the trace, eight digits or more, so that
// ties between jobs end in their order of arrival.
std::string job_uid(std::uint32_t job);
std::uint32_t job_of_uid(std::string_view uid);  // of a uid that job_uid made
Workload make_workload(const Input& input, std::uint32_t job, TimeMs created);

}  // namespace berth::sim
