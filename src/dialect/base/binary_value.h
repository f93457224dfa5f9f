// A value of an object in the API server's binary form, as its JSON would show it (kube/protobuf_json.h), without that JSON. Decoders are
// templates over it as over the values of value.h.
//
// An object that is odd has to be read from its JSON: its bytes are no such message, or a text of it is not UTF-8. `odd` is where that is noted; it and the
// object outlive the values. A find() looks through the fields of one message. Fields that no decoder asks for cost a step over their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "kube/protobuf.h"
#include "kube/protobuf_types.h"

namespace berth::dialect {

class BinaryValue {
 public:
  BinaryValue() = default;
  // The object itself.
  BinaryValue(bool& odd, const kube::Message& message, std::string_view bytes)
      : odd_(&odd), kind_(kube::FieldKind::kMessage), message_(&message), bytes_(bytes) {}

  bool present() const { return odd_ != nullptr; }
  bool is_map() const {
    return present() && !list_ &&
           (kind_ == kube::FieldKind::kMessage || kind_ == kube::FieldKind::kTexts ||
            kind_ == kube::FieldKind::kQuantities);
  }
  bool is_list() const { return present() && list_; }
  BinaryValue find(std::string_view key) const;
  template <class F>
  void each_item(F&& f) const {
    if (!is_list()) return;
    each_element([&](const kube::WireField& element) { f(element_of(element)); });
  }
  template <class F>
  void each_entry(F&& f) const {
    if (!is_map()) return;
    if (kind_ == kube::FieldKind::kMessage) return each_field(*message_, bytes_, f);
    each_element([&](const kube::WireField& element) {
      const Entry entry = entry_of(element.bytes);
      f(entry.first, entry.second);
    });
  }
  std::optional<std::string_view> text() const;
  std::optional<std::int64_t> integer() const {
    if (!present() || list_ || kind_ != kube::FieldKind::kInt) return std::nullopt;
    return static_cast<std::int64_t>(number_);
  }
  std::optional<bool> boolean() const {
    if (!present() || list_ || kind_ != kube::FieldKind::kBool) return std::nullopt;
    return number_ != 0;
  }
  // Of a time, which is no text here.
  std::optional<TimeMs> time() const {
    if (!present() || list_ || kind_ != kube::FieldKind::kTime) return std::nullopt;
    return static_cast<std::int64_t>(number_) * kSecond;
  }
  std::optional<std::string_view> scalar(std::string& buffer) const;
  std::string describe() const;

 private:
  using Entry = std::pair<std::string_view, BinaryValue>;  // key and value

  // Whether there is a field that follows; it is taken off `rest`.
  bool take(std::string_view& rest, kube::WireField& out) const;
  // The elements of a list or map: fields of one number in the message around them.
  template <class F>
  void each_element(F&& f) const {
    kube::WireField element;
    for (std::string_view rest = bytes_; take(rest, element);) {
      if (element.number == static_cast<std::uint32_t>(number_)) f(element);
    }
  }
  template <class F>
  void each_field(const kube::Message& message, std::string_view bytes, F& f) const {
    for (const kube::Field& field : message.fields) {
      if (field.kind == kube::FieldKind::kInline) {
        each_field(*field.message, part_of(bytes, field.number), f);
      } else if (const BinaryValue value = field_of(field, bytes); value.present()) {
        f(field.name, value);
      }
    }
  }
  // The bytes of a message that stands in a field; empty where there is none.
  std::string_view part_of(std::string_view message, std::uint32_t number) const;
  BinaryValue find_in(const kube::Message& message, std::string_view bytes, std::string_view key) const;
  BinaryValue field_of(const kube::Field& field, std::string_view message) const;
  BinaryValue absent(const kube::Field& field) const;
  // A value of the kind of `this` list, or of `field`.
  BinaryValue element_of(const kube::WireField& element) const;
  BinaryValue value_of(kube::FieldKind kind, const kube::Message* message, const kube::WireField& from) const;
  BinaryValue int_or_text(std::string_view bytes) const;
  BinaryValue time_of(std::string_view bytes) const;
  Entry entry_of(std::string_view bytes) const;
  std::string_view as_utf8(std::string_view text) const;
  BinaryValue is_odd() const;

  bool* odd_ = nullptr;  // none: absent, or null
  kube::FieldKind kind_ = kube::FieldKind::kText;
  bool list_ = false;
  const kube::Message* message_ = nullptr;
  // A text or the contents of a message; of a list or map the message around it, from its first element on.
  std::string_view bytes_;
  std::uint64_t number_ = 0;  // a number, or seconds of a time; of a list or map the number of its field
};

}  // namespace berth::dialect
