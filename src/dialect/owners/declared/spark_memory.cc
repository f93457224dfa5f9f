#include "dialect/owners/declared/spark_memory.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "text/quantity.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kKibibytesOfMebibyte = 1024;
constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 40;
constexpr std::int64_t kLeastOverhead = 384;
constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

std::optional<std::int64_t> spark_mebibytes(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMostMebibytes) return std::nullopt;
  std::string unit(text.substr(static_cast<std::size_t>(end - text.data())));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (unit.size() == 2 && unit.back() == 'b') unit.pop_back();
  std::int64_t out = 0;
  if (unit.empty() || unit == "m") {
    out = number;
  } else if (unit == "b") {
    out = number / kKibibytesOfMebibyte / kKibibytesOfMebibyte;
  } else if (unit == "k") {
    out = number / kKibibytesOfMebibyte;
  } else if (unit == "g") {
    out = std::min(number, kMostMebibytes) * 1024;
  } else if (unit == "t") {
    out = std::min(number, kMostMebibytes / 1024) * 1024 * 1024;
  } else {
    return std::nullopt;
  }
  if (out > kMostMebibytes) return std::nullopt;
  return out;
}

std::optional<std::int64_t> spark_overhead(std::int64_t mebibytes, std::string_view factor) {
  const auto part = text::parse_quantity(factor, kMillion);
  if (!part || *part < 0 || *part > 100 * kMillion) return std::nullopt;
  return std::max(kLeastOverhead, std::min(mebibytes, kMostMebibytes / 1024) * *part / kMillion);
}

}  // namespace berth::dialect
