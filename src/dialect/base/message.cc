#include "dialect/base/message.h"

namespace berth::dialect {

std::string bounded(std::string message) {
  constexpr std::size_t kMost = 1024;
  if (message.size() <= kMost) return message;
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  message.resize(end);
  return message + "...";
}

}  // namespace berth::dialect
