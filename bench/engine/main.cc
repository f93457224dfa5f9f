// Cost of the engine's decisions against size: tables, or with --benchmark_format=json|console what Google Benchmark
// prints. One core, no I/O. scripts/bench runs it.
//
//   bench_engine --benchmark_filter=Churn          steady churn on nearly full clusters: one workload ends, one starts
//   bench_engine --benchmark_repetitions=5         the best and the median of five
//   bench_engine --benchmark_list_tests
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string_view>

#include "table.h"

int main(int argc, char** argv) {
  const bool other = std::any_of(argv, argv + argc, [](std::string_view argument) {
    return argument.rfind("--benchmark_format", 0) == 0;
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  berth::bench::TableReporter tables;
  const std::size_t ran =
      other ? benchmark::RunSpecifiedBenchmarks() : benchmark::RunSpecifiedBenchmarks(&tables);
  benchmark::Shutdown();
  return ran == 0 ? 1 : 0;
}
