// JSON for every model type, made from its fields() member: one description serves log, replay, debug pages
// and files.
//
// Form
//   - a struct is an object of its fields in the order of fields(); members that equal the default are left
//   out, so that
//     a log stays small and an older reader is not surprised by unused fields
//   - an optional that is empty is left out; enums are their names; ResourceList and Labels are objects;
//   amounts and times
//     are integers in base units and milliseconds
//   - an event is its fields and "e", the event's name: {"e":"node","node":{"name":"n1"}}
//   - text that is not UTF-8 becomes U+FFFD
// The bytes are a function of the value alone (no hash order, no floating point).
//
// Errors: ErrorCode::kInvalid with file, line, column and the path of the field; an unknown field is an error
// that names the nearest known one. Bounded by text::Limits (depth, nodes) and by the length of the text.
// Cost: linear in the text, times the number of fields of a struct.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/shared.h"
#include "model/event.h"
#include "model/labels.h"
#include "model/resources.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::observe {

namespace codec_detail {

struct AnyVisitor {
  template <class Member>
  void operator()(std::string_view, Member&) const {}
};

}  // namespace codec_detail

// A type that says what it consists of.
template <class T>
concept Described = requires(T& value) { T::fields(value, codec_detail::AnyVisitor{}); };

namespace codec_detail {

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsShared = false;
template <class T>
inline constexpr bool kIsShared<Shared<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

inline void append_integer(std::string& out, std::int64_t value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  (void)error;  // 24 characters hold every int64
  out.append(digits, end);
}

template <class T>
void write(std::string& out, const T& value);

// Appends the fields of `value` that differ from the default, each with a comma before it unless the object
// is empty so far.
template <Described T>
void write_fields(std::string& out, const T& value) {
  static const T kDefaults{};
  T::fields(value, [&](std::string_view name, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    // The same member of the default value lies at the same offset.
    const auto offset = reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&value);
    const auto& otherwise =
        *reinterpret_cast<const Member*>(reinterpret_cast<const char*>(&kDefaults) + offset);
    if (member == otherwise) return;
    if (out.back() != '{') out += ',';
    out += '"';
    out += name;
    out += "\":";
    write(out, member);
  });
}

template <class T>
void write(std::string& out, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::same_as<T, std::int64_t>) {
    append_integer(out, value);
  } else if constexpr (std::same_as<T, std::string>) {
    text::append_json_string(out, value);
  } else if constexpr (NamedEnum<T>) {
    text::append_json_string(out, enum_name(value));
  } else if constexpr (kIsShared<T>) {
    write(out, *value);
  } else if constexpr (kIsOptional<T>) {
    write(out, *value);  // an empty one equals the default and never gets here
  } else if constexpr (kIsVector<T>) {
    out += '[';
    bool first = true;
    for (const auto& item : value) {
      if (!first) out += ',';
      first = false;
      write(out, item);
    }
    out += ']';
  } else if constexpr (std::same_as<T, Labels> || std::same_as<T, ResourceList>) {
    out += '{';
    bool first = true;
    for (const auto& [key, content] : value) {
      if (!first) out += ',';
      first = false;
      text::append_json_string(out, key);
      out += ':';
      write(out, content);
    }
    out += '}';
  } else {
    static_assert(Described<T>, "a type without fields()");
    out += '{';
    write_fields(out, value);
    out += '}';
  }
}

// Where the reader is, as a chain of stack frames: costs nothing until there is an error.
struct Path {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  const Path* parent = nullptr;
  std::string_view key;
  std::size_t index = kNoIndex;

  std::string str() const;
};

tl::unexpected<Error> wrong_kind(const text::Document& document, const Path& path, const text::Node& node,
                                 std::string_view expected);
tl::unexpected<Error> unknown_field(const text::Document& document, const Path& path, const text::Node& node,
                                    std::span<const std::string_view> known);
tl::unexpected<Error> unknown_word(const text::Document& document, const Path& path, const text::Node& node,
                                   std::span<const std::string_view> known);
// The text of a JSON string, or nullopt for anything else.
std::optional<std::string_view> string_of(const text::Node& node);

template <class T>
Status read(const text::Document& document, const Path& path, const text::Node& node, T& out);

