// Objects in the API server's binary form, application/vnd.kubernetes.protobuf, for writes that are made by the thousand: it reads a
// Binding in a seventh of the time that it takes for the JSON (docs/performance.md, "With Kueue's queues").
//
// Wire format: protobuf.dev/programming-guides/encoding. Envelope: "k8s\0" and a runtime.Unknown around the object; field numbers are
// those of Kubernetes' generated.proto, which are kept for ever. Only what is written here: fields of bytes, and of these the first 15.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::kube {

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
  std::string out("k8s\0", 4);
  out.reserve(out.size() + type.size() + object.size() + 16);
  append_field(out, 1, type);
  append_field(out, 2, object);
  return out;
}

}  // namespace berth::kube
