// Times many short pieces of work one by one. The machine is shared, so what a piece costs is its CPU time: the mean of the
// best of twenty batches, and of the median one. Percentiles are of the CPU time of single pieces.
//
//   Meter meter(state);
//   for (auto _ : state) {
//     prepare();
//     meter.start();
//     engine.decide(++now);
//     meter.stop();
//   }
//   meter.report();
//
// report() sets the counters that table.h shows: best_us and median_us per decision, per_s (of the median), p50_us, p99_us
// and max_us per piece, allocs per decision. A piece is one decision, or several: stop(n).
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

namespace berth::bench {

class Meter {
 public:
  explicit Meter(benchmark::State& state);
  void start();
  void stop(std::int64_t decisions = 1);
  void report();

 private:
  struct Piece {
    std::int64_t cpu_ns = 0;
    std::int64_t decisions = 1;
  };
  benchmark::State& state_;
  std::int64_t cpu_began_ = 0;
  std::int64_t empty_ns_ = 0;  // CPU time between start() and stop() with nothing between
  std::int64_t allocations_at_start_ = 0;
  std::int64_t allocations_ = 0;
  std::vector<Piece> pieces_;
};

// The heap that something takes: bytes since `before`, for each of `count`.
double bytes_each(std::int64_t before, std::int64_t count);

}  // namespace berth::bench
