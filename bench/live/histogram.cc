#include "histogram.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace berth::bench {
namespace {

double number_of(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

double Histogram::at_most(double part) const {
  for (const auto& [bound, below] : buckets) {
    if (static_cast<double>(below) >= part * static_cast<double>(count)) return bound;
  }
  return std::numeric_limits<double>::infinity();
}

Histogram Histogram::since(const Histogram& before) const {
  Histogram out = *this;
  out.count -= before.count;
  out.sum -= before.sum;
  for (std::size_t i = 0; i < out.buckets.size() && i < before.buckets.size(); ++i)
    out.buckets[i].second -= before.buckets[i].second;
  return out;
}

Result<Histogram> read_histogram(std::string_view text, std::string_view name) {
  Histogram out;
  bool found = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const double value = number_of(line.substr(line.rfind(' ') + 1));
    constexpr std::string_view kBucket = "_bucket{le=\"";
    if (rest.starts_with(kBucket)) {
      const std::string_view bound = rest.substr(kBucket.size());
      out.buckets.emplace_back(number_of(bound.substr(0, bound.find('"'))),
                               static_cast<std::uint64_t>(value));
    } else if (rest.starts_with("_sum ")) {
      out.sum = value;
    } else if (rest.starts_with("_count ")) {
      out.count = static_cast<std::uint64_t>(value);
      found = true;
    }
  }
  if (!found) return fail(ErrorCode::kUnavailable, "there is no histogram {}", name);
  return out;
}

}  // namespace berth::bench
