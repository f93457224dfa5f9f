// Gangs that displace others.
#include <string>

#include "cluster.h"
#include "meter.h"

namespace berth::bench {
namespace {

// `running` one-node gangs fill everything; a gang of `pods` whole nodes displaces as many.
void preempt(benchmark::State& state) {
  const std::int64_t running = state.range(0);
  const std::int64_t pods = state.range(1);
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes(engine, running);
    for (std::int64_t i = 0; i < running; ++i) {
      tell(engine, WorkloadUpsert{workload("low" + std::to_string(i), 8, 1, 1000, 1000)});
    }
    engine.decide(1000);
    tell(engine, WorkloadUpsert{workload("high", pods, 8, 1000, 1000, 100)});
    meter.start();
    const auto decisions = engine.decide(5000);
    meter.stop();
    if (decisions.size() != static_cast<std::size_t>(pods) + 1) {
      state.SkipWithError("not as many gave way as there are pods");
      return;
    }
  }
  meter.report();
}
BENCHMARK(preempt)
    ->Name("Preempt")
    ->ArgNames({"running", "pods"})
    ->Args({1000, 1})
    ->Args({1000, 8})
    ->Args({10'000, 8})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace berth::bench
