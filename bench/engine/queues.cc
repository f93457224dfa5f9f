// Trees of queues: the cost of a decision against how many queues there are.
#include <deque>
#include <string>
#include <utility>

#include "churn.h"
#include "cluster.h"

namespace berth::bench {
namespace {

// One root, ten departments, and the teams below them: each team owns the same part of the cluster, and may borrow.
void add_queues(engine::Engine& engine, std::int64_t teams, std::int64_t devices,
                QueueOrder order = QueueOrder::kBestEffort) {
  tell(engine, FlavorUpsert{{"any", {}, {}, {}, ""}});
  const auto queue = [&](std::string name, std::string parent, std::int64_t own) {
    Queue q;
    q.name = std::move(name);
    q.parent = std::move(parent);
    q.leaf = own >= 0;
    if (q.leaf) q.order = order;
    q.groups.push_back({{"nvidia.com/gpu", "cpu"}, {"any"}});
    q.quotas.push_back({"any", "nvidia.com/gpu", own < 0 ? 0 : own * 1000, {}, {}});
    q.quotas.push_back({"any", "cpu", own < 0 ? 0 : own * 16'000, {}, {}});
    tell(engine, QueueUpsert{q});
  };
  queue("company", "", -1);
  for (int d = 0; d < 10; ++d) queue("dept-" + std::to_string(d), "company", -1);
  for (std::int64_t t = 0; t < teams; ++t) {
    queue("team-" + std::to_string(t), "dept-" + std::to_string(t % 10), devices / teams);
  }
}

// 1,000 nodes, 95 % full of one-GPU workloads of all teams; the oldest ends, one of another team comes.
void churn_in_tree(benchmark::State& state) {
  constexpr std::int64_t kNodes = 1000;
  const std::int64_t teams = state.range(0);
  engine::Engine engine;
  add_nodes(engine, kNodes);
  add_queues(engine, teams, kNodes * 8);
  tell(engine, WorkloadUpsert{[] {
         Workload w = workload("first", 1, 1, 1000, 1000);
         w.queue = "team-0";
         return w;
       }()});
  TimeMs now = 1000;
  engine.decide(now);
  Random random(5);
  std::deque<std::string> running;
  std::int64_t next = 0;
  const auto arrival = [&] {
    Workload w = workload("w" + std::to_string(next++), 1, 1, 1000, 1000);
    w.queue = "team-" + std::to_string(random.below(static_cast<std::uint64_t>(teams)));
    running.push_back(w.uid);
    return WorkloadUpsert{std::move(w)};
  };
  while (static_cast<std::int64_t>(running.size()) < kNodes * 8 * 95 / 100) {
    tell(engine, arrival());
    engine.decide(++now);
  }
  churn(state, engine, running, now, arrival);
  state.counters["blocked"] = static_cast<double>(engine.pending_count());
}
BENCHMARK(churn_in_tree)
    ->Name("ChurnInQueueTree")
    ->ArgNames({"queues"})
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Iterations(20'000)
    ->Unit(benchmark::kMicrosecond);

// 1,000 full nodes of strict queues that may not take back what they lent. In each, the head waits for more than its queue has left;
// the oldest workload ends, and one of another team comes.
void churn_where_heads_wait(benchmark::State& state) {
  constexpr std::int64_t kNodes = 1000;
  const std::int64_t teams = state.range(0);
  engine::Engine engine;
  add_nodes(engine, kNodes);
  add_queues(engine, teams, kNodes * 8, QueueOrder::kStrict);
  TimeMs now = 1000;
  Random random(5);
  std::deque<std::string> running;
  std::int64_t next = 0;
  const auto arrival = [&](std::int64_t team, std::int64_t pods) {
    Workload w = workload("w" + std::to_string(next++), pods, 1, 1000, 1000);
    w.queue = "team-" + std::to_string(team);
    return WorkloadUpsert{std::move(w)};
  };
  for (std::int64_t i = 0; i < kNodes * 8; ++i) {
    const WorkloadUpsert w = arrival(i % teams, 1);
    running.push_back(w.workload.uid);
    tell(engine, w);
    engine.decide(++now);
  }
  for (std::int64_t t = 0; t < teams; ++t) tell(engine, arrival(t, 8));
  engine.decide(++now);
  churn(state, engine, running, now, [&] {
    return arrival(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(teams))), 1);
  });
  state.counters["waiting"] = static_cast<double>(engine.pending_count());
}
BENCHMARK(churn_where_heads_wait)
    ->Name("ChurnWhereStrictHeadsWait")
    ->ArgNames({"queues"})
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Iterations(2'000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::bench
