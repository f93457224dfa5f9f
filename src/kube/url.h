// The parts of a server's URL: "https://host:port/prefix".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

struct Url {
  std::string scheme;  // http or https
  std::string host;    // an IPv6 address keeps its brackets
  std::uint16_t port = 0;
  std::string prefix;  // path without a slash at its end
  bool loopback() const;
};

// Errors: kInvalid, saying what a server's URL must look like. A URL with user:password or a query is refused.
Result<Url> parse_url(std::string_view text);

}  // namespace berth::kube
