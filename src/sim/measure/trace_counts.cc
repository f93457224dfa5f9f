#include "sim/measure/trace_counts.h"

#include <algorithm>
#include <bit>

namespace berth::sim {
namespace {

constexpr int kRangeBits = 9;            // 512 ranges to each power of two
constexpr std::size_t kFewestSteps = 8;  // the longest steps still part all of time

// The bits of a run time that its range leaves open.
int open_bits(DurationMs run) {
  return std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(run))) - (kRangeBits + 1));
}
DurationMs range_begin(DurationMs run) {
  return (run >> open_bits(run)) << open_bits(run);
}
DurationMs range_middle(DurationMs run) {
  return range_begin(run) + (DurationMs{1} << open_bits(run)) / 2;
}

}  // namespace

RunTimeCounts::RunTimeCounts(std::size_t most) : most_(most), tally_(most) {}

void RunTimeCounts::add(SizeClass size, DurationMs run) {
  Totals& totals = totals_[static_cast<std::size_t>(size)];
  ++totals.jobs;
  totals.sum += run;
  totals.max = std::max(totals.max, run);
  tally_.add({size, ranges_ ? range_begin(run) : run}, 1);
  if (tally_.full()) settle();
}

void RunTimeCounts::settle() {
  tally_.settle();
  if (ranges_ || tally_.entries().size() <= most_) return;
  ranges_ = true;
  tally_.rekey([](const Key& key) { return Key{key.size, range_begin(key.run)}; });
}

Spread RunTimeCounts::spread_of_counts(const Counts& counts, const Totals& totals) const {
  Spread out;
  out.count = totals.jobs;
  if (totals.jobs == 0) return out;
  out.mean = clamp_to_int64(divide_rounded(totals.sum, totals.jobs));
  out.max = totals.max;
  // Nearest rank, as in metrics.h.
  const auto percentile = [&](std::int64_t percent) {
    const Int128 rank = (static_cast<Int128>(totals.jobs) * percent + 99) / 100;
    Int128 passed = 0;
    for (const auto& [run, jobs] : counts) {
      passed += jobs;
      if (passed >= rank) return ranges_ ? std::min(range_middle(run), totals.max) : run;
    }
    return totals.max;
  };
  out.median = percentile(50);
  out.p90 = percentile(90);
  out.p99 = percentile(99);
  return out;
}

Spread RunTimeCounts::of(SizeClass size) const {
  const auto& entries = tally_.entries();
  auto it = std::lower_bound(entries.begin(), entries.end(), Key{size, 0},
                             [](const auto& entry, const Key& key) { return entry.first < key; });
  Counts counts;
  for (; it != entries.end() && it->first.size == size; ++it) counts.emplace_back(it->first.run, it->second);
  return spread_of_counts(counts, totals_[static_cast<std::size_t>(size)]);
}

Spread RunTimeCounts::all() const {
  Counts counts;
  counts.reserve(tally_.entries().size());
  for (const auto& [key, jobs] : tally_.entries()) counts.emplace_back(key.run, jobs);
  std::sort(counts.begin(), counts.end());
  Totals totals;
  for (const Totals& size : totals_) {
    totals.jobs += size.jobs;
    totals.sum += size.sum;
    totals.max = std::max(totals.max, size.max);
  }
  return spread_of_counts(counts, totals);
}

DemandSteps::Step& DemandSteps::Step::operator+=(const Step& other) {
  jobs += other.jobs;
  begins = saturating_add(begins, other.begins);
  ends = saturating_add(ends, other.ends);
  return *this;
}

DemandSteps::DemandSteps(std::size_t most) : most_(std::max(most, kFewestSteps)), tally_(most_) {}

void DemandSteps::add(TimeMs submit, DurationMs run, std::int64_t gpu_milli) {
  const bool runs = run > 0 && gpu_milli > 0;
  tally_.add(step_of(submit), {1, runs ? gpu_milli : 0, 0});
  if (runs) tally_.add(step_of(submit + run), {0, 0, gpu_milli});
  if (tally_.full()) settle();
}

void DemandSteps::settle() {
  tally_.settle();
  while (tally_.entries().size() > most_) {
    ++shift_;
    tally_.rekey([this](TimeMs at) { return step_of(at); });
  }
}

DemandSteps::Peak DemandSteps::peak() const {
  Int128 now = 0;
  Int128 at_least = 0;
  Int128 at_most = 0;
  for (const auto& [at, step] : tally_.entries()) {
    const Int128 before = now;
    now += static_cast<Int128>(step.begins) - step.ends;
    at_most = std::max(at_most, shift_ == 0 ? now : before + step.begins);
    at_least = std::max(at_least, now);
  }
  return {clamp_to_int64(at_least), clamp_to_int64(at_most)};
}

std::vector<std::int64_t> DemandSteps::over_time(TimeMs first, TimeMs last, std::size_t parts) const {
  std::vector<std::int64_t> out(parts, 0);
  const Int128 span = std::max<Int128>(1, static_cast<Int128>(last) - first);
  for (const auto& [at, step] : tally_.entries()) {
    if (step.jobs == 0) continue;
    const Int128 part =
        (static_cast<Int128>(std::max(at, first)) - first) * static_cast<Int128>(parts) / span;
    out[std::min(parts - 1, static_cast<std::size_t>(part))] += step.jobs;
  }
  return out;
}

std::int64_t hour_of(TimeMs at) {
  return at / kHour - (at % kHour < 0 ? 1 : 0);
}

void BusiestHour::add(TimeMs submit) {
  const std::int64_t hour = hour_of(submit);
  busiest_ = std::max(busiest_, ++hours_[hour]);
  if (hours_.size() <= most_) return;
  const auto last = std::prev(hours_.end());
  hours_.erase(last->first - hour > hour - hours_.begin()->first ? last : hours_.begin());
}

std::size_t BusiestHour::memory_bytes() const {
  constexpr std::size_t kMapNode = 48;  // a node of the map: three links, a colour, key and value
  return hours_.size() * kMapNode;
}

}  // namespace berth::sim
