// The wire format of protobuf, as far as the API server's binary form, application/vnd.kubernetes.protobuf, needs it
// (protobuf.dev/programming-guides/encoding). Pods, nodes and Jobs are read in it (protobuf_json.h), and Bindings are written in it.
// The API server reads one in a seventh of the time that it takes for the JSON (docs/performance.md, "With Kueue's queues").
//
// An object stands in an envelope: "k8s\0" and a runtime.Unknown around it. Field numbers are those of Kubernetes' generated.proto, which are
// kept for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::kube {

// Before each envelope.
inline constexpr std::string_view kEnvelopeMark("k8s\0", 4);

// Appends field `number` (1 to 15): a text or another message.
inline void append_field(std::string& message, unsigned number, std::string_view bytes) {
  message += static_cast<char>(number << 3 | 2);  // 2: length, then so many bytes
  std::size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) message += static_cast<char>((size & 0x7f) | 0x80);
  message += static_cast<char>(size);
  message += bytes;
}

// `object` in its envelope.
inline std::string protobuf_object(std::string_view api_version, std::string_view kind,
                                   std::string_view object) {
  std::string type;
  append_field(type, 1, api_version);
  append_field(type, 2, kind);
  std::string out(kEnvelopeMark);
  out.reserve(out.size() + type.size() + object.size() + 16);
  append_field(out, 1, type);
  append_field(out, 2, object);
  return out;
}

struct WireField {
  std::uint32_t number = 0;
  bool has_bytes = false;   // a text or message; otherwise a number
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of a text or message: a part of what was read
};

std::string_view take_any_field(std::string_view& message, WireField& out);

// Takes the first field off `message`, which is not empty. Returns "", or what is wrong with the field.
inline std::string_view take_field(std::string_view& message, WireField& out) {
  // Most are short texts of one of the first fifteen fields.
  if (message.size() < 2) return take_any_field(message, out);
  const auto tag = static_cast<unsigned char>(message[0]);
  const auto length = static_cast<unsigned char>(message[1]);
  if (tag < 8 || tag >= 0x80 || (tag & 7) != 2 || length >= 0x80 || message.size() - 2 < length)
    return take_any_field(message, out);
  out.number = tag >> 3;
  out.has_bytes = true;
  out.bytes = message.substr(2, length);
  message.remove_prefix(std::size_t{2} + length);
  return {};
}

}  // namespace berth::kube
