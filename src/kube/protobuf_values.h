// Messages of Kubernetes that JSON shows as one text or number: times, quantities, entries of maps, IntOrString
// (k8s.io/apimachinery, generated.proto of meta/v1, api/resource and util/intstr). Both readers of the binary form use them: protobuf_json.h
// and dialect/base/binary_value.h. Cost: one pass over a few bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "kube/protobuf.h"

namespace berth::kube {

// Go's zero time, the first second of the year 1: JSON has null for it.
inline constexpr std::int64_t kZeroTime = -62'135'596'800;

// A fault of a message, and the byte where it is; none: at is nullptr.
struct WireFault {
  std::string_view what;
  const char* at = nullptr;
  explicit operator bool() const { return at != nullptr; }
};

// Field 1 of a quantity; the fields 1 (key) and 2 (value) of an entry. Empty where they are not there.
WireFault read_texts(std::string_view bytes, std::string_view& one, std::string_view& two);

// Seconds since 1970, of a year of four digits, 0000 among them. Their fraction is not in JSON.
WireFault read_time(std::string_view bytes, std::int64_t& seconds);

struct IntOrText {
  bool is_text = false;
  std::int64_t number = 0;
  std::string_view text;
};
WireFault read_int_or_text(std::string_view bytes, IntOrText& out);

}  // namespace berth::kube
