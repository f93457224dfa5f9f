#include "dialect/base/binary_value.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "kube/protobuf_values.h"

namespace berth::dialect {

using kube::FieldKind;
using kube::WireField;

namespace {

bool is_number(FieldKind kind) {
  return kind == FieldKind::kInt || kind == FieldKind::kBool;
}

bool is_map_kind(FieldKind kind) {
  return kind == FieldKind::kTexts || kind == FieldKind::kQuantities;
}

}  // namespace

BinaryValue BinaryValue::is_odd() const {
  reading_->odd = true;
  return {};
}

bool BinaryValue::take(std::string_view& rest, WireField& out) const {
  if (rest.empty()) return false;
  if (kube::take_field(rest, out).empty()) return true;
  reading_->odd = true;
  return false;
}

const BinaryReading::Places& BinaryReading::places(const kube::Message& message, std::string_view bytes) {
  for (const Known& known : known_) {
    if (known.message == &message && known.bytes.data() == bytes.data() && known.bytes.size() == bytes.size())
      return known.places;
  }
  Known& known = known_[next_];
  next_ = (next_ + 1) % known_.size();
  known.message = &message;
  known.bytes = bytes;
  known.places.fill(0);
  std::size_t hint = 0;
  WireField field;
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto at = static_cast<std::uint32_t>(rest.data() - bytes.data());
    if (!kube::take_field(rest, field).empty()) {
      odd = true;
      break;
    }
    if (message.find(field.number, hint) != nullptr && known.places[hint] == 0) known.places[hint] = at + 1;
  }
  return known.places;
}

bool BinaryValue::first_of(const kube::Message& message, const kube::Field& field, std::string_view& bytes,
                           WireField& out) const {
  if (bytes.empty()) return false;
  const std::uint32_t place =
      reading_->places(message, bytes)[static_cast<std::size_t>(&field - message.fields.data())];
  if (place == 0) return false;
  bytes.remove_prefix(place - 1);
  std::string_view rest = bytes;
  return take(rest, out);
}

std::string_view BinaryValue::part_of(const kube::Message& message, const kube::Field& field,
                                      std::string_view bytes) const {
  WireField found;
  if (!first_of(message, field, bytes, found)) return {};
  if (found.has_bytes) return found.bytes;
  reading_->odd = true;
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
  if (const kube::Field* const field = message.named(key)) return field_of(message, *field, bytes);
  if (!message.has_inline) return {};
  for (const kube::Field& field : message.fields) {
    if (field.kind != FieldKind::kInline) continue;
    const BinaryValue inner = find_in(*field.message, part_of(message, field, bytes), key);
    if (inner.present()) return inner;
  }
  return {};
}

BinaryValue BinaryValue::field_of(const kube::Message& message, const kube::Field& field,
                                  std::string_view bytes) const {
  WireField found;
  if (!first_of(message, field, bytes, found)) return absent(field);
  if (found.has_bytes == is_number(field.kind)) return is_odd();
  if (field.list || is_map_kind(field.kind)) {
    BinaryValue out = *this;
    out.kind_ = field.kind;
    out.list_ = field.list;
    out.message_ = field.message;
    out.bytes_ = bytes;
    out.number_ = field.number;
    return out;
  }
  const bool zero = found.has_bytes ? found.bytes.empty() : found.value == 0;
  if (field.written == kube::Written::kIfSet && zero) return {};
  return value_of(field.kind, field.message, found);
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
      out.bytes_ = quantity_of(from.bytes);
      return out;
    }
    default:
      break;
  }
  BinaryValue out;
  out.reading_ = reading_;
  out.kind_ = kind;
  out.message_ = message;
  out.bytes_ = from.bytes;
  out.number_ = from.value;
  return out;
}

std::string_view BinaryValue::quantity_of(std::string_view bytes) const {
  std::string_view out, none;
  if (kube::read_texts(bytes, out, none)) reading_->odd = true;
  return out.empty() ? "0" : out;
}

// Times begin with the year 1 (text/time.h).
BinaryValue BinaryValue::time_of(std::string_view bytes) const {
  std::int64_t seconds = 0;
  if (kube::read_time(bytes, seconds) || seconds < kube::kZeroTime) return is_odd();
  if (seconds == kube::kZeroTime) return {};
  BinaryValue out;
  out.reading_ = reading_;
  out.kind_ = FieldKind::kTime;
  out.number_ = static_cast<std::uint64_t>(seconds);
  return out;
}

BinaryValue BinaryValue::int_or_text(std::string_view bytes) const {
  kube::IntOrText value;
  if (kube::read_int_or_text(bytes, value)) return is_odd();
  BinaryValue out;
  out.reading_ = reading_;
  out.kind_ = value.is_text ? FieldKind::kText : FieldKind::kInt;
  out.number_ = static_cast<std::uint64_t>(value.number);
  out.bytes_ = value.text;
  return out;
}

// A text, or a quantity, of a map.
BinaryValue::Entry BinaryValue::entry_of(std::string_view bytes) const {
  std::string_view key;
  WireField value;
  if (kube::read_texts(bytes, key, value.bytes)) reading_->odd = true;
  const FieldKind kind = kind_ == FieldKind::kTexts ? FieldKind::kText : FieldKind::kQuantity;
  return {as_utf8(key), value_of(kind, nullptr, value)};
}

// The API server takes any bytes for some texts. JSON shows them as UTF-8.
std::string_view BinaryValue::as_utf8(std::string_view text) const {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::all_of(text.begin(), text.end(), is_ascii) && !simdjson::validate_utf8(text.data(), text.size()))
    reading_->odd = true;
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
