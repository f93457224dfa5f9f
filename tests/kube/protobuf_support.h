// Objects of tests in the API server's binary form: written by hand, field by field, so that they share nothing with what reads them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "kube/protobuf.h"

namespace berth::kube::testing {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
  return out;
}
inline std::string number(std::uint64_t field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string field(std::uint64_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

// Field numbers: generated.proto of meta/v1 and core/v1. metadata and spec have only what tests of the FakeApiServer look at.
inline std::string binary_meta(const nlohmann::json& meta) {
  std::string out;
  const auto text = [&](unsigned number, const char* name) {
    if (meta.contains(name)) out += field(number, meta[name].get<std::string>());
  };
  const auto map = [&](unsigned number, const char* name) {
    if (!meta.contains(name) || meta[name].is_null()) return;
    for (const auto& [key, value] : meta[name].items())
      out += field(number, field(1, key) + field(2, value.get<std::string>()));
  };
  text(1, "name");
  text(3, "namespace");
  text(5, "uid");
  text(6, "resourceVersion");
  map(11, "labels");
  map(12, "annotations");
  return out;
}

// A Pod, Node or Status in its envelope.
inline std::string binary_object(const nlohmann::json& object, std::string_view kind) {
  std::string out;
  if (kind == "Status") {
    const nlohmann::json details = object.value("details", nlohmann::json::object());
    std::string more;
    for (const auto& cause : details.value("causes", nlohmann::json::array()))
      more += field(4, field(1, cause["reason"].get<std::string>()));
    if (details.contains("retryAfterSeconds")) more += number(5, details["retryAfterSeconds"]);
    out = field(1, "") + field(2, object.value("status", "Failure")) + field(3, object.value("message", "")) +
          field(4, object.value("reason", "")) + field(5, more) + number(6, object.value("code", 0));
  } else {
    out = field(1, binary_meta(object["metadata"]));
    if (const auto spec = object.find("spec"); spec != object.end() && spec->contains("nodeName"))
      out += field(2, field(10, (*spec)["nodeName"].get<std::string>()));
  }
  return std::string(kEnvelopeMark) + field(1, field(1, "v1") + field(2, kind)) + field(2, out) +
         field(3, "") + field(4, "");
}

// A list of them. Items have no envelope.
inline std::string binary_list(const nlohmann::json& list, std::string_view kind) {
  std::string meta = field(1, "") + field(2, list["metadata"]["resourceVersion"].get<std::string>());
  if (list["metadata"].contains("continue"))
    meta += field(3, list["metadata"]["continue"].get<std::string>());
  std::string out = field(1, meta);
  for (const auto& item : list["items"]) {
    std::string one = field(1, binary_meta(item["metadata"]));
    if (item.contains("spec") && item["spec"].contains("nodeName"))
      one += field(2, field(10, item["spec"]["nodeName"].get<std::string>()));
    out += field(2, one);
  }
  return std::string(kEnvelopeMark) + field(1, field(1, "v1") + field(2, std::string(kind) + "List")) +
         field(2, out) + field(3, "") + field(4, "");
}

// A frame of a watch.
inline std::string binary_frame(const std::string& type, const nlohmann::json& object,
                                std::string_view kind) {
  const std::string event = field(1, type) + field(2, field(1, binary_object(object, kind)));
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(event.size() >> shift);
  return out + event;
}

}  // namespace berth::kube::testing
