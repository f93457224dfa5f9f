// The loop of a benchmark of steady churn.
#pragma once

#include <benchmark/benchmark.h>

#include <deque>
#include <string>

#include "cluster.h"
#include "meter.h"

namespace berth::bench {

// The oldest of those that run ends, and what `arrival()` makes comes; measured is that and the decision. An arrival that is to end in its
// turn puts its uid at the end of `running`.
template <class Arrival>
void churn(benchmark::State& state, engine::Engine& engine, std::deque<std::string>& running, TimeMs& now,
           const Arrival& arrival) {
  Meter meter(state);
  for (auto _ : state) {
    const WorkloadUpsert w = arrival();
    const std::string old = running.front();
    running.pop_front();
    meter.start();
    tell(engine, WorkloadRemove{old});
    tell(engine, w);
    benchmark::DoNotOptimize(engine.decide(++now));
    meter.stop();
  }
  meter.report();
}

}  // namespace berth::bench
