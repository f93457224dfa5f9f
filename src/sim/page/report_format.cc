#include "sim/page/report_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/checked.h"
#include "sim/page/report.h"
#include "text/utf8.h"

namespace berth::sim {
namespace {

using Wide = Int128;

std::string two_units(std::int64_t large, const char* large_unit, std::int64_t small,
                      const char* small_unit) {
  if (small == 0) return fmt::format("{} {}", large, large_unit);
  return fmt::format("{} {} {} {}", large, large_unit, small, small_unit);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const std::size_t length = text::utf8_length(at, end);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    const char c = *at;
    if (length > 1) {
      out.append(at, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F) {
      out += "\xEF\xBF\xBD";
    } else {
      out += c;
    }
    at += length;
  }
  return out;
}

std::string swatch(std::string_view color) {
  std::int64_t number = 0;
  if (color.starts_with("--s")) std::from_chars(color.data() + 3, color.data() + color.size(), number);
  return fmt::format("<i class=\"swatch{}\" style=\"--c:var({})\"></i>", number > 6 ? " hatch" : "", color);
}

std::string escape_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";  // outside strings JSON has none, so this is always within one
    } else {
      out += c;
    }
  }
  return out;
}

std::string fill_template(std::string_view page,
                          const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  while (!page.empty()) {
    const std::size_t open = page.find("{{");
    if (open == std::string_view::npos) break;
    const std::size_t close = page.find("}}", open);
    if (close == std::string_view::npos) break;
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
    if (found == values.end()) {
      out += page.substr(0, open + 2);
      page.remove_prefix(open + 2);
    } else {
      out += page.substr(0, open);
      out += found->second;
      page.remove_prefix(close + 2);
    }
  }
  out += page;
  return out;
}

std::string human_duration(DurationMs ms) {
  if (ms < 0) {
    return "-" + human_duration(ms == INT64_MIN ? INT64_MAX : -ms);
  }
  constexpr std::int64_t kDay = 24 * kHour;
  if (ms == 0) return "0 s";
  if (ms < kSecond) return fmt::format("{} ms", ms);
  if (ms < 10 * kSecond) {
    const std::int64_t tenths = (ms + 50) / 100;
    return tenths % 10 == 0 ? fmt::format("{} s", tenths / 10)
                            : fmt::format("{}.{} s", tenths / 10, tenths % 10);
  }
  // Each unit is rounded in the smaller of the two units shown, and only then split, so that 59.9 s is 1 min.
  const std::int64_t seconds = (ms + kSecond / 2) / kSecond;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return two_units(seconds / 60, "min", seconds % 60, "s");
  const std::int64_t minutes = (ms + kMinute / 2) / kMinute;
  if (minutes < 24 * 60) return two_units(minutes / 60, "h", minutes % 60, "min");
  const auto hours = static_cast<std::int64_t>(divide_rounded(ms, kHour));
  if (hours < 100 * 24) return two_units(hours / 24, "d", hours % 24, "h");
  return human_amount(static_cast<std::int64_t>(divide_rounded(ms, kDay)), 1, 0) + " d";
}

std::string human_amount(std::int64_t amount, std::int64_t divisor, int decimals) {
  if (divisor <= 0) divisor = 1;
  const int digits = std::clamp(decimals, 0, 6);
  Wide scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const bool negative = amount < 0;
  const Wide scaled =
      divide_rounded((negative ? -static_cast<Wide>(amount) : static_cast<Wide>(amount)) * scale, divisor);
  auto fraction = static_cast<std::uint64_t>(scaled % scale);
  Wide rest = scaled / scale;
  std::string whole;
  for (int n = 0; rest > 0 || n == 0; ++n) {
    if (n > 0 && n % 3 == 0) whole.insert(whole.begin(), ',');
    whole.insert(whole.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  std::string tail;
  if (fraction > 0) {
    tail = fmt::format("{:0{}}", fraction, digits);
    while (tail.back() == '0') tail.pop_back();
    tail.insert(tail.begin(), '.');
  }
  return (negative && scaled != 0 ? "-" : "") + whole + tail;
}

}  // namespace berth::sim
