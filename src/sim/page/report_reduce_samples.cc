#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "sim/page/report.h"
#include "sim/page/report_reduce.h"

namespace berth::sim {
namespace {

using Samples = std::vector<std::int64_t>;

// The smallest sample that at least part/whole of the samples do not exceed. `sorted` is not empty.
std::int64_t quantile(const Samples& sorted, std::size_t part, std::size_t whole) {
  const std::size_t rank = (sorted.size() * part + whole - 1) / whole;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void add_curve(const Samples& sorted, ReducedGroup& out) {
  // Even steps through the ranks, and beyond the last of them ever smaller ones. A logarithmic axis of shares has as much room for
  // the tail as for the rest.
  std::vector<std::size_t> ranks;
  const std::size_t n = sorted.size();
  if (n <= kMaxCurvePoints) {
    for (std::size_t rank = 1; rank <= n; ++rank) ranks.push_back(rank);
  } else {
    constexpr std::size_t kTail = 40;
    constexpr std::size_t kBody = kMaxCurvePoints - kTail - 2;
    ranks.push_back(1);
    for (std::size_t i = 1; i <= kBody; ++i) ranks.push_back(std::max<std::size_t>(n * i / kBody, 1));
    std::size_t above = n / kBody;
    for (std::size_t i = 0; i < kTail && above > 0; ++i, above -= (above + 2) / 3) ranks.push_back(n - above);
    std::sort(ranks.begin(), ranks.end());
  }
  for (const std::size_t rank : ranks) {
    const std::int64_t value = sorted[rank - 1];
    if (!out.curve_value.empty() && out.curve_value.back() == value) continue;
    out.curve_value.push_back(value);
    out.curve_rank.push_back(std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
  }
  if (!out.curve_value.empty() && out.curve_value.back() != sorted.back()) {
    out.curve_value.push_back(sorted.back());
    out.curve_rank.push_back(static_cast<std::int64_t>(n));
  }
}

ReducedGroup describe(std::string name, Samples samples) {
  ReducedGroup out;
  out.name = std::move(name);
  out.count = static_cast<std::int64_t>(samples.size());
  if (samples.empty()) return out;
  std::sort(samples.begin(), samples.end());
  Int128 total = 0;
  for (const std::int64_t sample : samples) {
    total += sample;
    if (sample == 0) ++out.zeros;
  }
  out.mean = static_cast<std::int64_t>(divide_rounded(total, out.count));
  out.min = samples.front();
  out.p10 = quantile(samples, 10, 100);
  out.p25 = quantile(samples, 25, 100);
  out.p50 = quantile(samples, 50, 100);
  out.p75 = quantile(samples, 75, 100);
  out.p90 = quantile(samples, 90, 100);
  out.p99 = quantile(samples, 99, 100);
  out.max = samples.back();
  add_curve(samples, out);
  return out;
}

}  // namespace

ReducedDistribution reduce(const Distribution& distribution) {
  ReducedDistribution out;
  const auto& groups = distribution.groups;
  std::vector<std::size_t> kept(groups.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  Samples rest;
  if (groups.size() > kMaxGroups) {
    std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) {
      return groups[a].samples.size() > groups[b].samples.size();
    });
    for (std::size_t i = kMaxGroups - 1; i < kept.size(); ++i) {
      const Samples& samples = groups[kept[i]].samples;
      rest.insert(rest.end(), samples.begin(), samples.end());
    }
    out.folded = kept.size() - (kMaxGroups - 1);
    kept.resize(kMaxGroups - 1);
    std::sort(kept.begin(), kept.end());
  }
  for (const std::size_t i : kept) {
    out.groups.push_back(describe(groups[i].name, groups[i].samples));
    out.groups.back().source = i;
  }
  if (out.folded > 0) {
    out.groups.push_back(describe(fmt::format("other ({})", out.folded), std::move(rest)));
    out.groups.back().other = true;
  }
  if (groups.size() > 1 && !distribution.overall.empty()) {
    Samples all;
    for (const SampleGroup& group : groups) all.insert(all.end(), group.samples.begin(), group.samples.end());
    out.overall.push_back(describe(distribution.overall, std::move(all)));
  }
  return out;
}

}  // namespace berth::sim
