#include "cli/address.h"

#include <charconv>

namespace berth::cli {
namespace {

std::optional<observe::HttpOptions> split(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  observe::HttpOptions out;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (error != std::errc() || at != end) return std::nullopt;
  out.address = text.substr(0, colon);
  if (out.address.size() > 2 && out.address.front() == '[' && out.address.back() == ']') {
    out.address = out.address.substr(1, out.address.size() - 2);
  }
  if (out.address.empty()) return std::nullopt;
  return out;
}

}  // namespace

Result<observe::HttpOptions> parse_address(std::string_view flag, const std::string& text,
                                           std::string_view example) {
  if (auto out = split(text)) return std::move(*out);
  return fail(ErrorCode::kInvalid, "{} {}: write ADDRESS:PORT, for example {}", flag, text, example);
}

Result<std::optional<observe::HttpOptions>> parse_address_or_off(std::string_view flag,
                                                                 const std::string& text,
                                                                 std::string_view example) {
  if (text.empty() || text == "off") return std::nullopt;
  if (auto out = split(text)) return out;
  return fail(ErrorCode::kInvalid, "{} {}: write ADDRESS:PORT, for example {}, or off", flag, text, example);
}

}  // namespace berth::cli
