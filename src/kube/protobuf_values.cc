#include "kube/protobuf_values.h"

namespace berth::kube {
namespace {

constexpr std::int64_t kFirstSecond = -62'167'219'200;  // of the year 0
constexpr std::int64_t kLastSecond = 253'402'300'799;   // of the year 9999

// Takes the fields off, one after the other. `each`: what is wrong with a field, or "".
template <class Each>
WireFault each_field(std::string_view bytes, const Each& each) {
  WireField field;
  while (!bytes.empty()) {
    const char* const at = bytes.data();
    std::string_view problem = take_field(bytes, field);
    if (problem.empty()) problem = each(field);
    if (!problem.empty()) return {problem, at};
  }
  return {};
}

}  // namespace

WireFault read_texts(std::string_view bytes, std::string_view& one, std::string_view& two) {
  one = two = {};
  return each_field(bytes, [&](const WireField& field) -> std::string_view {
    if (field.number > 2) return {};
    if (!field.has_bytes) return "a text is a number";
    (field.number == 1 ? one : two) = field.bytes;
    return {};
  });
}

WireFault read_time(std::string_view bytes, std::int64_t& seconds) {
  seconds = bytes.empty() ? kZeroTime : 0;
  return each_field(bytes, [&](const WireField& field) -> std::string_view {
    if (field.number != 1) return {};
    if (field.has_bytes) return "a time is a text";
    seconds = static_cast<std::int64_t>(field.value);
    return seconds < kFirstSecond || seconds > kLastSecond ? "a time has no year of four digits" : "";
  });
}

// 1: 0 where 2, a number, is meant; otherwise 3, a text.
WireFault read_int_or_text(std::string_view bytes, IntOrText& out) {
  out = {};
  return each_field(bytes, [&](const WireField& field) -> std::string_view {
    if (field.number <= 3 && field.has_bytes != (field.number == 3))
      return "a field has another wire type than is known";
    if (field.number == 1) out.is_text = field.value != 0;
    if (field.number == 2) out.number = static_cast<std::int64_t>(field.value);
    if (field.number == 3) out.text = field.bytes;
    return {};
  });
}

}  // namespace berth::kube
