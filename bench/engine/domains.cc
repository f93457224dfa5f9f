// Gangs in clusters with a topology: how few domains cost.
#include <benchmark/benchmark.h>

#include <deque>
#include <string>
#include <utility>

#include "base/random.h"
#include "churn.h"
#include "cluster.h"

namespace berth::bench {
namespace {

// Zones of 500 nodes, blocks of 100, racks of 10; `full` percent of the nodes run gangs of 1 to 30 pods of eight devices.
// The oldest of the probed gangs ends, a gang of `pods` comes. `asks`: 0 for nothing, 1 prefers a rack, 2 requires a zone.
void topology_gangs(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  const std::int64_t pods = state.range(1);
  engine::Engine engine = make_engine();
  tell(engine, TopologyUpsert{{"net", {"zone", "block", "rack"}}});
  for (std::int64_t i = 0; i < nodes; ++i) {
    Node node = node_of(i);
    node.labels["zone"] = std::to_string(i / 500);
    node.labels["block"] = std::to_string(i / 100);
    node.labels["rack"] = std::to_string(i / 10);
    tell(engine, NodeUpsert{std::move(node)});
  }
  Random random(27);
  TimeMs now = 1000;
  std::int64_t next = 0;
  for (std::int64_t used = 0; used < nodes * 70 / 100;) {
    const std::int64_t size = random.between(1, 30);
    tell(engine, WorkloadUpsert{workload("b" + std::to_string(next++), size, 8, 1000, 8000)});
    engine.decide(++now);
    used += size;
  }
  const auto arrival = [&] {
    Workload gang = workload("g" + std::to_string(next++), pods, 8, 1000, 8000);
    if (state.range(2) == 1) gang.root.topology.preferred = "rack";
    if (state.range(2) == 2) gang.root.topology.required = "zone";
    return WorkloadUpsert{std::move(gang)};
  };
  std::deque<std::string> running;
  const auto coming = [&] {
    WorkloadUpsert w = arrival();
    running.push_back(w.workload.uid);
    return w;
  };
  tell(engine, coming());
  engine.decide(++now);
  churn(state, engine, running, now, coming);
}
BENCHMARK(topology_gangs)
    ->Name("TopologyGangs")
    ->ArgNames({"nodes", "pods", "asks"})
    ->Args({2500, 8, 0})
    ->Args({2500, 8, 1})
    ->Args({2500, 200, 0})
    ->Args({2500, 200, 1})
    ->Args({2500, 100, 2})
    ->Args({25'000, 200, 0})
    ->Iterations(1000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::bench
