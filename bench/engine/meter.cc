#include "meter.h"

#include <time.h>

#include <algorithm>

#include "memory.h"

namespace berth::bench {
namespace {

constexpr std::size_t kBatches = 20;

std::int64_t cpu_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Meter::Meter(benchmark::State& state) : state_(state) {
  for (int i = 0; i < 1000; ++i) {
    start();
    stop();
  }
  empty_ns_ = std::min_element(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
                return a.cpu_ns < b.cpu_ns;
              })->cpu_ns;
  pieces_.clear();
  allocations_ = 0;
}

void Meter::start() {
  allocations_at_start_ = allocations();
  cpu_began_ = cpu_now();
}

void Meter::stop(std::int64_t decisions) {
  const std::int64_t cpu = cpu_now() - cpu_began_ - empty_ns_;
  allocations_ += allocations() - allocations_at_start_;
  pieces_.push_back({std::max<std::int64_t>(0, cpu), decisions});
}

void Meter::report() {
  if (pieces_.empty()) return;
  const std::size_t size = std::max<std::size_t>(1, pieces_.size() / kBatches);
  std::vector<double> batches;  // microseconds per decision
  std::vector<std::int64_t> single;
  std::int64_t decisions = 0;
  for (std::size_t from = 0; from + size <= pieces_.size(); from += size) {
    std::int64_t ns = 0;
    std::int64_t made = 0;
    for (std::size_t i = from; i < from + size; ++i) {
      ns += pieces_[i].cpu_ns;
      made += pieces_[i].decisions;
    }
    batches.push_back(static_cast<double>(ns) / 1000 / static_cast<double>(std::max<std::int64_t>(1, made)));
  }
  for (const Piece& piece : pieces_) {
    single.push_back(piece.cpu_ns);
    decisions += piece.decisions;
  }
  std::sort(batches.begin(), batches.end());
  std::sort(single.begin(), single.end());
  const auto percentile = [&](std::size_t percent) {
    return static_cast<double>(single[(single.size() - 1) * percent / 100]) / 1000;
  };
  auto& counters = state_.counters;
  counters["best_us"] = batches.front();
  counters["median_us"] = batches[batches.size() / 2];
  counters["per_s"] = 1e6 / batches[batches.size() / 2];
  counters["p50_us"] = percentile(50);
  counters["p99_us"] = percentile(99);
  counters["max_us"] = static_cast<double>(single.back()) / 1000;
  counters["allocs"] =
      static_cast<double>(allocations_) / static_cast<double>(std::max<std::int64_t>(1, decisions));
  state_.SetItemsProcessed(decisions);
}

double bytes_each(std::int64_t before, std::int64_t count) {
  return static_cast<double>(bytes_in_use() - before) / static_cast<double>(std::max<std::int64_t>(1, count));
}

}  // namespace berth::bench
