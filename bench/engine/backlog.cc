// Many workloads wait: what they take, and what an event costs that frees nothing for them.
#include <string>

#include "cluster.h"
#include "memory.h"
#include "meter.h"

namespace berth::bench {
namespace {

// `pending` blocked workloads of 100 kinds on 10,000 full nodes; one more comes, is decided on, and goes.
void skip(benchmark::State& state) {
  engine::Engine engine;
  add_nodes(engine, 10'000);
  tell(engine, WorkloadUpsert{workload("fill", 79'999, 1, 1000, 1000)});
  TimeMs now = 1000;
  engine.decide(now);
  const std::int64_t pending = state.range(0);
  const std::int64_t before = bytes_in_use();
  for (std::int64_t i = 0; i < pending; ++i) {
    tell(engine, WorkloadUpsert{workload("p" + std::to_string(i), 2, 1, 1000, 1000 + i % 100)});
  }
  engine.decide(++now);
  state.counters["bytes_workload"] = bytes_each(before, pending);
  std::int64_t next = 0;
  Meter meter(state);
  for (auto _ : state) {
    const Workload w = workload("s" + std::to_string(next++), 1, 1, 1000, 1000, -1);
    meter.start();
    tell(engine, WorkloadUpsert{w});
    benchmark::DoNotOptimize(engine.decide(++now));
    tell(engine, WorkloadRemove{w.uid});
    meter.stop();
  }
  meter.report();
}
BENCHMARK(skip)
    ->Name("Skip")
    ->ArgNames({"pending"})
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(2000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::bench
