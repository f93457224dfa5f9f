// Steady churn on nearly full clusters: the oldest workload ends, a new one comes and is decided on.
#include "churn.h"

#include <deque>
#include <string>
#include <utility>

#include "cluster.h"
#include "memory.h"
#include "meter.h"

namespace berth::bench {
namespace {

constexpr std::int64_t kDevicesPerNode = 8000;  // thousandths

class Churn {
 public:
  Churn(std::int64_t nodes, std::int64_t kinds) : kinds_(kinds), target_(nodes * kDevicesPerNode / 100 * 95) {
    const std::int64_t before = bytes_in_use();
    add_nodes(engine_, nodes);
    bytes_per_node = bytes_each(before, nodes);
    const std::int64_t empty = bytes_in_use();
    // What finds no place goes away again: a full list of waiting work is another benchmark's.
    while (used_ < target_) {
      next_kind();
      if (submit()) continue;
      tell(engine_, WorkloadRemove{workload_.uid});
      if (++unplaced > 1'000'000) std::abort();
    }
    bytes_per_workload = bytes_each(empty, static_cast<std::int64_t>(running_.size()));
    unplaced = 0;
  }

  void next_kind() {
    const Kind& kind = kinds_.draw(random_);
    devices_ = kind.devices();
    workload_ = workload("w" + std::to_string(next_++), kind);
  }
  // The workload of next_kind() comes, and as many of the oldest end as it takes to stay at the target.
  void replace() {
    while (used_ + devices_ > target_ && !running_.empty()) {
      tell(engine_, WorkloadRemove{running_.front().first});
      used_ -= running_.front().second;
      running_.pop_front();
    }
    if (submit()) return;
    tell(engine_, WorkloadRemove{workload_.uid});
    ++unplaced;
  }

  double bytes_per_node = 0;
  double bytes_per_workload = 0;  // with the indices of the shapes
  std::int64_t unplaced = 0;
  bool from_trace() const { return kinds_.from_trace(); }

 private:
  bool submit() {
    tell(engine_, WorkloadUpsert{workload_});
    const bool started = !engine_.decide(++now_).empty();
    if (!started) return false;
    running_.emplace_back(workload_.uid, devices_);
    used_ += devices_;
    return true;
  }

  engine::Engine engine_ = make_engine();
  Kinds kinds_;
  Random random_{7};
  std::deque<std::pair<std::string, std::int64_t>> running_;
  Workload workload_;
  std::int64_t devices_ = 0;
  std::int64_t target_ = 0;
  std::int64_t used_ = 0;
  std::int64_t next_ = 0;
  TimeMs now_ = 1000;
};

void churn_pods(benchmark::State& state) {
  Churn churn(state.range(0), state.range(1));
  for (int i = 0; i < 1000; ++i) {
    churn.next_kind();
    churn.replace();
  }
  churn.unplaced = 0;
  Meter meter(state);
  for (auto _ : state) {
    churn.next_kind();
    meter.start();
    churn.replace();
    meter.stop();
  }
  meter.report();
  state.counters["unplaced_pct"] =
      100.0 * static_cast<double>(churn.unplaced) / static_cast<double>(state.iterations());
  state.counters["bytes_node"] = churn.bytes_per_node;
  state.counters["bytes_workload"] = churn.bytes_per_workload;
  state.SetLabel(state.range(1) == 1 ? "one GPU" : churn.from_trace() ? "openb" : "generated");
}
BENCHMARK(churn_pods)
    ->Name("Churn")
    ->ArgNames({"nodes", "shapes"})
    ->ArgsProduct({{1000, 10'000, 25'000}, {1, 151, 457}})
    ->Iterations(20'000)
    ->Unit(benchmark::kMicrosecond);

void churn_gangs(benchmark::State& state) {
  const std::int64_t nodes = state.range(0);
  engine::Engine engine = make_engine();
  add_nodes(engine, nodes);
  std::deque<std::string> running;
  std::int64_t next = 0;
  const auto arrival = [&] {
    Workload gang = workload("g" + std::to_string(next++), 8, 8, 1000, 8000);
    running.push_back(gang.uid);
    return WorkloadUpsert{std::move(gang)};
  };
  TimeMs now = 1000;
  while (static_cast<std::int64_t>(running.size()) < nodes / 8 * 95 / 100) tell(engine, arrival());
  engine.decide(now);
  churn(state, engine, running, now, arrival);
}
BENCHMARK(churn_gangs)
    ->Name("ChurnGangsOf8Nodes")
    ->ArgNames({"nodes"})
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(25'000)
    ->Iterations(20'000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::bench
