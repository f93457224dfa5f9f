#include "kube/url.h"

#include <charconv>

namespace berth::kube {

bool Url::loopback() const {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.scheme = "https";
    url.port = 443;
  } else if (rest.starts_with("http://")) {
    url.scheme = "http";
    url.port = 80;
  } else {
    return fail(ErrorCode::kInvalid, "'{}' must start with https:// (or http://), like https://10.0.0.1:6443",
                text);
  }
  rest.remove_prefix(url.scheme.size() + 3);
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) {
    url.prefix = rest.substr(slash);
    while (url.prefix.ends_with('/')) url.prefix.pop_back();
  }
  if (authority.find('@') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid,
                "a server's URL must not hold user and password; put them into the user entry");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "'{}' must not have a query or fragment", text);
  }
  std::size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos)
      return fail(ErrorCode::kInvalid, "'{}' lacks the closing ']'", text);
    colon = authority.find(':', bracket);
  }
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || end != digits.data() + digits.size() || url.port == 0) {
      return fail(ErrorCode::kInvalid, "'{}' has no valid port (1 to 65535)", text);
    }
    authority = authority.substr(0, colon);
  }
  if (authority.empty()) return fail(ErrorCode::kInvalid, "'{}' names no host", text);
  url.host = authority;
  return url;
}

}  // namespace berth::kube
