// Many workloads wait: what they take, and what an event costs that frees nothing for them.
#include <string>
#include <utility>

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

// 100,000 workloads of 1,000 kinds wait in one best-effort queue on 1,000 full nodes; one comes for which there is room, the
// last in line. `by_quota` 1: the others lack quota; 0: nodes. One piece is the decide() that finds it, with all of them awake.
void only_the_last_fits(benchmark::State& state) {
  const bool by_quota = state.range(0) != 0;
  engine::Engine engine;
  add_nodes(engine, 1000);
  tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
  Queue q;
  q.name = "queue";
  q.groups.push_back({{"nvidia.com/gpu", "cpu"}, {"any"}});
  q.quotas.push_back({"any", "nvidia.com/gpu", 8'000'000, {}, {}});
  q.quotas.push_back({"any", "cpu", by_quota ? 8'000'000 : 1'000'000'000, {}, {}});
  tell(engine, QueueUpsert{q});
  const auto submit = [&](std::string uid, std::int64_t gpus, std::int64_t cpu) {
    Workload w = workload(std::move(uid), 1, gpus, 1000, cpu);
    w.queue = "queue";
    tell(engine, WorkloadUpsert{std::move(w)});
  };
  // All devices but the last node's are taken; by quota, nearly all CPUs that the queue may use are.
  for (int i = 0; i < 999; ++i) submit("fill" + std::to_string(i), by_quota ? 1 : 8, by_quota ? 8000 : 1000);
  if (!by_quota) submit("last node", 1, 100'000);
  TimeMs now = 1000;
  engine.decide(now);
  for (std::int64_t i = 0; i < 100'000; ++i) {
    submit("p" + std::to_string(i), by_quota ? 1 : 8, by_quota ? 9000 + i % 1000 : 120'000 + i % 1000);
  }
  engine.decide(++now);
  std::int64_t next = 0;
  Meter meter(state);
  for (auto _ : state) {
    // Another quota wakes them all.
    q.quotas[1].nominal += 1;
    const std::string uid = "s" + std::to_string(next++);
    tell(engine, QueueUpsert{q});
    submit(uid, 1, 1000);
    meter.start();
    const auto decisions = engine.decide(++now);
    meter.stop();
    if (decisions.size() != 1 || decisions[0].workload != uid) {
      state.SkipWithError("the last one was not found alone");
      return;
    }
    tell(engine, WorkloadRemove{uid});
    engine.decide(++now);
  }
  meter.report();
}
BENCHMARK(only_the_last_fits)
    ->Name("OnlyTheLastFits")
    ->ArgNames({"by_quota"})
    ->Arg(1)
    ->Arg(0)
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::bench
