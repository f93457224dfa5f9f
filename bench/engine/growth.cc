// Loads of two sizes: where a decision of the larger one costs much more, something looks at all the others each time.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster.h"
#include "meter.h"

namespace berth::bench {
namespace {

constexpr const char* kZone = "zone";
constexpr const char* kHost = "kubernetes.io/hostname";

Workload one_core(const std::string& uid, const char* queue, std::int64_t priority = 0) {
  Workload w = workload(uid, 1, 0, 0, 1000, priority);
  w.queue = queue;
  w.restart.grace = 30 * kSecond;
  return w;
}

// One more in its domain than in the domain with the fewest, at most.
Workload spread_over(Workload w, const char* level) {
  CountedTerm term;
  term.kind = TermKind::kSpread;
  term.selector = "these";
  term.level = level;
  term.max_skew = 1;
  w.root.pod_sets[0].pod.terms.edit().push_back(term);
  w.root.pod_sets[0].pod.selected.edit().push_back(term.selector);
  return w;
}

void add_nodes_of(engine::Engine& engine, std::int64_t count, std::int64_t cores) {
  for (std::int64_t i = 0; i < count; ++i) {
    Node node = node_of(i);
    node.labels[kZone] = std::to_string(i % 3);
    node.allocatable.set("cpu", cores * 1000);
    tell(engine, NodeUpsert{std::move(node)});
  }
}

Queue queue_of(const char* name, const char* parent, std::int64_t cores) {
  Queue q;
  q.name = name;
  q.parent = parent;
  q.groups.push_back({{"cpu"}, {"any"}});
  q.quotas.push_back({"any", "cpu", cores * 1000, {}, {}});
  return q;
}

// `prepare(engine)` is not measured; `bring(engine)` is, and the decide() in which `count` workloads start. One piece is a start.
template <class Prepare, class Bring>
void measure_starts(benchmark::State& state, std::int64_t nodes, std::int64_t cores, const Prepare& prepare,
                    const Bring& bring) {
  const std::int64_t count = state.range(0);
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes_of(engine, nodes, cores);
    tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
    prepare(engine);
    meter.start();
    bring(engine);
    const auto decisions = engine.decide(1000);
    meter.stop(count);
    if (static_cast<std::int64_t>(decisions.size()) != count)
      return state.SkipWithError("not all of them started");
  }
  meter.report();
}

void add_root(engine::Engine& engine) {
  Queue root = queue_of("root", "", 0);
  root.leaf = false;
  tell(engine, QueueUpsert{root});
}

constexpr auto kNothing = [](engine::Engine&) {};

// All start at once on quota that another queue lends.
void borrowers(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const auto prepare = [&](engine::Engine& engine) {
    add_root(engine);
    tell(engine, QueueUpsert{queue_of("lender", "root", count)});
    tell(engine, QueueUpsert{queue_of("q", "root", 0)});
    for (std::int64_t i = 0; i < count; ++i)
      tell(engine, WorkloadUpsert{one_core("w" + std::to_string(i), "q")});
  };
  measure_starts(state, count / 100, 100, prepare, kNothing);
  state.SetLabel("start on borrowed quota in one decide()");
}
BENCHMARK(borrowers)
    ->Name("GrowthOfBorrowers")
    ->ArgNames({"starts"})
    ->Arg(10'000)
    ->Arg(80'000)
    ->Iterations(3);

// The queues of a cluster come, and each has work. One piece is a queue.
void queues(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const auto bring = [&](engine::Engine& engine) {
    for (std::int64_t i = 0; i < count; ++i)
      tell(engine, QueueUpsert{queue_of(("q" + std::to_string(i)).c_str(), "root", 1)});
    for (std::int64_t i = 0; i < count; ++i)
      tell(engine, WorkloadUpsert{one_core("w" + std::to_string(i), ("q" + std::to_string(i)).c_str())});
  };
  measure_starts(state, count / 100, 100, add_root, bring);
  state.SetLabel("come, each with a job that starts");
}
BENCHMARK(queues)->Name("GrowthOfQueues")->ArgNames({"queues"})->Arg(1000)->Arg(8000)->Iterations(3);

// As many pods as nodes, one on each: no host has two more than another.
void spread_over_hosts(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const auto prepare = [&](engine::Engine& engine) {
    tell(engine, QueueUpsert{queue_of("q", "", 4 * count)});
    for (std::int64_t i = 0; i < count; ++i)
      tell(engine, WorkloadUpsert{spread_over(one_core("w" + std::to_string(i), "q"), kHost)});
  };
  measure_starts(state, count, 4, prepare, kNothing);
  state.SetLabel("start, spread over the hosts, in one decide()");
}
BENCHMARK(spread_over_hosts)
    ->Name("GrowthOfSpreadPods")
    ->ArgNames({"nodes"})
    ->Arg(1000)
    ->Arg(8000)
    ->Iterations(3);

// Each has one victim, and starts when that has gone. One piece is the end of one victim.
void holds(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  const bool spread = state.range(1) != 0;
  Meter meter(state);
  for (auto _ : state) {
    engine::Engine engine;
    add_nodes_of(engine, count, 1);
    tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
    Queue q = queue_of("q", "", count);
    q.preemption.within = WithinQueue::kLowerPriority;
    tell(engine, QueueUpsert{q});
    TimeMs now = 1000;
    for (std::int64_t i = 0; i < count; ++i)
      tell(engine, WorkloadUpsert{one_core("low" + std::to_string(i), "q")});
    engine.decide(now);
    for (std::int64_t i = 0; i < count; ++i) {
      Workload high = one_core("high" + std::to_string(i), "q", 5);
      tell(engine, WorkloadUpsert{spread ? spread_over(std::move(high), kZone) : std::move(high)});
    }
    std::int64_t started = 0;
    for (const Decision& d : engine.decide(++now)) {
      if (d.kind != DecisionKind::kEvict) continue;
      meter.start();
      tell(engine, SlotUpdate{d.workload, 0, 0, SlotState::kGone, "", {}, {}, 0});
      started += static_cast<std::int64_t>(engine.decide(++now).size());
      meter.stop();
    }
    if (started != count) return state.SkipWithError("not all holds became starts");
  }
  meter.report();
  state.SetLabel(spread ? "a victim of a hold ends; the holds spread over zones" : "a victim of a hold ends");
}
BENCHMARK(holds)
    ->Name("GrowthOfHolds")
    ->ArgNames({"holds", "spread"})
    ->Args({250, 0})
    ->Args({2000, 0})
    ->Args({250, 1})
    ->Args({1000, 1})
    ->Iterations(1);

}  // namespace
}  // namespace berth::bench
