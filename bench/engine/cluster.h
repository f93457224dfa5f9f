// What the benchmarks put into an engine: nodes of eight devices, and workloads.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"
#include "kinds.h"

namespace berth::bench {

// An engine with the placement that costs most: fragmentation.
engine::Engine make_engine();

// A benchmark's own events are never refused: ends the program where one is.
void tell(engine::Engine& engine, const Event& event);

// `pods` pods in one pod set, each with `gpus` devices of which it takes `milli` thousandths.
Workload workload(std::string uid, std::int64_t pods, std::int64_t gpus, std::int64_t milli, std::int64_t cpu,
                  std::int64_t priority = 0);
// One pod of a kind.
Workload workload(std::string uid, const Kind& kind);

// node-<number> with 8 devices, 128 cores and 1 TiB, labelled with a device model about as openb's fleet is (the kinds of
// gpuspec33 ask for models).
Node node_of(std::int64_t number);
// The nodes 0 to count - 1.
void add_nodes(engine::Engine& engine, std::int64_t count);

}  // namespace berth::bench
