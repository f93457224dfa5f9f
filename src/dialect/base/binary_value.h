// A value of an object in the API server's binary form, as its JSON would show it (kube/protobuf_json.h), without that JSON. Decoders are
// templates over it as over the values of value.h.
//
// An object may be odd: its bytes are no such message, or a text of it is not UTF-8. Then it has to be read from its JSON. A BinaryReading notes that;
// it and the object outlive the values.
//
// Cost: the first find() in a message looks through its fields once, by their lengths alone; the others find them there. Fields that no decoder asks
// for cost no more than that.
#pragma once

#include <array>
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

// Where the fields of the messages begin that were looked into last.
class BinaryReading {
 public:
  bool odd = false;

  // By index of the field in the message's list: the place of its first element, from 1. 0: it is not there.
  using Places = std::array<std::uint32_t, 64>;
  const Places& places(const kube::Message& message, std::string_view bytes);

 private:
  struct Known {
    const kube::Message* message = nullptr;
    std::string_view bytes;
    Places places{};
  };
  std::array<Known, 8> known_;
  std::size_t next_ = 0;
};

class BinaryValue {
 public:
  BinaryValue() = default;
  // The object itself.
  BinaryValue(BinaryReading& reading, const kube::Message& message, std::string_view bytes)
      : reading_(&reading), kind_(kube::FieldKind::kMessage), message_(&message), bytes_(bytes) {}

  bool present() const { return reading_ != nullptr; }
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
  // The value of a time, which is no text here.
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
        each_field(*field.message, part_of(message, field, bytes), f);
      } else if (const BinaryValue value = field_of(message, field, bytes); value.present()) {
        f(field.name, value);
      }
    }
  }
  // Its first element, and what stands from there on. False: it is not there.
  bool first_of(const kube::Message& message, const kube::Field& field, std::string_view& bytes,
                kube::WireField& out) const;
  // The bytes of a message that stands in a field; empty where there is none.
  std::string_view part_of(const kube::Message& message, const kube::Field& field,
                           std::string_view bytes) const;
  BinaryValue find_in(const kube::Message& message, std::string_view bytes, std::string_view key) const;
  BinaryValue field_of(const kube::Message& message, const kube::Field& field, std::string_view bytes) const;
  BinaryValue absent(const kube::Field& field) const;
  // A value of the kind of `this` list, or of `field`.
  BinaryValue element_of(const kube::WireField& element) const;
  BinaryValue value_of(kube::FieldKind kind, const kube::Message* message, const kube::WireField& from) const;
  BinaryValue int_or_text(std::string_view bytes) const;
  std::string_view quantity_of(std::string_view bytes) const;
  BinaryValue time_of(std::string_view bytes) const;
  Entry entry_of(std::string_view bytes) const;
  std::string_view as_utf8(std::string_view text) const;
  BinaryValue is_odd() const;

  BinaryReading* reading_ = nullptr;  // none: absent, or null
  kube::FieldKind kind_ = kube::FieldKind::kText;
  bool list_ = false;
  const kube::Message* message_ = nullptr;
  // A text or the contents of a message; of a list or map the message around it, from its first element on.
  std::string_view bytes_;
  std::uint64_t number_ = 0;  // a number, or seconds of a time; of a list or map the number of its field
};

}  // namespace berth::dialect
