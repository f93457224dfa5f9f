#include "text/decimal.h"

#include <algorithm>

namespace berth::text {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && digit(text[end])) ++end;
  return text.substr(at, end - at);
}

}  // namespace

std::optional<Decimal> scan_decimal(std::string_view text) {
  Decimal result;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    result.negative = text[0] == '-';
    at = 1;
  }
  result.whole = digits_at(text, at);
  at += result.whole.size();
  if (at < text.size() && text[at] == '.') {
    result.fraction = digits_at(text, at + 1);
    at += 1 + result.fraction.size();
  }
  if (result.whole.empty() && result.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t start = at + 1;
    const bool negative = start < text.size() && text[start] == '-';
    if (start < text.size() && (text[start] == '-' || text[start] == '+')) ++start;
    const std::string_view exponent = digits_at(text, start);
    if (!exponent.empty()) {
      for (const char c : exponent)
        result.exponent = std::min<std::int64_t>(result.exponent * 10 + (c - '0'), 1'000'000);
      if (negative) result.exponent = -result.exponent;
      at = start + exponent.size();
    }
  }
  result.length = at;
  return result;
}

}  // namespace berth::text