// Reads the fields of an object into `out`, which has its default value. Keys in `others` belong to the
// caller.
template <Described T>
Status read_fields(const text::Document& document, const Path& path, const text::Node& node, T& out,
                   std::span<const std::string_view> others = {}) {
  if (!node.is_mapping()) return wrong_kind(document, path, node, "an object");
  std::size_t known = 0;
  Status status;
  for (const auto other : others) known += node.find(other) != nullptr ? 1 : 0;
  T::fields(out, [&](std::string_view name, auto& member) {
    if (!status) return;
    const text::Node* value = node.find(name);
    if (value == nullptr) return;
    ++known;
    status = read(document, Path{&path, name}, *value, member);
  });
  BERTH_TRY(status);
  if (known == node.entries().size()) return {};
  std::vector<std::string_view> names(others.begin(), others.end());
  T::fields(out, [&](std::string_view name, auto&) { names.push_back(name); });
  return unknown_field(document, path, node, names);
}

template <class T>
Status read(const text::Document& document, const Path& path, const text::Node& node, T& out) {
  if constexpr (std::same_as<T, bool>) {
    const auto value = node.as_bool();
    if (!value) return wrong_kind(document, path, node, "true or false");
    out = *value;
  } else if constexpr (std::same_as<T, std::int64_t>) {
    const auto value = node.as_int();
    if (!value) return wrong_kind(document, path, node, "an integer of 64 bits");
    out = *value;
  } else if constexpr (std::same_as<T, std::string>) {
    const auto value = string_of(node);
    if (!value) return wrong_kind(document, path, node, "a string");
    out = *value;
  } else if constexpr (NamedEnum<T>) {
    const auto word = string_of(node);
    const auto value = word ? enum_parse<T>(*word) : std::nullopt;
    if (!value) return unknown_word(document, path, node, EnumNames<T>::names);
    out = *value;
  } else if constexpr (kIsShared<T>) {
    return read(document, path, node, out.edit());
  } else if constexpr (kIsOptional<T>) {
    return read(document, path, node, out.emplace());
  } else if constexpr (kIsVector<T>) {
    if (!node.is_sequence()) return wrong_kind(document, path, node, "a list");
    const auto items = node.items();
    out.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      BERTH_TRY(read(document, Path{&path, {}, i}, items[i], out.emplace_back()));
    }
  } else if constexpr (std::same_as<T, Labels> || std::same_as<T, ResourceList>) {
    if (!node.is_mapping()) return wrong_kind(document, path, node, "an object");
    for (const auto& entry : node.entries()) {
      if constexpr (std::same_as<T, Labels>) {
        BERTH_TRY(read(document, Path{&path, entry.name()}, entry.value, out[std::string(entry.name())]));
      } else {
        std::int64_t amount = 0;
        BERTH_TRY(read(document, Path{&path, entry.name()}, entry.value, amount));
        out.set(entry.name(), amount);
      }
    }
  } else {
    return read_fields(document, path, node, out);
  }
  return {};
}

}  // namespace codec_detail

// Appends `value` as JSON.
template <class T>
void encode(std::string& out, const T& value) {
  codec_detail::write(out, value);
}
template <class T>
std::string encode(const T& value) {
  std::string out;
  codec_detail::write(out, value);
  return out;
}

// Reads a value from a node of `document`; `path` names the node in messages ("" = the root).
template <class T>
Result<T> decode(const text::Document& document, const text::Node& node, std::string_view path = {}) {
  T out{};
  BERTH_TRY(codec_detail::read(document, codec_detail::Path{nullptr, path}, node, out));
  return out;
}
// Reads one JSON text; `file` and `line` are where it stands.
template <class T>
Result<T> decode(std::string json, std::string file, std::uint32_t line = 1) {
  BERTH_ASSIGN(const text::Document document, text::parse_json(std::move(json), std::move(file), {}, line));
  return decode<T>(document, document.root());
}

// Events: the fields and "e". append_event_fields leaves the object open for more fields of the caller.
void append_event_fields(std::string& out, const Event& event);
void encode(std::string& out, const Event& event);
std::string encode(const Event& event);
// `others` are keys of the object that belong to the caller.
Result<Event> decode_event(const text::Document& document, const text::Node& node,
                           std::span<const std::string_view> others = {});
Result<Event> decode_event(std::string json, std::string file, std::uint32_t line = 1);

}  // namespace berth::observe
