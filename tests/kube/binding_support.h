// The contents of a bind's write, as the JSON that it could have been: read by code that shares nothing with the code that wrote
// it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::kube::testing {

// The fields of a protobuf message that are texts or messages, in their order.
inline std::vector<std::pair<unsigned, std::string_view>> fields_of(std::string_view message) {
  std::vector<std::pair<unsigned, std::string_view>> out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t tag = varint();
    const std::uint64_t size = varint();
    if ((tag & 7) == 0) continue;  // a number: it was read as a size
    if ((tag & 7) != 2 || size > message.size() - at) throw std::runtime_error("not a field of bytes");
    out.emplace_back(static_cast<unsigned>(tag >> 3), message.substr(at, size));
    at += size;
  }
  return out;
}

// Field numbers: generated.proto of apimachinery's pkg/runtime and meta/v1, and of api/core/v1.
inline nlohmann::json binding_of(std::string_view body) {
  const std::map<std::pair<unsigned, unsigned>, const char*> texts = {
      {{1, 1}, "/metadata/name"}, {{1, 3}, "/metadata/namespace"}, {{1, 5}, "/metadata/uid"},
      {{2, 1}, "/target/kind"},   {{2, 3}, "/target/name"},
  };
  if (body.substr(0, 4) != std::string_view("k8s\0", 4)) throw std::runtime_error("not in protobuf");
  nlohmann::json out;
  for (const auto& [envelope, part] : fields_of(body.substr(4))) {
    for (const auto& [of, value] : fields_of(part)) {
      if (envelope == 1) {
        out[of == 1 ? "apiVersion" : "kind"] = value;
        continue;
      }
      for (const auto& [field, bytes] : fields_of(value)) {
        if (const auto text = texts.find({of, field}); text != texts.end())
          out[nlohmann::json::json_pointer(text->second)] = bytes;
        if (of != 1 || field != 12) continue;
        const auto entry = fields_of(bytes);
        out["metadata"]["annotations"][std::string(entry.at(0).second)] = entry.at(1).second;
      }
    }
  }
  return out;
}

}  // namespace berth::kube::testing
