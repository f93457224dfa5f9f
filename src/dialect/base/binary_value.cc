#include "dialect/base/binary_value.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace berth::dialect {

using kube::FieldKind;
using kube::WireField;

namespace {

constexpr std::int64_t kFirstSecond = -62'167'219'200;  // of the year 0
constexpr std::int64_t kLastSecond = 253'402'300'799;   // of the year 9999
constexpr std::int64_t kZeroTime = -62'135'596'800;     // Go's: the first second of the year 1

bool is_number(FieldKind kind) {
  return kind == FieldKind::kInt || kind == FieldKind::kBool;
}

bool is_map_kind(FieldKind kind) {
  return kind == FieldKind::kTexts || kind == FieldKind::kQuantities;
}

}  // namespace

BinaryValue BinaryValue::is_odd() const {
  *odd_ = true;
  return {};
}

bool BinaryValue::take(std::string_view& rest, WireField& out) const {
  if (rest.empty()) return false;
  if (kube::take_field(rest, out).empty()) return true;
  *odd_ = true;
  return false;
}

std::string_view BinaryValue::part_of(std::string_view message, std::uint32_t number) const {
  WireField field;
  while (take(message, field)) {
    if (field.number != number) continue;
    if (field.has_bytes) return field.bytes;
    *odd_ = true;
    break;
  }
  return {};
}

BinaryValue BinaryValue::find(std::string_view key) const {
  if (!is_map()) return {};
  if (kind_ == FieldKind::kMessage) return find_in(*message_, bytes_, key);
  BinaryValue out;
  each_element([&](const WireField& element) {
    if (out.present()) return;
    const Entry entry = entry_of(element.bytes);
    if (entry.first == key) out = entry.second;
  });
  return out;
}

BinaryValue BinaryValue::find_in(const kube::Message& message, std::string_view bytes,
                                 std::string_view key) const {
  for (const kube::Field& field : message.fields) {
    if (field.kind == FieldKind::kInline) {
      BinaryValue inner = find_in(*field.message, part_of(bytes, field.number), key);
      if (inner.present()) return inner;
    } else if (field.name == key) {
      return field_of(field, bytes);
    }
  }
  return {};
}

BinaryValue BinaryValue::field_of(const kube::Field& field, std::string_view message) const {
  WireField found;
  for (std::string_view rest = message, from = rest; take(rest, found); from = rest) {
    if (found.number != field.number) continue;
    if (found.has_bytes == is_number(field.kind)) return is_odd();
    if (field.list || is_map_kind(field.kind)) {
      BinaryValue out = *this;
      out.kind_ = field.kind;
      out.list_ = field.list;
      out.message_ = field.message;
      out.bytes_ = from;
      out.number_ = field.number;
      return out;
    }
    const bool zero = found.has_bytes ? found.bytes.empty() : found.value == 0;
    if (field.written == kube::Written::kIfSet && zero) return {};
    return value_of(field.kind, field.message, found);
  }
  return absent(field);
}

// JSON has some fields that are not there.
BinaryValue BinaryValue::absent(const kube::Field& field) const {
  if (field.written != kube::Written::kAlways || field.list || is_map_kind(field.kind) ||
      field.kind == FieldKind::kTime)
    return {};
  return value_of(field.kind, field.message, {});
}

BinaryValue BinaryValue::element_of(const WireField& element) const {
  if (element.has_bytes == is_number(kind_)) return is_odd();
  return value_of(kind_, message_, element);
}

BinaryValue BinaryValue::value_of(FieldKind kind, const kube::Message* message, const WireField& from) const {
  switch (kind) {
    case FieldKind::kTime:
      return time_of(from.bytes);
    case FieldKind::kIntOrText:
      return int_or_text(from.bytes);
    case FieldKind::kQuantity: {
      BinaryValue out = value_of(FieldKind::kText, nullptr, from);
      out.bytes_ = part_of(from.bytes, 1);
      if (out.bytes_.empty()) out.bytes_ = "0";
      return out;
    }
    default:
      break;
  }
  BinaryValue out;
  out.odd_ = odd_;
  out.kind_ = kind;
  out.message_ = message;
  out.bytes_ = from.bytes;
  out.number_ = from.value;
  return out;
}

// 1: seconds; 2, their fraction, is not in JSON either.
BinaryValue BinaryValue::time_of(std::string_view bytes) const {
  std::int64_t seconds = bytes.empty() ? kZeroTime : 0;
  WireField field;
  while (take(bytes, field)) {
    if (field.number != 1) continue;
    seconds = static_cast<std::int64_t>(field.value);
    if (field.has_bytes || seconds < kFirstSecond || seconds > kLastSecond) return is_odd();
  }
  if (seconds == kZeroTime) return {};
  BinaryValue out;
  out.odd_ = odd_;
  out.kind_ = FieldKind::kTime;
  out.number_ = static_cast<std::uint64_t>(seconds);
  return out;
}

// 1: 0 where 2, a number, is meant; otherwise 3, a text.
BinaryValue BinaryValue::int_or_text(std::string_view bytes) const {
  BinaryValue out;
  out.odd_ = odd_;
  out.kind_ = FieldKind::kInt;
  WireField field;
  while (take(bytes, field)) {
    if (field.number <= 3 && field.has_bytes != (field.number == 3)) return is_odd();
    if (field.number == 1 && field.value != 0) out.kind_ = FieldKind::kText;
    if (field.number == 2) out.number_ = field.value;
    if (field.number == 3) out.bytes_ = field.bytes;
  }
  return out;
}

// 1: its key; 2: its value, a text or a quantity.
BinaryValue::Entry BinaryValue::entry_of(std::string_view bytes) const {
  WireField key, value, field;
  while (take(bytes, field)) {
    if (field.number > 2) continue;
    if (!field.has_bytes) *odd_ = true;
    (field.number == 1 ? key : value) = field;
  }
  const FieldKind kind = kind_ == FieldKind::kTexts ? FieldKind::kText : FieldKind::kQuantity;
  return {as_utf8(key.bytes), value_of(kind, nullptr, value)};
}

// The API server takes any bytes for some texts. JSON shows them as UTF-8.
std::string_view BinaryValue::as_utf8(std::string_view text) const {
  if (!simdjson::validate_utf8(text.data(), text.size())) *odd_ = true;
  return text;
}

std::optional<std::string_view> BinaryValue::text() const {
  if (!present() || list_) return std::nullopt;
  if (kind_ != FieldKind::kText) return std::nullopt;
  return as_utf8(bytes_);
}

std::optional<std::string_view> BinaryValue::scalar(std::string& buffer) const {
  if (const auto string = text()) return string;
  const auto number = integer();
  if (!number) return std::nullopt;
  buffer = fmt::format("{}", *number);
  return buffer;
}

std::string BinaryValue::describe() const {
  if (const auto string = text()) return fmt::format("\"{}\"", *string);
  return is_map() ? "a mapping" : is_list() ? "a list" : "a value of another type";
}

}  // namespace berth::dialect
