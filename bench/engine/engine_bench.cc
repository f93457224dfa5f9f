// Cost of the engine's decisions, against size. One core, no I/O.
//
//   bench_engine --benchmark_filter=Churn      steady churn on nearly full clusters: one workload ends, one starts
//   bench_engine --benchmark_filter=Preempt    a gang that displaces one of many running gangs
//   bench_engine --benchmark_filter=Skip       one event while many blocked workloads wait
#include <benchmark/benchmark.h>

#include <deque>
#include <string>

#include "base/random.h"
#include "engine/engine.h"

namespace {

using namespace berth;
using namespace berth::engine;

Workload workload(std::string uid, std::int64_t pods, std::int64_t gpus, std::int64_t milli, std::int64_t cpu,
                  std::int64_t priority = 0) {
  Workload w;
  w.uid = w.name = std::move(uid);
  w.priority = priority;
  PodSet set;
  set.name = "main";
  set.count = pods;
  set.pod.requests.set("cpu", cpu);
  if (gpus > 0) set.pod.claim.requests.push_back({"nvidia.com/gpu", gpus, milli});
  w.root.pod_sets.push_back(std::move(set));
  return w;
}

void add_nodes(Engine& engine, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Node node;
    node.name = "node-" + std::to_string(i);
    node.labels["kubernetes.io/hostname"] = node.name;
    node.allocatable.set("cpu", 128'000);
    node.devices.push_back({"nvidia.com/gpu", 8, "", {}, {}});
    if (!engine.apply(NodeUpsert{node})) std::abort();
  }
}

// Fills the cluster to 95 % of its GPUs with `shapes` kinds of pods, then replaces one workload after the other.
void churn(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  const auto shapes = static_cast<std::uint64_t>(state.range(1));
  Engine engine;
  add_nodes(engine, nodes);
  Random random(7);
  std::deque<std::pair<std::string, std::int64_t>> running;
  std::int64_t used = 0;
  std::int64_t next = 0;
  const auto submit = [&] {
    const std::uint64_t kind = random.below(shapes);
    // One GPU mostly; shares and larger ones among many kinds. CPU tells the kinds apart.
    const bool share = shapes > 1 && kind % 4 == 1;
    const std::int64_t gpus = shapes > 1 && kind % 16 == 2 ? 2 : 1;
    const std::int64_t milli = share ? 100 + 50 * static_cast<std::int64_t>(kind % 9) : 1000;
    std::string uid = "w" + std::to_string(next++);
    if (!engine.apply(
            WorkloadUpsert{workload(uid, 1, gpus, milli, 1000 + 10 * static_cast<std::int64_t>(kind))}))
      std::abort();
    running.emplace_back(std::move(uid), gpus * milli);
    used += gpus * milli;
  };
  while (used < nodes * 8000 / 100 * 95) submit();
  TimeMs now = 1000;
  engine.decide(now);
  for (auto _ : state) {
    // The oldest ends, a new one comes.
    used -= running.front().second;
    if (!engine.apply(WorkloadRemove{running.front().first})) std::abort();
    running.pop_front();
    submit();
    benchmark::DoNotOptimize(engine.decide(++now));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["pending"] = static_cast<double>(engine.pending_count());
}
BENCHMARK(churn)
    ->Name("Churn")
    ->ArgNames({"nodes", "shapes"})
    ->ArgsProduct({{1000, 10'000, 25'000}, {1, 151, 457}})
    ->Unit(benchmark::kMicrosecond);

void churn_gangs(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  Engine engine;
  add_nodes(engine, nodes);
  std::deque<std::string> running;
  std::int64_t next = 0;
  const auto submit = [&] {
    std::string uid = "g" + std::to_string(next++);
    if (!engine.apply(WorkloadUpsert{workload(uid, 8, 8, 1000, 8000)})) std::abort();
    running.push_back(std::move(uid));
  };
  while (static_cast<std::int64_t>(running.size()) < nodes / 8 * 95 / 100) submit();
  TimeMs now = 1000;
  engine.decide(now);
  for (auto _ : state) {
    if (!engine.apply(WorkloadRemove{running.front()})) std::abort();
    running.pop_front();
    submit();
    benchmark::DoNotOptimize(engine.decide(++now));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(churn_gangs)
    ->Name("ChurnGangsOf8Nodes")
    ->ArgNames({"nodes"})
    ->Arg(1000)
    ->Arg(10'000)
    ->Unit(benchmark::kMicrosecond);

// `running` one-node gangs fill everything; a gang of `pods` whole nodes displaces as many.
void preempt(benchmark::State& state) {
  const std::int64_t running = state.range(0);
  const std::int64_t pods = state.range(1);
  for (auto _ : state) {
    state.PauseTiming();
    Engine engine;
    add_nodes(engine, running);
    for (std::int64_t i = 0; i < running; ++i) {
      if (!engine.apply(WorkloadUpsert{workload("low" + std::to_string(i), 8, 1, 1000, 1000)})) std::abort();
    }
    engine.decide(1000);
    if (!engine.apply(WorkloadUpsert{workload("high", pods, 8, 1000, 1000, 100)})) std::abort();
    state.ResumeTiming();
    const auto decisions = engine.decide(5000);
    state.PauseTiming();
    if (decisions.size() != static_cast<std::size_t>(pods) + 1) std::abort();
    state.ResumeTiming();
  }
}
BENCHMARK(preempt)
    ->Name("Preempt")
    ->ArgNames({"running", "pods"})
    ->Args({1000, 1})
    ->Args({1000, 8})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

// `pending` blocked workloads of 100 kinds; an event that frees nothing for them.
void skip(benchmark::State& state) {
  Engine engine;
  add_nodes(engine, 10'000);
  if (!engine.apply(WorkloadUpsert{workload("fill", 79'999, 1, 1000, 1000)})) std::abort();
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    if (!engine.apply(WorkloadUpsert{workload("p" + std::to_string(i), 2, 1, 1000, 1000 + i % 100)}))
      std::abort();
  }
  TimeMs now = 1000;
  engine.decide(now);
  std::int64_t next = 0;
  for (auto _ : state) {
    const std::string uid = "s" + std::to_string(next++);
    if (!engine.apply(WorkloadUpsert{workload(uid, 1, 1, 1000, 1000, -1)})) std::abort();
    benchmark::DoNotOptimize(engine.decide(++now));
    if (!engine.apply(WorkloadRemove{uid})) std::abort();
  }
  state.counters["pending"] = static_cast<double>(engine.pending_count());
}
BENCHMARK(skip)->Name("Skip")->ArgNames({"pending"})->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
