// Many workloads wait: what they take, and what an event costs among them.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cluster.h"
#include "memory.h"
#include "meter.h"

namespace berth::bench {
namespace {

// `pending` blocked workloads of 100 kinds on 10,000 full nodes; one more comes, is decided on, and goes.
void skip(benchmark::State& state) {
  engine::Engine engine = make_engine();
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

// A full cluster of 10,000 nodes, and 100,000 workloads of openb's kinds that wait, in `queues` queues of four priorities.
class Backlog {
 public:
  static constexpr std::int64_t kNodes = 10'000;
  static constexpr std::int64_t kPending = 100'000;

  explicit Backlog(std::int64_t queues) : queues_(queues) {
    add_nodes(engine_, kNodes);
    for (std::int64_t q = 0; q < queues; ++q) {
      Queue queue;
      queue.name = "q" + std::to_string(q);
      queue.unlimited = true;
      tell(engine_, QueueUpsert{queue});
    }
    while (static_cast<std::int64_t>(engine_.pending_count()) < kPending) {
      for (int i = 0; i < 1000; ++i) tell(engine_, WorkloadUpsert{next()});
      decide();
    }
    const std::int64_t before = bytes_in_use();
    const std::size_t had = engine_.pending_count();
    for (int i = 0; i < 1000; ++i) tell(engine_, WorkloadUpsert{next()});
    decide();
    bytes_per_workload = bytes_each(before, static_cast<std::int64_t>(engine_.pending_count() - had));
  }

  Workload next() {
    Workload w = workload("w" + std::to_string(next_++), kinds_.draw(random_));
    w.queue = "q" + std::to_string(random_.below(static_cast<std::uint64_t>(queues_)));
    w.priority = random_.between(0, 3);
    return w;
  }
  // Of what runs, the one that started first.
  std::string take_oldest() {
    std::string uid = std::move(running_.front().workload);
    running_.pop_front();
    return uid;
  }
  SlotUpdate seen_running(std::int64_t at) const {
    const Decision& d = running_[static_cast<std::size_t>(at) % running_.size()];
    return {d.workload, 0, 0, SlotState::kRunning, d.slots[0].node, d.slots[0].devices, {}, 0};
  }
  void decide() {
    for (Decision& d : engine_.decide(++now_)) running_.push_back(std::move(d));
  }
  engine::Engine& engine() { return engine_; }

  double bytes_per_workload = 0;

 private:
  engine::Engine engine_ = make_engine();
  Kinds kinds_{151};
  Random random_{11};
  std::int64_t queues_;
  std::deque<Decision> running_;  // starts, which are all there is
  std::int64_t next_ = 0;
  TimeMs now_ = 1000;
};

enum class Happens { kWorkComes, kWorkEnds, kPodRuns, kNodeChanges };
constexpr const char* kHappens[] = {"work comes", "work ends", "a pod is seen running",
                                    "a node is cordoned or not"};

// One event, and the decisions that follow from it.
void event(benchmark::State& state, Happens what) {
  Backlog backlog(state.range(0));
  std::int64_t at = 0;
  Meter meter(state);
  for (auto _ : state) {
    Event event = WorkloadRemove{};
    switch (what) {
      case Happens::kWorkComes:
        event = WorkloadUpsert{backlog.next()};
        break;
      case Happens::kWorkEnds:
        event = WorkloadRemove{backlog.take_oldest()};
        break;
      case Happens::kPodRuns:
        event = backlog.seen_running(at);
        break;
      case Happens::kNodeChanges: {
        Node node = node_of(at / 2);
        node.unschedulable = at % 2 == 0;
        event = NodeUpsert{std::move(node)};
        break;
      }
    }
    ++at;
    meter.start();
    tell(backlog.engine(), event);
    backlog.decide();
    meter.stop();
  }
  meter.report();
  state.counters["bytes_workload"] = backlog.bytes_per_workload;
  state.SetLabel(kHappens[static_cast<std::size_t>(what)]);
}
BENCHMARK_CAPTURE(event, comes, Happens::kWorkComes)
    ->Name("WorkComes")
    ->ArgNames({"queues"})
    ->Arg(1)
    ->Arg(50)
    ->Iterations(4000);
BENCHMARK_CAPTURE(event, ends, Happens::kWorkEnds)
    ->Name("WorkEnds")
    ->ArgNames({"queues"})
    ->Arg(1)
    ->Arg(50)
    ->Iterations(4000);
BENCHMARK_CAPTURE(event, runs, Happens::kPodRuns)
    ->Name("PodRuns")
    ->ArgNames({"queues"})
    ->Arg(1)
    ->Arg(50)
    ->Iterations(4000);
BENCHMARK_CAPTURE(event, node, Happens::kNodeChanges)
    ->Name("NodeChanges")
    ->ArgNames({"queues"})
    ->Arg(1)
    ->Arg(50)
    ->Iterations(4000);

}  // namespace
}  // namespace berth::bench
