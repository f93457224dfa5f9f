// Gangs that displace others.
#include <string>
#include <utility>

#include "base/random.h"
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

// The same among victims of many costs: nine of ten stand on one node, started at a hundred different times with checkpoints of
// their own; every tenth is a gang over four nodes. The cheapest must be found, and gangs are worth their four nodes.
void preempt_varied(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  const std::int64_t pods = state.range(1);
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes(engine, nodes);
    Random random(11);
    TimeMs now = 1000;
    std::int64_t used = 0;
    for (std::int64_t i = 0; used < nodes; ++i) {
      const std::int64_t wide = i % 10 == 9 && used + 4 <= nodes ? 4 : 1;
      Workload w = workload("low" + std::to_string(i), wide, 8, 1000, 8000);
      w.restart.checkpoint_every = 60'000 * random.between(1, 60);
      w.restart.overhead = 1000 * random.between(0, 600);
      tell(engine, WorkloadUpsert{std::move(w)});
      used += wide;
      if (i % (nodes / 100) == 0) engine.decide(now += 1000 * random.between(1, 600));
    }
    engine.decide(++now);
    tell(engine, WorkloadUpsert{workload("high", pods, 8, 1000, 1000, 100)});
    meter.start();
    const auto decisions = engine.decide(now + 1'000'000);
    meter.stop();
    if (decisions.empty() || decisions.back().kind != DecisionKind::kHold) {
      state.SkipWithError("nobody gave way");
      return;
    }
    state.counters["evicted"] = static_cast<double>(decisions.size() - 1);
  }
  meter.report();
}
BENCHMARK(preempt_varied)
    ->Name("PreemptAmongVariedCosts")
    ->ArgNames({"nodes", "pods"})
    ->Args({1000, 8})
    ->Args({10'000, 8})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

Queue team(std::string name, std::string parent, std::int64_t gpus) {
  Queue q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  q.leaf = gpus >= 0;
  q.groups.push_back({{"nvidia.com/gpu", "cpu"}, {"any"}});
  q.quotas.push_back({"any", "nvidia.com/gpu", gpus < 0 ? 0 : gpus * 1000, {}, {}});
  q.quotas.push_back({"any", "cpu", gpus < 0 ? 0 : gpus * 16'000, {}, {}});
  q.preemption.within = WithinQueue::kLowerPriority;
  q.preemption.reclaim = Reclaim::kAny;
  return q;
}

Workload job(std::string uid, std::string queue, std::int64_t gpus, std::int64_t priority, Random& random) {
  Workload w = workload(std::move(uid), gpus, 1, 1000, 1000, priority);
  w.queue = std::move(queue);
  w.restart.overhead = 1000 * random.between(0, 600);
  return w;
}

// `queues` queues in ten cohorts, each full of ten running jobs; in each one, a head that needs the room of all ten. One piece is
// the decide() that decides on all of them.
void preempt_in_queues(benchmark::State& state) {
  const std::int64_t queues = state.range(0);
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes(engine, queues * 10 / 8 + 8);
    tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
    for (int c = 0; c < 10; ++c) tell(engine, QueueUpsert{team("cohort-" + std::to_string(c), "", -1)});
    for (std::int64_t q = 0; q < queues; ++q) {
      tell(engine, QueueUpsert{team("q" + std::to_string(q), "cohort-" + std::to_string(q % 10), 10)});
    }
    Random random(3);
    TimeMs now = 1000;
    for (std::int64_t i = 0; i < queues * 10; ++i) {
      tell(engine,
           WorkloadUpsert{job("r" + std::to_string(i), "q" + std::to_string(i % queues), 1, 0, random)});
    }
    engine.decide(now);
    for (std::int64_t q = 0; q < queues; ++q) {
      tell(engine, WorkloadUpsert{job("head" + std::to_string(q), "q" + std::to_string(q), 10, 10, random)});
    }
    meter.start();
    const auto decisions = engine.decide(now + 100'000);
    meter.stop();
    if (decisions.size() != static_cast<std::size_t>(queues) * 11) {
      state.SkipWithError("not every head displaced ten");
      return;
    }
  }
  meter.report();
}
BENCHMARK(preempt_in_queues)
    ->Name("PreemptInEveryQueue")
    ->ArgNames({"queues"})
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

// As many queues again as `heads`, in ten cohorts: one half has lent all of its quota, and each of them has a head now that wants
// it back; the others run four jobs of two devices on it. One piece is the decide() that decides on all of them.
void reclaim_heads(benchmark::State& state) {
  const std::int64_t heads = state.range(0);
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes(engine, heads * 16 / 8 + 8);
    tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
    for (int c = 0; c < 10; ++c) tell(engine, QueueUpsert{team("cohort-" + std::to_string(c), "", -1)});
    Random random(3);
    for (std::int64_t q = 0; q < heads; ++q) {
      const std::string cohort = "cohort-" + std::to_string(q % 10);
      tell(engine, QueueUpsert{team("owner" + std::to_string(q), cohort, 8)});
      tell(engine, QueueUpsert{team("guest" + std::to_string(q), cohort, 8)});
    }
    for (std::int64_t i = 0; i < heads * 8; ++i) {
      tell(engine,
           WorkloadUpsert{job("r" + std::to_string(i), "guest" + std::to_string(i % heads), 2, 0, random)});
    }
    engine.decide(1000);
    for (std::int64_t q = 0; q < heads; ++q) {
      tell(engine,
           WorkloadUpsert{job("head" + std::to_string(q), "owner" + std::to_string(q), 8, 0, random)});
    }
    meter.start();
    const auto decisions = engine.decide(101'000);
    meter.stop();
    if (decisions.size() != static_cast<std::size_t>(heads) * 5) {
      state.SkipWithError("not every head reclaimed four jobs");
      return;
    }
  }
  meter.report();
}
BENCHMARK(reclaim_heads)
    ->Name("ReclaimAcrossQueues")
    ->ArgNames({"heads"})
    ->Arg(10)
    ->Arg(100)
    ->Arg(500)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace berth::bench
