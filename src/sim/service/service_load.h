// Where the load of a service comes from: a file of rates, a log of requests, or a day that is made up.
//
//   csv       time_s,requests_per_s: the load from that time on
//   jsonl     {"time_ms":0,"requests_per_s":12.5} per line
//   requests  a log with one row per request and its time in a column; counted in bins
//   daily     low at 4 in the morning, high at 16, smooth in between (3x^2 - 2x^3), with noise by the seed
//
// Files may be compressed with gzip or zstd, are read as a stream, and give errors with file, line and column. Times in them rise; a
// log's need not (its first request's time is its beginning).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/service/service.h"

namespace berth::sim {

enum class LoadForm : std::uint8_t { kCsv, kJsonl, kRequests, kDaily };

struct LoadSource {
  LoadForm form = LoadForm::kCsv;
  std::string path;
  std::string column = "TIMESTAMP";  // kRequests
  DurationMs bin = kMinute;          // kRequests: the load is counted in bins; kDaily: it changes this often
  std::int64_t low_milli = 0;        // kDaily
  std::int64_t high_milli = 0;
  std::int64_t noise_milli = 0;     // kDaily: uniformly within this share
  std::int64_t scale_milli = 1000;  // of every load
  DurationMs repeat = 0;            // files: begins again after this time; 0 = once
  SourcePlace place;
};

inline constexpr std::size_t kMostLoadPoints = 10'000'000;

// The load of a service that lives in [from, to). The first point is at `from`. Errors: what is wrong in the file, or with the source
// at its place (no points, too many).
Result<std::vector<LoadPoint>> load_points(const LoadSource& source, TimeMs from, TimeMs to,
                                           std::uint64_t seed);

}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::LoadForm> {
  static constexpr std::array names{"csv"sv, "jsonl"sv, "requests"sv, "daily"sv};
};
}  // namespace berth
