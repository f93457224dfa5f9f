#include "sim/service/service_load.h"

#include <algorithm>
#include <utility>

#include "base/samplers.h"
#include "sim/trace/trace.h"
#include "text/csv.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/quantity.h"
#include "text/source.h"
#include "text/time.h"

namespace berth::sim {
namespace {

constexpr DurationMs kDay = 24 * kHour;
constexpr std::int64_t kMostLoadMilli = 1'000'000'000'000;  // 10^9 requests per second
constexpr std::int64_t kOne = 1000;

std::int64_t scaled(std::int64_t load, std::int64_t scale) {
  return clamp_to_int64(std::min<Int128>(Int128{load} * scale / kOne, kMostLoadMilli));
}

Status too_many(const LoadSource& source) {
  return fail_at(source.place, "the load changes more than {} times; choose a longer bin, or a shorter time",
                 kMostLoadPoints);
}

// Points as the file has them; their times rise.
using Points = std::vector<LoadPoint>;

Result<Points> read_csv(const LoadSource& source) {
  BERTH_ASSIGN(text::ByteSource bytes, text::ByteSource::open(source.path));
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(bytes, {"time_s", "requests_per_s"}));
  Points out;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return out;
    const auto time = text::parse_quantity_exact(csv.field(0), 1000);
    if (!time || !time->exact)
      return csv.error(0, "must be seconds with at most three digits after the point");
    const auto load = text::parse_quantity_exact(csv.field(1), 1000);
    if (!load || load->value < 0 || load->value > kMostLoadMilli)
      return csv.error(1, "must be requests per second, from 0 to 1000000000");
    if (!out.empty() && time->value <= out.back().at)
      return csv.error(0, "must be later than in the row before");
    out.push_back({time->value, load->value});
    if (out.size() > kMostLoadPoints) return csv.error(0, "too many rows: at most 10000000");
  }
}

Result<Points> read_jsonl(const LoadSource& source) {
  BERTH_ASSIGN(text::ByteSource bytes, text::ByteSource::open(source.path));
  text::LineReader lines(bytes);
  Points out;
  for (;;) {
    BERTH_ASSIGN(const auto line, lines.next());
    if (!line) return out;
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    BERTH_ASSIGN(const text::Document document,
                 text::parse_json(std::string(*line), source.path, {}, lines.line()));
    text::Fields f(document, document.root(), text::Unknown::kRefuse);
    LoadPoint point;
    point.at = f.integer("time_ms", -kMostTime, kMostTime);
    point.load_milli = f.quantity("requests_per_s", 1000);
    if (f.ok() && !out.empty() && point.at <= out.back().at)
      f.error("time_ms", "must be later than in the line before");
    if (f.ok() && point.load_milli > kMostLoadMilli) f.error("requests_per_s", "must be at most 1000000000");
    if (out.size() >= kMostLoadPoints) f.error("time_ms", "too many lines: at most 10000000");
    BERTH_TRY(f.done());
    out.push_back(point);
  }
}

// Seconds, or a date and a time of day with any fraction: "2023-11-16 18:17:03.9799600".
Result<TimeMs> request_time(const text::CsvReader& csv) {
  const std::string_view field = csv.field(0);
  if (const auto seconds = text::parse_quantity_exact(field, 1000)) return seconds->value;
  std::string text(field);
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  if (!text.ends_with('Z') && text.find('+') == std::string::npos) text += 'Z';
  const auto time = text::parse_time_ms(text);
  if (!time) return csv.error(0, "must be seconds, or a time such as 2023-11-16 18:17:03.97");
  return *time;
}

Result<Points> count_requests(const LoadSource& source) {
  BERTH_ASSIGN(text::ByteSource bytes, text::ByteSource::open(source.path));
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(bytes, {source.column}));
  std::vector<std::int64_t> bins;
  TimeMs begin = 0;
  bool first = true;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) break;
    BERTH_ASSIGN(const TimeMs at, request_time(csv));
    if (std::exchange(first, false)) begin = at;
    if (at < begin) return csv.error(0, "is earlier than the first request; sort the log");
    const auto bin = static_cast<std::size_t>((at - begin) / source.bin);
    if (bin >= kMostLoadPoints) return csv.error(0, "too far from the first request for bins this short");
    if (bin >= bins.size()) bins.resize(bin + 1, 0);
    ++bins[bin];
  }
  Points out;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    // Requests in `bin` ms, as thousandths of a request per second.
    const Int128 load = Int128{bins[i]} * kOne * kSecond / source.bin;
    out.push_back(
        {static_cast<TimeMs>(i) * source.bin, clamp_to_int64(std::min<Int128>(load, kMostLoadMilli))});
  }
  if (!bins.empty()) out.push_back({static_cast<TimeMs>(bins.size()) * source.bin, 0});
  return out;
}

Result<Points> make_days(const LoadSource& source, TimeMs from, TimeMs to, std::uint64_t seed) {
  if ((to - from) / source.bin >= static_cast<std::int64_t>(kMostLoadPoints)) {
    BERTH_TRY(too_many(source));
  }
  Random random(derived_seed(seed, "daily load"));
  Points out;
  for (TimeMs at = from; at < to; at += source.bin) {
    const DurationMs after_low = ((at - 4 * kHour) % kDay + kDay) % kDay;
    const DurationMs from_low = std::min(after_low, kDay - after_low);
    const Int128 x = Int128{from_low} * kOne / (kDay / 2);  // 0 at the low, 1000 at the high
    const Int128 rise = x * x * (3 * kOne - 2 * x) / (Int128{kOne} * kOne);
    const Int128 load = source.low_milli + (source.high_milli - source.low_milli) * rise / kOne;
    const std::int64_t noise = random.between(-source.noise_milli, source.noise_milli);
    out.push_back({at, clamp_to_int64(load * (kOne + noise) / kOne)});
  }
  return out;
}

}  // namespace

Result<std::vector<LoadPoint>> load_points(const LoadSource& source, TimeMs from, TimeMs to,
                                           std::uint64_t seed) {
  Points read;
  switch (source.form) {
    case LoadForm::kCsv: {
      BERTH_ASSIGN(read, read_csv(source));
      break;
    }
    case LoadForm::kJsonl: {
      BERTH_ASSIGN(read, read_jsonl(source));
      break;
    }
    case LoadForm::kRequests: {
      BERTH_ASSIGN(read, count_requests(source));
      break;
    }
    case LoadForm::kDaily: {
      BERTH_ASSIGN(read, make_days(source, from, to, seed));
      break;
    }
  }
  if (read.empty()) return fail_at({source.path, 0, 0}, "holds no load");
  // A file's first point stands at the beginning of the service.
  const TimeMs shift = from - read.front().at;
  Points out;
  for (DurationMs round = 0;; round += source.repeat) {
    bool past = false;
    for (const LoadPoint& point : read) {
      const DurationMs offset = point.at + shift - from;
      if (source.repeat > 0 && offset >= source.repeat) break;
      const TimeMs at = from + round + offset;
      past = at >= to;
      if (past) break;
      out.push_back({at, scaled(point.load_milli, source.scale_milli)});
      if (out.size() > kMostLoadPoints) BERTH_TRY(too_many(source));
    }
    if (past || source.repeat == 0 || from + round + source.repeat >= to) break;
  }
  return out;
}

}  // namespace berth::sim
