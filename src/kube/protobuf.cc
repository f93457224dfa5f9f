#include "kube/protobuf.h"

namespace berth::kube {
namespace {

constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 29) - 1;

// Seven bits a byte, the lowest first. False where the bytes end within it, or it has more than 64 bits.
bool take_varint(std::string_view& message, std::uint64_t& out) {
  out = 0;
  for (unsigned i = 0; i < 10 && i < message.size(); ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    if (i == 9 && byte > 1) return false;
    out |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      message.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view take_any_field(std::string_view& message, WireField& out) {
  std::uint64_t tag = 0;
  if (!take_varint(message, tag)) return "a field's number is cut off";
  if (tag >> 3 == 0 || tag >> 3 > kMostNumber) return "a field has no possible number";
  out.number = static_cast<std::uint32_t>(tag >> 3);
  out.has_bytes = false;
  std::size_t skipped = 0;
  switch (tag & 7) {
    case 0:
      return take_varint(message, out.value) ? "" : "a number is cut off";
    case 1:
      skipped = 8;
      break;
    case 2: {
      std::uint64_t length = 0;
      if (!take_varint(message, length)) return "a length is cut off";
      if (length > message.size()) return "a field is longer than what holds it";
      out.has_bytes = true;
      out.bytes = message.substr(0, length);
      message.remove_prefix(length);
      return "";
    }
    case 5:
      skipped = 4;
      break;
    default:
      return "a field has no known wire type";
  }
  // Fixed width. Kubernetes has none in what is read.
  if (skipped > message.size()) return "a number is cut off";
  out.value = 0;
  for (std::size_t i = 0; i < skipped; ++i)
    out.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(message[i])) << (8 * i);
  message.remove_prefix(skipped);
  return "";
}

}  // namespace berth::kube
