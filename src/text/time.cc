#include "text/time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>

#include "text/decimal.h"

namespace berth::text {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
// The calendar of the standard library ends with the year 32767.
constexpr std::int64_t kMostDays = 30'000 * 365;

// Takes exactly `n` digits, then (where `after` is not 0) that character.
bool take(std::string_view& text, std::size_t n, char after, std::int64_t& value) {
  if (text.size() < n + (after != 0 ? 1 : 0)) return false;
  value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  if (after != 0 && text[n] != after) return false;
  text.remove_prefix(n + (after != 0 ? 1 : 0));
  return true;
}

// Microseconds since the epoch.
std::optional<std::int64_t> scan_time(std::string_view text) {
  std::int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take(text, 4, '-', year) || !take(text, 2, '-', month) || !take(text, 2, 0, day)) return std::nullopt;
  if (text.empty() || (text[0] != 'T' && text[0] != 't' && text[0] != ' ')) return std::nullopt;
  text.remove_prefix(1);
  if (!take(text, 2, ':', hour) || !take(text, 2, ':', minute) || !take(text, 2, 0, second))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1 || !date.ok()) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  std::int64_t micros = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    std::size_t n = 0;
    for (std::int64_t unit = 100'000; n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n, unit /= 10) {
      micros += (text[n] - '0') * unit;
    }
    if (n == 0) return std::nullopt;
    text.remove_prefix(n);
  }
  std::int64_t shift = 0;
  if (text.starts_with('+') || text.starts_with('-')) {
    const std::int64_t sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
    std::int64_t hours = 0, minutes = 0;
    if (!take(text, 2, ':', hours) || !take(text, 2, 0, minutes) || hours > 23 || minutes > 59)
      return std::nullopt;
    shift = sign * (hours * 3600 + minutes * 60);
  } else if (text.starts_with('Z') || text.starts_with('z')) {
    text.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * kSecondsPerDay + hour * 3600 + minute * 60 + second - shift;
  return seconds * 1'000'000 + micros;
}

std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

std::string seconds_text(std::int64_t seconds) {
  const std::int64_t days = floor_divide(seconds, kSecondsPerDay);
  const std::int64_t rest = seconds - days * kSecondsPerDay;
  const std::chrono::year_month_day date{std::chrono::sys_days(
      std::chrono::days(static_cast<int>(std::clamp<std::int64_t>(days, -kMostDays, kMostDays))))};
  const int year = static_cast<int>(date.year());
  if (year < 0 || year > 9999) {
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year, static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()), rest / 3600, rest / 60 % 60, rest % 60);
  }
  // By hand: an object in binary form has a handful of times, and a start reads all objects.
  std::string out = "0000-00-00T00:00:00";
  const auto put = [&](std::size_t at, std::size_t digits, std::int64_t number) {
    for (std::size_t i = digits; i-- > 0; number /= 10) out[at + i] = static_cast<char>('0' + number % 10);
  };
  put(0, 4, year);
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, rest / 3600);
  put(14, 2, rest / 60 % 60);
  put(17, 2, rest % 60);
  return out;
}

struct Unit {
  std::string_view text;
  std::int64_t nanos;
};

constexpr std::array<Unit, 9> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"\xC2\xB5s", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000},
                                      {"d", 86'400'000'000'000},
                                      {"w", 604'800'000'000'000}}};

// Nanoseconds of one number with a unit; nullopt where digits are too many or the result is no whole
// nanosecond.
std::optional<Uint128> nanos_of(const Decimal& number, std::int64_t unit) {
  if (number.whole.size() > 18 || number.fraction.size() > 18) return std::nullopt;
  Uint128 whole = 0;
  for (const char c : number.whole) whole = whole * 10 + static_cast<unsigned>(c - '0');
  Uint128 part = 0;
  Uint128 power = 1;
  for (const char c : number.fraction) {
    part = part * 10 + static_cast<unsigned>(c - '0');
    power *= 10;
  }
  part *= static_cast<unsigned long long>(unit);
  if (part % power != 0) return std::nullopt;
  return whole * static_cast<unsigned long long>(unit) + part / power;
}

}  // namespace

Result<std::int64_t> parse_time_us(std::string_view text) {
  const auto micros = scan_time(text);
  if (!micros) {
    return fail(ErrorCode::kInvalid, "'{}' is not a time; write it as 2026-11-21T06:39:27Z",
                text.substr(0, 40));
  }
  return *micros;
}

Result<std::int64_t> parse_time_ms(std::string_view text) {
  BERTH_ASSIGN(const std::int64_t micros, parse_time_us(text));
  return floor_divide(micros, 1000);
}

std::string format_time_ms(std::int64_t ms) {
  const std::int64_t seconds = floor_divide(ms, 1000);
  const std::int64_t rest = ms - seconds * 1000;
  return rest == 0 ? seconds_text(seconds) + "Z" : fmt::format("{}.{:03}Z", seconds_text(seconds), rest);
}

std::string format_time_seconds(std::int64_t ms) {
  return seconds_text(floor_divide(ms, 1000)) + "Z";
}

std::string format_time_us(std::int64_t us) {
  const std::int64_t seconds = floor_divide(us, 1'000'000);
  return fmt::format("{}.{:06}Z", seconds_text(seconds), us - seconds * 1'000'000);
}

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  const auto wrong = [&] {
    return fail(
        ErrorCode::kInvalid,
        "'{}' is not a duration; write numbers with units w, d, h, m, s or ms, for example 1h30m or 250ms",
        text.substr(0, 40));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return 0;
  if (rest.empty() || rest.size() > 100) return wrong();
  Uint128 nanos = 0;
  while (!rest.empty()) {
    if (rest[0] == '-' || rest[0] == '+') return wrong();
    const auto number = scan_decimal(rest);
    if (!number || rest.substr(0, number->length).find_first_of("eE") != std::string_view::npos)
      return wrong();
    rest.remove_prefix(number->length);
    std::size_t n = 0;
    while (n < rest.size() && rest[n] != '.' && (rest[n] < '0' || rest[n] > '9')) ++n;
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits) {
      if (candidate.text == rest.substr(0, n)) unit = &candidate;
    }
    if (unit == nullptr) return wrong();
    rest.remove_prefix(n);
    const auto part = nanos_of(*number, unit->nanos);
    if (!part) return fail(ErrorCode::kInvalid, "duration '{}' has too many digits", text);
    nanos += *part;  // at most 50 parts below 2^110
  }
  if (nanos % 1'000'000 != 0) {
    return fail(ErrorCode::kInvalid, "duration '{}' is not a whole number of milliseconds", text);
  }
  const Uint128 ms = nanos / 1'000'000;
  if (ms > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ErrorCode::kExhausted, "duration '{}' is too large", text);
  }
  const auto value = static_cast<std::int64_t>(ms);
  return negative ? -value : value;
}

std::string format_duration_ms(std::int64_t ms) {
  if (ms == 0) return "0s";
  std::string out = ms < 0 ? "-" : "";
  std::uint64_t rest = ms < 0 ? ~static_cast<std::uint64_t>(ms) + 1 : static_cast<std::uint64_t>(ms);
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> kParts{
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
  for (const auto& [unit, length] : kParts) {
    if (rest >= length) out += fmt::format("{}{}", rest / length, unit);
    rest %= length;
  }
  return out;
}

}  // namespace berth::text
