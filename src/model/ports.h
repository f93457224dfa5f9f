// Host ports: ports of its node that a pod takes for itself.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "base/enums.h"

namespace berth {

enum class PortProtocol : std::uint8_t { kTcp, kUdp, kSctp };
template <>
struct EnumNames<PortProtocol> {
  static constexpr std::array names{"TCP"sv, "UDP"sv, "SCTP"sv};
};

struct HostPort {
  std::int64_t port = 0;  // 1 to 65535
  PortProtocol protocol = PortProtocol::kTcp;
  std::string ip;  // of the node; "" = all of them (Kubernetes' 0.0.0.0)

  // Two pods with such ports cannot share a node: the same port and protocol, on the same IP or on all. IPs are compared as texts,
  // as the default scheduler does.
  bool excludes(const HostPort& other) const {
    return port == other.port && protocol == other.protocol &&
           (ip == other.ip || ip.empty() || other.ip.empty());
  }
  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("port", s.port);
    v("protocol", s.protocol);
    v("ip", s.ip);
  }
  bool operator==(const HostPort&) const = default;
  auto operator<=>(const HostPort&) const = default;
};

// "8080/TCP", or with an IP "10.0.0.1:8080/TCP".
std::string to_text(const HostPort& port);

}  // namespace berth
