#include "model/ports.h"

#include <fmt/format.h>

namespace berth {

std::string to_text(const HostPort& port) {
  return fmt::format("{}{}{}/{}", port.ip, port.ip.empty() ? "" : ":", port.port, enum_name(port.protocol));
}

}  // namespace berth
