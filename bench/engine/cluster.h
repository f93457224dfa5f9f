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

// `count` nodes node-0... with 8 devices, 128 cores and 1 TiB each, labelled with device models about as openb's fleet is
// (the kinds of gpuspec33 ask for models).
void add_nodes(engine::Engine& engine, std::int64_t count);

}  // namespace berth::bench
