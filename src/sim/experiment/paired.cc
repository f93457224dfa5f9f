#include "sim/experiment/paired.h"

#include <algorithm>
#include <array>

#include "base/checked.h"

namespace berth::sim {
namespace {

// Student's t, two-sided 95 %, in thousandths, of 1 to 30 degrees of freedom.
constexpr std::array<std::int64_t, 30> kStudent = {
    12706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228, 2201, 2179, 2160, 2145, 2131,
    2120,  2110, 2101, 2093, 2086, 2080, 2074, 2069, 2064, 2060, 2056, 2052, 2048, 2045, 2042};

// Beyond 30 that of the next lower entry of the usual tables, so that an interval is rather too wide.
std::int64_t student_milli(std::int64_t freedom) {
  if (freedom <= 30) return kStudent[static_cast<std::size_t>(freedom - 1)];
  if (freedom < 40) return kStudent.back();
  if (freedom < 60) return 2021;
  if (freedom < 120) return 2000;
  return 1980;
}

// The least integer whose square is at least `value`.
std::int64_t root_up(Int128 value) {
  Int128 low = 0;
  Int128 high = Int128{1} << 62;
  while (low < high) {
    const Int128 middle = (low + high) / 2;
    if (middle * middle >= value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<std::int64_t>(low);
}

}  // namespace

PairedDifference paired_difference(const std::vector<std::int64_t>& differences) {
  PairedDifference out;
  out.pairs = static_cast<std::int64_t>(differences.size());
  if (differences.empty()) return out;
  // With amounts below 2^31 and at most 2^14 pairs every product below fits 128 bits. Larger amounts lose their last bits.
  int shift = 0;
  for (const std::int64_t difference : differences) {
    while ((difference < 0 ? ~difference : difference) >> shift >= std::int64_t{1} << 31) ++shift;
  }
  Int128 whole = 0;
  Int128 sum = 0;
  Int128 squares = 0;
  for (const std::int64_t difference : differences) {
    const Int128 part = difference >> shift;
    whole += difference;
    sum += part;
    squares += part * part;
  }
  const Int128 n = out.pairs;
  out.mean = out.low = out.high = clamp_to_int64(divide_rounded(whole, out.pairs));
  if (!out.known()) return out;
  const std::int64_t t = student_milli(out.pairs - 1);
  // n^2 (n - 1) times the square of the mean's error; the half of the interval is t times its root.
  const Int128 spread = n * squares - sum * sum;
  const Int128 square = (spread * t * t + n * n * (n - 1) - 1) / (n * n * (n - 1));
  const Int128 half = ((static_cast<Int128>(root_up(square)) + 999) / 1000) << shift;
  out.low = clamp_to_int64(out.mean - half);
  out.high = clamp_to_int64(out.mean + half);
  out.clear = sum * sum * (n - 1) * 1'000'000 > spread * t * t;
  return out;
}

}  // namespace berth::sim
